"""An install that has no memory."""

from __future__ import annotations

import pytest
from support.installs import make_install


@pytest.fixture
def place(tmp_path):
    return make_install(tmp_path / "zeroclaw", "G2")
