"""The configuration of a host: the first one, what it may say, and which host it is of."""

from pathlib import Path

import pytest

from collector.nvml.configured import host_name, is_elsewhere, settings_of
from quartermaster.config.first import first_configuration, write_first
from quartermaster.config.load import load_configuration, parse_configuration
from quartermaster.config.model import Configuration
from quartermaster.config.secret import Surroundings
from quartermaster.errors import ConfigurationError
from quartermaster.team import Rule


def parsed(text: str) -> tuple[Configuration | None, list[str]]:
    surroundings = Surroundings({}, Path("/etc/quartermaster"), lambda path: path.read_text())
    loaded = parse_configuration(text, "q.yaml", surroundings)
    return loaded.configuration, [str(problem) for problem in loaded.problems]


def cluster(text: str) -> Configuration:
    configuration, problems = parsed(f"clusters: [{text}]")
    assert configuration is not None, problems
    return configuration


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("lab1", "lab1"),
        ("123", "123"),
        ("a b:c#d", "a-b-c-d"),
        ('x"\\: {', "x"),
        ("-", "host"),
        ("x" * 99, "x" * 63),
    ],
)
def test_the_first_configuration_is_in_order_whatever_the_hosts_name(host: str, name: str, tmp_path: Path):
    file = tmp_path / "folder" / "quartermaster.yaml"
    write_first(file, first_configuration(host, {}, tmp_path / 'a "home": #'))
    configuration = load_configuration(file, {})
    (part,) = configuration.clusters
    assert part.nvml is not None
    assert (part.name, part.holders, part.nvml.host, part.nvml.interval_ms) == (name, "nvml", host, 30_000)
    assert configuration.ledger.path == tmp_path / 'a "home": #' / ".local/share/quartermaster/ledger"
    assert configuration.collector.spool.path == tmp_path / 'a "home": #' / ".local/state/quartermaster/spool"
    with pytest.raises(ConfigurationError, match="cannot be written"):
        write_first(file, "")


def test_a_users_folders_are_where_xdg_says(tmp_path: Path):
    environment = {"XDG_DATA_HOME": "/data", "XDG_STATE_HOME": "relative"}
    configuration, problems = parsed(first_configuration("lab1", environment, tmp_path))
    assert configuration is not None, problems
    assert configuration.ledger.path == Path("/data/quartermaster/ledger")
    assert configuration.collector.spool.path == tmp_path / ".local/state/quartermaster/spool"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{name: a, nvml: {}}", "it goes with `holders: nvml`, or `holders: slurm`"),
        ("{name: a, holders: kubernetes, nvml: {}}", "it goes with `holders: nvml`"),
        (
            "{name: a, holders: nvml, nvml: {}, dcgm: {targets: ['http://a:1/m']}}",
            "exporters into a cluster of their own",
        ),
        ("{name: a, holders: nvml, nvml: {interval: 5s}}", "timeout: it is shorter than the interval"),
        ("{name: a, holders: slurm}", "there is no nvml: to read holders from"),
    ],
)
def test_what_it_may_not_say(text: str, problem: str):
    _, problems = parsed(f"clusters: [{text}]")
    assert any(problem in each for each in problems), problems


def test_which_host_it_is_of():
    assert not is_elsewhere(cluster("{name: a, holders: nvml, nvml: {}}").clusters[0])
    assert not is_elsewhere(
        cluster(f"{{name: a, holders: nvml, nvml: {{host: '{host_name()}'}}}}").clusters[0]
    )
    assert is_elsewhere(cluster("{name: a, holders: nvml, nvml: {host: not-this-one}}").clusters[0])
    assert not is_elsewhere(cluster("{name: a, dcgm: {targets: ['http://a:1/m']}}").clusters[0])


def test_what_the_understanding_gets_of_it(tmp_path: Path):
    (tmp_path / "quartermaster.yaml").write_text(
        "clusters: [{name: a, holders: slurm, nvml: {host: h, interval: 1m, proc: p, cgroup: /c}}]\n"
        "teams: [{name: t}]\nteam_rules: [{team: t, unix_group: 'g*'}]\n"
        "pools: [{name: big, models: ['*H100*']}]\n"
    )
    configuration = load_configuration(tmp_path / "quartermaster.yaml", {})
    (part,) = configuration.clusters
    assert part.nvml is not None
    assert (part.nvml.proc, part.nvml.cgroup) == (tmp_path / "p", Path("/c"))
    settings = settings_of(part, part.nvml, configuration)
    assert (settings.cluster, settings.node, settings.source, settings.interval_ms) == (
        "a",
        "h",
        "slurm",
        60_000,
    )
    assert settings.rules == (Rule("t", unix_group="g*"),)
    assert [rule.name for rule in settings.pools] == ["big"]
    assert len(settings.person_key) >= 16
