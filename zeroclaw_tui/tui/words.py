"""The sentences of the browser: what is shown, what a search came to, why nothing is there."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from zeroclaw_tui.memory.errors import WrongUse
from zeroclaw_tui.memory.query import Facets, Superseded
from zeroclaw_tui.memory.recall import SIMILAR, RecallResult
from zeroclaw_tui.memory.text import one_line
from zeroclaw_tui.tui.format import count_text, score_text
from zeroclaw_tui.tui.view import FINDS, Mode, View

if TYPE_CHECKING:
    from zeroclaw_tui.backends.base import Memory
    from zeroclaw_tui.config.memory_config import EmbeddingConfig

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
    if view.mode in FINDS:
        found = () if facets is None else (f"{count_text(facets.total)} found",)
        return (*found, *took, *(chip.words for chip in view.chips))
    if recalled is None or recalled.mode == SIMILAR:
        return () if recalled is not None else _scope(view)
    limits: tuple[str, ...] = (f"limit {recalled.request.limit}",)
    if not recalled.request.own_fusion:
        limits += (f"threshold {score_text(recalled.threshold)}",)
    return (*limits, *took, *_scope(view))


def vector_words(recalled: RecallResult | None, place: str, resting: float) -> str:
    """What is to be known of the query's vector: that the host `place` is asked for it, or for how many seconds it is
    not asked again after a failure."""
    if recalled is not None and recalled.awaits_vector:
        return f"asking {one_line(place)} for the query's vector …"
    if recalled is None or not resting:
        return ""
    from zeroclaw_tui.curation.recall import KEYWORD_HITS_ONLY

    if any(KEYWORD_HITS_ONLY in note for note in recalled.notes):
        return f"{one_line(place)} is not asked again for {math.ceil(resting)} s, r asks at once"
    return ""


def search_summary(
    view: View,
    recalled: RecallResult | None,
    total: int | None,
    found: int | None,
    general: str | None = None,
    *,
    words: int | None = None,
    vector: str = "",
) -> tuple[str, ...]:
    """What a recall came to; `general` is the note that holds for every recall of this store, and comes last.

    `found` and `words` are how many contain the query and how many hold all of its words, None where that is not known
    or the same. `vector` is what is to be known of the query's vector.
    The total counts what passes all filters, so it is left out where recall does not narrow by them.
    """
    if recalled is None or not (recalled.results or recalled.withheld):
        return ()
    if recalled.mode == SIMILAR:
        unused = "similar looks at every memory, whatever the filters" if view.chips else ""
        near = f"{len(recalled.results)} near" + (" so far" if recalled.awaits_vector else "")
        return tuple(fact for fact in (near, vector, *recalled.notes, unused) if fact)
    ignored = _ignored_words(view)
    has_total = total is not None and not ignored
    shown = f"{len(recalled.results)} shown" + (f" of {count_text(total or 0)}" if has_total else "")
    facts = [shown, _NOT_THE_AGENTS if recalled.request.own_fusion else f"{recalled.injected} injected"]
    if recalled.not_read_because is not None:
        facts[1] = recalled.not_read_because.rstrip(".")
    elif recalled.awaits_vector:
        facts[1] += " so far"
    if vector:
        facts.append(vector)
    if recalled.scale not in _USUAL_SCALES and any(result.score is not None for result in recalled.results):
        facts.append(f"score: {recalled.scale}")
    if recalled.withheld:
        facts.append(f"{len(recalled.withheld)} withheld from the agent")
    if ignored:
        facts.append(ignored)
    if found is not None and found > len(recalled.results):
        facts.append(f"contains finds {count_text(found)} ({_presses(view, Mode.CONTAINS)})")
    if words is not None and words > max(found or 0, len(recalled.results)):
        facts.append(f"all its words: {count_text(words)} ({_presses(view, Mode.WORDS)})")
    return (*facts, *sorted(recalled.notes, key=lambda note: note == general))


def empty_so_far(view: View, vector: str) -> EmptyWords:
    """Why the list is empty while the query's vector is still to come; `vector` says so."""
    return f"Nothing by the words of “{one_line(view.query)[:60]}” so far.", _capital(vector), _LEAVE


def unusable_pattern(error: WrongUse) -> EmptyWords:
    """Why the list is empty when nothing was looked for: what is wrong with the pattern."""
    return error.message, error.hint or "", (_NEXT[Mode.REGEX], *_LEAVE)


