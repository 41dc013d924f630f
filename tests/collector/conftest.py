"""Servers on loopback that misbehave as exporters do, and a page such as an exporter serves."""

import asyncio
import contextlib
import ssl
import subprocess
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

Answer = Callable[[asyncio.StreamWriter, dict[str, str]], Awaitable[None]]


def page(
    node: str = "n1",
    gpus: int = 2,
    *,
    util: int = 50,
    energy_mj: int = 1_000_000,
    pod: str = "train-0",
    uid: str = "",
) -> bytes:
    """A small dcgm-exporter page; a GPU whose index is odd is free."""
    lines = ["# HELP DCGM_FI_DEV_GPU_UTIL GPU utilization (in %).", "# TYPE DCGM_FI_DEV_GPU_UTIL gauge"]
    for name, value in (
        ("DCGM_FI_DEV_GPU_UTIL", f"{util}"),
        ("DCGM_FI_PROF_GR_ENGINE_ACTIVE", f"{util / 100:.6f}"),
        ("DCGM_FI_DEV_POWER_USAGE", f"{100 + util:.3f}"),
        ("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", f"{energy_mj}"),
    ):
        for index in range(gpus):
            held = (
                f',container="main",namespace="vision",pod="{pod}"' + (f',pod_uid="{uid}"' if uid else "")
                if index % 2 == 0 and pod
                else ""
            )
            labels = (
                f'gpu="{index}",UUID="GPU-{node}-{index}",device="nvidia{index}",'
                f'modelName="NVIDIA H100 80GB HBM3",Hostname="{node}"{held}'
            )
            lines.append(f"{name}{{{labels}}} {value}")
    return ("\n".join(lines) + "\n").encode()


@dataclass
class Server:
    """An HTTP server on loopback whose paths answer as told: `bytes` as a page, or a function that writes
    what it likes."""

    port: int = 0
    scheme: str = "http"
    answers: dict[str, bytes | Answer] = field(default_factory=dict)
    requests: list[dict[str, str]] = field(default_factory=list)
    connections: int = 0

    def url(self, path: str) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}{path}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, OSError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
                headers = {
                    name.lower(): value.strip()
                    for name, _, value in (line.partition(":") for line in head[1:] if line)
                }
                path = head[0].split(" ")[1]
                self.requests.append({"path": path, **headers})
                answer = self.answers.get(path, reply(b"", status="404 Not Found"))
                await (reply(answer) if isinstance(answer, bytes) else answer)(writer, headers)
                await writer.drain()
        writer.close()


def reply(body: bytes, *, status: str = "200 OK", headers: str = "", length: int | None = None) -> Answer:
    """An answer with a body; a `length` that is not the body's makes half a page."""

    async def write(writer: asyncio.StreamWriter, _: dict[str, str]) -> None:
        announced = len(body) if length is None else length
        writer.write(
            f"HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4\r\n"
            f"Content-Length: {announced}\r\n{headers}\r\n".encode()
            + body
        )
        if length is not None:
            writer.close()

    return write


async def hang(writer: asyncio.StreamWriter, _: dict[str, str]) -> None:
    """Nothing comes, ever."""
    await asyncio.sleep(60)


async def drip(writer: asyncio.StreamWriter, _: dict[str, str]) -> None:
    """A byte now and then: each read succeeds, the page never ends."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 1000\r\n\r\n")
    for _tick in range(1000):
        writer.write(b"#")
        await writer.drain()
        await asyncio.sleep(0.02)


@contextlib.asynccontextmanager
async def running(server: Server, tls: ssl.SSLContext | None = None) -> AsyncGenerator[Server]:
    """The server on a free port; connections that hang are cut at the end."""
    tasks: set[asyncio.Task[None]] = set()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            tasks.add(task)
        try:
            await server.serve(reader, writer)
        except asyncio.CancelledError:
            writer.close()

    listening = await asyncio.start_server(accept, "127.0.0.1", server.port, ssl=tls)
    server.port = listening.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listening.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@pytest.fixture
async def server() -> AsyncGenerator[Server]:
    """A running server without answers yet."""
    async with running(Server()) as started:
        yield started


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ca.pem, server.pem/.key and client.pem/.key, made by openssl."""
    folder = tmp_path_factory.mktemp("tls")

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    new_key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    openssl(
        "req",
        "-x509",
        *new_key,
        "-keyout",
        "ca.key",
        "-out",
        "ca.pem",
        "-days",
        "2",
        "-subj",
        "/CN=test authority",
    )
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1\n")
    for name in ("server", "client"):
        openssl("req", *new_key, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
        openssl(
            *("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial"),
            *("-days", "2", "-out", f"{name}.pem", "-extfile", "names"),
        )
    return folder
