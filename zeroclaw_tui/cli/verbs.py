"""The verbs of `zeroclaw memory`: their table, parsers and help, and how they run.

A verb is declared next to its function, with its options and its JSON document; GROUPS has its one-line help. Only the
module of the called verb is imported, and its functions import all but options and output themselves.
"""

from __future__ import annotations

import argparse
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from zeroclaw_tui.cli.dropped import removed_option, removed_verb
from zeroclaw_tui.cli.options import (
    OWN_MEMORIES,
    AddOption,
    Parser,
    add_common,
    index_of_first_word,
    open_options,
    option,
    store_options,
    suggest,
)
from zeroclaw_tui.cli.output import name_store, note, notes, print_result
from zeroclaw_tui.memory.errors import Refused, UsageError
from zeroclaw_tui.memory.text import mask_secrets, one_line

if TYPE_CHECKING:
    from pathlib import Path

    from zeroclaw_tui.config.memory_config import MemoryConfig
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.curation.transfer.plan import Target

Concern = Literal["store", "recall", "vectors", "hygiene", "snapshot", "file", "fact"]
RunVerb = Callable[..., Awaitable[int]]

GROUPS: dict[str, dict[str, tuple[str, str]]] = {
    "Browse": {
        "list": ("entries", "List memories, newest first"),
        "search": ("entries", "Find memories that contain a text or match a pattern"),
        "get": ("entries", "Show one memory by key, unique key prefix, or id"),
        "recall": ("recall", "Show what the agent would recall for a message, with scores"),
        "stats": ("entries", "Show counts, sizes and growth"),
        "health": ("health", "Show the state of the store and the settings in effect"),
    },
    "Recall": {
        "explain": ("recall", "Explain why a memory is or is not in the prompt"),
        "similar": ("recall", "Find memories similar to a memory or a text"),
        "prompt": ("recall", "Print the text ZeroClaw adds before a message"),
        "tail": ("turns", "Show recorded turns and compare them with a recall made now"),
        "test": ("recall_tests", "Run recall tests (exit code 1 if one fails)"),
    },
    "Edit": {
        "store": ("edits", "Store a memory, replacing the one with the same key"),
        "edit": ("edits", "Edit a memory"),
        "forget": ("edits", "Delete one memory"),
        "purge": ("edits", "Delete all memories that match the filters"),
        "clear": ("edits", "Delete all memories, one category, or one key"),
        "erase": ("erase", "Permanently delete a text from every file of the install"),
    },
    "Undo and trash": {
        "undo": ("trash", "Undo the last change"),
        "redo": ("trash", "Redo the last undone change"),
        "trash list": ("trash", "List deleted memories"),
        "trash restore": ("trash", "Restore deleted memories"),
        "trash empty": ("trash", "Permanently delete what is in the trash of this store"),
    },
    "Maintain": {
        "hygiene": ("hygiene", "Preview or run ZeroClaw's hygiene, with undo"),
        "audit": ("audit", "Find duplicates, junk, secrets and hidden text"),
        "doctor": ("doctor", "Check the store for problems and repair them"),
        "reindex": ("doctor", "Create missing or outdated embeddings"),
        "snapshot": ("snapshot", "Write MEMORY_SNAPSHOT.md and a lossless JSONL copy"),
    },
    "Import and export": {
        "hydrate": ("snapshot", "Import memories from a snapshot"),
        "export": ("transfer", "Export memories to JSONL (lossless), CSV or Markdown"),
        "import": ("transfer", "Import memories from a file or directory"),
        "copy": ("transfer", "Copy memories to another store and verify them"),
    },
    "Help": {
        "help": ("verbs", "Show a help page or the help of a command"),
    },
}
"""The verbs by topic, each with its module in this package and its help (imperative, without a full stop).

The table is here so that listing the verbs imports none of their modules.
"""
_VERBS = {name: entry for verbs in GROUPS.values() for name, entry in verbs.items()}

DOCUMENTS = "<!-- the documents of the verbs -->"
FIELDS = "<!-- the fields of a memory -->"
"""Placeholders in help pages for the documents of all verbs, and for the fields of a memory."""
_ABOUT = """\
Browse and change what your agent remembers. Works directly on the store; no
daemon needed. Reading never writes, and `undo` reverses every change.
Options may come before or after the command. A key that begins with "-" goes
after "--"."""
_ENDING = """\
Every other command is passed to the real zeroclaw; `zeroclaw --real ...`
passes these as well.

Exit codes: 0 done, 1 not found, refused, answered no, or a check failed, 2
wrong use or broken config, 3 store not reachable or locked, 127 no real
zeroclaw on PATH, 130 interrupted."""

_LISTED = "`zeroclaw memory` lists the commands, `zeroclaw memory help` the help pages."
_TRASH = "List, restore or permanently delete deleted memories"
_LONGEST_SHOWN = 40
CHANGED = (
    "{verb, backend, location, dry_run, count, action, until, entries, changed, missing, renamed, notes, also_found_in,"
    " cleaned}"
)
"""The JSON document of every verb that changes memories."""
_DECLARED: dict[str, Verb] = {}


