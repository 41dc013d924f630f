"""A server that answers badly: what becomes of it, and what is said to do about it."""

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typing_extensions import override

from collector.prometheus import answer as answers
from collector.prometheus.answer import Answer, NoAnswer, Reading, labels_of
from collector.prometheus.chunks import Chunk, pieces, selector
from collector.prometheus.connection import Connection
from collector.prometheus.estimate import estimate
from collector.prometheus.refusal import Partial, TooMuch
from collector.prometheus.slices import Reader
from quartermaster.config.prometheus import PrometheusPart
from quartermaster.config.secret import Surroundings
from quartermaster.errors import SourceError

Reply = tuple[int, dict[str, str], bytes]
JSON = {"Content-Type": "application/json"}


def answer(*series: tuple[dict[str, str], list[tuple[float, str]]], **more: Any) -> Reply:
    result = [{"metric": labels, "values": [list(pair) for pair in values]} for labels, values in series]
    told = {"status": "success", "data": {"resultType": "matrix", "result": result}, **more}
    return 200, JSON, json.dumps(told, separators=(",", ":")).encode()


def read(body: bytes, size: int = 1 << 20) -> Answer:
    """The answer in a body that comes in pieces of a size."""
    reading = Reading()
    for first in range(0, len(body), size):
        reading.feed(body[first : first + size])
    return reading.answer()


def refusal(status: int, error: str, kind: str = "execution", **headers: str) -> Reply:
    return (
        status,
        {**JSON, **headers},
        json.dumps({"status": "error", "errorType": kind, "error": error}).encode(),
    )


GOOD = answer(({"__name__": "x", "a": "b"}, [(1.5, "2"), (2.5, "3")]))


@dataclass
class Server:
    """Answers from a script, the last of it for ever; or by a function of the query."""

    url: str = ""
    script: list[Reply] = field(default_factory=list)
    by_query: Callable[[str], Reply] | None = None
    asked: list[tuple[str, dict[str, str], str]] = field(default_factory=list)
    hang: threading.Event = field(default_factory=threading.Event)


@pytest.fixture
def server() -> Iterator[Server]:
    told = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
            self._reply(self.path, body)

        def do_GET(self) -> None:
            path, _, query = self.path.partition("?")
            self._reply(path, query)

        def _reply(self, path: str, body: str) -> None:
            query = parse_qs(f"{body}&{self.path.partition('?')[2]}").get("query", [""])[0]
            told.asked.append((path, dict(self.headers), query))
            if told.by_query is not None:
                status, headers, content = told.by_query(query)
            else:
                status, headers, content = told.script.pop(0) if len(told.script) > 1 else told.script[0]
            if status == 0:
                told.hang.wait(5)
                return
            self.send_response(status)
            for name, text in headers.items():
                self.send_header(name, text)
            if "Content-Length" not in headers:
                self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        @override
        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    threading.Thread(target=http.serve_forever, daemon=True).start()
    told.url = f"http://127.0.0.1:{http.server_address[1]}"
    yield told
    told.hang.set()
    http.shutdown()
    http.server_close()


@pytest.fixture
def connect(server: Server) -> Iterator[Callable[..., Connection]]:
    """Opens a connection to the server; pauses are noted, not made."""
    opened: list[Connection] = []

    def make(
        pauses: list[float] | None = None, environment: dict[str, str] | None = None, **more: Any
    ) -> Connection:
        where = Surroundings(environment or {}, Path(), lambda path: path.read_text())
        part = PrometheusPart.model_validate({"url": server.url, "timeout": "300ms", **more}, context=where)
        opened.append(Connection(part, sleep=(pauses if pauses is not None else []).append))
        return opened[-1]

    yield make
    for each in opened:
        each.close()


@pytest.mark.patient
def test_credentials_and_headers_go_with_every_question(
    server: Server, connect: Callable[..., Connection]
) -> None:
    server.script = [GOOD]
    connection = connect(
        environment={"TOKEN": "secret"},
        bearer_token="${env:TOKEN}",
        headers=({"name": "X-Scope-OrgID", "value": "fleet"},),
    )
    connection.range("x[1m]", 1000)
    server.script = [(200, JSON, b'{"status":"success","data":["b"]}')]
    assert connection.label_values("a", "x", 0, 1000) == ["b"]
    for path, headers, _ in server.asked:
        assert path.startswith("/api/v1/")
        assert (headers["Authorization"], headers["X-Scope-OrgID"]) == ("Bearer secret", "fleet")
        assert headers["Accept-Encoding"] == "identity"


