"""The configuration's shape: strict, frozen values with units in their names and a reason for each default.

Keys of the file are the aliases (`interval`), fields carry the unit (`interval_ms`). The description of a
field is what docs/configuration.md and the JSON Schema say of it.
"""

from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    ValidationInfo,
    field_validator,
    model_validator,
)

from quartermaster.config import secret, units
from quartermaster.config.secret import Secret, Surroundings

Signal = Literal["gr_engine", "gpu_util", "sm", "tensor", "dram", "mem_copy", "power"]
Sharing = Literal["own", "none", "even", "held", "guarantee"]
_CATALOGS = "it is sqlite, memory, or postgres: with a connection string"


def _path(value: object, info: ValidationInfo) -> Path:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("a path is text, relative to the configuration's folder or absolute")
    return cast(Surroundings, info.context).path(units.plain_text(value))


def _whole_secret(value: object, info: ValidationInfo) -> Secret:
    return secret.whole(value, cast(Surroundings, info.context))


def _address(value: object, info: ValidationInfo) -> Secret:
    if not isinstance(value, str) or not value:
        raise ValueError(_CATALOGS)
    return secret.within(value, cast(Surroundings, info.context))


def _words(value: object) -> object:
    return {"url": value} if isinstance(value, str) else value


def _name(value: str) -> str:
    if not value.strip() or value != value.strip():
        raise ValueError("a name is not empty and has no spaces around it")
    return units.plain_text(value)


def _as_written(default: object, alias: str | None = None) -> Any:  # noqa: ANN401
    """A field whose default goes through the same validation as if it stood in the file."""
    return Field(default=default, alias=alias)


Text = Annotated[str, AfterValidator(units.plain_text)]
Name = Annotated[str, AfterValidator(_name), Field(max_length=200)]
ClusterName = Annotated[str, Field(pattern=r"^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$")]
Glob = Annotated[str, BeforeValidator(units.glob, json_schema_input_type=str)]
_Duration = Annotated[str, Field(pattern=r"^[0-9]{1,9}(ms|s|m|h|d)$")]
DurationMs = Annotated[int, BeforeValidator(units.duration_ms, json_schema_input_type=_Duration)]
InstantMs = Annotated[int, BeforeValidator(units.instant_ms, json_schema_input_type=str)]
GpuParts = Annotated[int, BeforeValidator(units.gpu_parts, json_schema_input_type=float | str)]
Price = Annotated[Decimal, BeforeValidator(units.price, json_schema_input_type=float | str)]
AnyPath = Annotated[Path, BeforeValidator(_path, json_schema_input_type=str)]
_AsReference = PlainSerializer(str, return_type=str)
WholeSecret = Annotated[Secret, BeforeValidator(_whole_secret, json_schema_input_type=str), _AsReference]
Address = Annotated[Secret, BeforeValidator(_address, json_schema_input_type=str), _AsReference]
Currency = Annotated[str, BeforeValidator(units.currency, json_schema_input_type=str)]
TimeZone = Annotated[str, BeforeValidator(units.time_zone, json_schema_input_type=str)]


class Part(BaseModel):
    """A part of the configuration: nothing unknown, nothing converted on the quiet, nothing changed later."""

    model_config = ConfigDict(
        strict=True,
        frozen=True,
        extra="forbid",
        hide_input_in_errors=True,
        use_attribute_docstrings=True,
        validate_default=True,
    )


class LedgerPart(Part):
    """Where the ledger is."""

    path: AnyPath = _as_written("ledger")
    """The ledger's folder, relative to this file. It holds the data and, with `sqlite`, the catalog and the
    write lock."""
    catalog: Address = _as_written("sqlite")
    """`sqlite` (one machine), `postgres:<connection string>` (a fleet) or `memory` (a test). A password
    stands in it by reference."""

    @model_validator(mode="after")
    def _known_catalog(self) -> "LedgerPart":
        kind, _, address = str(self.catalog).partition(":")
        if kind not in {"sqlite", "memory", "postgres"} or bool(address) != (kind == "postgres"):
            raise ValueError(f"catalog: {_CATALOGS}")
        return self


