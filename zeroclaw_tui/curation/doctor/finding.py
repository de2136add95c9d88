"""One thing that is wrong with a store, its risk and its repair, and the words that findings share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from zeroclaw_tui.backends.answers import Repair

RepairName = Repair | Literal["compact", "fill vectors", "remove leftover", "remove unfinished", "join split log"]
Risk = Literal["serious", "worth knowing", "fine"]
BACKED_UP = "Make a backup of the whole database."
_PLURALS = {"memory": "memories"}


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


def fine(id: str, title: str, target: str = "") -> DoctorFinding:
    """A check that found nothing."""
    return DoctorFinding(id, title, "fine", "", target=target)


def counted(count: int, what: str = "memory") -> str:
    """ "1 memory", "1,204 memories"."""
    return f"{count:,} {what if count == 1 else _PLURALS.get(what, what + 's')}"


def are(count: int) -> str:
    """ "1 memory is", "1,204 memories are"."""
    return f"{counted(count)} {'is' if count == 1 else 'are'}"


def size(count: int) -> str:
    """Bytes as "37 bytes", "1.2 KB" or "310 MB", 1,024 to the unit."""
    value, unit = float(count), ""
    for larger in ("KB", "MB", "GB", "TB"):
        if value < 999.5:
            break
        value, unit = value / 1024, larger
    if not unit:
        return counted(count, "byte")
    return f"{value:.{1 if value < 9.95 else 0}f} {unit}"
