"""Values of the API, read without trust."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.kubernetes.picture import Picture
from collector.kubernetes.stream import Event
from collector.kubernetes.values import instant_ms, quantity, text
from quartermaster.clock import from_iso
from tests.kube.raws import SETTINGS, Told, at, node, pod


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("8", Fraction(8)),
        (8, Fraction(8)),
        (0.5, Fraction(1, 2)),
        ("500m", Fraction(1, 2)),
        ("4k", Fraction(4000)),
        ("81559Mi", Fraction(81559 * 1024**2)),
        ("1e3", Fraction(1000)),
        ("1E", Fraction(10**18)),
        ("-1", Fraction(-1)),
        ("", None),
        ("eight", None),
        ("NaN", None),
        ("Infinity", None),
        ("1e999999999", None),
        ("9" * 100, None),
        (True, None),
        (None, None),
        ([], None),
    ],
)
def test_a_quantity(written: object, meant: Fraction | None):
    assert quantity(written) == meant


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("2026-11-30T12:16:56Z", "2026-11-30T12:16:56Z"),
        ("2026-11-30T12:16:56.617676Z", "2026-11-30T12:16:56.617Z"),
        ("2026-11-30T13:16:56+01:00", "2026-11-30T12:16:56Z"),
        ("0001-01-01T00:00:00Z", None),
        ("9999-12-31T23:59:59Z", None),
        ("yesterday", None),
        (12, None),
    ],
)
def test_an_instant(written: object, meant: str | None):
    assert instant_ms(written) == (None if meant is None else from_iso(meant))


@pytest.mark.parametrize(
    "hostile", ["a\x00b", "\ud800", "x" * 70_000, "\u202egnp.exe", "=cmd|' /C calc'!A0", "\"'\n;--"]
)
def test_text_is_kept_short_and_storable(hostile: str):
    kept = text(hostile)
    assert len(kept) <= 1024
    assert "\x00" not in kept
    kept.encode()


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=10,
)


def paths(raw: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = raw.items() if isinstance(raw, dict) else enumerate(raw) if isinstance(raw, list) else ()
    return [here, *(path for key, value in items for path in paths(value, (*here, key)))]


@given(
    data=st.data(),
    junk=JUNK,
    kind=st.sampled_from(["pods", "nodes", "jobs", "resourcequotas", "resourceclaims"]),
)
def test_no_absurd_field_breaks_the_picture(data: st.DataObject, junk: Any, kind: str):
    raw = {"pods": pod(started=2), "nodes": node()}.get(kind, pod())
    path = data.draw(st.sampled_from(paths(raw)[1:]))
    holder: Any = raw
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = junk
    told = Told().see(0, "nodes", node()).see(0, "pods", pod("other", started=2))
    told.see(5, kind, raw).see(9, kind, {"metadata": junk}).gone(10, kind, raw)
    assert "other" in {each.pod for each in told.allocations()}


def test_hostile_labels_are_kept_as_text():
    labels = {"a": "'; drop table samples; --", "b": "x" * 70_000, "c": "\u202e", "d": "nul\x00"}
    told = Told().see(0, "nodes", node()).see(1, "pods", pod(labels=labels))
    assert len(told.allocation().labels) < 2500
    assert "\\u0000" not in told.allocation().labels


def test_an_unknown_kind_is_passed_over():
    picture = Picture(SETTINGS)
    picture.apply(Event(at(0), "widgets", "ADDED", {"metadata": {}}))
    assert set(picture.take(at(1))) == {"authority_versions"}
