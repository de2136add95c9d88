"""What the agent recalls and why: recall, explain, similar and prompt, with the scope and numbers they share."""

from __future__ import annotations

import argparse
import math
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from zeroclaw_tui.cli.options import (
    OWN_MEMORIES,
    READABLE_MEMORIES,
    add_key,
    add_recall_scope,
    add_what_if,
    agents_given,
    bound_meant,
    exactly,
    moment_meant,
    positive,
    the_one,
)
from zeroclaw_tui.cli.output import (
    BOLD,
    CYAN,
    DIM,
    GREEN,
    NOTHING,
    RED,
    YELLOW,
    Styled,
    document,
    note,
    waiting,
    width,
    write_lines,
)
from zeroclaw_tui.cli.verbs import verb
from zeroclaw_tui.memory.errors import DONE, InspectorError, UsageError
from zeroclaw_tui.memory.text import cells, counted, cut, display_text, one_line, padded

if TYPE_CHECKING:
    from datetime import datetime

    from zeroclaw_tui.cli.output import Line, Part
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.curation.prompt import Prompt
    from zeroclaw_tui.curation.similar import SimilarResult
    from zeroclaw_tui.memory.entry import MemoryEntry
    from zeroclaw_tui.memory.recall import Layer, RecallRequest, RecallResult, Rule, ScoredEntry
    from zeroclaw_tui.scoring.explain import Explanation, Mark, Step
    from zeroclaw_tui.scoring.profiles import RerankSettings, ScoringSettings, Trial
    from zeroclaw_tui.scoring.what_if import Setting


_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE | re.ASCII)
_LONGEST_SHOWN = 40
RERANK_OPTIONS = (
    "rerank", "rerank_strategy", "rerank_threshold", "mmr_lambda", "importance_weight", "recency_weight",
    "candidate_multiplier",
)  # fmt: skip


RULE_WORDS: dict[Rule, str] = {
    "cli": "the CLI agent",
    "channel": "the channels",
    "cron": "cron and heartbeat",
    "library": "the embedded agent",
}
"""Whose turn a rule is."""
LONGEST_KEY = 28
LEAST_TEXT = 20
"""Cells of a memory's text in a row; where they are not there it stands below."""
_BATCH_NAMES = ("query", "limit", "session", "sessions", "agents", "namespace", "since", "until")
GLYPHS: dict[Mark, tuple[str, str]] = {"passed": ("✓", GREEN), "stopped": ("✗", RED), "absent": ("–", DIM)}
STOPS_HERE = "stops here"
STOPS_TOO = "would stop it too"
_LONGEST_QUOTED = 40
LONGEST_MESSAGE = 200
_COLOURS = {"words": YELLOW, "keyword": YELLOW, "vector": CYAN, "fusion": BOLD, "decay": BOLD, "rerank": BOLD}
_INDENT = "  "
_NARROWEST = 20


def trial_given(library: Library, given: argparse.Namespace, now: datetime, printed: set[str] | None = None) -> Trial:
    """The recall of these options; what of the what-if cannot work is told on stderr, unless it is in `printed`.

    Without a query among them it is blank; `-` reads it from stdin. Raises UsageError for no number or no moment.
    """
    from zeroclaw_tui.scoring.profiles import Trial

    request = _request(library, given, now)
    trial = Trial(request, library.profile.profile, _settings(library.settings, given))
    limit, own_limit = request.limits_shown
    if limit != own_limit and printed is None and library.memory.about.program is None:
        own = f"uses {own_limit:,}" if own_limit else "uses none"
        note(f"zeroclaw: Using limit {limit:,} ({RULE_WORDS[request.rule]} {own}).")
    print_complaints(library, trial, _about(given), set() if printed is None else printed)
    return trial


