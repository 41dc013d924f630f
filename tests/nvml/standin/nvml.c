/* A stand-in for libnvidia-ml.so.1: what it answers stands in the text file that NVML_STANDIN names, read anew at each
 * call, so that a test changes the GPUs between two calls. It knows the functions that the collector calls, with NVML's
 * own names, structures and error codes; nothing here computes anything.
 *
 *   library 570.1            the version that this library says it is (kept from when a process loaded it)
 *   kernel 570.1             the kernel module's; another than the library's is NVML_ERROR_LIB_RM_VERSION_MISMATCH
 *   generation 1             another than at nvmlInit: the driver was loaded anew, and old handles are worth nothing
 *   init 9                   nvmlInit's error
 *   fail nvmlDeviceGetName 999     the error of one function
 *   sleep 10                 nvmlDeviceGetCount takes so many seconds
 *   crash 1                  nvmlDeviceGetCount ends the process, as a broken library does
 *   gpu 0 uuid=GPU-a name=NVIDIA%20H100 util=50 …   one GPU; %XX is a byte; error=15: all its functions
 *   inst 0 gi=3 ci=0 uuid=MIG-a profile=1g.10gb …   a MIG instance of GPU 0
 *   proc 0 1234 [gi]         a process that computes on GPU 0 (or on its instance gi); mps 0 1234: a client of MPS
 *   xid 0 79 1               XID 79 on GPU 0; the last number tells one from the next
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int Return;
typedef void *Device;
enum { OK, UNINITIALIZED, INVALID, NOT_SUPPORTED, NO_PERMISSION, NOT_FOUND = 6, TOO_SMALL = 7, TIMEOUT = 10, MISMATCH = 18 };
enum { GPUS = 32, INSTANCES = 64, PROCESSES = 512, XIDS = 32, TEXT = 512 };

typedef struct {
  int gpu, gi, ci, minor, error, has[16];
  char uuid[TEXT], name[TEXT], profile[TEXT];
  double value[16];
} Unit;
enum { UTIL, MEM_UTIL, POWER, ENERGY, TEMP, MEM_TEMP, SM, MEM_CLOCK, USED, GR, SM_UTIL, TENSOR, DRAM, PERSISTENCE, MIG };
static const char *KEYS[] = {"util", "mem_util", "power", "energy", "temp", "mem_temp", "sm", "mem_clock", "used",
                             "gr", "sm_util", "tensor", "dram", "persistence", "mig"};

static struct {
  int gpus, instances, processes, xids, init, sleep, crash, generation;
  char library[TEXT], kernel[TEXT], fails[8][TEXT];
  int fail_codes[8], n_fails;
  Unit gpu[GPUS], instance[INSTANCES];
  struct { int gpu, pid, gi, mps; } process[PROCESSES];
  struct { int gpu, xid, number; } xid[XIDS];
} now;
static char loaded[TEXT];       /* the library's version when this process loaded it */
static int generation = -1;     /* the driver's generation at nvmlInit; -1: not initialised */
static int told[XIDS], n_told;  /* the numbers of the XIDs that were told in this process */
static int watched[GPUS];       /* whose events were asked for */

static void unescape(char *to, const char *from) {
  int byte;
  while (*from && *from != '\n') {
    if (*from == '%' && sscanf(from + 1, "%2x", &byte) == 1) {
      *to++ = (char)byte;
      from += 3;
    } else {
      *to++ = *from++;
    }
  }
  *to = 0;
}

