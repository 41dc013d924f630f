"""Targets: from the configuration, from files that change, from a real (tiny) name server."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import dns.asyncresolver
import dns.flags
import dns.message
import dns.rcode
import dns.rrset
import pytest

from collector.discovery import Discovery
from collector.targets import Target, from_file_sd, unique
from quartermaster.config.clusters import ClusterPart, DcgmPart, TargetPart
from quartermaster.errors import InputError


@dataclass
class NameServer:
    """Answers every question over UDP with its SRV records, or with an error."""

    records: list[str] = field(default_factory=list)
    rcode: int = dns.rcode.NOERROR
    transport: asyncio.DatagramTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.DatagramTransport, transport)

    def connection_lost(self, error: Exception | None) -> None:
        self.transport = None

    def error_received(self, error: Exception) -> None:
        raise error

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        question = dns.message.from_wire(data)
        answer = dns.message.make_response(question)
        answer.flags |= dns.flags.RA
        answer.set_rcode(dns.rcode.Rcode(self.rcode))
        if self.records and self.rcode == dns.rcode.NOERROR:
            answer.answer.append(
                dns.rrset.from_text_list(question.question[0].name, 1, "IN", "SRV", self.records)
            )
        assert self.transport is not None
        self.transport.sendto(answer.to_wire(), addr)


@pytest.fixture
async def name_server() -> AsyncGenerator[tuple[NameServer, dns.asyncresolver.Resolver]]:
    server = NameServer()
    transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(
        lambda: cast(asyncio.DatagramProtocol, server), ("127.0.0.1", 0)
    )
    resolver = dns.asyncresolver.Resolver(configure=False)
    resolver.nameservers = ["127.0.0.1"]
    resolver.port = transport.get_extra_info("sockname")[1]
    yield server, resolver
    transport.close()


def cluster(**dcgm: object) -> ClusterPart:
    return ClusterPart.model_construct(name="c", holders="labels", dcgm=DcgmPart().model_copy(update=dcgm))


def names(targets: tuple[Target, ...]) -> list[str]:
    return [target.url for target in targets]


async def test_srv_records_become_targets_and_follow_the_name_server(
    name_server: tuple[NameServer, dns.asyncresolver.Resolver], tmp_path: Path
) -> None:
    server, resolver = name_server
    said: list[tuple[str, str]] = []
    found = Discovery(
        cluster(dns_srv=("_metrics._tcp.dcgm.example",)),
        tmp_path,
        lambda source, what: said.append((source, what)),
        resolver,
    )
    server.records = ["0 10 9400 node-1.example.", "0 10 9401 node-2.example."]
    assert names(await found.targets()) == [
        "http://node-1.example:9400/metrics",
        "http://node-2.example:9401/metrics",
    ]
    server.rcode = dns.rcode.SERVFAIL
    assert len(await found.targets()) == 2, "a name server in trouble takes no target away"
    assert len(await found.targets()) == 2
    assert [source for source, _ in said] == ["_metrics._tcp.dcgm.example"], "said once"
    server.rcode, server.records = dns.rcode.NOERROR, ["0 10 9400 node-3.example."]
    assert names(await found.targets()) == ["http://node-3.example:9400/metrics"]
    assert not found.troubles
    server.rcode = dns.rcode.NXDOMAIN
    assert names(await found.targets()) == []


async def test_files_are_read_again_when_they_change(tmp_path: Path) -> None:
    said: list[tuple[str, str]] = []
    found = Discovery(
        cluster(file_sd=("targets/*.json", "targets/*.yml")),
        tmp_path,
        lambda source, what: said.append((source, what)),
    )
    assert await found.targets() == ()
    (tmp_path / "targets").mkdir()
    json, yaml = tmp_path / "targets" / "a.json", tmp_path / "targets" / "b.yml"
    json.write_text('[{"targets": ["n1:9400", "[::1]:9400"], "labels": {"node": "n1", "job": "dcgm"}}]')
    yaml.write_text("- targets: [n2:9400]\n  labels: {__scheme__: https, __metrics_path__: /gpu}\n")
    assert await found.targets() == (
        Target("c", "http://[::1]:9400/metrics", "n1"),
        Target("c", "http://n1:9400/metrics", "n1"),
        Target("c", "https://n2:9400/gpu"),
    )
    json.write_text('[{"targets": ["n1:9400"')
    assert len(await found.targets()) == 3, "a broken file keeps what it said last"
    assert len(await found.targets()) == 3
    assert [source for source, _ in said] == [str(json)]
    assert "no JSON" in said[0][1]
    replacement = tmp_path / "new"
    replacement.write_text('[{"targets": ["n9:9400"]}]')
    replacement.replace(json)
    yaml.unlink()
    assert names(await found.targets()) == ["http://n9:9400/metrics"]
    assert not found.troubles


WRONG = {
    "no list": ('{"targets": []}', "a list of groups was expected"),
    "a group that is no mapping": ("[1]", "group 0 is no mapping"),
    "targets that are text": ('[{"targets": "n1:9400"}]', "no list of targets"),
    "a port that is none": ('[{"targets": ["n1:99999"]}]', "is no host:port"),
    "brackets around no address": ('[{"targets": ["[1.2.3]:9400"]}]', "is no host:port"),
    "a name and a password": ('[{"targets": ["me:secret@n1:9400"]}]', "is no host:port"),
    "a line break": ('[{"targets": ["n1:9400\\nX-Evil: 1"]}]', "is no host:port"),
    "a path in the address": ('[{"targets": ["n1:9400/metrics"]}]', "is no host:port"),
    "a scheme of its own": (
        '[{"targets": ["n1"], "labels": {"__scheme__": "file"}}]',
        "no address of a page",
    ),
}


@pytest.mark.parametrize(("text", "what"), WRONG.values(), ids=WRONG.keys())
def test_a_wrong_file_names_file_and_group(text: str, what: str) -> None:
    with pytest.raises(InputError, match=what) as caught:
        from_file_sd("c", text, "targets.json")
    assert caught.value.what.startswith("targets.json")
    assert caught.value.hint


async def test_a_page_that_several_sources_name_is_fetched_once(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('[{"targets": ["n1:9400"]}]')
    parts = (TargetPart(url="http://n1:9400/metrics", node="n1"), TargetPart(url="http://n0:9400/metrics"))
    found = Discovery(cluster(targets=parts, file_sd=("a.json",)), tmp_path, lambda _source, _what: None)
    assert await found.targets() == (
        Target("c", "http://n0:9400/metrics"),
        Target("c", "http://n1:9400/metrics", "n1"),
    )
    assert unique([]) == ()
