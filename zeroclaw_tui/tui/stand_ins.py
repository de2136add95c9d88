"""Typing over hostile text: what a terminal would obey is shown by a stand-in, and comes back as it was."""

from __future__ import annotations

import re

from zeroclaw_tui.memory.hidden_text import hidden_runs
from zeroclaw_tui.memory.text import WHITE_SPACE, display_text

_PLAIN = re.compile(r"[\x20-\x7e\n\t]*")
_LINE_ENDS = re.compile(r"\r\n?|[\v\f\x1c-\x1e\x85\u2028\u2029]")
_ONE_LINE = {"\n": "␊", "\t": "␉"}
_POOL = "▣▤▥▦▧▨▩◈◉◍◐◑◒◓◔◕◖◗◘◙◚◛◜◝◞◟◠◡◢◣◤◥◧◨◩◪◫◬◭◮"
# Tag letters stand as letters in circles, so that what they spell can be read.
_CIRCLED = {0xE0041 + at: chr(0x24B6 + at) for at in range(26)} | {0xE0061 + at: chr(0x24D0 + at) for at in range(26)}
_SIGNS = _POOL + "".join(_CIRCLED.values())
_BLANKS = frozenset(WHITE_SPACE) - frozenset("\u2028\u2029")
_NO_MORE = "\ufffd"
_TOLD = 3


class StandIns:
    """One visible character for each one that steers a terminal or hides text, and the way back.

    Control characters stand as their pictures, others as signs that the text itself does not hold. With `one_line`
    line feeds and tabs have stand-ins too.
    """

    def __init__(self, *, one_line: bool = False) -> None:
        self._one_line = one_line
        self._shown: dict[str, str] = {}
        self._meant: dict[str, str] = {}
        """Which sign stands for what; the other way round above."""

    def can_show(self, text: str) -> bool:
        """Whether there are enough signs for all that has to be hidden in this text."""
        return len(self._hostile(text)[0]) <= len(_SIGNS)

    def shown(self, text: str, beside: str = "", after: str = "") -> str:
        """The text as it may be shown and typed over.

        `beside` is what already is, whose signs are not taken; `after` is what it comes right behind, a letter that a
        joiner belongs to.
        """
        if _PLAIN.fullmatch(text) and not (self._one_line and ("\n" in text or "\t" in text)):
            return text
        found, places = self._hostile(text, after)
        taken = {*text, *beside}
        for character in sorted(found):
            if character not in self._shown:
                self._add(character, taken)
        # A sign that stands for something else by now needs a stand-in of its own.
        for sign in sorted({*text} & self._meant.keys()):
            if sign not in self._shown:
                self._add(sign, taken)
        if not self._shown:
            return text
        # What is hostile only somewhere, such as a joiner outside an emoji, stays plain where it is not.
        return "".join(
            self._shown[character] if at in places or character in self._meant else character
            for at, character in enumerate(text)
        )

    def meant(self, shown: str) -> str:
        """What a shown text stands for."""
        return _each(shown, self._meant)

    def legend(self, shown: str) -> str:
        """Which signs of a shown text stand for what, as a sentence; "" when none does."""
        signs = [sign for sign in self._meant if sign in shown]
        told = [f"{sign} is U+{ord(self._meant[sign]):04X}" for sign in signs[:_TOLD]]
        if len(signs) > _TOLD:
            told.append(f"{len(signs) - _TOLD} more signs stand for hidden characters")
        return " · ".join(told)

    def _hostile(self, text: str, after: str = "") -> tuple[set[str], set[int]]:
        """The characters that need a stand-in, and where they stand. A blank needs none: it is typed over like one."""
        runs = hidden_runs(after + text)
        places = {at - len(after) for run in runs for at in range(max(run.start, len(after)), run.end)}
        places = {at for at in places if text[at] not in _BLANKS}
        always = {character for character in set(text) if self._is_control(character)}
        if always:
            places |= {at for at, character in enumerate(text) if character in always}
        return always | {text[at] for at in places}, places

    def _is_control(self, character: str) -> bool:
        """Whether it has a picture, or a sign that stands for all of its kind."""
        if self._one_line and character in _ONE_LINE:
            return True
        shown = display_text(character)
        return shown != character and len(shown) == 1

    def _add(self, character: str, taken: set[str]) -> None:
        pictured = _ONE_LINE.get(character) or _CIRCLED.get(ord(character)) or display_text(character)
        free = (sign for sign in (pictured, *_SIGNS) if _can_stand(sign) and sign not in self._meant)
        sign = next((sign for sign in free if sign not in taken), None)
        if sign is None:
            self._shown[character] = _NO_MORE
        else:
            self._shown[character] = sign
            self._meant[sign] = character


def with_line_feeds(text: str) -> str:
    """Text as it is pasted or typed: every kind of line end as a line feed."""
    return _LINE_ENDS.sub("\n", text)


def has_only_crlf(text: str) -> bool:
    """Whether every line ends with a carriage return and a line feed, and there is at least one."""
    return "\r\n" in text and not {"\r", "\n"} & {*text.replace("\r\n", "")}


def _each(text: str, others: dict[str, str]) -> str:
    return text.translate({ord(character): other for character, other in others.items()}) if others else text


def _can_stand(sign: str) -> bool:
    return len(sign) == 1 and sign != _NO_MORE
