from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from onboard_flow_world import FakeProbes, flow_world
from support.wizard_world import World

import zeroclaw_tui.onboard.probes


@pytest.fixture
def probes(monkeypatch: pytest.MonkeyPatch) -> FakeProbes:
    """Replace the tests of answers with prepared findings, without any connection."""
    fake = FakeProbes()
    monkeypatch.setattr(zeroclaw_tui.onboard.probes, "run_probe", fake)
    return fake


@pytest.fixture
def make_world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., World]:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    return lambda config, **variables: flow_world(tmp_path, config, **variables)