def print_complaints(library: Library, trial: Trial, about: Collection[Setting], printed: set[str]) -> None:
    """Say on stderr what of a trial cannot work and is not in `printed` yet."""
    from zeroclaw_tui.curation.setting_change import complaints_of

    for sentence in complaints_of(library, trial, about):
        if sentence not in printed:
            printed.add(sentence)
            note(f"zeroclaw: {sentence}")


def readable_agents(library: Library, agents: Sequence[str] | None, layer: str) -> tuple[str, ...] | None:
    """The aliases whose memory these agents read: their own and, on the way to an agent, those the config lets in."""
    if agents is None:
        return None
    return library.config.readable_by(agents) if layer == "agent" else tuple(dict.fromkeys(agents))


def _request(library: Library, given: argparse.Namespace, now: datetime) -> RecallRequest:
    from zeroclaw_tui.curation.recall import turn_limit
    from zeroclaw_tui.memory.recall import RecallRequest

    layer: Layer = getattr(given, "layer", "agent")
    agents = readable_agents(library, agents_given(given) or None, layer)
    turns = library.memory.about.recall_limit or turn_limit(library.config, library.profile.profile, given.rule, agents)
    session_id, further = scopes_of(given.session)
    return RecallRequest(
        query=_query(getattr(given, "query", None)),
        limit=turns if given.limit is None else given.limit,
        turn_limit=turns,
        session_id=session_id,
        further_sessions=further,
        agents=agents,
        namespace=given.namespace,
        since=bound_meant(given.since, now) if given.since is not None else None,
        until=bound_meant(given.until, now) if given.until is not None else None,
        layer=layer,
        rule=given.rule,
        as_of=_as_of(given, now),
    )


def scopes_of(sessions: Sequence[str] | None) -> tuple[str | None, tuple[str, ...]]:
    """The session recalled first, and those after it, none twice; a message without any is recalled without one."""
    named = tuple(dict.fromkeys(sessions or ()))
    return (named[0], named[1:]) if named else (None, ())


def _query(given: str | Sequence[str] | None) -> str:
    words = [given] if isinstance(given, str) else list(given or ())
    if words == ["-"]:
        return sys.stdin.buffer.read().decode("utf-8", "surrogateescape").rstrip("\r\n")
    return " ".join(words)


def _as_of(given: argparse.Namespace, now: datetime) -> str:
    """The moment time decay counts to."""
    return moment_meant(given.as_of, now) if given.as_of is not None else now.isoformat()


def _settings(present: ScoringSettings, given: argparse.Namespace) -> ScoringSettings:
    def number(option: str, otherwise: float) -> float:
        text = getattr(given, option.replace("-", "_"))
        return otherwise if text is None else _number(f"--{option}", text)

    return present._replace(
        vector_weight=number("vector-weight", present.vector_weight),
        keyword_weight=number("keyword-weight", present.keyword_weight),
        threshold=number("threshold", present.threshold),
        search_mode=given.search_mode or present.search_mode,
        rerank=_rerank(present.rerank, given, number),
    )


def _rerank(
    present: RerankSettings, given: argparse.Namespace, number: Callable[[str, float], float]
) -> RerankSettings:
    """The rerank stage of these options; another knob than the switch leaves the switch as it is."""
    from zeroclaw_tui.config.memory_config import is_in_range, range_words

    tried = present._replace(
        enabled=present.enabled if given.rerank is None else given.rerank == "on",
        strategy=given.rerank_strategy or present.strategy,
        threshold=present.threshold if given.rerank_threshold is None else given.rerank_threshold,
        mmr_lambda=number("mmr-lambda", present.mmr_lambda),
        importance_weight=number("importance-weight", present.importance_weight),
        recency_weight=number("recency-weight", present.recency_weight),
        candidate_multiplier=given.candidate_multiplier or present.candidate_multiplier,
    )
    for name in ("mmr_lambda", "importance_weight", "recency_weight", "candidate_multiplier"):
        value = getattr(tried, name)
        if getattr(given, name) is not None and not is_in_range(name, value):
            option = name.replace("_", "-")
            raise UsageError(f"--{option} must be {range_words(name)}, not {value:g}.")
    return tried


