#!/usr/bin/env python
"""Take the README's pictures: `docs/pictures/take.py FOLDER`, after `quartermaster demo --keep --dir FOLDER`.

Needs Chromium and pdftoppm. It writes overview.png, report.png and report-page.png beside itself.
"""

import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, ViewportSize, sync_playwright

HERE = Path(__file__).parent
SIZE: ViewportSize = {"width": 1280, "height": 1420}
DRAWN = "document.querySelectorAll('.stVegaLiteChart :is(canvas, svg)').length >= 3"


def main(folder: Path) -> None:
    """Both pictures, of the last whole week."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        raise SystemExit("no Chromium is installed (apt-get install chromium)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        take_report(browser, folder)
        take_overview(browser, folder)
        browser.close()
    take_page(folder)


def quartermaster(folder: Path, *arguments: str) -> list[str]:
    """The command, on the folder's configuration."""
    return [sys.executable, "-m", "cli", "--config", str(folder / "quartermaster.yaml"), *arguments]


def take_page(folder: Path) -> None:
    """The first page of the PDF that managers get."""
    with tempfile.TemporaryDirectory() as name:
        paper = Path(name) / "report.pdf"
        subprocess.run(quartermaster(folder, "report", "--format", "pdf", "--output", str(paper)), check=True)  # noqa: S603
        first = ["-f", "1", "-l", "1", "-singlefile", "-r", "80", "-png"]
        subprocess.run(["pdftoppm", *first, str(paper), str(HERE / "report-page")], check=True)  # noqa: S603, S607


def take_report(browser: Browser, folder: Path) -> None:
    """The report's first screen, as it comes by mail."""
    page = browser.new_page(viewport=SIZE, color_scheme="light")
    told = subprocess.run(  # noqa: S603 - our own command
        quartermaster(folder, "report", "--format", "html"), check=True, capture_output=True, text=True
    )
    page.set_content(told.stdout)
    page.evaluate("document.fonts.ready")
    page.screenshot(path=HERE / "report.png")
    page.close()


def take_overview(browser: Browser, folder: Path) -> None:
    """The page's first screen, in the dark."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    command = quartermaster(folder, "dashboard", "--no-browser", "--port", port)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:  # noqa: S603 - the same
        try:
            if server.stdout is None or "is at" not in server.stdout.readline():
                raise SystemExit("the dashboard did not start")
            page = browser.new_page(viewport=SIZE, color_scheme="dark")
            page.goto(f"http://127.0.0.1:{port}")
            page.wait_for_function(DRAWN, timeout=60_000)
            page.wait_for_timeout(1500)
            page.screenshot(path=HERE / "overview.png")
        finally:
            server.terminate()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
