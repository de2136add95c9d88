"""The content scanner and the redaction of ZeroClaw >= 0.8.4."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Literal, NamedTuple

from zeroclaw_tui.memory.text import WHITE_SPACE

ScanMode = Literal["on", "off", "strict"]
THREATS: Mapping[str, str] = {
    "exfil_curl": "curl with a secret",
    "exfil_wget": "wget with a secret",
    "read_secrets": "a command that reads secrets",
    "send_to_url": "a secret behind an address",
    "agent_config_mod": "a change to the agent's instructions",
    "hardcoded_secret": "a secret in plain text",
    "ssh_backdoor": "SSH keys",
    "ssh_access": "SSH keys",
    "private_key": "a private key",
}
"""The threats that the content scanner of ZeroClaw >= 0.8.4 detects, by its own names, with a description."""
_SECRET_NAMES = "api[_-]?key|secret|token|password|credential"
_SECRET_GATES = ("key", "secret", "token", "password", "credential")
_SECRET_FILES = (".env", ".netrc", ".pgpass", ".npmrc", "id_rsa", "id_ed25519")
_VERB_DISTANCE = 80
# `re` compiles them on first use. All except the private key's are matched against folded text, so they are in lower
# case.
_CURL = r"\bcurl\b"
_WGET = r"\bwget\b"
_SECRET_VARIABLE = r"\$[a-z_]*(?:key|token|secret|password|credential|api)"
_READ_COMMAND = r"\b(?:cat|less|more|tail|head)\b"
_SECRET_FILE = "|".join(map(re.escape, _SECRET_FILES))
_URL = f"https?://[^{WHITE_SPACE}'\"]"
_VERB_OR_INSTRUCTION_FILE = r"\b(?:(?P<verb>write|append|modify|edit|overwrite|replace)|(?:agents|claude)\.md)\b"
_ASSIGNED_SECRET = rf"\b(?:{_SECRET_NAMES})[{WHITE_SPACE}]*+[:=][{WHITE_SPACE}]*+['\"][a-z0-9_./+=-]{{16,}}+['\"]"
_SSH_FOLDER = rf"(?:\$home|~|/root|/home/[^/{WHITE_SPACE}]++)/\.ssh"
_PRIVATE_KEY = "-----BEGIN [A-Z ]*PRIVATE KEY-----"
_VALUE = r"A-Za-z0-9_./+=\u017f\u212a-"
"""Its patterns use simple case folding, in which the long s is an s and the Kelvin sign a k."""
_FOLDS = {"s": "\u017f", "k": "\u212a"}
_GATES = {"private_key": "PRIVATE KEY", "email": "@"}
_SPELLINGS = {"apikey": "api_key", "privatekey": "private_key"}


class _Rule(NamedTuple):
    """One kind of threat. One of the texts in `gates` must occur: a fast check that avoids most pattern matching."""

    kind: str
    gates: tuple[str, ...]
    holds: Callable[[str], bool]
    strict_only: bool = False


def scan(content: str, mode: ScanMode) -> str | None:
    """Find the first kind of threat that ZeroClaw >= 0.8.4 detects in a memory's content, or None.

    Kinds: exfil_curl, exfil_wget, read_secrets, send_to_url, agent_config_mod, hardcoded_secret, with `mode` "strict"
    also ssh_backdoor and ssh_access, then private_key. "off" finds nothing. The time is linear in the length.
    """
    return next(_kinds(content, mode), None)


def scan_all(content: str, mode: ScanMode) -> tuple[str, ...]:
    """Find every kind of threat, in the order of `scan`."""
    return tuple(_kinds(content, mode))


def _kinds(content: str, mode: ScanMode) -> Iterator[str]:
    if mode == "off":
        return
    text = _folded(content)
    for rule in _RULES:
        if rule.strict_only and mode != "strict":
            continue
        if any(gate in text for gate in rule.gates) and rule.holds(text):
            yield rule.kind
    if "PRIVATE KEY-----" in content and re.search(_PRIVATE_KEY, content):
        yield "private_key"


def _folded(content: str) -> str:
    """Lower the case without changing the length, so that distances are preserved.

    The scanner's simple case folding maps the long s to s, and does not change the dotted capital I; `str.lower` does
    the opposite of both.
    """
    if content.isascii():
        return content.lower()
    return content.replace("ſ", "s").replace("\u0130", "\u0131").lower()


def _later_on_the_line(text: str, first: str, then: str) -> bool:
    """Whether `then` occurs after `first` on the same line; each line is searched once."""
    start, end, place = re.compile(first), re.compile(then), 0
    while (found := start.search(text, place)) is not None:
        line_end = text.find("\n", found.end())
        place = len(text) if line_end < 0 else line_end
        if end.search(text, found.end(), place):
            return True
    return False


def _changes_instructions(text: str) -> bool:
    """Whether a verb of change is on the same line as, and at most 80 characters before, an instruction file's name."""
    verb_end: int | None = None
    for found in re.finditer(_VERB_OR_INSTRUCTION_FILE, text):
        if found.lastgroup == "verb":
            verb_end = found.end()
        elif verb_end is not None:
            between = text[verb_end : found.start()] if found.start() - verb_end <= _VERB_DISTANCE else "\n"
            if "\n" not in between:
                return True
    return False


