"""Acting as it is asked for and told: the figure of regret and a question before, then each turn as it comes."""

import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

import typer

from cli import output
from cli.past import replayed, span_of
from cli.planned import as_value, show
from cli.regrets import figures, of_replay, print_regret
from quartermaster.clock import now_ms
from quartermaster.config.acting import Mode
from quartermaster.errors import InputError

if TYPE_CHECKING:
    from enforcer.freshness import Refusal
    from enforcer.loop.loop import Loop
    from enforcer.loop.turn import Turned
    from quartermaster.config.model import Configuration
    from sql.ledger import Ledger

_FURTHER = ("shadow", "plan", "act")


def carry_out(
    configuration: "Configuration",
    names: list[str],
    asked: Mode,
    *,
    once: bool,
    assured: bool,
    as_json: bool,
) -> None:
    """Watch the clusters, plan, and do what may be done: once, or until Ctrl-C or SIGTERM. Raises InputError."""
    from collector.log import Log
    from enforcer.guard.switches import freeze_file
    from enforcer.loop.loop import Loop
    from enforcer.loop.serve import served
    from enforcer.loop.site import site
    from sql.configured import open_configured
    from sql.declare import declare

    allowed = configuration.policy.acting.mode
    if _FURTHER.index(asked) > _FURTHER.index(allowed):
        raise InputError(
            f"--{asked} is asked for, and policy.acting.mode is {allowed}",
            f"write `policy: {{acting: {{mode: {asked}}}}}` into the configuration when that is what you want",
        )
    teller = _Teller(as_json=as_json)
    listen = configuration.policy.acting.listen
    with open_configured(configuration) as ledger, ExitStack() as open_sites:
        if asked == "act" and not assured:
            _ask(configuration, ledger, names)
        # A turn asks much that is small: of 1.6 s of CPU 0.7 went into handing it round between two threads.
        ledger.cursor().execute("set threads = 1")
        for sentence in declare(ledger, configuration, now_ms()):
            teller.note(sentence)
        parts = {each.name: each for each in configuration.clusters}
        sites = [
            site(parts[name], configuration, ledger, freeze_file(configuration), Log()) for name in names
        ]
        for each in sites:
            open_sites.callback(each.stop)
            each.start()
        if once:
            for each in sites:
                teller.tell(each.cluster, Loop(each, asked, lambda _: None).once())
            return
        open_sites.enter_context(served(teller.metrics, listen))
        loops = [Loop(each, asked, teller.of(each.cluster)) for each in sites]
        for loop in loops:
            open_sites.callback(loop.stop)
            loop.start()
        _until_told(loops)


class _Teller:
    """Tells what is new of each cluster; turns of several come from threads of their own."""

    def __init__(self, *, as_json: bool) -> None:
        from enforcer.loop.metrics import Metrics

        self.metrics = Metrics()
        self._as_json = as_json
        self._lock = threading.Lock()
        self._last: dict[str, object] = {}

    def of(self, cluster: str) -> "Callable[[Turned | Refusal | str], None]":
        """Who tells of one cluster."""
        return partial(self.tell, cluster)

    def note(self, sentence: str) -> None:
        """Something for people alone."""
        if not self._as_json:
            output.say(sentence)

    def tell(self, cluster: str, turned: "Turned | Refusal | str") -> None:
        """A turn, where it is another than the last; what was done always."""
        from enforcer.freshness import Refusal, words

        if isinstance(turned, str | Refusal):
            self.metrics.observe_none(cluster)
        else:
            self.metrics.observe(cluster, turned)
        with self._lock:
            if isinstance(turned, str):
                self._say(cluster, turned, {"cluster": cluster, "error": turned}, f"{cluster}: {turned}")
            elif isinstance(turned, Refusal):
                self._say(cluster, _kind(turned.reasons), as_value(turned), words(turned))
            else:
                self._turned(cluster, turned)

    def _say(self, cluster: str, kind: object, value: object, text: str) -> None:
        if self._last.get(cluster) == kind:
            return
        self._last[cluster] = kind
        if self._as_json:
            output.emit_line(value)
        else:
            output.say(text)

    def _turned(self, cluster: str, turned: "Turned") -> None:
        refused = [
            (group[0].target.title, why.reason.value, why.words) for group, why in turned.judgement.refused
        ]
        said = tuple(reason for _, reason, _ in refused), tuple(turned.held.values()), turned.unled
        kind = turned.plan.hash, *said
        if not turned.deeds and self._last.get(cluster) == kind:
            return
        self._last[cluster] = kind
        if self._as_json:
            output.emit_line(_value(turned))
        else:
            _show(cluster, turned, refused)


def _show(cluster: str, turned: "Turned", refused: list[tuple[str, str, str]]) -> None:
    from enforcer.audit.deed import Phase
    from enforcer.written import write

    if turned.recorded:
        show(write(turned.plan, turned.mode))
    if refused:
        output.table("Not done now", ["who", "why", "in figures"], refused)
    if turned.unled:
        output.say(f"{cluster}: this enforcer does not lead, and does nothing: {turned.unled}.")
    for uid, words in turned.held.items():
        title = next((each.target.title for each in turned.plan.actions if each.target.uid == uid), uid)
        output.say(f"{title} is not warned now: {words}.")
    for deed in turned.deeds:
        if deed.phase in {Phase.OUTCOME, Phase.REFUSED}:
            output.say(f"{deed.kind} {deed.namespace}/{deed.name}: {deed.act}: {deed.result}: {deed.words}.")


def _value(turned: "Turned") -> dict[str, Any]:
    from dataclasses import asdict

    from enforcer.written import write

    return write(turned.plan, turned.mode) | {
        "recorded": turned.recorded,
        "allowed": [group[0].group for group in turned.judgement.allowed],
        "refused": [
            {"group": group[0].group, "reason": why.reason.value, "words": why.words}
            for group, why in turned.judgement.refused
        ],
        "not_leading": turned.unled,
        "not_warned": [{"uid": uid, "words": words} for uid, words in turned.held.items()],
        "deeds": [asdict(each) for each in turned.deeds],
    }


def _ask(configuration: "Configuration", ledger: "Ledger", names: list[str]) -> None:
    """Show how often it would have been wrong, and ask. Raises InputError where nobody can be asked, Exit for a no."""
    if not sys.stdin.isatty():
        raise InputError("--act asks before it begins, and there is no terminal", "give --yes as well")
    for name in names:
        span = span_of(ledger, name)
        if span is None:
            output.say(
                f"{name}: nothing of the past is rolled up: nobody can say how often it would be wrong."
            )
            continue
        done, watched = replayed(configuration, ledger, name, span)
        print_regret({"cluster": name, "recorded": False} | of_replay(done) | figures(watched))
    if not typer.confirm(f"Act on {', '.join(names)}, within the policy's limits?"):
        raise typer.Exit(1)


def _until_told(loops: "Sequence[Loop]") -> None:
    """Wait for SIGTERM; Ctrl-C raises KeyboardInterrupt, and a loop that ended by itself what it was ended by."""
    import signal

    told = threading.Event()

    def tell(number: int, frame: object) -> None:
        told.set()

    signal.signal(signal.SIGTERM, tell)
    while not told.wait(0.5):
        for each in loops:
            each.check()


def _kind(reasons: tuple[str, ...]) -> tuple[str, ...]:
    """Which reasons, whatever their figures."""
    return tuple("".join(sign for sign in each if not sign.isdigit()) for each in reasons)
