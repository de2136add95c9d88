"""The options of the verbs that look and explain, and the kinds of values that options take."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from typing import Any, get_args

from zeroclaw_tui.memory.query import Superseded
from zeroclaw_tui.memory.recall import Rule
from zeroclaw_tui.scoring.settings import RerankStrategy

AddVerb = Callable[..., argparse.ArgumentParser]
"""Adds a verb by its name, what it does in a few words, and its other names."""

_LENGTH = re.compile(r"(\d{1,12})\s*([kmg]?)i?b?", re.IGNORECASE | re.ASCII)
SEARCH_MODES = ("hybrid", "bm25", "embedding")
_UNITS = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3}
_EVALUATE_FILES = """\
FILE as TOML, or as JSONL with such an object on each line; - reads it from stdin:

  [[query]]
  query = "what does she like to eat?"
  expected = ["food", "food_allergy"]    # keys; a single one may stand without brackets

  [[query]]
  name = "time zone, in the chat"        # what reports call it
  query = "what time is it there?"
  expected = "tz"
  session = "tg_1"

  {"query": "what does she like to eat?", "expected": ["food", "food_allergy"]}

Measured among the first N of --limit: hit rate, MRR, nDCG@N, and how often an expected memory reaches the prompt.
With a what-if option the figures stand before and after it, with --against by the rules of both versions."""


def add_verb(verbs: argparse._SubParsersAction[Any], name: str, about: str, *aliases: str) -> argparse.ArgumentParser:
    """A verb whose help is its description too."""
    sentence = f"{about[:1].upper()}{about[1:]}."
    made: argparse.ArgumentParser = verbs.add_parser(
        name, aliases=list(aliases), help=about, description=sentence, allow_abbrev=False
    )
    return made


def add_reading_verbs(verb: AddVerb) -> None:
    """list, get, recall, stats, facets and health."""
    listing = verb("list", "the newest memories first, as ZeroClaw lists them")
    add_filters(listing)
    listing.add_argument("--limit", type=count, default=50, metavar="N", help="how many at most (50)")
    listing.add_argument("--offset", type=count, default=0, metavar="N", help="how many to leave out first (0)")
    listing.add_argument(
        "--blocks", action="store_true", help="the lines of Markdown files together as paragraphs, bullets and tables"
    )

    one = verb("get", "one memory, by its key, a unique beginning of it, or its id")
    one.add_argument("key", nargs="?", metavar="KEY")
    one.add_argument("--id", metavar="ID", help="the memory of this id")

    recall = verb("recall", "what the agent would recall for a query, with every part of the score", "search")
    recall.add_argument("query", nargs="*", metavar="QUERY", help="words to recall by; - reads them from stdin")
    recall.add_argument(
        "--batch", metavar="FILE", help="JSON lines of {query, limit, ...} (- for stdin); answers one document a line"
    )
    add_recall_scope(recall)
    add_what_if(recall)
    add_filters(verb("stats", "how much is remembered, as ZeroClaw counts it"))
    add_filters(verb("facets", "counts by category, session, agent, namespace and age"))
    verb("health", "whether the store answers, what is wrong with it, and which settings hold")


def add_filters(parser: argparse.ArgumentParser) -> None:
    """The filters that list, stats, facets and purge take."""
    group = parser.add_argument_group("filters", "All must hold; a repeated one takes any of its values.")
    group.add_argument("--category", action="append", metavar="NAME")
    group.add_argument("--session", action="append", metavar="ID", help='"" means memories without a session')
    group.add_argument("--namespace", action="append", metavar="NAME")
    group.add_argument("--older-than", metavar="WHEN", help="created before: 30d, 12h, 2w, a date or RFC 3339")
    group.add_argument("--newer-than", metavar="WHEN", help="created after")
    group.add_argument("--undated", action="store_true", help="without a date that can be read")
    group.add_argument("--longer-than", type=length, metavar="BYTES", help="longer than so many bytes: 200, 4k, 2M")
    group.add_argument("--shorter-than", type=length, metavar="BYTES", help="shorter than that")
    group.add_argument("--contains", metavar="TEXT", help="in key or content, whatever its case")
    group.add_argument("--words", metavar="TEXT", help="every one of these words in key or content, in any order")
    group.add_argument("--regex", metavar="PATTERN", help="this regular expression in key or content")
    group.add_argument(
        "--superseded",
        nargs="?",
        const=str(Superseded.SHOW),
        default=str(Superseded.HIDE),
        choices=[str(choice) for choice in Superseded],
        help="memories that a newer one replaced: hide (as ZeroClaw does), show or only",
    )


def add_recall_scope(parser: argparse.ArgumentParser, *, has_layer: bool = True) -> None:
    """The options that say what is recalled, and how it is judged."""
    parser.add_argument(
        "--limit", type=positive, metavar="N", help="try another limit than the turn has (5; library: its agent's own)"
    )
    parser.add_argument(
        "--session", action="append", metavar="ID", help="recall within this session; several in their order"
    )
    parser.add_argument("--namespace", metavar="NAME", help="recall within this namespace")
    parser.add_argument("--since", metavar="WHEN", help="created then or later: 30d, 12h, 2w, a date or RFC 3339")
    parser.add_argument("--until", metavar="WHEN", help="created then or earlier")
    if has_layer:
        parser.add_argument(
            "--layer",
            choices=("agent", "store"),
            default="agent",
            help="what reaches an agent, or the store's own recall",
        )
    parser.add_argument(
        "--rule",
        choices=get_args(Rule),
        default="cli",
        help="whose turn it is: the CLI agent's, a channel's, cron's, or the embedded agent's (web socket, RPC)",
    )
    parser.add_argument("--as-of", metavar="WHEN", help="count time decay to this moment in place of now")


def add_what_if(parser: argparse.ArgumentParser) -> None:
    """Other numbers than config.toml has; nothing is written."""
    group = parser.add_argument_group("what if", "Other numbers than config.toml has; nothing is written.")
    group.add_argument("--vector-weight", metavar="NUMBER", help="how much the cosine counts")
    group.add_argument("--keyword-weight", metavar="NUMBER", help="how much the words count")
    group.add_argument("--threshold", metavar="NUMBER", help="what a score has to reach to be injected")
    group.add_argument("--search-mode", choices=SEARCH_MODES, help="read from 0.6.3 on")
    group.add_argument("--rerank", choices=("on", "off"), help="rerank what is put before the message, from 0.8.4 on")
    group.add_argument("--rerank-strategy", choices=get_args(RerankStrategy), help="how it is ordered anew")
    group.add_argument("--rerank-threshold", type=count, metavar="N", help="how many memories mmr needs")
    group.add_argument("--mmr-lambda", metavar="NUMBER", help="0 to 1: how much the score counts against what repeats")
    group.add_argument("--importance-weight", metavar="NUMBER", help="0 to 1: how much importance counts in rerank")
    group.add_argument("--recency-weight", metavar="NUMBER", help="0 to 1: how much age counts in rerank")
    group.add_argument("--candidate-multiplier", type=positive, metavar="N", help="limits recalled for rerank, 1 to 20")
    group.add_argument("--day", type=count, metavar="N", help="count time decay to N days from now")


def count(text: str) -> int:
    """A whole number of 0 or more."""
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number of 0 or more")
    return int(text)


def positive(text: str) -> int:
    """A whole number of 1 or more."""
    if (number := count(text)) == 0:
        raise argparse.ArgumentTypeError("it must be at least 1")
    return number


def length(text: str) -> int:
    """Bytes: "200", "4k", "2 MB", 1,024 to the unit."""
    meant = _LENGTH.fullmatch(text.strip())
    if meant is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of bytes (200, 4k, 2M)")
    return int(meant.group(1)) * _UNITS[meant.group(2).lower()]


def add_scoring_verbs(verb: AddVerb) -> None:
    """explain, similar, prompt and evaluate."""
    why = verb("explain", "why a memory is, or is not, in the prompt for a message, stage by stage")
    why.add_argument("key", nargs="?", metavar="KEY")
    why.add_argument("--id", metavar="ID", help="the memory of this id")
    why.add_argument("--query", required=True, metavar="TEXT", help="the message; - reads it from stdin")
    add_recall_scope(why)
    add_what_if(why)

    near = verb("similar", "the memories nearest to one by its vector, or by the rare words they share")
    near.add_argument("key", nargs="?", metavar="KEY")
    near.add_argument("--id", metavar="ID", help="the memory of this id")
    near.add_argument("--query", metavar="TEXT", help="near this text in place of a memory")
    near.add_argument("--limit", type=positive, default=10, metavar="N", help="how many at most (10)")

    prompt = verb("prompt", "the literal text ZeroClaw puts before a message")
    prompt.add_argument("query", nargs="+", metavar="QUERY", help="the message; - reads it from stdin")
    prompt.add_argument("--raw", action="store_true", help="the exact text, what cannot be seen unmarked")
    add_recall_scope(prompt, has_layer=False)
    add_what_if(prompt)

    queries = verb("evaluate", "hit rate, MRR and nDCG of a file of test queries")
    queries.add_argument("file", metavar="FILE", help="TOML or JSONL: queries with the keys they should recall (below)")
    queries.add_argument("--against", metavar="VERSION", help="beside the scoring of this ZeroClaw version")
    add_recall_scope(queries)
    add_what_if(queries)
    queries.epilog = _EVALUATE_FILES
    queries.formatter_class = argparse.RawDescriptionHelpFormatter
