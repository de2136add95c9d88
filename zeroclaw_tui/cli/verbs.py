"""The verbs of `zeroclaw memory`: what each is for, its options, its answer as JSON, and the function that answers.

Parsers, help, completion and the pages about JSON come of these. A module that answers is imported when its verb is
called; this one imports nothing but the options, since every start pays for it.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

from zeroclaw_tui.cli.options import (
    Parser,
    add_common,
    add_dry_run,
    add_filters,
    add_key,
    add_recall_scope,
    add_what_if,
    count,
    first_word,
    likely,
    positive,
)
from zeroclaw_tui.memory.errors import WrongUse

Concern = Literal["store", "recall", "vectors", "hygiene", "snapshot", "file", "fact"]
AddOptions = Callable[[argparse.ArgumentParser], None]

LOOK = "See what is remembered"
WHY = "Understand recall"
CHANGE = "Change memories"
TAKE_BACK = "Take back"
UPKEEP = "Keep the store in order"
MOVE = "Bring in and take out"
HELP = "Learn more"

_TRASH = "what was deleted: list it, restore it, let go of it; the history of a memory"
LONGEST_SHOWN = 40
_SNAPSHOT = """\
Write MEMORY_SNAPSHOT.md as ZeroClaw does, with a copy beside it that loses nothing. It does not ask: no memory changes,
`zeroclaw memory undo` puts back the file it replaces, and a file that is not ZeroClaw's is left alone."""
CHANGED = (
    "{verb, backend, location, dry_run, count, action, until, entries, changed, gone, renamed, notes, also_found_in,"
    " cleaned}"
)
"""The document of every verb that changes memory."""
FORMATS = ("jsonl", "csv", "markdown", "mem0", "mcp", "memory-rs", "okf")
ALONG = ("archive", "instructions", "untrusted", "chunks", "vectors", "flagged")


class Verb(NamedTuple):
    """One verb. `name` has two words below `trash`."""

    name: str
    group: str
    about: str
    """What it does, without a capital or a full stop."""
    runs: str
    """Its function, as "module:function" of this package."""
    add_options: AddOptions
    shape: str
    """Its answer with --json: the names of the document."""
    description: str = ""
    """Said in its help in place of `about`."""
    epilog: str = ""
    aliases: tuple[str, ...] = ()
    opens: Literal["store", "config", "nothing"] = "store"
    """What its function is called with: an open store, or the configs where it has something to say, too, of a store
    that does not open."""
    makes_store: bool = False
    """Whether the store is made where it is not there yet."""
    changes: bool = False
    """Whether it changes something, unless --dry-run is given."""
    concerns: tuple[Concern, ...] = ()
    """What of the config's warnings changes what it does."""
    heeds_version: bool = True
    """Whether its answer is another one by the rules of another ZeroClaw version."""
    tells_facts: bool = False
    """Whether how the store is made is told by the verb itself."""


_VERBS: list[Verb] = []


def _verb(name: str, group: str, about: str, runs: str, shape: str, **more: Any) -> Callable[[AddOptions], AddOptions]:
    """Enter a verb, whose options the decorated function adds."""

    def enter(add_options: AddOptions) -> AddOptions:
        _VERBS.append(Verb(name, group, about, runs, add_options, shape, **more))
        return add_options

    return enter


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
_TEST_FILES = """\
A test passes when every expected key reaches the prompt and no rejected one does. Without --gate it ends with 1 where
one fails; with it only where one lost what it had in the baseline. Files are those of `evaluate`, with:

  [[query]]
  query = "what is planned for May?"
  expected = "trip_may"
  rejected = ["old_trip"]                # what must not reach the prompt
  agent = "ann"                          # session, agent and channel are those of the turn
  channel = "telegram"

zeroclaw memory test import-queries [FILE] puts tests behind those of FILE, made of what was really asked (audit log,
traces, chats): each message once, with what reaches the prompt for it today, noted as it was."""
_ADVICE = """\
Half of the tests, by the hash of their query, are held out: settings are chosen on the others, and what is advised has
to win on the held-out ones, over the whole of its 95 % range. Each half needs 10 tests, else nothing is advised.
Levers are each tried alone; limit, version and vectors are no settings of [memory] and never advised."""
_ERASE = """\
Erase a text from every place of the install: memories, chats, traces, audit rows, caches, snapshot, archives, backups,
and what this program keeps of them. Memories and cached answers that hold it go as a whole; from chats, traces and logs
only the text. Nothing brings it back: it is the one verb that also empties the trash of these rows. Stop ZeroClaw
first, else bytes of it stay in files that it has open; the report says what is left, and why."""
_CLEAR = """\
ZeroClaw's own command, with its flags and words; but all memories go and not only the first thousand, a key goes for
one agent only, and `zeroclaw memory undo` brings everything back. Superseded memories stay, as in ZeroClaw."""
_CONFLICTS = (
    ("skip", "keep the store's memory where a key has another content (what happens unless asked)"),
    ("overwrite", "take the file's"),
    ("rename", "bring the file's in under another key"),
)
_CLASHES = (
    ("skip", "leave out memories whose id or key is taken (what happens unless asked)"),
    ("overwrite", "replace what is there; undo brings it back"),
    ("rename", "bring them in under another key"),
)