static void read_unit(Unit *unit, char *words) {
  char *rest = NULL;
  for (char *word = strtok_r(words, " \n", &rest); word; word = strtok_r(NULL, " \n", &rest)) {
    char *value = strchr(word, '=');
    if (!value) continue;
    *value++ = 0;
    if (!strcmp(word, "uuid")) unescape(unit->uuid, value);
    if (!strcmp(word, "name")) unescape(unit->name, value);
    if (!strcmp(word, "profile")) unescape(unit->profile, value);
    if (!strcmp(word, "minor")) unit->minor = atoi(value);
    if (!strcmp(word, "error")) unit->error = atoi(value);
    if (!strcmp(word, "gi")) unit->gi = atoi(value);
    if (!strcmp(word, "ci")) unit->ci = atoi(value);
    for (size_t key = 0; key < sizeof KEYS / sizeof *KEYS; key++)
      if (!strcmp(word, KEYS[key])) unit->has[key] = 1, unit->value[key] = atof(value);
  }
}

static void look(void) {
  char line[4096], word[TEXT];
  FILE *file = fopen(getenv("NVML_STANDIN") ? getenv("NVML_STANDIN") : "", "r");
  memset(&now, 0, sizeof now);
  if (!file) return;
  while (fgets(line, sizeof line, file)) {
    int gpu, a, b = -1;
    if (sscanf(line, "library %511s", word) == 1) strcpy(now.library, word);
    if (sscanf(line, "kernel %511s", word) == 1) strcpy(now.kernel, word);
    sscanf(line, "generation %d", &now.generation);
    sscanf(line, "init %d", &now.init);
    sscanf(line, "sleep %d", &now.sleep);
    sscanf(line, "crash %d", &now.crash);
    if (sscanf(line, "fail %511s %d", word, &a) == 2 && now.n_fails < 8) {
      strcpy(now.fails[now.n_fails], word);
      now.fail_codes[now.n_fails++] = a;
    }
    if (sscanf(line, "gpu %d", &gpu) == 1 && now.gpus < GPUS) {
      Unit *unit = &now.gpu[now.gpus++];
      unit->gpu = unit->minor = gpu;
      unit->gi = unit->ci = -1;
      read_unit(unit, line);
    }
    if (sscanf(line, "inst %d", &gpu) == 1 && now.instances < INSTANCES) {
      Unit *unit = &now.instance[now.instances++];
      unit->gpu = gpu;
      read_unit(unit, line);
    }
    int mps = !strncmp(line, "mps ", 4);
    if (sscanf(line, "%*s %d %d %d", &gpu, &a, &b) >= 2 && (mps || !strncmp(line, "proc ", 5)) && now.processes < PROCESSES) {
      now.process[now.processes].gpu = gpu;
      now.process[now.processes].pid = a;
      now.process[now.processes].gi = b;
      now.process[now.processes++].mps = mps;
    }
    if (sscanf(line, "xid %d %d %d", &gpu, &a, &b) == 3 && now.xids < XIDS) {
      now.xid[now.xids].gpu = gpu;
      now.xid[now.xids].xid = a;
      now.xid[now.xids++].number = b;
    }
  }
  fclose(file);
}

__attribute__((constructor)) static void load(void) {
  look();
  strcpy(loaded, now.library);
}

static Return failed(const char *function) {
  for (int i = 0; i < now.n_fails; i++)
    if (!strcmp(now.fails[i], function)) return now.fail_codes[i];
  return OK;
}

/* Handles: GPU i is 1 + i, instance k is 1000 + k; what they stand for is looked up anew. */
static Return find(Device device, const char *function, Unit **unit) {
  look();
  long number = (long)device;
  *unit = number >= 1000 ? &now.instance[number - 1000] : &now.gpu[number - 1];
  if (generation < 0 || generation != now.generation) return UNINITIALIZED;
  if (number >= 1000 ? number - 1000 >= now.instances : number - 1 >= now.gpus) return INVALID;
  if (now.gpu[(*unit)->gpu < now.gpus ? (*unit)->gpu : 0].error) return now.gpu[(*unit)->gpu].error;
  return failed(function);
}

static Return text(const char *from, char *to, unsigned length) {
  if (strlen(from) >= length) return TOO_SMALL;
  strcpy(to, from);
  return OK;
}

