"""How the wizard's lines look: colours, wrapping to the width, and the spinner of a running test."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from zeroclaw_tui.memory.text import cells, cut, display_text, one_line
from zeroclaw_tui.onboard.asker import Line, Part

if TYPE_CHECKING:
    from prompt_toolkit.output import ColorDepth
    from prompt_toolkit.styles import Style

NARROW = 76
"""Below this many columns a list shows its titles only."""
WIDEST = 100
MARGIN = " "
RULE = "rule"
_COLOURS = {
    "title": "bold",
    "section": "#8a817a",
    "dim": "#8a817a",
    "added": "#86b46f",
    "good": "#86b46f",
    "removed": "#e8625a",
    "bad": "#e8625a",
    "warning": "#e3b65f",
    "accent": "#f0834a",
    "pointer": "#f0834a bold",
    "highlighted": "#f0834a",
    # The row of the present value, wherever the pointer is; questionary would reverse it.
    "selected": "noreverse bold",
    "question": "bold",
    "answer": "#f0834a",
    "text": "",
    "qmark": "",
    "instruction": "#8a817a",
    "validation-toolbar": "",
}
_PLAIN = dict.fromkeys(_COLOURS, "") | {"question": "bold", "title": "bold", "selected": "noreverse bold"}
_WORD = re.compile(r"\s+|\S+")
_BREAKS_AFTER = "/\\-_,;:=.?&@"
_IN_ASCII = str.maketrans("❯←≡»─–·•…✓✗", "><=>--.*~+!")
"""What stands for each of our own signs where the terminal's encoding lacks them, a character for a character."""


class Painter:
    """Shows lines on the terminal that prompt_toolkit's session has."""

    @property
    def style(self) -> Style:
        """The style of every prompt and line; without colour where none is wanted."""
        from prompt_toolkit.styles import Style

        return Style.from_dict(_COLOURS if _wants_colour() else _PLAIN)

    @property
    def color_depth(self) -> ColorDepth | None:
        """One bit where no colour is wanted, else what the terminal can."""
        from prompt_toolkit.output import ColorDepth

        return None if _wants_colour() else ColorDepth.DEPTH_1_BIT

    def width(self) -> int:
        """How many columns a line may take; very wide terminals are not filled, for the eye's sake."""
        from prompt_toolkit.application import get_app_session

        return max(20, min(get_app_session().output.get_size().columns, WIDEST))

    def drawn(self, text: str) -> str:
        """The text with our own signs in ASCII where the terminal's encoding lacks them."""
        return text if _knows_signs() else text.translate(_IN_ASCII)

    def show(self, lines: Sequence[Line]) -> None:
        """Write lines, each cleaned and wrapped at blanks, what follows indented like its beginning."""
        from prompt_toolkit import print_formatted_text
        from prompt_toolkit.formatted_text import FormattedText

        for given in lines:
            line = self._rule(given[0][1]) if len(given) == 1 and given[0][0] == RULE else given
            for row in wrapped(line, self.width() - 1 - len(MARGIN)):
                fragments = [("", MARGIN), *((f"class:{name}" if name else "", self.drawn(text)) for name, text in row)]
                print_formatted_text(FormattedText(fragments), style=self.style, color_depth=self.color_depth)

    def _rule(self, text: str) -> Line:
        rest = self.width() - 3 - cells(text) - 5
        return [("section", "── "), ("accent", text), ("section", " " + "─" * max(0, rest))]

    @contextmanager
    def spinner(self, text: str) -> Iterator[None]:
        """Something that moves beside a text, gone afterwards; in a pipe nothing is written."""
        from rich.console import Console

        console = Console(file=sys.stdout, no_color=not _wants_colour(), highlight=False)
        if not console.is_terminal:
            yield
            return
        from rich.text import Text

        moving = "dots" if _knows_signs() else "line"
        with console.status(Text(self.drawn(one_line(text))), spinner=moving if _moves() else "simpleDots"):
            yield


def wrapped(line: Line, width: int) -> list[list[Part]]:
    """One line as rows of at most `width` cells; words longer than a row are cut into pieces, none is lost."""
    words = [(name, word) for name, text in line for word in _WORD.findall(display_text(text).replace("\n", " "))]
    indent = " " * min(_label_of(line) or _indent_of(words), width // 2)
    rows: list[list[Part]] = [[]]
    used = 0
    for name, word in words:
        for piece in _pieces(word, width - len(indent)):
            size = cells(piece)
            if used + size > width and rows[-1]:
                if piece.isspace():
                    continue
                rows.append([("", indent)] if indent else [])
                used = len(indent)
            rows[-1].append((name, piece))
            used += size
    return rows


def cut_at_word(text: str, most: int) -> str:
    """As `cut`, but no word is cut in two where one fits whole."""
    if cells(text) <= most:
        return text
    kept = ""
    for word in text.split(" "):
        longer = f"{kept} {word}".strip()
        if cells(longer) + 2 > most:
            break
        kept = longer
    return f"{kept} …" if kept else cut(text, most)


def _label_of(line: Line) -> int:
    """The width of a label such as "Config     " that a line begins with, 0 where there is none."""
    if len(line) < 2 or line[0][0] != "dim" or not line[0][1].endswith(" "):
        return 0
    return cells(display_text(line[0][1]))


def _indent_of(words: Sequence[Part]) -> int:
    """Where the rows after the first begin: under the text, behind a leading mark such as "✓ " or "- "."""
    indent, marks = 0, 0
    for _, word in words[:3]:
        marks += not word.isspace()
        if not word.isspace() and (marks > 1 or len(word) > 1 or word.isalnum()):
            break
        indent += cells(word)
    return indent


def _pieces(word: str, most: int) -> Iterator[str]:
    """A word in pieces of at most `most` cells, broken behind a sign such as a slash where there is one."""
    piece = ""
    for character in word:
        if piece and cells(piece + character) > most:
            sign = max(piece.rfind(sign) for sign in _BREAKS_AFTER) + 1
            end = sign if sign > len(piece) // 2 else len(piece)
            yield piece[:end]
            piece = piece[end:]
        piece += character
    if piece:
        yield piece


def _knows_signs() -> bool:
    from prompt_toolkit.application import get_app_session

    try:
        "❯─✓".encode(get_app_session().output.encoding() or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _wants_colour() -> bool:
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _moves() -> bool:
    return not os.environ.get("NO_MOTION")
