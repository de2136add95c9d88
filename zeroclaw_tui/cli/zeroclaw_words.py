"""What ZeroClaw's own `memory list`, `get` and `stats` print, word for word: habits and scripts keep working."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from zeroclaw_tui.cli.output import BOLD, GREEN, YELLOW, Line, Styled
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.text import display_text

LONGEST_LINE_BYTES = 80
CUT_TO_CHARACTERS = 77
_IN_ONE_LINE = str.maketrans({"\n": "␊", "\t": "␉"})


def list_lines(
    entries: Sequence[MemoryEntry], *, total: int, offset: int, limit: int, indented_hint: bool
) -> Iterator[Line]:
    """The lines of `memory list`; `indented_hint` as up to 0.7.5."""
    if total == 0:
        yield ("No memory entries found.",)
        return
    if not entries:
        yield (f"No entries at offset {offset} (total: {total}).",)
        return
    yield (f"Memory entries ({total} total, showing {offset + 1}-{offset + len(entries)}):",)
    yield ()
    for entry in entries:
        yield _key_line(entry)
        yield ("    ", in_one_line(_beginning(entry.content)))
    if offset + len(entries) < total:
        yield ()
        yield ("  " if indented_hint else "", f"Use --offset {offset + limit} to see the next page.")


def entry_lines(entry: MemoryEntry) -> Iterator[Line]:
    """The lines of `memory get`."""
    yield ("Key:       ", Styled(in_one_line(entry.key), BOLD))
    yield ("Category:  ", in_one_line(entry.category))
    yield ("Timestamp: ", in_one_line(entry.timestamp))
    if entry.session_id is not None:
        yield ("Session:   ", in_one_line(entry.session_id))
    yield ()
    yield (entry.content,)


def prefix_lines(prefix: str, entries: Sequence[MemoryEntry]) -> Iterator[Line]:
    """The lines of `memory get` when several keys begin with what was given."""
    yield (f"Prefix '{in_one_line(prefix)}' matched {len(entries)} entries:",)
    yield ()
    yield from map(_key_line, entries)
    yield ()
    yield ("Specify a longer prefix to narrow the match.",)


def stats_lines(backend: str, *, healthy: bool, total: int, by_category: Mapping[str, int]) -> Iterator[Line]:
    """The lines of `memory stats`; `by_category` is ordered by count."""
    yield ("Memory Statistics:",)
    yield ()
    yield ("  Backend:  ", Styled(backend, BOLD))
    yield ("  Health:   ", Styled("healthy", GREEN) if healthy else Styled("unhealthy", YELLOW))
    yield (f"  Total:    {total}",)
    if by_category:
        yield ()
        yield ("  By category:",)
        for category, count in by_category.items():
            yield (f"    {in_one_line(category):<20} {count}",)


def in_one_line(text: str) -> str:
    """A text cleaned for one line with its blanks kept; line ends and tabs become their pictures."""
    return display_text(text).translate(_IN_ONE_LINE)


def _key_line(entry: MemoryEntry) -> Line:
    return ("- ", Styled(in_one_line(entry.key), BOLD), f" [{in_one_line(entry.category)}]")


def _beginning(content: str) -> str:
    line = content.split("\n", 1)[0].removesuffix("\r")
    if len(line.encode("utf-8", "surrogatepass")) <= LONGEST_LINE_BYTES:
        return line
    return line[:CUT_TO_CHARACTERS] + "..."
