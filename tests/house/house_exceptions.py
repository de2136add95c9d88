"""What the house still has to mend; nothing may be added to it."""

from __future__ import annotations

ONE_CHILD: set[str] = set()
"""Classes that only one child makes whole."""
