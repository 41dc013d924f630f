"""`python -m tests.dashboards.screenshots [FOLDER]`: the pages and the report of the demo's ledger as pictures.

The demo runs into FOLDER, or a temporary one; a folder that has a demo already is taken as it is. Two teams are given
budgets, so that pages have something to say. The pictures lie in docs/images. Needs Chromium and pdftoppm.
"""

import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page

from tests.dashboards.browser import a_chromium, open_page, serve, settle

_ROOT = Path(__file__).parents[2]
_LARGEST = 200 * 1024  # bytes a picture
_HEIGHT_PX = 1100
_BUDGETS = 'budgets:\n  - {team: language, amount: "14000"}\n  - {team: vision, amount: "9000"}\n'
PICTURES = (  # name, address, width, tone
    ("overview", "", 1280, "light"),
    ("overview-dark", "", 1280, "dark"),
    ("overview-phone", "", 390, "light"),
    ("team", "team?team=vision", 1280, "light"),
    ("waste", "waste", 1280, "light"),
    ("costs", "costs", 1280, "light"),
    ("fleet", "fleet", 1280, "light"),
    ("queue", "queue", 1280, "light"),
    ("enforcer", "enforcer", 1280, "light"),
    ("lending", "lending", 1280, "light"),
    ("quality", "quality", 1280, "light"),
)


def main(folder: Path | None) -> None:
    """Take them all."""
    with _demo(folder) as configuration, a_chromium() as chromium:
        _enrich(configuration)
        images = _ROOT / "docs" / "images"
        images.mkdir(exist_ok=True)
        _take_report(chromium, configuration, images)
        for address in serve(configuration):
            for name, path, width, tone in PICTURES:
                page, _ = open_page(chromium, width, "dark" if tone == "dark" else "light")
                page.goto(f"{address}/{path}")
                settle(page)
                _take(page, images / f"{name}.png", width)
                page.close()


@contextmanager
def _demo(folder: Path | None) -> Generator[Path]:
    with tempfile.TemporaryDirectory() as temporary:
        here = folder or Path(temporary) / "demo"
        configuration = here / "quartermaster.yaml"
        if not configuration.exists():
            command = [sys.executable, "-m", "cli", "demo", "--keep", "--dir", str(here)]
            subprocess.run(command, cwd=_ROOT, check=True, stdout=subprocess.DEVNULL)
        yield configuration


def _enrich(configuration: Path) -> None:
    text = configuration.read_text(encoding="utf-8")
    if "budgets:" not in text:
        configuration.write_text(text + _BUDGETS, encoding="utf-8")
    _quartermaster(configuration, "rollup")


def _take_report(chromium: Browser, configuration: Path, images: Path) -> None:
    """The report's first screen as it comes by mail, and the PDF's first page."""
    with tempfile.TemporaryDirectory() as temporary:
        html, paper = Path(temporary) / "report.html", Path(temporary) / "report.pdf"
        for file in (html, paper):
            _quartermaster(configuration, "report", "--format", file.suffix[1:], "--output", str(file))
        page = chromium.new_page(viewport={"width": 1280, "height": _HEIGHT_PX}, color_scheme="light")
        page.goto(html.as_uri())
        page.evaluate("document.fonts.ready")
        _take(page, images / "report.png", 1280)
        page.close()
        first = ["-f", "1", "-l", "1", "-singlefile", "-r", "80", "-png"]
        subprocess.run(["pdftoppm", *first, str(paper), str(images / "report-page")], check=True)


def _quartermaster(configuration: Path, *arguments: str) -> None:
    command = [sys.executable, "-m", "cli", "--config", str(configuration), *arguments]
    subprocess.run(command, cwd=_ROOT, check=True, stdout=subprocess.DEVNULL)


def _take(page: Page, file: Path, width: int) -> None:
    page.set_viewport_size({"width": width, "height": _HEIGHT_PX})
    page.wait_for_timeout(500)
    page.screenshot(path=file)
    with Image.open(file) as picture:
        small = picture.convert("RGB").quantize(256, dither=Image.Dither.NONE)
    small.save(file, optimize=True)
    if file.stat().st_size > _LARGEST:
        raise SystemExit(f"{file} has {file.stat().st_size} bytes, more than {_LARGEST}")


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute() if len(sys.argv) > 1 else None)
