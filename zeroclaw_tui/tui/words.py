"""The sentences of the browser: what is shown, what a search came to, why nothing is there."""

from __future__ import annotations

from collections.abc import Sequence

from zeroclaw_tui.memory.query import Facets, Superseded
from zeroclaw_tui.memory.recall import RecallResult
from zeroclaw_tui.memory.text import one_line
from zeroclaw_tui.tui.format import count_text, score_text
from zeroclaw_tui.tui.view import Mode, View

EmptyWords = tuple[str, str, tuple[tuple[str, str], ...]]
_USUAL_SCALES = ("0..1", "raw bm25")
_NOT_THE_AGENTS = "our own ranking: the agent does not do this"


def memories_words(count: int) -> str:
    """How many memories."""
    return "1 memory" if count == 1 else f"{count_text(count)} memories"


def blocks_words(count: int) -> str:
    """How many blocks of lines."""
    return "1 block" if count == 1 else f"{count_text(count)} blocks"


def mark_words(marked: int, shown: int | None, memories: int | None = None, *, blocks: bool = False) -> tuple[str, str]:
    """How many rows are marked and how many of them are not among those shown; what can be done with them.

    `memories` is how many memories they are, None while that is not known; `blocks` says that the rows are blocks.
    """
    if not marked:
        return "", ""
    hidden = 0 if shown is None else marked - shown
    apart = f", {'' if marked == 1 else f'{count_text(hidden)} '}not among these" if hidden else ""
    told = count_text(marked)
    if blocks:
        is_more = memories is not None and memories != marked
        told = f"{memories_words(memories or 0)} in {blocks_words(marked)}" if is_more else blocks_words(marked)
    elif memories is not None and memories != marked:
        told = memories_words(memories)
    them = "it" if marked == 1 and memories in (None, 1) else "them"
    return f"● {told} marked{apart}", f"d deletes {them}, \\ unmarks {them}"


def fact_words(facets: Facets | None, view: View) -> tuple[str, ...]:
    """What the list holds, in ever fewer words; nothing while it is being counted."""
    if facets is None:
        return ("",)
    told = [blocks_words(facets.total) if view.shows_blocks else memories_words(facets.total)]
    if facets.superseded and view.filter.superseded is Superseded.HIDE:
        told.append(f"{count_text(facets.superseded)} superseded hidden")
    if facets.not_embedded and facets.not_embedded < facets.total:
        told.append(f"{count_text(facets.not_embedded)} not embedded")
    return tuple(" · ".join(told[:length]) for length in range(len(told), 0, -1))


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
    limits: tuple[str, ...] = (f"limit {recalled.request.limit}",)
    if not recalled.request.own_fusion:
        limits += (f"threshold {score_text(recalled.threshold)}",)
    return (*limits, *took, *_scope(view))


def search_summary(
    view: View, recalled: RecallResult | None, total: int | None, found: int | None, general: str | None = None
) -> tuple[str, ...]:
    """What a recall came to; `general` is the note that holds for every recall of this store, and comes last.

    The total counts what passes all filters, so it is left out where recall does not narrow by them.
    """
    if recalled is None or not (recalled.results or recalled.withheld):
        return ()
    ignored = _ignored_words(view)
    has_total = total is not None and not ignored
    shown = f"{len(recalled.results)} shown" + (f" of {count_text(total or 0)}" if has_total else "")
    facts = [shown, _NOT_THE_AGENTS if recalled.request.own_fusion else f"{recalled.injected} injected"]
    if recalled.scale not in _USUAL_SCALES and any(result.score is not None for result in recalled.results):
        facts.append(f"score: {recalled.scale}")
    if recalled.withheld:
        facts.append(f"{len(recalled.withheld)} withheld from the agent")
    if ignored:
        facts.append(ignored)
    if found is not None and found > len(recalled.results):
        facts.append(f"contains finds {count_text(found)} (ctrl+f)")
    return (*facts, *sorted(recalled.notes, key=lambda note: note == general))


def why_empty(
    view: View,
    backend: str,
    found: int | None,
    *,
    can_write: bool = False,
    notes: Sequence[str] = (),
    is_watched: bool = True,
) -> EmptyWords:
    """Why the list is empty, what would fill it, and which key does that.

    `notes` are those of the recall, or of a store that keeps nothing; `is_watched` says that what others write is seen
    by itself.
    """
    if backend == "none":
        return (
            "Nothing is remembered here.",
            " ".join(notes),
            (("b", "look at another store"), ("r", "read again"), ("q", "quit")),
        )
    filters = (("F", "change the filters"),) if view.chips else ()
    ignored = _ignored_words(view)
    query = f"“{one_line(view.query)[:60]}”"
    if view.is_recall:
        contains = () if found == 0 else (("ctrl+f", "search with contains"),)
        nobody = "The store's own fusion finds" if view.mode is Mode.HYBRID else "The agent recalls"
        facts = (_contained_words(found, view), *map(_sentence, (ignored, *notes)))
        sentence = "\n".join(fact for fact in facts if fact)
        return f"{nobody} nothing for {query}.", sentence, (*contains, *_LEAVE, *filters)
    if view.query:
        among = " among the memories that pass the filters" if view.chips else ""
        return f"Nothing contains {query}{among}.", "", (("ctrl+f", "recall as the agent"), *_LEAVE, *filters)
    if view.chips:
        words = " · ".join(chip.words for chip in view.chips)
        return "No memory passes these filters.", words, filters
    return (
        "No memories yet.",
        _who_writes(backend, is_watched),
        (*((("n", "write one"),) if can_write else ()), ("r", "read again"), ("q", "quit")),
    )


_LEAVE = (("esc", "leave the search"),)


def _who_writes(backend: str, is_watched: bool) -> str:
    if backend == "in-memory":
        return "They live in this process alone: what is written here is gone when it ends."
    shown = "they appear here at once" if is_watched else "r shows them then"
    return f"ZeroClaw writes them while you talk with it, and {shown}."


def _sentence(words: str) -> str:
    """Words with a capital and a full stop; nothing stays nothing."""
    clean = one_line(words).rstrip(".")
    return f"{clean[0].upper()}{clean[1:]}." if clean else ""


def _contained_words(found: int | None, view: View) -> str:
    if found is None:
        return ""
    among = " among those that pass the filters" if view.chips else ""
    if found == 0:
        return f"No memory{among} contains it, letter for letter, either."
    return f"{memories_words(found)}{among} {'contains' if found == 1 else 'contain'} it, letter for letter."


def _ignored_words(view: View) -> str:
    """Which filters recall knows nothing of, so that nobody takes its results for narrowed."""
    words = [chip.words for chip in view.unused_by_recall()]
    return f"recall ignores the filter{'' if len(words) == 1 else 's'} {', '.join(words)}" if words else ""


def _scope(view: View) -> tuple[str, ...]:
    """The filters that the search works with."""
    if view.mode is Mode.CONTAINS:
        return tuple(chip.words for chip in view.chips)
    unused = view.unused_by_recall()
    return tuple(chip.words for chip in view.chips if chip not in unused)
