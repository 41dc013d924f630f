"""A host without an exporter: whether it is this one, and has NVIDIA's library."""

from collections.abc import Iterator

from cli.checkup.line import Line, ok
from collector.nvml.configured import fetcher_of, host_name, is_elsewhere
from collector.nvml.first import need_library
from quartermaster.config.clusters import ClusterPart


def host(part: ClusterPart) -> Iterator[Line]:
    """Its line. Raises SourceError where there is no library."""
    if part.nvml is None:
        return
    subject = f"GPUs of {part.name}"
    if is_elsewhere(part):
        yield ok(subject, f"it is {part.nvml.host}, and looked at there, not on {host_name()}")
        return
    need_library(fetcher_of(part.nvml))
    yield ok(subject, "NVIDIA's library answers")
