"""What a person names: memories by key, id or filter, and moments.

Which memories the options of a verb mean: by filter, by key, by id.

Moments as people type them: an age, a date, or RFC 3339.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from zeroclaw_tui.cli.options import agents_given
from zeroclaw_tui.cli.output import in_one_line
from zeroclaw_tui.memory.days import moment
from zeroclaw_tui.memory.errors import InspectorError, NotThere, Refused, WrongUse

if TYPE_CHECKING:
    from datetime import datetime

    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.memory.entry import MemoryEntry
    from zeroclaw_tui.memory.query import MemoryFilter


MOST_PREFIX_MATCHES = 1000
_HOW_TO_FIND = "`zeroclaw memory list --contains TEXT` finds part of a key."


def filter_given(given: argparse.Namespace, now: datetime) -> MemoryFilter:
    """The filter that the options mean. ZeroClaw's own categories in any case. Raises WrongUse."""
    from zeroclaw_tui.backends.matching import words_of
    from zeroclaw_tui.memory.query import MemoryFilter, Superseded

    return MemoryFilter(
        category=_categories(given.category) if given.category else None,
        session=tuple(given.session or ()) or None,
        agent=agents_given(given) or None,
        namespace=tuple(given.namespace or ()) or None,
        older_than=moment_meant(given.older_than, now) if given.older_than is not None else None,
        newer_than=moment_meant(given.newer_than, now) if given.newer_than is not None else None,
        undated=given.undated,
        contains=given.contains or None,
        words=words_of(given.words or "") or None,
        regex=_pattern(given.regex),
        superseded=Superseded(given.superseded),
        longer_than=given.longer_than,
        shorter_than=given.shorter_than,
    )


def _categories(given: Sequence[str]) -> tuple[str, ...]:
    from zeroclaw_tui.memory.entry import BUILT_IN_CATEGORIES

    return tuple(name.lower() if name.lower() in BUILT_IN_CATEGORIES else name for name in given)


def _pattern(given: str | None) -> str | None:
    from zeroclaw_tui.backends.matching import compiled

    if not given:
        return None
    # What cannot be read is told before any store is asked, also by one that has nothing in it.
    compiled(given)
    return given


async def exactly(library: Library, key: str | None, id: str | None, agents: Sequence[str]) -> list[MemoryEntry]:
    """The memories of exactly this key that these agents hold (any agent: none named), or the one of this id.

    With both, the key's memory that has the id. Raises WrongUse for neither.
    """
    if key is None and id is None:
        raise WrongUse("Which memory?", hint="Give its KEY, or --id ID; a key that begins with - goes after --.")
    found = await (with_key(library, key, agents) if key is not None else with_id(library, id or ""))
    return found if id is None else [entry for entry in found if entry.id == id]


async def the_one(library: Library, key: str | None, id: str | None, agents: Sequence[str]) -> MemoryEntry:
    """The one memory that is meant. Raises NotThere, and Refused for a key that several agents hold."""
    found = await exactly(library, key, id, agents)
    if not found:
        raise await not_there(library, key, id)
    if len(found) > 1:
        raise several_agents(found)
    return found[0]


async def with_key(library: Library, key: str, agents: Sequence[str]) -> list[MemoryEntry]:
    """Every memory of a key that these agents hold; of any agent when none is named."""
    if not agents:
        return await library.memory.with_key(key)
    return [entry for agent in dict.fromkeys(agents) for entry in await library.memory.with_key(key, agent)]


async def with_id(library: Library, wanted: str) -> list[MemoryEntry]:
    """The memory of an id, if there is one."""
    entry = await library.memory.with_id(wanted)
    return [] if entry is None else [entry]


async def starting(library: Library, prefix: str, agents: Sequence[str]) -> list[MemoryEntry]:
    """Memories whose key begins so, the last written first."""
    found = await library.memory.keys_starting(prefix, MOST_PREFIX_MATCHES)
    return [entry for entry in found if not agents or entry.agent in agents]


