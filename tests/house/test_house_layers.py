"""A layer imports only lower layers, by absolute imports, and no class is cut across files by inheritance."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest
from house_exceptions import HANDED_ON, NO_BACKENDS, ONE_CHILD

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


def test_no_class_is_cut_into_a_parent_and_its_only_child() -> None:
    """What two classes share is a part that they own; the list of those to be mended only gets shorter."""
    children: dict[str, set[str]] = defaultdict(set)
    own: set[str] = set()
    made: set[str] = set()
    for module, tree in _modules().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                made.add(node.func.id)
            elif isinstance(node, ast.ClassDef):
                if _package(module) != "testing":
                    own.add(node.name)
                for base in node.bases:
                    if isinstance(base, ast.Name):
                        children[base.id].add(node.name)
    # One that is made itself is whole without its child.
    found = {name for name in own - made if len(children[name]) == 1}
    assert not found - ONE_CHILD, f"with one child: {', '.join(sorted(found - ONE_CHILD))}"
    assert not ONE_CHILD - found, f"mended, so no exceptions any more: {', '.join(sorted(ONE_CHILD - found))}"


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


def _hands_on(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a method does nothing but call one of its own name with its own parameters, guarded by an `if` or not."""
    body = [one for one in function.body if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))]
    if len(body) == 1 and isinstance(body[0], ast.If) and not body[0].orelse:
        body = body[0].body
    call: ast.expr | None = body[0].value if len(body) == 1 and isinstance(body[0], ast.Return | ast.Expr) else None
    if isinstance(function, ast.AsyncFunctionDef):
        call = call.value if isinstance(call, ast.Await) else None
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == function.name):
        return False
    own = [one.arg for one in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)]
    given = [ast.unparse(one) for one in call.args]
    given += [ast.unparse(one.value) for one in call.keywords if one.arg == ast.unparse(one.value)]
    return own[1:] == given and own[:1] in (["self"], ["cls"]) and len(own) - 1 == len(call.args) + len(call.keywords)


def test_no_method_only_hands_on_to_one_of_its_own_name() -> None:
    """Who wants what a part of an object does asks that part."""
    found = {
        f"{owner.name}.{node.name}"
        for tree in _modules().values()
        for owner in ast.walk(tree)
        if isinstance(owner, ast.ClassDef)
        for node in owner.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and _hands_on(node)
    }
    assert not found - HANDED_ON, f"only hand on: {', '.join(sorted(found - HANDED_ON))}"
    assert not HANDED_ON - found, f"mended, so no exceptions any more: {', '.join(sorted(HANDED_ON - found))}"


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


BACKEND_NAMES = {profile.key for profile in BACKENDS}
SET_UP = {"postgres", "qdrant", "lucid"}
"""What the wizard asks for, and ZeroClaw reads from config.toml, differs with these."""


def _texts(node: ast.expr) -> set[object]:
    """The texts that stand in an expression, alone or as a tuple, list or set of them."""
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
    assert set(found.values()) == NO_BACKENDS, "mended, so no exceptions any more"


def _loaded_by(code: str) -> set[str]:
    script = f"import sys\n{code}\nprint('\\n'.join(sorted(sys.modules)))"
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(answer.stdout.split())


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        ("import zeroclaw_tui.scoring.decide", {"textual", "questionary", "aiosqlite", "numpy", "httpx"}),
        ("import zeroclaw_tui.memory.recall", {"sqlite3", "asyncio", "pathlib"}),
        (
            "import zeroclaw_tui.curation.library",
            {"textual", "questionary", "numpy", "httpx", "cryptography", "regex"},
        ),
        (
            "import zeroclaw_tui.cli.main",
            {"textual", "questionary", "numpy", "httpx", "cryptography", "regex"},
        ),
        ("import zeroclaw_tui.tui.app", {"questionary", "numpy", "httpx", "cryptography", "regex"}),
    ],
)
def test_nothing_is_imported_before_it_is_used(code: str, absent: set[str]) -> None:
    """A process that has only imported a floor holds none of the libraries that floor does not need yet."""
    assert not _loaded_by(code) & absent
