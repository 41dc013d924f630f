"""The series that a target has told of: which are new, which changed, which went elsewhere."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from collector.dcgm.labels import PodLabels
from collector.dcgm.plan import Place, PlannedRow
from quartermaster.ids import content_id
from quartermaster.records import LabelRef, Series

_Device = tuple[Place, str, str, int, str]


class Register:
    """Open series by id, and the ids of label sets that the ledger has."""

    def __init__(
        self, cluster: str, target: str, source: str, known_series: Iterable[Series], known_labels: set[int]
    ) -> None:
        self._cluster = cluster
        self._target = target
        self._source = source
        self._open = {series.series_id: series for series in known_series if series.end_at is None}
        self._labels = known_labels
        # What the last page's rows said, so that what it said again is not reckoned again.
        self._said: dict[_Device, Series] = {}
        self._refs: dict[PodLabels, LabelRef] = {}

    def series(self, rows: Sequence[PlannedRow], at_ms: int) -> tuple[list[Series], list[Series]]:
        """The rows' series, and the records that say what changed.

        A series whose device is called otherwise now ends and begins anew; one whose device speaks from a new
        node (a renamed host) ends. A series that is only absent stays open.
        """
        present = [self._again(row) or self._record(row, at_ms) for row in rows]
        ids = {series.series_id for series in present}
        devices = {(series.gpu_uuid, series.gi_id, series.vgpu) for series in present}
        news: list[Series] = []
        for number, series in enumerate(present):
            was = self._open.get(series.series_id)
            if was is series:
                continue
            if was is not None and replace(series, start_at=was.start_at, revision=was.revision) == was:
                present[number] = was
                continue
            if was is not None and was.start_at >= at_ms:
                present[number] = replace(series, start_at=was.start_at, revision=was.revision + 1)
            elif was is not None:
                news.append(_ended(was, at_ms))
            news.append(present[number])
            self._open[series.series_id] = present[number]
        for series in list(self._open.values()):
            if series.series_id not in ids and (series.gpu_uuid, series.gi_id, series.vgpu) in devices:
                news.append(_ended(series, at_ms))
                del self._open[series.series_id]
        self._said = {_device(row): series for row, series in zip(rows, present, strict=True)}
        return present, news

    def ended(self, at_ms: int) -> list[Series]:
        """The series that are open, each ended: nobody tells of them any more."""
        return [_ended(series, at_ms) for series in self._open.values()]

    def labels(self, rows: Sequence[PlannedRow]) -> tuple[list[LabelRef | None], list[LabelRef]]:
        """The rows' label sets, and those of them that the ledger does not have."""
        refs = [
            None if row.pod is None else self._refs.get(row.pod) or self._label_ref(row.pod) for row in rows
        ]
        self._refs = {
            row.pod: ref for row, ref in zip(rows, refs, strict=True) if row.pod is not None and ref
        }
        news: list[LabelRef] = []
        for ref in refs:
            if ref is not None and ref.label_ref not in self._labels:
                self._labels.add(ref.label_ref)
                news.append(ref)
        return refs, news

    def _record(self, row: PlannedRow, at_ms: int) -> Series:
        place = row.place
        key = (self._cluster, self._source, place.node, place.gpu_uuid, place.gi_id, place.vgpu)
        return Series(
            cluster=self._cluster,
            series_id=content_id("series", *key),
            start_at=at_ms,
            end_at=None,
            source=self._source,
            node=place.node,
            gpu_uuid=place.gpu_uuid,
            gi_id=place.gi_id,
            vgpu=place.vgpu,
            profile=row.profile,
            model=row.model,
            device_index=row.device_index,
            kind="mig" if place.gi_id else "gpu",
            label_generation=row.generation,
            target=self._target,
        )

    def _again(self, row: PlannedRow) -> Series | None:
        """The row's series, if the last page had it just so and it is still open."""
        said = self._said.get(_device(row))
        return said if said is not None and self._open.get(said.series_id) is said else None

    def _label_ref(self, pod: PodLabels) -> LabelRef:
        key = (pod.namespace, pod.pod, pod.container, pod.pod_uid, pod.hpc_job)
        return LabelRef(self._cluster, content_id("labels", *key), *key)


def _device(row: PlannedRow) -> _Device:
    """What a row says of its device; which pod it names is none of the series' business."""
    return row.place, row.profile, row.model, row.device_index, row.generation


def _ended(series: Series, at_ms: int) -> Series:
    return replace(series, end_at=max(at_ms, series.start_at), revision=series.revision + 1)
