"""The pages of `zeroclaw memory help`: Markdown files of this package, shown as plain text."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from zeroclaw_tui.cli.options import likely
from zeroclaw_tui.cli.output import document, width
from zeroclaw_tui.cli.verbs import VERBS, first_words, split_verb, verb_parser
from zeroclaw_tui.memory.errors import DONE, WrongUse

PAGES = Path(__file__).parents[1] / "help"
WIDEST = 100
SHAPES = "<!-- the documents of the verbs -->"
"""Stands in a page where the documents of all verbs are told."""


def topics() -> Iterator[tuple[str, str]]:
    """Each page's name and what it tells."""
    for file in sorted(PAGES.glob("*.md")):
        with file.open(encoding="utf-8") as page:
            yield file.stem, page.readline().partition(": ")[2].strip()


def show(words: Sequence[str], *, as_json: bool = False) -> int:
    """Show the page of a topic, the help of a verb, or which there are. Raises WrongUse for what is neither."""
    text = _text(words)
    if as_json:
        document({"topic": " ".join(words) or None, "text": text})
    elif sys.stdout.isatty() and text.count("\n") >= shutil.get_terminal_size().lines:
        import pydoc

        pydoc.pager(text)
    else:
        sys.stdout.write(text)
    return DONE


def _text(words: Sequence[str]) -> str:
    pages = dict(topics())
    if not words:
        listed = "".join(f"  {name:<14} {title}\n" for name, title in pages.items())
        return f"Pages of `zeroclaw memory help TOPIC`:\n\n{listed}\nA verb in place of TOPIC shows the help of it.\n"
    if words[0] in pages and len(words) == 1:
        return rendered((PAGES / f"{words[0]}.md").read_text("utf-8"), min(width(), WIDEST))
    try:
        verb, _ = split_verb(words)
    except WrongUse as error:
        if words[0] in dict(first_words()):
            raise
        near = likely(words[0], [*pages, *dict(first_words())])
        error.message = error.message.replace("verb", "page or verb", 1)
        error.hint = f"{f'Did you mean {near}? ' if near else ''}`zeroclaw memory help` lists the pages."
        raise
    if verb is None:
        raise WrongUse("A topic is a word.", hint="`zeroclaw memory help` lists the pages.")
    return verb_parser(verb).format_help()


def rendered(page: str, columns: int) -> str:
    """A page as plain text: paragraphs and lists wrapped to so many columns, code as it stands."""
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
    for verb in VERBS.values():
        yield f"- `{verb.name}`: {verb.shape}"
