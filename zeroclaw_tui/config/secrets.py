"""The secrets of a config: ZeroClaw's encrypted values, and what is hidden where a text of it is shown.

A key file is never replaced: a new key would make every old value useless.
"""

from __future__ import annotations

import binascii
import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from typing import Any, Literal

from zeroclaw_tui.files.disk import (
    make_folder,
    read_regular,
    remove_stale_temp_files,
    rename_exclusive,
    sync_folder,
    translate_os_errors,
    write_temp_file,
)
from zeroclaw_tui.memory.errors import InspectorError, Refused
from zeroclaw_tui.memory.text import HIDDEN, mask_secrets, one_line

KEY_FILE = ".secret_key"
SEALED = "enc2:"
MASKED = "enc:"
ELSEWHERE = "op://"
WAYS_WITHOUT_KEY = (
    f"Bring the old {KEY_FILE} back, or take the values that nobody can read out of config.toml; "
    "[secrets] encrypt = false there keeps new ones as plain text."
)
"""What to do about encrypted values whose key file is gone."""
_NAMES_TOLD = 3
_VARIABLE = r"\$\{[A-Za-z_][A-Za-z0-9_]*\}"
_KEY_BYTES = 32
_NONCE_BYTES = 12
_TAG_BYTES = 16
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_SECRET_WORD = re.compile(
    "apikeys?|authorization|bearer|cookies?|credentials?|jwt|mnemonic|passphrases?|passwd|passwords?|pwd|secrets?|tokens?"
)
_COUNTED_WORD = re.compile("max|min|chunk|context|budget|limit|input|output|total|count|prompt|completion|reserve")
_PLAIN_KEY_WORD = re.compile("max|authorized|cache|foreign|group|index|partition|primary|public|routing|sort")
_PAIRS = frozenset(
    {("webhook", "url"), ("password", "hash"), ("pairing", "code"), ("seed", "phrase"), ("recovery", "phrase")}
)
_SETTINGS_ABOUT_SECRETS = "secrets"
_PATTERNS = (
    # A password may hold an @ or, in a database's URL, a slash that somebody forgot to encode.
    (re.compile(r"\b((?:postgres(?:ql)?|mysql|rediss?|mongodb|amqps?)[+\w]{0,20}://[^\s:/@]*:)\S{1,2000}@", re.I), "@"),
    (re.compile(r"\b([a-z][a-z0-9+.\-]{0,20}://[^\s:/@?#]*:)[^\s/?#]{1,2000}@", re.I), "@"),
    (re.compile(r"([?&;](?:\w{0,20}[_-])?(?:key|sig|signature|auth)=)[^&#;\s\"']+", re.I), ""),
    (re.compile(r"((?:(?:password|passwd|pwd)\s{0,9}=\s{0,9}|(?:api_?key|token|secret)=))[^&#;\s\"']+", re.I), ""),
    (re.compile(r"\b(Bearer\s{1,9}|Basic\s{1,9})(?=[A-Za-z+/._~\-]{0,99}[\d=])[A-Za-z0-9+/=._~\-]{8,}"), ""),
    (re.compile(r"\b((?:sk|pk|rk|hf|glpat)[-_]|gh[oprsu]_|github_pat_|xox[abeprs]-|xapp-)[A-Za-z0-9_\-]{12,}"), ""),
    (re.compile(r"\b(sk|pk|rk|hf|AKIA|AIza)(?=[A-Za-z_\-]{0,40}\d)[A-Za-z0-9_\-]{12,}"), ""),
    (re.compile(r"\b(eyJ)[A-Za-z0-9_\-]{8,4000}\.[A-Za-z0-9_\-]+\.[A-Za-z0-9_\-]*"), ""),
    (re.compile(r"\b(\d{8,10}:)[A-Za-z0-9_\-]{35}\b"), ""),
    (re.compile(r"\b(enc2:|enc:|op://)[^\s\"',\]}]+"), ""),
)
"""Each keeps its first group. What is tried at every character has a bound, since a comment may be very long."""
_COMMENTED_KEY = re.compile(r"(?<![A-Za-z0-9_.\-])([A-Za-z0-9_.\-]++)[\"']?\s*+([=:])\s*")
_QUOTED = re.compile(r"\"(?:\\.|[^\"\\])*\"|'[^']*'")
_WORD = re.compile(r"[^\s\"']+")
_ORDINARY = re.compile(r"true|false|[-+]?[\d.,_]+|\$\{?\w+\}?")
_TOKEN = re.compile(
    r"""(?P<comment>\#[^\n]*)"""
    r'''|(?P<text>"""(?:\\.|[^\\])*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:\\.|[^"\\])*"|'[^']*')'''
    r"""|(?P<word>[^\s\#"'\[\]{}=,.]+)|(?P<mark>[\[\]{}=,.\n])""",
    re.DOTALL,
)
Kind = Literal["text", "comment"]
_WITH_PASSWORD = re.compile(r"(?P<user>[a-zA-Z][a-zA-Z0-9+.\-]*://[^\s:/@]*):.*@", re.DOTALL)
_PARAMETER = re.compile(
    r"(?P<name>[?&;](?:[a-z_\-]*pass[a-z]*|[a-z_\-]*key|[a-z_\-]*token|[a-z_\-]*secret)=)[^&;]*", re.IGNORECASE
)
_ADDRESS = re.compile(r"[a-zA-Z][a-zA-Z0-9+.\-]*://\S+")
_ASSIGNED = re.compile(
    r"""(?P<name>[A-Za-z0-9_\-."']+)(?P<equals>\s*=\s*)(?P<value>"(?:[^"\\]|\\.)*"?|'[^']*'?|[^,}\s]+)"""
)
_OPAQUE = re.compile(r"(?:enc2?:|op://)[^\"'\s,}\]]*")
_KEY_OF_LINE = re.compile(r"""\s*[A-Za-z0-9_\-."' ]+=""")