static Return number(Device device, const char *function, int key, double *value) {
  Unit *unit;
  Return code = find(device, function, &unit);
  if (code) return code;
  *value = unit->value[key];
  return unit->has[key] ? OK : NOT_SUPPORTED;
}

static Return whole(Device device, const char *function, int key, unsigned *value) {
  double found = 0;
  Return code = number(device, function, key, &found);
  if (!code) *value = (unsigned)found;
  return code;
}

Return nvmlInitWithFlags(unsigned flags) {
  look();
  (void)flags;
  if (now.init) return now.init;
  if (strcmp(loaded, now.kernel)) return MISMATCH;
  generation = now.generation;
  return OK;
}
Return nvmlShutdown(void) {
  generation = -1;
  return OK;
}
const char *nvmlErrorString(Return code) { return code == MISMATCH ? "Driver/library version mismatch" : "an error"; }
Return nvmlSystemGetDriverVersion(char *version, unsigned length) {
  look();
  Return code = failed("nvmlSystemGetDriverVersion");
  return code ? code : text(now.kernel, version, length);
}
Return nvmlDeviceGetCount_v2(unsigned *count) {
  look();
  if (now.crash) abort();
  if (now.sleep) sleep(now.sleep);
  if (generation < 0 || generation != now.generation) return UNINITIALIZED;
  *count = now.gpus;
  return failed("nvmlDeviceGetCount_v2");
}
Return nvmlDeviceGetHandleByIndex_v2(unsigned index, Device *device) {
  Unit *unit;
  *device = (Device)(long)(index + 1);
  return find(*device, "nvmlDeviceGetHandleByIndex_v2", &unit);
}
Return nvmlDeviceGetUUID(Device device, char *uuid, unsigned length) {
  Unit *unit;
  Return code = find(device, "nvmlDeviceGetUUID", &unit);
  return code ? code : text(unit->uuid, uuid, length);
}
Return nvmlDeviceGetName(Device device, char *name, unsigned length) {
  Unit *unit;
  char whole_name[2 * TEXT];
  Return code = find(device, "nvmlDeviceGetName", &unit);
  if (code) return code;
  if ((long)device < 1000) return text(unit->name, name, length);
  snprintf(whole_name, sizeof whole_name, "%s MIG %s", now.gpu[unit->gpu].name, unit->profile);
  return text(whole_name, name, length);
}
Return nvmlDeviceGetMinorNumber(Device device, unsigned *minor) {
  Unit *unit;
  Return code = find(device, "nvmlDeviceGetMinorNumber", &unit);
  *minor = unit->minor;
  return code;
}
Return nvmlDeviceGetPersistenceMode(Device device, unsigned *mode) {
  return whole(device, "nvmlDeviceGetPersistenceMode", PERSISTENCE, mode);
}
Return nvmlDeviceGetMigMode(Device device, unsigned *current, unsigned *pending) {
  Return code = whole(device, "nvmlDeviceGetMigMode", MIG, current);
  *pending = *current;
  return code;
}
Return nvmlDeviceGetMaxMigDeviceCount(Device device, unsigned *count) {
  Unit *unit;
  *count = 7;
  return find(device, "nvmlDeviceGetMaxMigDeviceCount", &unit);
}
Return nvmlDeviceGetMigDeviceHandleByIndex(Device device, unsigned index, Device *instance) {
  Unit *unit;
  Return code = find(device, "nvmlDeviceGetMigDeviceHandleByIndex", &unit);
  if (code) return code;
  for (int k = 0; k < now.instances; k++)
    if (now.instance[k].gpu == unit->gpu && index-- == 0) {
      *instance = (Device)(long)(1000 + k);
      return OK;
    }
  return NOT_FOUND;
}
Return nvmlDeviceGetGpuInstanceId(Device device, unsigned *id) {
  Unit *unit;
  Return code = find(device, "nvmlDeviceGetGpuInstanceId", &unit);
  *id = unit->gi;
  return code;
}
Return nvmlDeviceGetComputeInstanceId(Device device, unsigned *id) {
  Unit *unit;
  Return code = find(device, "nvmlDeviceGetComputeInstanceId", &unit);
  *id = unit->ci;
  return code;
}

