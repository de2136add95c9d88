"""What is hidden where the text of a config is shown: the values of secrets, however TOML lets one write them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from typing import Any

from zeroclaw_tui.config.secrets import is_encrypted, is_variable
from zeroclaw_tui.config.toml import TOKEN, KeyPath, Statement, statements_of
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
_URL = re.compile(r"[a-zA-Z][a-zA-Z0-9+.\-]*://\S+")


def is_secret_name(name: str) -> bool:
    """Whether a key of this name has a secret value: api_key, bot_token, password, secret, … (not max_tokens)."""
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
    """A secret as it may be shown: a URL without its password, the name of a variable, else four dots."""
    if is_variable(value) or not value:
        return value
    return mask_secrets(value) if _URL.fullmatch(value) else HIDDEN


def masked_toml(text: str) -> str:
    """A valid TOML text with every secret replaced by four dots; each line stays a line."""
    return "".join(map(_masked_statement, statements_of(text)))


def _masked_statement(statement: Statement) -> str:
    if statement.kind == "other":
        return _masked_prose(statement.text)
    text = statement.text
    tokens = [found for found in TOKEN.finditer(text) if found.group()[0] in "#\"'"]
    paths = _paths_of_strings(text, tokens) if statement.kind == "key" else {}
    shown: list[str] = []
    at = 0
    for number, token in enumerate(tokens):
        found = token.group()
        if found[0] == "#":
            found = _masked_prose(found)
        elif number in paths:
            found = _masked_string(found, is_secret=_is_secret(statement.table, paths[number]))
        shown += [text[at : token.start()], found]
        at = token.end()
    return "".join([*shown, text[at:]])


def _paths_of_strings(text: str, tokens: Sequence[re.Match[str]]) -> dict[int, KeyPath]:
    """The path of each string of a statement that is a value and not a key, by its number among the tokens.

    tomllib reads the statement with each string replaced by a mark, and the marks are looked up in the result.
    """
    marked: list[str] = []
    names: dict[str, str] = {}
    at = 0
    for number, token in enumerate(tokens):
        if token.group()[0] != "#":
            # A bare key never has this character, so no mark equals one.
            names[f"\0{number}"] = token.group()
            marked += [text[at : token.start()], f'"\\u0000{number}"']
            at = token.end()
    values = tomllib.loads("".join([*marked, text[at:]])) if names else {}

    def found_in(value: Any, path: KeyPath) -> Iterator[tuple[int, KeyPath]]:
        if isinstance(value, dict):
            for name, inner in value.items():
                yield from found_in(inner, (*path, _content(names[name]) if name in names else name))
        elif isinstance(value, list):
            for inner in value:
                yield from found_in(inner, path)
        elif isinstance(value, str):
            yield int(value[1:]), path

    return dict(found_in(values, ()))


def _content(quoted: str) -> str:
    """The text that a quoted string means."""
    return str(tomllib.loads(f"value = {quoted}")["value"])


def _is_secret(section: KeyPath, names: KeyPath) -> bool:
    """Whether a value is a secret by its name or by that of a table around it.

    A section counts with a plural (`[tokens]`) or two words (`[x.api_key]`) only: a single word there is the name of a
    thing (`[agents.cookie]`). ZeroClaw's own [secrets] says how secrets are encrypted and has none.
    """
    around = section[1:] if section[:1] == ("secrets",) else section
    if any(map(is_secret_name, names)):
        return True
    return any(is_secret_name(name) and (name.endswith("s") or len(_WORDS.findall(name)) > 1) for name in around)


def _masked_string(quoted: str, *, is_secret: bool) -> str:
    width = 3 if quoted.startswith(('"""', "'''")) else 1
    quote, written = quoted[:width], quoted[width:-width]
    # A large config has thousands of strings, and most of them mean what is written.
    content = _content(quoted) if "\\" in quoted or "\n" in quoted else written
    if is_variable(content):
        return quoted
    shown = mask_secrets(written)
    is_escaped = shown == written and content != written and mask_secrets(content) != content
    if is_secret or is_escaped or is_encrypted(content) or "PRIVATE KEY-----" in content:
        shown = re.sub(r"(?m)^[^\S\r\n]*+\S[^\r\n]*", HIDDEN, written)
    return quote + shown + quote


def _masked_prose(text: str) -> str:
    """A comment without its secrets: all that follows the name of a secret, and what looks like one."""
    for name in _ASSIGNED_NAME.finditer(text):
        if any(map(is_secret_name, name.group(1).split("."))):
            end = text[len(text.rstrip()) :]
            return f"{mask_secrets(text[: name.end()])}{HIDDEN}{end}" if text[name.end() :].strip() else text
    return mask_secrets(text)
