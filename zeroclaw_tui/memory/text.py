"""Texts for the terminal: cleaning of memory text, which may be hostile, fitting to a width in cells, and numbers."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Sequence
from itertools import groupby, islice
from typing import Literal

WHITE_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
"""The blanks in ZeroClaw's texts: Unicode's White_Space, without the separators U+001C to U+001F."""

HIDDEN = "••••"
"""The replacement of a secret."""
NO_VALUE = "–"
"""Shown instead of a missing value."""

_BLANKS = re.compile(r"[ \t\r\n\f\v]+")
_CONTROLS = "[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]"
_MAX_COMBINING = 4
# Combining marks are not word characters: a fast check that no letter has too many of them.
_MANY_MARKS = re.compile(r"[^\w\x00-\x7f]{5}")
_JOINER = "\u200d"
_IS_PLAIN = re.compile(r"[\x20-\x7e\xa1-\xac\xae-\u02ff\u2010-\u2027\u2190-\u21ff\u2500-\u259f]*").fullmatch
"""Latin letters, dashes, quotes, arrows, lines and blocks, each of which takes one cell and hides nothing."""
# A text can be as long as a book, so every repetition is bounded.
_SECRETS = (
    # A password can contain an unencoded @ or slash, or be a token of any length; digits and a slash are a port.
    (r"(?i)\b((?:postgres|mysql|redis|mongodb|amqp)[+\w]{0,20}://[^\s:/@]*:)(?:[^\s\"']{2000,}|\S{1,2000}@)", "@"),
    (r"(?i)\b([a-z][a-z0-9+.\-]{0,20}://[^\s:/@?#]*:)(?!\d{0,5}[/?#])(?:[^\s\"']{2000,}|[^\s\"']{1,2000}@)", "@"),
    (r"(?i)([?&;](?:\w{0,20}[_-])?(?:key|sig|signature|auth)=)[^&#;\s\"']+", ""),
    (r"(?i)((?:(?:password|passwd|pwd)\s{0,9}=\s{0,9}|(?:api_?key|token|secret)=))[^&#;\s\"']+", ""),
    (r"\b(Bearer\s{1,9}|Basic\s{1,9})(?=[A-Za-z+/._~\-]{0,99}[\d=])[A-Za-z0-9+/=._~\-]{8,}", ""),
    (r"\b((?:sk|pk|rk|hf|glpat)[-_]|gh[oprsu]_|github_pat_|xox[abeprs]-|xapp-)[A-Za-z0-9_\-]{12,}", ""),
    (r"\b(sk|pk|rk|hf|AKIA|AIza)(?=[A-Za-z_\-]{0,40}\d)[A-Za-z0-9_\-]{12,}", ""),
    (r"\b(eyJ)[A-Za-z0-9_\-]{8,4000}\.[A-Za-z0-9_\-]+\.[A-Za-z0-9_\-]*", ""),
    (r"\b(\d{8,10}:)[A-Za-z0-9_\-]{35}\b", ""),
    (r"\b(enc2:|enc:|op://)[^\s\"',\]}]+", ""),
)
"""Patterns of secrets, whose first group is preserved, each with the text after the dots. Compiled on first use."""


def display_text(text: str) -> str:
    """Clean a text so that it cannot control the terminal or hide anything: all except line feed and tab is visible.

    C0 and DEL become control pictures, C1 and lone surrogates U+FFFD; bidi controls and invisible characters become a
    mark that names or decodes them (see `hidden_text`), and more than four combining marks on one letter are dropped.
    A carriage return before a line feed is dropped.
    """
    shown = text.replace("\r\n", "\n")
    if not shown.isprintable():
        shown = re.sub(_CONTROLS, _picture, shown)
    if shown.isascii() or _IS_PLAIN(shown):
        return shown
    # Imported here because most commands show no text that needs its tables.
    from zeroclaw_tui.memory.hidden_text import marked

    return _calm_combining(marked(shown))


def shell_word(text: str) -> str:
    """Quote a word for a shell. A word that a terminal cannot show unchanged gets escapes in `$'…'`, so that it can be
    copied from the screen."""
    import shlex

    if text == display_text(text) and not {"\t", "\n"} & set(text):
        return shlex.quote(text)
    plain = (
        chr(byte) if 0x20 <= byte < 0x7F and byte not in b"'\\" else f"\\x{byte:02x}" for byte in os.fsencode(text)
    )
    return f"$'{''.join(plain)}'"


def with_tilde(location: str) -> str:
    """Replace the home folder in a path, or in a sentence with paths, by a tilde."""
    return location.replace(f"{os.path.expanduser('~')}/", "~/")


def one_line(text: str) -> str:
    """Clean a text for one row: `display_text` with each run of blanks and line ends replaced by one space."""
    return display_text(_BLANKS.sub(" ", text)).strip()


def mask_secrets(text: str) -> str:
    """Replace everything that looks like a key, a token or the password of a URL by four dots."""
    for pattern, end in _SECRETS:
        text = re.sub(pattern, rf"\g<1>{HIDDEN}{end}", text)
    return text


def cells(text: str) -> int:
    """The width of a cleaned text in terminal cells, as in Textual."""
    # Avoid importing rich, which takes a tenth of the time of a short command.
    if _IS_PLAIN(text):
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def cut(text: str, most: int) -> str:
    """Truncate a cleaned text to at most `most` cells, with an ellipsis if it is longer."""
    if cells(text) <= most:
        return text
    if _IS_PLAIN(text):
        return f"{text[: max(most - 1, 0)].rstrip()}…"
    from rich.cells import split_graphemes

    end, used = 0, 1
    for _, stop, width in split_graphemes(text)[0]:
        used += width
        if used > most:
            break
        end = stop
    # A joiner without a second character would be visible.
    return text[:end].rstrip(_JOINER + " ") + "…"


def last_cells(text: str, most: int) -> str:
    """The end of a cleaned text in at most `most` cells."""
    part = text[-most:] if most else ""
    while cells(part) > most:
        part = part[1:]
    return part


def fit(text: str, width: int, align: Literal["left", "right"] = "left") -> str:
    """Fit a text to exactly `width` cells: pad it with spaces, or cut it at a whole character with "…"."""
    if width <= 0:
        return ""
    # A joiner at either end would swallow the padding next to it, and with it the alignment.
    shown = cut(text[: max(512, width * 8)].strip(_JOINER), width)
    padding = " " * (width - cells(shown))
    return padding + shown if align == "right" else shown + padding


def distinct_numbers(score: float, limit: float) -> tuple[str, str]:
    """Format both numbers with two decimals, or with more if a score below the limit would look equal to it."""
    for decimals in range(2, 10):
        shown = f"{score:,.{decimals}f}", f"{limit:,.{decimals}f}"
        if not score < limit or shown[0] != shown[1]:
            return shown
    return repr(score), repr(limit)


def counted(count: int, what: str = "memory") -> str:
    """ "1 memory", "1,204 memories", "3 keys"."""
    plural = f"{what[:-1]}ies" if what.endswith("y") and what[-2:-1] not in "aeiou" else f"{what}s"
    return f"{count:,} {what if count == 1 else plural}"


def are(count: int, what: str = "memory") -> str:
    """ "1 memory is", "1,204 memories are"."""
    return f"{counted(count, what)} {'is' if count == 1 else 'are'}"


def size_shown(size: int) -> str:
    """Format bytes as "37 B", "1.2 KB" or "18 MB", with units of 1,024 and at most six characters."""
    if size < 1000:
        return f"{size} B"
    value = float(size)
    for unit in ("KB", "MB", "GB", "TB"):
        value /= 1024
        if value < 999.5:
            return f"{value:.{1 if value < 9.95 else 0}f} {unit}"
    return f"{value / 1024:.0f} PB"


def first_names(names: Sequence[str], count: int | None = None, *, most: int = 5, longest: int = 60) -> str:
    """Join the first names, cleaned, each in `longest` cells, and the number of others: "a, b and 3 more".

    `count` is the total if `names` are only the first of them.
    """
    named = [cut(one_line(name), longest) for name in names[:most]]
    more = (len(names) if count is None else count) - len(named)
    return ", ".join(named) + (f" and {more:,} more" if more > 0 else "")


def is_unicode(text: str) -> bool:
    """Whether a text has no lone surrogates."""
    return text.isascii() or re.search("[\ud800-\udfff]", text) is None


def unicode_text(text: str) -> str:
    """Replace each byte that is not UTF-8, and each unpaired surrogate, by U+FFFD."""
    return text if is_unicode(text) else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _picture(control: re.Match[str]) -> str:
    code = ord(control[0])
    return chr(0x2400 + code) if code < 0x20 else "␡" if code == 0x7F else "�"


def _calm_combining(text: str) -> str:
    if not _MANY_MARKS.search(text):
        return text
    runs = groupby(text, lambda character: unicodedata.combining(character) > 0)
    return "".join("".join(islice(run, _MAX_COMBINING if is_mark else None)) for is_mark, run in runs)
