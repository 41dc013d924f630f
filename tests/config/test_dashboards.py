"""The dashboards' part of the configuration: what it takes, and what it refuses before anybody is let in."""

from pathlib import Path

import pytest

from quartermaster.config.load import parse_configuration
from quartermaster.config.secret import Surroundings

SECRET = {"SECRET": "s" * 20}
OIDC = "oidc: {issuer: 'https://id.example.org', client_id: qm, client_secret: '${env:SECRET}'}"
PROXY = "proxy: {addresses: [10.0.0.7]}"
SITE = "address: 'https://gpu.example.org'"


def problems(dashboards: str, more: str = "") -> list[str]:
    clusters = "clusters: [{name: c, dcgm: {targets: ['http://h/m']}, holders: labels}]"
    text = f"{clusters}\n{more}dashboards: {{{dashboards}}}\n"
    return [
        str(each) for each in parse_configuration(text, "q.yaml", Surroundings(SECRET, Path(), str)).problems
    ]


@pytest.mark.parametrize(
    "dashboards",
    [
        "",
        "listen: '127.0.0.1:9000'",
        "listen: '[::1]:9000'",
        "listen: 'localhost:9000'",
        f"listen: '0.0.0.0:80', sign_in: oidc, {SITE}, {OIDC}, access: [{{groups: ['*']}}]",
        f"sign_in: proxy, {SITE}, {PROXY}, access: [{{mails: ['*@example.org'], roles: [viewer, owner]}}]",
        f"sign_in: oidc, address: 'http://localhost:8501', {OIDC}, access: [{{groups: ['*']}}]",
    ],
)
def test_what_is_taken(dashboards: str) -> None:
    assert problems(dashboards) == []


@pytest.mark.parametrize(
    ("dashboards", "told"),
    [
        ("listen: '0.0.0.0:8501'", "listens on loopback alone"),
        ("listen: '10.0.0.1:8501'", "listens on loopback alone"),
        ("listen: '[::]:8501'", "listens on loopback alone"),
        ("listen: 'gpu.example.org:8501'", "listens on loopback alone"),
        ("listen: '127.0.0.1:0'", "a port is between"),
        (f"sign_in: oidc, {OIDC}", "needs the address"),
        (f"sign_in: oidc, {SITE}", "needs a provider"),
        (f"sign_in: proxy, {SITE}", "needs the proxy's addresses"),
        (f"sign_in: oidc, address: 'http://gpu.example.org', {OIDC}", "write https://"),
        (f"sign_in: oidc, address: 'https://u:p@gpu.example.org', {OIDC}", "where people find the pages"),
        (f"sign_in: oidc, address: 'https://gpu.example.org/x', {OIDC}", "where people find the pages"),
        (f"sign_in: oidc, {SITE}, {OIDC.replace('https', 'http')}", "sign in as anybody"),
        (
            f"sign_in: oidc, {SITE}, {OIDC.replace('${env:SECRET}', 'hunter2')}",
            "does not stand in the configuration",
        ),
        (f"sign_in: proxy, {SITE}, proxy: {{addresses: []}}", "addresses"),
        (f"sign_in: proxy, {SITE}, proxy: {{addresses: [proxy]}}", "no address and no network"),
        (f"sign_in: proxy, {SITE}, proxy: {{addresses: [0.0.0.0/0]}}", "everybody"),
        (f"sign_in: proxy, {SITE}, proxy: {{addresses: ['::/0']}}", "everybody"),
        (f"sign_in: proxy, {SITE}, proxy: {{addresses: [127.0.0.1]}}", "needs one"),
        ("session: 10s", "a session lasts"),
        ("access: [{roles: [viewer]}]", "names groups or mails"),
        ("access: [{groups: [g], roles: [king]}]", "a role is viewer, owner"),
        ("access: [{groups: [g], roles: []}]", "roles"),
        ("access: [{groups: [g]}]", "no rule is looked at"),
        (f"sign_in: proxy, {SITE}, {PROXY}", "nobody who signs in sees anything"),
    ],
)
def test_what_is_refused_or_doubted(dashboards: str, told: str) -> None:
    assert told in "\n".join(problems(dashboards))


def test_a_team_that_there_is_not_is_doubted() -> None:
    rule = f"sign_in: proxy, {SITE}, {PROXY}, access: [{{groups: [g], teams: [visoin], departments: [labs]}}]"
    told = "\n".join(problems(rule, "teams: [{name: vision, department: research}]\n"))
    assert "no team is called 'visoin'" in told
    assert "no department is called 'labs'" in told
