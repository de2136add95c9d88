"""Cleaning of memory text, which may be hostile, before it is shown, and its width in cells."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Sequence
from itertools import groupby, islice

WHITE_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
"""What counts as blank in ZeroClaw's texts: Unicode's White_Space, which has no separators U+001C to U+001F."""

HIDDEN = "••••"
"""What is shown in place of a secret."""

_BLANKS = re.compile(r"[ \t\r\n\f\v]+")
_CONTROLS = "[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]"
_MOST_COMBINING = 4
# No combining mark is a word character: a quick way to know that no letter has too many.
_MANY_MARKS = re.compile(r"[^\w\x00-\x7f]{5}")
_JOINER = "\u200d"
# A text can be as long as a book: whatever is tried at every character is bounded.
_SECRETS = (
    # A password can contain an @ or a slash that somebody forgot to encode; digits and a slash are a port.
    (r"(?i)\b((?:postgres(?:ql)?|mysql|rediss?|mongodb|amqps?)[+\w]{0,20}://[^\s:/@]*:)\S{1,2000}@", "@"),
    (r"(?i)\b([a-z][a-z0-9+.\-]{0,20}://[^\s:/@?#]*:)(?!\d{0,5}[/?#])[^\s\"']{1,2000}@", "@"),
    (r"(?i)([?&;](?:\w{0,20}[_-])?(?:key|sig|signature|auth)=)[^&#;\s\"']+", ""),
    (r"(?i)((?:(?:password|passwd|pwd)\s{0,9}=\s{0,9}|(?:api_?key|token|secret)=))[^&#;\s\"']+", ""),
    (r"\b(Bearer\s{1,9}|Basic\s{1,9})(?=[A-Za-z+/._~\-]{0,99}[\d=])[A-Za-z0-9+/=._~\-]{8,}", ""),
    (r"\b((?:sk|pk|rk|hf|glpat)[-_]|gh[oprsu]_|github_pat_|xox[abeprs]-|xapp-)[A-Za-z0-9_\-]{12,}", ""),
    (r"\b(sk|pk|rk|hf|AKIA|AIza)(?=[A-Za-z_\-]{0,40}\d)[A-Za-z0-9_\-]{12,}", ""),
    (r"\b(eyJ)[A-Za-z0-9_\-]{8,4000}\.[A-Za-z0-9_\-]+\.[A-Za-z0-9_\-]*", ""),
    (r"\b(\d{8,10}:)[A-Za-z0-9_\-]{35}\b", ""),
    (r"\b(enc2:|enc:|op://)[^\s\"',\]}]+", ""),
)
"""Patterns of secrets, whose first group stays, each with what follows the dots. `re` compiles them at first use."""


def display_text(text: str) -> str:
    """Text that can neither steer the terminal nor hide anything: all but line feed and tab becomes visible.

    C0 and DEL become control pictures, C1 and lone surrogates U+FFFD; bidi controls and what is invisible become a mark
    that names or spells it (see `hidden_text`), and more than four combining marks on one letter are dropped. A
    carriage return before a line feed is left out.
    """
    shown = text.replace("\r\n", "\n")
    if not shown.isprintable():
        shown = re.sub(_CONTROLS, _picture, shown)
    if shown.isascii():
        return shown
    # Most commands show no text that needs its tables.
    from zeroclaw_tui.memory.hidden_text import marked

    return _calm_combining(marked(shown))


def shell_word(text: str) -> str:
    """A word as a shell reads it. One that a terminal would not show as it is has escapes, in `$'…'`, so that what is
    copied from the screen still means it."""
    import shlex

    if text == display_text(text) and not {"\t", "\n"} & set(text):
        return shlex.quote(text)
    plain = (
        chr(byte) if 0x20 <= byte < 0x7F and byte not in b"'\\" else f"\\x{byte:02x}" for byte in os.fsencode(text)
    )
    return f"$'{''.join(plain)}'"


def with_tilde(location: str) -> str:
    """A path, or a sentence with paths, with a tilde for the home folder."""
    return location.replace(f"{os.path.expanduser('~')}/", "~/")


def one_line(text: str) -> str:
    """Text for one row of a list: `display_text` with each run of blanks and line ends as one space."""
    return display_text(_BLANKS.sub(" ", text)).strip()


def mask_secrets(text: str) -> str:
    """Text with what looks like a key, a token or the password of a URL replaced by four dots."""
    for pattern, end in _SECRETS:
        text = re.sub(pattern, rf"\g<1>{HIDDEN}{end}", text)
    return text


_IS_PLAIN = re.compile(r"[\x20-\x7e\xa1-\xac\xae-\u02ff\u2010-\u2027\u2190-\u21ff]*").fullmatch
"""Latin letters, dashes, quotes and arrows, each of which takes one cell."""


def cells(text: str) -> int:
    """How many terminal cells a cleaned text takes, as Textual counts them."""
    # Importing rich costs a short command a tenth of its time.
    if _IS_PLAIN(text):
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def cut(text: str, most: int) -> str:
    """A cleaned text in at most `most` cells, with an ellipsis where something was left out."""
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
    # A joiner that lost what it joins would be shown.
    return text[:end].rstrip(_JOINER + " ") + "…"


def distinct_numbers(score: float, limit: float) -> tuple[str, str]:
    """Both numbers with two decimals, or with more if a score below the limit would look equal to it."""
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
    """Bytes as "37 B", "1.2 KB" or "18 MB", 1,024 to the unit and never more than six characters."""
    if size < 1000:
        return f"{size} B"
    value = float(size)
    for unit in ("KB", "MB", "GB", "TB"):
        value /= 1024
        if value < 999.5:
            return f"{value:.{1 if value < 9.95 else 0}f} {unit}"
    return f"{value / 1024:.0f} PB"


def first_names(names: Sequence[str], count: int | None = None, *, most: int = 5, longest: int = 60) -> str:
    """The first names, cleaned, each in `longest` cells, and how many more there are: "a, b and 3 more".

    `count` is how many there are where `names` are only the first of them.
    """
    named = [cut(one_line(name), longest) for name in names[:most]]
    more = (len(names) if count is None else count) - len(named)
    return ", ".join(named) + (f" and {more:,} more" if more > 0 else "")


def is_unicode(text: str) -> bool:
    """Whether a text has no lone surrogates."""
    return text.isascii() or re.search("[\ud800-\udfff]", text) is None


def unicode_text(text: str) -> str:
    """A text with U+FFFD for each byte that is not UTF-8, and for half of a surrogate pair."""
    return text if is_unicode(text) else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _picture(control: re.Match[str]) -> str:
    code = ord(control[0])
    return chr(0x2400 + code) if code < 0x20 else "␡" if code == 0x7F else "�"


def _calm_combining(text: str) -> str:
    if not _MANY_MARKS.search(text):
        return text
    runs = groupby(text, lambda character: unicodedata.combining(character) > 0)
    return "".join("".join(islice(run, _MOST_COMBINING if is_mark else None)) for is_mark, run in runs)