class Verb(NamedTuple):
    """A verb. The `name` has two words for those of `trash`."""

    name: str
    about: str
    document: str
    """The field names of its JSON document."""
    run: RunVerb
    options: Sequence[AddOption] = ()
    examples: tuple[str, ...] = ()
    """Arguments after `zeroclaw memory`."""
    description: str = ""
    """Replaces `about` in its help."""
    epilog: str = ""
    opens: Literal["store", "new store", "target", "config", "nothing"] = "store"
    """What its function gets: an open store, one created if missing, a target whose store may be missing, or the
    configs, for a verb that also works if the store does not open."""
    agents: str = ""
    """The help of --agent; "" if the verb does not accept it."""
    concerns: tuple[Concern, ...] = ()
    """The topics of config warnings that the verb prints."""
    needs_version: bool = True
    """Whether its result depends on the ZeroClaw version."""


def verb(name: str, document: str, options: Sequence[AddOption] = (), **more: Any) -> Callable[[RunVerb], RunVerb]:
    """Declare the decorated function as a verb; `more` are fields of `Verb`."""

    def declare(run: RunVerb) -> RunVerb:
        _DECLARED[name] = Verb(name, _VERBS[name][1], document, run, options, **more)
        return run

    return declare


def find_verb(name: str) -> Verb | None:
    """Import the module of a verb, and return the verb; None for an unknown name."""
    if name not in _VERBS:
        return None
    import_module(f"zeroclaw_tui.cli.{_VERBS[name][0]}")
    return _DECLARED[name]


def every_verb() -> dict[str, Verb]:
    """All verbs by their names."""
    return {name: found for name in _VERBS if (found := find_verb(name)) is not None}


