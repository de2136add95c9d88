"""The house: a floor imports only lower floors, by absolute imports; files and functions stay small."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "zeroclaw_tui"
FLOORS = {
    "memory": 0,
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
NEIGHBOURS = {("embeddings", "config"), ("testing", "curation")}
"""The imports within one floor that are meant: an embedder is made from a config, and no other."""
SOLE_IMPORTERS = {"textual": "tui", "questionary": "onboard", "prompt_toolkit": "onboard", "shtab": "cli"}
MODULES = sorted(PACKAGE.rglob("*.py"))
LONGEST_FILE = 400
LONGEST_FUNCTION = 60


def _imports(module: Path) -> list[tuple[str, int]]:
    found: list[tuple[str, int]] = []
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [(alias.name, 0) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found.append((node.module or "", node.level))
    return found


def _room(name: str) -> str:
    parts = name.split(".")
    return parts[1] if len(parts) > 1 else ""


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_imports_only_lower_floors(module: Path) -> None:
    own = module.relative_to(PACKAGE).with_suffix("").parts[0]
    for name, level in _imports(module):
        assert level == 0, f"{module.name} imports {name} relatively"
        if not name.startswith("zeroclaw_tui"):
            sole = SOLE_IMPORTERS.get(name.split(".")[0])
            assert sole in (None, own), f"only {sole}/ may import {name}"
            continue
        room = _room(name)
        if room in ("", own) or (own, room) in NEIGHBOURS:
            continue
        assert FLOORS[room] < FLOORS[own], f"{own}/{module.name} imports {name}, which is no lower floor"


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_files_and_functions_stay_small(module: Path) -> None:
    text = module.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= LONGEST_FILE
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            assert length <= LONGEST_FUNCTION, f"{node.name} has {length} lines"


def _loaded_by(code: str) -> set[str]:
    script = f"import sys\n{code}\nprint('\\n'.join(sorted(sys.modules)))"
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(answer.stdout.split())


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        ("import zeroclaw_tui.scoring.fusion", {"textual", "questionary", "aiosqlite", "numpy", "httpx"}),
        ("import zeroclaw_tui.scoring.injection", {"textual", "questionary", "aiosqlite", "numpy", "httpx"}),
        ("import zeroclaw_tui.memory.recall", {"sqlite3", "asyncio", "pathlib"}),
        (
            "import zeroclaw_tui.curation.library",
            {"textual", "questionary", "numpy", "httpx", "cryptography", "tomlkit", "regex"},
        ),
        (
            "import zeroclaw_tui.cli.main",
            {"textual", "questionary", "numpy", "httpx", "cryptography", "tomlkit", "shtab", "regex"},
        ),
        ("import zeroclaw_tui.tui.app", {"questionary", "numpy", "httpx", "cryptography", "tomlkit", "shtab", "regex"}),
    ],
)
def test_nothing_is_imported_before_it_is_used(code: str, absent: set[str]) -> None:
    """A process that has only imported a floor holds none of the libraries that floor does not need yet."""
    assert not _loaded_by(code) & absent
