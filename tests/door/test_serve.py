"""The remote door: a real server, asked with Python's own client and with curl."""

import csv
import http.client
import importlib
import io
import json
import os
import signal
import ssl
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest
from typer.testing import CliRunner

from cli.main import app
from quartermaster.clock import DAY_MS, now_ms
from quartermaster.errors import InputError, LedgerError
from sql.ledger import open_ledger
from sql.serve import Serving, check
from sql.tokens import create
from tests.door.test_attacks import RIVALS, SECRETS, fill
from tests.ledgers import new_ledger

VISION = "select team, sum(amount) as amount from reporting.costs group by team"


@dataclass(frozen=True)
class Served:
    """A server that runs, and the words that open it."""

    process: "subprocess.Popen[str]"
    address: str
    folder: Path
    vision: str
    fleet: str
    slow: str

    def call(
        self, path: str, body: object = None, word: str | None = None, **headers: str
    ) -> tuple[int, bytes, dict[str, str]]:
        """Status, body and headers of the answer to a request."""
        data = json.dumps(body).encode() if body is not None and not isinstance(body, bytes) else body
        told = {"authorization": f"Bearer {self.vision if word is None else word}"} | headers
        asked = urllib.request.Request(self.address + path, data=data, headers=told)
        try:
            with urllib.request.urlopen(asked, timeout=30) as answer:
                return answer.status, answer.read(), {k.lower(): v for k, v in answer.headers.items()}
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read(), {k.lower(): v for k, v in error.headers.items()}

    def ask(self, query: str, word: str | None = None, **more: object) -> dict[str, Any]:
        """What comes back as JSON."""
        return json.loads(self.call("/v1/sql", {"query": query, **more}, word)[1])


