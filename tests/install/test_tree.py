"""A process tree of small commands: started again, later each time; ended whole, also when the one above is killed."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.leash import held
from cli.parts import Part, parts_of
from cli.pulse import Pulse
from cli.tree import Tree
from quartermaster.config.load import parse_configuration
from quartermaster.config.secret import Surroundings

ROOT = Path(__file__).parents[2]


def part(name: str, text: str) -> Part:
    return Part(name, (text,), "")


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"


def until(holds: Callable[[], bool], seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.02)


class Grown:
    """A tree in this process, with what it said."""

    def __init__(self, *parts: Part, pause_s: float = 0.05) -> None:
        self.said: list[tuple[str, str]] = []
        self.tree = Tree(
            parts,
            lambda each: (sys.executable, "-c", *each.arguments),
            dict(os.environ),
            lambda name, words: self.said.append((name, words)),
            first_pause_s=pause_s,
        )

    async def run(self, seconds: float) -> None:
        stop = asyncio.Event()
        asyncio.get_running_loop().call_later(seconds, stop.set)

        async def at_once(_: Part) -> None:
            return

        await self.tree.run(stop, at_once)


async def test_what_ends_is_started_again_later_each_time_and_what_stays_is_ended() -> None:
    grown = Grown(
        part("stays", "import time; print('here', flush=True); time.sleep(60)"),
        part("fails", "import sys; print('\\x1b[2Jlast words', flush=True); sys.exit(3)"),
        pause_s=0.2,
    )
    began = time.monotonic()
    await grown.run(2.5)
    assert time.monotonic() - began < 10
    fails = [words for name, words in grown.said if name == "fails"]
    assert fails[0] == "\N{REPLACEMENT CHARACTER}[2Jlast words", "hostile text is shown, never obeyed"
    assert fails[1] == "it ended by itself (exit code 3), and is started again in 0.2 s"
    assert fails[3] == "it ended by itself (exit code 3), and is started again in 0.4 s"
    assert grown.tree.standings["fails"].restarts >= 2
    assert ("stays", "here") in grown.said
    assert ("stays", "ended (-15)") in grown.said
    assert all(each.process == 0 for each in grown.tree.standings.values())


async def test_what_a_part_has_started_ends_with_it(tmp_path: Path) -> None:
    child = (
        "import subprocess, sys; p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])"
    )
    text = f"{child}; open({str(tmp_path / 'pid')!r}, 'w').write(str(p.pid)); sys.exit(1)"
    grown = Grown(part("dies", text), pause_s=60)
    await grown.run(1.5)
    until(lambda: gone(int((tmp_path / "pid").read_text())))


def test_a_part_on_a_leash_ends_when_its_holder_is_killed(tmp_path: Path) -> None:
    own = (
        "import os, time; from cli.leash import hold_on; hold_on();"
        f"open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    )
    holder = (
        "import os, subprocess, sys, time; from cli.leash import held;"
        f"subprocess.Popen([sys.executable, '-c', {own!r}], env=held(dict(os.environ))); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", holder], cwd=ROOT) as process:
        until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text() != "")
        process.kill()
    until(lambda: gone(int((tmp_path / "pid").read_text())))


def test_a_part_whose_holder_has_ended_already_does_not_begin() -> None:
    environment = held(dict(os.environ)) | {"QUARTERMASTER_LEASH": "1"}
    command = [sys.executable, "-c", "from cli.leash import hold_on; hold_on(); print('began')"]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (128 + signal.SIGTERM, "")


KUBERNETES = "clusters: [{name: c, holders: kubernetes, kubernetes: {context: c}}]"
SENDING = "reports: {sending: [{name: week, schedule: '0 7 * * 1', audience: managers, to: [mail]}]}"


@pytest.mark.parametrize(
    ("text", "enforce", "more"),
    [
        ("clusters: [{name: c}]", ("enforce", "--watch", "--listen", "127.0.0.1:9501"), set[str]()),
        (KUBERNETES, ("enforce", "--watch", "--listen", "127.0.0.1:9501"), set[str]()),
        (f"{KUBERNETES}\npolicy: {{acting: {{mode: act}}}}", ("enforce", "--plan"), set[str]()),
        (
            f"clusters: [{{name: c}}]\nnotify: {{channels: [{{name: mail, url: '${{env:M}}'}}]}}\n{SENDING}",
            ("enforce", "--watch", "--listen", "127.0.0.1:9501"),
            {"reports"},
        ),
    ],
    ids=["shadow", "shadow on a cluster", "never further than what people approve", "with reports"],
)
def test_the_parts_are_those_that_the_configuration_has_work_for(
    text: str, enforce: tuple[str, ...], more: set[str]
) -> None:
    around = Surroundings({}, Path("/nowhere"), Path.read_text)
    parts = parts_of(parse_configuration(text, "quartermaster.yaml", around, secrets=False).need())
    assert parts[0].name == "collect"
    assert {each.name for each in parts} == {
        "collect",
        "rollup",
        "findings",
        "enforce",
        "dashboard",
        "metrics",
    } | more
    assert next(each.arguments for each in parts if each.name == "enforce") == enforce


def test_a_pulse_tells_how_rounds_went() -> None:
    pulse = Pulse("rollup", patience_s=60)
    assert (pulse.answer("/healthz")[0], pulse.answer("/readyz")[0], pulse.answer("/else")[0]) == (
        200,
        503,
        404,
    )
    pulse.beat(0.5, good=True)
    pulse.beat(0.5, good=False)
    assert pulse.answer("/readyz")[0] == 503
    page = pulse.answer("/metrics")[2].decode()
    assert 'quartermaster_part_rounds_total{part="rollup"} 2.0' in page
    assert 'quartermaster_part_failed_rounds_total{part="rollup"} 1.0' in page
    assert 'quartermaster_part_patience_seconds{part="rollup"} 60.0' in page
    assert Pulse("late", patience_s=-1).answer("/healthz")[0] == 503
