"""The Asker of a real terminal, made of questionary; the only module that imports it."""

from __future__ import annotations

from zeroclaw_tui.onboard.asker import Asker


def terminal_asker() -> Asker:
    """Questions on the terminal: lists with "← back", "overview" and "accept the rest" at their end, lines with
    ctrl+b, ctrl+o and ctrl+r for the same; NO_COLOR and dumb terminals without colour; wraps from 40 columns on."""
    raise NotImplementedError
