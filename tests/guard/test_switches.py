"""Switches: each of the three stops everything, and what cannot be looked at counts as on."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.kubernetes.talk import ABSENT, AWAY, BUSY, EXPIRED, FORBIDDEN, INVALID, Api, Trouble, connect
from enforcer.guard.switches import (
    Command,
    Freeze,
    Switch,
    commanded,
    freeze_file,
    look_at_configmap,
    look_at_file,
    of_configmap,
    of_trouble,
)
from quartermaster.clock import from_iso, to_iso
from quartermaster.config.clusters import KubernetesPart
from quartermaster.config.load import load_configuration
from tests.servers.fleet import Ground

FREEZE, THAW = Command(10, False, "person-1", "a holiday"), Command(20, True, "person-2", "")


@pytest.mark.parametrize(
    ("commands", "frozen"),
    [
        ((), False),
        ((FREEZE,), True),
        ((FREEZE, THAW), False),
        ((THAW, FREEZE), False),  # whatever the order in which they are read
        ((FREEZE, THAW, Command(21, False, "person-1", "")), True),
        ((Command(20, False, "person-1", ""), THAW), True),  # at the same instant
    ],
)
def test_the_last_command_counts(commands: tuple[Command, ...], frozen: bool) -> None:
    assert (commanded(commands) is not None) == frozen


def test_by_whom_since_when_and_why() -> None:
    told = Freeze(Switch.COMMAND, 10, "person-1", "was told: a holiday")
    assert commanded((FREEZE,)) == told
    assert told.words == f"frozen since {to_iso(10)} by person-1: quartermaster freeze was told: a holiday"


def test_commands_that_cannot_be_read() -> None:
    told = commanded(None)
    assert told is not None
    assert "the ledger does not answer" in told.words


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=6), st.permutations(range(6)))
def test_the_order_of_reading_changes_nothing(told: list[tuple[int, bool]], order: list[int]) -> None:
    commands = [Command(at_ms, thaws, "", "") for at_ms, thaws in told]
    shuffled = [commands[n] for n in order if n < len(commands)]
    assert (commanded(commands) is None) == (commanded(shuffled) is None)


def test_a_file_that_is_there(tmp_path: Path) -> None:
    file = tmp_path / "freeze"
    assert look_at_file(file) is None
    file.write_text("a \x1b[31mholiday\u202e\nsecond line\n")
    os.utime(file, ns=(0, 1_796_000_400_000 * 10**6))
    told = look_at_file(file)
    assert told is not None
    assert (told.switch, told.since_ms) == (Switch.FILE, 1_796_000_400_000)
    assert told.words.endswith("freeze is there: a �[31mholiday�")


MAKE: dict[str, Callable[[Path], object]] = {
    "empty": Path.touch,
    "folder": Path.mkdir,
    "broken link": lambda file: file.symlink_to("nowhere"),
    "loop": lambda file: file.symlink_to(file),
    "pipe": os.mkfifo,  # which nobody writes into
    "bytes": lambda file: file.write_bytes(b"\xff\xfe" + b"x" * 10_000),
}


@pytest.mark.parametrize("made", MAKE)
def test_whatever_it_is_it_is_there(made: str, tmp_path: Path) -> None:
    file = tmp_path / "freeze"
    MAKE[made](file)
    told = look_at_file(file)
    assert told is not None
    assert len(told.words) < 600


def test_a_file_that_cannot_be_looked_at(tmp_path: Path) -> None:
    told = look_at_file(tmp_path / "unmounted" / "freeze")
    assert told is not None
    assert told.words.endswith("cannot be looked for: its folder is not there")
    told = look_at_file(Path(tmp_path, "x" * 300))
    assert told is not None
    assert told.words.endswith("cannot be looked at: File name too long")
    (tmp_path / "plain").touch()
    assert look_at_file(tmp_path / "plain" / "freeze") is not None


def test_a_configmap_that_is_there_whatever_is_in_it() -> None:
    created = "2026-12-01T02:00:00Z"
    told = of_configmap("ns", {"metadata": {"creationTimestamp": created}, "data": {"why": "a holiday"}})
    assert told == Freeze(
        Switch.CONFIGMAP, from_iso(created), "", "ns/quartermaster-freeze is there: a holiday"
    )
    for odd in (
        {},
        {"metadata": 3, "data": ["why"]},
        {"metadata": {"creationTimestamp": "soon"}, "data": {"why": "\x1b" * 9_999}},
    ):
        told = of_configmap("ns", odd)
        assert told.since_ms is None
        assert len(told.words) < 400
        assert told.words.isprintable()


@pytest.mark.parametrize("kind", [FORBIDDEN, EXPIRED, BUSY, INVALID, AWAY])
def test_only_a_clear_no_is_a_no(kind: str) -> None:
    assert of_trouble("ns", Trouble(ABSENT, "404: not found")) is None
    told = of_trouble("ns", Trouble(kind, "500: oh"))
    assert told is not None
    assert told.words.endswith("ns/quartermaster-freeze cannot be looked at: 500: oh")


@pytest.mark.controlplane
def test_the_configmap_of_a_real_cluster(ground: Ground) -> None:
    def api(kubeconfig: Path) -> Api:
        return connect(
            KubernetesPart.model_construct(kubeconfig=kubeconfig, context=None, in_cluster=False), "c", 2
        )

    plane, namespace = ground.plane, ground.namespace
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    master = api(plane.kubeconfig)
    assert look_at_configmap(master, namespace) is None
    assert look_at_configmap(master, "no-such-namespace") is None
    nobody = look_at_configmap(
        api(plane.kubeconfig_of(plane.service_account(namespace, "nobody"))), namespace
    )
    assert nobody is not None
    assert "cannot be looked at: 403" in nobody.words
    plane.call("POST", path, {"metadata": {"name": "quartermaster-freeze"}, "data": {"why": "a holiday"}})
    told = look_at_configmap(master, namespace)
    assert told is not None
    assert told.since_ms is not None
    assert told.words.endswith(f"the ConfigMap {namespace}/quartermaster-freeze is there: a holiday")
    plane.call("DELETE", f"{path}/quartermaster-freeze")
    assert look_at_configmap(master, namespace) is None
    away = plane.folder / "kubeconfig-away"
    away.write_text(
        plane.kubeconfig.read_text(encoding="utf-8").replace(str(plane.port), "1"), encoding="utf-8"
    )
    gone = look_at_configmap(api(away), namespace)
    assert gone is not None
    assert "cannot be looked at: " in gone.words


def test_where_the_file_is(tmp_path: Path) -> None:
    least = "clusters: [{name: c, dcgm: {targets: ['http://h/m']}}]\n"
    for more, where in (
        ("", "freeze"),
        ("ledger: {path: deep/ledger}\n", "deep/freeze"),
        ("policy: {acting: {freeze_file: stop/all}}\n", "stop/all"),
    ):
        file = tmp_path / "quartermaster.yaml"
        file.write_text(least + more)
        assert freeze_file(load_configuration(file, {})) == tmp_path / where
