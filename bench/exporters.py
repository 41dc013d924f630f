"""1,250 exporters in a child process, each on its own loopback address; pages are made beforehand."""

import asyncio
import multiprocessing
import resource
import sys
from collections.abc import Generator
from contextlib import contextmanager
from multiprocessing.connection import Connection

from bench.pages import page

VARIANTS = 3


def address(node: int) -> str:
    """The loopback address of a node's exporter."""
    return f"127.1.{node // 250}.{node % 250 + 1}"


@contextmanager
def exporters(count: int) -> Generator[list[str]]:
    """Serve `count` exporters until the end; gives their pages' addresses. Their values change from page to
    page."""
    here, there = multiprocessing.get_context("spawn").Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_serve, args=(count, there), daemon=True)
    process.start()
    try:
        port = int(here.recv())
        yield [f"http://{address(node)}:{port}/metrics" for node in range(count)]
    finally:
        process.terminate()
        process.join()


def allow_many_connections() -> None:
    """Raise the soft limit of open files to the hard one."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


class _Exporter(asyncio.Protocol):
    """Answers every request on a connection with the node's next page."""

    def __init__(self, answers: list[bytes]) -> None:
        self._answers = answers
        self._asked = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:  # pyright: ignore[reportImplicitOverride]
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:  # pyright: ignore[reportImplicitOverride]
        for _ in range(data.count(b"\r\n\r\n")):
            self._asked += 1
            self._transport.write(self._answers[self._asked % VARIANTS])


def _serve(count: int, pipe: Connection) -> None:
    sys.stderr.close()
    allow_many_connections()
    asyncio.run(_listen(count, pipe))


async def _listen(count: int, pipe: Connection) -> None:
    loop, port = asyncio.get_running_loop(), 0
    for node in range(count):
        bodies = [page(node, time) for time in range(VARIANTS)]
        answers = [_answer(body) for body in bodies]
        server = await loop.create_server(lambda answers=answers: _Exporter(answers), address(node), port)
        port = server.sockets[0].getsockname()[1]
    pipe.send(port)
    await asyncio.Event().wait()


def _answer(body: bytes) -> bytes:
    return (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: %d\r\n\r\n"
        % len(body)
        + body
    )