class SecretUnreadable(InspectorError):
    """An encrypted value that cannot be had here."""

    title = "Secret not readable"


def is_encrypted(value: str) -> bool:
    """True for a value that is not the secret itself."""
    return value.startswith((SEALED, MASKED, ELSEWHERE))


def is_variable(value: str) -> bool:
    """True for a value that is the name of a variable, `${NAME}`, and nothing else: no secret itself."""
    return re.fullmatch(_VARIABLE, value) is not None


def reveal(value: str, config_dir: Path | None) -> str:
    """The plain text of a config value; a value without a prefix is plain already.

    `enc2:` is hex of a 12-byte nonce, the ChaCha20-Poly1305 text and its 16-byte tag, without associated data; `enc:`
    is hex of a repeating-key XOR (the oldest versions). Raises SecretUnreadable, never with the value in it.
    """
    if value.startswith(ELSEWHERE):
        raise SecretUnreadable(
            "The value lies in 1Password (op://) and is not asked for here.", hint="Put the key into the environment."
        )
    if value.startswith(SEALED):
        return _open_sealed(_from_hex(value.removeprefix(SEALED)), read_key(config_dir))
    if value.startswith(MASKED):
        key = read_key(config_dir)
        masked = _from_hex(value.removeprefix(MASKED))
        return _text(bytes(byte ^ mask for byte, mask in zip(masked, cycle(key), strict=False)))
    return value


def seal(plain: str, key: bytes, nonce: bytes | None = None) -> str:
    """The `enc2:` form of a text, as ZeroClaw writes it, with a nonce never used before; an empty text stays empty."""
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

    if not plain:
        return ""
    nonce = os.urandom(_NONCE_BYTES) if nonce is None else nonce
    return SEALED + (nonce + ChaCha20Poly1305(key).encrypt(nonce, plain.encode(), None)).hex()


def encrypted_names_in(values: Any, name: str = "") -> tuple[str, ...]:
    """The dotted names of the texts of a parsed document that need the key file (`enc2:` or `enc:`)."""
    if isinstance(values, str):
        return (name,) if values.startswith((SEALED, MASKED)) else ()
    if isinstance(values, Mapping):
        below = [encrypted_names_in(value, f"{name}.{key}".lstrip(".")) for key, value in values.items()]
    else:
        below = [encrypted_names_in(value, name) for value in values] if isinstance(values, list | tuple) else []
    return tuple(dict.fromkeys(found for names in below for found in names))