_RULES = (
    _Rule("exfil_curl", ("curl",), lambda text: _later_on_the_line(text, _CURL, _SECRET_VARIABLE)),
    _Rule("exfil_wget", ("wget",), lambda text: _later_on_the_line(text, _WGET, _SECRET_VARIABLE)),
    _Rule("read_secrets", _SECRET_FILES, lambda text: _later_on_the_line(text, _READ_COMMAND, _SECRET_FILE)),
    _Rule("send_to_url", ("://",), lambda text: _later_on_the_line(text, _URL, _SECRET_NAMES)),
    _Rule("agent_config_mod", (".md",), _changes_instructions),
    _Rule("hardcoded_secret", _SECRET_GATES, lambda text: re.search(_ASSIGNED_SECRET, text) is not None),
    _Rule("ssh_backdoor", ("authorized_keys",), lambda text: True, strict_only=True),
    _Rule("ssh_access", ("/.ssh",), lambda text: re.search(_SSH_FOLDER, text) is not None, strict_only=True),
)


def _word(text: str) -> str:
    return "".join(f"[{letter}{letter.upper()}{_FOLDS.get(letter, '')}]" for letter in text)


def _assigned(names: str, least: int) -> str:
    return rf"\b(?:{names})[{WHITE_SPACE}]*+[:=][{WHITE_SPACE}]*+['\"]?[{_VALUE}]{{{least},}}+['\"]?"


_SECRETS = "|".join(map(_word, ("secret", "token", "password", "credential")))
_REDACTED = {
    "private_key": r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?s:.*?)-----END [A-Z ]*PRIVATE KEY-----",
    "api_key": _assigned(rf"{_word('api')}[_-]?{_word('key')}", 16),
    "secret": _assigned(_SECRETS, 12),
    "email": r"\b[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,}\b",
    "phone": r"\b(?:\+?\d[\d .()-]{7,}\d)\b",
}
"""In the order of application; compiled by `re` on first use, since scanning does not need them."""


def category_of(written: str) -> str | None:
    """The category for a value in `redact_categories`, None if ZeroClaw does not know it."""
    word = written.strip().lower()
    name = _SPELLINGS.get(word, word)
    return name if name in _REDACTED else None


def redact(content: str, categories: Collection[str]) -> tuple[str, tuple[str, ...]]:
    """Redact a content as ZeroClaw does when storing it, with `[REDACTED:<category>]`; also return the categories."""
    found: list[str] = []
    for category, pattern in _REDACTED.items():
        if category in categories and _GATES.get(category, "") in content:
            content, count = re.subn(pattern, f"[REDACTED:{category}]", content)
            found += [category] if count else []
    return content, tuple(found)
