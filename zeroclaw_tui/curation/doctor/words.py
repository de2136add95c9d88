"""Words that the findings share."""

from __future__ import annotations

from zeroclaw_tui.curation.doctor.finding import DoctorFinding

BACKED_UP = "Make a backup of the whole database."
_PLURALS = {"memory": "memories"}


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
