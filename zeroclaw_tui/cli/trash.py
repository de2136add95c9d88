"""`memory trash`: list, restore, empty and history.

With --json, `trash list` prints {"backend", "location", "total", "offset", "limit", "usage", "entries"}: each entry has
"number", "action", "verb", "deleted_at", "until", "size" (bytes, vector included), "store" and the names of an entry as
`get` prints it; `usage` is {"rows", "bytes", "days_kept", "bytes_kept", "oldest"} of the whole trash. `trash restore`
prints the document of every change (see `report`), and so does `trash empty`, whose verb is "empty" and whose `action`
is null. `trash history` prints {"backend", "location", "ids", "versions"}: each version has "action", "verb", "at",
"id", "before", "after" (entries or null) and "diff", the unified diff of the content or null.
"""

from __future__ import annotations

import argparse
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from zeroclaw_tui.cli.guard import (
    NOTHING_DONE,
    Progress,
    check_can_ask,
    check_writable,
    confirm,
    confirm_count,
    telling_clashes,
    with_triggers,
)
from zeroclaw_tui.cli.options import agents_given
from zeroclaw_tui.cli.output import (
    BOLD,
    DIM,
    GREEN,
    YELLOW,
    Line,
    Styled,
    date_shown,
    document,
    moment_shown,
    note,
    width,
    write_lines,
)
from zeroclaw_tui.cli.report import content_difference, difference_lines, left_alone_lines, tell_document, tell_notes
from zeroclaw_tui.cli.selection import exactly, nothing_found, several_agents
from zeroclaw_tui.curation.changes import TYPED_FROM, Outcome, restore
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.trash.trash import TrashRow, TrashUsage, Version
from zeroclaw_tui.memory.errors import DONE, INTERRUPTED, REFUSED, NotThere, Refused, WrongUse
from zeroclaw_tui.memory.text import counted, cut, one_line, padded, size_shown

KEY_CELLS = 24
ROWS_AT_ONCE = 500
SAMPLES = 3
NOTHING_THERE = "Nothing lies in the trash."


async def trash(library: Library, given: argparse.Namespace, now: datetime) -> int:
    """Answer one of the verbs of the trash."""
    verbs: dict[str, Callable[[Library, argparse.Namespace], Awaitable[int]]] = {
        "list": _list,
        "restore": _restore,
        "empty": _empty,
        "history": _history,
    }
    if not given.read_only and library.read_only_because is None:
        await library.trash.settle(library.memory)
    return await verbs[given.verb.removeprefix("trash ")](library, given)


async def _list(library: Library, given: argparse.Namespace) -> int:
    rows, total = await library.trash.listing(
        given.contains or "", limit=given.limit, offset=given.offset, every_store=given.every_store
    )
    usage = await library.trash.usage()
    if not given.json:
        write_lines(_list_lines(rows, total, given))
        write_lines([(Styled(_usage_text(usage), DIM),)])
        if usage.rows and not total and not (given.contains or given.every_store):
            write_lines([("All of them were deleted from other stores: --every-store shows them.",)])
        return DONE
    document(
        {
            "backend": library.memory.name,
            "location": library.memory.location,
            "total": total,
            "offset": given.offset,
            "limit": given.limit,
            "usage": asdict(usage),
            "entries": [_row_as_json(row) for row in rows],
        }
    )
    return DONE


async def _restore(library: Library, given: argparse.Namespace) -> int:
    check_writable(library, given)
    numbers = await _numbers_meant(library, given)
    with Progress("Restoring", len(numbers)) as progress:
        outcome = await with_triggers(
            library,
            given,
            lambda: telling_clashes(
                lambda: restore(library, numbers, clash=given.clash, advance=progress.advance),
            ),
            asks=False,
        )
    assert outcome is not None
    tell_notes(outcome)
    if given.json:
        tell_document(library, outcome)
    else:
        write_lines([(Styled("✓", GREEN), f" Restored {counted(outcome.count)}.")])
        write_lines(left_alone_lines(outcome))
    if outcome.cancelled:
        note(f"zeroclaw: Stopped after {outcome.count:,} of {counted(len(numbers))}.")
    return INTERRUPTED if outcome.cancelled else DONE


