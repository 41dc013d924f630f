"""`quartermaster init`: a first configuration, from a look at a cluster and a Prometheus, or from a few answers."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli import output
from cli.session import FILE
from quartermaster.clock import now_ms
from quartermaster.errors import ConfigurationError, InputError, SourceError
from quartermaster.text import visible

if TYPE_CHECKING:
    from quartermaster.config.draft import Draft, Found, Kubernetes


@dataclass(frozen=True)
class _Wish:
    """What is to be looked at, and what cannot be found out."""

    kubeconfig: Path | None = None
    context: str = ""
    in_cluster: bool = False
    prometheus: str = ""
    exporters: tuple[str, ...] = ()
    cluster: str = ""
    time_zone: str = ""
    currency: str = "EUR"

    @property
    def names_something(self) -> bool:
        """Whether there is anything to look at."""
        return bool(self.kubeconfig or self.context or self.in_cluster or self.prometheus or self.exporters)


def init(
    path: Annotated[Path, typer.Argument(help="The file to write.")] = Path(FILE),
    *,
    kubeconfig: Annotated[
        Path | None, typer.Option("--kubeconfig", help="Look at the cluster of this kubeconfig.")
    ] = None,
    kube_context: Annotated[
        str, typer.Option("--context", help="Its context; of ~/.kube/config without --kubeconfig.")
    ] = "",
    in_cluster: Annotated[
        bool, typer.Option("--in-cluster", help="Look at the cluster that this pod runs in.")
    ] = False,
    prometheus: Annotated[
        str, typer.Option("--prometheus", metavar="URL", help="Look at this Prometheus.")
    ] = "",
    exporter: Annotated[
        list[str] | None,
        typer.Option("--exporter", metavar="URL", help="A dcgm-exporter's page; repeatable."),
    ] = None,
    cluster: Annotated[str, typer.Option("--cluster", help="What the cluster is called here.")] = "",
    time_zone: Annotated[
        str, typer.Option("--time-zone", help="Whose midnights end a day.", show_default="this machine's")
    ] = "",
    currency: Annotated[str, typer.Option("--currency", help="Of the prices.")] = "EUR",
) -> None:
    """Write a first configuration, with comments: what a cluster and a Prometheus tell, and what you answer.

    It looks for GPU models (pools), namespaces that have GPUs (teams) and dcgm-exporters. Without options it asks.
    Only what is named is looked at, nothing is changed there, and a file that is there is never overwritten.

    \b
    Examples:
      quartermaster init
      quartermaster init --context prod --prometheus http://prometheus:9090
      quartermaster init lab.yaml --exporter http://node-1:9400/metrics
      quartermaster init --in-cluster
    """
    if os.path.lexists(path):
        raise InputError(f"{path} is there already", "name another, or quartermaster config check")
    wish = _Wish(
        kubeconfig, kube_context, in_cluster, prometheus, tuple(exporter or ()), cluster, time_zone, currency
    )
    if not wish.names_something:
        if not sys.stdin.isatty():
            raise InputError(
                "there is nothing to look at, and no terminal to ask",
                "give --kubeconfig, --context, --in-cluster, --prometheus or --exporter",
            )
        wish = _asked(wish)
    draft = _draft(wish)
    _write(path, draft)
    _tell(path, draft)


def _asked(wish: _Wish) -> _Wish:
    """The same wish, with a person's answers; an empty one leaves out what is asked for."""
    name = typer.prompt("What is the cluster called here?", default=wish.cluster or "main")
    zone = typer.prompt("In whose days are the bills (a time zone)?", default=wish.time_zone or _here())
    money = typer.prompt("In which currency?", default=wish.currency)
    kubeconfig = os.environ.get("KUBECONFIG") or str(Path.home() / ".kube" / "config")
    by_cluster = Path(kubeconfig).is_file() and typer.confirm(
        f"Look at the cluster of {kubeconfig}?", default=True
    )
    url = typer.prompt("A Prometheus to look at (http://…, empty for none)", default="", show_default=False)
    pages: list[str] = []
    if not (by_cluster or url):
        pages = typer.prompt(
            "Pages of dcgm-exporters, with spaces between", default="", show_default=False
        ).split()
    where = Path(kubeconfig) if by_cluster else None
    return _Wish(
        where,
        "",
        in_cluster=False,
        prometheus=url,
        exporters=tuple(pages),
        cluster=name,
        time_zone=zone,
        currency=money,
    )


