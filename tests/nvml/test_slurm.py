"""Jobs of a real Slurm, seen from outside: which GPUs each was given, though nothing of it is on them."""

import asyncio
import time
from collections.abc import Mapping

from collector.nvml.claims import claims_of
from collector.nvml.fetch import Fetcher, Places
from collector.nvml.look import Look
from collector.nvml.owner import JOB, Owner
from collector.nvml.settings import Settings
from quartermaster.ids import device_id
from tests.nvml.host import Script
from tests.nvml.slurm import Slurm

SETTINGS = Settings("lab", "n1")
WWW_DATA, DAEMON = 33, 1


async def held(fetcher: Fetcher) -> Mapping[str, set[Owner]]:
    """Who holds each of three GPUs."""
    look = await fetcher.fetch()
    assert isinstance(look, Look), look
    names = {device_id("lab", f"GPU-{index}"): f"GPU-{index}" for index in range(3)}
    return {names[device]: set(theirs) for device, theirs in claims_of(look, SETTINGS).on.items()}


async def soon(fetcher: Fetcher, expected: Mapping[str, set[Owner]]) -> None:
    """A job that Slurm calls running may not have begun yet."""
    end = time.monotonic() + 20
    while (seen := await held(fetcher)) != expected:
        assert time.monotonic() < end, seen
        await asyncio.sleep(0.2)


async def test_jobs_hold_what_slurm_gave_them(script: Script, slurm: Slurm):
    for index in range(3):
        script.gpu(index)
    script.write()
    fetcher = Fetcher(Places(), timeout_ms=20_000)
    try:
        assert await held(fetcher) == {"GPU-0": set(), "GPU-1": set(), "GPU-2": set()}
        first = slurm.submit("sleep 600", gpus=2, uid=WWW_DATA)
        second = slurm.submit("sleep 600", gpus=1, uid=DAEMON)
        one, two = Owner(JOB, first, WWW_DATA), Owner(JOB, second, DAEMON)
        await soon(fetcher, {"GPU-0": {one}, "GPU-1": {one}, "GPU-2": {two}})
        slurm.cancel(first)
        await soon(fetcher, {"GPU-0": set(), "GPU-1": set(), "GPU-2": {two}})
    finally:
        await fetcher.close()
