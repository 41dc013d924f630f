"""Fetching: a page, or exactly one reason why there is none; credentials are sent and never shown."""

import asyncio
import gzip
import ssl
import time
from pathlib import Path

import pytest

from collector.dcgm.fetch import Failure, Fetched, Fetcher
from collector.targets import Target
from quartermaster.config.clusters import DcgmPart
from quartermaster.config.secret import Secret
from quartermaster.config.web import BasicAuthPart, TlsPart
from quartermaster.errors import ConfigurationError

from .conftest import Answer, Server, drip, hang, page, reply, running


def settings(**changes: object) -> DcgmPart:
    return DcgmPart().model_copy(
        update={"interval_ms": 2000, "timeout_ms": 10_000, "max_page_mib": 1, **changes}
    )


async def get(server: Server, path: str, **changes: object) -> Fetched | Failure:
    async with Fetcher(settings(**changes)) as fetcher:
        return await fetcher.fetch(Target("c", server.url(path)))


FAULTS: dict[str, tuple[bytes | Answer, str]] = {
    "hangs": (hang, "timeout"),
    "drips bytes": (drip, "timeout"),
    "answers 500": (reply(b"oops", status="500 Internal Server Error"), "status 500"),
    "answers 404": (reply(b"", status="404 Not Found"), "status 404"),
    "redirects": (
        reply(b"", status="302 Found", headers="Location: http://127.0.0.1:1/metrics\r\n"),
        "redirect",
    ),
    "half a page": (reply(page()[:200], length=5000), "half page"),
    "half a gzip": (
        reply(gzip.compress(page() * 50)[:-100], headers="Content-Encoding: gzip\r\n"),
        "half page",
    ),
    "gzip bomb": (reply(gzip.compress(b"0" * 50_000_000), headers="Content-Encoding: gzip\r\n"), "too large"),
    "large page": (reply(b"x" * 1_200_000), "too large"),
    "announces too much": (reply(b"x", length=1 << 40), "too large"),
    "broken gzip": (reply(b"this is no gzip at all", headers="Content-Encoding: gzip\r\n"), "bad encoding"),
    "unknown encoding": (reply(b"x", headers="Content-Encoding: br\r\n"), "bad encoding"),
}


@pytest.mark.parametrize(("answer", "reason"), FAULTS.values(), ids=FAULTS.keys())
@pytest.mark.patient
async def test_each_fault_has_its_reason(server: Server, answer: bytes | Answer, reason: str) -> None:
    server.answers["/metrics"] = answer
    began = time.monotonic()
    found = await get(server, "/metrics", timeout_ms=300 if reason == "timeout" else 10_000)
    assert isinstance(found, Failure)
    assert found.reason == reason
    assert time.monotonic() - began < 20  # what hangs or drips does so for longer


async def test_nobody_listens_or_somebody_speaks_no_http(server: Server) -> None:
    async def nonsense(writer: asyncio.StreamWriter, _: dict[str, str]) -> None:
        writer.write(b"SSH-2.0-OpenSSH_9.2p1\r\n\r\n")
        writer.close()

    async def hangs_up(writer: asyncio.StreamWriter, _: dict[str, str]) -> None:
        writer.close()

    server.answers |= {"/ssh": nonsense, "/gone": hangs_up}
    found = {path: await get(server, path) for path in ("/ssh", "/gone")}
    async with running(Server()) as closed:
        pass
    found["refused"] = await get(closed, "/")
    async with Fetcher(settings()) as fetcher:
        found["dns"] = await fetcher.fetch(Target("c", "http://no-such-host.invalid:9400/metrics"))
    assert {name: failure.reason for name, failure in found.items() if isinstance(failure, Failure)} == {
        "/ssh": "no http",
        "/gone": "disconnected",
        "refused": "refused",
        "dns": "no such host",
    }


