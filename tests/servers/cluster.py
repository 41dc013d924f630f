"""`make cluster`: a control plane with fake GPU nodes to develop against, until Ctrl-C."""

import argparse
import json
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from tests.servers.controlplane import PROGRAMS, ControlPlane, start_control_plane
from tests.servers.fleet import H100, gpu_node
from tests.servers.kueue import start_kueue
from tests.servers.process import ServerError
from tests.servers.recipes import program
from tests.servers.stages import ENDS_AFTER

HELLO = """\
A Kubernetes {version} control plane with {nodes} fake nodes of {gpus} GPUs each, ready in {seconds:.1f} s.

  export KUBECONFIG={kubeconfig}

Without kubectl, the nodes are listed by
  {curl} {url}/api/v1/nodes
a pod that holds two GPUs for 60 seconds starts with
  {curl} {url}/api/v1/namespaces/default/pods --json @{pod}
and is watched with
  {curl} --no-buffer '{url}/api/v1/namespaces/default/pods?watch=true'

The annotations that kwok obeys are in tests/servers/kwok/stages, the logs in {folder}.
Ctrl-C ends it all.
"""


def run(nodes: int, gpus: int, *, with_kueue: bool) -> None:
    """Start it, say how to reach it, and wait for Ctrl-C or for one of its processes to end."""
    folder = Path(tempfile.mkdtemp(prefix="qm-cluster-"))
    began = time.monotonic()
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        plane = start_control_plane(folder)
        stack.callback(plane.stop)
        for number in range(1, nodes + 1):
            plane.call("POST", "/api/v1/nodes", gpu_node(f"gpu-{number}", gpus, model=H100))
        watched = list(plane.processes.values())
        if with_kueue:
            (folder / "kueue").mkdir()
            watched.append(start_kueue(plane, folder / "kueue"))
            stack.callback(watched[-1].stop)
        sys.stdout.write(hello(plane, nodes, gpus, time.monotonic() - began))
        sys.stdout.flush()
        while all(process.alive for process in watched):
            time.sleep(0.5)
        dead = next(process for process in watched if not process.alive)
        raise ServerError(f"{dead.name} ended by itself:\n{dead.tail()}")


def hello(plane: ControlPlane, nodes: int, gpus: int, seconds: float) -> str:
    """What a person needs to reach the cluster; writes the sample pod, and curl's settings."""
    limits = {"nvidia.com/gpu": "2"}
    container = {"name": "main", "image": "example.test/work", "resources": {"limits": limits}}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"generateName": "sample-", "annotations": {ENDS_AFTER: "60"}},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }
    path = plane.folder / "pod.json"
    path.write_text(json.dumps(pod), encoding="utf-8")
    curl = plane.folder / "curl"
    curl.write_text(
        f'silent\nshow-error\ncacert = "{plane.certificate.certificate}"\n'
        f'header = "Authorization: Bearer {plane.token}"\n',
        encoding="utf-8",
    )
    return HELLO.format(
        version=plane.call("GET", "/version")["gitVersion"],
        nodes=nodes,
        gpus=gpus,
        seconds=seconds,
        kubeconfig=plane.kubeconfig,
        curl=f"curl -K {curl}",
        url=plane.url,
        pod=path,
        folder=plane.folder,
    )


def main(arguments: Sequence[str]) -> int:
    """The command: 0 after Ctrl-C or SIGTERM, 1 when a server is missing or ends by itself."""
    parser = argparse.ArgumentParser(prog="make cluster", description=__doc__)
    parser.add_argument("--nodes", type=int, default=4, help="fake nodes (4)")
    parser.add_argument("--gpus", type=int, default=8, help="GPUs of each (8)")
    parser.add_argument("--kueue", action="store_true", help="with Kueue")
    given = parser.parse_args(arguments)
    wanted = [*PROGRAMS, *(["kueue"] if given.kueue else [])]
    missing = [name for name in wanted if program(name) is None]
    if missing:
        sys.stderr.write(f"error: {', '.join(missing)}: not built. Run `make servers` first.\n")
        return 1
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        run(given.nodes, given.gpus, with_kueue=given.kueue)
    except KeyboardInterrupt:
        return 0
    except ServerError as error:
        sys.stderr.write(f"error: {error}\n")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
