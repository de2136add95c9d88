"""What the agent recalls and why: recall, explain, similar and prompt, with the scope and numbers they share."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from zeroclaw_tui.cli.chosen import exactly, the_one
from zeroclaw_tui.cli.options import (
    OWN_MEMORIES,
    READABLE_MEMORIES,
    add_key,
    add_recall_scope,
    add_what_if,
    agents_given,
    bound_meant,
    moment_meant,
    positive,
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

    from zeroclaw_tui.cli.output import Line
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.curation.prompt import Prompt
    from zeroclaw_tui.curation.similar import SimilarResult
    from zeroclaw_tui.memory.entry import MemoryEntry
    from zeroclaw_tui.memory.recall import Layer, RecallRequest, RecallResult, Rule, ScoredEntry
    from zeroclaw_tui.scoring.explain_lines import Look
    from zeroclaw_tui.scoring.explanation import Explanation
    from zeroclaw_tui.scoring.profiles import Trial


RULE_WORDS: dict[Rule, str] = {
    "cli": "the CLI agent",
    "channel": "the channels",
    "cron": "cron and heartbeat",
    "library": "the embedded agent",
}
"""Whose turn a rule is."""
LONGEST_KEY = 28
_LEAST_TEXT = 24
"""Cells of a memory's text in a row, for which keys are cut."""
_PARTS_FROM = 60
"""Cells of a line from which it has the parts of the score."""
_BATCH_FIELDS: Mapping[str, tuple[Any, str]] = {
    "query": (str, "a text"),
    "limit": (int | None, "a whole number from 1 to 2,147,483,647"),
    "session": (str | None, "a text or null"),
    "sessions": (list | None, "a list of texts or null"),
    "agents": (list | None, "a list of texts or null"),
    "namespace": (str | None, "a text or null"),
    "since": (str | None, "a text or null"),
    "until": (str | None, "a text or null"),
}
"""What a line of a batch may have, by name: its type, and that in words."""
_LOOKS: Mapping[Look, str] = {"": "", "bold": BOLD, "good": GREEN, "bad": RED, "quiet": DIM, "key": YELLOW}
_NARROWEST = 20


def trial_given(library: Library, given: argparse.Namespace, now: datetime, printed: set[str] | None = None) -> Trial:
    """The recall of these options; settings that cannot work are named on stderr, unless in `printed`.

    Without a query among them it is blank; `-` reads it from stdin. Raises UsageError for no number or no moment.
    """
    from zeroclaw_tui.curation.setting_change import complaint_names, complaints_of, with_values
    from zeroclaw_tui.scoring.profiles import Trial

    request = _request(library, given, now)
    values = _values(library, given)
    trial = Trial(request, library.profile.profile, with_values(library.settings, values))
    limit, own_limit = request.limits_shown
    if limit != own_limit and printed is None and library.memory.about.program is None:
        own = f"uses {own_limit:,}" if own_limit else "uses none"
        note(f"zeroclaw: Using limit {limit:,} ({RULE_WORDS[request.rule]} {own}).")
    print_notes(library, complaints_of(library, trial, complaint_names(values)), set() if printed is None else printed)
    return trial


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