def _number(option: str, text: str) -> float:
    """A finite number from 0 on that ZeroClaw's 32-bit arithmetic can hold."""
    from zeroclaw_tui.scoring.profiles import float32

    typed = text.strip()
    shown = cut(one_line(typed), _LONGEST_SHOWN)
    if _NUMBER.fullmatch(typed) is None:
        pointed = typed.replace(",", ".")
        hint = f"Did you mean {pointed}?" if _NUMBER.fullmatch(pointed) else "Give one like 0.4."
        raise UsageError(f'{option} must be a number from 0 on, and "{shown}" is not.', hint=hint)
    value = float(typed)
    if value < 0:
        raise UsageError(f"{option} must be a number from 0 on, and {shown} is below.", hint="Give one like 0.4.")
    if not math.isfinite(float32(value)):
        raise UsageError(f"{option} must be a number ZeroClaw can hold, and {shown} is too large.")
    return value


def _about(given: argparse.Namespace) -> set[Setting]:
    """The settings that are other ones than the config's, so that nobody is told what was not asked."""
    about: set[Setting] = set()
    if given.vector_weight is not None or given.keyword_weight is not None:
        about.add("weights")
    if given.threshold is not None:
        about.add("threshold")
    if given.search_mode is not None:
        about.add("mode")
    if any(getattr(given, name) is not None for name in RERANK_OPTIONS):
        about.add("rerank")
    return about


def recall_lines(result: RecallResult) -> Iterator[Line]:
    """What was recalled: a header, a row for each memory, and under it why it is not injected."""
    yield from ((Styled(line, DIM),) for line in _wrapped(_recall_header(result), width()))
    yield ()
    if not result.results:
        yield ("No memory is recalled for ", Styled(one_line(result.request.query) or "a blank query", BOLD), ".")
    else:
        yield from _recall_table(result)
    for scored in result.withheld:
        yield (Styled("withheld from the agent: ", YELLOW), one_line(scored.entry.key), f" ({scored.withheld})")
    if result.results and result.not_read_because is None:
        yield ()
        yield (f"{result.injected} of {len(result.results)} injected by the {result.request.rule} rule",)


def _recall_header(result: RecallResult) -> str:
    vector, keyword = result.weights
    if result.program is not None:
        return f"{result.backend} · by the rule of {result.program} · scale {result.scale}"
    # What no agent of ZeroClaw's reads is held against nothing.
    threshold = f" · threshold {result.threshold:.2f}" if result.not_read_because is None else ""
    weights = f" {vector:g} / {keyword:g}" if result.mode == "hybrid" else ""
    # A store that searches in a way of its own names that after itself.
    mode = "" if result.mode == result.backend else f" · {result.mode}{weights}"
    return (
        f"{result.backend} · scoring {result.profile} ({result.profile_source}){mode}"
        f"{threshold} · scale {result.scale} · {result.request.layer} layer"
        f"{'' if result.pool is None else ' · reranked'}"
    )


