"""The few looks that a line built in Python may have; everything else stands in the sheets."""

from __future__ import annotations

STRONG = "bold"
ACCENT = "$primary"
STRONG_ACCENT = "bold $primary"
MUTED = "$foreground-muted"
WARNING = "$warning"
"""Styles by theme variable, for `Content.assemble`."""