def begin(folder: Path, *options: str) -> tuple["subprocess.Popen[str]", str]:
    """A server of the ledger below the folder, and its address."""
    config = folder / "quartermaster.yaml"
    config.write_text("clusters: [{name: c}]\n", encoding="utf-8")
    command = [sys.executable, "-m", "cli", "--config", str(config), "serve", "sql", "--port", "0", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    line = process.stdout.readline()
    assert line.startswith("Listening on "), line
    return process, line.removeprefix("Listening on ").strip()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    base = tmp_path_factory.mktemp("served")
    now = now_ms()
    end = now + DAY_MS
    with new_ledger(base / "ledger") as ledger:
        fill(ledger.append)
        made: dict[str, Any] = {"author": "t", "now_ms": now, "end_ms": end, "per_minute": 10_000}
        _, vision = create(ledger, "vision", teams=["vision"], **made)
        _, fleet = create(ledger, "fleet", teams=None, **made)
        _, slow = create(ledger, "slow", teams=["vision"], **dict(made, per_minute=2))
    process, address = begin(base, "--at-once", "2", "--waiting", "6", "--seconds", "5", "--rows", "50")
    try:
        yield Served(process, address, base / "ledger", vision, fleet, slow)
    finally:
        process.kill()
        process.wait()
        assert process.stdout
        process.stdout.close()


@pytest.mark.patient
def test_json_csv_and_arrow(served: Served) -> None:
    status, body, headers = served.call("/v1/sql", {"query": VISION})
    assert status == 200
    assert json.loads(body) == {
        "columns": ["team", "amount"],
        "more": False,
        "rows": [{"team": "vision", "amount": 1}],
    }
    assert b'"amount": 1.000000}' in body  # a number with all its digits
    assert headers["cache-control"] == "no-store"
    assert headers["x-rows"] == "1"
    _, body, headers = served.call("/v1/sql?", {"query": VISION, "format": "csv"})
    assert list(csv.reader(io.StringIO(body.decode()))) == [["team", "amount"], ["vision", "1.000000"]]
    assert headers["content-type"].startswith("text/csv")
    _, body, _ = served.call("/v1/sql", {"query": VISION}, accept="application/vnd.apache.arrow.stream")
    table = cast(Any, importlib.import_module("pyarrow")).ipc.open_stream(body).read_all()
    assert table.to_pylist() == [{"team": "vision", "amount": Decimal("1.000000")}]


def test_a_named_question_with_parameters(served: Served) -> None:
    status, body, _ = served.call("/v1/questions/cost-by-team?team=vision&from=2026-11-01")
    assert (status, json.loads(body)["rows"]) == (
        200,
        [{"team": "vision", "kind": "base", "amount": 1.0, "currency": None}],
    )
    _, body, _ = served.call("/v1/questions/cost-by-team?format=csv")
    assert body.decode().splitlines()[1:] == ["vision,base,1.00,"]
    listed = json.loads(served.call("/v1/questions")[1])
    assert len(listed) >= 20
    assert {"name", "about", "parameters"} == listed[0].keys()


@pytest.mark.patient
def test_each_token_sees_its_own(served: Served) -> None:
    assert served.ask("select team from reporting.teams")["rows"] == [{"team": "vision"}]
    assert len(served.ask("select team from reporting.teams", served.fleet)["rows"]) == 2
    refused = served.ask("select * from usage_daily")
    assert refused["error"] == "there is no table 'usage_daily' to be asked"
    assert len(served.ask("select * from usage_daily", served.fleet)["rows"]) == 2
    mine = json.loads(served.call("/v1/tables")[1])
    assert {each["name"].partition(".")[0] for each in mine} == {"reporting"}
    everything = {each["name"] for each in json.loads(served.call("/v1/tables", word=served.fleet)[1])}
    assert "usage_daily" in everything
    assert not everything & {"people", "tokens"}
    for word in (served.vision, served.fleet):
        for table in ("tokens", "tokens_versions", "people"):
            assert "no table" in served.ask(f"select * from {table}", word)["error"]


@pytest.mark.parametrize(
    ("path", "body", "status", "word"),
    [
        ("/v1/sql", {"query": "select 1"}, 401, ""),
        ("/v1/sql", {"query": "select 1"}, 401, "qm_wrong"),
        ("/v1/sql", {"query": "select 1"}, 401, "x" * 5000),
        ("/v1/sql", b"no json", 400, None),
        ("/v1/sql", b"[]", 400, None),
        ("/v1/sql", b"[" * 100_000, 400, None),
        ("/v1/sql", {"query": 1}, 400, None),
        ("/v1/sql", {"query": "select 1", "surprise": 1}, 400, None),
        ("/v1/sql", {"query": "select 1", "format": "xml"}, 400, None),
        ("/v1/sql", {"query": "select 1", "parameters": [1]}, 400, None),
        ("/v1/sql", {"query": "select 1", "parameters": {"a": {"b": 1}}}, 400, None),
        ("/v1/sql", {"query": "select $x"}, 400, None),
        ("/v1/sql", {"query": "select nosuch"}, 400, None),
        ("/v1/sql", {"query": "select '" + "x" * 300_000 + "'"}, 413, None),
        ("/v1/sql", None, 405, None),
        ("/v1/questions/nosuch", None, 400, None),
        ("/v1/questions/top-movers", None, 400, None),
        ("/v1/questions/top-costs?top=cheap", None, 400, None),
        ("/v1/questions/..%2f..%2fdoor%2ftables", None, 404, None),
        ("/nowhere", None, 404, None),
    ],
)
def test_what_is_wrong_comes_back_as_json_with_a_hint(
    served: Served, path: str, body: object, status: int, word: str | None
) -> None:
    found, told, headers = served.call(path, body, word)
    assert found == status
    assert set(json.loads(told)) == {"error", "hint"}
    assert json.loads(told)["hint"]
    assert headers["content-type"] == "application/json"
    assert str(served.folder).encode() not in told


def test_who_asks_too_often_waits(served: Served) -> None:
    statuses = [served.call("/v1/sql", {"query": "select 1"}, served.slow) for _ in range(3)]
    assert [status for status, _, _ in statuses] == [200, 200, 429]
    assert int(statuses[-1][2]["retry-after"]) >= 1


def test_no_attack_passes_here_either(served: Served) -> None:
    for query in (
        "from reporting.teams where team::int = 1",
        "from read_text('/etc/passwd')",
        "select 1; select 2",
    ):
        told = json.dumps(served.ask(query))
        assert not any(canary in told for canary in (*SECRETS, *RIVALS, str(served.folder), "root:"))
    hostile = served.ask("select $p as p", parameters={"p": "' or 1=1 --"})
    assert hostile["rows"] == [{"p": "' or 1=1 --"}]


@pytest.mark.patient
def test_a_question_that_takes_too_long_ends_and_others_go_on(served: Served) -> None:
    long = "select count(*) from range(1000000000000)"
    with ThreadPoolExecutor(4) as pool:
        bomb = pool.submit(served.ask, long)
        answers = [pool.submit(served.ask, "select 1 as one") for _ in range(3)]
        assert all(answer.result()["rows"] == [{"one": 1}] for answer in answers)
        assert "longer than 5 s" in bomb.result()["error"]


@pytest.mark.patient
def test_many_who_ask_at_once_are_bounded(served: Served) -> None:
    """One token takes half of the places, two at once and two that wait; the rest is told to come again."""
    with ThreadPoolExecutor(8) as pool:
        asked = [{"query": f"select sum(range) + {number} from range(30000000)"} for number in range(8)]
        told = [status for status, _, _ in pool.map(partial(served.call, "/v1/sql"), asked)]
    assert set(told) <= {200, 429, 503}
    assert 200 in told


def test_curl_as_the_page_shows_it(served: Served) -> None:
    command = [
        "curl",
        "-s",
        "-H",
        f"Authorization: Bearer {served.vision}",
        served.address + "/v1/questions/cost-by-team",
    ]
    told = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(told.stdout)["rows"][0]["team"] == "vision"


def test_python_as_the_page_shows_it(served: Served) -> None:
    page = (Path(__file__).parents[2] / "docs" / "sql.md").read_text(encoding="utf-8")
    shown = page.partition("```python\n")[2].partition("```")[0]
    script = shown.replace("https://ledger.example.org:8321", served.address) + "print(json.dumps(rows))"
    told = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"TOKEN": served.vision},
    )
    assert json.loads(told.stdout) == [{"team": "vision", "amount": 1.0}]


