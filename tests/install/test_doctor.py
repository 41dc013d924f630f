"""`quartermaster doctor` against real systems: what is in order, what is not, and what to do; nothing is changed."""

import json
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from cli.checkup.exporters import exporters
from cli.checkup.kubernetes import kubernetes
from cli.checkup.ledger import ledger
from cli.checkup.line import Line, State, clock_line, looked
from cli.checkup.mail import mail
from cli.checkup.prometheus import prometheus as look_at_prometheus
from cli.checkup.rights import Right, actors
from cli.checkup.sign_in import sign_in
from cli.main import app
from enforcer.ladder.reached import reached
from quartermaster.config.acting import ActingPart
from quartermaster.config.load import parse_configuration
from quartermaster.config.model import Configuration
from quartermaster.config.secret import Surroundings
from simulator.server import Plan, SimulatorServer
from tests.kube.standin import standing_in
from tests.ledgers import lay_ledger
from tests.reports.post import Mailbox
from tests.servers.controlplane import ControlPlane
from tests.servers.objects import make
from tests.servers.prometheus import PrometheusServer

ROLES = Path(__file__).parents[2] / "deploy" / "rbac"
HOUR_MS = 3_600_000
START_MS = 1_795_000_000_000


def configured(text: str, folder: Path = Path("/nowhere"), **environment: str) -> Configuration:
    around = Surroundings(environment, folder, Path.read_text)
    return parse_configuration(text, "quartermaster.yaml", around, secrets=False).need()


def states(lines: list[Line]) -> set[State]:
    return {each.state for each in lines}


@contextmanager
def simulated() -> Generator[SimulatorServer]:
    with SimulatorServer(Plan(3, START_MS, START_MS + 24 * HOUR_MS, quick=True)) as server:
        server.advance(START_MS + HOUR_MS)
        yield server


def test_exporters_that_answer_and_that_do_not(tmp_path: Path) -> None:
    with simulated() as server:
        node = server.nodes[0]
        text = f"clusters: [{{name: c, dcgm: {{targets: ['{server.url(node)}', 'http://127.0.0.1:1/metrics']}}}}]"
        found = list(exporters(configured(text).clusters[0], tmp_path))
    words = {each.words: each for each in found}
    refused = words["refused: http://127.0.0.1:1/metrics"]
    assert (refused.state, refused.todo) == (
        State.warning,
        "start dcgm-exporter there, or correct clusters.dcgm",
    )
    assert words["1 of 2 give their page"].state is State.ok
    # The simulator's Date is its own time, months from now: intervals and samples would not meet.
    (apart,) = (each for each in found if "its clock is" in each.words)
    assert apart.state is State.warning
    assert "NTP" in apart.todo


def test_none_that_answers_is_a_trouble(tmp_path: Path) -> None:
    (line,) = exporters(
        configured("clusters: [{name: c, dcgm: {targets: ['http://127.0.0.1:1/m']}}]").clusters[0], tmp_path
    )
    assert line.state is State.trouble


@pytest.mark.parametrize(
    ("bounds", "state"),
    [((-900, 1100), State.ok), ((4000, 5000), State.warning), ((-9000, -8000), State.warning)],
)
def test_a_clock_is_doubted_only_where_it_is_surely_apart(bounds: tuple[int, int], state: State) -> None:
    (line,) = clock_line("c", "API server", bounds, 2000)
    assert line.state is state
    assert list(clock_line("c", "API server", None, 2000)) == []


def test_a_prometheus_that_is_away() -> None:
    away = configured("clusters: [{name: c, prometheus: {url: 'http://127.0.0.1:1'}}]").clusters[0]
    assert away.prometheus is not None
    of = away.prometheus
    (line,) = looked("Prometheus of c", lambda: look_at_prometheus(away, of))
    assert line.state is State.trouble
    assert "127.0.0.1:1" in line.words


