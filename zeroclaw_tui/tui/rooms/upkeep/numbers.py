"""How much is remembered: the growth as a curve, and every count as a row with the share it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
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
from zeroclaw_tui.curation.words import among_fact
from zeroclaw_tui.memory.statistics import CacheUse, Storage
from zeroclaw_tui.memory.text import counted, mask_secrets, one_line, size_shown
from zeroclaw_tui.tui.format import bar, count_text, fit
from zeroclaw_tui.tui.themes import MUTED, STRONG, WARNING
from zeroclaw_tui.tui.view import Mode, Part, View
from zeroclaw_tui.tui.widgets.rows import EMPTY_KEY
from zeroclaw_tui.tui.widgets.table_list import Column, Look

Lines = Callable[[int], Sequence[Content]]
"""Makes the lines for a width in cells."""
_MOST_NAMES = 8
_FEW_NAMES = 5
_MOST_FILES = 6
_BAR = 20
_GAP = 2
_LOOKED_AT = 2000
Narrowed = Callable[[View], View]


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
        """One line for each."""
        return len(self._lines(max(1, width)))

    def render(self) -> RenderResult:
        """The lines at this width."""
        return Content("\n").join(self._lines(max(1, self.content_size.width)))


@dataclass(frozen=True, slots=True)
class NumberRow:
    """One count. `share` is what its bar and its percent say, None where there is no whole to be a share of.

    `narrowed` leads to the memories that are counted; a row with a `section` is the title above others.
    """

    name: str
    count: str = ""
    share: float | None = None
    beside: str = ""
    look: Look = "final"
    narrowed: Narrowed | None = None
    section: str | None = None


def number_rows(every: StoreStats, memory: Memory) -> list[NumberRow]:
    """Every count of a store: shares of all its memories, what has a vector, the biggest, what lies on disk."""
    facets, rows = every.every, every.rows
    return [
        *_shares("Categories", facets.category, "category"),
        *_shares("Ages", facets.ages, "age"),
        *_shares("Sizes", rows.size, None),
        *_several("Sessions", facets.session, "session"),
        *_several("Agents", facets.agent, "agent"),
        *_several("Namespaces", facets.namespace, "namespace"),
        *_embedded(every, memory.capabilities.why_not.get("vectors")),
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
    Column("", lambda row: "" if row.share is None else _percent(row.share), width=5, right=True, look="muted"),
    Column("", lambda row: row.beside, flex=True, look="muted"),
)  # fmt: skip


def counts_content(every: StoreStats) -> Content:
    """How much there is, and since when."""
    rows, days = every.rows, every.growth.days
    facts = [f"{size_shown(rows.content)} of text"]
    if days:
        first, last = days[0][0], days[-1][0]
        facts.append(f"all of {first}" if first == last else f"{first} to {last}")
    if every.every.superseded:
        facts.append(among_fact(every.every.superseded))
    return Content.assemble((counted(rows.total), STRONG), (", " + " · ".join(facts), MUTED))


def row_about(row: NumberRow) -> Content:
    """What a count is of, and where it leads."""
    share = "" if row.share is None else f", {_percent(row.share)}"
    name = one_line(mask_secrets(row.name[:_LOOKED_AT]))
    parts: list[str | tuple[str, str]] = [(fit(name, 60).rstrip(), STRONG), (f"  {row.count}{share}", MUTED)]
    if row.beside:
        parts.append((f"\n{one_line(mask_secrets(row.beside[:_LOOKED_AT]))}", MUTED))
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
        """What a point stands for, the curve, its first and last day."""
        yield LinesBlock()
        yield Sparkline()
        yield LinesBlock()

    def show(self, growth: Growth) -> None:
        """Draw another growth."""
        self._growth = growth
        self._draw()

    def on_resize(self) -> None:
        """Coarser or finer, by the width there is."""
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
    most = "" if busiest is None else f"most on one day: {count_text(busiest[1])} on {busiest[0]}"
    return [_ends((f"Stored per {curve.span}", STRONG), (most, MUTED), width)]


def _axis(curve: Curve, growth: Growth, width: int) -> list[Content]:
    return [_ends((str(curve.first), MUTED), (str(curve.last), MUTED), width), *_undated(growth, width)]


def _without_curve(growth: Growth, width: int) -> list[Content]:
    if not growth.days:
        return [Content.styled(fit("No creation date can be read, so there is no growth to draw.", width), MUTED)]
    day, count = growth.days[0]
    said = f"{'It was' if count == 1 else f'All {count_text(count)} were'} stored on {day}: one day draws no growth."
    return [Content.styled(fit(said, width), MUTED), *_undated(growth, width)]


def _undated(growth: Growth, width: int) -> list[Content]:
    if not growth.undated:
        return []
    have = "has" if growth.undated == 1 else "have"
    return [Content.styled(fit(f"▲ {counted(growth.undated)} {have} no date that can be read", width), WARNING)]


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
            name or "(none)", count_text(count), count / total,
            narrowed=None if part is None else partial(View.toggled, part=part, value=name),
        )
        for name, count in shown
    ]  # fmt: skip
    rest = total - sum(count for _, count in shown)
    if len(counts) > len(shown):
        rows.append(NumberRow(f"… {count_text(len(counts) - len(shown))} more", count_text(rest), rest / total))
    return rows


def _several(title: str, counts: Mapping[str, int] | None, part: Part) -> list[NumberRow]:
    """As that; of one value alone there is nothing to compare."""
    return _shares(title, counts, part, _FEW_NAMES) if counts is not None and len(counts) > 1 else []


def _title(title: str, counts: Mapping[str, int]) -> str:
    """A title with how many different ones there are; rows without one do not make one."""
    different = sum(1 for name in counts if name)
    return f"{title}, {count_text(different)} in all" if different > _MOST_NAMES else title


def _embedded(every: StoreStats, why_not: str | None) -> list[NumberRow]:
    """What has a vector, each bar the share of its own category that has one."""
    rows = every.rows
    done = sum(part.embedded for part in (rows.embedded or {}).values())
    if rows.embedded is None or not done:
        why = why_not or "this store keeps none" if rows.embedded is None else "none, so only words find them"
        return [NumberRow("", section=f"With a vector: {why}")]
    lengths = [
        f"{count_text(count)} with {count_text(length)} numbers" for length, count in (rows.dimensions or {}).items()
    ]
    if rows.cut_vectors:
        lengths.append(f"{count_text(rows.cut_vectors)} cut within a number")
    parts = [("all", done, rows.total)]
    if len(rows.embedded) > 1 and done < rows.total:
        # Where all or one category has everything, the rest of the bars would say nothing more.
        named = [(name or "(none)", part.embedded, part.total) for name, part in rows.embedded.items()]
        parts += named[:_MOST_NAMES]
    return [
        NumberRow("", section=f"With a vector: {', '.join(lengths)}"),
        *(
            NumberRow(name, count_text(part), part / total if total else 0.0, f"of {count_text(total)}", "vector")
            for name, part, total in parts
        ),
    ]


def _biggest(every: StoreStats) -> list[NumberRow]:
    if not every.rows.biggest:
        return []

    def holding(view: View, key: str) -> View:
        return view.searching_by(Mode.CONTAINS).searching(key)

    return [
        NumberRow("", section="Biggest"),
        *(
            NumberRow(
                big.key or EMPTY_KEY, size_shown(big.size), beside=big.category,
                narrowed=partial(holding, key=big.key) if big.key else None,
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
    free = f"{count_text(storage.free_pages)} of {count_text(storage.pages)} pages"
    facts = [
        NumberRow("database", size_shown(storage.file)),
        NumberRow("write-ahead log", size_shown(storage.write_ahead_log)),
        NumberRow("empty pages", size_shown(storage.free_pages * storage.page_size), beside=free),
        _cache("embedding cache", storage.embedding_cache, "vector"),
        _cache("response cache", storage.response_cache, "answer"),
        *(NumberRow(name, size_shown(size)) for name, size in storage.side_files[:_MOST_FILES]),
    ]
    rest = storage.side_files[_MOST_FILES:]
    if rest:
        facts.append(NumberRow(f"{count_text(len(rest))} more files", size_shown(sum(size for _, size in rest))))
    return [*facts, *(NumberRow("▲", beside=problem) for problem in storage.problems)]


def _cache(name: str, cache: CacheUse | None, what: str) -> NumberRow:
    if cache is None:
        return NumberRow(name, beside="none")
    used = "" if cache.hits is None else f", used {counted(cache.hits, 'time')}"
    return NumberRow(name, size_shown(cache.size), beside=f"{counted(cache.rows, what)}{used}")


def _percent(share: float) -> str:
    """A share in whole percent; a little is never nothing, and nearly all is never all."""
    if 0 < share < 0.005:
        return "<1 %"
    if 0.995 <= share < 1:
        return ">99 %"
    return f"{share * 100:.0f} %"