def _recall_table(result: RecallResult) -> Iterator[Line]:
    results, has_reasons = result.results, result.not_read_because is None
    finals = [_final_score(scored, result.threshold) for scored in results]
    final = max(6, *(len(before + compared) for before, compared in finals))
    rank = max(2, len(str(results[-1].rank)))
    has_vectors = any(scored.vector_score is not None for scored in results)
    has_keywords = any(scored.keyword_score is not None for scored in results)
    key = min(LONGEST_KEY, max(6, *(cells(one_line(scored.entry.key)) for scored in results)))
    left = rank + 2 + final + 2 + (9 if has_vectors else 0) + (10 if has_keywords else 0)
    room = width() - left - key - 2
    is_narrow = room < LEAST_TEXT
    if is_narrow:
        # The text gets a line of its own, and the key what the numbers leave.
        key, room, below = max(6, width() - left), max(LEAST_TEXT, width() - 2), 2
    else:
        below = left
    head = " " * rank + "  " + padded("final", final, right=True) + "  "
    head += (padded("vector", 7, right=True) + "  ") if has_vectors else ""
    head += (padded("keyword", 8, right=True) + "  ") if has_keywords else ""
    yield (Styled(head + ("key" if is_narrow else padded("key", key) + "  memory"), DIM),)
    for scored, (before, compared) in zip(results, finals, strict=True):
        text = cut(one_line(scored.entry.content[: 4 * room]), room)
        shown_key = cut(one_line(scored.entry.key), key)
        yield (
            padded(str(scored.rank), rank, right=True) + "  ",
            Styled(padded(before, final - len(compared), right=True), DIM),
            Styled(compared, BOLD),
            "  ",
            *((Styled(_shown_number(scored.vector_score, 7), CYAN), "  ") if has_vectors else ()),
            *((Styled(_shown_number(scored.keyword_score, 8), YELLOW), "  ") if has_keywords else ()),
            shown_key if is_narrow else padded(shown_key, key) + "  ",
            "" if is_narrow else text,
        )
        if is_narrow:
            yield ("  ", text)
        if scored.source not in (None, "active"):
            yield (" " * below, Styled(f"from the {one_line(scored.source or '')}", DIM))
        why = ""
        if has_reasons and scored.not_injected_because:
            why = f"not injected: {scored.not_injected_because}"
        elif scored.place is not None:
            why = f"injected: reranked to {_shown_number(scored.reranked, 0)}, place {scored.place}"
        yield from ((" " * below, Styled(line, DIM)) for line in _wrapped(why, width() - below) if line)


def _final_score(scored: ScoredEntry, threshold: float) -> tuple[str, str]:
    """The number that is compared with the threshold, and in front of it what it was before decay or rerank."""
    compared = scored.compared_score
    shown = _shown_number(compared, 0)
    score = _shown_number(scored.score, 0)
    before = "" if shown == score else f"{score} → "
    if compared is not None and compared < threshold and shown == f"{threshold:.2f}":
        # Cut and not rounded, so that it stays below.
        shown = f"{math.floor(compared * 10_000) / 10_000:.4f}"
    return before, shown


def _shown_number(value: float | None, wide: int) -> str:
    shown = NOTHING if value is None else f"{value:.2f}"
    # A row alone in its store scores 0.000001 for a hit, which is little but not nothing.
    return padded("<0.01" if value and shown == "0.00" else shown, wide, right=True)


def check_recall(given: argparse.Namespace) -> None:
    """Refuse, before anything is opened, a query together with a batch, or neither."""
    if given.batch is not None and given.query:
        raise UsageError("--batch reads its own queries. Leave out QUERY.")
    if given.batch is None and not given.query:
        raise UsageError("No query given.", hint='Pass a QUERY ("" lists the newest memories) or --batch FILE.')


def _recall_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", nargs="*", metavar="QUERY", help="Message to recall for; - reads it from stdin")
    parser.add_argument("--batch", metavar="FILE", help="JSON lines of {query, limit, ...}; - reads stdin")
    add_recall_scope(parser)
    add_what_if(parser)


@verb(
    "recall",
    "Show what the agent would recall for a message, with all scores",
    "{backend, location, profile, profile_source, layer, query, limit, turn_limit, sessions, "
    "rerank_pool, mode, weights, threshold, scale, rule, results, notes}",
    _recall_options,
    agents=READABLE_MEMORIES,
    concerns=("store", "recall", "vectors"),
    checks=check_recall,
)
async def recall(library: Library, given: argparse.Namespace, now: datetime) -> int:
    """Print what is recalled for the query, or answer each line of the batch."""
    from zeroclaw_tui.curation.recall import recall_memories

    if given.batch is not None:
        return await _answer_batch(library, given, now)
    result = await recall_memories(library, trial_given(library, given, now))
    if given.json:
        document(result.as_json())
    else:
        write_lines(recall_lines(result))
    print_notes(library, result.notes, set())
    return DONE


