"""Loading: every problem at once, with place, key and nearest name; secrets never shown; nothing guessed."""

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
    kubernetes: {kubeconfig: kube.conf, context: demo, quotas: [{object: Queue/a, team: vision, pool: training}]}
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
  - team: vision
    namespace: "vision-*"
    label: {key: team, value: "vis*"}
    user: "a*"
    from: 2026-11-01T00:00:00+01:00
guarantees:
  - {team: vision, pool: training, gpus: 16.5, limit: 32, weight: 2, from: 2026-11-01, to: 2027-01-01}
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
FILES = {
    "/etc/q/pw": "hunter2\n",
    "/etc/q/pseudonym.key": "k" * 32,
    "/etc/q/lines": "hunter2\r\nX-Admin: yes",
}


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


def cases(name: str) -> list[tuple[str, str]]:
    """The cases of a file: what stands in the configuration, and, after the arrow, what is said of it."""
    blocks = (Path(__file__).parent / f"{name}.txt").read_text(encoding="utf-8").strip("\n").split("\n\n")
    found = [block.split("\n→ ") for block in blocks]
    return [(added.replace("<TAB>", "\t"), expected) for added, expected in found]


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
    here = Path(__file__).parent
    text = (here / "broken.yaml").read_text(encoding="utf-8")
    assert errors(text) == (here / "broken.txt").read_text(encoding="utf-8").splitlines()
    with pytest.raises(ConfigurationError, match="14 errors") as caught:
        loaded(text).need()
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(("added", "expected"), cases("refused"))
@pytest.mark.patient
def test_what_is_refused(added: str, expected: str):
    found = errors(f"{'' if added.startswith('clusters') else LEAST}{added}\n")
    assert any(expected in error for error in found), found
    assert "hunter2" not in " ".join(found)


@pytest.mark.parametrize(("added", "expected"), cases("doubted"))
def test_what_looks_wrong_is_a_warning(added: str, expected: str):
    text = added if added.startswith("clusters:") else LEAST + added
    assert errors(text) == []
    assert any(expected in warning for warning in warnings(text)), warnings(text)


def test_a_missing_secret_is_an_error_only_where_it_is_used():
    found = loaded(WHOLE, {}, secrets=False)
    configuration = found.need()
    with pytest.raises(ConfigurationError, match="PW is not set"):
        configuration.ledger.catalog.reveal()
    assert [problem.key for problem in loaded(WHOLE, {}).problems] == [("ledger", "catalog")]


@pytest.mark.patient
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


SCALARS = [
    "9" * 5000,
    "0x_",
    "._",
    "1:30",
    "!!int abc",
    "!!float abc",
    "!!float inf",
    "!!bool yes",
    "!!binary aGk=",
    ".inf",
]


@pytest.mark.parametrize("scalar", SCALARS)
@pytest.mark.parametrize("head", ["", "%YAML 1.1\n---\n"])
def test_what_only_yaml_calls_a_number_or_a_truth_is_refused(scalar: str, head: str):
    for place in (f"collector: {{spool: {{max_mib: {scalar}}}}}", f"privacy: {{pseudonyms: {scalar}}}"):
        found = errors(f"{head}{LEAST}{place}\n")
        assert found
        assert all(len(error) < 200 for error in found)


def test_a_word_that_only_old_yaml_calls_true_is_not_taken_for_false():
    assert errors(f"%YAML 1.1\n---\n{LEAST}privacy: {{pseudonyms: yes}}\n")


@pytest.mark.parametrize(
    "address", ["http://[::1", "http://h:99999/m", "http://h:0/m", "http://h:x/m", "http:///m", "h:9400"]
)
def test_a_target_that_nobody_could_fetch_is_refused(address: str):
    text = f"clusters: [{{name: c, dcgm: {{targets: ['{address}']}}}}]\n"
    assert any("a target looks like" in error for error in errors(text))


def test_a_file_or_a_secret_without_an_end_is_refused(tmp_path: Path):
    with pytest.raises(ConfigurationError, match="File too large"):
        check_configuration(Path("/dev/zero"), {})
    file = tmp_path / "q.yaml"
    file.write_text(LEAST + "privacy: {key: '${file:/dev/zero}'}\n", encoding="utf-8")
    assert any("File too large" in str(problem) for problem in check_configuration(file, {}).problems)


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
