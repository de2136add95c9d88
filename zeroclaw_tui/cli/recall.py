"""The verbs about recall: recall, similar, explain and prompt."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, BinaryIO, cast

from zeroclaw_tui.cli import options, output
from zeroclaw_tui.cli.chosen import find_exact, find_one
from zeroclaw_tui.cli.options import option
from zeroclaw_tui.cli.output import BOLD, CYAN, DIM, GREEN, NOTHING, RED, YELLOW, Line, Styled
from zeroclaw_tui.cli.verbs import verb
from zeroclaw_tui.memory.errors import DONE, InspectorError, UsageError
from zeroclaw_tui.memory.text import counted, cut, display_text, distinct_numbers, one_line
from zeroclaw_tui.scoring.injection import compared_score

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.curation.recall import Prompt
    from zeroclaw_tui.curation.similar import SimilarResult
    from zeroclaw_tui.memory.recall import Layer, RecallRequest, RecallResult, Rule, ScoredEntry
    from zeroclaw_tui.scoring.explanation import Explanation, Look
    from zeroclaw_tui.scoring.profiles import Trial


_RULE_WORDS: dict[Rule, str] = {
    "cli": "the CLI agent",
    "channel": "the channels",
    "cron": "cron and heartbeat",
    "library": "the embedded agent",
}
_KEY_CELLS = 28
_CONTENT_CELLS = 60
_MIN_WIDTH_OF_PARTS = 60
"""The minimum width of a line, in cells, to show the vector and keyword scores."""
_BATCH_FIELDS = {
    "query": str, "limit": int, "session": str, "sessions": list, "agents": list, "namespace": str, "since": str,
    "until": str,
}  # fmt: skip
"""The fields of a line of a batch, with their types."""
_BATCH_LINE = (
    'Write lines like {"query": "tea", "limit": 5, "session": null, "agents": ["main"]}; only query is required.'
)
_LOOKS: Mapping[Look, str] = {"": "", "bold": BOLD, "good": GREEN, "bad": RED, "quiet": DIM, "key": YELLOW}


def build_trial(library: Library, args: argparse.Namespace) -> Trial:
    """Build the recall for the options; settings that cannot work are reported on stderr."""
    trial = library.trial(_request(library, args))
    if not args.set:
        return trial
    from zeroclaw_tui.config.setting_names import parse_assignment
    from zeroclaw_tui.curation.trial_settings import CONFIG_SETTINGS, complaints_of, with_values

    values = dict(parse_assignment(assignment, trial.profile.version) for assignment in args.set)
    for name in values:
        if name not in CONFIG_SETTINGS:
            raise UsageError(f"{name} changes nothing in a recall.", hint=f"These do: {', '.join(CONFIG_SETTINGS)}.")
    trial = with_values(trial, values)
    print_notes(library, complaints_of(library, trial, {CONFIG_SETTINGS[name].subject for name in values}))
    return trial


def _request(library: Library, args: argparse.Namespace) -> RecallRequest:
    from zeroclaw_tui.curation.recall import recall_limit
    from zeroclaw_tui.memory.recall import RecallRequest

    layer: Layer = getattr(args, "layer", "agent")
    agents: tuple[str, ...] | None = options.agent_names(args) or None
    if agents is not None:
        agents = library.config.readable_by(agents) if layer == "agent" else tuple(dict.fromkeys(agents))
    turns = recall_limit(library, library.profile.profile, args.rule, agents)
    sessions = tuple(dict.fromkeys(args.session or ()))
    return RecallRequest(
        query=_query(getattr(args, "query", None)),
        limit=turns if args.limit is None else args.limit,
        turn_limit=turns,
        session_id=sessions[0] if sessions else None,
        extra_sessions=sessions[1:],
        agents=agents,
        namespace=args.namespace,
        since=None if args.since is None else options.parse_bound(args.since, args.now),
        until=None if args.until is None else options.parse_bound(args.until, args.now),
        layer=layer,
        rule=args.rule,
        as_of=args.now.isoformat() if args.as_of is None else options.parse_time(args.as_of, args.now),
    )


def _query(typed: str | Sequence[str] | None) -> str:
    words = [typed] if isinstance(typed, str) else list(typed or ())
    if words == [options.STDIN]:
        return sys.stdin.buffer.read().decode("utf-8", "surrogateescape").rstrip("\r\n")
    return " ".join(words)


def print_notes(library: Library, sentences: Iterable[str], printed: set[str] | None = None) -> None:
    """Print the sentences that were not printed at the opening of the store and are not in `printed`."""
    printed = set() if printed is None else printed
    new = [sentence for sentence in dict.fromkeys(sentences) if sentence not in printed]
    printed.update(new)
    opening = [notice.sentence for notice in library.memory.about.notices]
    output.notes(sentence for sentence in new if not any(sentence in text for text in opening))


@verb(
    "recall",
    "{backend, location, profile, profile_source, layer, query, limit, turn_limit, sessions, "
    "rerank_pool, mode, weights, threshold, scale, rule, results, notes}",
    options=[
        option("query", nargs="*", metavar="QUERY", help="Message to recall for; - reads it from stdin"),
        option("--batch", metavar="FILE", help="JSON lines of {query, limit, ...}; - reads stdin"),
        options.LAYER,
        *options.RECALL_SCOPE,
    ],
    agents=options.READABLE_MEMORIES,
    concerns=("store", "recall", "vectors"),
    examples=("recall what does she eat", "recall tea --set memory.vector_weight=0.5"),
)
async def recall(library: Library, args: argparse.Namespace) -> int:
    """Print the recall for the query, or for each line of the batch."""
    from zeroclaw_tui.curation.recall import recall_memories

    if (args.batch is None) == (not args.query):
        raise UsageError("Pass either a QUERY or --batch FILE.", hint='"" as QUERY lists the newest memories.')
    if args.batch is not None:
        return await _recall_batch(library, args)
    result = await recall_memories(library, build_trial(library, args))
    output.print_result(args, result.as_json(), _recall_lines(result))
    print_notes(library, result.notes)
    return DONE


def _recall_lines(result: RecallResult) -> Iterator[Line]:
    """Yield a header and a row for each memory, followed by the reason why it is not injected."""
    yield Styled(_recall_header(result), DIM)
    yield ()
    if result.results:
        yield from _recall_table(result)
    else:
        yield ("No memory is recalled for ", Styled(one_line(result.request.query) or "a blank query", BOLD), ".")
    for scored in result.withheld:
        yield (Styled("withheld from the agent: ", YELLOW), one_line(scored.entry.key), f" ({scored.withheld})")
    if result.results and result.not_read_because is None:
        yield ()
        # The scanner between store and agent may withhold more.
        would_be = "would be " if result.request.layer == "store" else ""
        of_all = f"{result.injected} of {len(result.results)} {would_be}injected by the {result.request.rule} rule"
        yield of_all if result.lacks_vector_because is None else f"{result.results[0].not_injected_because}"


def _recall_header(result: RecallResult) -> str:
    if result.program is not None:
        return f"{result.backend} · by the rule of {result.program} · scale {result.scale}"
    vector, keyword = result.weights
    facts = [result.backend, f"scoring {result.profile} ({result.profile_source})"]
    # The mode of a store with its own search is the name of the store.
    if result.mode != result.backend:
        facts.append(f"{result.mode} {vector:g} / {keyword:g}" if result.mode == "hybrid" else result.mode)
    # There is no threshold if no agent reads the store.
    if result.not_read_because is None:
        facts.append(f"threshold {result.threshold:.2f}")
    facts += [f"scale {result.scale}", f"{result.request.layer} layer"]
    return " · ".join([*facts, *(["reranked"] if result.pool is not None else [])])


def _recall_table(result: RecallResult) -> Iterator[Line]:
    is_wide = output.width() >= _MIN_WIDTH_OF_PARTS
    has_vectors = is_wide and any(scored.vector_score is not None for scored in result.results)
    has_keywords = is_wide and any(scored.keyword_score is not None for scored in result.results)
    rows = [
        (
            str(scored.rank),
            _final_score(scored, result.threshold),
            Styled(_number(scored.vector_score) if has_vectors else "", CYAN),
            Styled(_number(scored.keyword_score) if has_keywords else "", YELLOW),
            cut(one_line(scored.entry.key), _KEY_CELLS),
            scored.entry.content,
        )
        for scored in result.results
    ]
    head, *lines = output.table(rows, ("", "final", "vector", "keyword", "key", "memory"), right=range(4))
    yield head
    for scored, line in zip(result.results, lines, strict=True):
        yield line
        if scored.source not in (None, "active"):
            yield Styled(f"    from the {one_line(scored.source or '')}", DIM)
        if scored.not_injected_because and not (result.not_read_because or result.lacks_vector_because):
            yield Styled(f"    not injected: {one_line(scored.not_injected_because)}", DIM)
        elif scored.injected and scored.place is not None:
            yield Styled(f"    injected: reranked to {_number(scored.reranked)}, place {scored.place}", DIM)


def _final_score(scored: ScoredEntry, threshold: float) -> Line:
    """The score that is compared with the threshold, after the score before decay or rerank."""
    compared = compared_score(scored)
    shown, score = _number(compared), _number(scored.score)
    final = shown
    if compared is not None and compared < threshold and shown == f"{threshold:.2f}":
        final, _ = distinct_numbers(compared, threshold)
    return Styled(final, BOLD) if shown == score else [Styled(f"{score} →", DIM), " ", Styled(final, BOLD)]


def _number(value: float | None) -> str:
    shown = NOTHING if value is None else f"{value:.2f}"
    # A hit in a store with a single row scores 0.000001.
    return "<0.01" if value and shown == "0.00" else shown


async def _recall_batch(library: Library, args: argparse.Namespace) -> int:
    """Run a recall for each line, with its own query, scope and limit; the options are the defaults."""
    from zeroclaw_tui.curation.recall import recall_memories

    settings = build_trial(library, args).settings
    printed: set[str] = set()
    with _open_batch(args.batch) as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                request = _request(library, _line_options(line, args))
                result = await recall_memories(library, library.trial(request, settings))
            except InspectorError as error:
                error.message = f"Line {number} of the batch: {error.message}"
                raise
            output.print_document(result.as_json(), compact=True)
            print_notes(library, result.notes, printed)
    return DONE


def _open_batch(name: str) -> AbstractContextManager[BinaryIO]:
    if name == options.STDIN:
        return nullcontext(cast(BinaryIO, sys.stdin.buffer))
    try:
        return open(name, "rb")
    except OSError as error:
        raise UsageError(f"The batch {name} cannot be read: {error.strerror}.") from error


def _line_options(line: bytes, args: argparse.Namespace) -> argparse.Namespace:
    """Override the options by a line of a batch. Raises UsageError."""
    import json

    try:
        fields = json.loads(line)
    except ValueError as error:
        raise UsageError("It is not JSON.", hint=_BATCH_LINE) from error
    if not isinstance(fields, dict) or not isinstance(fields.get("query"), str):
        raise UsageError('It needs a text as "query".', hint=_BATCH_LINE)
    own = {name: value for name, value in fields.items() if value is not None}
    for name, value in own.items():
        if not _fits(value, _BATCH_FIELDS.get(name)):
            raise UsageError(f'"{one_line(name)}" is unknown or has a wrong value.', hint=_BATCH_LINE)
    session, sessions = own.pop("session", None), own.pop("sessions", None)
    if session is not None and sessions:
        raise UsageError('"session" and "sessions" exclude each other.', hint=_BATCH_LINE)
    own["session"] = sessions or ([session] if session is not None else args.session)
    own["agent"] = own.pop("agents", args.agent)
    return argparse.Namespace(**{**vars(args), **own, "query": [fields["query"]]})


def _fits(value: object, kind: type | None) -> bool:
    from zeroclaw_tui.memory.recall import UNLIMITED

    if kind is None or isinstance(value, bool) or not isinstance(value, kind):
        return False
    if isinstance(value, list):
        return all(isinstance(item, str) for item in value)
    return not isinstance(value, int) or 0 < value < UNLIMITED


@verb(
    "similar",
    "{backend, location, id, key, query, way, because, compared, results}",
    options=[
        options.KEY,
        options.ID,
        option("--query", metavar="TEXT", help="Find memories similar to this text instead of a memory"),
        option("--limit", type=options.positive, default=10, metavar="N", help="Maximum number of memories (10)"),
    ],
    agents=options.OWN_MEMORIES,
    concerns=("vectors",),
    examples=("similar pet", 'similar --query "her cat" --limit 3'),
)
async def similar(library: Library, args: argparse.Namespace) -> int:
    """Print the nearest memories. Raises UsageError unless either a memory or a text is given."""
    from zeroclaw_tui.curation.similar import similar_memories

    if args.query is not None and (args.key is not None or args.id is not None):
        raise UsageError("Both a memory and a text are given.", hint="Pass a KEY (or --id ID), or --query TEXT.")
    agents, entry, text = options.agent_names(args), None, ""
    if args.query is None:
        entry = await find_one(library, args.key, args.id, agents)
    else:
        text = _query(args.query)
        if not text.strip():
            raise UsageError("The text is blank.", hint="Pass some words with --query TEXT.")
    result = await similar_memories(library, entry=entry, text=text, limit=args.limit, agents=agents)
    compared, *reasons = result.sentences()
    output.print_result(args, result.as_json(), _similar_lines(result, compared))
    output.notes(f"Compared by rare words: {one_line(sentence)}" for sentence in reasons)
    return DONE


def _similar_lines(result: SimilarResult, compared: str) -> Iterator[Line]:
    if not result.results:
        name = one_line(result.entry.key if result.entry is not None else result.query or "")
        yield ("No memory is similar to ", Styled(cut(name, 60), BOLD), ".")
        return
    yield Styled(f"{result.backend} · {compared}", DIM)
    yield ()
    rows = [
        (
            str(near.rank),
            Styled(f"{near.score:.2f}", CYAN),
            cut(one_line(near.entry.key), _KEY_CELLS),
            near.entry.content,
            Styled(", ".join(map(one_line, near.shared)), DIM),
        )
        for near in result.results
    ]
    heads = ("", "cosine" if result.method == "vector" else "words", "key", "memory", "both have")
    yield from output.table(rows, heads, right=range(2), longest=_CONTENT_CELLS)


@verb(
    "explain",
    "{id, key, agent, query, profile, profile_source, layer, rule, injected, place, of, stopped_at, "
    "verdict, numbers, steps, later_stops, advice, remarks, notes}",
    options=[
        options.KEY,
        options.ID,
        option("--query", required=True, metavar="TEXT", help="Message; - reads it from stdin"),
        options.LAYER,
        *options.RECALL_SCOPE,
    ],
    agents=options.READABLE_MEMORIES,
    concerns=("store", "recall", "vectors"),
    examples=("explain pet --query cats", "explain --id 7c2e --query tea --json"),
)
async def explain(library: Library, args: argparse.Namespace) -> int:
    """Print the stages that the memory passes, and the one that stops it."""
    from zeroclaw_tui.curation.recall import explain as explain_memory

    # A memory of another agent is also explained: these agents do not see it.
    agents = options.agent_names(args)
    is_exact = bool(agents) and args.key is not None and await find_exact(library, args.key, args.id, agents)
    entry = await find_one(library, args.key, args.id, agents if is_exact else ())
    explanation = await explain_memory(library, entry, build_trial(library, args))
    return output.print_result(args, explanation.as_json(), _explanation_lines(explanation))


def _explanation_lines(explanation: Explanation) -> Iterator[Line]:
    yield Styled(explanation.title, BOLD)
    yield Styled(_explanation_header(explanation), DIM)
    yield ()
    for line in explanation.lines(_wrap, output.width()):
        # A suggestion begins with its key in the inspector, which a shell does not have.
        yield tuple(Styled("→ " if look == "key" else text, _LOOKS[look]) for text, look in line)


def _explanation_header(explanation: Explanation) -> str:
    trial, settings = explanation.record.trial, explanation.record.trial.settings
    if explanation.record.program is not None:
        return f"by the rule of {explanation.record.program}"
    return (
        f"scoring {trial.profile.version} ({one_line(explanation.profile_source)})"
        f" · weights {settings.vector_weight:g} / {settings.keyword_weight:g} · threshold {settings.threshold:.2f}"
        f" · limit {trial.request.limits_shown[0] or 'none'} · {trial.request.rule} rule · {trial.request.layer} layer"
    )


def _wrap(text: str, room: int) -> list[str]:
    import textwrap

    return textwrap.wrap(text, max(20, room), break_on_hyphens=False) or [""]


@verb(
    "prompt",
    "{query, text, rule, differs_by_rule, characters, tokens, entries, why_empty, profile, "
    "profile_source, threshold, results, notes}",
    options=[option("query", nargs="+", metavar="QUERY", help="Message; - reads it from stdin"), *options.RECALL_SCOPE],
    agents=options.READABLE_MEMORIES,
    concerns=("store", "recall", "vectors"),
    examples=("prompt what does she eat", "prompt tea --rule channel"),
)
async def prompt(library: Library, args: argparse.Namespace) -> int:
    """Print the literal text on stdout, invisible characters marked; the document has the exact text."""
    from zeroclaw_tui.curation.recall import prompt_for

    built = await prompt_for(library, build_trial(library, args))
    if args.json:
        output.print_document(built.as_json())
    else:
        sys.stdout.write(display_text(built.text))
    output.notes(_prompt_facts(built, args))
    print_notes(library, built.result.notes)
    return DONE


def _prompt_facts(made: Prompt, args: argparse.Namespace) -> Iterator[str]:
    result = made.result
    by = f"by the rule of {_RULE_WORDS[made.rule]} in ZeroClaw {result.profile} ({one_line(result.profile_source)})"
    if made.why_empty is not None:
        yield f"{made.why_empty} So nothing is put before this message, {by}."
    else:
        size = f"{counted(made.characters, 'character')}, about {counted(made.tokens, 'token')}"
        yield f"{counted(made.entries)}, {size}, {by}."
        if not args.json and display_text(made.text) != made.text:
            yield "Invisible characters are marked; --json has the exact text."
