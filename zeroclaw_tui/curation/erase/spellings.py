"""The texts that are to be erased, found however they are written: in any case of letters, in JSON, in any encoding."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property, partial
from itertools import count as counting
from typing import Literal

from zeroclaw_tui.curation.copies.texts import NEVER_TEXT, REMOVED, json_in, raw, with_strings
from zeroclaw_tui.memory.errors import UsageError
from zeroclaw_tui.memory.text import WHITE_SPACE

MOST = 50
"""So many texts are looked for at once: each costs a look at every byte."""
SHORTEST = 3
"""In bytes of UTF-8; what is shorter stands in everything."""

_END = 0x2FA20
"""From this code point on no letter has cases or stands for another one (Unicode 16)."""
_NESTED = 6
_ROUNDS = 10
_BACKSLASH = "\\"
_SHORT_ESCAPES = {"\r": "r", "\t": "t", "\b": "b", "\f": "f"}
_LONGEST_MATCH = 16
"""Times a text's own length that it may take in bytes: a letter as JSON in JSON in JSON has up to 15 for its one."""
_ESCAPED_ASCII = re.compile(rb"\\u00([2-7][0-9a-f])")
"""Where JSON escapes letters that need it not, in lower case: hardly any program does."""

_WORDED = NEVER_TEXT | {
    "event_type", "node_type", "event_kind", "operation", "action", "reason", "state", "severity_text",
}  # fmt: skip
"""Columns, and fields of JSON, whose values are words of a program's own, as long as they are single ones."""
_WORDS = frozenset(
    {"user", "assistant", "system", "tool", "developer", "function", "idle", "running", "text", "tool_use"}
    | {"tool_result", "store", "recall", "list", "forget", "purge", "add", "update", "delete", "deleted", "superseded"}
)
"""Such words, in small letters."""
_ONE_WORD = re.compile(r"[A-Za-z][\w.:-]{0,60}")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z| ?[+-]\d\d:?\d\d| UTC)?)?")
_FREE = frozenset({"key", "content", "text", "title", "name", "value"})
"""Columns and fields in which a moment may be somebody's text."""
_TIMES = ("_at", "_ms", "_secs", "_seconds", "time", "timestamp", "_run", "created", "updated")
"""Ends of names of fields whose numbers are moments, or how long something took."""
_GIVEN = {
    "category": frozenset({"core", "daily", "conversation"}),
    "namespace": frozenset({"default"}),
}
"""What ZeroClaw puts by itself where a user may have names too."""
_FIELDS = frozenset((
    "role", "content", "type", "text", "tool_calls", "tool_call_id", "reasoning_content", "history", "version",
    "name", "arguments", "function", "id", "@timestamp", "attributes", "_file", "_line", "iteration", "message_id",
    "messages_count", "model", "request_messages", "request_messages_truncated", "sender", "event", "action",
    "category", "outcome", "message", "schema_version", "service", "severity_text", "severity_number", "trace_id",
    "span_id", "zeroclaw", "agent_alias", "session_key", "channel", "channel_type", "channel_alias", "input",
    "output", "tool", "reply_target", "thread_ts", "duration_ms", "error", "provider", "query", "limit",
    "timestamp", "event_type", "turn_id", "success", "payload", "content_preview", "raw_response", "parsed_text",
    "event_id", "actor", "user_id", "username", "command", "risk_level", "approved", "allowed", "result",
    "exit_code", "security", "policy_violation", "rate_limit_remaining", "sandbox_backend", "sequence", "prev_hash",
    "entry_hash", "key", "namespace", "session", "session_id", "created_at", "updated_at", "importance", "kind",
    "pinned", "tenant_id", "agent", "agent_id", "embedding", "superseded_by", "metadata",
))  # fmt: skip
"""Names of fields in the JSON of ZeroClaw 0.4 to 0.8.4 (chats, traces, its security log) and of exported memories."""

Encode = Callable[[str], str]
Form = Literal["text", "UTF-16"]
_COMPOSING = tuple(map(chr, (*range(0x300, 0x346), 0x3099, 0x309A, *range(0x1161, 0x1176), *range(0x11A8, 0x11C3))))
"""What joins the letter before it into one: accents, voicing of kana, the later parts of a hangul syllable."""
_WORD = re.compile(r"(?:[^\W_][\u0300-\u036f\u3099\u309a]*)+")


