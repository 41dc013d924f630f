"""Loading: every problem at once, each with its place, key and nearest name; secrets never shown; nothing guessed."""

from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quartermaster.clock import from_iso
from quartermaster.config.load import Loaded, check_configuration, load_configuration, parse_configuration
from quartermaster.config.secret import Surroundings
from quartermaster.errors import ConfigurationError

WHOLE = """\
ledger: {path: ledger, catalog: "postgres:host=db password=${env:PW}"}
business: {time_zone: Europe/Berlin, currency: EUR}
clusters:
  - name: demo
    holders: kubernetes
    dcgm:
      interval: 30s
      targets: ["https://127.0.0.1:9400/metrics", {url: "https://h:1/metrics", node: n1}]
      file_sd: ["targets/*.json"]
      dns_srv: ["_metrics._tcp.dcgm.example"]
      timeout: 5s
      max_page_mib: 16
      tls: {ca_file: ca.pem, cert_file: c.pem, key_file: k.pem}
      basic_auth: {username: me, password: "${file:pw}"}
pools: [{name: training, models: ["*H100*"], node_labels: {pool: training}}]
teams: [{name: vision, department: research, cost_centre: "4711"}]
team_rules:
  - {team: vision, namespace: "vision-*", label: {key: team, value: "vis*"}, user: "a*", from: 2026-11-01T00:00:00+01:00}
guarantees: [{team: vision, pool: training, gpus: 16.5, limit: 32, weight: 2, cluster: demo, from: 2026-11-01, to: 2027-01-01}]
rate_cards:
  - card: "2026"
    author: finance
    from: 2026-01-01T00:00:00Z
    prices: [{model: "*H100*", gpu_hour: 3.10}, {gpu_hour: "1.00"}]
    bill_faulted: true
thresholds: [{signal: gr_engine, floor: 0.02, kind: Notebook}, {signal: power, floor: 90.5}]
privacy: {pseudonyms: true, key: "${file:pseudonym.key}"}
collector: {listen: "127.0.0.1:9500", spool: {path: spool, max_mib: 64}, log: json}
retention: {samples: 90d}
"""
LEAST = "clusters: [{name: c, dcgm: {targets: ['http://h:9400/metrics']}}]\n"
FILES = {"/etc/q/pw": "hunter2\n", "/etc/q/pseudonym.key": "k" * 32}


def read(path: Path) -> str:
    if str(path) not in FILES:
        raise FileNotFoundError(2, "No such file or directory", str(path))
    return FILES[str(path)]


def loaded(text: str, environment: dict[str, str] | None = None, *, secrets: bool = True) -> Loaded:
    surroundings = Surroundings(
        {"PW": "it's secret"} if environment is None else environment, Path("/etc/q"), read
    )
    return parse_configuration(text, "q.yaml", surroundings, secrets=secrets)


def errors(text: str) -> list[str]:
    return [
        str(problem).removeprefix("q.yaml:")
        for problem in loaded(text).problems
        if problem.severity == "error"
    ]


def warnings(text: str) -> list[str]:
    return [
        str(problem).removeprefix("q.yaml:")
        for problem in loaded(text).problems
        if problem.severity == "warning"
    ]


def test_a_whole_file():
    found = loaded(WHOLE)
    assert found.problems == ()
    configuration = found.need()
    dcgm = configuration.clusters[0].dcgm
    assert (dcgm.interval_ms, dcgm.timeout_ms) == (30_000, 5_000)
    assert [(target.url, target.node) for target in dcgm.targets] == [
        ("https://127.0.0.1:9400/metrics", None),
        ("https://h:1/metrics", "n1"),
    ]
    assert dcgm.file_sd == (Path("/etc/q/targets/*.json"),)
    assert dcgm.basic_auth is not None
    assert dcgm.basic_auth.password.reveal() == "hunter2"
    assert configuration.ledger.path == Path("/etc/q/ledger")
    assert configuration.ledger.catalog.reveal() == r"postgres:host=db password='it\'s secret'"
    assert configuration.guarantees[0].guaranteed_parts == 16_5 * 16_800
    assert configuration.guarantees[0].limit_parts == 32 * 168_000
    assert configuration.team_rules[0].start_at == from_iso("2026-10-31T23:00:00Z")
    assert configuration.guarantees[0].start_at == from_iso("2026-11-01T00:00:00Z")
    assert [price.gpu_hour for price in configuration.rate_cards[0].prices] == [
        Decimal("3.10"),
        Decimal("1.00"),
    ]
    assert [threshold.floor for threshold in configuration.thresholds] == [20, 905]
    assert configuration.retention.samples_ms == 90 * 86_400_000


