"""Typing over hostile text: what a terminal would obey is shown by a stand-in, and comes back as it was."""

from __future__ import annotations

import re

from zeroclaw_tui.memory.text import display_text

_PLAIN = re.compile(r"[\x20-\x7e\n\t]*")
_LINE_ENDS = re.compile(r"\r\n?|[\v\f\x1c-\x1e\x85\u2028\u2029]")
_ONE_LINE = {"\n": "␊", "\t": "␉"}
_POOL = "▣▤▥▦▧▨▩◈◉◍◐◑◒◓◔◕◖◗◘◙◚◛◜◝◞◟◠◡◢◣◤◥◧◨◩◪◫◬◭◮"
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
        return len({character for character in set(text) if self._is_hostile(character)}) <= len(_POOL)

    def shown(self, text: str, beside: str = "") -> str:
        """The text as it may be shown and typed over; `beside` is what already is, whose signs are not taken."""
        if _PLAIN.fullmatch(text) and not (self._one_line and ("\n" in text or "\t" in text)):
            return text
        found = sorted({character for character in set(text) if self._is_hostile(character)})
        taken = {*text, *beside}
        for character in found:
            if character not in self._shown:
                self._add(character, taken)
        # A sign that stands for something else by now needs a stand-in of its own.
        for sign in sorted({*text} & self._meant.keys()):
            if sign not in self._shown:
                self._add(sign, taken)
        return _each(text, self._shown)

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

    def _is_hostile(self, character: str) -> bool:
        if self._one_line and character in _ONE_LINE:
            return True
        return display_text(character) != character

    def _add(self, character: str, taken: set[str]) -> None:
        pictured = _ONE_LINE.get(character, display_text(character))
        free = (sign for sign in (pictured, *_POOL) if _can_stand(sign) and sign not in self._meant)
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
