"""`python -m bench [name …]`: run the benchmarks, a line each; all of them together write docs/performance.md."""

import importlib
import sys
from pathlib import Path

from bench.machine import Result, machine

NAMES = (
    "parse",
    "round",
    "storage",
    "rollup",
    "report",
    "books",
    "reports",
    "openb",
    "kubernetes",
    "apiserver",
    "nvml",
    "plan",
    "live",
    "enforcer",
    "reclaim",
    "backfill",
    "whatif",
    "finance",
    "door",
)
PAGE = Path(__file__).parent.parent / "docs" / "performance.md"


def main(names: list[str]) -> int:
    """Run the named benchmarks (all without a name); exit 1 when a goal is not reached."""
    unknown = sorted(set(names) - set(NAMES))
    if unknown:
        sys.stderr.write(
            f"error: no benchmark is called {', '.join(unknown)}\n  try: one of {', '.join(NAMES)}\n"
        )
        return 2
    print(machine())
    results: list[Result] = []
    for name in names or NAMES:
        for result in importlib.import_module(f"bench.{name}").run():
            mark = "ok   " if result.reached else "SHORT"
            print(f"{mark} {result.what}: {result.figure} (goal: {result.goal}) {result.detail}".rstrip())
            results.append(result)
    if not names:
        PAGE.write_text(_page(results), encoding="utf-8")
    return 0 if all(result.reached for result in results) else 1


def _page(results: list[Result]) -> str:
    lines = [
        "# Performance",
        "",
        f"Measured by `make bench` on: {machine()}.",
        "",
        "| what | goal | measured | reached | detail |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| {r.what} | {r.goal} | {r.figure} | {'yes' if r.reached else 'no'} | {r.detail} |" for r in results
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
