"""Removed verbs and options of earlier versions: the error of each names the replacement.

A command in backquotes that begins with `zeroclaw` works as printed, after filling in KEY, FILE and the like.
"""

from __future__ import annotations

from collections.abc import Sequence

from zeroclaw_tui.memory.errors import UsageError

VERBS = {
    "facets": "The verb `facets` was removed; `zeroclaw memory stats --json` prints the same counts.",
    "evaluate": "The verb `evaluate` was removed; `zeroclaw memory test FILE` prints the same figures.",
    "advise": "The verb `advise` was removed; try other settings with `w` in the inspector, or on recall tests, as in"
    " `zeroclaw memory test FILE --set memory.min_relevance_score=0.3`.",
    "trash history": "The verb `trash history` was removed; `zeroclaw memory get KEY --history` prints the same.",
    "compact": "The verb `compact` was removed; `zeroclaw memory doctor --compact` does the same.",
}
"""The error for each removed verb."""

_FILTERED, _RECALLING = "list stats purge export copy", "recall explain prompt test"
_ROWS = (
    (_FILTERED, "--words", "use `--contains` or `--regex`, as in `zeroclaw memory list --contains TEXT`."),
    (_FILTERED, "--undated", "`zeroclaw memory stats --json` counts memories without a date."),
    (_FILTERED, "--longer-than --shorter-than", "`zeroclaw memory stats --json` lists the biggest memories."),
    (_RECALLING, "--day", "`--as-of` takes a date, as in `zeroclaw memory recall QUERY --as-of 2026-12-31`."),
    ("prompt", "--raw", "`zeroclaw memory prompt QUERY --json` has the exact text in `text`."),
    ("test", "--save-baseline --gate --junit", "save and compare the results of `zeroclaw memory test FILE --json`."),
    ("test", "import-queries", "`zeroclaw memory help queries` shows how to write tests."),
    ("hydrate", "--skip-key --overwrite-key --rename-key", "`zeroclaw memory hydrate --overwrite` is for every key."),
    ("hydrate", "--pick", "`zeroclaw memory store KEY TEXT` brings one memory of the snapshot back."),
    ("snapshot", "--replace-foreign", "`zeroclaw memory snapshot` replaces any such file; undo restores it."),
    ("snapshot", "--diff --file", "`zeroclaw memory hydrate --dry-run` compares a snapshot with the store."),
    ("hygiene", "--without", "`zeroclaw memory hygiene --yes` runs all; in the inspector `space` leaves an item out."),
    ("tail", "--check --mismatches", "`zeroclaw memory tail --json` has `equal` for each turn."),
    ("audit", "--recategorise", "change one memory with `zeroclaw memory edit KEY --category daily`."),
    ("erase", "--also", "`zeroclaw memory erase TEXT TEXT --dry-run` looks for several texts at once."),
    ("erase", "--also-files", "`zeroclaw memory erase TEXT --dry-run` shows which files it changes."),
    ("tail", "--once", "`zeroclaw memory tail` prints what is recorded and exits."),
    ("search", "--batch --since --until --layer --rule --as-of", "`zeroclaw memory recall QUERY` takes this option."),
    ("store edit", "--as-zeroclaw", "`zeroclaw memory store KEY TEXT` says what ZeroClaw would refuse."),
    ("trash restore", "--id", "restore by the number that `zeroclaw memory trash list` shows."),
    ("trash list", "--every-store", "`zeroclaw memory trash list` lists the trash of the store that it opens."),
    ("reindex", "--per-minute", "`reindex` waits by itself when the provider reports too many requests."),
    ("list", "--blocks", "`zeroclaw memory list` shows a memory for each line."),
)
"""Verbs, their removed options, and what to do instead."""
_NOW_SET = {
    "--vector-weight": "vector_weight=0.7", "--keyword-weight": "keyword_weight=0.3",
    "--threshold": "min_relevance_score=0.4", "--search-mode": "search_mode=hybrid", "--rerank": "rerank_enabled=true",
    "--rerank-strategy": "rerank_strategy=mmr", "--rerank-threshold": "rerank_threshold=5",
    "--mmr-lambda": "mmr_lambda=0.7", "--importance-weight": "importance_weight=0.2",
    "--recency-weight": "recency_weight=0.1", "--candidate-multiplier": "candidate_multiplier=4",
}  # fmt: skip
"""Former what-if options, with the setting that replaces each."""


def _options() -> dict[tuple[str, str], str]:
    now_set = [
        (f"{_RECALLING} search", option, f"use `--set`, as in `zeroclaw memory recall QUERY --set memory.{setting}`.")
        for option, setting in _NOW_SET.items()
    ]
    errors: dict[tuple[str, str], str] = {}
    for verbs, options, instead in (*_ROWS, *now_set):
        for verb in [verbs] if verbs.startswith("trash ") else verbs.split():
            errors |= {(verb, option): f"`{option}` was removed; {instead}" for option in options.split()}
    return errors


OPTIONS = _options()
"""The error for each removed option of a verb."""


class RemovedError(UsageError):
    """A verb or option of earlier versions that was removed."""

    title = "Removed"


def removed_verb(words: Sequence[str]) -> RemovedError | None:
    """The error for a removed verb that these words begin with."""
    sentence = next((VERBS[name] for name in (" ".join(words[:2]), *words[:1]) if name in VERBS), None)
    return None if sentence is None else RemovedError(sentence)


def removed_option(name: str, arguments: Sequence[str]) -> RemovedError | None:
    """The error for the first removed option among the arguments of a verb."""
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    sentences = (OPTIONS.get((name, argument.partition("=")[0])) for argument in options)
    sentence = next(filter(None, sentences), None)
    return None if sentence is None else RemovedError(sentence)