class BusinessPart(Part):
    """In whose days and money the bills are."""

    time_zone: TimeZone = "UTC"
    """The IANA time zone whose midnights end a business day, and whose months are the periods."""
    currency: Currency = "EUR"
    """The currency (ISO 4217) of rate cards that name none."""


class TlsPart(Part):
    """How an exporter's certificate is checked, and which one is shown to it."""

    ca_file: AnyPath | None = None
    """The certificate authority to trust, as a PEM file; without it, the system's."""
    cert_file: AnyPath | None = None
    """The client's certificate, as a PEM file; together with `key_file`."""
    key_file: AnyPath | None = None
    """The client certificate's key, as a PEM file."""
    insecure_skip_verify: bool = False
    """Whether any certificate is taken. Off, because a page from a stranger becomes a bill."""

    @model_validator(mode="after")
    def _both_or_none(self) -> "TlsPart":
        if (self.cert_file is None) != (self.key_file is None):
            raise ValueError("cert_file and key_file stand together or not at all")
        return self


class BasicAuthPart(Part):
    """A name and a password for the exporters."""

    username: Name
    """The user's name."""
    password: WholeSecret
    """The password, by reference."""


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

    interval_ms: DurationMs = _as_written("30s", alias="interval")
    """How often each page is fetched. Half a minute sees what a bill needs; a sample speaks for at most 2.5
    intervals."""
    targets: tuple[Target, ...] = ()
    """Pages to fetch: an address, or `url` with `node`."""
    file_sd: tuple[AnyPath, ...] = ()
    """Prometheus's file_sd files, relative to this file, with `*` and `?`; they are read again when they
    change."""
    dns_srv: tuple[Name, ...] = ()
    """DNS SRV names whose answers are targets."""
    timeout_ms: DurationMs = _as_written("5s", alias="timeout")
    """How long a page may take; then it is a gap. Shorter than the interval."""
    max_page_mib: int = Field(default=16, ge=1, le=1024)
    """How large a page may be, unpacked, in MiB; a larger one is a gap."""
    tls: TlsPart = _as_written({})
    """Certificates."""
    basic_auth: BasicAuthPart | None = None
    """A name and a password, sent to every target of the cluster."""
    bearer_token: WholeSecret | None = None
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
    patience_ms: DurationMs = _as_written("3m", alias="patience")
    """How long a watch may be silent before it is a gap. Servers send a sign of life about once a minute."""

    @model_validator(mode="after")
    def _one_way_in(self) -> "KubernetesPart":
        if self.in_cluster and (self.kubeconfig is not None or self.context is not None):
            raise ValueError("in_cluster: it stands alone, without kubeconfig and context")
        return self


class ClusterPart(Part):
    """A Kubernetes cluster, or a set of bare hosts."""

    name: ClusterName
    """The cluster's name in the ledger: letters, digits, dots, dashes, underscores; it becomes a folder's
    name. Renaming it makes a new cluster."""
    holders: Literal["kubernetes", "kube-state-metrics", "slurm", "nvml", "labels"] = "labels"
    """Who is believed about who holds a GPU. `labels`, the exporter's own pod labels, needs no access to
    anything else, and sees no finer than the interval."""
    dcgm: DcgmPart = _as_written({})
    """Telemetry from dcgm-exporter."""
    kubernetes: KubernetesPart | None = None
    """Its API server; needed, and read, where `holders` is `kubernetes`."""


class PoolPart(Part):
    """The nodes of one GPU model and purpose. A node is in the first pool that matches; in none, in the pool
    named after its model."""

    name: Name
    """The pool's name."""
    models: tuple[Glob, ...] = ("*",)
    """Patterns of which the node's GPU model matches at least one."""
    node_labels: Mapping[str, Glob] = {}
    """Node labels that are there, each with a pattern for its value."""


