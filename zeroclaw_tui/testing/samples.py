"""Memories that a backend must return unchanged: ordinary, awkward and hostile ones."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta

from zeroclaw_tui.memory.entry import MemoryEntry

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
"""The time shortly after the last sample."""

_TEXTS: tuple[tuple[str, str, str, str | None], ...] = (
    ("lang", "Prefers Rust for tools and Python for plots", "core", None),
    ("food_allergy", "Allergic to peanuts, careful with satay", "core", None),
    ("editor", "Uses the Helix editor daily", "core", "telegram_12345"),
    ("garden", "Plot 14 has beans, coriander and slugs", "core", "telegram_12345"),
    ("twin_one", "Two rows with the same content", "daily", None),
    ("twin_two", "Two rows with the same content", "daily", "telegram_12345"),
    ("daily_note", "Released the Rust crate before lunch", "daily", "cli"),
    ("chat", "how do I read a WAV file in Rust", "conversation", "cli"),
    ("chat two", "ok thanks", "conversation", "cli"),
    ("recipe", "Soup: beans, rosemary, the end of the bread", "recipes and menus", None),
    ("日本語", "ピーナッツアレルギーがあります。少量でも食べられません。", "core", "会话-三"),
    ("备忘", "她喜欢吃饺子和面条，不吃花生。", "daily", None),
    ("emoji", "The frogs 🐸🐸 and the family 👨‍👩‍👧", "daily", None),
    ("escape", "\x1b[31mred\x1b[2J and \x1b]8;;https://example.invalid\x07a link\x1b]8;;\x07", "conversation", None),
    ("markup", "[bold red]loud[/bold red] [/markup] [link=https://example.invalid]x[/link] {user} %s", "core", None),
    ("bidi", "evil \u202egnp.exe\u202c and \u2066isolated\u2069", "conversation", None),
    ("quote ' \" ` key", 'Robert\'); DROP TABLE memories; -- "quoted" 100% under_score \\ back', "core", None),
    ("--limit", "A key that looks like an option", "core", None),
    ("k" * 300, "A key of three hundred letters", "daily", None),
    ("long", "word " * 1200 + "the very end", "conversation", None),
    ("combining", "Z" + "\u0301" * 40 + " e\u0301", "daily", None),
)


def sample_entries() -> tuple[MemoryEntry, ...]:
    """The samples, oldest first, about two days apart; times are in UTC with nine fractional digits."""
    entries: list[MemoryEntry] = []
    for number, (key, content, category, session_id) in enumerate(_TEXTS):
        moment = NOW - timedelta(days=2 * (len(_TEXTS) - number), hours=number % 5)
        at = f"{moment:%Y-%m-%dT%H:%M:%S}.{number:09d}+00:00"
        name = str(uuid.uuid5(uuid.NAMESPACE_URL, f"zeroclaw-tui/sample/{number}"))
        entries.append(MemoryEntry(name, key, content, category, at, updated_at=at, session_id=session_id))
    return tuple(entries)