def missing_key_words(config_dir: Path, names: Sequence[str]) -> str:
    """That a config has encrypted values without their key file, in a sentence that names some of them."""
    shown = ", ".join(map(one_line, names[:_NAMES_TOLD]))
    more = f" and {len(names) - _NAMES_TOLD} more" if len(names) > _NAMES_TOLD else ""
    are = "is" if len(names) == 1 else "are"
    return f"{shown}{more} {are} encrypted with a key that is not here, {config_dir / KEY_FILE}."


def new_key_text() -> str:
    """The 64 hex digits of a new key, for `make_key_file`."""
    return os.urandom(_KEY_BYTES).hex()


def make_key_file(config_dir: Path, text: str) -> None:
    """Keep a new key as `.secret_key`, 0600 and durable; a missing config dir is made, 0700.

    Killed anywhere, the key is there whole or not at all. Raises Refused when there is a key file already (it stays),
    Unreadable when it cannot be written.
    """
    path = config_dir / KEY_FILE
    with translate_os_errors(path):
        make_folder(config_dir)
        remove_stale_temp_files(config_dir)
        try:
            with write_temp_file(path, text.encode("ascii")) as temporary:
                rename_exclusive(temporary, path)
        except FileExistsError as error:
            raise Refused(
                f"There is a key file {path} already, and it stays.", hint="Run it again to encrypt with that key."
            ) from error
        sync_folder(config_dir)


def read_key(config_dir: Path | None) -> bytes:
    """The 32 bytes of `.secret_key` (64 hex digits) of a config dir. Never makes one; raises SecretUnreadable."""
    if config_dir is None:
        raise SecretUnreadable(f"There is no config dir, so no {KEY_FILE} to decrypt with.")
    path = config_dir / KEY_FILE
    try:
        text = read_regular(path).decode("ascii").strip()
    except FileNotFoundError as error:
        raise SecretUnreadable(
            f"The key file {path} is missing.",
            hint="ZeroClaw would make a new one, with which the value stays unreadable.",
        ) from error
    except UnicodeDecodeError as error:
        raise _no_key(path) from error
    except OSError as error:
        raise SecretUnreadable(f"The key file {path} cannot be read: {error.strerror}.") from error
    if not re.fullmatch(rf"[0-9a-fA-F]{{{2 * _KEY_BYTES}}}", text):
        raise _no_key(path)
    return bytes.fromhex(text)


def _no_key(path: Path) -> SecretUnreadable:
    return SecretUnreadable(
        f"The key file {path} is not {2 * _KEY_BYTES} hex digits.", hint="Restore it from a backup."
    )


def _from_hex(text: str) -> bytes:
    try:
        return binascii.unhexlify(text.strip())
    except ValueError as error:
        raise SecretUnreadable("The encrypted value is damaged: it is not hex.", hint="Write it again.") from error


def _open_sealed(sealed: bytes, key: bytes) -> str:
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

    if len(sealed) < _NONCE_BYTES + _TAG_BYTES:
        raise SecretUnreadable("The encrypted value is damaged: it is too short.", hint="Write it again.")
    try:
        plain = ChaCha20Poly1305(key).decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], None)
    except InvalidTag as error:
        raise SecretUnreadable(
            f"The encrypted value was not made with the {KEY_FILE} found, or is damaged.",
            hint="Restore the key file that belongs to this config.",
        ) from error
    return _text(plain)


def _text(plain: bytes) -> str:
    try:
        return plain.decode("utf-8")
    except UnicodeDecodeError as error:
        raise SecretUnreadable(
            f"The encrypted value was not made with the {KEY_FILE} found, or is damaged.",
            hint="Restore the key file that belongs to this config.",
        ) from error


def is_secret_name(name: str) -> bool:
    """True for a key whose text is not for the eyes: api_key, bot_token, password, secret, … (not max_tokens)."""
    words = [word.lower() for word in _WORDS.findall(name)]
    if not words:
        return False
    last, others = words[-1], words[:-1]
    if last in ("key", "keys"):
        return not any(map(_PLAIN_KEY_WORD.fullmatch, others))
    if last == "tokens":
        return not any(map(_COUNTED_WORD.fullmatch, others))
    return _SECRET_WORD.fullmatch(last) is not None or tuple(words[-2:]) in _PAIRS