@pytest.mark.parametrize(
    ("reply", "what", "hint"),
    [
        (refusal(401, "no"), "wants to know who asks", "bearer_token"),
        (refusal(403, "no org id"), "may not be read", "X-Scope-OrgID"),
        ((200, {"Content-Type": "text/html"}, b"<html>log in</html>"), "no Prometheus' answer", "/api/v1"),
        ((404, {"Content-Type": "text/plain"}, b"404 page not found"), "status 404: 404 page", "/api/v1"),
        ((302, {"Location": "https://sso/login"}, b""), "sends elsewhere: 'https://sso/login'", "token"),
        ((200, JSON, b'{"status":"success","data":{"resultType":"vector","result":[]}}'), "'vector'", ""),
        ((200, JSON, b'{"status":"succ'), "no answer of a Prometheus", ""),
        (refusal(400, "parse error", "bad_data"), "status 400: parse error", ""),
    ],
)
@pytest.mark.patient
def test_what_cannot_get_better_is_said_at_once(
    server: Server, connect: Callable[..., Connection], reply: Reply, what: str, hint: str
) -> None:
    server.script = [reply]
    with pytest.raises(SourceError) as raised:
        connect().range("x[1m]", 1000)
    assert what in raised.value.what
    assert hint in raised.value.hint
    assert len(server.asked) == 1


@pytest.mark.patient
def test_a_busy_server_is_asked_again_when_it_says_so(
    server: Server, connect: Callable[..., Connection]
) -> None:
    pauses: list[float] = []
    server.script = [refusal(429, "slow down", **{"Retry-After": "7"}), refusal(502, "bad gateway"), GOOD]
    assert connect(pauses).range("x[1m]", 1000).samples == 2
    assert 7 <= pauses[0] <= 8.4
    assert 1 <= pauses[1] <= 1.2
    server.script = [refusal(429, "tomorrow", **{"Retry-After": "86400"})]
    with pytest.raises(SourceError, match="tomorrow") as raised:
        connect().range("x[1m]", 1000)
    assert "same command again" in raised.value.hint


@pytest.mark.patient
def test_a_server_that_hangs_or_breaks_off_is_not_waited_for_for_ever(
    server: Server, connect: Callable[..., Connection]
) -> None:
    server.script = [(0, {}, b""), (200, {**JSON, "Content-Length": "1000"}, b'{"status"'), GOOD]
    assert connect().range("x[1m]", 1000).samples == 2
    server.script = [(0, {}, b"")]
    with pytest.raises(TooMuch, match="does not answer in time"):
        connect().range("x[1m]", 1000)
    server.hang.set()


@pytest.mark.parametrize(
    "reply",
    [
        refusal(422, "query processing would load too many samples into memory in query execution"),
        refusal(503, "query timed out in expression evaluation", "timeout"),
        refusal(400, "the query exceeded the maximum number of chunks (limit: 2000000 chunks)"),
        refusal(413, "entity too large"),
        refusal(504, "upstream request timeout"),
    ],
)
@pytest.mark.patient
def test_too_much_is_asked_for_in_halves(
    server: Server, connect: Callable[..., Connection], reply: Reply
) -> None:
    """Half of the instances, and half again, then half of the time; and all of it is answered in the end."""
    taken: list[str] = []

    def by_query(query: str) -> Reply:
        if not query:
            return 200, JSON, b'{"status":"success","data":["a:1","b:2","c:3"]}'
        if query.count(":") > 1 or "[900000ms]" in query:
            return reply
        taken.append(query)
        return GOOD

    server.by_query = by_query
    (one,) = Reader(connect(), "", 2.2).slices(600_000, 1_200_000)
    assert not one.partial
    assert len(one.answers) == len(taken) == 8
    assert {name for name in ("a:1", "b:2", "c:3") if any(name in query for query in taken)} == {
        "a:1",
        "b:2",
        "c:3",
    }


@pytest.mark.patient
def test_a_server_that_refuses_the_least_is_an_error(
    server: Server, connect: Callable[..., Connection]
) -> None:
    def by_query(query: str) -> Reply:
        listed = (200, JSON, b'{"status":"success","data":["a:1"]}')
        return refusal(422, "too many samples") if query else listed

    server.by_query = by_query
    with pytest.raises(SourceError, match="half a minute") as raised:
        list(Reader(connect(), "", 0.0).slices(600_000, 1_200_000))
    assert "--query.max-samples" in raised.value.hint


@pytest.mark.parametrize("more", [{"warnings": ["one store is away"]}, {"isPartial": True}])
@pytest.mark.patient
def test_a_warning_makes_an_answer_partial(
    server: Server, connect: Callable[..., Connection], more: dict[str, Any]
) -> None:
    server.script = [answer(({"__name__": "x"}, [(1.5, "2")]), **more)]
    with pytest.raises(Partial):
        connect().range("x[1m]", 1000)
    server.script = [
        (200, JSON, json.dumps({"status": "success", "data": ["b"], "warnings": ["away"]}).encode())
    ]
    with pytest.raises(Partial, match="away"):
        connect().label_values("a", "x", 0, 1000)


