"""The counts of a store as lines of text, and its growth as a curve."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Sparkline, Static

from zeroclaw_tui.curation.stats import Growth, StoreStats, curve_of
from zeroclaw_tui.memory.statistics import CacheUse
from zeroclaw_tui.memory.text import counted, size_shown
from zeroclaw_tui.tui.format import bar, fit, percent_text, shown_line
from zeroclaw_tui.tui.themes import MUTED, STRONG

_MAX_NAMES = 8
_NAME_CELLS, _BAR_CELLS, _COUNT_CELLS = 22, 20, 9
_POINTS = 200
Parts = list[str | tuple[str, str]]


def stats_content(stats: StoreStats, why_no_vectors: str | None) -> Content:
    """Every count of a store: shares of its memories, embeddings, the biggest memories, sizes on disk."""
    return Content.assemble(*(part for line in _lines(stats, why_no_vectors) for part in (*line, "\n")))


def headline(stats: StoreStats) -> tuple[str, ...]:
    """How much there is, and since when."""
    days = stats.growth.days
    facts = [f"{size_shown(stats.rows.content)} of text"]
    if days:
        first, last = days[0][0], days[-1][0]
        facts.append(f"all of {first}" if first == last else f"{first} to {last}")
    if stats.every.superseded:
        facts.append(f"{stats.every.superseded:,} of them superseded")
    return counted(stats.rows.total), *facts


class GrowthPlot(Vertical):
    """How a store grew, as a curve under its heading; where none can be drawn, a sentence."""

    DEFAULT_CSS = """
    GrowthPlot { height: auto; width: 1fr; }
    GrowthPlot Static { text-wrap: nowrap; text-overflow: ellipsis; }
    GrowthPlot Sparkline { width: 1fr; height: 3; }
    GrowthPlot Sparkline > .sparkline--min-color { color: $primary 55%; }
    """

    def compose(self) -> ComposeResult:
        yield Static("", markup=False)
        yield Sparkline(summary_function=sum)

    def show(self, growth: Growth) -> None:
        """Draw a growth."""
        plot, heading = self.query_one(Sparkline), self.query_one(Static)
        curve = curve_of(growth, _POINTS) if len(growth.days) > 1 else None
        undated = f" · {counted(growth.undated)} without a readable date" if growth.undated else ""
        plot.display = curve is not None
        if curve is None or growth.busiest is None:
            heading.update(Content.styled(f"A growth curve needs memories of 2 days.{undated}", MUTED))
            return
        day, count = growth.busiest
        facts = f" · {curve.first} to {curve.last} · most on one day: {count:,} on {day}{undated}"
        heading.update(Content.assemble(("Growth", STRONG), (facts, MUTED)))
        # The heights of all bars count from a zero before the first day.
        plot.data = (0, *curve.counts)


def _lines(stats: StoreStats, why_no_vectors: str | None) -> Iterator[Parts]:
    facets, rows, storage = stats.every, stats.rows, stats.rows.storage
    yield from _shares("Categories", facets.category)
    yield from _shares("Ages", facets.ages)
    yield from _shares("Sizes", rows.size)
    for title, counts in ("Sessions", facets.session), ("Agents", facets.agent), ("Namespaces", facets.namespace):
        yield from _shares(title, counts) if counts is not None and len(counts) > 1 else ()
    yield from _embedded(stats, why_no_vectors)
    if rows.biggest:
        yield _section("Biggest")
        yield from (_line(big.key or "(no key)", size_shown(big.size), remark=big.category) for big in rows.biggest)
    yield _section("On disk")
    yield _line("texts", size_shown(rows.content))
    if rows.vectors is not None:
        yield _line("vectors", size_shown(rows.vectors))
    if storage is not None:
        free = f"{storage.free_pages:,} of {storage.pages:,} pages"
        yield _line("database", size_shown(storage.file))
        yield _line("write-ahead log", size_shown(storage.write_ahead_log))
        yield _line("empty pages", size_shown(storage.free_pages * storage.page_size), remark=free)
        yield _cache("embedding cache", storage.embedding_cache, "vector")
        yield _cache("response cache", storage.response_cache, "answer")
        if storage.side_files:
            size = size_shown(sum(size for _, size in storage.side_files))
            yield _line(counted(len(storage.side_files), "other file"), size)
        yield from (_line("▲", "", remark=problem) for problem in storage.problems)


def _section(title: str) -> Parts:
    return [(f"\n{title}", STRONG)]


def _line(name: str, count: str, share: float | None = None, *, remark: str = "", look: str = "$primary") -> Parts:
    """A count with its share as a bar and in percent, and a remark."""
    line: Parts = [fit(shown_line(name), _NAME_CELLS)]
    if share is not None:
        line.append((f"  {bar(share, _BAR_CELLS).ljust(_BAR_CELLS)}", look))
    line.append(f"  {count:>{_COUNT_CELLS}}")
    line.append((f"  {percent_text(share):>5}" if share is not None else "", MUTED))
    line.append((f"  {shown_line(remark)}" if remark else "", MUTED))
    return line


def _shares(title: str, counts: Mapping[str, int]) -> Iterator[Parts]:
    """Each of them as a share of all; of many names the first, and how many more."""
    named = {name: count for name, count in counts.items() if count}
    total = sum(named.values())
    if not total:
        return
    yield _section(f"{title}, {len(named):,} in all" if len(named) > _MAX_NAMES else title)
    shown = list(named.items())[:_MAX_NAMES]
    yield from (_line(name or "(none)", f"{count:,}", count / total) for name, count in shown)
    rest = total - sum(count for _, count in shown)
    if rest:
        yield _line(f"… {len(named) - len(shown):,} more", f"{rest:,}", rest / total)


def _embedded(stats: StoreStats, why_not: str | None) -> Iterator[Parts]:
    """How many memories have a vector, in all and in each category."""
    rows = stats.rows
    done = sum(part.embedded for part in (rows.embedded or {}).values())
    if rows.embedded is None or not done:
        why = why_not or "this store has none" if rows.embedded is None else "none, so only keywords find them"
        yield _section(f"With a vector: {why}")
        return
    lengths = [f"{count:,} with {length:,} dimensions" for length, count in (rows.dimensions or {}).items()]
    if rows.cut_vectors:
        lengths.append(f"{rows.cut_vectors:,} truncated")
    yield _section(f"With a vector: {', '.join(lengths)}")
    parts = [("all", done, rows.total)]
    if len(rows.embedded) > 1 and done < rows.total:
        parts += [(name or "(none)", part.embedded, part.total) for name, part in rows.embedded.items()]
    for name, count, total in parts[: _MAX_NAMES + 1]:
        yield _line(name, f"{count:,}", count / total if total else 0.0, remark=f"of {total:,}", look="$secondary")


def _cache(name: str, cache: CacheUse | None, entry: str) -> Parts:
    if cache is None:
        return _line(name, "", remark="none")
    used = "" if cache.hits is None else f", used {counted(cache.hits, 'time')}"
    return _line(name, size_shown(cache.size), remark=f"{counted(cache.rows, entry)}{used}")
