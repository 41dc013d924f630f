"""What kwok's fake kubelets do: its own stages, and ours for pods that end, stop slowly or never start."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from tests.servers.recipes import MODULES, recipe

PREFIX = "quartermaster.test/"
ENDS_AFTER = f"{PREFIX}ends-after"
EXIT_CODE = f"{PREFIX}exit-code"
STOPS_AFTER = f"{PREFIX}stops-after"
LOST = f"{PREFIX}lost"
IMAGE_FAILS = f"{PREFIX}image-fails"

_TAKEN = {
    "node/fast/node-initialize.yaml": None,
    "node/heartbeat-with-lease/node-heartbeat-with-lease.yaml": None,
    "pod/fast/pod-ready.yaml": {
        "key": f'.metadata.annotations["{IMAGE_FAILS}"]',
        "operator": "DoesNotExist",
    },
    "pod/fast/pod-delete.yaml": {"key": ".status.phase", "operator": "NotIn", "values": ["Running"]},
}


def stages() -> Iterator[dict[str, Any]]:
    """kwok's Stage objects: nodes stay Ready; pods run, and do what their annotations say."""
    for path, condition in _TAKEN.items():
        stage = yaml.safe_load((recipe("kwok").folder / "stage" / path).read_text(encoding="utf-8"))
        if condition is not None:
            stage["spec"]["selector"]["matchExpressions"].append(condition)
        yield stage
    for path in sorted((MODULES / "kwok" / "stages").glob("*.yaml")):
        yield yaml.safe_load(path.read_text(encoding="utf-8"))


def write_stages(path: Path) -> None:
    """The stages as one file, as kwok's `--config` takes it."""
    path.write_text(yaml.safe_dump_all(stages()), encoding="utf-8")
