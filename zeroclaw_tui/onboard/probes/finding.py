"""What a test of an answer found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from zeroclaw_tui.memory.errors import NOT_REACHABLE

Verdict = Literal["good", "bad", "not tested"]


@dataclass(frozen=True, slots=True)
class Finding:
    """`subject` is "postgres", "qdrant", "lucid", "sqlite", "markdown" or "embedding". `sentence` is one sentence,
    safe to show ("connects in 12 ms"); `facts` more of them ("may create tables", "no pgvector: ZeroClaw searches by
    words only"); `hint` what to do when bad. `exit_code` counts where nobody can be asked: 3 not reachable, 1 refused
    (wrong password, no rights), 2 an address that is none. `corrections` are settings it found to be wrong, with the
    right value ({"memory.embedding_dimensions": 768})."""

    subject: str
    verdict: Verdict
    sentence: str
    facts: tuple[str, ...] = ()
    hint: str = ""
    exit_code: int = NOT_REACHABLE
    corrections: Mapping[str, Any] = field(default_factory=dict)