async def _numbers_meant(library: Library, given: argparse.Namespace) -> list[int]:
    """The numbers in the trash of what should come back. Raises WrongUse, NotThere."""
    ways = [bool(given.numbers), given.contains is not None, given.all, given.id is not None]
    if sum(ways) != 1:
        raise WrongUse(
            "Restore what?" if not any(ways) else "Restore by one way at a time.",
            hint="Give NUMBERs as `zeroclaw memory trash list` shows them, --contains TEXT, --id ID or --all.",
        )
    if given.numbers:
        return list(dict.fromkeys(given.numbers))
    if given.id is not None:
        found = [row.number async for row in _every_row(library) if row.row.id == given.id][:1]
    else:
        found = await library.trash.numbers(given.contains or "")
    if not found:
        raise NotThere("Nothing like that lies in the trash.", hint="`zeroclaw memory trash list` shows what does.")
    return found


async def _empty(library: Library, given: argparse.Namespace) -> int:
    if given.read_only:
        raise Refused("With --read-only nothing is changed, not even the trash.")
    if not given.dry_run:
        check_can_ask("trash empty", yes=given.yes)
    numbers = list(dict.fromkeys(given.numbers)) or None
    if numbers:
        rows = [await library.trash.row(number) for number in numbers]
        count = len(rows)
    else:
        rows, count = await library.trash.listing(limit=SAMPLES)
        if not count and not await library.trash.actions(limit=1):
            return _tell_empty(library, given, 0, [(NOTHING_THERE,)])
    lines = _empty_lines(rows, count, everything=numbers is None)
    if given.dry_run:
        return _tell_empty(library, given, count, lines)
    if not given.yes and not _agreed_to_empty(count, lines):
        return REFUSED
    gone = await library.trash.empty(numbers)
    return _tell_empty(library, given, gone, [(Styled("✓", GREEN), f" Let go of {counted(gone)} for ever.")])


def _agreed_to_empty(count: int, shown: Sequence[Line]) -> bool:
    if count >= TYPED_FROM:
        return confirm_count(count, "let go of them", shown)
    return confirm("Let go for ever?", shown)


def _tell_empty(library: Library, given: argparse.Namespace, count: int, lines: Sequence[Line]) -> int:
    if given.json:
        tell_document(library, Outcome("clean", count), verb="empty", dry_run=given.dry_run)
        return DONE
    write_lines(lines)
    if given.dry_run:
        note(NOTHING_DONE)
    return DONE


def _empty_lines(rows: Sequence[TrashRow], count: int, *, everything: bool) -> list[Line]:
    head = f"Empty the trash of {counted(count)}?" if everything else f"Let go of {counted(count)}?"
    lines: list[Line] = [(Styled(head, BOLD),)]
    for row in rows[:SAMPLES]:
        lines.append(("  ", one_line(row.row.entry().key), f"  deleted {date_shown(row.deleted_at)}"))
    if count > SAMPLES:
        lines.append((Styled(f"  … {count - SAMPLES:,} more", DIM),))
    last = "  Nothing brings them back"
    last += ", and no change made to this store so far can be undone." if everything else "."
    return [*lines, (Styled(last, YELLOW),)]


async def _history(library: Library, given: argparse.Namespace) -> int:
    ids = await _ids_meant(library, given)
    versions = [(wanted, version) for wanted in ids for version in await library.trash.history(wanted)]
    versions.sort(key=lambda found: found[1].action, reverse=True)
    if given.json:
        document(
            {
                "backend": library.memory.name,
                "location": library.memory.location,
                "ids": ids,
                "versions": [_version_as_json(wanted, version) for wanted, version in versions],
            }
        )
    elif versions:
        write_lines(line for _, version in versions for line in _version_lines(version))
    else:
        write_lines([("Nothing was done to this memory here.",)])
    return DONE


