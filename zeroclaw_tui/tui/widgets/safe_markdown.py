"""Markdown out of a memory: laid out, with nothing in it that acts."""

from __future__ import annotations

from markdown_it import MarkdownIt
from textual.content import Content
from textual.style import Style
from textual.widgets import Markdown, Static

from zeroclaw_tui.tui.format import NO_HIGHLIGHTS, Highlights

MOST_CHARACTERS = 20_000
_MOST_TOKENS = 1_500
# An entity would turn into a character that was not seen before, such as a bidi control.
_ACTING_RULES = ["entity", "link", "image", "autolink", "linkify", "reference", "html_inline", "html_block"]


class SafeMarkdown(Markdown):
    """Textual's Markdown where links, pictures and HTML stay the text they are, address and all."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, parser_factory=inert_parser, open_links=False)

    async def lay_out(self, text: str, lights: Highlights = NO_HIGHLIGHTS, lit: Style | None = None) -> Static | None:
        """Build the blocks out of sight, with matches in the style `lit`; the first block that has one comes back.

        The tooltips go: Textual reads a table cell's as markup.
        """
        self.display = False
        await self.update(text)
        first: Static | None = None
        for block in self.query(Static):
            block.tooltip = None
            if lit is not None and _light_up(block, lights, lit) and first is None:
                first = block
        self.display = True
        return first


def _light_up(block: Static, lights: Highlights, lit: Style) -> bool:
    content = block.content
    if not isinstance(content, Content):
        return False
    spans = lights.spans(content.plain)
    for start, end in spans:
        content = content.stylize(lit, start, end)
    if spans:
        block.update(content)
    return bool(spans)


def inert_parser() -> MarkdownIt:
    """A parser of GitHub's Markdown that knows neither links nor pictures nor HTML, its entities included."""
    parser = MarkdownIt("gfm-like", {"html": False, "linkify": False})
    return parser.disable(_ACTING_RULES, ignoreInvalid=True)


def why_not_markdown(text: str) -> str | None:
    """Why a text is better shown as it is, in words; None when it can be laid out.

    Every block becomes a widget of its own, so the count of blocks is bounded too.
    """
    if len(text) > MOST_CHARACTERS:
        return f"longer than {MOST_CHARACTERS:,} characters"
    if len(inert_parser().parse(text)) > _MOST_TOKENS:
        return "too many paragraphs, items or cells"
    return None
