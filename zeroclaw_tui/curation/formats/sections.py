"""Memories as Markdown for people: a heading, a line of facts, and the content in a fence that nothing in it ends.

Behind the fence stands JSON with the exact key, category and agent, and the content where that is no Unicode text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, BinaryIO

from zeroclaw_tui.curation.formats.jsonl import is_plain, packed, shown, unpacked
from zeroclaw_tui.curation.formats.lines import LONGEST, each_line, not_utf8, too_long
from zeroclaw_tui.memory.change import StoredRow, Value
from zeroclaw_tui.memory.errors import WrongUse
from zeroclaw_tui.memory.text import one_line

LOSES = "Markdown holds key, content and category for an import; the other facts are for people."
TITLE = "# ZeroClaw memories"

_OPENING = re.compile(rb"(~{3,}) (\{.*\})\r?\n?\Z", re.DOTALL)
_RUNS = re.compile("~+")
_LONGEST_HEADING = 200
_SHAPE = "`zeroclaw memory export --format markdown` writes such a file; ZeroClaw's own notes are no export."


def title(exported: str, backend: str) -> bytes:
    """How the file begins."""
    what = f"Exported {exported} from {backend}. `zeroclaw memory import` reads it back."
    return f"{TITLE}\n\n{one_line(what)}\n".encode()


def section(row: StoredRow) -> bytes:
    """A memory as a part of the file."""
    entry, content = row.entry(), row.values.get("content")
    text = shown(content) or ""
    exact: dict[str, Any] = {"key": packed(row.values.get("key")), "category": packed(row.values.get("category"))}
    if row.agent is not None:
        exact["agent"] = packed(row.agent)
    if not isinstance(content, str) or not is_plain(content):
        exact["content"] = packed(content)
    facts = [entry.category, entry.timestamp, *(f"{name} {value}" for name, value in _more(row).items())]
    fence = "~" * max(3, 1 + max((len(run) for run in _RUNS.findall(text)), default=0))
    parts = [
        f"\n## {one_line(entry.key)[:_LONGEST_HEADING]}\n\n{' · '.join(one_line(fact) for fact in facts if fact)}\n",
        f"\n{fence} {json.dumps(exact)}\n{text}\n{fence}\n",
    ]
    return "".join(parts).encode("utf-8", "replace")


def rows_of_text(file: BinaryIO) -> Iterator[tuple[int, StoredRow]]:
    """Every memory with the number of the line its fence begins at. Raises WrongUse naming the line."""
    lines = each_line(file)
    number, first = next(lines, (1, b""))
    if first.rstrip() != TITLE.encode():
        raise WrongUse(f"Line {number} is not {TITLE!r}.", hint=_SHAPE)
    for number, line in lines:
        opening = _OPENING.match(line)
        if opening:
            values, agent = _exact(opening.group(2), number)
            content = _fenced(lines, opening.group(1), number)
            try:
                values.setdefault("content", content.decode("utf-8"))
            except UnicodeDecodeError as failure:
                raise not_utf8(number) from failure
            yield number, StoredRow("", values, None, agent)


def _more(row: StoredRow) -> dict[str, str]:
    entry = row.entry()
    named = {
        "updated": entry.updated_at if entry.updated_at != entry.timestamp else None,
        "session": entry.session_id,
        "namespace": entry.namespace if entry.namespace != "default" else None,
        "importance": entry.importance,
        "kind": entry.kind,
        "pinned": "yes" if entry.pinned else None,
        "agent": entry.agent,
    }
    return {name: str(value) for name, value in named.items() if value not in (None, "")}


def _fenced(lines: Iterator[tuple[int, bytes]], fence: bytes, start: int) -> bytes:
    held: list[bytes] = []
    size = 0
    for _, line in lines:
        if line.rstrip(b"\r\n") == fence:
            return b"".join(held).removesuffix(b"\n")
        held.append(line)
        size += len(line)
        if size > LONGEST:
            raise too_long(start)
    raise WrongUse(
        f"The memory that begins in line {start:,} does not end: the file seems to have been cut off.", hint=_SHAPE
    )


def _exact(text: bytes, number: int) -> tuple[dict[str, Value], str | None]:
    try:
        parts = json.loads(text)
        values = {name: unpacked(parts[name]) for name in ("key", "category", "content") if name in parts}
        agent = unpacked(parts.get("agent"))
        if "key" not in values or not (agent is None or isinstance(agent, str)):
            raise ValueError("no key, or an agent that is no text")
    except (ValueError, RecursionError) as failure:
        raise WrongUse(f"Line {number:,} does not tell a memory's key.", hint=_SHAPE) from failure
    return values, agent
