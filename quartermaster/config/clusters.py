"""The clusters' part of the configuration: exporters, API servers, and who is believed."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from quartermaster.config import units
from quartermaster.config.fields import (
    AnyPath,
    ClusterName,
    DurationMs,
    HeaderSecret,
    Name,
    Part,
    Text,
    as_written,
)
from quartermaster.config.hubs import HubPart
from quartermaster.config.nvml import NvmlPart
from quartermaster.config.prometheus import PrometheusPart
from quartermaster.config.web import BasicAuthPart, TlsPart

_NAMESPACE = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", re.ASCII)


def _namespace(value: str) -> str:
    if not _NAMESPACE.fullmatch(value):
        raise ValueError("a namespace has small letters, digits and dashes, at most 63")
    return value


Namespace = Annotated[str, AfterValidator(_namespace)]


def _words(value: object) -> object:
    return {"url": value} if isinstance(value, str) else value


class TargetPart(Part):
    """One exporter's page."""

    url: Text
    """The page's address: http or https, without name and password."""
    node: Name | None = None
    """The node that the page speaks of, where its own labels do not say it rightly."""

    @model_validator(mode="after")
    def _fetchable(self) -> "TargetPart":
        if not units.is_web_address(self.url):
            raise ValueError("url: a target looks like http://node-1:9400/metrics")
        if "@" in self.url.split("/", 3)[2]:
            raise ValueError("url: a name and a password belong into basic_auth, by reference")
        return self


Target = Annotated[TargetPart, BeforeValidator(_words, json_schema_input_type=TargetPart | str)]


class DcgmPart(Part):
    """The dcgm-exporters of a cluster."""

    interval_ms: DurationMs = as_written("30s", alias="interval")
    """How often each page is fetched. Half a minute sees what a bill needs; a sample speaks for at most 2.5
    intervals."""
    targets: tuple[Target, ...] = ()
    """Pages to fetch: an address, or `url` with `node`."""
    file_sd: tuple[AnyPath, ...] = ()
    """Prometheus's file_sd files, relative to this file, with `*` and `?`; they are read again when they
    change."""
    dns_srv: tuple[Name, ...] = ()
    """DNS SRV names whose answers are targets."""
    timeout_ms: DurationMs = as_written("5s", alias="timeout")
    """How long a page may take; then it is a gap. Shorter than the interval."""
    max_page_mib: int = Field(default=16, ge=1, le=1024)
    """How large a page may be, unpacked, in MiB; a larger one is a gap."""
    tls: TlsPart = as_written({})
    """Certificates."""
    basic_auth: BasicAuthPart | None = None
    """A name and a password, sent to every target of the cluster."""
    bearer_token: HeaderSecret | None = None
    """A token, by reference, sent to every target of the cluster; not together with `basic_auth`."""

    @model_validator(mode="after")
    def _sensible(self) -> "DcgmPart":
        if self.timeout_ms >= self.interval_ms:
            raise ValueError("timeout: it is shorter than the interval")
        if self.basic_auth is not None and self.bearer_token is not None:
            raise ValueError("bearer_token: basic_auth and bearer_token exclude each other")
        return self


class QuotaObjectPart(Part):
    """Whose promise one of Kubernetes' quota objects is, where its namespace or name does not say it."""

    object: Name
    """The object: `ResourceQuota/<namespace>/<name>`, `ClusterQueue/<name>`, `Queue/<name>`."""
    team: Name
    """The team."""
    pool: Name
    """The pool."""