@dataclass(frozen=True, slots=True)
class _Spelling:
    """One text made ready; `forms` by their codec. `anchor` is a part of it that is the same in every form but for the
    case of ASCII letters; empty where there is none."""

    text: re.Pattern[str]
    forms: tuple[tuple[str, re.Pattern[bytes]], ...]
    anchor: str
    longest: int


class Spellings:
    """Texts looked for in any case of letters, by Unicode's full case folding, composed or decomposed.

    Found as they are, as JSON writes them (also within JSON), in UTF-16, and with the letters of Latin-1 in that.
    Raises UsageError for a text that is blank or shorter than SHORTEST, and for more than MOST.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        chosen = dict.fromkeys(text.replace("\r\n", "\n").strip(WHITE_SPACE) for text in texts)
        if not chosen or "" in chosen:
            raise UsageError("There is no text to erase.", hint="Give it, or - to read it from stdin.")
        if any(len(raw(text)) < SHORTEST for text in chosen):
            raise UsageError(
                f"A text of less than {SHORTEST} bytes stands in everything.", hint="Give more of it; nothing was done."
            )
        if len(chosen) > MOST:
            raise UsageError(
                f"At most {MOST} texts are erased at once, since each is looked for in every byte.",
                hint="Erase them in several turns.",
            )
        self.texts = tuple(chosen)
        self._all = tuple(map(_spelling, self.texts))
        self.longest = max(spelling.longest for spelling in self._all)
        """How many bytes one of them may take; pieces that are searched must overlap by that."""
        self.mark = next(mark for mark in (REMOVED, "…", "") if not mark or not self.found_in(mark))
        """What is put in place of a text within a longer one."""
        self.name_mark = next(mark for mark in ("removed", "x", "") if not mark or not self.found_in(mark))
        """The same where only letters may stand: in names."""

    def over_lines(self) -> Spellings | None:
        """Those of them that reach over several lines."""
        some = [text for text in self.texts if "\n" in text]
        return Spellings(some) if some else None

    def found_in(self, value: str) -> bool:
        """Whether a text holds one of them."""
        lowered = value.lower()
        return any(one.anchor in lowered and one.text.search(value) for one in self._forms_in(lowered))

    def spans_in(self, value: str) -> list[tuple[int, int]]:
        """Where in a text they stand, in order and apart from each other."""
        lowered = value.lower()
        found = [one for one in self._forms_in(lowered) if one.anchor in lowered]
        spans: list[tuple[int, int, Form]] = [
            (*match.span(), "text") for one in found for match in one.text.finditer(value)
        ]
        return [(start, end) for start, end, _ in _united(spans)]

    def hits_in(self, data: bytes) -> Iterator[tuple[int, int, Form]]:
        """Where in some bytes they stand (start, end), in order and apart from each other, and in which form."""
        lowered = data.lower()
        found: list[tuple[int, int, Form]] = []
        for one in self._forms_in(lowered):
            for codec, pattern in one.forms:
                if not one.anchor or one.anchor.encode(codec) in lowered:
                    form: Form = "UTF-16" if codec.startswith("utf-16") else "text"
                    found += [(*match.span(), form) for match in pattern.finditer(data)]
        yield from _united(found)

    @cached_property
    def _escaped(self) -> tuple[_Spelling, ...]:
        return tuple(_spelling(text, every=True) for text in self.texts)

    def _forms_in(self, lowered: str | bytes) -> tuple[_Spelling, ...]:
        """Those to look for in a text in lower case: in every form, which is slow, only where that may find any."""
        if isinstance(lowered, str):
            if "\\u00" not in lowered:
                return self._all
            lowered = raw(lowered)
        if _ESCAPED_ASCII.search(lowered) is None:
            return self._all
        plain = _ESCAPED_ASCII.sub(lambda found: bytes([int(found[1], 16)]).lower(), lowered).replace(b"\\", b"")
        return self._escaped if any(one.anchor.encode() in plain for one in self._all) else self._all

    def held_by(self, value: object, name: str = "") -> bool:
        """Whether a value of a row, of the column `name`, holds one that can be cut out: text or bytes."""
        if isinstance(value, bytes):
            return any(True for _ in self.hits_in(value))
        return isinstance(value, str) and self.out_of(value) != value and not self._is_own_word(name, value)

    def held_by_any(self, values: Collection[object]) -> bool:
        """Whether one of the values of a row may hold one; faster than to ask for each."""
        together = "\0".join([value for value in values if isinstance(value, str)])
        return self.found_in(together) or any(isinstance(value, bytes) and self.held_by(value) for value in values)

    def out_of(self, value: str, mark: str | None = None) -> str:
        """A text without them, `mark` in their place; JSON stays JSON, with the names and words of ZeroClaw's own. One
        that holds none else comes back as it is."""
        return self._out_of(value, self.mark if mark is None else mark, _NESTED)

    def words_out_of(self, value: str, mark: str) -> str:
        """A text without those that stand in it as whole words, where "_" is part of one."""
        return _without(value, [span for span in self.spans_in(value) if _is_word(value, *span)], mark)

    def out_of_bytes(self, value: bytes) -> bytes:
        """The same for bytes of no known form."""
        for _ in range(_ROUNDS):
            hits = [*self.hits_in(value)]
            if not hits:
                break
            parts, end = list[bytes](), 0
            for start, stop, form in hits:
                parts += [value[end:start], b"" if form == "UTF-16" else raw(self.mark)]
                end = stop
            value = b"".join([*parts, value[end:]])
        return value

    def _out_of(self, value: str, mark: str, nested: int) -> str:
        if not self.found_in(value):
            return value
        if nested > 0 and json_in(value) is not None:
            return self._out_of_json(value, mark, nested - 1)
        for _ in range(_ROUNDS):
            spans = self.spans_in(value)
            if not spans:
                break
            value = _without(value, spans, mark)
        return value

    def _out_of_json(self, document: str, mark: str, nested: int) -> str:
        renamed: dict[str, str] = {}

        def rename(name: str) -> str:
            if name in _FIELDS or name in renamed or not self.found_in(name):
                return renamed.get(name, name)
            new = without = self._out_of(name, mark, 0)
            number = 1
            while new in renamed.values() or f'"{new}"' in document:
                number += 1
                new = f"{without} {number}"
            renamed[name] = new
            return new

        def change(field: str, text: str) -> str:
            return text if self._is_own_word(field, text) else self._out_of(text, mark, nested)

        def number_as(field: str, number: str) -> str:
            is_it = not field.endswith(_TIMES) and (0, len(number)) in self.spans_in(number)
            return mark if is_it else number

        return with_strings(document, change, rename, number_as)

    def _is_own_word(self, name: str, value: str) -> bool:
        """Whether what stands in a column, or in a field of JSON, is a word that a program puts there by itself, or a
        moment: no text of anybody, and nothing can be cut out of it without harm."""
        if value in _GIVEN.get(name, ()) or (name not in _FREE and _MOMENT.fullmatch(value)):
            return True
        if name not in _WORDED or not _ONE_WORD.fullmatch(value):
            return False
        return value.lower() in _WORDS or not any(_is_word(value, *span) for span in self.spans_in(value))


def _is_word(value: str, start: int, end: int) -> bool:
    """Whether letters and the like neither go on before a place nor behind it."""
    return not any(sign == "_" or sign.isalnum() for sign in (*value[max(0, start - 1) : start], *value[end : end + 1]))


def _without(value: str, spans: Sequence[tuple[int, int]], mark: str) -> str:
    ends = [0, *(end for _, end in spans)]
    parts = [value[end:start] for end, (start, _) in zip(ends, spans, strict=False)]
    return mark.join([*parts, value[ends[-1] :]])


def _united(found: Iterable[tuple[int, int, Form]]) -> Iterator[tuple[int, int, Form]]:
    """Places in order; those that overlap are one."""
    last: tuple[int, int, Form] | None = None
    for start, end, form in sorted(found):
        if last is not None and start < last[1]:
            last = (last[0], max(end, last[1]), last[2])
            continue
        if last is not None:
            yield last
        last = (start, end, form)
    if last is not None:
        yield last


class OtherSpellings:
    """Spellings that are near the texts but not the same, as they are found in memories: they are only listed.

    Near is what differs in blanks, signs and accents ("zebediah_q"), or in one letter of a word of at least five.
    """

    def __init__(self, spellings: Spellings) -> None:
        self._spellings = spellings
        self._wanted = [words for text in spellings.texts if (words := [*map(_plain, _WORD.findall(text))])]
        self._squeezed = {"".join(words) for words in self._wanted}
        self._may_begin: dict[str, bool] = {}
        """By word, whether another spelling may begin with it: most memories have none such, and are told at once."""

    def in_text(self, value: str) -> list[str]:
        """The other spellings that a text has, as they stand there; none where it has one of the texts itself."""
        if not any(map(self._begins_one, _WORD.findall(value))):
            return []
        words = [*_WORD.finditer(value)]
        plain = [_plain(word.group()) for word in words]
        found: dict[str, None] = {}
        for wanted in self._wanted:
            for at in range(len(words)):
                for count in range(1, len(wanted) + 1):
                    some = plain[at : at + count]
                    if len(some) == count and self._is_near(some, wanted):
                        here = value[words[at].start() : words[at + count - 1].end()]
                        if not self._spellings.found_in(here):
                            found[here] = None
        return list(found)

    def _begins_one(self, word: str) -> bool:
        known = self._may_begin.get(word)
        if known is None:
            plain = _plain(word)
            known = any(squeezed.startswith(plain) for squeezed in self._squeezed) or any(
                _differs_by_one(plain, wanted[0]) for wanted in self._wanted
            )
            self._may_begin[word] = known
        return known

    def _is_near(self, some: Sequence[str], wanted: Sequence[str]) -> bool:
        if "".join(some) in self._squeezed:
            return True
        if len(some) != len(wanted) or not any(one == other for one, other in zip(some, wanted, strict=True)):
            return len(some) == len(wanted) == 1 and _differs_by_one(some[0], wanted[0])
        return all(one == other or _differs_by_one(one, other) for one, other in zip(some, wanted, strict=True))


def _spelling(text: str, *, every: bool = False) -> _Spelling:
    """With `every`, also where JSON escapes letters of ASCII; no part of that has one form only."""
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())

    def pattern(spell: Encode) -> str:
        def encode(letter: str) -> str:
            return _with_escapes(letter, spell, every=every)

        composing = _composing_with(folded[-1])
        return _pattern(folded, encode) + (f"(?!{_either(map(encode, composing))})" if composing else "")

    forms = [("utf-8", pattern(_as_utf8))]
    latin = pattern(_as_latin_1)
    if not latin.isascii():
        # The last letter might begin a longer one of UTF-8.
        forms.append(("latin-1", f"{latin}(?![\x80-\xbf])"))
    with suppress(UnicodeEncodeError):
        forms += [(codec, pattern(partial(_as_utf_16, codec))) for codec in ("utf-16-le", "utf-16-be")]
    compiled = tuple((codec, re.compile(pattern.encode("latin-1"))) for codec, pattern in forms)
    anchor = "" if every else max(_anchors(folded), key=len)
    longest = 64 + len(raw(text)) * _LONGEST_MATCH
    return _Spelling(re.compile(pattern(re.escape)), compiled, anchor if len(anchor) >= SHORTEST else "", longest)


def _composing_with(letter: str) -> list[str]:
    """What behind a letter makes another one of it: as composed that is not found, so neither is it decomposed."""
    return [
        mark
        for mark in _COMPOSING
        if any(len(unicodedata.normalize("NFC", same + mark)) == 1 for same in _same_as(letter))
    ]


def _either(patterns: Iterable[str]) -> str:
    return f"(?:{'|'.join(patterns)})"


def _pattern(folded: str, encode: Encode) -> str:
    """Every text that folds to this one."""
    groups = counting(1)
    return "".join(_region_pattern(folded[start:end], encode, groups) for start, end in _regions(folded))


def _region_pattern(region: str, encode: Encode, groups: Iterator[int]) -> str:
    """Letter by letter: each as itself, or as the first of those that one letter writes ("ss"), which then are done."""
    parts: list[str] = []
    written: list[tuple[int, int]] = []
    """Up to where such a letter reaches, and the group that tells whether it stands there."""
    for at, letter in enumerate(region):
        choices = [*_forms_of(letter, encode)]
        done = [group for reach, group in written if at < reach]
        for size in (2, 3):
            if letters := _same_as(region[at : at + size], size):
                written.append((at + size, next(groups)))
                choices.append(f"({_either(map(encode, letters))})")
        part = _either(choices)
        for group in done:
            part = f"(?({group})|{part})"
        parts.append(part)
    return "".join(parts)


def _forms_of(letter: str, encode: Encode) -> Iterator[str]:
    """One letter in its cases, composed, decomposed, or composed with one of its marks alone."""
    for same in _same_as(letter):
        yield encode(same)
    base, *marks = list(unicodedata.normalize("NFD", letter))
    if marks:
        yield _either(map(encode, _same_as(base))) + "".join(map(encode, marks))
    for at, mark in enumerate(marks if len(marks) > 1 else ()):
        with_one = unicodedata.normalize("NFC", base + mark)
        if len(with_one) == 1:
            others = "".join(map(encode, [*marks[:at], *marks[at + 1 :]]))
            yield _either(map(encode, _same_as(with_one))) + others


def _regions(folded: str) -> Iterator[tuple[int, int]]:
    """The parts that can be written letter by letter, and those that one letter may write several of ("ss")."""
    at = 0
    while at < len(folded):
        end, look = at + 1, at
        while look < end:
            longest = max((size for size in (3, 2) if _same_as(folded[look : look + size], size)), default=1)
            end, look = max(end, look + longest), look + 1
        yield at, end
        at = end


def _same_as(folded: str, size: int = 1) -> tuple[str, ...]:
    """The single letters that fold to this text of that many."""
    if len(folded) != size:
        return ()
    letters = _folding().get(folded, ())
    return (folded, *letters) if size == 1 else letters


@cache
def _folding() -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for letter in map(chr, range(0x41, _END)):
        folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", letter).casefold())
        if folded != letter:
            found.setdefault(folded, []).append(letter)
    return {folded: tuple(letters) for folded, letters in found.items()}


def _as_utf8(sign: str) -> str:
    return re.escape(raw(sign)).decode("latin-1")


def _as_latin_1(sign: str) -> str:
    # In UTF-8 a byte of these letters never stands before ASCII or another of them, so that none is found there.
    return re.escape(sign) if sign.isascii() or "À" <= sign <= "ÿ" else "(?!)"


def _as_utf_16(codec: str, sign: str) -> str:
    return re.escape(sign.encode(codec)).decode("latin-1")


def _with_escapes(letter: str, spell: Encode, *, every: bool) -> str:
    """A letter as it is, or behind any number of backslashes as JSON, or JSON in JSON, writes it."""
    plain, back = spell(letter), f"(?:{spell(_BACKSLASH)})"
    if letter == "\n":
        returned = spell("\r")
        return f"(?:(?:{returned})?{plain}|(?:{back}+{spell('r')})?{back}+{spell('n')})"
    if letter == _BACKSLASH:
        return f"{back}+"
    escaped = _unicode_escape(letter, spell, back)
    if letter in '"/':
        return f"(?:{back}*{plain}|{escaped})"
    if letter in _SHORT_ESCAPES:
        return f"(?:{plain}|{back}+{spell(_SHORT_ESCAPES[letter])}|{escaped})"
    if not every and (letter == " " or (letter.isascii() and letter.isalnum())):
        return plain
    return f"(?:{plain}|{escaped})"


def _unicode_escape(letter: str, spell: Encode, back: str) -> str:
    try:
        units = letter.encode("utf-16-be")
    except UnicodeEncodeError:
        return "(?!)"
    numbers = [units[at : at + 2].hex() for at in range(0, len(units), 2)]
    digits = {digit: _either({spell(digit), spell(digit.upper())}) for number in numbers for digit in number}
    return "".join(f"{back}+{spell('u')}{''.join(digits[digit] for digit in number)}" for number in numbers)


def _anchors(folded: str) -> list[str]:
    """The runs of a text that have one form only but for the case of ASCII letters."""
    runs = [""]
    for start, end in _regions(folded):
        letter = folded[start]
        is_plain = letter == " " or (letter.isascii() and letter.isalnum())
        if end - start == 1 and is_plain and all(map(str.isascii, _same_as(letter))):
            runs[-1] += letter
        else:
            runs.append("")
    return runs


def _plain(word: str) -> str:
    """A word without accents and cases."""
    parts = unicodedata.normalize("NFKD", word.casefold())
    return "".join(letter for letter in parts if not unicodedata.combining(letter))


def _differs_by_one(one: str, other: str) -> bool:
    """Whether one letter more, less, other, or two changed about, makes one word of the other."""
    if min(len(one), len(other)) < 5 or abs(len(one) - len(other)) > 1 or one == other:
        return False
    same = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    rests = one[same:], other[same:]
    return (
        rests[0][1:] == rests[1]
        or rests[1][1:] == rests[0]
        or rests[0][1:] == rests[1][1:]
        or (rests[0][:2] == rests[1][:2][::-1] and rests[0][2:] == rests[1][2:])
    )
