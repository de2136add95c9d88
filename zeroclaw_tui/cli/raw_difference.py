"""What changes between two versions of a config of which one may be broken TOML, with every secret masked."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from pathlib import Path

from zeroclaw_tui.config.document.difference import Difference, DiffLine, difference, is_secret_name
from zeroclaw_tui.config.document.document import ConfigDocument
from zeroclaw_tui.memory.errors import BrokenConfig
from zeroclaw_tui.memory.text import HIDDEN
from zeroclaw_tui.onboard.masking import masked_address

_ASSIGNED = re.compile(
    r"""(?P<name>[A-Za-z0-9_\-."']+)(?P<equals>\s*=\s*)(?P<value>"(?:[^"\\]|\\.)*"?|'[^']*'?|[^,}\s]+)"""
)
_OPAQUE = re.compile(r"(?:enc2?:|op://)[^\"'\s,}\]]*")
_KEY = re.compile(r"""\s*[A-Za-z0-9_\-."' ]+=""")


def any_difference(before: bytes, after: bytes, path: Path) -> Difference:
    """Compare two versions by their bytes: as TOML, or by lines where one of them cannot be read."""
    try:
        return difference(ConfigDocument.from_bytes(before, path), ConfigDocument.from_bytes(after, path))
    except BrokenConfig:
        return _by_lines(_lines(before), _lines(after))


def _by_lines(before: list[str], after: list[str]) -> Difference:
    lines: list[DiffLine] = []
    changed = kept = 0
    told = ""
    # A line that occurs often is no reason to call others different.
    for tag, i, j, k, m in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal":
            kept += j - i
            continue
        changed += max(j - i, m - k)
        header = _header_above(before, i)
        if header and header != told:
            lines.append(DiffLine("section", _masked(header)))
        told = header
        lines += [DiffLine("removed", _masked(line)) for line in before[i:j]]
        lines += [DiffLine("added", _masked(line)) for line in after[k:m]]
    return Difference(tuple(lines), changed, kept)


def _lines(raw: bytes) -> list[str]:
    text = raw.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
    return [line.rstrip("\r") for line in text.removesuffix("\n").split("\n")] if text else []


def _header_above(lines: list[str], at: int) -> str:
    above: Iterator[str] = (line for line in reversed(lines[:at]) if line.lstrip().startswith("["))
    return next(above, "")


def _masked(line: str) -> str:
    """A line that is neither header, comment nor `key = value` may be part of a secret of several lines."""
    stripped = line.strip()
    if stripped and not stripped.startswith(("[", "#")) and not _KEY.match(line):
        return HIDDEN
    name, equals, _ = line.partition("=")
    if equals and not stripped.startswith(("[", "#")) and _is_secret(name):
        return f"{name}= {HIDDEN}"
    return masked_address(_OPAQUE.sub(HIDDEN, _ASSIGNED.sub(_without_secret, line)))


def _without_secret(found: re.Match[str]) -> str:
    value = HIDDEN if _is_secret(found.group("name")) else found.group("value")
    return f"{found.group('name')}{found.group('equals')}{value}"


def _is_secret(name: str) -> bool:
    return is_secret_name(name.strip().rpartition(".")[2].strip(" \"'"))
