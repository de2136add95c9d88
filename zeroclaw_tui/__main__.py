"""`python -m zeroclaw_tui` is `zeroclaw-tui`."""

from __future__ import annotations

import sys

from zeroclaw_tui.cli.main import inspector

if __name__ == "__main__":
    sys.exit(inspector())
