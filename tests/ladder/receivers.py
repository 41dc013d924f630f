"""Receivers on loopback: a webhook's server and a mail server, each with a mood; and channels that lead to them."""

import asyncio
import threading
import time
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from typing_extensions import override

from quartermaster.config.notify import NotifyPart
from quartermaster.config.secret import Surroundings


def notify(
    *names: str,
    urls: Sequence[str] = (),
    routes: list[dict[str, Any]] | None = None,
    owners: str | None = None,
    **more: Any,
) -> NotifyPart:
    """A configuration of these channels; each team is told by the first, unless routes say otherwise."""
    environment = {
        name.upper(): url for name, url in zip(names, urls or ["nowhere://"] * len(names), strict=True)
    }
    channels = tuple({"name": name, "url": f"${{env:{name.upper()}}}"} | more for name in names)
    told: list[dict[str, Any]] = [{"channels": [names[0]]}] if routes is None else routes
    given: dict[str, Any] = {
        "channels": channels,
        "routes": tuple({**each, "channels": tuple(each["channels"])} for each in told),
        "owners": owners,
    }
    return NotifyPart.model_validate(given, context=Surroundings(environment, None, None))  # type: ignore[arg-type]


class Webhook:
    """An HTTP server. Its mood: a status to answer; `hang`: no answer; `drip`: sign after sign, to no end."""

    def __init__(self, mood: int | str = 200, elsewhere: str = "") -> None:
        self.heard: list[tuple[str, str, bytes]] = []
        self.mood: int | str = mood
        self.open = threading.Event()  # set: whoever hangs lets go
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def _answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                outer.heard.append((self.command, self.path, body))
                if outer.mood == "hang":
                    outer.open.wait(20)
                    return
                if outer.mood == "drip":
                    self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
                    while not outer.open.is_set():
                        self.wfile.write(b".")
                        time.sleep(0.02)
                    return
                self.send_response(int(outer.mood))
                if elsewhere:
                    self.send_header("Location", elsewhere)
                self.send_header("Content-Length", "0")
                self.end_headers()

            do_POST = do_GET = _answer  # noqa: N815

            @override
            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.address = f"127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self.open.set()
        self._server.shutdown()
        self._server.server_close()


class Mail:
    """An SMTP server of one address. Its mood: the code that it answers to `DATA`'s end, or `hang`."""

    def __init__(self, mood: int | str = 250) -> None:
        self.heard: list[tuple[str, list[str], str]] = []
        self.mood = mood
        self._loop = asyncio.new_event_loop()

    def __enter__(self) -> Self:
        self._server = self._loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        async def end() -> None:
            self._server.close()
            for task in asyncio.all_tasks() - {asyncio.current_task()}:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

        asyncio.run_coroutine_threadsafe(end(), self._loop).result(5)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)
        self._loop.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        sender, addressees = "", list[str]()
        try:
            writer.write(b"220 mail ready\r\n")
            while line := (await reader.readline()).decode().strip():
                word = line.split(":")[0].split(" ")[0].upper()
                if word == "MAIL":
                    sender = line.partition(":")[2].split(" ")[0]
                elif word == "RCPT":
                    addressees.append(line.partition(":")[2].split(" ")[0])
                elif word == "DATA":
                    writer.write(b"354 go on\r\n")
                    text = (await reader.readuntil(b"\r\n.\r\n")).decode()
                    if self.mood == "hang":
                        await asyncio.sleep(20)
                    if self.mood == 250:
                        self.heard.append((sender, addressees, text))
                    writer.write(f"{self.mood} that is what comes of it\r\n".encode())
                    continue
                writer.write(b"221 bye\r\n" if word == "QUIT" else b"250 fine\r\n")
                if word == "QUIT":
                    return
        finally:
            writer.close()
