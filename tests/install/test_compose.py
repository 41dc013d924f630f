"""docker-compose.yml and the Dockerfile: by the specification, by a linter, by the rules of the house, and run."""

import json
import os
import pwd
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from compose_spec.models import ComposeSpecification

from quartermaster.config.load import check_configuration
from simulator.server import Plan
from tests.install.compose import ROOT, composed, variables
from tests.install.container import Host, host
from tests.servers.postgres import postgres_programs
from tests.servers.process import Process
from tests.servers.recipes import program

PARTS = {"collector", "rollup", "findings", "enforcer", "reports", "metrics", "dashboards"}
SERVICES: dict[str, dict[str, Any]] = composed(variables())["services"]
DAY_MS = 86_400_000


def test_it_is_what_the_specification_says() -> None:
    told = composed(variables())
    plain = {key: value for key, value in told.items() if not key.startswith("x-")}
    ComposeSpecification.model_validate(json.loads(json.dumps(plain)))
    assert told["services"].keys() == PARTS | {"postgres", "prometheus", "simulator"}


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_is_bounded_checked_pinned_and_nobodys_root(name: str) -> None:
    service = SERVICES[name]
    uid = int(service["user"].partition(":")[0])
    assert uid > 0
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["restart"] == "unless-stopped"
    assert re.search(r":v?\d+\.\d+", service["image"]), "pinned by a version"
    assert service["deploy"]["resources"]["limits"].keys() == {"cpus", "memory"}
    assert service["healthcheck"]["test"][0] == "CMD"
    assert all(each.startswith("127.0.0.1:") for each in service.get("ports", [])), "for this machine alone"


def test_nothing_is_published_of_the_parts_and_the_enforcer_cannot_act() -> None:
    assert {name for name, each in SERVICES.items() if "ports" in each} == {"postgres", "prometheus"}
    assert SERVICES["enforcer"]["command"][:2] == ["enforce", "--watch"]
    assert [name for name, each in SERVICES.items() if "demo" in each.get("profiles", [])] == ["simulator"]


def test_a_password_must_be_written() -> None:
    with pytest.raises(KeyError, match="write one into"):
        composed(variables() | {"POSTGRES_PASSWORD": ""})


@pytest.mark.parametrize("name", ["demo.yaml", "quartermaster.yaml"])
def test_the_configurations_are_in_order(name: str) -> None:
    environment = {"POSTGRES_HOST": "postgres", "POSTGRES_PASSWORD": "p", "MAIL_URL": "mailto://h"}
    assert check_configuration(ROOT / "deploy" / "compose" / name, environment).problems == ()


def test_the_demo_is_the_simulators_cluster() -> None:
    """Everything below where the ledger and the parts are is what the simulator itself would write."""
    start_ms = 1_795_910_400_000
    plan = Plan(1, start_ms, start_ms + 30 * DAY_MS, False, 1.0, "", {})
    ours = yaml.safe_load((ROOT / "deploy" / "compose" / "demo.yaml").read_text(encoding="utf-8"))
    theirs = yaml.safe_load(plan.simulation().configuration("http://simulator:9400", "labels"))
    for key in ("clusters", "pools", "teams", "team_rules", "guarantees", "thresholds"):
        assert ours[key] == theirs[key], key


def test_prometheus_asks_every_part_that_tells() -> None:
    told = yaml.safe_load((ROOT / "deploy" / "compose" / "prometheus.yml").read_text(encoding="utf-8"))
    asked = set(told["scrape_configs"][0]["static_configs"][0]["targets"])
    assert asked == {
        f"{name}:{each['expose'][0]}"
        for name, each in SERVICES.items()
        if each.get("expose") and name != "simulator"
    }