class TeamPart(Part):
    """Who pays, and who is promised quota."""

    name: Name
    """The team's name. `unassigned` is the house's own: what no rule matches."""
    department: Text = ""
    """The department that the team belongs to."""
    cost_centre: Text = ""
    """The cost centre, as text: "4711"."""


class LabelPart(Part):
    """A pod label that a rule asks for."""

    key: Name
    """The label's name, exactly."""
    value: Glob = "*"
    """A pattern for its value; `*` asks only that the label is there."""


class TeamRulePart(Part):
    """One rule; in order, the first whose every condition matches decides."""

    team: Name
    """The team that the rule gives."""
    cluster: Glob = "*"
    """A pattern for the cluster's name."""
    namespace: Glob = "*"
    """A pattern for the namespace."""
    label: LabelPart | None = None
    """A pod label."""
    user: Glob | None = None
    """A pattern for the user's name; matched when the allocation is recorded, because the name itself is not
    kept."""
    unix_user: Glob | None = None
    """A pattern for the Unix user's name; likewise."""
    start_at: InstantMs | None = Field(default=None, alias="from")
    """From when the rule holds; without it, from when it is first declared (a first declaration holds for all
    the past)."""
    end_at: InstantMs | None = Field(default=None, alias="to")
    """Until when it holds; without it, until it leaves this file."""


class GuaranteePart(Part):
    """GPUs promised to a team in a pool."""

    team: Name
    """The team."""
    pool: Name
    """The pool."""
    guaranteed_parts: GpuParts = Field(alias="gpus")
    """How many GPUs are promised; tenths and thousandths are fine."""
    limit_parts: GpuParts | None = Field(default=None, alias="limit")
    """How many GPUs the team may hold at most, borrowed ones included; without it, no limit."""
    weight: int = Field(default=1, ge=1, le=1_000_000)
    """The team's part in sharing what is spare."""
    cluster: Glob = "*"
    """A pattern for the clusters in which the promise is made, in each of them in full."""
    start_at: InstantMs | None = Field(default=None, alias="from")
    """From when the promise holds; without it, from when it is first declared (a first declaration holds for
    all the past)."""
    end_at: InstantMs | None = Field(default=None, alias="to")
    """Until when it holds; without it, until it leaves this file."""

    @model_validator(mode="after")
    def _limit_above(self) -> "GuaranteePart":
        if self.limit_parts is not None and self.limit_parts < self.guaranteed_parts:
            raise ValueError("limit: it is below the guarantee")
        return self


class PricePart(Part):
    """One price of a card; in order, the first that matches is taken."""

    gpu_hour: Price
    """The price of a whole GPU held for an hour; in quotes, to be read exactly as written."""
    model: Glob = "*"
    """A pattern for the GPU model."""
    pool: Glob = "*"
    """A pattern for the pool."""
    cluster: Glob = "*"
    """A pattern for the cluster."""


class RateCardPart(Part):
    """Prices in force from an instant until the next card's."""

    card: Name
    """The card's name."""
    currency: Currency | None = None
    """The card's currency; without it, the business's."""
    author: Text = ""
    """Who set the prices; it is kept with them."""
    start_at: InstantMs | None = Field(default=None, alias="from")
    """From when the card is in force; without it, from when it is first declared (a first declaration holds
    for all the past)."""
    end_at: InstantMs | None = Field(default=None, alias="to")
    """Until when; without it, until the next card begins."""
    prices: tuple[PricePart, ...] = Field(min_length=1)
    """The prices, in order."""
    unallocated: Sharing = "own"
    """How the cost of capacity that nobody held is shared: a line of its own (`own`), nobody's (`none`),
    evenly, by held time, by guarantee."""
    unavailable: Sharing = "own"
    """The same for capacity that was cordoned, not ready or sick."""
    unobserved: Sharing = "own"
    """The same for capacity of which nobody could tell."""
    bill_faulted: bool = False
    """Whether time held on a faulty GPU is the team's cost. Off: nobody pays for a GPU that did not work."""