def test_a_broken_request_breaks_nothing(served: Served) -> None:
    host = served.address.removeprefix("http://")
    for text in (
        b"GET / HTTP/9.9\r\n\r\n",
        b"\x16\x03\x01 no http",
        b"POST /v1/sql HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
    ):
        connection = http.client.HTTPConnection(host, timeout=10)
        connection.connect()
        connection.sock.sendall(text)
        connection.sock.recv(1000)
        connection.close()
    assert served.ask("select 1 as one")["rows"] == [{"one": 1}]


@pytest.mark.patient
def test_it_ends_in_order_and_all_is_noted(tmp_path: Path) -> None:
    with new_ledger(tmp_path / "ledger") as ledger:
        fill(ledger.append)
        now = now_ms()
        _, word = create(
            ledger, "t", teams=["vision"], author="t", now_ms=now, end_ms=now + DAY_MS, per_minute=100
        )
    process, address = begin(tmp_path, "--at-once", "1")
    here = Served(process, address, tmp_path / "ledger", word, word, word)
    try:
        here.ask("select $team as team", parameters={"team": "vision"})
        here.call("/v1/questions/cost-by-team?team=vision")
        here.ask("select nosuch")
        late = threading.Timer(0.3, process.send_signal, [signal.SIGTERM])
        late.start()
        assert here.ask("select count(*) as n from range(200000000) where range % 7 = 3")["rows"]
        late.join()
        process.wait(timeout=20)
    finally:
        process.kill()
        assert process.stdout
        process.stdout.close()
    with open_ledger(tmp_path / "ledger", read_only=True) as ledger:
        found = ledger.query(
            "select token, question, parameters, outcome, rows, length(query_hash) as hash, words "
            "from sql_asked order by asked_at"
        )
    assert found["outcome"].to_list() == ["answered", "answered", "refused", "answered"]
    assert found["question"].to_list()[1] == "cost-by-team"
    assert json.loads(found["parameters"][0]) == {"team": "vision"}
    assert "nosuch" in found["words"][2]
    assert set(found["hash"]) == {64}
    assert (
        "Listening" not in process.communicate()[0] if process.stdout and not process.stdout.closed else True
    )


@pytest.mark.patient
def test_tls(tmp_path: Path) -> None:
    key, certificate = tmp_path / "tls.key", tmp_path / "tls.crt"
    subprocess.run(
        [
            *(
                "openssl",
                "req",
                "-x509",
                "-newkey",
                "ec",
                "-pkeyopt",
                "ec_paramgen_curve:prime256v1",
                "-nodes",
            ),
            *("-keyout", str(key), "-out", str(certificate), "-days", "1", "-subj", "/CN=localhost"),
            *("-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"),
        ],
        check=True,
        capture_output=True,
    )
    with new_ledger(tmp_path / "ledger"):
        pass
    process, address = begin(tmp_path, "--at-once", "1", "--certificate", str(certificate), "--key", str(key))
    try:
        assert address.startswith("https://")
        trusted = ssl.create_default_context(cafile=str(certificate))
        with urllib.request.urlopen(address + "/healthz", context=trusted, timeout=20) as answer:
            assert json.load(answer) == {"ok": True}
        with pytest.raises((OSError, http.client.HTTPException)):
            urllib.request.urlopen(address.replace("https", "http") + "/healthz", timeout=5)
    finally:
        process.terminate()
        process.wait(timeout=20)
        assert process.stdout
        process.stdout.close()


@pytest.mark.parametrize(
    ("serving", "what"),
    [
        (Serving(host="0.0.0.0"), "unencrypted"),  # noqa: S104
        (Serving(host="::"), "unencrypted"),
        (Serving(certificate=Path("x")), "belong together"),
        (Serving(certificate=Path("x"), key=Path("y")), "no certificate and key"),
    ],
)
def test_where_it_does_not_listen(serving: Serving, what: str) -> None:
    with pytest.raises(InputError, match=what) as refused:
        check(serving)
    assert refused.value.hint


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1"])
def test_this_machine_alone_needs_no_certificate(host: str) -> None:
    check(Serving(host=host))
    check(Serving(host="0.0.0.0", unencrypted=True))  # noqa: S104


def test_a_server_of_no_ledger_says_so(tmp_path: Path) -> None:
    (tmp_path / "quartermaster.yaml").write_text("clusters: [{name: c}]\n", encoding="utf-8")
    told = CliRunner().invoke(
        app, ["--config", str(tmp_path / "quartermaster.yaml"), "serve", "sql", "--port", "0"]
    )
    assert isinstance(told.exception, LedgerError)
    assert [file.name for file in tmp_path.iterdir()] == ["quartermaster.yaml"]
