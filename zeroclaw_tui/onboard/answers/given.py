"""One answer, and who gave it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Source = Literal["flag", "environment", "answers file", "answered", "config", "default"]


@dataclass(frozen=True, slots=True)
class Given:
    """One answer somebody gave. `told` says in words where from ("--set", "environment ZEROCLAW_DB_URL", …)."""

    value: Any = field(repr=False)
    source: Source
    told: str = ""
