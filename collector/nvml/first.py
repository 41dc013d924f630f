"""Before this host alone is collected: is it in the configuration, and does it have NVIDIA's library at all?"""

import asyncio
from pathlib import Path

from collector.dcgm.fetch import Failure
from collector.nvml.configured import fetcher_of, host_name, is_elsewhere
from collector.nvml.fetch import Fetcher
from collector.nvml.library import NO_LIBRARY
from quartermaster.config.model import Configuration
from quartermaster.errors import ConfigurationError, SourceError


def look_first(file: Path, configuration: Configuration) -> None:
    """Look once, for nothing but to see whether that can be. Other troubles than these may pass, and are gaps.

    Raises ConfigurationError when no cluster of the configuration in the `file` is this host, SourceError when there
    is no library to look with.
    """
    here = [part.nvml for part in configuration.clusters if part.nvml is not None and not is_elsewhere(part)]
    if not here:
        name = host_name()
        raise ConfigurationError(
            f"{file}: no cluster is this host ({name})",
            f"add to clusters: - {{name: {name}, holders: nvml, nvml: {{host: {name}}}}}",
        )
    for nvml in here:
        need_library(fetcher_of(nvml))


def need_library(fetcher: Fetcher) -> None:
    """Look once. Raises SourceError when there is no library to look with; other troubles may pass."""
    answer = asyncio.run(_look(fetcher))
    if isinstance(answer, Failure) and answer.reason == NO_LIBRARY:
        raise SourceError(
            f"{host_name()} has no NVML: {answer.detail}",
            "install NVIDIA's driver (nvidia-smi must work); in a container pass the GPUs with the utility "
            "capability; a library in another folder is found through LD_LIBRARY_PATH",
        )


async def _look(fetcher: Fetcher) -> object:
    try:
        return await fetcher.fetch()
    finally:
        await fetcher.close()
