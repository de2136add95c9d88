"""The counts of a store as rows of a table, and its growth as a curve."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from rich.cells import cell_len
from textual.app import ComposeResult, RenderResult
from textual.containers import Vertical
from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget
from textual.widgets import Sparkline

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.curation.stats import Curve, Growth, StoreStats, curve_of
from zeroclaw_tui.memory.statistics import CacheUse, Storage
from zeroclaw_tui.memory.text import counted, size_shown
from zeroclaw_tui.tui.format import bar, fit, percent_text, shown_line
from zeroclaw_tui.tui.themes import MUTED, STRONG, WARNING
from zeroclaw_tui.tui.view import Mode, Part, View
from zeroclaw_tui.tui.widgets.rows import EMPTY_KEY
from zeroclaw_tui.tui.widgets.table_list import Column, Look

Lines = Callable[[int], Sequence[Content]]
"""Makes the lines for a width in cells."""
Narrowed = Callable[[View], View]
_MOST_NAMES = 8
_FEW_NAMES = 5
_MOST_FILES = 6
_BAR = 20
_GAP = 2


class LinesBlock(Widget):
    """A few lines that are as long as there is room. They are shown as they are: clean them first."""

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    LinesBlock { width: 1fr; height: auto; text-wrap: nowrap; text-overflow: clip; }
    """

    def __init__(self, lines: Lines | None = None, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._lines = lines or (lambda width: ())

    def show(self, lines: Lines) -> None:
        """Show other lines; without any the block takes no room."""
        self._lines = lines
        self.display = bool(lines(1))
        self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self._lines(max(1, width)))

    def render(self) -> RenderResult:
        return Content("\n").join(self._lines(max(1, self.content_size.width)))


@dataclass(frozen=True, slots=True)
class NumberRow:
    """One count. `share` is what its bar and its percent say, None where there is no whole to be a share of.

    `narrowed` leads to the memories that are counted; a row with a `section` is the title above others.
    """

    name: str
    count: str = ""
    share: float | None = None
    remark: str = ""
    look: Look = "final"
    narrowed: Narrowed | None = None
    section: str | None = None


def number_rows(every: StoreStats, memory: Memory) -> list[NumberRow]:
    """Every count of a store: shares of its memories, embeddings, the biggest memories, sizes on disk."""
    facets, rows = every.every, every.rows
    return [
        *_shares("Categories", facets.category, "category"),
        *_shares("Ages", facets.ages, "age"),
        *_shares("Sizes", rows.size, None),
        *_several("Sessions", facets.session, "session"),
        *_several("Agents", facets.agent, "agent"),
        *_several("Namespaces", facets.namespace, "namespace"),
        *_embedded(every, memory.why_not.get("vectors")),
        *_biggest(every),
        *_storage(every),
    ]


NUMBER_COLUMNS: Sequence[Column[NumberRow]] = (
    Column("", lambda row: row.name, width=22),
    Column(
        "share", lambda row: "" if row.share is None else Content.styled(bar(row.share, _BAR), row.look), width=_BAR,
        hidden_below=66,
    ),
    Column("memories", lambda row: row.count, width=9, right=True),
    Column("", lambda row: "" if row.share is None else percent_text(row.share), width=5, right=True, look="muted"),
    Column("", lambda row: row.remark, flex=True, look="muted"),
)  # fmt: skip


def counts_content(every: StoreStats) -> Content:
    """How much there is, and since when."""
    rows, days = every.rows, every.growth.days
    facts = [f"{size_shown(rows.content)} of text"]
    if days:
        first, last = days[0][0], days[-1][0]
        facts.append(f"all of {first}" if first == last else f"{first} to {last}")
    if every.every.superseded:
        facts.append(f"{every.every.superseded:,} of them superseded")
    return Content.assemble((counted(rows.total), STRONG), (", " + " · ".join(facts), MUTED))


