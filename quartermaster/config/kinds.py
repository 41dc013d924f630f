"""Custom kinds of owners: by which field each is stopped and started again, where we do not know it by ourselves."""

import re
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from quartermaster.config.fields import Part

# What has a way of its own, or none on purpose (`enforcer.act.way`), and is stated by nobody else.
BUILT_IN = frozenset(
    {
        *("Job", "CronJob", "JobSet", "TrainJob", "RayCluster", "RayJob", "RayService"),
        *("PyTorchJob", "TFJob", "MPIJob", "XGBoostJob", "PaddleJob", "JAXJob"),
        *("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "LeaderWorkerSet", "Rollout"),
        *(
            "Notebook",
            "InferenceService",
            "Workload",
            "ScaledObject",
            "ResourceQuota",
            "ClusterQueue",
            "Pod",
            "Node",
        ),
    }
)
Stated = bool | int | str
_LABEL = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
_FIELD = re.compile(r"/spec(/[A-Za-z][A-Za-z0-9_-]{0,62}){1,6}", re.ASCII)
_LONGEST, _LARGEST = 256, 1_000_000


def _of_form(pattern: str, what: str) -> AfterValidator:
    form = re.compile(pattern, re.ASCII)

    def check(value: str) -> str:
        if not form.fullmatch(value):
            raise ValueError(what)
        return value

    return AfterValidator(check)


def _kind(value: str) -> str:
    if value in BUILT_IN:
        raise ValueError(f"how a {value} is stopped, or why it is not, is built in; take it out")
    return value


def _field(value: str) -> str:
    if not _FIELD.fullmatch(value):
        raise ValueError("a field of the object's spec is expected: /spec/suspend")
    return value


def _stated(value: object) -> object:
    if isinstance(value, bool) or (isinstance(value, int) and 0 <= value <= _LARGEST):
        return value
    if isinstance(value, str) and 0 < len(value) <= _LONGEST and value.isprintable():
        return value
    raise ValueError(f"true, false, a whole number up to {_LARGEST} or a word is expected")


Value = Annotated[Stated, BeforeValidator(_stated, json_schema_input_type=Stated)]


class KindPart(Part):
    """A kind of owners, and the one field of its spec by which one is stopped. Its controller takes the pods away."""

    kind: Annotated[
        str, _of_form(r"[A-Z][A-Za-z0-9]{0,62}", "a kind looks like TrainingRun"), AfterValidator(_kind)
    ]
    """The kind, as its objects have it."""
    group: Annotated[
        str,
        _of_form(rf"{_LABEL}(\.{_LABEL})+", "an API group is expected: ml.example.com"),
        Field(max_length=253),
    ]
    """Its API group."""
    versions: tuple[
        Annotated[
            str, _of_form(r"v[0-9]{1,3}((alpha|beta)[0-9]{1,3})?", "a version looks like v1 or v1beta1")
        ],
        ...,
    ] = Field(default=("v1",), min_length=1)
    """Its versions, the newest first; the first that the server serves is used."""
    plural: Annotated[str, _of_form(_LABEL, "the name in the API's paths is expected: trainingruns")]
    """Its name in the API's paths."""
    field: Annotated[str, AfterValidator(_field)]
    """The field that stops it, as a JSON pointer below `/spec`."""
    down: Value
    """What stands there while it is stopped: true, false, a number or a word."""
    up: Value | None = None
    """What stands there while it runs, the same sort of value; another is left alone. Without it whatever was seen
    there is put back. A field that was absent is absent again in both cases."""

    @model_validator(mode="after")
    def _two_values(self) -> "KindPart":
        if self.up is not None and type(self.up) is not type(self.down):
            raise ValueError("up: it is not the same sort of value as down")
        if self.up == self.down:
            raise ValueError("up: it is the same as down, so nothing would be stopped by it")
        return self
