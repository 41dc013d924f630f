"""The first configuration: whatever was found, it is one that `config check` passes, and says what was found."""

import contextlib
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from cli.main import app
from collector.kubernetes.survey import exporters
from collector.prometheus.survey import understood
from quartermaster.config.draft import Draft, Exporters, Found, Kubernetes, fit_name, written
from quartermaster.config.load import Loaded, parse_configuration
from quartermaster.config.secret import Surroundings
from quartermaster.errors import QuartermasterError

FOUND = Found(
    frozenset({"NVIDIA H100 80GB HBM3", "Tesla T4"}),
    frozenset({"vision", "speech"}),
    Exporters(targets=("http://node-1:9400/metrics",)),
)


def loaded(draft: Draft, folder: Path = Path("/nowhere")) -> Loaded:
    return parse_configuration(written(draft), "quartermaster.yaml", Surroundings({}, folder, Path.read_text))


def test_what_was_found_stands_in_it() -> None:
    draft = Draft("prod", "Europe/Berlin", "CHF", Kubernetes(context="prod"), "http://prometheus:9090", FOUND)
    found = loaded(draft).need()
    (cluster,) = found.clusters
    assert cluster.kubernetes is not None
    assert cluster.prometheus is not None
    assert (cluster.name, cluster.holders, cluster.kubernetes.context) == ("prod", "kubernetes", "prod")
    assert (cluster.dcgm.targets[0].url, cluster.prometheus.url) == (
        "http://node-1:9400/metrics",
        "http://prometheus:9090",
    )
    assert [(each.name, each.models) for each in found.pools] == [
        ("h100-80gb-hbm3", ("NVIDIA H100 80GB HBM3",)),
        ("t4", ("Tesla T4",)),
    ]
    assert [(each.team, each.namespace) for each in found.team_rules] == [
        ("speech", "speech"),
        ("vision", "vision"),
    ]
    assert (found.business.time_zone, found.business.currency) == ("Europe/Berlin", "CHF")


@pytest.mark.parametrize(
    "draft",
    [
        Draft("main"),
        Draft("main", kubernetes=Kubernetes(in_cluster=True)),
        Draft("main", found=Found(exporters=Exporters(dns_srv=("_metrics._tcp.dcgm-exporter.gpu.svc",)))),
    ],
    ids=["nothing", "in a pod", "by SRV records"],
)
def test_a_little_is_in_order_without_a_warning(draft: Draft) -> None:
    assert [str(each) for each in loaded(draft).problems if each.severity == "error"] == []


texts = (
    st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=40)
    .map(str.strip)
    .filter(bool)
)


@settings(max_examples=15)
@given(models=st.frozensets(texts, max_size=5), namespaces=st.frozensets(texts, max_size=5), name=texts)
def test_hostile_names_break_nothing(models: frozenset[str], namespaces: frozenset[str], name: str) -> None:
    found = loaded(Draft(fit_name(name), found=Found(models, namespaces))).need()
    assert {each.name for each in found.teams} == namespaces
    assert len(found.pools) == len(models)


def test_a_headless_service_names_every_exporter_and_else_their_pods_do() -> None:
    labels = {"app": "nvidia-dcgm-exporter"}
    ports = [{"name": "metrics", "containerPort": 9400}]
    pods = [
        {"metadata": {"labels": labels}, "status": {"podIP": "10.0.0.7"}},
        {
            "metadata": {"labels": labels},
            "status": {"podIP": "fd00::7"},
            "spec": {"containers": [{"ports": ports}]},
        },
        {"metadata": {"labels": {"app": "nginx"}}, "status": {"podIP": "10.0.0.9"}},
        {"metadata": {"labels": labels}, "status": {}},
    ]
    assert exporters(pods, []).targets == ("http://10.0.0.7:9400/metrics", "http://[fd00::7]:9400/metrics")
    metadata = {"labels": labels, "name": "dcgm", "namespace": "gpu"}
    service = {"metadata": metadata, "spec": {"clusterIP": "None", "ports": [{"name": "gpu-metrics"}]}}
    assert exporters(pods, [service]) == Exporters(dns_srv=("_gpu-metrics._tcp.dcgm.gpu.svc",))
    assert exporters(pods, [service | {"spec": {"clusterIP": "10.1.0.1"}}]).targets


def test_what_a_prometheus_tells_is_of_the_pods_that_have_gpus() -> None:
    h100 = {"modelName": "NVIDIA H100 80GB HBM3", "instance": "10.0.0.7:9400"}
    found = understood(
        [
            h100
            | {
                "namespace": "gpu-operator",
                "pod": "dcgm-1",
                "exported_namespace": "vision",
                "exported_pod": "a",
            },
            h100
            | {"namespace": "gpu-operator", "pod": "dcgm-1", "exported_namespace": "", "exported_pod": ""},
            {"modelName": "Tesla T4", "instance": "strange", "namespace": "speech", "pod": "b"},
            {"modelName": "Tesla T4", "instance": "10.0.0.8:9400", "namespace": "nobody"},
        ]
    )
    assert found == Found(
        frozenset({"NVIDIA H100 80GB HBM3", "Tesla T4"}),
        frozenset({"vision", "speech"}),
        Exporters(targets=("http://10.0.0.7:9400/metrics", "http://10.0.0.8:9400/metrics")),
    )


def quartermaster(folder: Path, *arguments: str) -> tuple[int, str]:
    """The command as a person types it in a folder, without a terminal: its exit code, and what it said."""
    with contextlib.chdir(folder):
        done = CliRunner().invoke(app, arguments, env={"COLUMNS": "80"})
    if isinstance(done.exception, QuartermasterError):
        return done.exception.exit_code, f"{done.output}{done.exception.what}"
    return done.exit_code, done.output


def test_init_writes_what_config_check_passes_and_overwrites_nothing(tmp_path: Path) -> None:
    code, said = quartermaster(
        tmp_path, "init", "--exporter", "http://node-1:9400/metrics", "--time-zone", "Europe/Berlin"
    )
    assert code == 0, said
    assert "1 addresses of exporters" in said
    checked = json.loads(quartermaster(tmp_path, "config", "check", "--json")[1])
    assert checked["ok"]
    assert checked["problems"] == []
    code, said = quartermaster(tmp_path, "init", "--exporter", "http://node-2:9400/metrics")
    assert code == 2
    assert "is there already" in said


def test_init_says_what_it_needs(tmp_path: Path) -> None:
    code, said = quartermaster(tmp_path, "init")
    assert code == 2
    assert "no terminal to ask" in said
    code, said = quartermaster(
        tmp_path, "init", "--exporter", "http://n:9400/metrics", "--time-zone", "Europe/Berlim"
    )
    assert code == 3
    assert "nothing is written" in said
    assert not (tmp_path / "quartermaster.yaml").exists()