async def _answer_batch(library: Library, given: argparse.Namespace, now: datetime) -> int:
    from zeroclaw_tui.curation.recall import recall_memories

    base = trial_given(library, given, now)
    printed: set[str] = set()
    with _opened(given.batch) as lines:
        for number, asked in _asked(lines):
            try:
                result = await recall_memories(
                    library, library.trial(_line_request(library, base.request, asked, now), base.settings)
                )
            except InspectorError as error:
                error.message = f"Line {number} of the batch: {error.message}"
                raise
            document(result.as_json(), compact=True)
            print_notes(library, result.notes, printed)
    return DONE


def print_notes(library: Library, sentences: Iterable[str], printed: set[str]) -> None:
    """Say what was not said yet, neither here nor when the store was opened."""
    for sentence in sentences:
        if sentence not in printed and not any(sentence in notice.sentence for notice in library.memory.notices):
            printed.add(sentence)
            note(f"zeroclaw: {sentence}")


def _opened(name: str) -> AbstractContextManager[BinaryIO]:
    if name == "-":
        return nullcontext(cast(BinaryIO, sys.stdin.buffer))
    try:
        return open(name, "rb")
    except OSError as error:
        raise UsageError(f"The batch {name} cannot be read: {error.strerror}.") from error


def _asked(lines: Iterable[bytes]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Each line's number and what it asks. Raises UsageError at the first line that cannot be understood."""
    import json

    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            asked = json.loads(line)
        except ValueError as error:
            raise UsageError(f"Line {number} of the batch is not JSON.", hint=_shape()) from error
        fault = _fault(asked)
        if fault:
            raise UsageError(f"Line {number} of the batch: {fault}.", hint=_shape())
        yield number, asked


def _fault(asked: Any) -> str | None:
    if not isinstance(asked, dict):
        return "it is not a JSON object"
    for name in asked:
        if name not in _BATCH_NAMES:
            return f'there is no "{one_line(name)}"'
    for name, (holds, what) in _CHECKS.items():
        if not holds(asked.get(name)):
            return f'"{name}" must be {what}'
    if asked.get("session") is not None and asked.get("sessions"):
        return '"session" and "sessions" exclude each other; pass one of them'
    return None


def _line_request(library: Library, base: RecallRequest, asked: Mapping[str, Any], now: datetime) -> RecallRequest:
    from zeroclaw_tui.curation.recall import turn_limit
    from zeroclaw_tui.memory.recall import RecallRequest

    def bound(name: str, otherwise: str | None) -> str | None:
        return otherwise if asked.get(name) is None else bound_meant(asked[name], now)

    agents = asked.get("agents")
    readable = base.agents if agents is None else readable_agents(library, agents, base.layer)
    turns = library.memory.about.recall_limit or turn_limit(
        library.config, library.profile.profile, base.rule, readable
    )
    is_tried = base.limit != base.turn_limit
    session_id, further = base.session_id, base.further_sessions
    if asked.get("session") is not None or asked.get("sessions"):
        session_id, further = scopes_of(asked.get("sessions") or [asked["session"]])
    return RecallRequest(
        query=asked["query"],
        limit=asked.get("limit") or (base.limit if is_tried else turns),
        turn_limit=turns,
        session_id=session_id,
        further_sessions=further,
        agents=readable,
        namespace=base.namespace if asked.get("namespace") is None else asked["namespace"],
        since=bound("since", base.since),
        until=bound("until", base.until),
        layer=base.layer,
        rule=base.rule,
        as_of=base.as_of,
    )


def _shape() -> str:
    return 'Write lines like {"query": "tea", "limit": 5, "session": null, "agents": ["main"]}; only query is required.'


def _is_text_or_null(value: Any) -> bool:
    return value is None or isinstance(value, str)


def _is_limit(value: Any) -> bool:
    from zeroclaw_tui.memory.recall import UNLIMITED

    return value is None or (isinstance(value, int) and not isinstance(value, bool) and 0 < value < UNLIMITED)


def _is_names(value: Any) -> bool:
    return value is None or (isinstance(value, list) and all(isinstance(name, str) for name in value))


_CHECKS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "query": (lambda value: isinstance(value, str), "a text"),
    "limit": (_is_limit, "a whole number from 1 to 2,147,483,647"),
    "session": (_is_text_or_null, "a text or null"),
    "sessions": (_is_names, "a list of texts or null"),
    "agents": (_is_names, "a list of texts or null"),
    "namespace": (_is_text_or_null, "a text or null"),
    "since": (_is_text_or_null, "a text or null"),
    "until": (_is_text_or_null, "a text or null"),
}


