"""The options of explain, similar, prompt and evaluate."""

from __future__ import annotations

import argparse

from zeroclaw_tui.cli.reading_options import AddVerb, add_recall_scope, add_what_if, positive

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
