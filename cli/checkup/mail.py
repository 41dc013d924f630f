"""Channels: whether their URLs are there and understood, and whether the mail servers among them answer."""

from collections.abc import Iterator

from cli.checkup.line import Line, ok, trouble, warning
from enforcer.ladder.reached import is_mail, reached
from quartermaster.config.model import Configuration
from quartermaster.errors import ConfigurationError
from quartermaster.text import visible


def mail(configuration: Configuration) -> Iterator[Line]:
    """A line a channel; nothing is sent."""
    channels = configuration.notify.channels
    if not channels and (configuration.reports.sending or configuration.policy.acting.mode != "shadow"):
        yield warning(
            "mail", "there is no channel: nobody is warned, no report is sent", "add notify.channels"
        )
    for each in channels:
        try:
            url = each.url.reveal()
        except ConfigurationError as error:
            yield trouble("mail", f"{each.name}: {error.what}", error.hint)
            continue
        why = reached(url, each.timeout_ms / 1000)
        if why:
            yield trouble(
                "mail", f"{each.name}: {visible(why)}", f"see to the URL behind {each.url} and its server"
            )
        else:
            told = "its server answers" if is_mail(url) else "its URL is understood; its server is not asked"
            yield ok("mail", f"{each.name}: {told}")
