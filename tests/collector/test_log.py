"""The log and the health page: one line an event whatever is in it, and a plain answer to whoever asks."""

import io
import json
import re
import time
from pathlib import Path

import aiohttp
import pytest

from collector.health import Metrics, Pulse, serve
from collector.log import Log, line
from quartermaster.errors import ConfigurationError

HOSTILE = 'x\n2026-11-30T00:00:00.000Z error forged key=1\r\x1b[31m"quoted" \u2028 \udc80'


@pytest.mark.parametrize("form", ["plain", "json"])
def test_hostile_text_stays_in_its_line(form: str) -> None:
    stream = io.StringIO()
    log = Log("json" if form == "json" else "plain", stream, lambda: 1_796_000_000_000)
    log.warning("gap begins", target=HOSTILE, seconds=1.25, count=3)
    written = stream.getvalue()
    assert written.count("\n") == len(written.splitlines()) == 1
    assert written.isascii()
    assert "\x1b" not in written
    if form == "json":
        read = json.loads(written)
        assert read["target"] == HOSTILE
        assert (read["at"], read["level"], read["event"]) == (
            "2026-11-30T00:53:20.000Z",
            "warning",
            "gap begins",
        )
    else:
        assert written.startswith("2026-11-30T00:53:20.000Z warning gap begins target=")
        assert written.endswith("seconds=1.250 count=3\n")


def test_long_text_is_cut() -> None:
    assert len(line("plain", 0, "info", "event", {"what": "y" * 10_000})) < 600


async def test_health_is_said_plainly(unused_tcp_port: int) -> None:
    metrics, pulse = Metrics(), Pulse(patience_s=60)
    listen = f"127.0.0.1:{unused_tcp_port}"
    refreshed: list[int] = []
    runner = await serve(listen, metrics, pulse, lambda: refreshed.append(1))
    try:
        with pytest.raises(ConfigurationError, match="cannot be listened on"):
            await serve(listen, metrics, pulse, lambda: None)
        async with aiohttp.ClientSession(f"http://{listen}") as session:

            async def status(path: str) -> int:
                async with session.get(path) as response:
                    return response.status

            assert [await status(path) for path in ("/healthz", "/readyz", "/other")] == [200, 503, 404]
            pulse.acknowledged = True
            assert await status("/readyz") == 200
            pulse.beat_at = time.monotonic() - 61
            assert [await status(path) for path in ("/healthz", "/readyz")] == [503, 503]
            assert await status("/metrics") == 200
            assert refreshed == [1]
    finally:
        await runner.cleanup()


def test_every_metric_is_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "collector.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"`([a-z_]+)`", page))
    names = {metric.name for metric in Metrics().registry.collect()}
    short = {name.removeprefix("quartermaster_collector_") for name in names}
    missing = [name for name in short if not {name, f"{name}_total", f"{name}_info"} & documented]
    assert not missing
