"""Shared by the readers of other tools' files: rows with stable keys, times, and counts of lost fields.

A key is made from the tool's own id, or from title and content, so that a memory has the same key each time it is
read and a second import finds it.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from zeroclaw_tui.memory.change import Row, Value
from zeroclaw_tui.memory.text import one_line, unicode_text

EMPTY, INVALID, TWICE = "memories without text", "records of another form", "memories that come twice"
"""Names under which `lost` counts memories that are not imported."""
_MAX_SLUG, _MAX_NAME = 40, 40
_NAIVE_UTC = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?")
_RFC_3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
_NO_SLUG = re.compile(r"[^\w]+|_+")


def memory_row(key: str, content: str, category: str | None, *, agent: str | None = None, **values: Value) -> Row:
    """Make a memory to import, without None or empty values. A tool's type becomes a category in lower case."""
    slugged = slug(category or "")
    stated: dict[str, Value] = {"key": key, "content": unicode_text(content)}
    stated["category"] = "core" if slugged in ("", "general", "misc") else slugged
    for name, value in values.items():
        if value not in (None, ""):
            stated[name] = unicode_text(value) if isinstance(value, str) else value
    return Row("", stated, agent=unicode_text(agent) if agent else None)


def distinct(rows: Iterable[Row], lost: Counter[str]) -> Iterator[Row]:
    """Make keys unique: a repeated memory is dropped, and another memory with the same key gets a longer key."""
    seen: dict[tuple[str | None, str], str] = {}
    for row in rows:
        content = digest(str(row.values["content"]))
        if seen.get((row.agent, row.key), content) != content:
            row = Row("", {**row.values, "key": f"{row.key}_{content}"}, agent=row.agent)
        if (row.agent, row.key) in seen:
            lost[TWICE] += 1
        else:
            seen[row.agent, row.key] = content
            yield row


def slug(text: str) -> str:
    """Convert a text for use in a key: at most 40 lower-case letters and digits of any script, joined by `_`."""
    plain = unicodedata.normalize("NFKC", text).lower()
    return _NO_SLUG.sub("_", plain).strip("_")[:_MAX_SLUG].strip("_")


def digest(content: str) -> str:
    """The first eight hex digits of a content's SHA-256."""
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def titled_key(tool: str, title: str, content: str) -> str:
    """The key of a memory without an id."""
    return "_".join(part for part in (tool, slug(title), digest(content)) if part)


def identified_key(tool: str, id: Any, content: str) -> str:
    """The key of a memory with an id: the first 12 hex digits of a UUID, else a slug; without an id by its content."""
    text = str(id) if isinstance(id, str | int) and not isinstance(id, bool) else ""
    plain = text.replace("-", "").lower()
    if re.fullmatch("[0-9a-f]{32}", plain):
        return f"{tool}_{plain[:12]}"
    return f"{tool}_{slug(text) or digest(content)}"


def moment_of(value: Any) -> str | None:
    """Parse a tool's time into RFC 3339, or None; `YYYY-MM-DD HH:MM:SS` is UTC as in SQLite, others are local."""
    if not isinstance(value, str):
        return None
    try:
        text = value.strip()
        parsed = datetime.fromisoformat(text)
        if _RFC_3339.fullmatch(text):
            return text
        if _NAIVE_UTC.fullmatch(text):
            return parsed.replace(tzinfo=UTC).isoformat()
        return (parsed if parsed.tzinfo is not None else parsed.astimezone()).isoformat()
    except (ValueError, OverflowError, OSError):
        return None


def first_moment(record: Mapping[str, Any], *names: str) -> str | None:
    """The first of these fields that is a time, in RFC 3339."""
    return next((moment for name in names if (moment := moment_of(record.get(name)))), None)


def text_at(record: Mapping[str, Any], name: str) -> str | None:
    """The text of a field, if it is not blank."""
    value = record.get(name)
    return value if isinstance(value, str) and value.strip() else None


def count_lost(record: Mapping[str, Any], read: Sequence[str], lost: Counter[str]) -> None:
    """Count every field with a value that is not read."""
    for name, value in record.items():
        if name not in read and value not in (None, "", 0, [], {}):
            lost[unicode_text(one_line(str(name))[:_MAX_NAME])] += 1
