"""One thing that is wrong with a store, its risk, and its repair."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

RepairName = Literal[
    "rebuild keyword index", "repair hydrated database", "name unknown agents", "fold in write-ahead log", "compact",
    "fill vectors", "remove leftover", "remove unfinished", "join split log",
]  # fmt: skip
Risk = Literal["serious", "worth knowing", "fine"]


@dataclass(frozen=True, slots=True)
class DoctorFinding:
    """`title` is a sentence of fact, `risk_sentence` what may come of it, `repair` what can be done here, if anything.

    `repair_steps` say in sentences what the repair would do; `by_hand` what a person does where we cannot. `target` is
    the file it is about, `details` further facts in reading order (name, value).
    """

    id: str
    title: str
    risk: Risk
    risk_sentence: str
    repair: RepairName | None = None
    repair_steps: tuple[str, ...] = ()
    by_hand: str = ""
    target: str = ""
    details: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class DoctorReport:
    """All that was looked at, the serious first; `fine` findings too, so that a person sees what was checked."""

    findings: tuple[DoctorFinding, ...]
    is_deep: bool
    notes: tuple[str, ...] = ()

    @property
    def is_healthy(self) -> bool:
        """Nothing serious."""
        return all(finding.risk != "serious" for finding in self.findings)