def _similar_options(parser: argparse.ArgumentParser) -> None:
    add_key(parser, None)
    parser.add_argument("--query", metavar="TEXT", help="Find memories similar to this text instead of a memory")
    parser.add_argument("--limit", type=positive, default=10, metavar="N", help="Maximum number of memories (10)")


@verb(
    "similar",
    "Find memories similar to a memory or a text",
    "{backend, location, id, key, query, way, because, compared, results}",
    _similar_options,
    agents=OWN_MEMORIES,
    concerns=("vectors",),
)
async def similar(library: Library, given: argparse.Namespace, now: datetime) -> int:
    """Print the nearest memories. Raises UsageError unless one memory or a text is named."""
    from zeroclaw_tui.curation.similar import similar_memories

    if given.query is not None and (given.key is not None or given.id is not None):
        raise UsageError("Both a memory and a text are given.", hint="Pass a KEY (or --id ID), or --query TEXT.")
    agents = agents_given(given)
    if given.query is not None:
        text = sys.stdin.read().rstrip("\r\n") if given.query == "-" else given.query
        if not text.strip():
            raise UsageError("The text is blank.", hint="Pass some words with --query TEXT.")
        result = await similar_memories(library, text=text, limit=given.limit, agents=agents)
    else:
        entry = await the_one(library, given.key, given.id, agents)
        result = await similar_memories(library, entry=entry, limit=given.limit, agents=agents)
    if given.json:
        document(result.as_json())
    else:
        write_lines(_lines(result), verbatim=True)
    for sentence in result.sentences()[1:]:
        note(f"zeroclaw: Compared by rare words: {one_line(sentence)}")
    return DONE


def _lines(result: SimilarResult) -> Iterator[Line]:
    asked = one_line(result.entry.key if result.entry is not None else result.query or "")
    compared = result.sentences()[0]
    yield (Styled(f"{result.backend} · {compared}", DIM),)
    yield ()
    if not result.results:
        yield ("No memory is similar to ", Styled(cut(asked, 60), BOLD), ".")
        return
    key = min(LONGEST_KEY, max(6, *(cells(one_line(near.entry.key)) for near in result.results)))
    rank = max(2, len(str(len(result.results))))
    room = max(20, width() - rank - key - 12)
    name = "cosine" if result.method == "vector" else "words"
    yield (Styled(" " * rank + "  " + padded(name, 6, right=True) + "  " + padded("key", key) + "  memory", DIM),)
    for near in result.results:
        yield (
            padded(str(near.rank), rank, right=True) + "  ",
            Styled(padded(f"{near.score:.2f}", 6, right=True), CYAN),
            "  " + padded(cut(one_line(near.entry.key), key), key) + "  ",
            cut(one_line(near.entry.content[: 4 * room]), room),
        )
        if near.shared:
            yield (
                " " * (rank + 10),
                Styled(cut("both have " + ", ".join(map(one_line, near.shared)), room + key), DIM),
            )


