"""A layer imports only lower layers, by absolute imports, and nobody above the backends knows a concrete one."""

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
"""The imports within one layer that are meant."""
SOLE_IMPORTERS = {"textual": "tui", "questionary": "onboard", "prompt_toolkit": "onboard"}
CONCRETE_BACKENDS = {
    "sqlite", "postgres", "markdown", "qdrant", "redis", "lucid", "in_memory", "none", "rmem", "memory_rs",
}  # fmt: skip


@cache
def _modules() -> dict[str, ast.Module]:
    """Every module by its path in the package, as it is parsed."""
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
    """What is wrong with an import from this package."""
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


def test_nobody_above_the_backends_knows_a_concrete_one() -> None:
    """What a store is or can do is an attribute of it."""
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
    """The lines in which the name of a store is compared with anything."""
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Compare)
        for side in (node.left, *node.comparators)
        if isinstance(side, ast.Attribute) and side.attr == "name" and ast.unparse(side.value).endswith("memory")
    ]


def test_nobody_above_the_backends_asks_for_the_name_of_a_store() -> None:
    """What a store is or can do is an attribute of it; its name is for people."""
    found = [
        f"{module}:{line}"
        for module, tree in _modules().items()
        if LAYERS.get(_package(module), 0) > LAYERS["backends"]
        for line in _comparisons_of_names(tree)
    ]
    assert not found, "\n".join(found)


NO_BACKENDS = {
    # A kind of place, what distinguishes old agents, and who makes vectors.
    "place.kind",
    "profile.agent_scope",
    "provider",
}
"""What is compared with a word that is a backend's name too, and is none there."""
BACKEND_NAMES = {profile.key for profile in BACKENDS}
SET_UP = {"postgres", "qdrant", "lucid"}
"""What the wizard asks for, and ZeroClaw reads from config.toml, differs with these."""


def _texts(node: ast.expr) -> set[object]:
    """The texts in an expression, alone or as a tuple, list or set of them."""
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return {text for one in node.elts for text in _texts(one)}
    return {node.value} if isinstance(node, ast.Constant) else set()


def _asked_for_names(tree: ast.Module, names: set[str]) -> list[tuple[int, str]]:
    """Where something is compared with one of these names of backends: the line, and what is compared."""
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


def test_nobody_above_the_backends_asks_for_the_name_of_a_backend() -> None:
    """What is known of a backend by its name is in the registry of backends.

    The wizard may ask for those that have settings of their own in config.toml, since no two have the same.
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
def test_nothing_is_imported_before_it_is_used(code: str, absent: set[str]) -> None:
    """A process that has only imported a floor holds none of the libraries that floor does not need yet."""
    assert not _loaded_by(code) & absent