def masked(text: str) -> str:
    """A valid TOML text with every secret replaced by four dots; each line stays a line."""
    done: list[str] = []
    at = 0
    for part in parts_of(text):
        found = text[part.start : part.end]
        shown = _comment(found) if part.kind == "comment" else _value(found, _is_for_secret(part))
        done += [text[at : part.start], shown]
        at = part.end
    return "".join([*done, text[at:]])


def masked_text(text: str) -> str:
    """Any text with what looks like a key, a token or the password of a URL replaced by four dots."""
    return _patterns(text)


def _value(quoted: str, is_secret: bool) -> str:
    width = 3 if quoted.startswith(('"""', "'''")) else 1
    quote, content = quoted[:width], quoted[width:-width]
    # A parser is asked only for what may stand otherwise than it is written: a large config has thousands of texts.
    is_plain = "\\" not in quoted and "\n" not in quoted
    plain = content if is_plain else str(tomllib.loads(f"value = {quoted}")["value"])
    if is_variable(plain):
        return quoted
    if is_encrypted(plain) or "PRIVATE KEY-----" in plain or is_secret:
        return quote + _hidden(content) + quote
    shown = _patterns(content)
    if shown == content and plain != content and _patterns(plain) != plain:
        # An escape sequence stands where the patterns look for a character.
        return quote + _hidden(content) + quote
    return quote + shown + quote


def _is_for_secret(part: Part) -> bool:
    """True below a secret's name. A section counts with a plural (`[tokens]`) or two words (`[x.api_key]`) only: a
    single word there is the name of a thing (`[agents.cookie]`)."""
    # ZeroClaw's own table of that name says whether and where secrets are encrypted.
    section = part.section[1:] if part.section[:1] == (_SETTINGS_ABOUT_SECRETS,) else part.section
    if any(is_secret_name(name) for name in part.names):
        return True
    return any(is_secret_name(name) and (name.endswith("s") or len(_WORDS.findall(name)) > 1) for name in section)


def _hidden(content: str) -> str:
    return "\n".join(_hidden_line(line) for line in content.split("\n"))


def _hidden_line(line: str) -> str:
    end = "\r" if line.endswith("\r") else ""
    return (HIDDEN if line.strip() else line.removesuffix("\r")) + end


def _patterns(text: str) -> str:
    for pattern, rest in _PATTERNS:
        text = pattern.sub(rf"\g<1>{HIDDEN}{rest}", text)
    return text


def _comment(comment: str) -> str:
    """A comment without its secrets: what follows a name commented out, and what the patterns find."""
    done: list[str] = []
    at = 0
    for name in _COMMENTED_KEY.finditer(comment):
        if name.end() < at or not any(is_secret_name(part) for part in name.group(1).split(".")):
            continue
        shown, end = _commented_value(comment, name.end(), may_be_prose=name.group(2) == ":")
        done += [comment[at : name.end()], shown]
        at = end
    return _patterns("".join([*done, comment[at:]]))


def _commented_value(comment: str, start: int, *, may_be_prose: bool) -> tuple[str, int]:
    """What to show for the value that starts there, and where it ends."""
    if comment.startswith(("[", "{"), start):
        return _QUOTED.sub(_hidden_quoted, comment[start:]), len(comment)
    if quoted := _QUOTED.match(comment, start):
        return _hidden_quoted(quoted), quoted.end()
    word = _WORD.match(comment, start)
    if word is None:
        return "", start
    # "token: what the bot logs in with" explains a key, "token: hunter2" gives one away.
    is_last = not comment[word.end() :].strip()
    is_value = is_last or (not may_be_prose and any(character.isdigit() for character in word.group()))
    return (HIDDEN if is_value and not _ORDINARY.fullmatch(word.group()) else word.group()), word.end()


def _hidden_quoted(found: re.Match[str]) -> str:
    quoted = found.group()
    content = quoted[1:-1]
    return quoted if not content or is_variable(content) else f"{quoted[0]}{HIDDEN}{quoted[-1]}"


