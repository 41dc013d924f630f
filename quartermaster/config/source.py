"""The configuration's text as plain values, with the line and column of each: YAML 1.2, read safely.

A value is None, bool, int, Decimal, str, a tuple or a dict; an unquoted instant stays text.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any, cast

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from quartermaster.config.problem import Complaint, Key, Place, Problem

_VALUES_AT_MOST = 200_000
_DEEP_AT_MOST = 30
_SHOWN_AT_MOST = 40
_TAG = "tag:yaml.org,2002:"


@dataclass(frozen=True)
class Source:
    """What a file says: its values, where each key stands (`keys`) and where its value begins (`values`)."""

    file: str
    value: object
    keys: dict[Key, Place] = field(default_factory=dict[Key, Place])
    values: dict[Key, Place] = field(default_factory=dict[Key, Place])
    problems: tuple[Problem, ...] = ()

    def place(self, key: Key, *, of_value: bool = False) -> Place:
        """Where the key (or its value) stands; for one that is not there, where its parent stands."""
        for places in (self.values, self.keys) if of_value else (self.keys, self.values):
            if key in places:
                return places[key]
        return self.place(key[:-1]) if key else Place(1, 1)

    def problem(self, complaint: Complaint, in_file: Callable[[Key], Key]) -> Problem:
        """The complaint with its place; `in_file` gives the file's key for a key of what was validated."""
        key, what = in_file(complaint.key), complaint.what
        if complaint.other is not None:
            what += f" (line {self.place(in_file(complaint.other)).line})"
        place = self.place(key, of_value=not complaint.at_key)
        return Problem(self.file, place, key, what, complaint.nearest, complaint.severity)


def read_yaml(text: str, file: str) -> Source:
    """The source of a file's text. Never raises: what is wrong (syntax, duplicate keys, tags) is in
    `problems`."""
    try:
        documents = _compose(text)
    except MarkedYAMLError as error:
        marked = cast(Any, error)
        mark = marked.problem_mark or marked.context_mark
        place = Place(mark.line + 1, mark.column + 1) if mark else Place(1, 1)
        what = " ".join(str(part) for part in (marked.context, marked.problem) if part)
        return Source(file, None, problems=(Problem(file, place, (), f"this is no YAML: {what}"),))
    except (YAMLError, RecursionError, ValueError) as error:
        what = str(error).splitlines()[0] if str(error) else "it is nested too deeply"
        return Source(file, None, problems=(Problem(file, Place(1, 1), (), f"this is no YAML: {what}"),))
    if len(documents) > 1:
        place = _start(documents[1])
        return Source(
            file,
            None,
            problems=(Problem(file, place, (), "a second document begins here; the configuration is one"),),
        )
    if not documents:
        return Source(file, {})
    reader = _Reader(file)
    value = reader.value(documents[0], ())
    return Source(file, value, reader.keys, reader.values, tuple(reader.problems))


def _compose(text: str) -> list[Node]:
    return list(cast(Iterator[Node], cast(Any, YAML(typ="safe", pure=True)).compose_all(text)))


def _start(node: Node) -> Place:
    mark = cast(Any, node).start_mark
    return Place(int(mark.line) + 1, int(mark.column) + 1)


def _text_and_tag(node: Node) -> tuple[str, str]:
    if not isinstance(node, ScalarNode):
        return "", ""
    scalar = cast(Any, node)
    return str(scalar.value), str(scalar.tag).removeprefix(_TAG)


class _Reader:
    """Walks the tree of nodes once, noting places and problems."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.keys: dict[Key, Place] = {}
        self.values: dict[Key, Place] = {}
        self.problems: list[Problem] = []
        self._left = _VALUES_AT_MOST

    def value(self, node: Node, key: Key) -> object:
        self.values[key] = _start(node)
        self._left -= 1
        if self._left < 0 or len(key) > _DEEP_AT_MOST:
            if self._left >= -1:
                self._complain(node, key, "aliases or nesting make this larger than any configuration")
            self._left = min(self._left, -1)
            return None
        if isinstance(node, MappingNode):
            return self._mapping(node, key)
        if isinstance(node, SequenceNode):
            return tuple(
                self.value(item, (*key, index)) for index, item in enumerate(cast(list[Node], node.value))
            )
        return self._scalar(node, key)

    def _mapping(self, node: MappingNode, key: Key) -> dict[str, object]:
        found: dict[str, object] = {}
        for name_node, value_node in cast(list[tuple[Node, Node]], node.value):
            name, tag = _text_and_tag(name_node)
            if not name or tag == "null":
                self._complain(name_node, key, "a key is one word")
            elif tag == "merge":
                self._complain(name_node, (*key, name), "merging (<<) is not known here; write the keys out")
            elif name in found:
                line = self.keys[*key, name].line
                self._complain(name_node, (*key, name), f"this key stands here twice (first in line {line})")
            else:
                self.keys[*key, name] = _start(name_node)
                found[name] = self.value(value_node, (*key, name))
        return found

    def _scalar(self, node: Node, key: Key) -> object:
        text, tag = _text_and_tag(node)
        if tag in {"str", "timestamp"}:
            return text
        if tag == "null":
            return None
        found = _plain(text, tag)
        if found is None:
            shown = text if len(text) <= _SHOWN_AT_MOST else f"{text[:_SHOWN_AT_MOST]}…"
            self._complain(node, key, f"{shown!r} with the tag {tag} is not known here")
        return found

    def _complain(self, node: Node, key: Key, what: str) -> None:
        self.problems.append(Problem(self.file, _start(node), key, what))


def _plain(text: str, tag: str) -> bool | int | Decimal | None:
    """What a scalar of YAML is here, or None: `yes`, `.inf`, `1:30` and `!!int abc` are nothing."""
    try:
        if tag == "bool":
            return {"true": True, "false": False}.get(text.lower())
        if tag == "int":
            return _integer(text)
        if tag == "float":
            number = Decimal(text.replace("_", ""))
            return number if number.is_finite() else None
    except (ValueError, InvalidOperation):
        return None
    return None


def _integer(text: str) -> int:
    digits = text.replace("_", "")
    based = digits.lstrip("+-").lower().startswith(("0x", "0o", "0b"))
    return int(digits, 0) if based else int(digits)