@pytest.mark.patient
def test_of_a_long_warning_the_beginning_is_kept(server: Server, connect: Callable[..., Connection]) -> None:
    server.script = [answer(({"__name__": "x"}, [(1.5, "2")]), warnings=["a store\n is away " + "w" * 65536])]
    with pytest.raises(Partial, match=r"^a store is away w+$") as raised:
        connect().range("x[1m]", 1000)
    assert len(str(raised.value)) == 300


def test_an_answer_is_read_the_same_however_it_is_laid_out() -> None:
    labels = {"__name__": "x", "a": 'q"]]},{"metric":{"\\', "b": "\u202enull\u0000"}
    values = [(1.5, "NaN"), (2.25, "+Inf"), (3.0, "-Inf"), (4.0, "1e-05"), (1700000000.123, "-0.5")]
    told = json.loads(answer((labels, values), ({"__name__": "y"}, [(9.0, "1")]))[2])
    fast = read(json.dumps(told, separators=(",", ":")).encode())
    slow = read(json.dumps(told, indent=1).encode())
    assert fast.at_ms.tolist() == slow.at_ms.tolist() == [1500, 2250, 3000, 4000, 1_700_000_000_123, 9000]
    assert str(fast.values.tolist()) == str(slow.values.tolist())
    assert fast.starts.tolist() == slow.starts.tolist() == [0, 5, 6]
    assert labels_of(fast.heads[0]) == labels_of(slow.heads[0]) == labels


HOSTILE = {"__name__": "x", "a": 'q"]]},{"metric":{"\\', "b": "]]},[\u202enull\u0000"}


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from([{"__name__": "y"}, HOSTILE]), st.integers(0, 9)), max_size=12),
    st.integers(1, 400),
    st.integers(1, 600),
    st.sampled_from([{}, {"warnings": ["a store is away"]}, {"isPartial": True}]),
    st.booleans(),
)
@pytest.mark.patient
def test_an_answer_is_the_same_in_whatever_pieces_it_comes(
    series: list[tuple[dict[str, str], int]], size: int, at_once: int, more: dict[str, Any], wide: bool
) -> None:
    """Also where a series in the middle has no sample, or is laid out otherwise."""
    told = [
        (labels, [(round(1.7e9 + at + number / 8, 3), str(at / 3)) for at in range(count)])
        for number, (labels, count) in enumerate(series)
    ]
    body = answer(*told, **more)[2]
    if wide:
        body = body.replace(b'"],[', b'"], [', 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(answers, "_AT_ONCE", at_once)
        found = read(body, size)
    assert [labels_of(head) for head in found.heads] == [labels for labels, _ in told]
    assert np.diff(found.starts).tolist() == [len(samples) for _, samples in told]
    assert found.at_ms.tolist() == [round(at * 1000) for _, samples in told for at, _ in samples]
    assert found.values.tolist() == [float(value) for _, samples in told for _, value in samples]
    assert bool(found.warnings) == bool(more)


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"[]", b'{"status":"error","error":"x"}', b'{"status":"success"}']
)
def test_what_is_no_answer_is_refused(body: bytes) -> None:
    with pytest.raises(NoAnswer):
        read(body)


def test_hostile_names_stay_text_in_a_query() -> None:
    hostile = 'a"} or up{x="\n.*|'
    chunk = Chunk(("m",), "", 0, 60_000, (hostile, "b.c:1"))
    query, at_ms = chunk.query()
    assert at_ms == 59_999
    named = 'a\\\\\\"\\\\}\\\\ or\\\\ up\\\\{x\\\\=\\\\\\"\\\\\\n\\\\.\\\\*\\\\|'
    assert query == f'{{__name__=~"m",instance=~"{named}|b\\\\.c:1"}}[60000ms]'
    assert selector(("m",), ',cluster="a\\"b"') == '{__name__=~"m",cluster="a\\"b"}'


def test_pieces_cover_all_and_series_without_an_instance() -> None:
    whole = Chunk(("m",), "", 0, 600_000)
    assert pieces(whole, ["a", "b"], 100, 1000) == [whole]
    listed = pieces(whole, ["a", "b", "c"], 3000, 1000)
    assert [chunk.instances for chunk in listed] == [("", "a"), ("b",), ("c",)]
    many = [str(number) for number in range(125)]
    assert [len(chunk.instances or ()) for chunk in pieces(whole, many, 3700, 1200)] == [26, 25, 25, 25, 25]
    in_time = pieces(whole, ["a"], 3000, 1000)
    assert [(chunk.from_ms, chunk.until_ms) for chunk in in_time] == [
        (0, 200_000),
        (200_000, 400_000),
        (400_000, 600_000),
    ]