async def test_a_page_comes_whole_plain_or_packed_over_one_connection(server: Server) -> None:
    server.answers["/plain"] = page()
    server.answers["/packed"] = reply(gzip.compress(page(gpus=64)), headers="Content-Encoding: gzip\r\n")
    async with Fetcher(settings()) as fetcher:
        assert await fetcher.fetch(Target("c", server.url("/plain"))) == Fetched(page(), "text/plain")
        assert await fetcher.fetch(Target("c", server.url("/packed"))) == Fetched(page(gpus=64), "text/plain")
    assert server.connections == 1
    assert {request["accept-encoding"] for request in server.requests} == {"gzip"}


async def test_credentials_are_sent_and_never_shown(server: Server) -> None:
    server.answers["/metrics"] = page()
    password, token = Secret("${env:P}", "s3cret"), Secret("${env:T}", "t0ken")
    await get(
        server, "/metrics", basic_auth=BasicAuthPart.model_construct(username="reader", password=password)
    )
    await get(server, "/metrics", bearer_token=token)
    assert [request["authorization"] for request in server.requests] == [
        "Basic cmVhZGVyOnMzY3JldA==",
        "Bearer t0ken",
    ]
    server.answers["/metrics"] = reply(b"", status="401 Unauthorized")
    failures = [
        await get(server, "/metrics", bearer_token=token),
        await get(server, "/metrics?key=hidden", bearer_token=token),
    ]
    assert "t0ken" not in repr(failures)
    assert Target("c", "http://h/metrics?key=hidden").name == "http://h/metrics"
    with pytest.raises(ConfigurationError, match="variable T is not set"):
        Fetcher(settings(bearer_token=Secret("${env:T}", None, "the environment variable T is not set")))


async def test_tls_by_ones_own_authority_with_a_client_certificate(certificates: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates / "server.pem", certificates / "server.key")
    context.load_verify_locations(certificates / "ca.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    pair: dict[str, Path | bool] = {
        "cert_file": certificates / "client.pem",
        "key_file": certificates / "client.key",
    }
    cases: dict[str, tuple[dict[str, Path | bool], str]] = {
        "authority and certificate": ({"ca_file": certificates / "ca.pem", **pair}, ""),
        "verification off": ({"insecure_skip_verify": True, **pair}, ""),
        "the system's authorities": (pair, "tls"),
    }
    async with running(Server(scheme="https", answers={"/metrics": page()}), tls=context) as server:
        for name, (tls, reason) in cases.items():
            found = await get(
                server,
                "/metrics",
                tls=TlsPart().model_copy(update=tls),
                timeout_ms=1500,
            )
            assert (found.reason if isinstance(found, Failure) else "") == reason, name
        without = await get(
            server,
            "/metrics",
            tls=TlsPart().model_copy(update={"ca_file": certificates / "ca.pem"}),
        )
        assert isinstance(without, Failure)
    with pytest.raises(ConfigurationError, match="nowhere"):
        Fetcher(settings(tls=TlsPart().model_copy(update={"ca_file": Path("nowhere.pem")})))


@pytest.mark.patient
async def test_a_slow_target_delays_nobody(server: Server) -> None:
    server.answers |= {"/slow": hang, "/quick": page()}
    async with Fetcher(settings(timeout_ms=1000)) as fetcher:
        slow = [asyncio.create_task(fetcher.fetch(Target("c", server.url("/slow")))) for _ in range(150)]
        await asyncio.sleep(0.05)
        assert isinstance(await fetcher.fetch(Target("c", server.url("/quick"))), Fetched)
        assert not any(task.done() for task in slow)
        assert {
            failure.reason for failure in await asyncio.gather(*slow) if isinstance(failure, Failure)
        } == {"timeout"}


async def test_a_secret_with_a_line_break_begins_no_header_of_its_own(server: Server) -> None:
    """The configuration refuses it; should one come by another way, the request is not sent."""
    server.answers["/metrics"] = page()
    token = Secret("${env:T}", "token\r\nX-Admin: yes")
    found = await get(server, "/metrics", bearer_token=token)
    assert isinstance(found, Failure)
    assert found.reason == "no http"
    assert "yes" not in found.detail
