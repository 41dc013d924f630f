"""Sending: due by schedule, caught up on once, never twice, to each by itself, on real servers."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from pypdf import PdfReader
from typer.testing import CliRunner

from analytics.reports.sending import posted
from analytics.reports.sending.due import last_due, next_due_ms
from analytics.reports.sending.parcel import Parcel
from analytics.reports.sending.round import Outcome, Postman
from cli.main import app
from cli.send import _carrier
from quartermaster.clock import HOUR_MS, MINUTE_MS, from_iso, to_iso
from quartermaster.config.load import load_configuration
from quartermaster.config.model import Configuration
from quartermaster.config.reports import SendingPart
from quartermaster.errors import ConfigurationError
from sql.ledger import Cursor, Ledger, open_ledger
from tests.ladder.receivers import Webhook
from tests.reports.post import YAML, Mailbox, body_of, files_of

MONDAY = '    - {name: monday, schedule: "0 7 * * 1", audience: managers, forms: [pdf, csv], to: [chief]}'
TEAMS = '    - {name: teams, schedule: "30 7 * * 1", audience: teams, forms: [csv]}'
BEFORE, AFTER = from_iso("2026-11-29T12:00:00Z"), from_iso("2026-11-30T06:31:00Z")  # 07:31 in Berlin


@pytest.fixture
def configured(site: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Configuration]:
    """Makes a configuration beside the ledger of the site."""

    def make(sendings: str, **urls: str) -> Configuration:
        urls = {"vision_mail": "json://127.0.0.1:9"} | urls
        for name, url in urls.items():
            monkeypatch.setenv(name.upper(), url)
        channels = ", ".join(
            f'{{name: {name.replace("_", "-")}, url: "${{env:{name.upper()}}}"}}' for name in urls
        )
        file = site / "sending.yaml"
        file.write_text(YAML.format(channels=channels, sendings=sendings))
        return load_configuration(file, {name.upper(): url for name, url in urls.items()})

    return make


@pytest.fixture
def post(site: Path) -> object:
    """The site's ledger, with nothing sent."""
    with open_ledger(site / "ledger") as ledger:

        def clear(cursor: Cursor) -> None:
            cursor.execute("delete from lake.sendings")

        ledger.write(f"clear/{to_iso(AFTER)}/{id(ledger)}", clear)
        yield ledger


def postman(ledger: Ledger, configuration: Configuration, carry: object = None) -> Postman:
    return Postman(ledger, configuration, carry or _carrier(configuration), lambda: AFTER)  # type: ignore[arg-type]


def sent(outcomes: list[Outcome]) -> list[tuple[str, str, str]]:
    return [(each.audience, each.channel, each.phase) for each in outcomes]


def test_the_last_time_and_the_next_are_in_the_business_time_zone() -> None:
    monday = SendingPart(name="m", schedule="0 7 * * 1", audience="managers", to=("x",))
    due = last_due(monday, AFTER, "Europe/Berlin")
    assert (to_iso(due.at_ms), due.span.name) == ("2026-11-30T06:00:00.000Z", "2026-W48")
    assert last_due(monday, due.at_ms, "Europe/Berlin").at_ms == due.at_ms
    assert last_due(monday, due.at_ms - 1000, "Europe/Berlin").span.name == "2026-W47"
    assert to_iso(next_due_ms(monday, AFTER, "Europe/Berlin")) == "2026-12-07T06:00:00.000Z"
    first = SendingPart(name="m", schedule="0 6 1 * *", audience="finance", span="month", to=("x",))
    assert last_due(first, AFTER, "Europe/Berlin").span.name == "2026-10"


@pytest.mark.patient
def test_a_mail_with_its_files_arrives_once(post: Ledger, configured: Callable[..., Configuration]) -> None:
    with Mailbox() as mailbox:
        configuration = configured(
            MONDAY, chief=f"mailto://{mailbox.address}/?from=qm@fleet.example&to=chief@fleet.example"
        )
        man = postman(post, configuration)
        (known,) = man.round(BEFORE)
        assert known.phase == posted.KNOWN
        assert man.round(BEFORE) == []
        assert sent(man.round(AFTER)) == [("managers", "chief", "accepted")]
        assert man.round(AFTER + HOUR_MS) == []
    (mail,) = mailbox.mails
    assert mailbox.to == [["chief@fleet.example"]]
    assert "GPU report, week 48: All teams" in str(mail["Subject"])
    assert "The fleet cost 6,720 EUR; 1,680 EUR of it (25.0 %) stood idle while held" in body_of(
        mail
    ).replace("\r\n", "\n")
    files = files_of(mail)
    assert list(files) == ["gpu-report-2026-W48-managers.pdf", "gpu-report-2026-W48-managers.csv"]
    assert files["gpu-report-2026-W48-managers.pdf"].startswith(b"%PDF-1.7")
    assert files["gpu-report-2026-W48-managers.csv"].startswith(b"section,span,")


@pytest.mark.patient
def test_after_a_pause_the_last_that_was_missed_is_sent_once(
    post: Ledger, configured: Callable[..., Configuration]
) -> None:
    spans: list[str] = []

    def carry(channel: str, parcel: Parcel) -> str:
        spans.extend(parcel.files)
        return ""

    man = postman(post, configured(MONDAY, chief="json://127.0.0.1:9"), carry)
    man.round(from_iso("2026-11-08T00:00:00Z"))
    man.round(AFTER)
    man.round(AFTER + MINUTE_MS)
    assert spans == ["gpu-report-2026-W48-managers.pdf", "gpu-report-2026-W48-managers.csv"]


