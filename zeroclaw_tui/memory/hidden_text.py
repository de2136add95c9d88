"""Invisible text that a model reads: its position, its meaning, and a visible mark to show instead.

Memories can be poisoned this way: a terminal shows nothing, while the agent reads every character. Invisible are
Unicode's Default_Ignorable_Code_Point (DerivedCoreProperties.txt); legitimate uses are defined by UTS 51 (emoji),
UAX 44 and RFC 5892 (joiners), UAX 14 (scripts without blanks between words) and StandardizedVariants.txt.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import chain, groupby
from typing import NamedTuple

_SELECTORS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
_LINE_ENDS = "\u2028\u2029"
_PRIVATE = "\ue000-\uf8ff\U000f0000-\U0010ffff"
_BRAILLE_BLANK = "\u2800"
# Default_Ignorable_Code_Point, with the interlinear marks U+FFF9 to U+FFFB, which are as invisible.
_IGNORABLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_SUSPECT = f"{_IGNORABLE}{_LINE_ENDS}{_PRIVATE}"
_BLANKS = "\u00a0\u1680\u2000-\u200a\u202f\u205f"
"""Blanks that look like a space. Not the ideographic one, which is as wide as a letter, and begins paragraphs."""
_NOT_PLAIN = f"[{_SUSPECT}{_BRAILLE_BLANK}{_BLANKS}]"

_SIGNS = (
    "0-9#*\u00a9\u00ae\u2010-\u2027\u2030-\u205e\u2070-\u27ff\u2900-\u2bff\u3001-\u303f\u3200-\u33ff"
    "\U0001f000-\U0001faff"
)
_IDEOGRAPHS = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
_VARIED = (
    f"{_SIGNS}{_IDEOGRAPHS}\u1000-\u109f\ua840-\ua877\uaa60-\uaa7f\uff01-\uff9f\uffe0-\uffee"
    "\U00010ac0-\U00010aff\U00013000-\U0001345f"
)
"""Characters with variants in StandardizedVariants.txt and emoji-variation-sequences.txt, without alphabets."""
_PICTURES = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2194-\u21aa\u231a-\u23ff\u24c2\u25aa-\u25fe\u2600-\u27bf\u2934\u2935"
    "\u2b05-\u2b55\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
)
_JOINED = (
    "\u0600-\u061b\u061d-\u074f\u0750-\u077f\u07c0-\u07ff\u0840-\u08ff\u0900-\u0dff\u1000-\u109f\u1700-\u17b3\u17b6-\u180a"
    "\u1810-\u18af\u1900-\u1aaf\u1b00-\u1c4f\u1cd0-\u1cff\ua800-\ua87f\ua880-\ua8ff\ua930-\ua9ff\uaa00-\uaaff\uabc0-\uabff"
    "\ufb50-\ufdcf\ufdf0-\ufdff\ufe70-\ufefc\U00010a00-\U00010a5f\U00010ac0-\U00010baf\U00010d00-\U00010d3f"
    "\U00010ec0-\U00010fff\U00011000-\U00011fff\U0001e900-\U0001e95f"
)
"""Scripts whose letters join or stack, where joiners and non-joiners are part of the spelling."""
_UNSPACED = (
    "\u0e00-\u0fff\u1000-\u109f\u1780-\u17b3\u17b6-\u17ff\u1950-\u19ff\u1a20-\u1aaf\u1b00-\u1bff"
    "\ua980-\ua9ff\uaa60-\uaadf"
)
"""Scripts without blanks between words, where U+200B marks a possible line break."""
_FLAGS = "|".join("".join(chr(0xE0000 + ord(letter)) for letter in name) for name in ("gbeng", "gbsct", "gbwls"))
"""Tag sequences of the flags that Unicode recommends; others are displayed as a black flag that hides the tags."""

_JOINERS = "\u200b-\u200d\u2060-\u2064"
_EMOJI = rf"[{_PICTURES}](?:[\ufe0e\ufe0f](?![{_SELECTORS}]))?[\U0001f3fb-\U0001f3ff]?"
_PLAIN = (
    rf"\U0001f3f4(?:{_FLAGS})\U000e007f",
    rf"{_EMOJI}(?:\u200d{_EMOJI})+",
    rf"[{_VARIED}][\ufe00-\ufe0f](?![{_SELECTORS}])",
    rf"[{_IDEOGRAPHS}][\U000e0100-\U000e01ef](?![{_SELECTORS}])",
    r"[\u1800-\u180a\u1810-\u18aa](?:[\u180b-\u180d\u180f]\u180e?|\u180e)(?![\u180b-\u180f])",
    rf"[{_JOINED}][\u200c\u200d](?![{_JOINERS}])",
    rf"[{_UNSPACED}]\u200b(?![{_JOINERS}])",
    r"\u2800*[\u2801-\u28ff][\u2800-\u28ff]*",
)
_HIDDEN = (
    f"[{_SUSPECT}]+",
    f"{_BRAILLE_BLANK}+",
    # Among other blanks, or at the start or end, such a blank cannot be distinguished from a space.
    rf"[{_BLANKS}]{{3,}}|\A[{_BLANKS}]+|[{_BLANKS}]+\Z",
)
_PATTERN = f"{'|'.join(_PLAIN)}|(?P<hidden>{'|'.join(_HIDDEN)})"
"""Legitimate uses of such characters are matched first; all other occurrences are `hidden`."""

_HARMLESS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u2066\u2067\u2068\u2069\u2028\u2029")
"""Marks of direction and line that ordinary text of some scripts and programs contains, without overrides."""
_ASCII_TAGS = range(0xE0020, 0xE007F)
_MAX_LISTED = 4


class HiddenRun(NamedTuple):
    """A run of invisible characters, from `start` to `end` of the text."""

    start: int
    end: int
    mark: str
    """The mark to show instead, such as `⟨U+200B⟩` or `⟨9 tag characters: "ignore it"⟩`."""
    kinds: tuple[str, ...]
    """The distinct kinds of characters, such as "tag characters" or "U+200B"."""


def may_hide(text: str) -> bool:
    """Whether a text needs a closer look; a fast check, as most texts do not."""
    return not text.isascii() and re.search(_NOT_PLAIN, text) is not None


def marked(text: str) -> str:
    """Replace invisible characters by marks, except those that emoji and scripts need."""
    return _with_hidden_replaced(text, lambda match: _run_of(match).mark)


def escaped(text: str) -> str:
    """Replace each invisible character by a `\\uXXXX` escape, as in JSON."""
    # Imported here because the help of the commands does not need it.
    import json

    return _with_hidden_replaced(text, lambda match: json.dumps(match[0])[1:-1])


def _with_hidden_replaced(text: str, shown: Callable[[re.Match[str]], str]) -> str:
    if not may_hide(text):
        return text
    return re.sub(_PATTERN, lambda match: shown(match) if match["hidden"] else match[0], text)


def hidden_runs(text: str) -> Iterator[HiddenRun]:
    """Find the invisible runs of a text, from left to right."""
    if may_hide(text):
        yield from (_run_of(match) for match in re.finditer(_PATTERN, text) if match["hidden"])


def _run_of(match: re.Match[str]) -> HiddenRun:
    marks, names = zip(*(_described(kind, "".join(run)) for kind, run in groupby(match[0], _kind)), strict=True)
    return HiddenRun(*match.span(), "".join(marks), tuple(dict.fromkeys(chain(*names))))


def suspicious_runs(text: str) -> Iterator[HiddenRun]:
    """Find the hidden runs that ordinary text does not need, for an audit.

    Excluded are marks of direction, a byte order mark at the very beginning, private use characters and blanks.
    """
    for run in hidden_runs(text):
        characters = text[run.start : run.end]
        at_start = run.start == 0 and characters == "\ufeff"
        if not at_start and any(_kind(one) != "plain" and one not in _HARMLESS for one in characters):
            yield run


def _kind(character: str) -> str:
    code = ord(character)
    if 0xE0000 <= code <= 0xE007F:
        return "tags"
    if 0xFE00 <= code <= 0xFE0F or 0xE0100 <= code <= 0xE01EF:
        return "selectors"
    is_private = 0xE000 <= code <= 0xF8FF or code >= 0xF0000
    return "plain" if is_private or character.isspace() or character == _BRAILLE_BLANK else "other"


def _described(kind: str, run: str) -> tuple[str, tuple[str, ...]]:
    """The mark of a run of one kind, and the names of its characters."""
    codes = tuple(dict.fromkeys(f"U+{ord(one):04X}" for one in run))
    names, spelled = codes, ""
    if kind == "tags":
        letters = (chr(code - 0xE0000) for code in map(ord, run) if code in _ASCII_TAGS)
        names, spelled = ("tag characters",), "".join(letters)
    elif kind == "selectors" and len(run) > 1:
        names, spelled = ("variation selectors",), _bytes_as_text(run)
    if spelled:
        return f'⟨{len(run):,} {names[0] if len(run) > 1 else names[0][:-1]}: "{spelled}"⟩', names
    if len(codes) == 1:
        return f"⟨{len(run):,} × {codes[0]}⟩" if len(run) > 1 else f"⟨{codes[0]}⟩", names
    more = ", …" if len(codes) > _MAX_LISTED else ""
    return f"⟨{len(run):,} hidden characters: {', '.join(codes[:_MAX_LISTED])}{more}⟩", names


def _bytes_as_text(selectors: str) -> str:
    """Decode variation selectors as bytes of UTF-8; "" if the result is not printable text."""
    data = bytes(code - 0xFE00 if code <= 0xFE0F else code - 0xE0100 + 16 for code in map(ord, selectors))
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return ""
    return text if text.isprintable() and "⟩" not in text and not may_hide(text) else ""
