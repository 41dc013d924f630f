"""`make manifests`: deploy/kustomize from the chart, as helm renders it."""

import subprocess
import sys
from pathlib import Path

from tests.servers.recipes import program

ROOT = Path(__file__).parents[2]
CHART = ROOT / "deploy" / "helm" / "quartermaster"
KUSTOMIZE = ROOT / "deploy" / "kustomize"
# A base, and what is laid beside it: the settings of the chart by which each is rendered.
RENDERED = {
    "base": ("namespace.create=true",),
    "monitoring": ("monitoring.serviceMonitor=true", "monitoring.prometheusRule=true"),
}


def rendered(*settings: str, only: str = "") -> str:
    """The chart's objects with these settings; `only` of one template. Raises LookupError without helm, and
    CalledProcessError with its words."""
    helm = program("helm")
    if helm is None:
        raise LookupError("helm is not built (make servers)")
    command = [helm, "template", "quartermaster", CHART, "--namespace", "quartermaster"]
    command += [word for each in settings for word in ("--set", each)]
    command += ["--show-only", f"templates/{only}.yaml"] if only else []
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def manifests() -> dict[Path, str]:
    """What the files of deploy/kustomize say."""
    base = "# Rendered from deploy/helm/quartermaster by make manifests: change that.\n"
    return {
        KUSTOMIZE / "base" / "quartermaster.yaml": base + rendered(*RENDERED["base"]),
        KUSTOMIZE / "monitoring" / "monitoring.yaml": base
        + rendered(*RENDERED["monitoring"], only="monitoring"),
    }


if __name__ == "__main__":
    for file, text in manifests().items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        sys.stdout.write(f"{file.relative_to(ROOT)}\n")
