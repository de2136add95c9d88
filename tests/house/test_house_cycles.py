"""There is no import cycle, neither at run time nor for types."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]


def _imports() -> dict[str, set[str]]:
    """Return the modules that each module imports, also inside functions and for type checkers."""
    paths = sorted((ROOT / "zeroclaw_tui").rglob("*.py"))
    trees = {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in paths}
    found: dict[str, set[str]] = {}
    for name, path in trees.items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        imported: set[str] = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                names = [f"{node.module}.{alias.name}" for alias in node.names]
                imported |= {full if full in trees else str(node.module) for full in names}
        found[name] = imported & trees.keys()
    return found


def _cycles(imports: dict[str, set[str]]) -> set[frozenset[str]]:
    """Return the groups of modules that import each other, directly or indirectly."""
    reached = {name: _reachable(name, imports) for name in imports}
    groups = {frozenset({name, *(other for other in reached[name] if name in reached[other])}) for name in imports}
    return {frozenset(name.removeprefix("zeroclaw_tui.") for name in group) for group in groups if len(group) > 1}


def _reachable(start: str, imports: dict[str, set[str]]) -> set[str]:
    found: set[str] = set()
    waiting = [start]
    while waiting:
        for name in imports[waiting.pop()] - found:
            found.add(name)
            waiting.append(name)
    return found


def test_no_modules_import_each_other_in_a_cycle() -> None:
    assert _cycles(_imports()) == set()
