"""Verbs and options of earlier versions that are gone: each is answered with one sentence that names the replacement.

A command in backquotes that begins with `zeroclaw` can be run as printed once KEY, FILE and the like are filled in.
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
"""The sentence for each removed verb."""

_FILTER_USES = {"list": "list", "stats": "stats", "purge": "purge", "export": "export", "copy": "copy --to markdown"}
_RECALL_USES = {
    "recall": "recall QUERY", "explain": "explain KEY --query QUERY", "prompt": "prompt QUERY", "test": "test FILE",
}  # fmt: skip
_RECALL_OPTIONS = ("batch", "since", "until", "layer", "rule", "as-of")
_NOW_SET = {
    "--vector-weight": "vector_weight=0.7", "--keyword-weight": "keyword_weight=0.3",
    "--threshold": "min_relevance_score=0.4", "--search-mode": "search_mode=hybrid", "--rerank": "rerank_enabled=true",
    "--rerank-strategy": "rerank_strategy=mmr", "--rerank-threshold": "rerank_threshold=5",
    "--mmr-lambda": "mmr_lambda=0.7", "--importance-weight": "importance_weight=0.2",
    "--recency-weight": "recency_weight=0.1", "--candidate-multiplier": "candidate_multiplier=4",
}  # fmt: skip
"""What-if options that are settings now."""
_FOR_LENGTH = "`zeroclaw memory export` writes every text, and `zeroclaw memory stats --json` lists the biggest."

OPTIONS = {
    **{
        (verb, option): sentence
        for verb, use in _FILTER_USES.items()
        for option, sentence in {
            "--words": f"`--words` was removed; use `--contains` or `--regex`, as in `zeroclaw memory {use} --contains"
            " TEXT`.",
            "--undated": "`--undated` was removed; `zeroclaw memory stats --json` counts memories without a date.",
            "--longer-than": f"`--longer-than` was removed; {_FOR_LENGTH}",
            "--shorter-than": f"`--shorter-than` was removed; {_FOR_LENGTH}",
        }.items()
    },
    **{
        (
            verb,
            "--day",
        ): f"`--day` was removed; `--as-of` takes a date, as in `zeroclaw memory {use} --as-of 2026-12-31`."
        for verb, use in _RECALL_USES.items()
    },
    **{
        (verb, option): f"`{option}` was removed; use `zeroclaw memory {use} --set memory.{setting}`."
        for verb, use in {**_RECALL_USES, "search": "recall QUERY"}.items()
        for option, setting in _NOW_SET.items()
    },
    ("prompt", "--raw"): "`--raw` was removed; `zeroclaw memory prompt QUERY --json` has the exact text in `text`.",
    **{
        ("test", option): f"`{option}` was removed; save and compare the results of `zeroclaw memory test FILE --json`."
        for option in ("--save-baseline", "--gate", "--junit")
    },
    ("test", "import-queries"): "`test import-queries` was removed; `zeroclaw memory help queries` shows how to write"
    " tests, and in the inspector space on a recorded turn makes one.",
    **{
        ("hydrate", f"--{choice}-key"): f"`--{choice}-key` was removed; `zeroclaw memory hydrate --{choice}` treats"
        " every key so."
        for choice in ("skip", "overwrite", "rename")
    },
    ("hydrate", "--pick"): "`--pick` was removed; `zeroclaw memory snapshot --diff` shows what the snapshot has, and"
    " `zeroclaw memory store KEY TEXT` brings one memory back.",
    ("audit", "--recategorise"): "`--recategorise` was removed; change one memory with `zeroclaw memory edit KEY"
    " --category daily`.",
    (
        "erase",
        "--also",
    ): "`--also` was removed; `zeroclaw memory erase TEXT TEXT --dry-run` looks for several texts at once.",
    ("erase", "--also-files"): "`--also-files` was removed; `zeroclaw memory erase TEXT --dry-run` shows which files it"
    " changes, and which you have to change by hand.",
    ("tail", "--once"): "`--once` was removed; `zeroclaw memory tail` prints what is recorded and exits.",
    **{
        ("search", f"--{option}"): f"`search` finds text now and has no `--{option}`; `zeroclaw memory recall QUERY`"
        " takes it."
        for option in _RECALL_OPTIONS
    },
    **{
        (verb, "--as-zeroclaw"): "`--as-zeroclaw` was removed; `zeroclaw memory store KEY TEXT` says what ZeroClaw"
        " would refuse or blank out."
        for verb in ("store", "edit")
    },
    ("trash restore", "--id"): "`trash restore --id` was removed; restore by the number that `zeroclaw memory trash"
    " list` shows.",
    ("reindex", "--per-minute"): "`--per-minute` was removed; `reindex` waits and tries again by itself when the"
    " provider reports too many requests.",
    ("list", "--blocks"): "`--blocks` was removed; `zeroclaw memory list` shows a memory for each line.",
}
"""The sentence for each removed option of a verb."""

VALUES = {
    **{
        ("audit", "--merge", value): "`--merge` takes no value any more; run `zeroclaw memory audit --only"
        " exact-duplicates --merge`."
        for value in ("newest", "longest")
    },
    **{
        ("export", "--format", value): f"The format {value} was removed; `zeroclaw memory export --format jsonl` writes"
        " every memory with nothing lost."
        for value in ("mem0", "mcp", "memory-rs", "okf")
    },
    **{
        ("import", option, value): f"The import from {value} was removed; `zeroclaw memory import FILE.jsonl` takes"
        " JSONL with key and content on each line."
        for option in ("--from", "--format")
        for value in ("engram", "okf", "claude-mem", "codex", "basic-memory", "letta", "pam")
    },
    **{
        ("import", option, "memory-rs"): "The import from memory-rs was removed; `zeroclaw memory copy --location"
        " memory-rs.json --to sqlite` copies such a file."
        for option in ("--from", "--format")
    },
    **{
        ("import", "--with", value): f"`--with {value}` was removed; import the OpenClaw workspace with MEMORY.md and"
        " memory/ instead."
        for value in ("chunks", "untrusted")
    },
    **{
        ("import", option, "markdown"): "The import of a Markdown export was removed, which is for reading; `zeroclaw"
        " memory export --format jsonl` writes what can be imported."
        for option in ("--from", "--format")
    },
    ("import", "--with", "instructions"): "`--with instructions` was removed, as instructions are not memories; save"
    " one with `zeroclaw memory store KEY TEXT`.",
    ("import", "--with", "vectors"): "`--with vectors` was removed; imported memories come without vectors, and"
    " `zeroclaw memory health` shows how many lack one.",
    ("import", "--with", "archive"): "`--with archive` was removed; `zeroclaw memory copy --location rustmem.db --to"
    " sqlite --superseded` copies the archived texts of R-Mem.",
    **{
        (program, "--print-completion", "fish"): f"Completion for fish was removed; bash and zsh have it, as in"
        f" `{program} --print-completion zsh`."
        for program in ("zeroclaw", "zeroclaw-tui")
    },
}  # fmt: skip
"""The sentence for each value that an option of a verb, or of a program, no longer takes."""


class RemovedError(UsageError):
    """A verb, an option or a value that earlier versions had."""

    title = "Removed"


def removed_verb(words: Sequence[str]) -> RemovedError | None:
    """The error for a removed verb that these words begin with."""
    sentence = next((VERBS[name] for name in (" ".join(words[:2]), *words[:1]) if name in VERBS), None)
    return None if sentence is None else RemovedError(sentence)


def removed_option(name: str, arguments: Sequence[str]) -> RemovedError | None:
    """The error for the first removed option, or value of one, among the arguments of a verb or a program."""
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    for index, argument in enumerate(options):
        option, equals, value = argument.partition("=")
        value = value if equals else "".join(options[index + 1 : index + 2])
        sentence = OPTIONS.get((name, option)) or VALUES.get((name, option, value))
        if sentence is not None:
            return RemovedError(sentence)
    return None