class ThresholdPart(Part):
    """The floor of a signal: at it or above, a device is computing."""

    signal: Signal
    """The signal: a share of one for all but `power`, which is in watts."""
    floor: int = Field(json_schema_extra={"type": "number"})
    """The floor, above zero: signals have noise. In the ledger permille, for power deciwatts. For `power`,
    the floor with a CUDA context on the GPU."""
    kind: Glob = "*"
    """A pattern for the workload's kind, such as Notebook."""
    model: Glob = "*"
    """A pattern for the GPU model."""

    @field_validator("floor", mode="before")
    @classmethod
    def _in_the_signals_unit(cls, value: object, info: ValidationInfo) -> int:
        return units.power_dw(value) if info.data.get("signal") == "power" else units.ratio_permille(value)


class PrivacyPart(Part):
    """People are not what is measured."""

    pseudonyms: bool = True
    """Whether the names of people stay out of the ledger; off, the table `people` has them, and `person
    erase` takes them out."""
    key: WholeSecret | None = None
    """The key of the pseudonyms, by reference; without it, a file `pseudonym.key` made in the ledger's
    folder, readable by its owner alone."""


class SpoolPart(Part):
    """Where batches wait while the ledger is away."""

    path: AnyPath = _as_written("spool")
    """The spool's folder, relative to this file."""
    max_mib: int = Field(default=1024, ge=1)
    """How much may wait, in MiB; then the oldest is dropped and recorded as a gap."""


class CollectorPart(Part):
    """The collecting process."""

    listen: Text = Field(default="127.0.0.1:9500", pattern=r"^(\[[0-9A-Fa-f:.]+\]|[^\s:\[\]/]*):[0-9]{1,5}$")
    """Address and port of its own metrics and health; this machine alone, unless told otherwise."""
    spool: SpoolPart = _as_written({})
    """Where batches wait while the ledger is away."""
    log: Literal["plain", "json"] = "plain"
    """Lines for people, or JSON for machines."""

    @field_validator("listen")
    @classmethod
    def _port_there_can_be(cls, value: str) -> str:
        if int(value.rpartition(":")[2]) > 65535:
            raise ValueError("a port is at most 65535")
        return value


class RetentionPart(Part):
    """How long things are kept."""

    samples_ms: DurationMs = _as_written("90d", alias="samples")
    """How long samples are kept; usage and charges outlive them."""


class Configuration(Part):
    """The whole configuration. Everything has a default but `clusters`."""

    ledger: LedgerPart = _as_written({})
    """Where the ledger is."""
    business: BusinessPart = _as_written({})
    """In whose days and money the bills are."""
    clusters: tuple[ClusterPart, ...] = Field(min_length=1)
    """The clusters that are measured."""
    pools: tuple[PoolPart, ...] = ()
    """Pools, in order; a node is in the first that matches."""
    teams: tuple[TeamPart, ...] = ()
    """Teams."""
    team_rules: tuple[TeamRulePart, ...] = ()
    """Which team an allocation is of, in order; the first rule that matches decides."""
    guarantees: tuple[GuaranteePart, ...] = ()
    """What is promised to whom."""
    rate_cards: tuple[RateCardPart, ...] = ()
    """What GPUs cost."""
    thresholds: tuple[ThresholdPart, ...] = ()
    """Floors of the signals, before the house's own. Of those that match, one for some kinds comes before one
    for all, and then a longer model pattern before a shorter."""
    privacy: PrivacyPart = _as_written({})
    """How people are kept out of it."""
    collector: CollectorPart = _as_written({})
    """The collecting process."""
    retention: RetentionPart = _as_written({})
    """How long things are kept."""
