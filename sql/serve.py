"""The server of the remote door: what it stands on brought up, and let down again when it ends."""

import contextlib
import ipaddress
import socket
import ssl
import threading
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from quartermaster.clock import steady_s
from quartermaster.errors import InputError, LedgerError
from sql.asked import Journal
from sql.door import DEFAULT_LIMITS, Limits
from sql.gate import Gate, application
from sql.keyring import FRESH_S, Keyring
from sql.ledger import Ledger, open_ledger
from sql.rooms import Rooms
from sql.tokens import tokens

_TEND_EVERY_S = FRESH_S / 2
_GRACE_S = 10


@dataclass(frozen=True)
class Serving:
    """Where to listen, with which certificate, and what each question may take."""

    host: str = "127.0.0.1"
    port: int = 8321
    certificate: Path | None = None
    key: Path | None = None
    unencrypted: bool = False
    at_once: int = 4
    waiting: int = 32
    limits: Limits = DEFAULT_LIMITS


def check(serving: Serving) -> None:
    """Raises InputError for a certificate without its key, one that cannot be read, and tokens in the open."""
    if (serving.certificate is None) != (serving.key is None):
        raise InputError("a certificate and its key belong together", "name both: --certificate and --key")
    if serving.certificate is not None:
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(serving.certificate, serving.key)
        except (OSError, ssl.SSLError) as error:
            raise InputError(
                f"{serving.certificate} and {serving.key} are no certificate and key: {error}",
                "name PEM files that this user can read",
            ) from error
    elif not (serving.unencrypted or _is_loopback(serving.host)):
        raise InputError(
            f"on {serving.host} tokens would travel unencrypted",
            "name --certificate and --key, or say --unencrypted where something in front of it encrypts",
        )


def serve(folder: Path, catalog: str, serving: Serving, ready: Callable[[str], None]) -> None:
    """Answer until SIGTERM or Ctrl-C; `ready` is called with the address. Raises InputError and LedgerError."""
    check(serving)
    with (
        _listening(serving) as listener,
        _standing(folder, catalog, serving, listener.getsockname()[1]) as (gate, begin, end),
    ):
        config = uvicorn.Config(
            application(gate, begin, end),
            http="h11",
            ws="none",
            lifespan="on",
            log_level="warning",
            access_log=False,
            server_header=False,
            date_header=False,
            timeout_keep_alive=30,
            timeout_graceful_shutdown=_GRACE_S,
            limit_concurrency=1000,
            ssl_certfile=serving.certificate,
            ssl_keyfile=serving.key,
        )
        name = "https" if serving.certificate else "http"
        host, port = listener.getsockname()[:2]
        ready(f"{name}://{f'[{host}]' if ':' in host else host}:{port}")
        uvicorn.Server(config).run(sockets=[listener])


@contextlib.contextmanager
def _standing(
    folder: Path, catalog: str, serving: Serving, port: int
) -> Generator[tuple[Gate, Callable[[], None], Callable[[], None]]]:
    """The ledger, the rooms and the journal; and what is called as the server begins and ends."""
    name = f"asked-{socket.gethostname()}-{port}.jsonl"
    with open_ledger(folder, catalog, make=False) as ledger:
        ledger.get_ready()
        journal = Journal(ledger.folder / name)
        rooms = Rooms(folder, catalog, warm=serving.at_once)
        half = (serving.at_once + serving.waiting + 1) // 2  # of all places: no token takes them all
        keyring = Keyring(lambda: tokens(ledger), half)
        gate = Gate(
            (folder, catalog), rooms, keyring, journal, serving.limits, serving.at_once, serving.waiting
        )
        over = threading.Event()
        tender = threading.Thread(target=_tend, args=(keyring, journal, ledger, over), daemon=True)

        def end() -> None:
            over.set()
            tender.join()

        try:
            yield gate, tender.start, end
        finally:
            rooms.close()
            journal.close()


def _tend(keyring: Keyring, journal: Journal, ledger: Ledger, over: threading.Event) -> None:
    """Tokens are read and what was noted goes into the ledger, every few seconds and once more at the end."""
    last = False
    while not last:
        with contextlib.suppress(LedgerError):  # who asks is told, when they are too old
            keyring.refresh(steady_s())
        last = over.wait(_TEND_EVERY_S)
        with contextlib.suppress(LedgerError, OSError):  # it stays noted for the next time
            while journal.send(ledger):
                pass


@contextlib.contextmanager
def _listening(serving: Serving) -> Generator[socket.socket]:
    try:
        family = socket.AF_INET6 if ":" in serving.host else socket.AF_INET
        listener = socket.create_server((serving.host, serving.port), family=family, backlog=128)
    except (OSError, OverflowError) as error:
        raise InputError(
            f"{serving.host} port {serving.port} cannot be listened on: {error}",
            "take another --host or --port",
        ) from error
    with listener:
        yield listener


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
