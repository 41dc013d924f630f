# ruff: noqa: E501  (tables of lines)
"""Lines for the parser's tests: right ones of every kind, and what becomes of them when something damages them."""

import random
from collections.abc import Callable

import pytest

NAMES = [
    "DCGM_FI_DEV_GPU_UTIL",
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE",
    "dcgm_power_usage",
    "up",
    "a:b",
    "x_total",
    "_",
    "http_requests_bucket",
]
LABEL_NAMES = [
    "gpu",
    "UUID",
    "modelName",
    "Hostname",
    "namespace",
    "pod",
    "err_msg",
    "le",
    "a:b",
    "_x",
    "GPU_I_ID",
]
LABEL_TEXTS = [
    "", "0", "GPU-5fd4f087-86f3-7a43-b711-4771313afc50", "NVIDIA H100 80GB HBM3", "train-0", r"a\\b", r"line\nfeed", r"\"quoted\"",
    "}", "{", ",", "=", "# x", " # ", "tab\there", "ünïcode", "GPU 🚀", r"\x", "a}b{c", "1 2 3", "trailing \\\\",
]  # fmt: skip
NUMBERS = [
    "0", "1", "97", "-1", "+3", "0.000000", "0.953211", "1e3", "1E-7", "-1.5e+3", ".5", "5.", "NaN", "nan", "+Inf", "-Inf", "inf", "Infinity",
    "2147483632", "9223372036854775794", "140737488355328", "808334905", "1e400", "-1e400", "123456789012345678901234567890",
]  # fmt: skip
NO_NUMBERS = [
    "0x10",
    "1_000",
    "ERROR",
    "1,5",
    "--1",
    "1e",
    "e5",
    ".",
    "",
    "\u0663",
    "0b1",
    "1.2.3",
    "infinit",
    "1 2 3",
]
STAMPS = [
    "1700000000000",
    "0",
    "-5",
    "1700000000.123",
    "1.5",
    "1e3",
    "NaN",
    "x",
    "99999999999999999999",
    "1700000000",
    "+7",
    "-1.25",
    "1.+5",
]
ODD = list('{}",=\\# \t_+-.eEnNaI09zé\r\x0b\x1c\u00a0\ufeff\u0663:')


@pytest.fixture(scope="session")
def make_line() -> Callable[[random.Random], str]:
    """A line of an exposition page by a random generator: mostly right, in either format."""
    return _line


@pytest.fixture(scope="session")
def damage() -> Callable[[random.Random, str], str]:
    """The same line with one to three small accidents."""
    return _damage


def _line(rng: random.Random) -> str:
    kind = rng.random()
    if kind < 0.08:
        return rng.choice(_COMMENTS)
    name = rng.choice(NAMES)
    if kind < 0.2:
        head = name
    elif kind < 0.27:
        head = "{" + ", ".join([f'"{rng.choice(["my.metric", name])}"', *_labels(rng)]) + "}"
    else:
        comma = rng.choice([",", ",", ",", ", ", " , "])
        end = rng.choice(["", "", "", "", ",", " "])
        blank = " " if rng.random() < 0.03 else ""
        head = name + blank + "{" + comma.join(_labels(rng)) + end + "}"
    line = head + rng.choice([" "] * 12 + ["  ", "\t", ""]) + _number(rng)
    if rng.random() < 0.15:
        line += " " + rng.choice(STAMPS)
    if rng.random() < 0.1:
        line += (
            " # {" + ",".join(_labels(rng)) + "} " + _number(rng) + rng.choice(["", " " + rng.choice(STAMPS)])
        )
    if rng.random() < 0.03:
        line = rng.choice([" ", "\t"]) + line
    return line + rng.choice([""] * 20 + ["\r", " "])


_COMMENTS = [
    "# HELP DCGM_FI_DEV_GPU_UTIL GPU utilization (in %).", "# TYPE DCGM_FI_DEV_GPU_UTIL gauge", "# TYPE x counter", "# a remark", "#", "",
    "# HELP", "# TYPE", "# TYPE up", "# HELP up", "# HELP up ", '# TYPE "my.metric" gauge', "# UNIT x_seconds seconds", "# UNIT x seconds",
    "# TYPE x untyped", "#TYPE x gauge", "#x TYPE y", "# HELP 0up no name", "   ", "\t# TYPE x gauge", '# HELP "a b" two words',
]  # fmt: skip


def _labels(rng: random.Random) -> list[str]:
    names = (
        rng.sample(LABEL_NAMES, rng.randrange(5))
        if rng.random() < 0.97
        else rng.choices(LABEL_NAMES[:3], k=3)
    )
    if rng.random() < 0.02:
        names.append("__reserved")
    quoted = [f'"{name}"' if rng.random() < 0.05 else name for name in names]
    equals = [rng.choice(["="] * 20 + [" = "]) for _ in names]
    return [f'{name}{equal}"{rng.choice(LABEL_TEXTS)}"' for name, equal in zip(quoted, equals, strict=True)]


def _number(rng: random.Random) -> str:
    if rng.random() < 0.05:
        return rng.choice(NO_NUMBERS)
    return str(round(rng.uniform(-5, 1e5), rng.randrange(7))) if rng.random() < 0.5 else rng.choice(NUMBERS)


def _damage(rng: random.Random, line: str) -> str:
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        place = rng.randrange(len(line) + 1)
        accident = rng.randrange(4)
        if accident == 0:
            line = line[:place] + rng.choice(ODD) + line[place:]
        elif accident == 1:
            line = line[:place] + line[place + 1 :]
        elif accident == 2:
            line = line[:place] + rng.choice(ODD) + line[place + 1 :]
        else:
            other = rng.randrange(len(line) + 1)
            line = line[: min(place, other)] + line[max(place, other) :]
    return line
