"""`memory recall`: one query, or a batch of them in one process."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from typing import Any, BinaryIO, cast

from zeroclaw_tui.cli.moments import bound_meant
from zeroclaw_tui.cli.output import document, note, write_lines
from zeroclaw_tui.cli.tables import recall_lines
from zeroclaw_tui.cli.trials import readable_agents, scopes_of, trial_given
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.recall import turn_limit
from zeroclaw_tui.memory.errors import DONE, InspectorError, WrongUse
from zeroclaw_tui.memory.recall import RecallRequest
from zeroclaw_tui.memory.text import one_line

_BATCH_NAMES = ("query", "limit", "session", "sessions", "agents", "namespace", "since", "until")


async def recall(library: Library, given: argparse.Namespace, now: datetime) -> int:
    """Print what is recalled for the query, or answer each line of the batch."""
    if given.batch is not None:
        return await _answer_batch(library, given, now)
    trial = trial_given(library, given, now)
    result = await library.recall(trial.request, trial.settings)
    if given.json:
        document(result.as_json())
    else:
        write_lines(recall_lines(result))
    tell_notes(library, result.notes, set())
    return DONE


def check_recall(given: argparse.Namespace) -> None:
    """Refuse, before anything is opened, a query together with a batch, or neither."""
    if given.batch is not None and given.query:
        raise WrongUse("--batch brings its own queries, so no QUERY can stand beside it.")
    if given.batch is None and not given.query:
        raise WrongUse("What should be recalled?", hint='Give a QUERY ("" lists the newest), or --batch FILE.')


async def _answer_batch(library: Library, given: argparse.Namespace, now: datetime) -> int:
    base = trial_given(library, given, now)
    told: set[str] = set()
    with _opened(given.batch) as lines:
        for number, asked in _asked(lines):
            try:
                result = await library.recall(_line_request(library, base.request, asked, now), base.settings)
            except InspectorError as error:
                error.message = f"Line {number} of the batch: {error.message}"
                raise
            document(result.as_json(), compact=True)
            tell_notes(library, result.notes, told)
    return DONE


def tell_notes(library: Library, sentences: Iterable[str], told: set[str]) -> None:
    """Say what was not said yet, neither here nor when the store was opened."""
    for sentence in sentences:
        if sentence not in told and not any(sentence in notice for notice in library.memory.notices):
            told.add(sentence)
            note(f"zeroclaw: {sentence}")


def _opened(name: str) -> AbstractContextManager[BinaryIO]:
    if name == "-":
        return nullcontext(cast(BinaryIO, sys.stdin.buffer))
    try:
        return open(name, "rb")
    except OSError as error:
        raise WrongUse(f"The batch {name} cannot be read: {error.strerror}.") from error


def _asked(lines: Iterable[bytes]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Each line's number and what it asks. Raises WrongUse at the first line that cannot be understood."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            asked = json.loads(line)
        except ValueError as error:
            raise WrongUse(f"Line {number} of the batch is no JSON.", hint=_shape()) from error
        fault = _fault(asked)
        if fault:
            raise WrongUse(f"Line {number} of the batch: {fault}.", hint=_shape())
        yield number, asked


def _fault(asked: Any) -> str | None:
    if not isinstance(asked, dict):
        return "it is no JSON object"
    for name in asked:
        if name not in _BATCH_NAMES:
            return f'there is no "{one_line(name)}"'
    for name, (holds, what) in _CHECKS.items():
        if not holds(asked.get(name)):
            return f'"{name}" must be {what}'
    if asked.get("session") is not None and asked.get("sessions"):
        return '"session" and "sessions" say two things; give one of them'
    return None


def _line_request(library: Library, base: RecallRequest, asked: Mapping[str, Any], now: datetime) -> RecallRequest:
    def bound(name: str, otherwise: str | None) -> str | None:
        return otherwise if asked.get(name) is None else bound_meant(asked[name], now)

    agents = asked.get("agents")
    readable = base.agents if agents is None else readable_agents(library, agents, base.layer)
    turns = library.memory.recall_limit or turn_limit(library.config, library.profile.profile, base.rule, readable)
    is_tried = base.limit != base.turn_limit
    session_id, further = base.session_id, base.further_sessions
    if asked.get("session") is not None or asked.get("sessions"):
        session_id, further = scopes_of(asked.get("sessions") or [asked["session"]])
    return RecallRequest(
        query=asked["query"],
        limit=asked.get("limit") or (base.limit if is_tried else turns),
        turn_limit=turns,
        session_id=session_id,
        further_sessions=further,
        agents=readable,
        namespace=base.namespace if asked.get("namespace") is None else asked["namespace"],
        since=bound("since", base.since),
        until=bound("until", base.until),
        layer=base.layer,
        rule=base.rule,
        as_of=base.as_of,
    )


def _shape() -> str:
    return (
        'A line looks like {"query": "tea", "limit": 5, "session": null, "agents": ["main"]}; all but query may lack.'
    )


def _is_text_or_null(value: Any) -> bool:
    return value is None or isinstance(value, str)


def _is_limit(value: Any) -> bool:
    return value is None or (isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**63)


def _is_names(value: Any) -> bool:
    return value is None or (isinstance(value, list) and all(isinstance(name, str) for name in value))


_CHECKS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "query": (lambda value: isinstance(value, str), "a text"),
    "limit": (_is_limit, "a whole number of 1 or more"),
    "session": (_is_text_or_null, "a text or null"),
    "sessions": (_is_names, "a list of texts or null"),
    "agents": (_is_names, "a list of texts or null"),
    "namespace": (_is_text_or_null, "a text or null"),
    "since": (_is_text_or_null, "a text or null"),
    "until": (_is_text_or_null, "a text or null"),
}