def memory_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse the arguments after `zeroclaw memory`; `verb` is the name of the verb. Raises UsageError."""
    called, others = split_verb(arguments)
    if called is None:
        raise UsageError("No command given.", hint=_LISTED)
    try:
        args = verb_parser(called).parse(others)
    except UsageError as error:
        raise removed_option(called.name, others) or error from None
    if args.agent and not called.agents:
        raise UsageError(f"`zeroclaw memory {called.name}` does not take --agent.", hint="Leave it out.")
    args.verb, args.makes_store = called.name, called.opens in ("new store", "target")
    return args


def split_verb(arguments: Sequence[str]) -> tuple[Verb | None, list[str]]:
    """Find the verb in the arguments after `memory`, and return it with the other arguments. Raises UsageError."""
    others = list(arguments)
    index = index_of_first_word(others)
    if index is None:
        return None, others
    name = others.pop(index)
    called = find_verb(name)
    if called is not None:
        return called, others
    below = verbs_below(name)
    if not below:
        raise removed_verb([name]) or _unknown(name, dict(first_words()))
    index = index_of_first_word(others)
    if index is None:
        return None, others
    second = others.pop(index)
    called = find_verb(f"{name} {second}")
    if called is None:
        error = _unknown(f"{name} {second}", [each.name for each in below])
        raise removed_verb([name, second]) or error
    return called, others


def verbs_below(name: str) -> list[Verb]:
    """The two-word verbs that start with this word."""
    names = [verb_name for verb_name in _VERBS if verb_name.startswith(f"{name} ")]
    return [found for found in map(find_verb, names) if found is not None]


def first_words() -> Iterator[tuple[str, str]]:
    """Yield the words that may follow `memory`, each with its help; two-word verbs are listed as one."""
    for name, (_, about) in _VERBS.items():
        first, *below = name.split()
        if not below or name == "trash list":
            yield first, _TRASH if below else about


def verb_parser(called: Verb) -> Parser:
    """The parser of one verb."""
    parser = Parser(
        prog=f"zeroclaw memory {called.name}",
        description=called.description or f"{called.about}.",
        epilog="\n".join([called.epilog, "examples:", *(f"  zeroclaw memory {words}" for words in called.examples)]),
    )
    for add in called.options:
        add(parser)
    add_common(parser, called.agents)
    return parser


def _unknown(name: str, known: Iterable[str]) -> UsageError:
    near = suggest(name, known)
    shown = one_line(mask_secrets(name))[:_LONGEST_SHOWN]
    return UsageError(f"Unknown command: {shown}.", hint=f"Did you mean {near}? {_LISTED}" if near else _LISTED)


def run_verb(args: argparse.Namespace) -> int:
    """Run a verb, and return its exit code. Raises InspectorError."""
    import asyncio

    return asyncio.run(_run(args))


async def _run(args: argparse.Namespace) -> int:
    from datetime import datetime

    from zeroclaw_tui.curation.config_choice import configs_for
    from zeroclaw_tui.curation.library import open_library
    from zeroclaw_tui.scoring.profiles import profile_for

    args.now = datetime.now().astimezone()
    called = _DECLARED[args.verb]
    if args.profile is not None:
        profile = profile_for(args.profile)
        if profile.newer is not None and called.needs_version:
            rules = f"using the rules of {profile.version}, the newest known"
            note(f"zeroclaw: ZeroClaw {profile.newer} is unknown; {rules}.")
    if called.opens == "nothing":
        return await called.run(None, args)
    # A function, because masking secrets compiles many patterns, and few commands print another command.
    name_store(lambda: store_options(args))
    configs = configs_for(open_options(args))
    _print_choice(configs)
    notes(configs[0].warnings_about(*called.concerns))
    if called.opens == "config":
        return await called.run(configs, args)
    if called.opens == "store":
        library = await open_library(configs[0], args.profile, may_be_missing=True, query_binary=called.needs_version)
        return await _run_on_store(called, library, args)
    from zeroclaw_tui.curation.transfer.plan import Target

    target = await Target.at(configs[0], args.profile)
    if target.library is None and called.opens == "new store":
        await _make(target, args)
    if target.library is not None:
        return await _run_on_store(called, target.library, args)
    try:
        return await called.run(target, args)
    finally:
        await target.close()


async def _run_on_store(called: Verb, library: Library, args: argparse.Namespace) -> int:
    """Run a verb on an open store, after printing notices about the store."""
    library.on_first_request(lambda sentence: note(f"zeroclaw: {sentence}"))
    sentences = [notice.sentence for notice in library.memory.about.notices if not notice.is_minor]
    try:
        notes(sentences)
        # In a store without agents, a recall ignores the agent and says so itself.
        if args.agent and ("agents" not in library.memory.why_not or "recall" not in called.concerns):
            await library.check_agents(args.agent)
        if called.opens != "target":
            return await called.run(library, args)
        from zeroclaw_tui.curation.transfer.plan import Target

        return await called.run(Target.of(library), args)
    except Refused as refused:
        if any(refused.message in sentence for sentence in sentences):
            refused.message = "The change was refused for that reason."
        raise
    finally:
        await library.close()


async def _make(target: Target, args: argparse.Namespace) -> None:
    """Create the store for the first memory, as ZeroClaw in the version of the config would."""
    if args.read_only:
        raise Refused("--read-only refuses every write.", hint="Leave it out.")
    library = await target.make()
    note(f"zeroclaw: There was no store yet; {one_line(library.memory.about.location)} has been created.")
    # That it has no memories is true only until the command has run.
    library.memory.about = library.memory.about._replace(notices=())


def _print_choice(configs: Sequence[MemoryConfig]) -> None:
    if len(configs) < 2:
        return
    chosen, *others = configs
    also_found = ", ".join(f"{config.install.root} ({config.install.rule})" for config in others)
    note(
        f"zeroclaw: Reading {chosen.install.root} ({chosen.install.rule}). Other installs: {also_found}."
        " Choose one with --config-dir or --workspace."
    )


def memory_parser() -> Parser:
    """The parser of `zeroclaw memory`, whose help lists all verbs."""
    parser = Parser(
        prog="zeroclaw memory",
        usage="zeroclaw memory COMMAND [options]",
        description=f"{_ABOUT}\n\n{list_verbs()}",
        epilog=_ENDING,
    )
    add_common(parser, OWN_MEMORIES)
    return parser


def list_verbs() -> str:
    """List the verbs by topic, each with its help."""
    lines: list[str] = []
    for group, verbs in GROUPS.items():
        lines += ["", group, *(f"  {name:<14} {about}" for name, (_, about) in verbs.items())]
    return "\n".join(lines[1:])


def topics() -> Iterator[tuple[str, str]]:
    """Yield the name and title of each help page."""
    for file in sorted(_folder().glob("*.md")):
        with file.open(encoding="utf-8") as page:
            yield file.stem, page.readline().partition(": ")[2].strip()


@verb(
    "help",
    "{topic, text}",
    options=[option("topic", nargs="*", metavar="TOPIC_OR_VERB", help="Topic or command; without it, list the topics")],
    opens="nothing",
    examples=("help scoring", "help trash restore"),
)
async def show(nothing: None, args: argparse.Namespace) -> int:
    """Print the page of a topic, the help of a verb, or the list of pages."""
    text = _text(args.topic)
    document = {"topic": " ".join(args.topic) or None, "text": text}
    return print_result(args, document, text.rstrip("\n").split("\n"))


def _folder() -> Path:
    from pathlib import Path

    return Path(__file__).parents[1] / "help"


def _text(words: Sequence[str]) -> str:
    pages = dict(topics())
    if not words:
        listed = "".join(f"  {name:<14} {title}\n" for name, title in pages.items())
        return (
            f"Pages of `zeroclaw memory help TOPIC`:\n\n{listed}\nWith a command instead of TOPIC, its help is shown.\n"
        )
    if words[0] in pages and len(words) == 1:
        from zeroclaw_tui.memory.entry import JSON_FIELDS

        page = (_folder() / f"{words[0]}.md").read_text("utf-8")
        documents = [f"- `{each.name}`: {each.document}" for each in every_verb().values()]
        fields = [f"- `{name}`: {meaning}" for name, meaning in JSON_FIELDS.items()]
        return page.replace(DOCUMENTS, "\n".join(documents)).replace(FIELDS, "\n".join(fields))
    called, _ = split_verb(words)
    return memory_parser().format_help() if called is None else verb_parser(called).format_help()
