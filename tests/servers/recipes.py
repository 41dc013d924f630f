"""Which real servers the tests use: their modules, programs and files, and where they lie once they are built."""

import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

MODULES = Path(__file__).parent
_K8S = "k8s.io/kubernetes/cmd/"


@dataclass(frozen=True)
class Recipe:
    """A server: its folder here, the module whose version it has, {program: package}, {folder: path in the module}."""

    name: str
    module: str
    programs: Mapping[str, str]
    files: Mapping[str, str] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    version_variable: str = ""
    version_words: tuple[str, str] = ("", "")

    @property
    def version(self) -> str:
        """The version of its module that its go.mod asks for."""
        text = (MODULES / self.name / "go.mod").read_text(encoding="utf-8")
        found = re.search(rf"^\s*(?:require )?{re.escape(self.module)} (v\S+)", text, re.MULTILINE)
        if found is None:
            raise LookupError(f"{self.name}/go.mod does not require {self.module}")
        return found[1]

    @property
    def stamp(self) -> str:
        """What its programs say their version is."""
        words, said = self.version_words
        return re.sub(words, said, self.version) if words else self.version

    @property
    def folder(self) -> Path:
        """Where its programs and files lie when it is built."""
        return cache() / f"{self.name}-{self.version}"

    @property
    def built(self) -> bool:
        """Whether all of it is there."""
        return all((self.folder / name).exists() for name in (*self.programs, *self.files))


@dataclass(frozen=True)
class Packages:
    """A server of Python packages: a file here that locks them by hash, and the package whose version it has."""

    name: str
    package: str

    @property
    def locked(self) -> Path:
        """The file."""
        return MODULES / f"{self.name}.txt"

    @property
    def version(self) -> str:
        """The version of its package that is locked."""
        found = re.search(rf"^{self.package}==(\S+)", self.locked.read_text(encoding="utf-8"), re.MULTILINE)
        if found is None:
            raise LookupError(f"{self.locked.name} does not lock {self.package}")
        return found[1]

    @property
    def folder(self) -> Path:
        """Where its packages lie when they are installed: a folder for PYTHONPATH."""
        return cache() / f"{self.name}-{self.version}"

    @property
    def built(self) -> bool:
        """Whether they are there."""
        return (self.folder / self.package).exists()


HUB = Packages("hub", "jupyterhub")
RECIPES = (
    Recipe("etcd", "go.etcd.io/etcd/server/v3", {"etcd": "go.etcd.io/etcd/server/v3"}),
    Recipe(
        "kubernetes",
        "k8s.io/kubernetes",
        {name: _K8S + name for name in ("kube-apiserver", "kube-controller-manager", "kube-scheduler")},
        version_variable="k8s.io/component-base/version.gitVersion",
    ),
    Recipe("kwok", "sigs.k8s.io/kwok", {"kwok": "sigs.k8s.io/kwok/cmd/kwok"}, {"stage": "kustomize/stage"}),
    Recipe(
        "prometheus",
        "github.com/prometheus/prometheus",
        {name: f"github.com/prometheus/prometheus/cmd/{name}" for name in ("prometheus", "promtool")},
        # Targets from files and over HTTP are all that the tests need; the clouds' clients are most of the build.
        flags=("-tags", "remove_all_sd"),
        version_variable="github.com/prometheus/common/version.Version",
        # Prometheus 3.16.0 is the module's v0.316.0.
        version_words=(r"^v0\.(\d)0?(\d+)\.", r"\1.\2."),
    ),
    Recipe(
        "kueue",
        "sigs.k8s.io/kueue",
        {"kueue": "sigs.k8s.io/kueue/cmd/kueue"},
        {"crd": "config/components/crd/bases", "webhook": "config/components/webhook"},
    ),
    Recipe("helm", "helm.sh/helm/v4", {"helm": "helm.sh/helm/v4/cmd/helm"}),
    Recipe("seaweedfs", "github.com/seaweedfs/seaweedfs", {"weed": "github.com/seaweedfs/seaweedfs/weed"}),
)


def cache() -> Path:
    """The folder of all built servers, outside the checkout: `QUARTERMASTER_SERVERS`, or in the user's cache."""
    named = os.environ.get("QUARTERMASTER_SERVERS")
    if named:
        return Path(named).expanduser().absolute()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "quartermaster" / "servers"


def recipe(name: str) -> Recipe:
    """The recipe of that name."""
    return next(each for each in RECIPES if each.name == name)


def program(name: str) -> Path | None:
    """Where a server's program is: in `KUBEBUILDER_ASSETS`, or built; None: nowhere."""
    assets = os.environ.get("KUBEBUILDER_ASSETS")
    if assets and (Path(assets) / name).exists():
        return Path(assets) / name
    owner = next(each for each in RECIPES if name in each.programs)
    return owner.folder / name if owner.built else None


def installed(name: str) -> Path | None:
    """Where the system's own program of that name is; None: nowhere."""
    found = shutil.which(name)
    return Path(found) if found else None
