"""The verbs of `zeroclaw memory`: where each stands, what it declares, how it is parsed and answered.

A verb declares itself beside its function: what it is for, its options, its answer as JSON. Parser, help, completion
and the page about JSON come of that. Only the module of the verb that is called is imported, and what a verb
needs beyond options and output its functions import. The pages of `help` are Markdown files of this package.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from zeroclaw_tui.cli.dropped import RemovedError, removed_option, removed_verb
from zeroclaw_tui.cli.options import (
    OWN_MEMORIES,
    Parser,
    add_common,
    filled,
    first_word,
    help_width,
    likely,
    open_options,
)
from zeroclaw_tui.cli.output import document, note, waiting, width
from zeroclaw_tui.memory.errors import DONE, NoInstall, Refused, UsageError
from zeroclaw_tui.memory.text import mask_secrets, one_line

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from zeroclaw_tui.config.memory_config import MemoryConfig
    from zeroclaw_tui.curation.transfer.target import Target

Concern = Literal["store", "recall", "vectors", "hygiene", "snapshot", "file", "fact"]
AddOptions = Callable[[argparse.ArgumentParser], None]
Answer = Callable[..., Awaitable[int]]

GROUPS = {
    "Browse": {
        "list": "entries", "search": "entries", "get": "entries", "recall": "recall", "stats": "entries",
        "health": "health",
    },
    "Recall": {
        "explain": "recall", "similar": "recall", "prompt": "recall",
        "tail": "turns", "test": "recall_tests",
    },
    "Edit": {
        "store": "edits", "edit": "edits", "forget": "edits", "purge": "edits", "clear": "edits", "erase": "erase",
    },
    "Undo and trash": {
        "undo": "trash", "redo": "trash", "trash list": "trash", "trash restore": "trash", "trash empty": "trash",
    },
    "Maintain": {
        "hygiene": "hygiene", "audit": "audit", "doctor": "doctor", "reindex": "doctor",
        "snapshot": "snapshot",
    },
    "Import and export": {
        "hydrate": "snapshot", "export": "transfer", "import": "transfer", "copy": "transfer",
    },
    "Help": {"help": "verbs"},
}  # fmt: skip
"""Each verb's module of this package, in the order in which verbs are told, under what they are for."""
_MODULES = {name: module for verbs in GROUPS.values() for name, module in verbs.items()}

WIDEST = 100
SHAPES = "<!-- the documents of the verbs -->"
FIELDS = "<!-- the fields of a memory -->"
"""Replaced in a page by the documents of all verbs, and by the fields of a memory."""
_ABOUT = """\
Browse and change what your agent remembers. Works directly on the store; no daemon needed.
Reading never writes, and `undo` reverses every change.
Options may come before or after the command. A key that begins with "-" goes after "--"."""
_ENDING = """\
Every other command is passed to the real zeroclaw; `zeroclaw --real ...` passes these as well.

Exit codes: 0 done, 1 not found, refused, answered no, or a check failed, 2 wrong use or broken config,
3 store not reachable or locked, 127 no real zeroclaw on PATH, 130 interrupted."""

_TRASH = "List, restore or permanently delete deleted memories"
LONGEST_SHOWN = 40
CHANGED = (
    "{verb, backend, location, dry_run, count, action, until, entries, changed, gone, renamed, notes, also_found_in,"
    " cleaned}"
)
"""The document of every verb that changes memory."""
_DECLARED: dict[str, Verb] = {}


class Verb(NamedTuple):
    """One verb. `name` has two words below `trash`."""

    name: str
    about: str
    """What it does: imperative, with a capital, without a full stop."""
    shape: str
    """Its answer with --json: the names of the document."""
    answers: Answer
    add_options: AddOptions | None = None
    checks: Callable[[argparse.Namespace], object] | None = None
    """Raises UsageError for options that do not fit together, before anything is opened."""
    description: str = ""
    """Said in its help in place of `about`."""
    epilog: str = ""
    opens: Literal["store", "config", "nothing"] = "store"
    """What its function is called with: an open store, or the configs where it has something to say, too, of a store
    that does not open."""
    makes_store: bool = False
    """Whether the store is made where it is not there yet."""
    changes: bool = False
    """Whether it changes something, unless --dry-run is given."""
    agents: str = ""
    """What --agent means to it, as its help says; without a meaning it is refused."""
    concerns: tuple[Concern, ...] = ()
    """What of the config's warnings changes what it does."""
    heeds_version: bool = True
    """Whether its answer is another one by the rules of another ZeroClaw version."""
    tells_facts: bool = False
    """Whether how the store is made is told by the verb itself."""


