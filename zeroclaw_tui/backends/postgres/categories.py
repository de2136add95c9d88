"""How the tutorial's table writes a category: serde's JSON of an enumeration, or plain text."""

from __future__ import annotations

import json
from collections.abc import Iterable

from zeroclaw_tui.backends.postgres.table import Table, base_type
from zeroclaw_tui.memory.change import BUILT_IN_CATEGORIES

_VARIANTS = {category: category.capitalize() for category in BUILT_IN_CATEGORIES}


def category_of(stored: str | None, table: Table) -> str:
    """The plain name: `"Core"` is core, `{"Custom":"x"}` is x, anything else is itself."""
    if stored is None or table.form != "uuid" or stored[:1] not in ('"', "{"):
        return stored or ""
    try:
        decoded = json.loads(stored)
    except (ValueError, RecursionError):
        return stored
    if isinstance(decoded, str):
        return decoded.lower() if decoded.lower() in BUILT_IN_CATEGORIES else decoded
    if isinstance(decoded, dict) and len(decoded) == 1:
        name, value = next(iter(decoded.items()))
        if name.lower() == "custom" and isinstance(value, str):
            return value
    return stored


def category_written(name: str, table: Table) -> str:
    """How this table writes a category."""
    if table.form != "uuid":
        return name
    if name in _VARIANTS:
        return json.dumps(_VARIANTS[name])
    return json.dumps({"Custom": name}, ensure_ascii=False, separators=(",", ":"))


def spellings(names: Iterable[str], table: Table) -> list[str]:
    """Every way in which these categories may be written in the table."""
    if table.form != "uuid":
        return list(names)
    found: list[str] = []
    for name in names:
        plain = json.dumps(name, ensure_ascii=False)
        found += [name, plain, f'{{"Custom":{plain}}}', f'{{"Custom": {plain}}}']
        found += [f'{{"custom":{plain}}}', f'{{"custom": {plain}}}']
        if name in _VARIANTS:
            found.append(json.dumps(_VARIANTS[name]))
    return found


def category_text(table: Table, prefix: str = "") -> str:
    """The SQL of the stored text; `prefix` is what the table is called ("m.")."""
    return f"{prefix}category" + ("" if base_type(table.columns["category"]) == "text" else "::text")


def category_to_sort(table: Table, prefix: str = "") -> str:
    """The SQL of what to order by: the plain name, near enough for names without escapes."""
    text = category_text(table, prefix)
    if table.form != "uuid":
        return text
    custom = f"""substring({text} from '^[{{]"[Cc]ustom": ?"(.*)"[}}]$')"""
    plain = f"""CASE WHEN lower({text}) IN ('"core"', '"daily"', '"conversation"') THEN lower(trim({text}, '"')) END"""
    return f"coalesce({custom}, {plain}, {text})"
