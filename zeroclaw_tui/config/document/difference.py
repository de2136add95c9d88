"""What changes between two versions of a config, line by line, with every secret masked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from zeroclaw_tui.config.document.document import ConfigDocument

Kind = Literal["section", "removed", "added"]


@dataclass(frozen=True, slots=True)
class DiffLine:
    """`section` lines are the table headers that the changes below them stand in. `text` is masked, but not yet
    cleaned of control characters; it has no line end."""

    kind: Kind
    text: str


@dataclass(frozen=True, slots=True)
class Difference:
    """`changed` counts the lines that go or come, a replaced line once; `kept` those that stay byte for byte."""

    lines: tuple[DiffLine, ...]
    changed: int
    kept: int


def difference(before: ConfigDocument, after: ConfigDocument) -> Difference:
    """Compare two documents. Values of keys that name a secret, `enc2:`/`enc:`/`op://` values, passwords in URLs and
    look-alike keys become four dots, also in multi-line strings, arrays and inline tables."""
    raise NotImplementedError


def masked_text(document: ConfigDocument) -> str:
    """The whole text with every secret masked, lines as they are."""
    raise NotImplementedError


def is_secret_name(name: str) -> bool:
    """True for a key whose value is not for the eyes: api_key, bot_token, password, secret, … (not max_tokens)."""
    raise NotImplementedError