def row_about(row: NumberRow) -> Content:
    """What a count is of, and where it leads."""
    share = "" if row.share is None else f", {percent_text(row.share)}"
    name = shown_line(row.name, 60)
    parts: list[str | tuple[str, str]] = [(name, STRONG), (f"  {row.count}{share}", MUTED)]
    if row.remark:
        parts.append((f"\n{shown_line(row.remark)}", MUTED))
    if row.narrowed is not None:
        parts += ["\n\n", ("⏎", "$primary"), (" shows them in the list", MUTED)]
    return Content.assemble(*parts)


class GrowthPlot(Vertical):
    """How a memory grew, as a curve as wide as there is room; where none can be drawn, a sentence."""

    DEFAULT_CSS = """
    GrowthPlot { height: auto; width: 1fr; }
    GrowthPlot Sparkline { width: 1fr; height: 3; }
    GrowthPlot Sparkline > .sparkline--min-color { color: $primary 55%; }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._growth = Growth((), 0)
        self._width = 0

    def compose(self) -> ComposeResult:
        yield LinesBlock()
        yield Sparkline()
        yield LinesBlock()

    def show(self, growth: Growth) -> None:
        """Draw another growth."""
        self._growth = growth
        self._draw()

    def on_resize(self) -> None:
        if self.content_size.width != self._width:
            self._width = self.content_size.width
            self._draw()

    def _draw(self) -> None:
        growth = self._growth
        plot, heading, axis = self.query_one(Sparkline), *self.query(LinesBlock)
        curve = curve_of(growth, max(2, self._width - 1)) if len(growth.days) > 1 else None
        plot.display = axis.display = curve is not None
        if curve is None:
            heading.show(partial(_without_curve, growth))
            return
        heading.show(partial(_heading, curve, growth))
        axis.show(partial(_axis, curve, growth))
        # Nothing was stored before the first day: from that zero the heights of all bars count.
        plot.data = (0, *curve.counts)


def _heading(curve: Curve, growth: Growth, width: int) -> list[Content]:
    busiest = growth.busiest
    most = "" if busiest is None else f"most on one day: {busiest[1]:,} on {busiest[0]}"
    return [_ends((f"Stored per {curve.span}", STRONG), (most, MUTED), width)]


def _axis(curve: Curve, growth: Growth, width: int) -> list[Content]:
    return [_ends((str(curve.first), MUTED), (str(curve.last), MUTED), width), *_undated(growth, width)]


def _without_curve(growth: Growth, width: int) -> list[Content]:
    if not growth.days:
        return [Content.styled(fit("No growth curve, because no creation date is readable.", width), MUTED)]
    day, count = growth.days[0]
    sentence = f"{'It was' if count == 1 else f'All {count:,} were'} stored on {day}. A growth curve needs 2 days."
    return [Content.styled(fit(sentence, width), MUTED), *_undated(growth, width)]


def _undated(growth: Growth, width: int) -> list[Content]:
    if not growth.undated:
        return []
    have = "has" if growth.undated == 1 else "have"
    return [Content.styled(fit(f"▲ {counted(growth.undated)} {have} no readable date", width), WARNING)]


def _ends(left: tuple[str, str], right: tuple[str, str], width: int) -> Content:
    """Two texts at the two ends of a line; the right one is left out where both do not fit."""
    gap = width - cell_len(left[0]) - cell_len(right[0])
    if gap < _GAP:
        return Content.styled(fit(left[0], width), left[1])
    return Content.assemble(left, " " * gap, right)


def _shares(title: str, counts: Mapping[str, int], part: Part | None, most: int = _MOST_NAMES) -> list[NumberRow]:
    """Each of them as a share of all; of many names the first, and how many more."""
    counts = {name: count for name, count in counts.items() if count}
    total = sum(counts.values())
    if not total:
        return []
    shown = list(counts.items())[:most]
    rows = [NumberRow("", section=_title(title, counts))]
    rows += [
        NumberRow(
            name or "(none)", f"{count:,}", count / total,
            narrowed=None if part is None else partial(View.toggled, part=part, value=name),
        )
        for name, count in shown
    ]  # fmt: skip
    rest = total - sum(count for _, count in shown)
    if len(counts) > len(shown):
        rows.append(NumberRow(f"… {len(counts) - len(shown):,} more", f"{rest:,}", rest / total))
    return rows


def _several(title: str, counts: Mapping[str, int] | None, part: Part) -> list[NumberRow]:
    """The same, but nothing for a single value."""
    return _shares(title, counts, part, _FEW_NAMES) if counts is not None and len(counts) > 1 else []


def _title(title: str, counts: Mapping[str, int]) -> str:
    """A title with how many different ones there are; rows without one do not make one."""
    different = sum(1 for name in counts if name)
    return f"{title}, {different:,} in all" if different > _MOST_NAMES else title


def _embedded(every: StoreStats, why_not: str | None) -> list[NumberRow]:
    """What has a vector, each bar the share of its own category that has one."""
    rows = every.rows
    done = sum(part.embedded for part in (rows.embedded or {}).values())
    if rows.embedded is None or not done:
        why = why_not or "this store has none" if rows.embedded is None else "none, so only keywords find them"
        return [NumberRow("", section=f"With a vector: {why}")]
    lengths = [f"{count:,} with {length:,} dimensions" for length, count in (rows.dimensions or {}).items()]
    if rows.cut_vectors:
        lengths.append(f"{rows.cut_vectors:,} truncated")
    parts = [("all", done, rows.total)]
    if len(rows.embedded) > 1 and done < rows.total:
        # Where all or one category has everything, the rest of the bars would say nothing more.
        named = [(name or "(none)", part.embedded, part.total) for name, part in rows.embedded.items()]
        parts += named[:_MOST_NAMES]
    return [
        NumberRow("", section=f"With a vector: {', '.join(lengths)}"),
        *(
            NumberRow(name, f"{part:,}", part / total if total else 0.0, f"of {total:,}", "vector")
            for name, part, total in parts
        ),
    ]


def _biggest(every: StoreStats) -> list[NumberRow]:
    if not every.rows.biggest:
        return []

    return [
        NumberRow("", section="Biggest"),
        *(
            NumberRow(
                big.key or EMPTY_KEY, size_shown(big.size), remark=big.category,
                narrowed=partial(replace, mode=Mode.CONTAINS, query=big.key) if big.key else None,
            )
            for big in every.rows.biggest
        ),
    ]  # fmt: skip


def _storage(every: StoreStats) -> list[NumberRow]:
    rows, storage = every.rows, every.rows.storage
    facts = [NumberRow("", section="On disk"), NumberRow("texts", size_shown(rows.content))]
    if rows.vectors is not None:
        facts.append(NumberRow("vectors", size_shown(rows.vectors)))
    return facts + (_files(storage) if storage is not None else [])


def _files(storage: Storage) -> list[NumberRow]:
    free = f"{storage.free_pages:,} of {storage.pages:,} pages"
    facts = [
        NumberRow("database", size_shown(storage.file)),
        NumberRow("write-ahead log", size_shown(storage.write_ahead_log)),
        NumberRow("empty pages", size_shown(storage.free_pages * storage.page_size), remark=free),
        _cache("embedding cache", storage.embedding_cache, "vector"),
        _cache("response cache", storage.response_cache, "answer"),
        *(NumberRow(name, size_shown(size)) for name, size in storage.side_files[:_MOST_FILES]),
    ]
    rest = storage.side_files[_MOST_FILES:]
    if rest:
        facts.append(NumberRow(f"{len(rest):,} more files", size_shown(sum(size for _, size in rest))))
    return [*facts, *(NumberRow("▲", remark=problem) for problem in storage.problems)]


def _cache(name: str, cache: CacheUse | None, what: str) -> NumberRow:
    if cache is None:
        return NumberRow(name, remark="none")
    used = "" if cache.hits is None else f", used {counted(cache.hits, 'time')}"
    return NumberRow(name, size_shown(cache.size), remark=f"{counted(cache.rows, what)}{used}")