def test_everything_has_a_default_but_clusters():
    configuration = loaded(LEAST).need()
    assert configuration.ledger.path == Path("/etc/q/ledger")
    assert configuration.ledger.catalog.reveal() == "sqlite"
    assert configuration.collector.spool.path == Path("/etc/q/spool")
    assert configuration.privacy.pseudonyms
    assert errors("ledger: {}\n") == ["1:1: error: clusters: is missing"]


def test_no_secret_is_shown():
    configuration = loaded(WHOLE).need()
    for shown in (repr(configuration), str(configuration), repr(configuration.model_dump())):
        assert "hunter2" not in shown
        assert "it's secret" not in shown
        assert "${file:pw}" in shown


def test_all_problems_at_once():
    text = """\
ledgr: {}
clusters:
  - name: a
    interval: 5s
    dcgm: {interval: 30, timeout: 1m, targets: ["127.0.0.1:9400"], basic_auth: {username: me, password: hunter2}}
teams: [{name: vision, cost_centre: 4711}, {name: vision}]
team_rules: [{team: vison, clustr: a}]
guarantees: [{team: vision, pool: p, gpus: -16}]
rate_cards: [{card: x, prices: [{gpu_hour: -1}]}]
thresholds: [{signal: grengine, floor: 0}]
"""
    assert errors(text) == [
        "1:1: error: ledgr: this key is not known (did you mean ledger?)",
        "4:5: error: clusters[0].interval: this key does not stand here, but under clusters.dcgm",
        "5:22: error: clusters[0].dcgm.interval: a duration is a whole number and a unit: 500ms, 30s, 5m, 2h or 90d",
        "5:35: error: clusters[0].dcgm.timeout: it is shorter than the interval",
        "5:49: error: clusters[0].dcgm.targets[0].url: a target looks like http://node-1:9400/metrics",
        "5:105: error: clusters[0].dcgm.basic_auth.password: a secret does not stand in the configuration; refer to it by ${env:NAME} or ${file:path}",
        "6:37: error: teams[0].cost_centre: text is expected; write it in quotes",
        "6:51: error: teams[1].name: 'vision' is there already (line 6)",
        "7:21: error: team_rules[0].team: there is no team 'vison' (did you mean vision?)",
        "7:28: error: team_rules[0].clustr: this key is not known (did you mean cluster?)",
        "8:44: error: guarantees[0].gpus: a number of GPUs is not negative",
        "9:44: error: rate_cards[0].prices[0].gpu_hour: a price is not below zero",
        "10:23: error: thresholds[0].signal: it is one of gr_engine, gpu_util, sm, tensor, dram, mem_copy, power (did you mean gr_engine?)",
        "10:40: error: thresholds[0].floor: a floor of activity is above 0 and at most 1, in steps of 0.001",
    ]
    with pytest.raises(ConfigurationError, match="14 errors") as caught:
        loaded(text).need()
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("added", "expected"),
    [
        ("teams: [{name: a}, {name: a}]", "teams[1].name: 'a' is there already (line 2)"),
        ("teams: [{name: unassigned}]", "teams[0].name: 'unassigned' is the house's own word"),
        ("teams: [{name: ' a'}]", "teams[0].name: a name is not empty and has no spaces around it"),
        ("guarantees: [{team: b, pool: p, gpus: 1}]", "guarantees[0].team: there is no team 'b'"),
        ("teams: [{name: b}]\npools: [{name: train}]\nguarantees: [{team: b, pool: trian, gpus: 1}]", "there is no pool 'trian' (did you mean train?)"),
        ("teams: [{name: b}]\nguarantees: [{team: b, pool: p, gpus: 2, limit: 1}]", "guarantees[0].limit: it is below the guarantee"),
        ("teams: [{name: b}]\nguarantees: [{team: b, pool: p, gpus: 0.0001}]", "no whole number of parts"),
        ("teams: [{name: b}]\nguarantees: [{team: b, pool: p, gpus: 1}, {team: b, pool: p, gpus: 2, from: 2026-12-01}]", "guarantees[1]: the team has a guarantee in this pool at that time already"),
        ("teams: [{name: b}]\nguarantees: [{team: b, pool: p, gpus: 1, from: 2026-12-01, to: 2026-11-01}]", "guarantees[0].to: it ends before it begins"),
        ("rate_cards: [{card: a, prices: [{gpu_hour: 1}]}, {card: b, prices: [{gpu_hour: 1}]}]", "rate_cards[1]: another card is in force at that time already; one at a time (line 2)"),
        ("rate_cards: [{card: a, to: 2027-02-01, prices: [{gpu_hour: 1}]}, {card: b, from: 2027-01-01, prices: [{gpu_hour: 1}]}]", "rate_cards[1]: another card"),
        ("rate_cards: [{card: a, prices: []}]", "rate_cards[0].prices: at least one is needed"),
        ("rate_cards: [{card: a, currency: euro, prices: [{gpu_hour: 1}]}]", "a currency is three capital letters"),
        ("rate_cards: [{card: a, prices: [{gpu_hour: 1e-10}]}]", "a price has at most nine places"),
        ("rate_cards: [{card: a, prices: [{gpu_hour: .nan}]}]", "'.nan' with the tag float is not known here"),
        ("rate_cards: [{card: a, unallocated: evn, prices: [{gpu_hour: 1}]}]", "(did you mean even?)"),
        ("teams: [{name: t}]\nteam_rules: [{team: t, namespace: 'a[b]'}]", "a pattern knows * and ? alone"),
        ("teams: [{name: t}]\nteam_rules: [{team: t, from: 2026-11-01T00:00:00}]", "an instant needs its offset from UTC"),
        ("teams: [{name: t}]\nteam_rules: [{team: t, from: 1790000000}]", "an instant looks like"),
        ("business: {time_zone: Berlin}", "'Berlin' is no time zone"),
        ("business: {time_zone: ../../etc/passwd}", "is no time zone"),
        ("ledger: {catalog: mysql}", "ledger.catalog: it is sqlite, memory, or postgres:"),
        ("ledger: {catalog: 'postgres:'}", "ledger.catalog: it is sqlite, memory, or postgres:"),
        ("ledger: {catalog: 'postgres:host=h password=hunter2'}", "ledger.catalog: a password does not stand in the configuration"),
        ("ledger: {catalog: 'postgres:postgresql://u:hunter2@h/db'}", "ledger.catalog: a password does not stand in the configuration"),
        ("ledger: {catalog: 'postgres:password=${vault:x}'}", "ledger.catalog: a reference is ${env:NAME} or ${file:path}"),
        ("ledger: {path: '${env:HOME}'}", "a reference ${…} stands only where a secret is expected"),
        ("privacy: {key: '${env:NOTHING}'}", "privacy.key: the environment variable NOTHING is not set"),
        ("privacy: {key: '${file:nowhere}'}", "privacy.key: the file /etc/q/nowhere cannot be read: No such file"),
        ("privacy: {pseudonyms: yes}", "privacy.pseudonyms: true or false is expected"),
        ("thresholds: [{signal: sm, floor: 0.1}, {signal: sm, floor: 0.2}]", "'sm * *' is there already"),
        ("collector: {listen: '9500'}", "an address and a port are expected"),
        ("retention: {samples: 0d}", "a duration is longer than zero"),
        ("retention:", "retention: nothing stands behind the key"),
        ("retention: []", "retention: keys and values are expected here"),
        ("retention: {samples: 1d}\nretention: {samples: 2d}", "retention: this key stands here twice (first in line 2)"),
        ("x: !!python/object/apply:os.system [id]", "x: this key is not known"),
        ("pools: !!set {a}", "pools"),
        ("<<: {a: 1}", "<<: merging (<<) is not known here"),
        ("? [a]\n: b", "a key is one word"),
        ('teams: [{name: "t\\x07"}]', "control character"),
        ("pools: [{name: p}", "this is no YAML"),
        ("\tpools: []", "this is no YAML"),
        ("---\npools: []", "a second document begins here"),
    ],
)  # fmt: skip
def test_what_is_refused(added: str, expected: str):
    found = errors(LEAST + added + "\n")
    assert any(expected in error for error in found), found
    assert "hunter2" not in " ".join(found)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("clusters: [{name: c}]", "there will be no telemetry of this cluster"),
        (LEAST + "teams: [{name: t}]\nteam_rules: [{team: t}, {team: t, namespace: x}]", "team_rules[1]: this rule is never reached: one before it matches everything (line 3)"),
        (LEAST + "teams: [{name: t}]\nteam_rules: [{team: t, cluster: d}]", "no cluster is called 'd'"),
        (LEAST + "pools: [{name: all}, {name: b, models: [x]}]", "pools[1]: this pool is never reached"),
        (LEAST + "rate_cards: [{card: a, prices: [{model: x, gpu_hour: 1}]}]", "what matches no price costs nothing"),
        (LEAST + "rate_cards: [{card: a, prices: [{gpu_hour: 1}, {model: x, gpu_hour: 1}]}]", "this price is never reached"),
        (LEAST + "rate_cards: [{card: a, to: 2027-01-01, prices: [{gpu_hour: 1}]}, {card: b, from: 2027-02-01, prices: [{gpu_hour: 1}]}]", "no card is in force from 2027-01-01T00:00:00.000Z to 2027-02-01"),
        ("clusters: [{name: c, dcgm: {targets: ['http://h/m'], bearer_token: '${env:PW}'}}]", "goes over plain http"),
        ("clusters: [{name: c, dcgm: {targets: ['https://h/m'], tls: {insecure_skip_verify: true}}}]", "anybody can pose as an exporter"),
    ],
)  # fmt: skip
def test_what_looks_wrong_is_a_warning(text: str, expected: str):
    assert errors(text) == []
    assert any(expected in warning for warning in warnings(text)), warnings(text)