async def _ids_meant(library: Library, given: argparse.Namespace) -> list[str]:
    """The ids that have or had the key: deleted and stored anew, a memory has another."""
    if given.id is not None and given.key is None:
        if await library.memory.with_id(given.id) is None and not await library.trash.history(given.id):
            raise NotThere(nothing_found(None, given.id))
        return [given.id]
    agents = agents_given(given)
    present = await exactly(library, given.key, given.id, agents)
    if len(present) > 1:
        raise several_agents(present)
    ids = [entry.id for entry in present]
    async for row in _every_row(library, given.key):
        entry = row.row.entry()
        if entry.key == given.key and (not agents or entry.agent in agents) and given.id in (None, entry.id):
            ids.append(entry.id)
    if not ids:
        raise NotThere(nothing_found(given.key, given.id), hint="--id finds a memory that was renamed since.")
    return list(dict.fromkeys(ids))


async def _every_row(library: Library, contains: str = "") -> AsyncIterator[TrashRow]:
    offset, total = 0, 1
    while offset < total:
        rows, total = await library.trash.listing(contains, limit=ROWS_AT_ONCE, offset=offset)
        for row in rows:
            yield row
        offset += ROWS_AT_ONCE


def _list_lines(rows: Sequence[TrashRow], total: int, given: argparse.Namespace) -> Iterator[Line]:
    if not rows:
        yield (NOTHING_THERE if not total else f"Nothing at offset {given.offset} (total: {total:,}).",)
        return
    wide = max(6, *(len(str(row.number)) for row in rows))
    room = max(16, width() - wide - KEY_CELLS - 42)
    head = (
        f"{padded('number', wide, right=True)}  {padded('deleted', 16)}  {padded('by', 7)}  {padded('key', KEY_CELLS)}"
    )
    yield (Styled(f"{head}  {padded('memory', room)}  {padded('size', 7, right=True)}", DIM),)
    for row in rows:
        entry = row.row.entry()
        yield (
            padded(str(row.number), wide, right=True) + "  ",
            padded(moment_shown(row.deleted_at), 16) + "  ",
            padded(row.verb, 7) + "  ",
            Styled(_fitted(entry.key, KEY_CELLS), BOLD),
            "  " + _fitted(entry.content[: 4 * room], room) + "  ",
            padded(size_shown(row.size), 7, right=True),
        )
        if given.every_store:
            yield (" " * (wide + 2), Styled(one_line(row.store), DIM))
    if given.offset + len(rows) < total:
        yield (f"{total - given.offset - len(rows):,} more; --offset {given.offset + given.limit} shows them.",)


def _fitted(text: str, room: int) -> str:
    return padded(cut(one_line(text), room), room)


def _usage_text(usage: TrashUsage) -> str:
    return (
        f"{counted(usage.rows)} in the trash of this config dir, {size_shown(usage.bytes)} of"
        f" {size_shown(usage.bytes_kept)}; each is kept for {usage.days_kept} days."
    )


def _version_lines(version: Version) -> Iterator[Line]:
    row = version.after or version.before
    key = one_line(row.entry().key) if row else ""
    yield (Styled(f"{moment_shown(version.at)}  {_done(version)}", BOLD), f"  {key}")
    yield from difference_lines(version.before, version.after)
    yield ()


def _done(version: Version) -> str:
    """What was done, in a word: an undo brings back, takes away or changes."""
    if version.before is None:
        return f"{version.verb}: here again" if version.verb in ("undo", "redo", "restore") else version.verb
    return f"{version.verb}: gone" if version.after is None else version.verb


def _row_as_json(row: TrashRow) -> dict[str, Any]:
    return {
        "number": row.number,
        "action": row.action,
        "verb": row.verb,
        "deleted_at": row.deleted_at,
        "until": row.until,
        "size": row.size,
        "store": row.store,
        **row.row.entry().as_json(),
    }


def _version_as_json(id: str, version: Version) -> dict[str, Any]:
    difference = content_difference(version.before, version.after)
    return {
        "action": version.action,
        "verb": version.verb,
        "at": version.at,
        "id": id,
        "before": version.before.entry().as_json() if version.before else None,
        "after": version.after.entry().as_json() if version.after else None,
        "diff": None if difference is None else "\n".join(difference),
    }