def _explain_options(parser: argparse.ArgumentParser) -> None:
    add_key(parser, None)
    parser.add_argument("--query", required=True, metavar="TEXT", help="Message; - reads it from stdin")
    add_recall_scope(parser)
    add_what_if(parser)


@verb(
    "explain",
    "Explain why a memory is or is not in the prompt",
    "{id, key, agent, query, profile, profile_source, layer, rule, injected, place, of, stopped_at, "
    "verdict, steps, later_stops, advice, remarks, notes}",
    _explain_options,
    agents=READABLE_MEMORIES,
    concerns=("store", "recall", "vectors"),
)
async def explain(library: Library, given: argparse.Namespace, now: datetime) -> int:
    """Print the way of the memory that is meant, whatever the verdict."""
    from zeroclaw_tui.curation.recall import explain as explain_memory

    entry = await _meant(library, given)
    trial = trial_given(library, given, now)
    explanation = await explain_memory(library, entry, trial)
    if given.json:
        document(explanation.as_json())
    else:
        write_lines(explanation_lines(explanation))
    print_notes(library, explanation.notes, set())
    return DONE


async def _meant(library: Library, given: argparse.Namespace) -> MemoryEntry:
    """The memory of this key that the agents hold; of another agent too, since why they do not see it is the answer."""
    agents = agents_given(given)
    is_exact = bool(agents) and given.key is not None and await exactly(library, given.key, given.id, agents)
    return await the_one(library, given.key, given.id, agents if is_exact else ())


def explanation_lines(explanation: Explanation) -> Iterator[Line]:
    """All of it, each line at most as wide as the terminal."""
    yield from ((Styled(line, BOLD),) for line in _wrapped(_title(explanation), width()))
    yield from ((Styled(line, DIM),) for line in _wrapped(_header(explanation), width()))
    yield ()
    wide = max(len(step.name) for step in (*explanation.steps, *explanation.later_stops))
    for step in explanation.steps:
        yield from _step_lines(step, wide)
    for step in explanation.later_stops:
        yield from _step_lines(step, wide, STOPS_TOO)
    yield ()
    colour = GREEN if explanation.is_injected else RED
    for place, line in enumerate(_wrapped(explanation.verdict, width() - 2)):
        yield (Styled("✓ " if explanation.is_injected else "✗ ", colour) if place == 0 else "  ", Styled(line, BOLD))
    yield from _sentences(explanation.remarks, DIM)


def _title(explanation: Explanation) -> str:
    is_in = "is" if explanation.is_injected else "is not"
    message = cut(one_line(explanation.query), LONGEST_MESSAGE) or "a blank message"
    where = "in the prompt" if explanation.program is None else f"returned by {explanation.program}"
    return f"Why {_quoted(explanation.entry.key)} {is_in} {where} for: {message}"


def _quoted(key: str) -> str:
    return f'"{cut(one_line(key), _LONGEST_QUOTED)}"'


def _header(explanation: Explanation) -> str:
    trial, settings = explanation.trial, explanation.trial.settings
    if explanation.program is not None:
        return f"by the rule of {explanation.program} · limit {trial.request.limits_shown[0]}"
    # Without them the store ranks by a rule of its own, in which nothing is weighed.
    is_weighed = any(step.name in ("keyword", "vector") for step in explanation.steps)
    weights = f" · weights {settings.vector_weight:g} / {settings.keyword_weight:g}" if is_weighed else ""
    return (
        f"scoring {trial.profile.version} ({one_line(explanation.profile_source)}){weights}"
        f" · threshold {settings.threshold:.2f} · limit {trial.request.limits_shown[0] or 'none'}"
        f" · {trial.request.rule} rule · {trial.request.layer} layer"
    )