def verb(
    name: str, about: str, shape: str, options: AddOptions | None = None, **more: Any
) -> Callable[[Answer], Answer]:
    """Declare a verb, which the decorated function answers; the names and meanings are those of `Verb`."""

    def declare(answers: Answer) -> Answer:
        _DECLARED[name] = Verb(name, about, shape, answers, options, **more)
        return answers

    return declare


def named_verb(name: str) -> Verb | None:
    """The verb of this name, its module imported."""
    if name not in _MODULES:
        return None
    import_module(f"zeroclaw_tui.cli.{_MODULES[name]}")
    return _DECLARED[name]


def every_verb() -> dict[str, Verb]:
    """All verbs by their names, in the order in which they are told."""
    for module in dict.fromkeys(_MODULES.values()):
        import_module(f"zeroclaw_tui.cli.{module}")
    return {name: _DECLARED[name] for name in _MODULES}


def memory_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    """What stands behind `zeroclaw memory`, parsed, with `verb` its name. Raises UsageError, which names the verb whose
    help tells more, and what a misspelt verb or option may stand for."""
    called, others = split_verb(arguments)
    if called is None:
        raise UsageError("No command given.", hint="`zeroclaw memory` lists the commands.")
    try:
        given = verb_parser(called).parsed(others)
    except UsageError as error:
        raise removed_option(called.name, others) or error from None
    if given.agent and not called.agents:
        raise UsageError(f"`zeroclaw memory {called.name}` does not take --agent.", hint="Leave it out.")
    given.verb, given.makes_store = called.name, called.makes_store
    return given


def split_verb(arguments: Sequence[str]) -> tuple[Verb | None, list[str]]:
    """The verb among the words behind `memory`, None where there is none, and the other words. Raises UsageError."""
    others = list(arguments)
    at = first_word(others)
    if at is None:
        return None, others
    name = others.pop(at)
    called = named_verb(name)
    if called is not None:
        return called, others
    below = verbs_below(name)
    if not below:
        raise removed_verb([name]) or _unknown(name)
    at = first_word(others)
    second = others.pop(at) if at is not None else None
    if second is None and {"-h", "--help"} & set(others):
        return _several(name, below), others
    called = named_verb(f"{name} {second}")
    if called is None:
        raise removed_verb([name, second or ""]) or _unknown_below(name, second, below)
    return called, others


def verbs_below(name: str) -> list[Verb]:
    """The verbs of two words whose first is this."""
    names = [one for one in _MODULES if one.startswith(f"{name} ")]
    return [found for found in map(named_verb, names) if found is not None]


def first_words() -> Iterator[tuple[str, str]]:
    """What may stand behind `memory`, each with what it does; the verbs below one are told as one."""
    verbs = every_verb()
    for name, each in verbs.items():
        first, *below = name.split()
        if not below:
            yield first, each.about
        elif each is verbs_below(first)[0]:
            yield first, _TRASH


def verb_parser(called: Verb) -> Parser:
    """The parser of one verb."""
    parser = Parser(
        prog=f"zeroclaw memory {called.name}",
        description=called.description or f"{called.about[:1].upper()}{called.about[1:]}.",
        epilog=called.epilog,
        allow_abbrev=False,
    )
    if called.add_options is not None:
        called.add_options(parser)
    add_common(parser, called.agents)
    return parser


def _several(name: str, below: Sequence[Verb]) -> Verb:
    """What `--help` behind the first word of verbs of two words shows."""
    lines = "\n".join(f"  {each.name:<14} {each.about}" for each in below)
    about = f"{_TRASH[:1].upper()}{_TRASH[1:]}."
    return below[0]._replace(name=name, description=f"{about}\n\n{lines}", add_options=None)


def _unknown(name: str) -> UsageError:
    hint = "`zeroclaw memory` lists the commands."
    near = likely(name, dict(first_words()))
    near = near or next((each for each in every_verb() if each.endswith(f" {name}")), None)
    return UsageError(f"Unknown command: {_shown(name)}.", hint=f"Did you mean {near}? {hint}" if near else hint)


def _unknown_below(name: str, second: str | None, below: Sequence[Verb]) -> UsageError:
    names = [each.name.split()[1] for each in below]
    hint = f"Commands: {', '.join(names)}; see `zeroclaw memory {name} --help`."
    if second is None:
        return UsageError(f"`zeroclaw memory {name}` needs a command of its own.", hint=hint)
    near = likely(second, names)
    return UsageError(
        f"Unknown command: {name} {_shown(second)}.", hint=f"Did you mean {near}? {hint}" if near else hint
    )


def _shown(typed: str) -> str:
    return one_line(mask_secrets(typed))[:LONGEST_SHOWN]


