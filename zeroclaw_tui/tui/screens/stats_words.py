"""What the statistics say: the title, the sentences where there is nothing to draw, and the lines of each block."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from rich.cells import cell_len
from textual.content import Content

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.curation.stats import Curve, Growth, StoreStats
from zeroclaw_tui.curation.superseded import among_fact
from zeroclaw_tui.memory.statistics import BigMemory, CacheUse, Storage
from zeroclaw_tui.memory.text import mask_secrets, one_line
from zeroclaw_tui.tui.format import count_text, fit, size_text
from zeroclaw_tui.tui.looks import ACCENT, MUTED, STRONG, WARNING
from zeroclaw_tui.tui.widgets.list_rows import EMPTY_KEY
from zeroclaw_tui.tui.widgets.plain_content import next_line
from zeroclaw_tui.tui.widgets.score_bars import bar
from zeroclaw_tui.tui.words import memories_words

_MOST_NAMES = 8
_MOST_FILES = 6
_LONGEST_NAME = 400
_NAME_CELLS = 18
_WIDEST_BAR = 48
_PERCENT = 5
_FIGURES = 9
_GAP = 2

Parts = list[str | tuple[str, str]]
EmptyWords = tuple[str, str, tuple[tuple[str, str], ...]]


def title_facts(counted: StoreStats) -> tuple[str, ...]:
    """How much there is and since when; what stands last may be left out on a narrow line."""
    rows, days = counted.rows, counted.growth.days
    facts = [f"{memories_words(rows.total)}, {size_text(rows.content)} of text"]
    if days:
        first, last = days[0][0], days[-1][0]
        facts.append(f"all of {first}" if first == last else f"{first} to {last}")
    if counted.every.superseded:
        facts.append(among_fact(counted.every.superseded))
    return tuple(facts)


def empty_words(memory: Memory) -> EmptyWords:
    """Why there is nothing to count."""
    if memory.keeps_nothing:
        return (
            "Nothing is remembered here, so there is nothing to count.",
            'The config names the backend "none". With another backend there, growth, sizes and ages are drawn here.',
            (("esc", "back"),),
        )
    return (
        "There are no memories to count yet.",
        "ZeroClaw writes them while you talk with it; how they grow is drawn here from the first one on.",
        (("r", "count again"), ("esc", "back")),
    )


def growth_heading(curve: Curve, growth: Growth, width: int) -> list[Content]:
    """What a point of the curve stands for, and the busiest day at the other end of the line."""
    busiest = growth.busiest
    most = "" if busiest is None else f"most on one day: {count_text(busiest[1])} on {busiest[0]}"
    return [_ends((f"Stored per {curve.span}", STRONG), (most, MUTED), width)]


def growth_axis(curve: Curve, growth: Growth, width: int) -> list[Content]:
    """The first and the last day under the curve, and how many are on no day."""
    lines = [_ends((str(curve.first), MUTED), (str(curve.last), MUTED), width)]
    return [*lines, *_undated(growth, width)]


def growth_without_curve(growth: Growth, width: int) -> list[Content]:
    """What there is to say where one day or none is known."""
    if not growth.days:
        sentence = "None has a creation date that can be read, so there is no growth to draw."
        return [Content.styled("Stored per day", STRONG), *wrapped(sentence, width)]
    day, count = growth.days[0]
    said = f"{'It was' if count == 1 else f'All {count_text(count)} were'} stored on {day}: one day draws no growth."
    return [Content.styled("Stored per day", STRONG), *wrapped(said, width), *_undated(growth, width)]


def share_lines(
    title: str, counts: Mapping[str, int], width: int, *, blank: str = "(none)", most: int = _MOST_NAMES
) -> list[Content]:
    """A bar for each name, the longest bar for the greatest count; of many names the first, and how many more."""
    total = sum(counts.values())
    if not total:
        return []
    shown = list(counts.items())[:most]
    more = len(counts) - len(shown)
    rest = total - sum(count for _, count in shown)
    greatest = max(count for _, count in shown)
    lines = [Content.styled(title, STRONG)]
    for name, count in shown:
        lines.append(_bar_line(_name(name) or blank, count / greatest, count, total, width))
    if more:
        lines.append(_bar_line(f"… {count_text(more)} more", None, rest, total, width))
    return lines


def embedded_lines(counted: StoreStats, why_not: str | None, colour: Callable[[], str], width: int) -> list[Content]:
    """How many have a vector, in all and by category, and how long the vectors are."""
    rows = counted.rows
    title = Content.styled("Embedded", STRONG)
    if rows.embedded is None:
        return [title, *wrapped(why_not or "This store keeps no vectors.", width)]
    done = sum(part.embedded for part in rows.embedded.values())
    if not done:
        return [title, *wrapped("None has a vector, so only words find them.", width)]
    listed = [(_name(name) or "(none)", part.embedded, part.total) for name, part in rows.embedded.items()]
    # Where all or one category has everything, the rest of the bars would say nothing more.
    is_told = len(listed) == 1 or done == rows.total
    shown = [("all", done, rows.total), *([] if is_told else listed[:_MOST_NAMES])]
    lines = [_bar_line(name, part / total, part, total, width, colour()) for name, part, total in shown]
    lengths = [
        f"{count_text(count)} with {count_text(length)} numbers" for length, count in (rows.dimensions or {}).items()
    ]
    if rows.cut_vectors:
        lengths.append(f"{count_text(rows.cut_vectors)} cut within a number")
    return [title, *lines, *wrapped(f"Vectors: {', '.join(lengths)}", width)]


def biggest_lines(biggest: Sequence[BigMemory], width: int) -> list[Content]:
    """The biggest memories: size, key, category."""
    if not biggest:
        return []
    lines = [Content.styled("Biggest", STRONG)]
    sizes = max(cell_len(size_text(big.size)) for big in biggest)
    categories = max(4, min(14, max(cell_len(_name(big.category)) for big in biggest), width // 4))
    keys = max(1, width - sizes - categories - 2 * _GAP)
    for big in biggest:
        parts: Parts = [
            fit(size_text(big.size), sizes, "right"),
            "  ",
            fit(_name(big.key), keys) if _name(big.key) else (fit(EMPTY_KEY, keys), MUTED),
            "  ",
            (fit(_name(big.category), categories), MUTED),
        ]
        lines.append(Content.assemble(*parts))
    return lines


def storage_lines(counted: StoreStats, width: int) -> list[Content]:
    """What it all takes on disk."""
    rows, storage = counted.rows, counted.rows.storage
    facts = [("texts", size_text(rows.content))]
    if rows.vectors is not None:
        facts.append(("vectors", size_text(rows.vectors)))
    if storage is not None:
        facts += _file_facts(storage)
    names = max(cell_len(name) for name, _ in facts)
    names = min(names, max(8, width // 2))
    lines = [Content.styled("Storage", STRONG)]
    for name, value in facts:
        lines.append(Content.assemble((fit(name, names), MUTED), "  ", fit(value, max(1, width - names - _GAP))))
    for problem in storage.problems if storage is not None else ():
        lines.append(Content.styled(fit(f"▲ {one_line(mask_secrets(problem))}", width), WARNING))
    return lines


def wrapped(sentence: str, width: int) -> list[Content]:
    """A sentence as muted lines of at most so many cells."""
    text, start, lines = one_line(mask_secrets(sentence)), 0, []
    while start < len(text):
        line, start = next_line(text, start, max(8, width))
        lines.append(Content.styled(line, MUTED))
    return lines


def _file_facts(storage: Storage) -> list[tuple[str, str]]:
    free = f"{count_text(storage.free_pages)} of {count_text(storage.pages)}"
    if storage.free_pages:
        free += f", {size_text(storage.free_pages * storage.page_size)}"
    facts = [
        ("database", size_text(storage.file)),
        ("write-ahead log", size_text(storage.write_ahead_log)),
        ("free pages", free),
        ("embedding cache", _cache_words(storage.embedding_cache, "vector")),
        ("response cache", _cache_words(storage.response_cache, "answer")),
    ]
    facts += [(_name(name), size_text(size)) for name, size in storage.side_files[:_MOST_FILES]]
    if len(storage.side_files) > _MOST_FILES:
        rest = storage.side_files[_MOST_FILES:]
        facts.append((f"{count_text(len(rest))} more files", size_text(sum(size for _, size in rest))))
    return facts


def _cache_words(cache: CacheUse | None, what: str) -> str:
    if cache is None:
        return "none"
    counted = f"1 {what}" if cache.rows == 1 else f"{count_text(cache.rows)} {what}s"
    used = "" if cache.hits is None else f", used {count_text(cache.hits)} {'time' if cache.hits == 1 else 'times'}"
    return f"{counted}, {size_text(cache.size)}{used}"


def _bar_line(name: str, length: float | None, count: int, total: int, width: int, colour: str = ACCENT) -> Content:
    """Name, bar, count and share, in columns that are the same for every block of one width."""
    cells = min(_NAME_CELLS, width * 2 // 5)
    room = max(0, min(_WIDEST_BAR, width - cells - _FIGURES - _PERCENT - 2 * _GAP - 1))
    drawn = " " * room if length is None else bar(length, room)
    return Content.assemble(
        (fit(name, cells), MUTED if length is None else ""),
        "  ",
        (drawn, colour),
        " ",
        count_text(count).rjust(_FIGURES),
        (_percent(count / total if total else 0.0).rjust(_PERCENT + _GAP), MUTED),
    )


def _percent(share: float) -> str:
    """A share in whole percent; a little is never nothing, and nearly all is never all."""
    if 0 < share < 0.005:
        return "<1 %"
    if 0.995 <= share < 1:
        return ">99 %"
    return f"{share * 100:.0f} %"


def _name(text: str) -> str:
    return one_line(mask_secrets(text[:_LONGEST_NAME]))


def _undated(growth: Growth, width: int) -> list[Content]:
    if not growth.undated:
        return []
    have = "has" if growth.undated == 1 else "have"
    words = f"▲ {memories_words(growth.undated)} {have} no date that can be read"
    return [Content.styled(fit(words, width), WARNING)]


def _ends(left: tuple[str, str], right: tuple[str, str], width: int) -> Content:
    """Two texts at the two ends of a line; the right one is left out where both do not fit."""
    gap = width - cell_len(left[0]) - cell_len(right[0])
    if gap < _GAP:
        return Content.styled(fit(left[0], width), left[1])
    return Content.assemble(left, " " * gap, right)


def of_many(title: str, counts: Mapping[str, int] | None) -> str:
    """A title with how many different ones there are; rows without one do not make one."""
    different = sum(1 for name in counts or () if name)
    return f"{title}, {count_text(different)} in all" if different > _MOST_NAMES else title
