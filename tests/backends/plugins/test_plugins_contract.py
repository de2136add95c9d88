"""The contract suite as a plug-in author runs it: plain pytest in a separate folder without configuration."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from plugin_samples import SHOE_BOX

TESTS = """
from shoe_box import {name}
from zeroclaw_tui.testing.contract import MemoryContract
from zeroclaw_tui.testing.contract import StoreContract

class Boxes:
    async def new_memory(self, folder):
        import os
        os.environ["SHOE_BOX"] = str(folder / "box.json")
        return {name}()

class TestReading(Boxes, MemoryContract):
    pass

class TestWriting(Boxes, StoreContract):
    pass
"""
BROKEN = """

class Forgetful(ShoeBox):
    async def store(self, key: str, content: str, category: str, session_id: str | None = None) -> None:
        await super().store(key, content.replace("Rust", "rust"), category, session_id)
"""


def run(folder: Path, name: str, tests: str) -> subprocess.CompletedProcess[str]:
    """Run plain pytest on the test file of a plug-in, without the pytest plug-ins installed here."""
    shutil.copy(SHOE_BOX, folder)
    with (folder / "shoe_box.py").open("a") as file:
        file.write(BROKEN)
    (folder / "test_box.py").write_text(TESTS.format(name=name))
    (folder / "pytest.ini").write_text("[pytest]\n")
    environ = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(folder)}
    environ.pop("PYTEST_ADDOPTS", None)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", tests]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environ, timeout=300)


def test_a_naive_plug_in_passes_with_plain_pytest(tmp_path):
    """Tests with hundreds of memories are left out; other trait-only stores run them."""
    done = run(tmp_path, "ShoeBox", "not thousands")
    assert done.returncode == 0, done.stdout[-3000:]
    assert "warning" not in done.stdout
    assert "skipped" not in done.stdout


def test_a_broken_plug_in_fails_and_the_values_are_shown(tmp_path):
    done = run(tmp_path, "Forgetful", "every_text_comes_back")
    assert done.returncode == 1
    assert "assert Counter({" in done.stdout
    assert "Prefers rust for tools" in done.stdout
