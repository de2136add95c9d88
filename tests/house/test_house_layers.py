"""A layer imports only lower layers, by absolute imports, and modules above the backends use no concrete backend."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from zeroclaw_tui.backends.factory import BACKENDS

PACKAGE = Path(__file__).parents[2] / "zeroclaw_tui"
LAYERS = {
    "memory": 0,
    "files": 0,
    "config": 1,
    "scoring": 1,
    "embeddings": 1,
    "backends": 2,
    "testing": 3,
    "curation": 3,
    "onboard": 4,
    "tui": 4,
    "cli": 5,
    "__main__": 6,
}
NEIGHBOURS = {("files", "memory"), ("embeddings", "config"), ("testing", "curation")}
"""The allowed imports within a layer."""
SOLE_IMPORTERS = {"textual": "tui", "questionary": "onboard", "prompt_toolkit": "onboard"}
CONCRETE_BACKENDS = {
    "sqlite", "postgres", "markdown", "qdrant", "redis", "lucid", "in_memory", "none", "rmem", "memory_rs",
}  # fmt: skip


@cache
def _modules() -> dict[str, ast.Module]:
    """Return every parsed module by its path in the package."""
    return {
        path.relative_to(PACKAGE).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted(PACKAGE.rglob("*.py"))
    }


def _package(module: str) -> str:
    return module.removesuffix(".py").split("/")[0]


def _imports(tree: ast.Module) -> list[tuple[str, int]]:
    found: list[tuple[str, int]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(alias.name, 0) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found.append((node.module or "", node.level))
            found += [(f"{node.module}.{alias.name}", node.level) for alias in node.names]
    return found


def _fault(own: str, name: str, level: int) -> str | None:
    """Return the fault of an import by this package, or None."""
    if level:
        return f"{name} is imported relatively"
    if not name.startswith("zeroclaw_tui"):
        sole = SOLE_IMPORTERS.get(name.split(".")[0])
        return None if sole in (None, own) else f"only {sole}/ may import {name}"
    package = [*name.split("."), ""][1]
    if package not in LAYERS or package == own or (own, package) in NEIGHBOURS:
        return None
    return None if LAYERS[package] < LAYERS[own] else f"{name} is in no lower layer"


def test_a_layer_imports_only_lower_layers() -> None:
    faults = {
        f"{module}: {fault}"
        for module, tree in _modules().items()
        for name, level in _imports(tree)
        if (fault := _fault(_package(module), name, level)) is not None
    }
    assert not faults, "\n".join(sorted(faults))


def test_no_module_above_the_backends_imports_a_concrete_backend() -> None:
    """Properties and abilities of a store are attributes."""
    found = set()
    for module, tree in _modules().items():
        if LAYERS.get(_package(module), 0) <= LAYERS["backends"]:
            continue
        for name, _ in _imports(tree):
            parts = name.split(".")
            if parts[:2] == ["zeroclaw_tui", "backends"] and len(parts) > 2 and parts[2] in CONCRETE_BACKENDS:
                found.add(f"{module} imports {parts[2]}")
    assert not found, "\n".join(sorted(found))


def _comparisons_of_names(tree: ast.Module) -> list[int]:
    """Return the lines that compare the name of a store."""
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Compare)
        for side in (node.left, *node.comparators)
        if isinstance(side, ast.Attribute) and side.attr == "name" and ast.unparse(side.value).endswith("memory")
    ]


def test_no_module_above_the_backends_compares_the_name_of_a_store() -> None:
    """Properties of a store are attributes; its name is only displayed."""
    found = [
        f"{module}:{line}"
        for module, tree in _modules().items()
        if LAYERS.get(_package(module), 0) > LAYERS["backends"]
        for line in _comparisons_of_names(tree)
    ]
    assert not found, "\n".join(found)


NO_BACKENDS = {
    # A kind of place, the scope of old agents, and the provider of vectors.
    "place.kind",
    "profile.agent_scope",
    "provider",
}
"""Expressions compared with a word that is a backend's name, but not meant as one."""
BACKEND_NAMES = {profile.key for profile in BACKENDS}
SET_UP = {"postgres", "qdrant", "lucid"}
"""Backends with their own questions in the wizard and settings in config.toml."""


def _texts(node: ast.expr) -> set[object]:
    """Return the constants in an expression, alone or in a tuple, list or set."""
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return {text for one in node.elts for text in _texts(one)}
    return {node.value} if isinstance(node, ast.Constant) else set()


def _asked_for_names(tree: ast.Module, names: set[str]) -> list[tuple[int, str]]:
    """Return line and expression of each comparison with one of these backend names."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if any(_texts(side) & names for side in sides):
                found += [(node.lineno, ast.unparse(side)) for side in sides if not _texts(side)]
        elif isinstance(node, ast.Match):
            for case in node.cases:
                for one in ast.walk(case.pattern):
                    if isinstance(one, ast.MatchValue) and _texts(one.value) & names:
                        found.append((one.value.lineno, ast.unparse(node.subject)))
    return found


def test_no_module_above_the_backends_compares_the_name_of_a_backend() -> None:
    """Facts about a backend are looked up by name only in the registry of backends.

    The wizard may compare the names of backends with their own settings in config.toml.
    """
    found = {
        f"{module}:{line}: {asked}": asked
        for module, tree in _modules().items()
        if LAYERS.get(_package(module), 0) > LAYERS["backends"]
        for line, asked in _asked_for_names(tree, BACKEND_NAMES - (SET_UP if _package(module) == "onboard" else set()))
    }
    assert not {place for place, asked in found.items() if asked not in NO_BACKENDS}
    assert set(found.values()) == NO_BACKENDS


def _loaded_by(code: str) -> set[str]:
    script = f"import sys\n{code}\nprint('\\n'.join(sorted(sys.modules)))"
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(answer.stdout.split())


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        ("import zeroclaw_tui.scoring.decide", {"textual", "questionary", "aiosqlite", "numpy", "httpx"}),
        ("import zeroclaw_tui.memory.recall", {"sqlite3", "asyncio", "pathlib"}),
        ("import zeroclaw_tui.curation.library", {"textual", "questionary", "numpy", "httpx", "cryptography", "regex"}),
        ("import zeroclaw_tui.cli.main", {"textual", "questionary", "numpy", "httpx", "cryptography", "regex"}),
        ("import zeroclaw_tui.tui.app", {"questionary", "numpy", "httpx", "cryptography", "regex"}),
    ],
)
def test_libraries_are_imported_only_when_used(code: str, absent: set[str]) -> None:
    """Importing a package does not load libraries that it needs only later."""
    assert not _loaded_by(code) & absent