@pytest.mark.patient
def test_a_prometheus_with_nothing_of_dcgm(prometheus: Callable[..., PrometheusServer]) -> None:
    url = prometheus().url
    part = configured(f"clusters: [{{name: c, prometheus: {{url: '{url}'}}}}]").clusters[0]
    assert part.prometheus is not None
    found = list(look_at_prometheus(part, part.prometheus))
    assert [each.state for each in found] == [State.ok, State.ok, State.warning]
    assert "one, to 2 s" in found[1].words


def applied(plane: ControlPlane, name: str) -> None:
    """The objects of a file of deploy/rbac."""
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    home = "namespaces/quartermaster"
    places = {
        "Namespace": "/api/v1/namespaces",
        "ServiceAccount": f"/api/v1/{home}/serviceaccounts",
        "ClusterRole": f"{rbac}/clusterroles",
        "ClusterRoleBinding": f"{rbac}/clusterrolebindings",
        "Role": f"{rbac}/{home}/roles",
        "RoleBinding": f"{rbac}/{home}/rolebindings",
    }
    for each in yaml.safe_load_all((ROLES / name).read_text(encoding="utf-8")):
        make(plane, places[each["kind"]], each)


def token_of(plane: ControlPlane, account: str) -> str:
    path = f"/api/v1/namespaces/quartermaster/serviceaccounts/{account}/token"
    return plane.call("POST", path, {"spec": {}})["status"]["token"]


def looked_at(plane: ControlPlane, token: str, more: str = "", of: str = "") -> list[Line]:
    file = plane.kubeconfig_of(token)
    text = f"clusters: [{{name: c, holders: kubernetes, kubernetes: {{kubeconfig: '{file}'}}}}]\n{more}"
    configuration = configured(text)
    part = configuration.clusters[0]
    assert part.kubernetes is not None
    return list(kubernetes(part, part.kubernetes, configuration, of))


@pytest.mark.patient
def test_each_role_has_what_its_part_needs_and_an_account_without_has_not(
    control_plane: ControlPlane,
) -> None:
    for name in ("collector.yaml", "enforcer-read.yaml", "enforcer-native.yaml", "enforcer-lend.yaml"):
        applied(control_plane, name)
    collector = looked_at(control_plane, token_of(control_plane, "collector"), of="the collector")
    assert states(collector) == {State.ok}, collector
    assert any("the collector has" in each.words for each in collector)
    acting = "policy: {acting: {mode: act, lend: true}}"
    everything = looked_at(control_plane, control_plane.token, acting)
    assert states(everything) == {State.ok}
    enforcer = looked_at(control_plane, token_of(control_plane, "enforcer"), acting, of="the enforcer")
    assert states(enforcer) == {State.ok}, enforcer
    nobody = looked_at(control_plane, control_plane.service_account("default", "doctors-nobody"))
    pods = next(each for each in nobody if "list pods" in each.words)
    assert (pods.state, pods.todo) == (
        State.trouble,
        "give its account the role of deploy/rbac/collector.yaml",
    )


def test_an_api_server_that_is_away_is_one_trouble(tmp_path: Path) -> None:
    with standing_in() as server:
        path = server.kubeconfig(tmp_path)
    text = f"clusters: [{{name: c, holders: kubernetes, kubernetes: {{kubeconfig: '{path}'}}}}]"
    configuration = configured(text)
    part = configuration.clusters[0]
    assert part.kubernetes is not None
    of = part.kubernetes
    (line,) = looked("Kubernetes of c", lambda: kubernetes(part, of, configuration))
    assert line.state is State.trouble
    assert "does not answer" in line.words


def test_rights_say_what_they_are() -> None:
    right = Right("the enforcer", "create", "", "pods", "team-a", subresource="eviction")
    assert right.words == "create pods/eviction in team-a"
    attributes: Any = right.review["spec"]
    assert attributes["resourceAttributes"] == {
        "verb": "create",
        "resource": "pods",
        "subresource": "eviction",
        "namespace": "team-a",
    }
    within = {each.namespace for each in actors(("", "batch"), ("team-a",), ActingPart())}
    assert within == {"team-a", "quartermaster"}


