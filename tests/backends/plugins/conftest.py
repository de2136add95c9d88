"""Packages with backends, as pip installs them: a module and a dist-info that names it."""

from __future__ import annotations

import json
import os
import shutil
import sys
from functools import partial
from pathlib import Path

import pytest
from support.warm_start import run_memory

sys.path.insert(0, str(Path(__file__).parents[2] / "tui"))

from plugin_samples import CONFIG, ROWS, SHOE_BOX, Installer


def installer(site: Path) -> Installer:
    """Return a function that installs packages with one backend each into a folder, several under one name if asked."""

    def install(name: str, value: str, package: str = "shoe-box", module: str | None = None) -> None:
        info = site / f"{package.replace('-', '_')}-1.2.dist-info"
        info.mkdir(exist_ok=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.2\n")
        with (info / "entry_points.txt").open("a") as file:
            if file.tell() == 0:
                file.write("[zeroclaw_tui.backends]\n")
            file.write(f"{name} = {value}\n")
        if module is not None:
            (site / f"{value.partition(':')[0]}.py").write_text(module)

    return install


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Return a function that installs a package on the path of this process."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(str(site))
    return installer(site)


@pytest.fixture(scope="session")
def samples(tmp_path_factory):
    """Return the folder of the sample plug-ins, one for all tests, since a warm start has a fixed PYTHONPATH."""
    site = tmp_path_factory.mktemp("site")
    shutil.copy(SHOE_BOX, site)
    install = installer(site)
    install("shoe-box", "shoe_box:ShoeBox")
    return site


@pytest.fixture
def shoe_box(samples, tmp_path, monkeypatch):
    """Create an install whose config.toml names the sample plug-in; its JSON file is in the config dir."""
    monkeypatch.syspath_prepend(str(samples))
    monkeypatch.setenv("PYTHONPATH", str(samples))
    monkeypatch.setenv("SHOE_BOX", str(tmp_path / "shoe_box.json"))
    monkeypatch.delitem(sys.modules, "shoe_box", raising=False)
    config_dir = tmp_path / "zc"
    config_dir.mkdir()
    (config_dir / "config.toml").write_text(CONFIG)
    return config_dir


@pytest.fixture
def box(shoe_box):
    """Write the JSON file of the sample plug-in with three memories."""
    file = Path(os.environ["SHOE_BOX"])
    stored = {
        key: {"content": content, "category": category, "session_id": None, "timestamp": f"2026-01-0{day}T00:00:00Z"}
        for day, (key, (content, category)) in enumerate(ROWS.items(), 1)
    }
    file.write_text(json.dumps(stored), "utf-8")
    return file


@pytest.fixture
def memory(shoe_box):
    """Run `zeroclaw memory ...` on the sample plug-in, without a terminal."""

    return partial(run_memory, "--config-dir", str(shoe_box))
