"""Masking secrets when the text of a config is displayed, in any TOML notation."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from typing import Any

from zeroclaw_tui.config.secrets import is_encrypted, is_variable
from zeroclaw_tui.config.toml import TOKEN, Statement, statements_of
from zeroclaw_tui.memory.text import HIDDEN, mask_secrets

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_SECRET_WORD = re.compile(
    "apikeys?|authorization|bearer|cookies?|credentials?|jwt|mnemonic|passphrases?|passwd|passwords?|pwd|secrets?|tokens?"
)
_COUNTED_WORD = re.compile("max|min|chunk|context|budget|limit|input|output|total|count|prompt|completion|reserve")
_PLAIN_KEY_WORD = re.compile("max|authorized|cache|foreign|group|index|partition|primary|public|routing|sort")
_PAIRS = frozenset(
    {("webhook", "url"), ("password", "hash"), ("pairing", "code"), ("seed", "phrase"), ("recovery", "phrase")}
)
_ASSIGNED_NAME = re.compile(r"(?<![A-Za-z0-9_.\-])([A-Za-z0-9_.\-]++)[\"']?\s*+[=:][ \t]*")
_AFTER_NAME = re.compile(r"[ \t]*[=.]")
_URL = re.compile(r"[a-zA-Z][a-zA-Z0-9+.\-]*://\S+")


def is_secret_name(name: str) -> bool:
    """Whether a key with this name has a secret value: api_key, bot_token, password, secret, … (not max_tokens)."""
    words = [word.lower() for word in _WORDS.findall(name)]
    if not words:
        return False
    last, others = words[-1], words[:-1]
    if last in ("key", "keys"):
        return not any(map(_PLAIN_KEY_WORD.fullmatch, others))
    if last == "tokens":
        return not any(map(_COUNTED_WORD.fullmatch, others))
    return _SECRET_WORD.fullmatch(last) is not None or tuple(words[-2:]) in _PAIRS


def masked_secret(value: str) -> str:
    """Mask a secret for display: a URL without its password, the name of a variable, else four dots."""
    if is_variable(value) or not value:
        return value
    return mask_secrets(value) if _URL.fullmatch(value) else HIDDEN


def masked_toml(text: str) -> str:
    """Replace every secret in a valid TOML text by four dots, preserving the lines."""
    return "".join(map(_masked_statement, statements_of(text)))


def _masked_statement(statement: Statement) -> str:
    is_secret = statement.kind == "key" and _is_secret(statement)

    def shown(found: re.Match[str]) -> str:
        token = found.group()
        if token[0] == "#":
            return _masked_prose(token)
        is_name = statement.kind != "key" or _AFTER_NAME.match(statement.text, found.end())
        return token if is_name or token[0] not in "\"'" else _masked_string(token, is_secret=is_secret)

    return re.sub(TOKEN, shown, statement.text)


def _is_secret(statement: Statement) -> bool:
    """Whether a statement sets a secret, by its own names or its section; all strings of an inline table count.

    A section counts only with a plural (`[tokens]`) or two words (`[x.api_key]`): a single word is a name chosen by the
    user (`[agents.cookie]`). ZeroClaw's own [secrets] configures encryption and contains no secrets.
    """
    section = statement.table[1:] if statement.table[:1] == ("secrets",) else statement.table
    if any(map(is_secret_name, _names_in(tomllib.loads(statement.text)))):
        return True
    return any(is_secret_name(name) and (name.endswith("s") or len(_WORDS.findall(name)) > 1) for name in section)


def _names_in(value: Any) -> Iterator[str]:
    """The keys of a table and of everything inside."""
    if isinstance(value, dict):
        yield from value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _names_in(inner)


def _masked_string(quoted: str, *, is_secret: bool) -> str:
    width = 3 if quoted.startswith(('"""', "'''")) else 1
    quote, written = quoted[:width], quoted[width:-width]
    # A fast path: a large config has thousands of strings, and most of them have no escapes.
    is_plain = "\\" not in quoted and "\n" not in quoted
    content = written if is_plain else str(tomllib.loads(f"value = {quoted}")["value"])
    if is_variable(content):
        return quoted
    shown = mask_secrets(written)
    is_escaped = shown == written and content != written and mask_secrets(content) != content
    if is_secret or is_escaped or is_encrypted(content) or "PRIVATE KEY-----" in content:
        shown = re.sub(r"(?m)^[^\S\r\n]*+\S[^\r\n]*", HIDDEN, written)
    return quote + shown + quote


def _masked_prose(text: str) -> str:
    """Mask the secrets in a comment: everything after the name of a secret, and texts that look like secrets."""
    for name in _ASSIGNED_NAME.finditer(text):
        if any(map(is_secret_name, name.group(1).split("."))):
            end = text[len(text.rstrip()) :]
            return f"{mask_secrets(text[: name.end()])}{HIDDEN}{end}" if text[name.end() :].strip() else text
    return mask_secrets(text)