def test_a_missing_secret_is_an_error_only_where_it_is_used():
    found = loaded(WHOLE, {}, secrets=False)
    configuration = found.need()
    with pytest.raises(ConfigurationError, match="PW is not set"):
        configuration.ledger.catalog.reveal()
    assert [problem.key for problem in loaded(WHOLE, {}).problems] == [("ledger", "catalog")]


def test_aliases_are_fine_and_bombs_are_not():
    assert (
        loaded("clusters: [{name: a, dcgm: &d {targets: ['http://h/m']}}, {name: b, dcgm: *d}]")
        .need()
        .clusters[1]
        .dcgm.targets
    )
    bomb = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{new}: &{new} [{','.join(['*' + old] * 10)}]\n"
        for old, new in zip("abcdefgh", "bcdefghi", strict=True)
    )
    assert any("larger than any configuration" in error for error in errors(bomb + LEAST))
    assert any("larger than any configuration" in error for error in errors(LEAST + "x: &x [*x]\n"))
    assert errors("[" * 3000)


@pytest.mark.parametrize("content", [b"", b"# nothing\n", b"\xff\xfe", b"just text", b"- a list\n"])
def test_files_that_are_no_configuration(content: bytes, tmp_path: Path):
    file = tmp_path / "q.yaml"
    file.write_bytes(content)
    with pytest.raises(ConfigurationError) as caught:
        load_configuration(file, {})
    assert str(file) in caught.value.what
    assert caught.value.hint


def test_a_file_that_cannot_be_read(tmp_path: Path):
    with pytest.raises(ConfigurationError, match="cannot be read"):
        check_configuration(tmp_path, {})


@given(st.text(max_size=60))
def test_no_text_makes_it_stumble(text: str):
    for problem in loaded(text).problems:
        assert problem.place.line >= 1
        assert str(problem)


LINES = WHOLE.splitlines(keepends=True)


@given(
    st.lists(
        st.tuples(st.integers(0, len(WHOLE) - 1), st.sampled_from("{}[]:,-\"' \n#*&!|>x9")),
        min_size=1,
        max_size=6,
    )
)
def test_no_typo_makes_it_stumble(typos: list[tuple[int, str]]):
    text = WHOLE
    for at, letter in typos:
        text = text[:at] + letter + text[at + 1 :]
    found = loaded(text)
    assert (found.configuration is None) == any(problem.severity == "error" for problem in found.problems)
    for problem in found.problems:
        assert 1 <= problem.place.line <= text.count("\n") + 1