class KubernetesPart(Part):
    """The API server of a cluster, which tells who holds what. What it may read is in deploy/rbac."""

    kubeconfig: AnyPath | None = None
    """The kubeconfig, relative to this file; without it, `KUBECONFIG` or `~/.kube/config`."""
    context: Name | None = None
    """The context of the kubeconfig; without it, its current one."""
    in_cluster: bool = False
    """Whether the collector runs in a pod of the cluster, and reads with that pod's service account."""
    resources: tuple[Name, ...] = ("nvidia.com/gpu", "nvidia.com/gpu.shared", "amd.com/gpu")
    """Extended resources that are GPUs, or replicas of them. MIG's (`nvidia.com/mig-…`) always count."""
    drivers: tuple[Name, ...] = ("gpu.nvidia.com", "gpu.amd.com", "gpu.intel.com")
    """Drivers of dynamic resource allocation whose devices are GPUs."""
    user_labels: tuple[Name, ...] = ()
    """Labels or annotations of pods that name a person, before the known ones. The name itself is not kept."""
    tag_labels: tuple[Name, ...] = ()
    """Labels or annotations of pods that are cost tags, beside the known ones."""
    quotas: tuple[QuotaObjectPart, ...] = ()
    """Whose promise quota objects are, where namespace and name do not say it."""
    namespaces: tuple[Namespace, ...] = Field(default=(), max_length=20)
    """The namespaces that agreed: the enforcer looks and acts in these alone, and asks for nothing of the whole
    cluster, so that rights in them are enough. Without it, in all; an empty list is refused. The collector reads what
    it may in any case."""
    hubs: tuple[HubPart, ...] = ()
    """JupyterHubs whose users' servers may be stopped and started again."""
    patience_ms: DurationMs = as_written("3m", alias="patience")
    """How long a watch may be silent before it is a gap. Servers send a sign of life about once a minute."""

    @model_validator(mode="after")
    def _one_way_in(self) -> "KubernetesPart":
        if self.in_cluster and (self.kubeconfig is not None or self.context is not None):
            raise ValueError("in_cluster: it stands alone, without kubeconfig and context")
        places = [each.namespace for each in self.hubs]
        if len(set(places)) < len(places):
            raise ValueError("hubs: two of them have their users' pods in one namespace")
        if "namespaces" in self.model_fields_set and not self.namespaces:
            raise ValueError("namespaces: none has agreed; without the key all of the cluster has")
        if len(set(self.namespaces)) < len(self.namespaces):
            raise ValueError("namespaces: one of them stands there twice")
        if self.namespaces and not set(places) <= set(self.namespaces):
            raise ValueError("hubs: its namespace is not one of those that agreed (namespaces)")
        return self


class ClusterPart(Part):
    """A Kubernetes cluster, a set of bare hosts with exporters, or one host without (`nvml`)."""

    name: ClusterName
    """The cluster's name in the ledger: letters, digits, dots, dashes, underscores; it becomes a folder's
    name. Renaming it makes a new cluster."""
    holders: Literal["kubernetes", "kube-state-metrics", "slurm", "nvml", "labels"] = "labels"
    """Who is believed about who holds a GPU. `labels`, the exporter's own pod labels, needs no access to
    anything else, and sees no finer than the interval."""
    dcgm: DcgmPart = as_written({})
    """Telemetry from dcgm-exporter."""
    kubernetes: KubernetesPart | None = None
    """Its API server; needed, and read, where `holders` is `kubernetes`."""
    prometheus: PrometheusPart | None = None
    """A Prometheus with its history, for `quartermaster backfill`; the collector does not ask it."""
    nvml: NvmlPart | None = None
    """This one host without an exporter: its GPUs through NVIDIA's library, and who uses them. With it `holders` is
    `nvml` (whoever computes on a GPU, and Slurm's jobs) or `slurm` (its jobs alone)."""

    @model_validator(mode="after")
    def _one_host(self) -> "ClusterPart":
        if self.nvml is None:
            return self
        if self.holders not in {"nvml", "slurm"}:
            raise ValueError("nvml: it goes with `holders: nvml`, or `holders: slurm`")
        if self.dcgm.targets or self.dcgm.file_sd or self.dcgm.dns_srv:
            raise ValueError(
                "nvml: it is one host without an exporter; put exporters into a cluster of their own"
            )
        return self