@pytest.mark.parametrize(
    "body",
    [
        *(b"null", b"[]", b"12", b'{"status":"success"}', b'{"status":"error","error":"x"}'),
        *(b'{"data":null}', b'{"data":5}', b'{"data":{}}', b'{"data":[1,null]}', b'{"data":[{}]}'),
        b'{"data":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    ],
)
@pytest.mark.patient
def test_json_of_another_shape_is_no_prometheus(
    server: Server, connect: Callable[..., Connection], body: bytes
) -> None:
    server.script = [(200, JSON, body)]
    with pytest.raises(SourceError, match="no Prometheus' answer"):
        connect().label_values("a", "x", 0, 1000)
    with pytest.raises(SourceError, match="no Prometheus' answer"):
        connect().instant("x", 0)
    assert len(server.asked) == 2


@pytest.mark.parametrize("count", ["NaN", "+Inf", "-Inf", "-1", "1e300"])
@pytest.mark.patient
def test_counts_that_no_server_can_have_are_refused(
    server: Server, connect: Callable[..., Connection], count: str
) -> None:
    """An estimate that is off by orders of magnitude would be cut into questions without end."""

    def by_query(query: str) -> Reply:
        told: dict[str, Any] = {"data": ["DCGM_FI_DEV_GPU_UTIL"]}
        if query:
            told = {"data": {"resultType": "vector", "result": [{"metric": {}, "value": [1, count]}]}}
        return 200, JSON, json.dumps({"status": "success", **told}).encode()

    server.by_query = by_query
    with pytest.raises(SourceError, match="counts that are none"):
        estimate(connect(), {}, [(0, 3_600_000)])


def test_pieces_are_never_shorter_than_the_least_that_is_asked_for() -> None:
    cut = pieces(Chunk(("m",), "", 0, 600_000), ["a"], 10**15, 1000)
    assert len(cut) == 20
    assert (cut[0].from_ms, cut[-1].until_ms) == (0, 600_000)
    assert len(pieces(Chunk(("m",), "", 0, 1), ["a"], 10**15, 1000)) == 1


@pytest.mark.parametrize("times", [(2.0, 1.0), (1.0, 1.0)])
@pytest.mark.parametrize("indent", [None, 1])
def test_timestamps_that_do_not_rise_are_no_answer(times: tuple[float, float], indent: int | None) -> None:
    told = json.loads(answer(({"__name__": "x"}, [(at, "1") for at in times]))[2])
    with pytest.raises(NoAnswer, match="rise"):
        read(json.dumps(told, separators=(",", ":"), indent=indent).encode())


def test_a_series_may_begin_before_the_last_one_ended() -> None:
    series = [({"__name__": name}, [(1.0, "1"), (2.0, "1")]) for name in "xyz"]
    assert read(answer(series[0], ({"__name__": "e"}, []), *series[1:])[2]).samples == 6


@pytest.fixture
def endless() -> Iterator[tuple[str, dict[str, Any], list[int]]]:
    """A server whose body never ends: its address; `status`, `piece` and `pause_s` of it; the bytes that were sent."""
    how: dict[str, Any] = {"status": 200, "piece": b" ", "pause_s": 0.05}
    sent = [0]

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._reply()

        def do_POST(self) -> None:
            self._reply()

        def _reply(self) -> None:
            self.send_response(how["status"])
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            try:
                while not over.wait(how["pause_s"]):
                    self.wfile.write(how["piece"])
                    sent[0] += len(how["piece"])
            except OSError:
                return

        @override
        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    over = threading.Event()
    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    threading.Thread(target=http.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{http.server_address[1]}", how, sent
    over.set()
    http.shutdown()
    http.server_close()


@pytest.mark.parametrize("status", [200, 401, 500])
@pytest.mark.patient
def test_a_server_that_sends_byte_by_byte_is_not_listened_to_for_ever(
    endless: tuple[str, dict[str, Any], list[int]], connect: Callable[..., Connection], status: int
) -> None:
    url, how, _ = endless
    how["status"] = status
    for ask in (
        lambda: connect(url=url, timeout="100ms").label_values("a", "x", 0, 1000),
        lambda: connect(url=url, timeout="100ms").range("x[1m]", 1000),
    ):
        with pytest.raises(TooMuch, match="took more than 1 s"):
            ask()


@pytest.mark.parametrize(("status", "most_mib"), [(200, 96), (401, 8)])
@pytest.mark.patient
def test_an_answer_without_end_is_not_held_in_memory(
    endless: tuple[str, dict[str, Any], list[int]],
    connect: Callable[..., Connection],
    status: int,
    most_mib: int,
) -> None:
    url, how, sent = endless
    how |= {"status": status, "piece": b" " * 1_000_000, "pause_s": 0}
    with pytest.raises((TooMuch, SourceError)):
        connect(url=url, timeout="5s").label_values("a", "x", 0, 1000)
    assert sent[0] < most_mib * 1024 * 1024
