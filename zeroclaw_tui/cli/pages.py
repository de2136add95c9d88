"""The pages of `zeroclaw memory help`: Markdown files of this package, shown as plain text."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from zeroclaw_tui.cli.options import Parser, add_common, likely
from zeroclaw_tui.cli.output import document, width
from zeroclaw_tui.cli.verbs import GROUPS, every_verb, first_words, split_verb, verb, verb_parser
from zeroclaw_tui.memory.errors import DONE, WrongUse

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

WIDEST = 100
SHAPES = "<!-- the documents of the verbs -->"
"""Stands in a page where the documents of all verbs are told."""


_ABOUT = """\
What the agent remembers, straight from its store, with no daemon. Looking never writes;
what a change removes lies in a trash, and `undo` takes the change back.
Options may stand before or after the verb. A key that begins with "-" goes after "--"."""
_ENDING = """\
Every other command is handed to the real zeroclaw; `zeroclaw --real ...` hands over these as well.

Exit codes: 0 done, 1 not there, refused, answered no, or health found something wrong, 2 wrong use or broken config,
3 store not reachable or locked, 127 no real zeroclaw to hand over to, 130 interrupted."""


def memory_parser() -> Parser:
    """The parser of `zeroclaw memory` without a verb, whose help lists all of them."""
    parser = Parser(
        prog="zeroclaw memory",
        usage="zeroclaw memory VERB [options]",
        description=f"{_ABOUT}\n\n{verbs_listed()}",
        epilog=_ENDING,
        allow_abbrev=False,
    )
    parser.keeps_lines = True
    add_common(parser)
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
    parser.add_argument("topic", nargs="*", metavar="TOPIC_OR_VERB", help="without one, the topics are listed")


@verb("help", "a page about one topic, or the help of a verb", "{topic, text}", _help_options, opens="nothing")
async def show(nothing: None, given: argparse.Namespace, now: datetime) -> int:
    """Show the page of a topic, the help of a verb, or which there are. Raises WrongUse for what is neither."""
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
        return f"Pages of `zeroclaw memory help TOPIC`:\n\n{listed}\nA verb in place of TOPIC shows the help of it.\n"
    if words[0] in pages and len(words) == 1:
        return rendered((_folder() / f"{words[0]}.md").read_text("utf-8"), min(width(), WIDEST))
    try:
        called, _ = split_verb(words)
    except WrongUse as error:
        if words[0] in dict(first_words()):
            raise
        near = likely(words[0], [*pages, *dict(first_words())])
        error.message = error.message.replace("verb", "page or verb", 1)
        error.hint = f"{f'Did you mean {near}? ' if near else ''}`zeroclaw memory help` lists the pages."
        raise
    if called is None:
        raise WrongUse("A topic is a word.", hint="`zeroclaw memory help` lists the pages.")
    return verb_parser(called).format_help()


def rendered(page: str, columns: int) -> str:
    """A page as plain text: paragraphs and lists wrapped to so many columns, code as it stands."""
    import textwrap

    page = page.replace(SHAPES, "\n".join(_shapes()))
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


def _shapes() -> Iterator[str]:
    for each in every_verb().values():
        yield f"- `{each.name}`: {each.shape}"
