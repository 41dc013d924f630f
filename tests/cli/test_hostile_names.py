"""A ledger whose every name would paint a terminal: each command that prints names shows them, and obeys none."""

import contextlib
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analytics.money.charges import charge
from cli import main
from enforcer.audit.chain import Chain
from quartermaster.clock import now_ms
from quartermaster.ids import content_id
from tests.audit.deeds import intent, outcome, refused
from tests.ledgers import new_ledger
from tests.money.books import START, Books

PAINT = "\x1b[31m\x1b]0;owned\x07\x9b2J\u202e[bold]"
DAY = START[:10]
YAML = 'clusters: [{name: demo, dcgm: {targets: ["http://127.0.0.1:9400/metrics"]}}]\n'


def named(what: str) -> str:
    """A hostile name that tells what it names."""
    return f"{what}{PAINT}"


def hostile(*fields: str) -> dict[str, str]:
    return {each: named(each) for each in fields}


@pytest.fixture(scope="module")
def painted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A configuration, and a ledger of a charged hour of one pod, a gap, a source and a row that breaks rule 1."""
    folder = tmp_path_factory.mktemp("painted")
    (folder / "quartermaster.yaml").write_text(YAML, encoding="utf-8")
    cluster: dict[str, Any] = {"cluster": named("cluster")}
    since = cluster | {"start_at": START, "revision": 0}
    here = since | {"node": named("node")}
    place: dict[str, Any] = {"pool": named("pool"), "model": named("model"), "node": named("node")}
    with new_ledger(folder / "ledger") as ledger:
        books = Books(ledger)
        books.card()
        books.rate("2")
        books.usage(team=named("team"), workload="job", **cluster, **place)
        name = {"kind": named("kind"), "namespace": named("namespace"), "name": named("workload")}
        books.add("workloads_versions", **since | {"workload_id": content_id("workload", "job")} | name)
        books.add(
            "gaps_versions", **here, gap_id=1, covers="telemetry", source="dcgm", reason=named("reason")
        )
        books.rolled_until("2026-11-30T00:00:00Z", named("cluster"))
        charge(books.fill(), 0, "UTC")
        pod = {"namespace": named("namespace"), "pod": named("pod"), "source": "kubernetes"}
        pod |= {"allocation_id": content_id("pod", "job"), "workload_id": content_id("workload", "job")}
        books.add("allocations_versions", **here | pod)
        gpu = {"device_id": 1, "device_index": 0, "gpu_uuid": named("GPU"), "parts": 168_000}
        books.add("devices_versions", **here | gpu | {"evidence": "kubelet", "kind": "gpu"})
        mark = cluster | {"source": named("source"), "covers": "telemetry"}
        books.add("watermarks", **mark, complete_until_at=START)
        booking: dict[str, Any] = {
            "quota_id": 1,
            "end_at": "2199-01-01",
            "kind": "booking",
            "source": "person",
        }
        booking |= {"team": named("team"), "pool": named("pool"), "guaranteed_parts": 168_000}
        books.add("quotas_versions", cluster="demo", start_at=START, revision=0, **booking)
        books.fill()
        chain = Chain(ledger, "demo")
        stop = intent(
            at_ms=now_ms(), **hostile("kind", "namespace", "name", "team", "pool", "cause", "actor")
        )
        stop = replace(stop, cluster="demo", object_uid=named("uid"), before=named("before"))
        (of,) = chain.write([stop])
        no = replace(refused(at_ms=now_ms(), words=named("refusal")), cluster="demo")
        chain.write([outcome(stop, of, words=named("words")), no])
        ledger.write(
            "x/1/1",
            lambda cursor: (
                cursor.execute("update usage_hourly set held_pms = held_pms + 1, pool = node") and None
            ),
        )
    return folder


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["why", named("team"), "--day", DAY], ["team", "namespace", "pod", "node"]),
        (["why", f"{named('namespace')}/{named('pod')}", "--day", DAY], ["pod", "workload", "team"]),
        (["why", f"{named('node')}/0", "--day", DAY], ["GPU", "node", "pod"]),
        (["why", f"{named('namespace')}/{named('pod')}", "--sources"], ["pod", "namespace", "node"]),
        (["why", f"{named('namespace')}/{named('pod')}", "--sources", "--json"], ["pod", "node"]),
        (["why", named("team"), "--json"], ["team", "pod"]),
        (["why", named("teem")], ["teem"]),
        (["sql", "select node, team from usage_hourly"], ["node", "team"]),
        (["sql", "--format", "csv", "select node, team from usage_hourly"], ["node", "team"]),
        (["sql", "--json", "select node, team from usage_hourly"], ["node", "team"]),
        (["sql", f'select 1 as "{named("column")}"'], ["column"]),
        (["sql", f'select "{named("nothing")}" from usage_hourly'], ["nothing"]),
        (["sql", "--name", "idle-workloads"], []),
        (["status"], ["cluster", "source"]),
        (["status", "--json"], ["cluster", "source"]),
        (["findings", "--at", f"{DAY}T12:00:00Z"], []),
        (["findings", "--at", f"{DAY}T12:00:00Z", "--json"], []),
        (["ledger", "check"], ["cluster", "node"]),
        (["ledger", "check", "--json"], ["cluster", "node"]),
        (["ledger", "check", named("check")], ["check"]),
        (["report", "--week", "2026-W48"], ["team", "namespace", "workload", "reason"]),
        (["report", "--week", "2026-W48", "--team", named("team")], ["team", "workload"]),
        (["report", "--week", "2026-W48", "--team", named("teem")], ["teem", "team"]),
        (["report", "--week", "2026-W48", "--json"], ["team", "workload"]),
        (["report", "--week", "2026-W48", "--format", "csv"], ["team", "workload"]),
        (["report", "--week", "2026-W48", "--format", "html"], ["team", "workload"]),
        (["rollup", "--cluster", named("other")], ["other", "cluster"]),
        (["person", "export", named("person")], []),
        (["actions"], ["kind", "namespace", "name", "team", "words", "refusal"]),
        (["actions", "--json"], ["kind", "name", "team", "pool", "cause", "uid", "actor", "before", "words"]),
        (["actions", "--cluster", named("other")], ["other"]),
        (["audit", "show"], []),
        (["audit", "show", "1"], ["kind", "namespace", "name", "uid", "cause", "actor", "before"]),
        (["audit", "show", "--json"], ["kind", "name", "uid"]),
        (["audit", "show", named("row")], ["row"]),
        (["audit", "verify"], []),
        (["won-back", "--since", DAY], ["kind", "namespace", "name", "team", "cause"]),
        (["won-back", "--since", DAY, "--json"], ["kind", "name", "team", "pool", "cause"]),
        (["bookings"], ["team", "pool"]),
        (["bookings", "--json"], ["team", "pool"]),
        (["bookings", "--cancel", named("id")], ["id"]),
        (["book", named("team"), "1", "--pool", named("pool"), "--to", "fri"], ["team"]),
        (["keep", "4h", named("workload")], ["workload"]),
        (["approve", named("plan")], ["plan"]),
    ],
    ids=lambda given: re.sub(r"[^a-z ]", "", " ".join(given)) if isinstance(given, list) else None,
)
@pytest.mark.patient
def test_names_are_shown_and_never_obeyed(
    painted: Path,
    arguments: list[str],
    names: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    monkeypatch.setattr(
        sys, "argv", ["quartermaster", "--config", str(painted / "quartermaster.yaml"), *arguments]
    )
    with contextlib.suppress(SystemExit):
        main.run()
    told = "".join(capsys.readouterr())
    ours = {"\n"} | ({"\r"} if "csv" in arguments else set()) | ({"\u00a0"} if "html" in arguments else set())
    assert {sign for sign in told if not sign.isprintable()} <= ours
    for name in names:
        assert re.search(name + r"(\ufffd|\\u001b|\\x1b)\[31m", told), told