def _step_lines(step: Step, wide: int, stops: str = STOPS_HERE) -> Iterator[Line]:
    """Mark, stage and words; on the right where it stops, and below what would help."""
    glyph, colour = GLYPHS[step.mark]
    left = len(_INDENT) + 2 + wide + 2
    room = max(_NARROWEST, width() - left)
    lines = _wrapped(step.words, room)
    words: Part = lines[0]
    if step.mark == "absent":
        words = Styled(lines[0], DIM)
    elif step.name in _COLOURS and step.mark == "passed":
        words = Styled(lines[0], _COLOURS[step.name])
    name: Part = Styled(padded(step.name, wide), BOLD) if step.mark == "stopped" else padded(step.name, wide)
    tail: Line = ()
    if step.mark == "stopped" and cells(lines[0]) + len(stops) + 3 <= room:
        tail = ("   ", Styled(stops, RED))
    yield (_INDENT, Styled(glyph, colour), " ", name, "  ", words, *tail)
    for line in lines[1:]:
        yield (" " * left, Styled(line, words.code) if isinstance(words, Styled) else line)
    if step.helps:
        for place, line in enumerate(_wrapped(step.helps, room - 2)):
            yield (" " * left, Styled(f"{'→' if place == 0 else ' '} {line}", DIM))


def _sentences(sentences: Sequence[str], colour: str) -> Iterator[Line]:
    for sentence in sentences:
        for line in _wrapped(sentence, width() - len(_INDENT)):
            yield (_INDENT, Styled(line, colour))


def _wrapped(text: str, room: int) -> list[str]:
    import textwrap

    return textwrap.wrap(one_line(text), max(_NARROWEST, room), break_on_hyphens=False) or [""]


def _prompt_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", nargs="+", metavar="QUERY", help="Message; - reads it from stdin")
    add_recall_scope(parser, has_layer=False)
    add_what_if(parser)


@verb(
    "prompt",
    "Print the text ZeroClaw adds before a message",
    "{query, text, rule, differs_by_rule, characters, tokens, entries, why_empty, profile, "
    "profile_source, threshold, results, notes}",
    _prompt_options,
    agents=READABLE_MEMORIES,
    concerns=("store", "recall", "vectors"),
)
async def prompt(library: Library, given: argparse.Namespace, now: datetime) -> int:
    """Print the literal text ZeroClaw puts before a message, and nothing else, on stdout.

    Invisible characters are marked; the document's "text" has every character as it is. Notes go to stderr. Its
    document: {"query", "text", "rule", "differs_by_rule", "characters", "tokens", "entries", "why_empty", "profile",
    "profile_source", "threshold", "results": [{"rank", "id", "key", "score", "decayed", "reranked", "rerank_place",
    "injected", "not_injected_because"}], "notes"}.
    """
    from zeroclaw_tui.curation.prompt import prompt_for

    made = await prompt_for(library, trial_given(library, given, now))
    waiting.end()
    if given.json:
        document(made.as_json())
    else:
        sys.stdout.write(display_text(made.text))
    for sentence in _facts(made, given):
        note(f"zeroclaw: {sentence}")
    print_notes(library, made.result.notes, set())
    return DONE


def _facts(made: Prompt, given: argparse.Namespace) -> list[str]:
    result = made.result
    by = f"by the rule of {RULE_WORDS[made.rule]} in ZeroClaw {result.profile} ({one_line(result.profile_source)})"
    if made.why_empty is not None:
        facts = [f"{made.why_empty} So nothing is put before this message, {by}."]
    else:
        size = f"{counted(made.characters, 'character')}, about {counted(made.tokens, 'token')}"
        facts = [f"{counted(made.entries)}, {size}, {by}."]
        if not given.json and display_text(made.text) != made.text:
            facts.append("Invisible characters are marked; --json has the exact text.")
    if made.differs_by_rule and made.rule in ("cli", "channel"):
        other = "cli" if made.rule == "channel" else "channel"
        whose = "The CLI agent injects" if made.rule == "channel" else "Channels inject"
        facts.append(f"{whose} by another rule in this version; --rule {other} shows it.")
    return facts