@_verb(
    "list",
    LOOK,
    "the newest memories first, as ZeroClaw lists them",
    "entries:list_memories",
    "{backend, location, total, superseded_hidden, offset, limit, entries}",
    heeds_version=False,
)
def _list(parser: argparse.ArgumentParser) -> None:
    add_filters(parser)
    parser.add_argument("--limit", type=count, default=50, metavar="N", help="how many at most (50)")
    parser.add_argument("--offset", type=count, default=0, metavar="N", help="how many to leave out first (0)")
    parser.add_argument(
        "--blocks", action="store_true", help="the lines of Markdown files together as paragraphs, bullets and tables"
    )


@_verb(
    "get",
    LOOK,
    "one memory, by its key, a unique beginning of it, or its id",
    "entries:get_memory",
    (
        "{id, key, content, category, timestamp, updated_at, session_id, namespace, importance, "
        "superseded_by, kind, pinned, agent, embedding_dimensions}"
    ),
    heeds_version=False,
)
def _get(parser: argparse.ArgumentParser) -> None:
    add_key(parser, None)


@_verb(
    "recall",
    LOOK,
    "what the agent would recall for a query, with every part of the score",
    "recall:recall",
    (
        "{backend, location, profile, profile_source, layer, query, limit, turn_limit, sessions, "
        "rerank_pool, mode, weights, threshold, scale, rule, results}"
    ),
    aliases=("search",),
    concerns=("store", "recall", "vectors"),
)
def _recall(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", nargs="*", metavar="QUERY", help="words to recall by; - reads them from stdin")
    parser.add_argument(
        "--batch", metavar="FILE", help="JSON lines of {query, limit, ...} (- for stdin); answers one document a line"
    )
    add_recall_scope(parser)
    add_what_if(parser)


@_verb(
    "stats",
    LOOK,
    "how much is remembered, as ZeroClaw counts it",
    "entries:stats",
    (
        "{backend, location, generation, health, total, superseded, by_category, by_session, by_agent, "
        "by_namespace, by_age, embeddings, bytes, by_size, by_day, undated, biggest, "
        "embedded_by_category, vectors_by_dimensions, cut_vectors, storage, facts, findings}"
    ),
)
def _stats(parser: argparse.ArgumentParser) -> None:
    add_filters(parser)


@_verb(
    "facets",
    LOOK,
    "counts by category, session, agent, namespace and age",
    "entries:facets",
    "{backend, location, total, category, session, agent, namespace, age, superseded, superseded_hidden, not_embedded}",
    heeds_version=False,
)
def _facets(parser: argparse.ArgumentParser) -> None:
    add_filters(parser)


@_verb(
    "health",
    LOOK,
    "whether the store answers, what is wrong with it, and which settings hold",
    "health:health",
    "{backend, location, chosen, ok, summary, findings, facts, generation, profile, profile_source, newer_version,"
    " config, installs}",
    opens="config",
)
def _health(parser: argparse.ArgumentParser) -> None:
    """No options of its own."""


@_verb(
    "explain",
    WHY,
    "why a memory is, or is not, in the prompt for a message, stage by stage",
    "explain:explain",
    (
        "{id, key, agent, query, profile, profile_source, layer, rule, injected, place, of, stopped_at, "
        "verdict, steps, advice, remarks, notes}"
    ),
    concerns=("store", "recall", "vectors"),
)
def _explain(parser: argparse.ArgumentParser) -> None:
    add_key(parser, None)
    parser.add_argument("--query", required=True, metavar="TEXT", help="the message; - reads it from stdin")
    add_recall_scope(parser)
    add_what_if(parser)


@_verb(
    "similar",
    WHY,
    "the memories nearest to one by its vector, or by the rare words they share",
    "explain:similar",
    "{backend, location, id, key, query, way, because, compared, results}",
    concerns=("vectors",),
)
def _similar(parser: argparse.ArgumentParser) -> None:
    add_key(parser, None)
    parser.add_argument("--query", metavar="TEXT", help="near this text in place of a memory")
    parser.add_argument("--limit", type=positive, default=10, metavar="N", help="how many at most (10)")


@_verb(
    "prompt",
    WHY,
    "the literal text ZeroClaw puts before a message",
    "prompting:prompt",
    (
        "{query, text, rule, differs_by_rule, characters, tokens, entries, why_empty, profile, "
        "profile_source, threshold, results, notes}"
    ),
    concerns=("store", "recall", "vectors"),
)
def _prompt(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", nargs="+", metavar="QUERY", help="the message; - reads it from stdin")
    parser.add_argument("--raw", action="store_true", help="the exact text, what cannot be seen unmarked")
    add_recall_scope(parser, has_layer=False)
    add_what_if(parser)


@_verb(
    "evaluate",
    WHY,
    "hit rate, MRR and nDCG of a file of test queries",
    "evaluating:evaluate",
    "{file, k, queries, keys_nobody_has, runs, difference}",
    concerns=("store", "recall", "vectors"),
    epilog=_EVALUATE_FILES,
)
def _evaluate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="TOML or JSONL: queries with the keys they should recall (below)")
    parser.add_argument("--against", metavar="VERSION", help="beside the scoring of this ZeroClaw version")
    add_recall_scope(parser)
    add_what_if(parser)


@_verb(
    "tail",
    WHY,
    "what ZeroClaw really put before each message, beside what is predicted; goes on with the turns that come",
    "tail:tail",
    "{turn, at, agent, session, channel, query, sent, predicted, equal, why_not_equal, source}, a line a turn",
    concerns=("store", "recall", "vectors"),
)
def _tail(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--once", action="store_true", help="what is recorded, and end")
    parser.add_argument("--since", metavar="WHEN", help="turns since then: 12h, 30d, a date or RFC 3339")
    parser.add_argument("--mismatches", action="store_true", help="only turns whose prediction was not what was sent")
    parser.add_argument("--check", action="store_true", help="end with 1 where one was not")


@_verb(
    "test",
    WHY,
    "recall tests: what should reach the prompt and what must not; a gate against a baseline",
    "recall_tests:test",
    "{file, tests, passed, failed, profile, as_of, keys_nobody_has, gate, notes, results}",
    concerns=("store", "recall", "vectors"),
    epilog=_TEST_FILES,
)
def _test(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", nargs="*", metavar="FILE", help="TOML or JSONL of tests, tests.toml beside the settings unless given"
    )
    parser.add_argument("--save-baseline", metavar="FILE", help="keep how every test does now, for --gate")
    parser.add_argument("--gate", metavar="FILE", help="end with 1 only where a test lost its answer since")
    parser.add_argument("--junit", metavar="FILE", help="write the run as JUnit XML as well")
    parser.add_argument("--most", type=positive, default=200, metavar="N", help="import-queries: how many (200)")
    add_recall_scope(parser)
    add_what_if(parser)


@_verb(
    "advise",
    WHY,
    "which settings pass more of the recall tests, measured on tests they were not chosen by",
    "advice:advise",
    "{file, tests, held_out, settings_tried, today, levers, advice, why_none, ceiling, notes}",
    concerns=("store", "recall", "vectors"),
    epilog=_ADVICE,
)
def _advise(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", nargs="?", metavar="FILE", help="recall tests as `evaluate` takes them; tests.toml beside our settings"
    )
    parser.add_argument("--as-of", metavar="WHEN", help="count ages to this moment in place of now")
    parser.add_argument("--write", action="store_true", help="write what is advised to config.toml, after the diff")


@_verb(
    "store",
    CHANGE,
    "store a memory; one of that key and agent is replaced, as ZeroClaw does it",
    "edits:store",
    CHANGED,
    makes_store=True,
    changes=True,
    concerns=("store",),
)
def _store(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("key", metavar="KEY")
    parser.add_argument("content", metavar="CONTENT", help="the text to remember; - reads it from stdin")
    _add_as_zeroclaw(parser)
    parser.add_argument("--new", action="store_true", help="refuse a key that is there already")
    parser.add_argument("--category", default="core", metavar="NAME", help="core unless given")
    parser.add_argument("--session", metavar="ID")
    parser.add_argument("--namespace", metavar="NAME")
    parser.add_argument("--importance", type=float, metavar="0..1")
    parser.add_argument("--pinned", action="store_true", default=None, help="hygiene and budgets spare it")


@_verb(
    "edit",
    CHANGE,
    "change a memory in place, by its exact key or its id",
    "edits:edit",
    CHANGED,
    changes=True,
    concerns=("store",),
)
def _edit(parser: argparse.ArgumentParser) -> None:
    add_key(parser)
    _add_as_zeroclaw(parser)
    parser.add_argument("--content", metavar="TEXT", help="the new text; - reads it from stdin")
    parser.add_argument("--key", dest="new_key", metavar="NEW", help="the new key")
    parser.add_argument("--category", metavar="NAME")
    parser.add_argument("--session", metavar="ID", help='"" takes the session away')
    parser.add_argument("--namespace", metavar="NAME")
    parser.add_argument("--importance", type=float, metavar="0..1")
    pinned = parser.add_mutually_exclusive_group()
    pinned.add_argument("--pinned", action="store_true", default=None, help="hygiene and budgets spare it")
    pinned.add_argument("--no-pinned", dest="pinned", action="store_false", default=None)
    parser.add_argument("--unsupersede", action="store_true", help="show a superseded memory to the agent again")
    _add_clean(parser)


@_verb(
    "forget",
    CHANGE,
    "delete one memory, by its exact key or its id",
    "edits:forget",
    CHANGED,
    changes=True,
    concerns=("store",),
)
def _forget(parser: argparse.ArgumentParser) -> None:
    add_key(parser)
    _add_removal(parser)


@_verb(
    "purge",
    CHANGE,
    "delete every memory that the filters leave, or those of these keys or ids",
    "edits:purge",
    CHANGED,
    changes=True,
    concerns=("store",),
)
def _purge(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("keys", nargs="*", metavar="KEY", help="exact keys, in place of filters")
    parser.add_argument("--id", action="append", metavar="ID", help="this memory (repeatable), in place of filters")
    add_filters(parser)
    _add_removal(parser)


@_verb(
    "clear",
    CHANGE,
    "delete all memories, those of a category, or the one of a key",
    "edits:clear",
    CHANGED,
    changes=True,
    concerns=("store",),
    description=_CLEAR,
)
def _clear(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--key", metavar="KEY", help="only the memory of this key, or of the only key that begins so")
    parser.add_argument("--category", metavar="NAME", help="only this category")
    parser.set_defaults(forever=False)
    _add_clean(parser)
    add_dry_run(parser)


@_verb(
    "erase",
    CHANGE,
    "a text gone from every place of the install, in any case of letters, with a report",
    "erase:erase",
    (
        "{verb, dry_run, at, backend, location, texts, complete, stopped, erased, left, near, "
        "not_looked_at, scanned, copy}"
    ),
    changes=True,
    concerns=("store",),
    description=_ERASE,
)
def _erase(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", metavar="TEXT", help="the text; - reads it from stdin, since others see a command line")
    parser.add_argument(
        "--also", action="append", default=[], metavar="SPELLING", help="another spelling of it (repeatable)"
    )
    parser.add_argument(
        "--also-files",
        action="store_true",
        help="also from workspace files, Markdown notes beside the store, scheduled jobs, knowledge.db and audit.log",
    )
    parser.add_argument(
        "--export", metavar="FILE", help="write a copy of the memories that go first, outside the install"
    )
    parser.add_argument("--report", metavar="FILE", help="write the report there as well (JSON with --json or *.json)")
    add_dry_run(parser)


@_verb("undo", TAKE_BACK, "take back the last change that was not taken back yet", "undo:undo", CHANGED, changes=True)
def _undo(parser: argparse.ArgumentParser) -> None:
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--id", type=positive, metavar="N", help="the change of this number, whatever came after it")
    which.add_argument("--list", action="store_true", help="only list the changes made here, each with its number")
    _add_clash(parser)
    add_dry_run(parser)


@_verb(
    "redo",
    TAKE_BACK,
    "do again what undo took back last, unless another change came since",
    "undo:redo",
    CHANGED,
    changes=True,
)
def _redo(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--id", type=positive, metavar="N", help="the change of this number, whatever came since")
    _add_clash(parser)
    add_dry_run(parser)


@_verb(
    "trash list",
    TAKE_BACK,
    "deleted memories, the last deleted first, each with the number that restores it",
    "trash:trash",
    "{backend, location, total, offset, limit, usage, entries}",
)
def _trash_list(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--contains", metavar="TEXT", help="in key or content, whatever its case")
    parser.add_argument("--limit", type=count, default=50, metavar="N", help="how many at most (50)")
    parser.add_argument("--offset", type=count, default=0, metavar="N", help="how many to leave out first (0)")
    parser.add_argument("--every-store", action="store_true", help="of all stores of this config dir")


@_verb("trash restore", TAKE_BACK, "bring deleted memories back", "trash:trash", CHANGED, changes=True)
def _trash_restore(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("numbers", nargs="*", type=positive, metavar="NUMBER", help="as `trash list` shows them")
    parser.add_argument("--contains", metavar="TEXT", help="all that have this in key or content")
    parser.add_argument("--all", action="store_true", help="all of this store")
    parser.add_argument("--id", metavar="ID", help="the memory of this id")
    _add_clash(parser)


@_verb(
    "trash empty",
    TAKE_BACK,
    "let go of deleted memories for ever; without a NUMBER of all, and of every undo",
    "trash:trash",
    CHANGED,
)
def _trash_empty(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("numbers", nargs="*", type=positive, metavar="NUMBER", help="as `trash list` shows them")
    add_dry_run(parser)


@_verb(
    "trash history",
    TAKE_BACK,
    "what was done here to one memory, with what changed in its text",
    "trash:trash",
    "{backend, location, ids, versions}",
)
def _trash_history(parser: argparse.ArgumentParser) -> None:
    add_key(parser)


@_verb(
    "hygiene",
    UPKEEP,
    "what ZeroClaw's hygiene would archive and delete, and doing it with undo",
    "hygiene:hygiene",
    (
        "{backend, location, root, profile, as_of, dry_run, enabled, last_run, last_report, next_due, "
        "state_problem, rules, items, left_out, problems}"
    ),
    changes=True,
    concerns=("store", "hygiene"),
)
def _hygiene(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--as-of",
        metavar="WHEN",
        help="what it would do then: a date (the midnight it begins with), RFC 3339, 30d (ago) or 'in 30d'",
    )
    parser.add_argument(
        "--without", action="append", default=[], metavar="ITEM", help="leave this out, by its name (repeatable)"
    )
    add_dry_run(parser)


@_verb(
    "audit",
    UPKEEP,
    "what pollutes the memory: duplicates, recall blobs, tool results, secrets and more",
    "audit:audit",
    "{backend, location, rows, superseded, size, findings, notes}",
)
def _audit(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--only", action="append", metavar="KIND", help="only this kind of finding (repeatable)")
    parser.add_argument("--limit", type=count, default=5, metavar="N", help="how many memories to show of each (5)")
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--purge", action="store_true", help="move the memories of the findings named to the trash")
    action.add_argument("--recategorise", metavar="NAME", help="give them this category")
    action.add_argument("--merge", choices=("newest", "longest"), help="of duplicates keep one")
    parser.add_argument(
        "--clean-copies", action="store_true", help="also remove the old texts where they still lie elsewhere"
    )
    add_dry_run(parser)


@_verb(
    "doctor",
    UPKEEP,
    "what is wrong with the store, the risk of it, and its repair",
    "doctor:doctor",
    "{backend, location, deep, healthy, findings, notes, repaired}",
    opens="config",
    concerns=("file", "fact", "store", "recall", "vectors", "hygiene", "snapshot"),
    tells_facts=True,
)
def _doctor(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--deep", action="store_true", help="also check a copy of the database page by page")
    parser.add_argument(
        "--repair", action="append", metavar="FINDING", help="repair this, after a backup (repeatable); all"
    )
    add_dry_run(parser)


@_verb(
    "compact",
    UPKEEP,
    "make the database file small, when no other program has it open",
    "upkeep:compact",
    "{backend, location, dry_run, before, after, free, open_in, backup, done}",
    opens="config",
)
def _compact(parser: argparse.ArgumentParser) -> None:
    add_dry_run(parser)


@_verb(
    "reindex",
    UPKEEP,
    "make the vectors that memories lack",
    "upkeep:reindex",
    "{backend, location, dry_run, model, remote, missing, wrong, characters, tokens, cost, filled, zeros,"
    " left, failed, stopped}",
    changes=True,
    concerns=("store", "vectors"),
)
def _reindex(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--per-minute", type=positive, metavar="N", help="send at most so many requests a minute")
    parser.add_argument("--id", action="append", metavar="ID", help="only the memory of this id (repeatable)")
    add_dry_run(parser)


@_verb(
    "snapshot",
    UPKEEP,
    "write MEMORY_SNAPSHOT.md as ZeroClaw does, with a copy beside it that loses nothing",
    "snapshot:snapshot",
    CHANGED,
    description=_SNAPSHOT,
    changes=True,
    concerns=("store", "snapshot"),
)
def _snapshot(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--diff", action="store_true", help="compare the snapshot with the store, write nothing")
    parser.add_argument("--file", metavar="PATH", help="with --diff: compare this file in place of ZeroClaw's own")
    parser.add_argument(
        "--replace-foreign", action="store_true", help="replace a file of that name that is not ZeroClaw's"
    )
    add_dry_run(parser)


@_verb(
    "hydrate",
    MOVE,
    "bring memories of a snapshot into the store, or make an empty store of it",
    "snapshot:hydrate",
    CHANGED,
    opens="config",
    concerns=("store",),
)
def _hydrate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", nargs="?", metavar="FILE", help="a snapshot or a JSONL export; ZeroClaw's own if not given"
    )
    parser.add_argument("--pick", action="append", metavar="KEY", help="only the memory of this key (repeatable)")
    conflict = parser.add_mutually_exclusive_group()
    for name, about in _CONFLICTS:
        conflict.add_argument(
            f"--{name}", dest="on_conflict", action="store_const", const=name, default="skip", help=about
        )
    for name, _ in _CONFLICTS:
        parser.add_argument(
            f"--{name}-key",
            action="append",
            default=[],
            metavar="KEY",
            help=f"--{name} for this key alone (repeatable)",
        )
    add_dry_run(parser)


@_verb(
    "export",
    MOVE,
    "write memories to JSONL (nothing lost), CSV or Markdown",
    "export:export",
    "{file, count, size, format, lost, superseded_hidden, filtered_out}",
)
def _export(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", nargs="?", default="-", metavar="FILE", help="where to write; - is stdout, as without it"
    )
    parser.add_argument(
        "--format",
        choices=FORMATS,
        help="unless the name of the file tells; jsonl else. mem0, mcp and memory-rs are the JSON of these tools, okf a"
        " folder of Open Knowledge Format. CSV has every text as it is, also one that begins with ="
        " and that a spreadsheet takes for a formula",
    )
    parser.add_argument("--vectors", action="store_true", help="with the vectors (JSONL only)")
    parser.add_argument("--overwrite", action="store_true", help="replace a file that is there")
    add_filters(parser)


@_verb(
    "import",
    MOVE,
    "bring memories in from a file or folder, of this program or another tool",
    "transfer:import_",
    CHANGED,
    makes_store=True,
    changes=True,
    concerns=("store",),
    tells_facts=True,
)
def _import_(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        metavar="FILE_OR_FOLDER",
        help="what `zeroclaw memory export` wrote, a table with key and content, or another tool's memories",
    )
    parser.add_argument(
        "--from",
        "--format",
        dest="format",
        metavar="NAME",
        help="whose memories they are, where the content does not tell",
    )
    parser.add_argument(
        "--with",
        dest="along",
        action="append",
        default=[],
        choices=ALONG,
        help="bring in, too, what is left out unless it is asked for (repeatable)",
    )
    _add_clashes(parser)
    add_dry_run(parser)


@_verb(
    "copy",
    MOVE,
    "bring memories of this store to another one, of any backend, and check them there",
    "transfer:copy",
    CHANGED,
)
def _copy(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--to",
        required=True,
        metavar="BACKEND",
        help="where to: sqlite, markdown, postgres, qdrant, redis, lucid, or a plug-in by its name",
    )
    parser.add_argument(
        "--to-location", metavar="URL_OR_PATH", help="the store itself, where it is not the one the config names"
    )
    _add_clashes(parser)
    add_dry_run(parser)
    add_filters(parser)


def _add_as_zeroclaw(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--as-zeroclaw",
        action="store_true",
        help="do what ZeroClaw's own store would by [memory.policy]: refuse, or blank out first (from 0.8.4 on)",
    )


def _add_removal(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--forever", action="store_true", help="keep nothing in the trash: nothing brings it back")
    _add_clean(parser)
    add_dry_run(parser)


def _add_clean(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--clean-copies",
        action="store_true",
        help="also remove the old text where it still lies elsewhere; a change of its own, which undo takes back first",
    )


def _add_clash(parser: argparse.ArgumentParser) -> None:
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "--overwrite", dest="clash", action="store_const", const="overwrite", default="refuse",
        help="replace what is there now",
    )  # fmt: skip
    group.add_argument(
        "--rename", dest="clash", action="store_const", const="rename", default="refuse",
        help="put back beside what is there now, under another key",
    )  # fmt: skip


def _add_clashes(parser: argparse.ArgumentParser) -> None:
    clash = parser.add_mutually_exclusive_group()
    for name, about in _CLASHES:
        clash.add_argument(f"--{name}", dest="on_clash", action="store_const", const=name, default="skip", help=about)


@_verb("help", HELP, "a page about one topic, or the help of a verb", "pages:show", "{topic, text}", opens="nothing")
def _help(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("topic", nargs="*", metavar="TOPIC_OR_VERB", help="without one, the topics are listed")


VERBS = {verb.name: verb for verb in _VERBS}
"""Every verb by its name, in the order in which they are told."""
_BY_ALIAS = {alias: verb for verb in _VERBS for alias in verb.aliases}
ABOUT_MEMORY = """\
What the agent remembers, straight from its store, with no daemon. Looking never writes;
what a change removes lies in a trash, and `undo` takes the change back.
Options may stand before or after the verb. A key that begins with "-" goes after "--"."""
ABOUT_THE_REST = """\
Every other command is handed to the real zeroclaw; `zeroclaw --real ...` hands over these as well.

Exit codes: 0 done, 1 not there, refused, answered no, or health found something wrong, 2 wrong use or broken config,
3 store not reachable or locked, 127 no real zeroclaw to hand over to, 130 interrupted."""


def memory_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    """What stands behind `zeroclaw memory`, parsed, with `verb` its name. Raises WrongUse, which names the verb whose
    help tells more, and what a misspelt verb or option may stand for."""
    verb, others = split_verb(arguments)
    if verb is None:
        raise WrongUse("A verb is missing.", hint="`zeroclaw memory` lists the verbs.")
    given = verb_parser(verb).parsed(others)
    given.verb, given.makes_store = verb.name, verb.makes_store
    return given


def split_verb(arguments: Sequence[str]) -> tuple[Verb | None, list[str]]:
    """The verb among the words behind `memory`, None where there is none, and the other words. Raises WrongUse."""
    others = list(arguments)
    at = first_word(others)
    if at is None:
        return None, others
    name = others.pop(at)
    verb = named_verb(name)
    if verb is not None:
        return verb, others
    below = verbs_below(name)
    if not below:
        raise _unknown(name)
    at = first_word(others)
    second = others.pop(at) if at is not None else None
    if second is None and {"-h", "--help"} & set(others):
        return _several(name, below), others
    if f"{name} {second}" not in VERBS:
        raise _unknown_below(name, second, below)
    return VERBS[f"{name} {second}"], others


def named_verb(name: str) -> Verb | None:
    """The verb of this name, or other name."""
    return VERBS.get(name) or _BY_ALIAS.get(name)


def verbs_below(name: str) -> list[Verb]:
    """The verbs of two words whose first is this."""
    return [verb for verb in _VERBS if verb.name.startswith(f"{name} ")]


def first_words() -> Iterator[tuple[str, str]]:
    """What may stand behind `memory`, each with what it does; the verbs below one are told as one."""
    for verb in _VERBS:
        name, *below = verb.name.split()
        if not below:
            yield name, verb.about
        elif verb is verbs_below(name)[0]:
            yield name, _TRASH
    for name, verb in _BY_ALIAS.items():
        yield name, verb.about


def verb_parser(verb: Verb) -> Parser:
    """The parser of one verb."""
    parser = Parser(
        prog=f"zeroclaw memory {verb.name}",
        description=verb.description or f"{verb.about[:1].upper()}{verb.about[1:]}.",
        epilog=verb.epilog,
        allow_abbrev=False,
    )
    parser.keeps_lines = bool(verb.epilog)
    verb.add_options(parser)
    add_common(parser)
    return parser


def memory_parser() -> Parser:
    """The parser of `zeroclaw memory` without a verb, whose help lists all of them."""
    parser = Parser(
        prog="zeroclaw memory",
        usage="zeroclaw memory VERB [options]",
        description=f"{ABOUT_MEMORY}\n\n{verbs_listed()}",
        epilog=ABOUT_THE_REST,
        allow_abbrev=False,
    )
    parser.keeps_lines = True
    add_common(parser)
    return parser


def verbs_listed() -> str:
    """The verbs by what they are for, each with its sentence."""
    lines: list[str] = []
    for group in dict.fromkeys(verb.group for verb in _VERBS):
        lines += ["", group]
        lines += [f"  {verb.name:<14} {verb.about}" for verb in _VERBS if verb.group == group]
    return "\n".join(lines[1:])


def _several(name: str, below: Sequence[Verb]) -> Verb:
    """What `--help` behind the first word of verbs of two words shows."""
    told = "\n".join(f"  {verb.name:<14} {verb.about}" for verb in below)
    about = f"{_TRASH[:1].upper()}{_TRASH[1:]}."
    return below[0]._replace(name=name, description=f"{about}\n\n{told}", epilog=" ", add_options=lambda parser: None)


def _unknown(name: str) -> WrongUse:
    hint = "`zeroclaw memory` lists the verbs."
    near = likely(name, dict(first_words()))
    return WrongUse(f"There is no verb {_shown(name)}.", hint=f"Did you mean {near}? {hint}" if near else hint)


def _unknown_below(name: str, second: str | None, below: Sequence[Verb]) -> WrongUse:
    names = [verb.name.split()[1] for verb in below]
    hint = f"There are {', '.join(names[:-1])} and {names[-1]}; `zeroclaw memory {name} --help` shows how."
    if second is None:
        return WrongUse(f"`zeroclaw memory {name}` needs a verb of its own.", hint=hint)
    near = likely(second, names)
    return WrongUse(
        f"There is no verb {_shown(second)} of {name}.", hint=f"Did you mean {near}? {hint}" if near else hint
    )


def _shown(typed: str) -> str:
    from zeroclaw_tui.memory.text import mask_secrets, one_line

    return one_line(mask_secrets(typed))[:LONGEST_SHOWN]