def why_empty(
    view: View,
    memory: Memory,
    found: int | None,
    *,
    words: int | None = None,
    can_write: bool = False,
    notes: Sequence[str] = (),
    is_watched: bool = True,
) -> EmptyWords:
    """Why the list is empty, what would fill it, and which key does that.

    `found` and `words` are what `search_summary` takes. `notes` are those of the recall, or of a store that keeps
    nothing; `is_watched` says that what others write is seen by itself.
    """
    if memory.keeps_nothing:
        return (
            "Nothing is remembered here.",
            " ".join(notes),
            (("b", "look at another store"), ("r", "read again"), ("q", "quit")),
        )
    filters = (("F", "change the filters"),) if view.chips else ()
    ignored = _ignored_words(view)
    query = f"“{one_line(view.query)[:60]}”"
    if view.is_similar:
        return "Nothing is near to it.", "\n".join(map(_sentence, notes)), _LEAVE
    if view.is_recall:
        contains = () if found == 0 else ((_presses(view, Mode.CONTAINS), "search with contains"),)
        by_words = ((_presses(view, Mode.WORDS), "search by its words"),) if words else ()
        nobody = "The store's own fusion finds" if view.mode is Mode.HYBRID else "The agent recalls"
        facts = (_found_words(found, words, view), *map(_sentence, (ignored, *notes)))
        sentence = "\n".join(fact for fact in facts if fact)
        return f"{nobody} nothing for {query}.", sentence, (*contains, *by_words, *_LEAVE, *filters)
    if view.query and view.mode in FINDS:
        among = " among the memories that pass the filters" if view.chips else ""
        return _NOTHING_FOUND[view.mode].format(query, among), "", (_NEXT[view.mode], *_LEAVE, *filters)
    if view.chips:
        return "No memory passes these filters.", " · ".join(chip.words for chip in view.chips), filters
    return (
        "No memories yet.",
        _who_writes(memory, is_watched),
        (*((("n", "write one"),) if can_write else ()), ("r", "read again"), ("q", "quit")),
    )


_LEAVE = (("esc", "leave the search"),)
_NOTHING_FOUND = {
    Mode.CONTAINS: "Nothing contains {}{}.",
    Mode.WORDS: "Nothing holds all the words of {}{}.",
    Mode.REGEX: "Nothing matches {}{}.",
}
_NEXT = {
    Mode.CONTAINS: ("ctrl+f", "look for its words, in any order"),
    Mode.WORDS: ("ctrl+f", "take it as a regular expression"),
    Mode.REGEX: ("ctrl+f", "look for what is near in meaning"),
}


def _who_writes(memory: Memory, is_watched: bool) -> str:
    if memory.ends_with_program:
        return "They live in this process alone: what is written here is gone when it ends."
    shown = "they appear here at once" if is_watched else "r shows them then"
    return f"ZeroClaw writes them while you talk with it, and {shown}."


def _sentence(words: str) -> str:
    """Words with a capital and a full stop; nothing stays nothing."""
    clean = one_line(words).rstrip(".")
    return f"{_capital(clean)}." if clean else ""


def _capital(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}"


def _found_words(found: int | None, words: int | None, view: View) -> str:
    """What a person's own ways to find would have shown."""
    if found is None:
        return ""
    among = " among those that pass the filters" if view.chips else ""
    said = f"{memories_words(found)}{among} {'contains' if found == 1 else 'contain'} it, letter for letter"
    if found == 0:
        said = f"No memory{among} contains it, letter for letter"
    if words is None or words == found:
        return f"{said}, either." if found == 0 else f"{said}."
    return f"{said}; {count_text(words)} {'holds' if words == 1 else 'hold'} all of its words."


def _presses(view: View, to: Mode) -> str:
    """How ctrl+f leads from a ranking to a way to find; the store's own fusion stands before the recall."""
    modes = [Mode.HYBRID, Mode.RECALL, Mode.CONTAINS, Mode.WORDS]
    times = modes.index(to) - modes.index(view.mode)
    return ("ctrl+f", "ctrl+f twice", "ctrl+f three times")[times - 1]


def _ignored_words(view: View) -> str:
    """Which filters recall knows nothing of, so that nobody takes its results for narrowed."""
    words = [chip.words for chip in view.unused_by_recall()]
    return f"recall ignores the filter{'' if len(words) == 1 else 's'} {', '.join(words)}" if words else ""


def _scope(view: View) -> tuple[str, ...]:
    """The filters that the search works with."""
    if view.mode in FINDS:
        return tuple(chip.words for chip in view.chips)
    unused = view.unused_by_recall()
    return tuple(chip.words for chip in view.chips if chip not in unused)


def endpoint_host(embedding: EmbeddingConfig) -> str:
    """The host that texts are sent to which get a vector."""
    from zeroclaw_tui.embeddings.endpoint import host_of

    return one_line(host_of(embedding.provider) or embedding.provider)
