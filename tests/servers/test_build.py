"""`make servers` with a stand-in for Go: once a version, wholly or not at all, and with words that help."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.servers.build import dotted, least_go
from tests.servers.recipes import HUB, MODULES, RECIPES, recipe

FAKE_GO = """#!/bin/sh
echo "$*" >> {log}
case $1 in
  env) echo go{version}; echo local ;;
  list) echo {module} ;;
  build)
    {build}
    while [ "$1" != -o ]; do shift; done; echo built > "$2" ;;
esac
"""


class Workshop:
    """A cache and a PATH of the test's own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cache = folder / "cache"
        self.log = folder / "go.log"
        self.bin = folder / "bin"
        self.bin.mkdir()
        (folder / "module" / "kustomize" / "stage").mkdir(parents=True)
        (folder / "module" / "kustomize" / "stage" / "node.yaml").write_text("kind: Stage\n")
        (folder / "module" / "kustomize" / "stage" / "node.yaml").chmod(0o444)

    def go(self, version: str = "1.99.0", build: str = ":") -> None:
        """Put a Go of the version there; `build` is what it does first when it builds."""
        text = FAKE_GO.format(log=self.log, version=version, module=self.folder / "module", build=build)
        (self.bin / "go").write_text(text)
        (self.bin / "go").chmod(0o755)

    def build(self, *names: str) -> subprocess.CompletedProcess[str]:
        """`make servers`."""
        environment = {"PATH": f"{self.bin}:/usr/bin:/bin", "QUARTERMASTER_SERVERS": str(self.cache)}
        if not (self.bin / "go").exists():
            environment["PATH"] = str(self.bin)
        command = [sys.executable, "-m", "tests.servers.build", *names]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    def lies(self) -> list[str]:
        """What is in the cache, but for its lock."""
        return sorted(path.name for path in self.cache.iterdir() if path.name != ".lock")


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path)


def test_a_server_is_built_once_a_version(workshop: Workshop) -> None:
    workshop.go()
    first = workshop.build("etcd", "kwok")
    assert first.returncode == 0, first.stderr
    assert workshop.lies() == [f"etcd-{recipe('etcd').version}", f"kwok-{recipe('kwok').version}"]
    stage = workshop.cache / f"kwok-{recipe('kwok').version}" / "stage" / "node.yaml"
    assert os.access(stage, os.W_OK)
    calls = workshop.log.read_text()
    second = workshop.build("etcd", "kwok")
    assert second.returncode == 0
    assert workshop.log.read_text() == calls
    assert "2 of 2 servers are in" in second.stdout


def test_what_a_killed_build_left_is_taken_away(workshop: Workshop) -> None:
    workshop.go()
    (workshop.cache / ".etcd-left" / "built").mkdir(parents=True)
    assert workshop.build("etcd").returncode == 0
    assert workshop.lies() == [f"etcd-{recipe('etcd').version}"]


def test_a_build_that_fails_leaves_nothing_and_shows_why(workshop: Workshop) -> None:
    workshop.go(build="echo 'no space left on device' >&2; exit 1")
    failed = workshop.build("etcd")
    assert failed.returncode == 1
    assert "no space left on device" in failed.stderr
    assert "Traceback" not in failed.stderr
    assert workshop.lies() == []


def test_without_go_it_says_how_to_get_it(workshop: Workshop) -> None:
    failed = workshop.build("etcd")
    assert failed.returncode == 1
    assert "Go is not installed" in failed.stderr
    assert "tests/servers/go.txt" in failed.stderr


def test_an_old_go_is_refused_with_the_version_that_is_needed(workshop: Workshop) -> None:
    workshop.go(version="1.19.8")
    failed = workshop.build("prometheus")
    assert failed.returncode == 1
    assert "Go 1.19.8 is too old for prometheus" in failed.stderr
    assert dotted(least_go(recipe("prometheus"))) in failed.stderr


def test_an_unknown_server_is_named_with_those_there_are(workshop: Workshop) -> None:
    failed = workshop.build("zookeeper")
    assert failed.returncode == 1
    assert "no such server: zookeeper; there are etcd, kubernetes" in failed.stderr


@pytest.mark.parametrize("name", [each.name for each in RECIPES])
def test_a_modules_files_name_modules_alone(name: str) -> None:
    """Neither where modules are fetched from, nor a folder of somebody's machine."""
    text = "".join((MODULES / name / file).read_text() for file in ("go.mod", "go.sum"))
    assert not re.search(r"://|proxy\.|=> \.{0,2}/", text)
    assert recipe(name).version.startswith("v")


def test_every_package_is_locked_by_hash_and_no_place_is_named() -> None:
    text = HUB.locked.read_text(encoding="utf-8")
    locked = re.split(r"(?m)^(?=[a-z])", text)[1:]
    assert len(locked) > 40
    assert all(
        re.match(r"[\w.-]+==[\w.]+(?: ;.*)? \\\n( +--hash=sha256:[0-9a-f]{64}( \\)?\n)+", each)
        for each in locked
    )
    assert "://" not in text