def answer(given: argparse.Namespace) -> int:
    """Run one verb and return its exit code. Raises InspectorError kinds."""
    import asyncio
    import gc

    gc.freeze()
    gc.enable()
    return asyncio.run(_waited_for(given))


async def _waited_for(given: argparse.Namespace) -> int:
    waiting.begin()
    try:
        return await _answer(given)
    finally:
        waiting.end()


async def _answer(given: argparse.Namespace) -> int:
    from datetime import datetime

    from zeroclaw_tui.curation.library import open_library
    from zeroclaw_tui.scoring.profiles import profile_for

    now = datetime.now().astimezone()
    called = _DECLARED[given.verb]
    if given.profile is not None:
        profile = profile_for(given.profile)
        if profile.newer is not None and called.heeds_version:
            rules = f"using the rules of {profile.version}, the newest known"
            note(f"zeroclaw: ZeroClaw {profile.newer} is unknown; {rules}.")
    if called.opens == "nothing":
        return await called.answers(None, given, now)
    if called.checks is not None:
        called.checks(given)
    configs = _configs(given)
    if called.name != "health":
        # It tells all that is wrong itself.
        _print_choice(configs)
        for sentence in configs[0].warned_about(*called.concerns):
            note(f"zeroclaw: {sentence}")
    if called.opens == "config":
        return await called.answers(configs, given, now)
    if called.makes_store:
        from zeroclaw_tui.curation.transfer.target import Target

        target = await Target.at(configs[0], given.profile)
        if target.library is None:
            return await _to_new_store(target, given, now)
        library = target.library
    else:
        library = await open_library(configs[0], given.profile, may_be_missing=True, query_binary=called.heeds_version)
    library.on_first_request(lambda request: note(f"zeroclaw: {request.description}"))
    # A change that is refused for what makes the store read-only says it itself.
    changes = called.changes and not getattr(given, "dry_run", False)
    silent = library.read_only_because if changes else None
    notices = [notice for notice in library.memory.about.notices if called.tells_facts or not notice.is_minor]
    sentences = [notice.sentence for notice in notices if notice.sentence != silent]
    try:
        for sentence in sentences:
            note(f"zeroclaw: {sentence}")
        # Without agents a recall is everybody's, and says so itself.
        if given.agent and ("agents" not in library.memory.why_not or "recall" not in called.concerns):
            await library.check_agents(given.agent)
        return await called.answers(library, given, now)
    except Refused as refused:
        if any(refused.message in sentence for sentence in sentences):
            refused.message = "The change was refused for that reason."
        raise
    finally:
        await library.close()


async def _to_new_store(target: Target, given: argparse.Namespace, now: datetime) -> int:
    """A verb that brings the first memories of a store, which is made as the ZeroClaw of the config's version would."""
    import asyncio

    try:
        if given.verb == "import":
            from zeroclaw_tui.cli.transfer import import_to_new

            return await import_to_new(target, given)
        if given.read_only:
            raise Refused("--read-only refuses every write.", hint="Leave it out.")
        is_empty = await asyncio.to_thread(os.path.isfile, target.location)
        library = await target.make()
        location = one_line(library.memory.about.location)
        if is_empty:
            note(f"zeroclaw: {location} was empty (0 bytes); ZeroClaw's tables have been created in it.")
        else:
            was = f"There was no place for memories at {location}" if "://" in location else f"{location} did not exist"
            note(f"zeroclaw: {was}; it has been created.")
        return await _DECLARED[given.verb].answers(library, given, now)
    finally:
        await target.close()


def _configs(given: argparse.Namespace) -> tuple[MemoryConfig, ...]:
    from zeroclaw_tui.curation.config_choice import configs_for

    try:
        return configs_for(open_options(given))
    except NoInstall as error:
        error.hint = (
            "Run `zeroclaw onboard --interactive`, or pass --config-dir DIR or --workspace DIR; a standalone store is"
            " named with --location PATH."
        )
        raise


def _print_choice(configs: Sequence[MemoryConfig]) -> None:
    if len(configs) < 2:
        return
    taken, *others = configs
    also = ", ".join(f"{config.install.root} ({config.install.rule})" for config in others)
    note(
        f"zeroclaw: Reading {taken.install.root} ({taken.install.rule}). Other installs: {also}."
        " Choose one with --config-dir or --workspace."
    )


def memory_parser() -> Parser:
    """The parser of `zeroclaw memory` without a verb, whose help lists all of them."""
    parser = Parser(
        prog="zeroclaw memory",
        usage="zeroclaw memory COMMAND [options]",
        description=f"{_ABOUT}\n\n{verbs_listed()}",
        epilog=_ENDING,
        allow_abbrev=False,
    )
    add_common(parser, OWN_MEMORIES)
    return parser