def agent_given(given: argparse.Namespace) -> str | None:
    """The one agent that is named. Raises WrongUse for several."""
    agents = tuple(dict.fromkeys(agents_given(given)))
    if len(agents) > 1:
        raise WrongUse(f"One memory belongs to one agent, and {len(agents)} are named.", hint="Name one --agent.")
    return agents[0] if agents else None


def address(entry: MemoryEntry) -> str:
    """What names this memory and no other: its handle where that is a text, since agents' files can share ids."""
    return entry.handle if isinstance(entry.handle, str) and entry.handle else entry.id


def nothing_found(key: str | None, id: str | None) -> str:
    """The sentence for a memory that is not there."""
    if key is None:
        return f"No memory entry found for id: {in_one_line(id or '')}"
    with_id = f" with id {in_one_line(id)}" if id is not None else ""
    return f"No memory entry found for key: {in_one_line(key)}{with_id}"


async def not_there(library: Library, key: str | None, id: str | None = None) -> NotThere:
    """The error for a memory that is not there, with the way back for one that lies in the trash."""
    hint = _HOW_TO_FIND
    if key is not None:
        # A trash that cannot be read is no reason to leave the question unanswered; its own verbs tell of it.
        with suppress(InspectorError):
            deleted, _ = await library.trash.listing(key)
            for number in [row.number for row in deleted if row.row.key == key][:1]:
                hint = f"It lies in the trash: `zeroclaw memory trash restore {number}` brings it back."
    return NotThere(nothing_found(key, id), hint=hint)


def several_agents(found: Sequence[MemoryEntry]) -> Refused:
    """The error for a key that several agents hold, naming them."""
    holders = ", ".join(f"{in_one_line(entry.agent or '(none)')} (id {in_one_line(entry.id)})" for entry in found)
    return Refused(
        f"Several agents hold the key {in_one_line(found[0].key)!r}: {holders}.",
        hint="Say which with --agent ALIAS or --id ID.",
    )


_AGE = r"(\d{1,7})\s*(h|d|w)"
_UNITS = {"h": "hours", "d": "days", "w": "weeks"}
_HAS_OFFSET = r"(?:Z|[+-]\d\d:?\d\d(?::?\d\d)?)$"
_LONG_FRACTION = r"(\.\d{6})\d+"


def moment_meant(text: str, now: datetime) -> str:
    """RFC 3339 for "30d", "12h", "2w" (before `now`), a date or a date with time; without offset it is local time.

    Raises WrongUse for anything else.
    """
    from datetime import datetime

    typed = text.strip()
    age = re.fullmatch(_AGE, typed, re.IGNORECASE)
    if age is not None:
        return _before(now, typed, int(age.group(1)), _UNITS[age.group(2).lower()])
    if moment(typed) is None:
        raise _no_moment(text)
    if "T" in typed.upper().replace(" ", "T") and re.search(_HAS_OFFSET, typed, re.IGNORECASE):
        return typed
    try:
        return datetime.fromisoformat(re.sub(_LONG_FRACTION, r"\1", typed)).astimezone().isoformat()
    except (ValueError, OverflowError) as error:
        raise _no_moment(text) from error


def bound_meant(text: str, now: datetime) -> str:
    """A bound of recall, which ZeroClaw compares as text: an age becomes RFC 3339, all else stays as typed."""
    meant = moment_meant(text, now)
    return meant if re.fullmatch(_AGE, text.strip(), re.IGNORECASE) else text.strip()


def _before(now: datetime, typed: str, count: int, unit: str) -> str:
    from datetime import timedelta

    try:
        return (now - timedelta(**{unit: count})).isoformat()
    except OverflowError as error:
        raise WrongUse(f"{typed!r} is longer ago than the calendar goes.") from error


def _no_moment(text: str) -> WrongUse:
    return WrongUse(
        f"{text!r} is no moment.", hint="Give an age (12h, 30d, 2w), a date (2026-03-01) or RFC 3339 with its offset."
    )