def test_the_dockerfile_has_nothing_that_hadolint_finds() -> None:
    linter = Path(sys.prefix) / "bin" / "hadolint"
    done = subprocess.run([linter, ROOT / "Dockerfile"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_image_has_every_room_and_nobody_elses_files() -> None:
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    copied = set(re.findall(r"^COPY ([a-z]+)/ \1/$", text, re.MULTILINE))
    rooms = {"quartermaster", "sql", "collector", "analytics", "simulator", "enforcer", "dashboards", "cli"}
    assert copied == rooms | {"requirements"}
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert ignored[0] == "*"
    assert rooms <= {line.removeprefix("!") for line in ignored}
    assert text.rstrip().splitlines()[-4] == "USER 10001:10001"
    assert all(re.search(r":\d+\.\d+\.\d+-", line) for line in text.splitlines() if line.startswith("FROM"))


def database(made: Host, service: Mapping[str, Any]) -> Process:
    """PostgreSQL on compose's port, as this system has it: the image's entry point is not here."""
    programs, folder = postgres_programs(), made.folder / "postgres"
    if programs is None:
        pytest.skip("left out: PostgreSQL is not here (apt-get install postgresql)")
    folder.mkdir()
    owner = pwd.getpwnam("postgres")
    os.chown(folder, owner.pw_uid, owner.pw_gid)
    for each in (made.folder, *made.folder.parents):
        if each.stat().st_mode & 0o5 != 0o5 and each != Path("/"):
            each.chmod(each.stat().st_mode | 0o5)
    told = service["environment"]
    secret = folder / "password"
    secret.write_text(told["POSTGRES_PASSWORD"])
    os.chown(secret, owner.pw_uid, owner.pw_gid)
    as_owner: dict[str, Any] = {
        "user": owner.pw_uid,
        "group": owner.pw_gid,
        "cwd": folder,
        "env": {"LC_ALL": "C.UTF-8"},
    }
    initdb = [
        programs / "initdb",
        "-D",
        folder / "data",
        "-U",
        told["POSTGRES_USER"],
        f"--pwfile={secret}",
        "-A",
        "scram-sha-256",
    ]
    subprocess.run(initdb, check=True, stdout=subprocess.DEVNULL, **as_owner)
    command = [
        "setpriv",
        f"--reuid={owner.pw_uid}",
        f"--regid={owner.pw_gid}",
        "--clear-groups",
        str(programs / "postgres"),
    ]
    options = [
        "-D",
        str(folder / "data"),
        "-k",
        str(folder),
        "-c",
        "listen_addresses=127.0.0.1",
        "-c",
        "fsync=off",
    ]
    process = made.started["postgres"] = Process("postgres", made.inside([*command, *options]), made.folder)
    process.wait_for(lambda: made.check(service).returncode == 0, "an answer of pg_isready")
    environment = {"PGPASSWORD": told["POSTGRES_PASSWORD"], "PATH": os.environ["PATH"]}
    made_database = made.inside(
        [str(programs / "createdb"), "-h", "127.0.0.1", "-U", told["POSTGRES_USER"], told["POSTGRES_DB"]]
    )
    subprocess.run(made_database, check=True, env=environment)
    return process


def healthy(made: Host, name: str, seconds: float = 240) -> None:
    """Wait until the service's own check is good."""
    end = time.monotonic() + seconds
    while (done := made.check(SERVICES[name])).returncode != 0:
        assert made.started[name].alive, f"{name} ended:\n{made.started[name].tail()}"
        assert time.monotonic() < end, f"{name}: {done.stderr[-300:]}\n{made.started[name].tail()}"
        time.sleep(1)


@pytest.mark.patient
@pytest.mark.postgres
def test_every_services_command_runs_beside_the_others(tmp_path: Path) -> None:
    """Each with its command, environment, user, volumes, ports and health check, on a root that is read-only."""
    prometheus = program("prometheus")
    with host(tmp_path, list(SERVICES)) as made:
        database(made, SERVICES["postgres"])
        for name in ("simulator", "collector", *sorted(PARTS - {"collector"})):
            service = SERVICES[name]
            made.start(name, service, ["quartermaster", *service["command"]], "/var/lib/quartermaster")
            healthy(made, name)  # one after the other: all at once they would wait for two cores
        if prometheus is not None:
            made.start(
                "prometheus",
                SERVICES["prometheus"],
                [str(prometheus), *SERVICES["prometheus"]["command"]],
                "/",
            )
        for name in sorted(PARTS):
            healthy(made, name)
        if prometheus is not None and shutil.which("wget"):
            healthy(made, "prometheus")
        ledger = made.folder / "volumes" / "data" / "ledger"
        assert ledger.is_dir()
        assert ledger.stat().st_uid == 10001