@dataclass(frozen=True, slots=True)
class Part:
    """`start` and `end` are offsets; `section` and `names` the way to a text that is a value."""

    kind: Kind
    start: int
    end: int
    section: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


def parts_of(text: str) -> Iterator[Part]:
    """The texts that are values (with their quotes) and the comments, in order."""
    walk = _Walk()
    for token in _TOKEN.finditer(text):
        if token.lastgroup == "comment":
            yield Part("comment", *token.span())
        elif walk.finds_text(token.lastgroup or "", token.group()):
            yield Part("text", *token.span(), walk.section, (*walk.before, *walk.names))


@dataclass(slots=True)
class _Walk:
    """What the next token means: a part of a key, of a header, or of a value."""

    expects: Literal["key", "header", "value"] = "key"
    section: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    names: list[str] = field(default_factory=list)
    open: list[tuple[str, tuple[str, ...], list[str]]] = field(default_factory=list)

    def finds_text(self, group: str, token: str) -> bool:
        """Take one token; True at a text that is a value."""
        if self.expects == "value":
            return self._finds_value(group, token)
        if group in ("word", "text"):
            self.names.append(token if group == "word" else _plain(token))
        elif self.expects == "header":
            if token == "\n":
                self.section, self.names, self.expects = tuple(self.names), [], "key"
        elif token == "=":
            self.expects = "value"
        elif token == "[":
            self.section, self.expects = (), "header"
        elif token == "}":
            self._close()
        return False

    def _finds_value(self, group: str, token: str) -> bool:
        if group == "text":
            return True
        if token in ("[", "{"):
            self.open.append((token, self.before, self.names))
            if token == "{":
                self.before, self.names, self.expects = (*self.before, *self.names), [], "key"
        elif token in ("]", "}"):
            self._close()
        elif (token == "," and self.open and self.open[-1][0] == "{") or (token == "\n" and not self.open):
            self.names, self.expects = [], "key"
        return False

    def _close(self) -> None:
        _, self.before, self.names = self.open.pop()
        self.expects = "value"


def _plain(quoted: str) -> str:
    """The name that a quoted key stands for."""
    return str(tomllib.loads(f"name = {quoted}")["name"])


def masked_address(url: str) -> str:
    """A URL with four dots for its password, whatever characters that has, and for parameters that name a secret."""
    shown = _WITH_PASSWORD.sub(lambda found: f"{found.group('user')}:{HIDDEN}@", url)
    return mask_secrets(_PARAMETER.sub(lambda found: found.group("name") + HIDDEN, shown))


def parameter_spans(url: str) -> list[tuple[int, int]]:
    """From where to where the value of each parameter reaches that names a secret."""
    return [(found.end("name"), found.end()) for found in _PARAMETER.finditer(url)]


def masked_secret(value: str) -> str:
    """A secret as it may be seen: a URL without its password, the name of a variable, else four dots."""
    if is_variable(value) or not value:
        return value
    return masked_address(value) if _ADDRESS.fullmatch(value) else HIDDEN


def masked_value(value: Any) -> Any:
    """A value that is no secret itself, without the passwords a URL in it may carry."""
    if isinstance(value, str):
        return masked_address(value)
    return [masked_value(item) for item in value] if isinstance(value, list | tuple) else value


def masked_line(line: str) -> str:
    """A line of a text that may be no TOML, its secrets hidden.

    One that is neither header, comment nor `key = value` may be part of a secret of several lines.
    """
    stripped = line.strip()
    if stripped and not stripped.startswith(("[", "#")) and not _KEY_OF_LINE.match(line):
        return HIDDEN
    name, equals, _ = line.partition("=")
    if equals and not stripped.startswith(("[", "#")) and _names_secret(name):
        return f"{name}= {HIDDEN}"
    return masked_address(_OPAQUE.sub(HIDDEN, _ASSIGNED.sub(_without_secret, line)))


def _without_secret(found: re.Match[str]) -> str:
    value = HIDDEN if _names_secret(found.group("name")) else found.group("value")
    return f"{found.group('name')}{found.group('equals')}{value}"


def _names_secret(name: str) -> bool:
    return is_secret_name(name.strip().rpartition(".")[2].strip(" \"'"))
