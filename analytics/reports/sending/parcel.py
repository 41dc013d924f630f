"""Parcels: a report with the words and files that one channel carries to one addressee. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from analytics.reports import summary
from analytics.reports.audience import Audience, Kind, parse
from analytics.reports.changed import changed
from analytics.reports.figures import IdleRow, Report
from analytics.reports.forms import Form, file_name, written
from analytics.reports.sending.due import Due
from analytics.reports.worth import Task, worth_doing
from quartermaster.config.notify import NotifyPart
from quartermaster.config.reports import SendingPart
from quartermaster.plain import plain


@dataclass(frozen=True, slots=True)
class Address:
    """Which report of a due sending goes by which channel."""

    due: Due
    audience: Audience
    channel: str

    @property
    def key(self) -> tuple[str, int, str, str]:
        """What two letters that say the same to the same have in common."""
        return self.due.sending.name, self.due.at_ms, self.audience.words, self.channel


@dataclass(frozen=True, slots=True)
class Parcel:
    """What is sent: a title, a body in plain text, and files by name."""

    title: str
    body: str
    files: Mapping[str, bytes] = field(repr=False)

    @property
    def size(self) -> int:
        """The files' bytes."""
        return sum(map(len, self.files.values()))


def addresses(due: Due, teams: Mapping[str, str], notify: NotifyPart) -> list[Address]:
    """Where a due sending goes. `teams` are those of the span, each with its department.

    `teams` and `departments` become one audience each; a team without channels of its own and of the sending is left
    out.
    """
    found: list[Address] = []
    for audience in _audiences(due.sending, teams):
        channels = due.sending.to
        if not channels and audience.kind is Kind.TEAM:
            channels = tuple(each.name for each in notify.channels_of(audience.name))
        found += [Address(due, audience, channel) for channel in dict.fromkeys(channels)]
    return found


def _audiences(sending: SendingPart, teams: Mapping[str, str]) -> list[Audience]:
    if sending.audience == "teams":
        return [Audience(Kind.TEAM, team) for team in sorted(teams)]
    if sending.audience == "departments":
        return [Audience(Kind.DEPARTMENT, name) for name in sorted({*teams.values()} - {""})]
    return [parse(sending.audience)]


def pack(report: Report, sending: SendingPart) -> Parcel:
    """The report as the sending says it."""
    forms = [Form(form) for form in dict.fromkeys(sending.forms)]
    files = {file_name(report, form): written(report, form) for form in forms}
    told = _plainly(report)
    state = "provisional" if report.provisional else "complete"
    title = f"GPU report, {summary.period(told)}: {summary.whose(told)} ({state})"
    paragraphs = [summary.headline(told), changed(told)]
    tasks = [_task(told, place, task) for place, task in enumerate(worth_doing(told), 1)]
    if tasks:
        paragraphs.append("\n".join(["Worth doing:", *tasks]))
    paragraphs += [summary.footnote(told), f"Files: {', '.join(files)}"]
    body = "\n\n".join(paragraph for paragraph in paragraphs if paragraph)
    return Parcel(title.replace("\u00a0", " "), body.replace("\u00a0", " "), files)


def _task(report: Report, place: int, task: Task) -> str:
    saves = f"{summary.hours(task.saves)} GPU-hours"
    if report.priced:
        saves = summary.money(report, task.saves.cost, 0)
    return f"{place}. {task.about}: {task.do} It saves {saves} a {report.unit}, at most."


def _plainly(report: Report) -> Report:
    """The report with every stranger's name made plain: programs that show mail and chats obey some signs."""
    change = report.change
    return replace(
        report,
        audience=replace(report.audience, name=plain(report.audience.name)),
        idlest=tuple(map(_plain_idle, report.idlest)),
        change=None
        if change is None
        else replace(
            change,
            causes=tuple(
                replace(cause, title=plain(cause.title), team=plain(cause.team)) for cause in change.causes
            ),
        ),
    )


def _plain_idle(row: IdleRow) -> IdleRow:
    of = row.workload
    named = {name: plain(getattr(of, name)) for name in ("kind", "namespace", "name", "team")}
    return replace(row, workload=replace(of, **named))