typedef struct { unsigned gpu, memory; } Utilization;
Return nvmlDeviceGetUtilizationRates(Device device, Utilization *rates) {
  if ((long)device >= 1000) return NOT_SUPPORTED;
  Return code = whole(device, "nvmlDeviceGetUtilizationRates", UTIL, &rates->gpu);
  return code ? code : whole(device, "nvmlDeviceGetUtilizationRates", MEM_UTIL, &rates->memory);
}
typedef struct { unsigned long long time; union { double d; unsigned u; } value; } Sample;
Return nvmlDeviceGetSamples(Device device, int type, unsigned long long after, int *value_type, unsigned *count, Sample *samples) {
  double value = 0;
  Return code = number(device, "nvmlDeviceGetSamples", type == 1 ? UTIL : MEM_UTIL, &value);
  *value_type = 1;
  *count = 3; /* the first is not new: drivers have given such */
  for (int i = 0; samples && i < 3; i++) samples[i].time = after + i, samples[i].value.u = i ? (unsigned)value : 99;
  return code;
}
Return nvmlDeviceGetPowerUsage(Device device, unsigned *milliwatts) {
  return whole(device, "nvmlDeviceGetPowerUsage", POWER, milliwatts);
}
Return nvmlDeviceGetTotalEnergyConsumption(Device device, unsigned long long *millijoules) {
  double value = 0;
  Return code = number(device, "nvmlDeviceGetTotalEnergyConsumption", ENERGY, &value);
  *millijoules = (unsigned long long)value;
  return code;
}
Return nvmlDeviceGetTemperature(Device device, unsigned sensor, unsigned *degrees) {
  (void)sensor;
  return whole(device, "nvmlDeviceGetTemperature", TEMP, degrees);
}
Return nvmlDeviceGetClockInfo(Device device, unsigned clock, unsigned *megahertz) {
  return whole(device, "nvmlDeviceGetClockInfo", clock == 1 ? SM : MEM_CLOCK, megahertz);
}
typedef struct { unsigned version; unsigned long long total, reserved, free, used; } Memory;
Return nvmlDeviceGetMemoryInfo_v2(Device device, Memory *memory) {
  double mib = 0;
  Return code = number(device, "nvmlDeviceGetMemoryInfo_v2", USED, &mib);
  memory->used = (unsigned long long)(mib * 1048576);
  return code;
}
typedef struct { unsigned field, scope; long long time, latency; int type, code; union { double d; unsigned u; } value; } Field;
Return nvmlDeviceGetFieldValues(Device device, int count, Field *fields) {
  Unit *unit;
  Return code = find(device, "nvmlDeviceGetFieldValues", &unit);
  for (int i = 0; i < count; i++) {
    fields[i].type = 1;
    fields[i].code = whole(device, "nvmlDeviceGetFieldValues", MEM_TEMP, &fields[i].value.u);
  }
  return code;
}

typedef struct { unsigned pid; unsigned long long memory; unsigned gi, ci; } Process;
static Return processes(Device device, const char *function, int mps, unsigned *count, Process *found) {
  Unit *unit;
  unsigned room = *count, n = 0;
  Return code = find(device, function, &unit);
  if (code) return code;
  for (int i = 0; i < now.processes; i++) {
    if (now.process[i].gpu != unit->gpu || now.process[i].mps != mps) continue;
    if ((long)device >= 1000 && now.process[i].gi != unit->gi) continue;
    if (n < room && found) found[n].pid = now.process[i].pid, found[n].gi = now.process[i].gi;
    n++;
  }
  *count = n;
  return n > room ? TOO_SMALL : OK;
}
Return nvmlDeviceGetComputeRunningProcesses_v3(Device device, unsigned *count, Process *found) {
  return processes(device, "nvmlDeviceGetComputeRunningProcesses_v3", 0, count, found);
}
Return nvmlDeviceGetMPSComputeRunningProcesses_v3(Device device, unsigned *count, Process *found) {
  return processes(device, "nvmlDeviceGetMPSComputeRunningProcesses_v3", 1, count, found);
}

