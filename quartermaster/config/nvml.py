"""The NVML part of a cluster: one host without an exporter, read where the collector runs."""

from pydantic import model_validator

from quartermaster.config.fields import AnyPath, DurationMs, Name, Part, as_written


class NvmlPart(Part):
    """This host's own GPUs, through NVIDIA's library; the cluster is the host."""

    host: Name | None = None
    """The host's name, also the node's in the ledger. Where the collector runs on another host, the cluster is
    left alone, so that hosts can share one file; without it, whatever host it runs on."""
    interval_ms: DurationMs = as_written("30s", alias="interval")
    """How often the host is looked at. Who comes and goes in between is not seen; a sample speaks for at most
    2.5 intervals."""
    timeout_ms: DurationMs = as_written("10s", alias="timeout")
    """How long a look may take; then it is a gap. Shorter than the interval."""
    proc: AnyPath = as_written("/proc")
    """Where the host's /proc is; in a pod, where it is mounted."""
    cgroup: AnyPath = as_written("/sys/fs/cgroup")
    """Where the host's control groups are; Slurm's jobs are looked for there."""

    @model_validator(mode="after")
    def _sensible(self) -> "NvmlPart":
        if self.timeout_ms >= self.interval_ms:
            raise ValueError("timeout: it is shorter than the interval")
        return self