@pytest.mark.patient
def test_each_team_by_its_own_channels_and_no_other(
    post: Ledger, configured: Callable[..., Configuration]
) -> None:
    with Webhook() as hook:
        man = postman(
            post, configured(TEAMS, chief="json://127.0.0.1:9", vision_mail=f"json://{hook.address}/team")
        )
        man.round(BEFORE)
        assert sent(man.round(AFTER)) == [("team vision", "vision-mail", "accepted")]
    ((_, path, body),) = hook.heard
    assert path == "/team"
    told = json.loads(body)
    assert "Team vision" in told["title"]
    assert told["attachments"][0]["filename"] == "gpu-report-2026-W48-team-vision.csv"
    assert "language" not in told["message"]


@pytest.mark.patient
def test_one_that_bounces_stops_no_other_and_is_tried_again(
    post: Ledger, configured: Callable[..., Configuration]
) -> None:
    with Mailbox() as mailbox:
        to = "mailto://{}/?from=qm@fleet.example&to={}@fleet.example"
        configuration = configured(
            MONDAY.replace("[chief]", "[nobody, gone, chief]"),
            nobody=to.format(mailbox.address, "bounce"),
            gone="json://127.0.0.1:9",
            chief=to.format(mailbox.address, "chief"),
        )
        man = postman(post, configuration)
        man.round(BEFORE)
        assert sent(man.round(AFTER)) == [
            ("managers", "nobody", "refused"),
            ("managers", "gone", "refused"),
            ("managers", "chief", "accepted"),
        ]
        assert man.round(AFTER) == []
        assert [channel for _, channel, _ in sent(man.round(AFTER + MINUTE_MS))] == ["nobody", "gone"]
    assert len(mailbox.mails) == 1


@pytest.mark.patient
def test_what_was_begun_and_never_told_of_is_not_sent_again(
    post: Ledger, configured: Callable[..., Configuration]
) -> None:
    def dies(channel: str, parcel: Parcel) -> str:
        raise KeyboardInterrupt

    configuration = configured(MONDAY, chief="json://127.0.0.1:9")
    postman(post, configuration).round(BEFORE)
    with pytest.raises(KeyboardInterrupt):
        postman(post, configuration, dies).round(AFTER)
    assert postman(post, configuration, dies).round(AFTER + HOUR_MS) == []


@pytest.mark.patient
def test_it_waits_for_the_roll_up_and_not_for_ever(
    post: Ledger, configured: Callable[..., Configuration]
) -> None:
    december = MONDAY.replace("0 7 * * 1", "0 7 * * *").replace("to: [chief]", "to: [chief], span: month")
    known = from_iso("2026-11-30T12:00:00Z")
    due = from_iso("2027-01-01T06:00:00Z")
    man = postman(post, configured(december, chief="json://127.0.0.1:9"))
    man.round(known)
    assert man.round(due) == []
    assert [each.phase for each in man.round(due + 12 * HOUR_MS)] == ["refused"]  # no usage in December


@pytest.mark.parametrize(
    ("sending", "told"),
    [
        ('{name: m, schedule: "61 7 * * 1", audience: managers, to: [chief]}', "is no cron expression"),
        ('{name: m, schedule: "0 7 * * 1", audience: all, to: [chief]}', "an audience is managers"),
        ('{name: m, schedule: "0 7 * * 1", audience: managers}', "has no channel"),
        ('{name: m, schedule: "0 7 * * 1", audience: managers, to: [cheif]}', "there is no channel 'cheif'"),
    ],
)
def test_what_cannot_be_sent_is_said_when_the_file_is_read(
    configured: Callable[..., Configuration], sending: str, told: str
) -> None:
    with pytest.raises(ConfigurationError) as error:
        configured(f"    - {sending}", chief="json://127.0.0.1:9")
    assert told in str(error.value)


def run(site: Path, *arguments: str) -> str:
    result = CliRunner().invoke(app, ["--config", str(site / "sending.yaml"), "report", "send", *arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.patient
def test_a_preview_writes_what_would_be_sent_and_sends_nothing(
    site: Path, post: Ledger, tmp_path: Path, configured: Callable[..., Configuration]
) -> None:
    with Webhook() as hook:
        both = f"{MONDAY}\n{TEAMS}"
        configured(both, chief=f"json://{hook.address}/", vision_mail=f"json://{hook.address}/")
        told = run(site, "--preview", str(tmp_path))
        listed = json.loads(run(site, "--preview", str(tmp_path), "--json"))
    assert hook.heard == []
    assert "Nothing was sent." in told
    assert [(each["audience"], each["channel"]) for each in listed] == [
        ("managers", "chief"),
        ("team vision", "vision-mail"),
    ]
    for each in listed:
        for file in each["files"]:
            assert (tmp_path / each["sending"] / file).stat().st_size
    (pdf,) = tmp_path.glob("monday/*.pdf")
    assert "GPU cost and use" in PdfReader(pdf).pages[0].extract_text()
    assert not post.query("select * from sendings").height


@pytest.mark.patient
def test_the_command_sends_once(site: Path, post: Ledger, configured: Callable[..., Configuration]) -> None:
    configured(MONDAY, chief="json://127.0.0.1:9")
    assert "known from now on" in run(site, "--once")
    assert run(site, "--once") == ""