Return nvmlEventSetCreate(void **set) {
  *set = (void *)1L;
  return generation < 0 ? UNINITIALIZED : OK;
}
Return nvmlDeviceRegisterEvents(Device device, unsigned long long types, void *set) {
  Unit *unit;
  (void)types, (void)set;
  Return code = find(device, "nvmlDeviceRegisterEvents", &unit);
  if (!code) watched[(long)device - 1] = 1;
  return code;
}
typedef struct { Device device; unsigned long long type, data; unsigned gi, ci; } Event;
Return nvmlEventSetWait_v2(void *set, Event *event, unsigned timeout_ms) {
  (void)set, (void)timeout_ms;
  look();
  for (int i = 0; i < now.xids; i++) {
    int known = 0;
    for (int k = 0; k < n_told; k++) known |= told[k] == now.xid[i].number;
    if (known || !watched[now.xid[i].gpu]) continue;
    told[n_told++ % XIDS] = now.xid[i].number;
    event->device = (Device)(long)(now.xid[i].gpu + 1);
    event->type = 8;
    event->data = now.xid[i].xid;
    return OK;
  }
  return TIMEOUT;
}

/* GPM: a sample is nothing; what two of them say stands in the file. */
typedef struct { unsigned version, supported; } Support;
Return nvmlGpmQueryDeviceSupport(Device device, Support *support) {
  Unit *unit;
  Return code = find(device, "nvmlGpmQueryDeviceSupport", &unit);
  support->supported = unit->has[GR];
  for (int k = 0; k < now.instances; k++) support->supported |= now.instance[k].gpu == unit->gpu && now.instance[k].has[GR];
  return code;
}
typedef struct { long device; int gi; } GpmSample;
Return nvmlGpmSampleAlloc(GpmSample **sample) { return (*sample = calloc(1, sizeof **sample)) ? OK : 20; }
Return nvmlGpmSampleFree(GpmSample *sample) { return free(sample), OK; }
Return nvmlGpmSampleGet(Device device, GpmSample *sample) {
  Unit *unit;
  sample->device = (long)device, sample->gi = -1;
  return find(device, "nvmlGpmSampleGet", &unit);
}
Return nvmlGpmMigSampleGet(Device device, unsigned gi, GpmSample *sample) {
  Unit *unit;
  sample->device = (long)device, sample->gi = (int)gi;
  return find(device, "nvmlGpmMigSampleGet", &unit);
}
typedef struct { unsigned id; Return code; double value; struct { char *a, *b, *c; } info; } Metric;
typedef struct { unsigned version, count; GpmSample *first, *second; Metric metrics[]; } Metrics;
Return nvmlGpmMetricsGet(Metrics *asked) {
  look();
  if (asked->first->device != asked->second->device || asked->first->gi != asked->second->gi) return INVALID;
  Unit *unit = &now.gpu[asked->second->device - 1];
  for (int k = 0; asked->second->gi >= 0 && k < now.instances; k++)
    if (now.instance[k].gpu == unit->gpu && now.instance[k].gi == asked->second->gi) unit = &now.instance[k];
  for (unsigned i = 0; i < asked->count; i++) {
    unsigned id = asked->metrics[i].id;
    int key = id == 1 ? GR : id == 2 ? SM_UTIL : id == 5 ? TENSOR : DRAM;
    asked->metrics[i].value = unit->value[key];
    asked->metrics[i].code = unit->has[key] ? OK : NOT_SUPPORTED;
  }
  return failed("nvmlGpmMetricsGet");
}