def _values(library: Library, given: argparse.Namespace) -> dict[str, Any]:
    """The settings of a what-if by name. Raises UsageError for one that no recall depends on, and for a wrong value."""
    from zeroclaw_tui.config.setting_names import assigned
    from zeroclaw_tui.curation.setting_change import TRIED

    values: dict[str, Any] = {}
    for assignment in given.set or ():
        name, value = assigned(assignment, library.profile.profile.version)
        if name not in TRIED:
            raise UsageError(f"{name} changes nothing in a recall.", hint=f"These do: {', '.join(TRIED)}.")
        values[name] = value
    return values


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
    # What no agent of ZeroClaw's reads has no threshold to reach.
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
    has_parts = width() >= _PARTS_FROM
    has_vectors = has_parts and any(scored.vector_score is not None for scored in results)
    has_keywords = has_parts and any(scored.keyword_score is not None for scored in results)
    left = rank + 2 + final + 2 + (9 if has_vectors else 0) + (10 if has_keywords else 0)
    widest = max(6, *(cells(one_line(scored.entry.key)) for scored in results))
    key = max(6, min(LONGEST_KEY, widest, width() - left - 2 - _LEAST_TEXT))
    room = max(_NARROWEST // 2, width() - left - key - 2)
    head = " " * rank + "  " + padded("final", final, right=True) + "  "
    head += (padded("vector", 7, right=True) + "  ") if has_vectors else ""
    head += (padded("keyword", 8, right=True) + "  ") if has_keywords else ""
    yield (Styled(head + padded("key", key) + "  memory", DIM),)
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
            padded(shown_key, key) + "  ",
            text,
        )
        if scored.source not in (None, "active"):
            yield (" " * left, Styled(f"from the {one_line(scored.source or '')}", DIM))
        why = ""
        if has_reasons and scored.not_injected_because:
            why = f"not injected: {scored.not_injected_because}"
        elif scored.place is not None:
            why = f"injected: reranked to {_shown_number(scored.reranked, 0)}, place {scored.place}"
        yield from ((" " * left, Styled(line, DIM)) for line in _wrapped(why, width() - left) if line)


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
        if sentence not in printed and not any(sentence in notice.sentence for notice in library.memory.about.notices):
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
    from zeroclaw_tui.memory.recall import UNLIMITED

    if not isinstance(asked, dict):
        return "it is not a JSON object"
    for name, value in asked.items():
        if name not in _BATCH_FIELDS:
            return f'there is no "{one_line(name)}"'
        kind, what = _BATCH_FIELDS[name]
        is_fine = isinstance(value, kind) and not isinstance(value, bool)
        if isinstance(value, list):
            is_fine = is_fine and all(isinstance(item, str) for item in value)
        if isinstance(value, int):
            is_fine = is_fine and 0 < value < UNLIMITED
        if not is_fine:
            return f'"{name}" must be {what}'
    if "query" not in asked:
        return '"query" must be a text'
    if asked.get("session") is not None and asked.get("sessions"):
        return '"session" and "sessions" exclude each other; pass one of them'
    return None


def _line_request(library: Library, base: RecallRequest, asked: Mapping[str, Any], now: datetime) -> RecallRequest:
    from dataclasses import replace

    from zeroclaw_tui.curation.recall import turn_limit

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
    return replace(
        base,
        query=asked["query"],
        limit=asked.get("limit") or (base.limit if is_tried else turns),
        turn_limit=turns,
        session_id=session_id,
        further_sessions=further,
        agents=readable,
        namespace=base.namespace if asked.get("namespace") is None else asked["namespace"],
        since=bound("since", base.since),
        until=bound("until", base.until),
    )


def _shape() -> str:
    return 'Write lines like {"query": "tea", "limit": 5, "session": null, "agents": ["main"]}; only query is required.'


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
        write_lines(_explanation_lines(explanation))
    return DONE


async def _meant(library: Library, given: argparse.Namespace) -> MemoryEntry:
    """The memory of this key that the agents hold; of another agent too, since why they do not see it is the answer."""
    agents = agents_given(given)
    is_exact = bool(agents) and given.key is not None and await exactly(library, given.key, given.id, agents)
    return await the_one(library, given.key, given.id, agents if is_exact else ())


def _explanation_lines(explanation: Explanation) -> Iterator[Line]:
    """All of it, each line at most as wide as the terminal."""
    from zeroclaw_tui.scoring.explain_lines import explanation_lines, title_of

    yield from ((Styled(line, BOLD),) for line in _wrapped(f"{title_of(explanation)}", width()))
    yield from ((Styled(line, DIM),) for line in _wrapped(_header(explanation), width()))
    yield ()
    for line in explanation_lines(explanation, _wrapped, width()):
        yield tuple(Styled(text, _LOOKS[look]) if look else text for text, look in line.pieces)


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