@pytest.mark.patient
def test_the_ledger_that_is_not_there_empty_and_of_another_revision(tmp_path: Path) -> None:
    def look() -> list[Line]:
        here = configured("clusters: [{name: c, dcgm: {targets: ['http://n:9400/m']}}]", tmp_path)
        asked = [("c", "dcgm", "telemetry")]
        return list(
            looked("ledger", lambda: ledger(here, asked, START_MS, quick=False, begun=lambda _: None))
        )

    assert [each.state for each in look()] == [State.warning]
    lay_ledger(tmp_path / "ledger")
    found = look()
    assert [each.state for each in found] == [State.ok, State.warning, State.ok]
    assert "never heard" in found[1].words
    assert "no row breaks a rule" in found[2].words


def test_mail_is_asked_for_and_nothing_is_sent() -> None:
    with Mailbox() as mailbox:
        address = mailbox.address.replace("127.0.0.1", "localhost")
        url = f"mailto://{mailbox.address}?from=q@house.org&to=team@house.org&mode=insecure"
        assert reached(url, 5) == ""
        named = ", ".join(f"{{name: {name}, url: '${{env:{name}}}'}}" for name in ("MAIL", "HOOK", "NO"))
        text = f"notify: {{channels: [{named}]}}\nclusters: [{{name: c}}]"
        found = list(mail(configured(text, MAIL=url, HOOK=f"json://{address}/secret")))
        assert mailbox.mails == []
    assert [each.state for each in found] == [State.ok, State.ok, State.trouble]
    assert "is not set" in found[2].words
    away = reached("mailto://localhost:1?from=q@house.org&to=team@house.org&mode=insecure", 5)
    assert away == "localhost:1 was not reached: Connection refused"
    assert "secret" not in "".join(each.words + each.todo for each in found)


OIDC = """
clusters: [{{name: c}}]
dashboards:
  sign_in: oidc
  address: https://gpu.example.org
  oidc: {{issuer: "{issuer}", client_id: qm, client_secret: "${{env:SECRET}}"}}
  access: [{{mails: ["*"]}}]
"""


def test_a_provider_that_answers_as_itself_and_one_that_does_not(tmp_path: Path) -> None:
    with simulated() as server:  # an HTTP server that is no provider
        strange = configured(OIDC.format(issuer=server.base_url), SECRET="s")
        (line,) = sign_in(strange.dashboards)
        assert (line.state, "answers 404" in line.words) == (State.trouble, True)
    away = configured(OIDC.format(issuer="http://127.0.0.1:1"), SECRET="s")
    (line,) = sign_in(away.dashboards)
    assert (line.state, "refused" in line.words) == (State.trouble, True)
    (line,) = looked(
        "sign-in", lambda: sign_in(configured(OIDC.format(issuer="http://127.0.0.1:1")).dashboards)
    )
    assert "SECRET is not set" in line.words
    (line,) = sign_in(configured("clusters: [{name: c}]").dashboards)
    assert line.state is State.ok


def test_the_command_says_all_of_it_and_ends_with_1_on_trouble(tmp_path: Path) -> None:
    (tmp_path / "quartermaster.yaml").write_text(
        "clusters: [{name: c, dcgm: {targets: ['http://127.0.0.1:1/metrics']}}]\n", encoding="utf-8"
    )
    command = ["--config", str(tmp_path / "quartermaster.yaml"), "doctor"]
    done = CliRunner().invoke(app, [*command, "--json"])
    told = json.loads(done.stdout)
    assert (done.exit_code, told["ok"]) == (1, False)
    assert {each["subject"] for each in told["lines"]} == {
        "versions",
        "configuration",
        "disk",
        "exporters of c",
        "ledger",
        "sign-in",
    }
    assert not (tmp_path / "ledger").exists()
    (tmp_path / "quartermaster.yaml").write_text("clusters: [{nam: c}]\n", encoding="utf-8")
    broken = CliRunner().invoke(app, command, env={"COLUMNS": "80"})
    assert broken.exit_code == 1
    assert "what to do" in broken.stdout
    assert all(len(line) <= 80 for line in broken.stdout.splitlines())