def _draft(wish: _Wish) -> "Draft":
    from quartermaster.config.draft import Draft, Exporters, Found, Kubernetes, fit_name

    found = Found(exporters=Exporters(targets=wish.exporters))
    kubernetes: Kubernetes | None = None
    name = wish.cluster
    if wish.kubeconfig or wish.context or wish.in_cluster:
        file = str(wish.kubeconfig.absolute()) if wish.kubeconfig else ""
        kubernetes = Kubernetes(file, wish.context, wish.in_cluster)
        found |= _look_at_cluster(kubernetes)
        name = name or wish.context
    if wish.prometheus:
        found |= _look_at_prometheus(wish.prometheus)
    zone = wish.time_zone or _here()
    return Draft(fit_name(name or "main"), zone, wish.currency, kubernetes, wish.prometheus, found)


def _look_at_cluster(how: "Kubernetes") -> "Found":
    from collector.kubernetes.survey import look
    from collector.kubernetes.talk import Trouble, connect
    from quartermaster.config.clusters import KubernetesPart

    part = KubernetesPart.model_construct(
        kubeconfig=Path(how.kubeconfig) if how.kubeconfig else None,
        context=how.context or None,
        in_cluster=how.in_cluster,
    )
    api = connect(part, "main", 2)
    try:
        return look(api)
    except Trouble as trouble:
        raise SourceError(
            f"the cluster does not answer as it should: {visible(str(trouble))}",
            "see whether kubectl get nodes,pods,services -A works with the same kubeconfig and context",
        ) from trouble
    finally:
        api.close()


def _look_at_prometheus(url: str) -> "Found":
    from pydantic import ValidationError

    from collector.prometheus.connection import Connection
    from collector.prometheus.refusal import Partial, TooMuch
    from collector.prometheus.survey import look
    from quartermaster.config.prometheus import PrometheusPart

    try:
        part = PrometheusPart.model_validate({"url": url})
    except ValidationError as error:
        raise InputError(
            f"--prometheus {url} is no address", "it looks like http://prometheus:9090"
        ) from error
    connection = Connection(part, sleep=lambda _: None)
    try:
        return look(connection, now_ms())
    except (TooMuch, Partial) as error:
        raise SourceError(f"{url}: it does not answer as a whole: {error}", "see to the server") from error
    finally:
        connection.close()


def _write(path: Path, draft: "Draft") -> None:
    """Write what `config check` passes, where nothing is. Raises InputError, ConfigurationError."""
    from quartermaster.config.draft import written
    from quartermaster.config.load import parse_configuration
    from quartermaster.config.secret import Surroundings

    text = written(draft)

    def unread(file: Path) -> str:
        raise FileNotFoundError(file)

    loaded = parse_configuration(text, str(path), Surroundings(os.environ, path.absolute().parent, unread))
    wrong = [each for each in loaded.problems if each.severity == "error"]
    if wrong:  # an answer, or an option
        raise ConfigurationError(
            f"nothing is written: {'; '.join(each.what for each in wrong)}", "give another answer, or option"
        )
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}", "name another path") from error


def _tell(path: Path, draft: "Draft") -> None:
    found = draft.found
    exporters = found.exporters
    told = {
        "GPU models": found.models,
        "namespaces with GPUs": found.namespaces,
        "addresses of exporters": exporters.targets,
        "names of exporters": exporters.dns_srv,
    }
    output.say(
        f"{path} is written. Found: {', '.join(f'{len(each)} {what}' for what, each in told.items() if each)}"
    )
    output.say("Read it, write your prices and teams, then: quartermaster doctor")


def _here() -> str:
    """This machine's time zone, UTC where it does not say."""
    link = Path("/etc/localtime")
    _, known, zone = str(link.resolve()).partition("/zoneinfo/") if link.is_symlink() else ("", "", "")
    return zone if known else "UTC"
