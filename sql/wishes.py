"""What is asked of the remote door: an HTTP request understood, or refused with its status."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from starlette.requests import ClientDisconnect, Request

from quartermaster.errors import InputError
from sql.answers import FORMS
from sql.door import Bound
from sql.questions import loose, question

LARGEST_BODY = 256 * 1024
KINDS = {
    "json": "application/json",
    "csv": "text/csv; charset=utf-8",
    "arrow": "application/vnd.apache.arrow.stream",
}


@dataclass(frozen=True)
class Wish:
    """What is asked: the SQL, its parameters as given and as bound, the form of the answer."""

    query: str
    given: Mapping[str, str]
    bound: Mapping[str, Bound]
    form: str
    question: str = ""


class RefusedError(Exception):
    """An answer that is none, with its status."""

    def __init__(self, status: int, what: str, hint: str, after_s: float | None = None) -> None:
        super().__init__(what)
        self.status, self.what, self.hint, self.after_s = status, what, hint, after_s


def named_wish(asked: Request, _: bytes) -> Wish:
    """The question whose name the address has, with the parameters behind it. Raises InputError."""
    given = dict(asked.query_params)
    form = _form(given.pop("format", None), asked)
    found = question(asked.path_params["name"])
    return Wish(found.query, given, found.bound(given), form, found.name)


def wish_in_words(asked: Request, body: bytes) -> Wish:
    """The query of a JSON body. Raises InputError for a body that is none."""
    try:
        told = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise InputError("the body is no JSON", 'send {"query": "select …"}') from error
    wish = cast(dict[str, Any], told) if isinstance(told, dict) else {}
    if not isinstance(wish.get("query"), str):
        raise InputError("the body has no query", 'send {"query": "select …"}')
    unknown = wish.keys() - {"query", "parameters", "format"}
    if unknown:
        raise InputError(f"{min(unknown)!r} says nothing here", "send query, parameters and format")
    parameters: object = wish.get("parameters") or {}
    given = cast(dict[str, object], parameters) if isinstance(parameters, dict) else {"": None}
    if not all(isinstance(value, str | int | float) for value in given.values()):
        raise InputError("parameters are names with values", 'send {"parameters": {"team": "vision"}}')
    texts = {name: _text(value) for name, value in given.items()}
    return Wish(wish["query"], texts, loose(texts), _form(wish.get("format"), asked))


def _text(value: object) -> str:
    return json.dumps(value) if isinstance(value, bool) else str(value)


def _form(told: object, asked: Request) -> str:
    if told is None:
        accepted = asked.headers.get("accept", "")
        return next((form for form, kind in KINDS.items() if kind.partition(";")[0] in accepted), "json")
    if told not in FORMS:
        raise InputError(f"{str(told)[:40]!r} is no form of an answer", "use json, csv or arrow")
    return str(told)


async def body_of(asked: Request) -> bytes:
    """The request's body, up to LARGEST_BODY. Raises RefusedError."""
    parts: list[bytes] = []
    size = 0
    try:
        async for part in asked.stream():
            size += len(part)
            if size > LARGEST_BODY:
                raise RefusedError(
                    413, f"the request is larger than {LARGEST_BODY // 1024} KiB", "ask for less at once"
                )
            parts.append(part)
    except ClientDisconnect as error:
        raise RefusedError(400, "the request has no end", "send all of it") from error
    return b"".join(parts)
