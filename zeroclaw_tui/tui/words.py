"""The sentences of the browser: what is shown, what a search came to, why nothing is there."""

from __future__ import annotations

from zeroclaw_tui.memory.query import Facets, Superseded
from zeroclaw_tui.memory.recall import RecallResult
from zeroclaw_tui.memory.text import one_line
from zeroclaw_tui.tui.format import count_text, score_text
from zeroclaw_tui.tui.view import Mode, View

EmptyWords = tuple[str, str, tuple[tuple[str, str], ...]]


def memories_words(count: int) -> str:
    """How many memories."""
    return "1 memory" if count == 1 else f"{count_text(count)} memories"


def fact_words(facets: Facets | None, view: View) -> tuple[str, ...]:
    """What the list holds, in ever fewer words; nothing while it is being counted."""
    if facets is None:
        return ("",)
    facts = [memories_words(facets.total)]
    if facets.superseded and view.filter.superseded is Superseded.HIDE:
        facts.append(f"{count_text(facets.superseded)} superseded hidden")
    if facets.not_embedded and facets.not_embedded < facets.total:
        facts.append(f"{count_text(facets.not_embedded)} not embedded")
    return tuple(" · ".join(facts[:length]) for length in range(len(facts), 0, -1))


def mode_facts(
    view: View, recalled: RecallResult | None, facets: Facets | None, milliseconds: float | None
) -> tuple[str, ...]:
    """The numbers of a search, the weightiest first."""
    if not view.query:
        return _scope(view)
    took = () if milliseconds is None else (f"{milliseconds:.0f} ms",)
    if view.mode is Mode.CONTAINS:
        found = () if facets is None else (f"{count_text(facets.total)} found",)
        return (*found, *took, *(chip.words for chip in view.chips))
    if recalled is None:
        return _scope(view)
    limits = (f"limit {recalled.request.limit}", f"threshold {score_text(recalled.threshold)}")
    return (*limits, *took, *_scope(view))


def search_summary(recalled: RecallResult | None, total: int | None, found: int | None) -> tuple[str, ...]:
    """What a recall came to."""
    if recalled is None or not (recalled.results or recalled.withheld):
        return ()
    shown = f"{len(recalled.results)} shown" + (f" of {count_text(total)}" if total is not None else "")
    facts = [shown, f"{recalled.injected} injected"]
    if recalled.withheld:
        facts.append(f"{len(recalled.withheld)} withheld from the agent")
    more = (found or 0) - len(recalled.results)
    if more > 0:
        facts.append(f"find would show {count_text(more)} more (ctrl+f)")
    return (*facts, *recalled.notes)


def why_empty(view: View, backend: str, found: int | None) -> EmptyWords:
    """Why the list is empty, what would fill it, and which key does that."""
    if backend == "none":
        return (
            "Nothing is remembered here.",
            'The config names the backend "none", so ZeroClaw keeps no memory. With another backend there, what it '
            "remembers is listed here.",
            (("r", "read again"), ("q", "quit")),
        )
    filters = (("F", "change the filters"),) if view.chips else ()
    query = f"“{one_line(view.query)[:60]}”"
    if view.is_recall:
        find = () if found == 0 else (("ctrl+f", "find"),)
        return f"The agent recalls nothing for {query}.", _find_words(found), (*find, *_LEAVE, *filters)
    if view.query:
        among = " among the memories that pass the filters" if view.chips else ""
        return f"Nothing contains {query}{among}.", "", (("ctrl+f", "recall as the agent"), *_LEAVE, *filters)
    if view.chips:
        words = " · ".join(chip.words for chip in view.chips)
        return "No memory passes these filters.", words, filters
    return (
        "No memories yet.",
        "ZeroClaw writes them while you talk with it, and they appear here at once.",
        (("r", "read again"), ("q", "quit")),
    )


_LEAVE = (("esc", "leave the search"),)


def _find_words(found: int | None) -> str:
    if found is None:
        return ""
    if found == 0:
        return "No memory contains it, word for word, either."
    return f"Find would show {memories_words(found)} that {'contains' if found == 1 else 'contain'} it."


def _scope(view: View) -> tuple[str, ...]:
    """The filters recall works with, and those it knows nothing of."""
    if view.mode is Mode.CONTAINS:
        return tuple(chip.words for chip in view.chips)
    unused = view.unused_by_recall()
    used = tuple(chip.words for chip in view.chips if chip not in unused)
    return (*used, f"without {', '.join(chip.words for chip in unused)}") if unused else used