def verbs_listed() -> str:
    """The verbs by what they are for, each with its sentence."""
    verbs = every_verb()
    lines: list[str] = []
    for group, names in GROUPS.items():
        lines += ["", group, *(f"  {name:<14} {verbs[name].about}" for name in names)]
    return "\n".join(lines[1:])


def topics() -> Iterator[tuple[str, str]]:
    """Each page's name and what it tells."""
    for file in sorted(_folder().glob("*.md")):
        with file.open(encoding="utf-8") as page:
            yield file.stem, page.readline().partition(": ")[2].strip()


def _help_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "topic", nargs="*", metavar="TOPIC_OR_VERB", help="Topic or command; without it, list the topics"
    )


@verb("help", "Show a help page or the help of a command", "{topic, text}", _help_options, opens="nothing")
async def show(nothing: None, given: argparse.Namespace, now: datetime) -> int:
    """Show the page of a topic, the help of a verb, or which there are. Raises UsageError for what is neither."""
    import shutil

    text = _text(given.topic)
    if given.json:
        document({"topic": " ".join(given.topic) or None, "text": text})
    elif sys.stdout.isatty() and text.count("\n") >= shutil.get_terminal_size().lines:
        import pydoc

        pydoc.pager(text)
    else:
        sys.stdout.write(text)
    return DONE


def _folder() -> Path:
    from pathlib import Path

    return Path(__file__).parents[1] / "help"


def _text(words: Sequence[str]) -> str:
    pages = dict(topics())
    if not words:
        listed = "".join(f"  {name:<14} {title}\n" for name, title in pages.items())
        text = (
            f"Pages of `zeroclaw memory help TOPIC`:\n\n{listed}\nWith a command instead of TOPIC, its help is shown."
        )
        return f"{filled(text, help_width())}\n"
    if words[0] in pages and len(words) == 1:
        return rendered((_folder() / f"{words[0]}.md").read_text("utf-8"), min(width(), WIDEST))
    try:
        called, _ = split_verb(words)
    except UsageError as error:
        if isinstance(error, RemovedError) or words[0] in dict(first_words()):
            raise
        near = likely(words[0], [*pages, *dict(first_words())])
        error.message = error.message.replace("command", "page or command", 1)
        error.hint = f"{f'Did you mean {near}? ' if near else ''}`zeroclaw memory help` lists the pages."
        raise
    if called is None:
        raise UsageError("A topic is one word.", hint="`zeroclaw memory help` lists the pages.")
    return verb_parser(called).format_help()


def rendered(page: str, columns: int) -> str:
    """A page as plain text: paragraphs and lists wrapped to so many columns, code as it stands."""
    import textwrap

    page = page.replace(SHAPES, "\n".join(_shapes())).replace(FIELDS, "\n".join(_fields()))
    lines: list[str] = []
    for block in _blocks(page):
        if block[0].startswith("```"):
            lines += [f"    {line}".rstrip() for line in block[1:-1]]
        elif block[0].startswith("#"):
            title = block[0].lstrip("# ")
            lines += [title, "=" * len(title), ""] if block[0].startswith("# ") else [title, "-" * len(title), ""]
            continue
        else:
            for item in _items(block):
                indent = "  " if item.startswith("- ") else ""
                lines += textwrap.wrap(
                    item, columns, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False
                )
        lines.append("")
    return "\n".join(lines).rstrip("\n") + "\n"


def _blocks(page: str) -> Iterator[list[str]]:
    """The lines of a page between its empty ones; a fenced piece of code is one block."""
    block: list[str] = []
    is_code = False
    for line in page.splitlines():
        if line.startswith("```"):
            is_code = not is_code
            block.append(line)
            if not is_code:
                yield block
                block = []
        elif line or is_code:
            block.append(line)
        elif block:
            yield block
            block = []
    if block:
        yield block


def _items(block: Sequence[str]) -> Iterator[str]:
    """A paragraph as one line, a list as one line an item."""
    item = ""
    for line in block:
        if line.startswith("- ") and item:
            yield item
            item = line
        else:
            item = f"{item} {line.strip()}".strip()
    yield item


def _fields() -> Iterator[str]:
    from zeroclaw_tui.memory.entry import JSON_FIELDS

    for name, meaning in JSON_FIELDS.items():
        yield f"- `{name}`: {meaning}"


def _shapes() -> Iterator[str]:
    for each in every_verb().values():
        yield f"- `{each.name}`: {each.shape}"
