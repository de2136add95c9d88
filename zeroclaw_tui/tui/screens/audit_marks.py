"""Which memories of an audit are marked, and a report without those that went."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from zeroclaw_tui.curation.audit.findings import AuditReport, Finding, Sample
from zeroclaw_tui.memory.change import Stamp
from zeroclaw_tui.memory.entry import Handle

Which = tuple[str, Handle]
"""A memory, whichever finding it is in: several files of one store may hold the same id."""


def which(stamp: Stamp) -> Which:
    """The memory that a stamp is of."""
    return stamp.id, stamp.handle


class AuditMarks:
    """Marked memories, each in the state it was looked at; a mark holds in every finding the memory is in."""

    def __init__(self) -> None:
        self._stamps: dict[Which, Stamp] = {}

    def __len__(self) -> int:
        return len(self._stamps)

    def __contains__(self, stamp: Stamp) -> bool:
        return which(stamp) in self._stamps

    @property
    def stamps(self) -> list[Stamp]:
        """The marked memories, in the order of marking."""
        return list(self._stamps.values())

    def toggle(self, stamp: Stamp) -> None:
        """Mark it, or take its mark away."""
        if self._stamps.pop(which(stamp), None) is None:
            self._stamps[which(stamp)] = stamp

    def put(self, stamps: Iterable[Stamp]) -> None:
        """Mark all of these."""
        self._stamps.update((which(stamp), stamp) for stamp in stamps)

    def clear(self) -> None:
        """Take every mark away."""
        self._stamps.clear()

    def follow(self, report: AuditReport) -> None:
        """Hold only what is still found, in the state it has now."""
        if self._stamps:
            found = {which(stamp): stamp for finding in report.findings for stamp in finding.stamps}
            self._stamps = {one: found[one] for one in self._stamps if one in found}


def polluted(report: AuditReport) -> tuple[int, int]:
    """How many memories are in any finding, and how many bytes their contents take; each counted once."""
    sizes = {which(stamp): stamp.size for finding in report.findings for stamp in finding.stamps}
    return len(sizes), sum(sizes.values())


def without(report: AuditReport, gone: Collection[Which]) -> AuditReport:
    """The report as it is once these memories have gone; findings that are empty then are left out."""
    sizes = {
        which(stamp): stamp.size for finding in report.findings for stamp in finding.stamps if which(stamp) in gone
    }
    left = (_finding_without(finding, gone) for finding in report.findings)
    findings = sorted((finding for finding in left if finding.samples), key=lambda finding: -finding.size)
    return replace(
        report,
        findings=tuple(findings),
        rows=report.rows - len(sizes),
        size=report.size - sum(sizes.values()),
        superseded=report.superseded - {handle for _, handle in sizes},
    )


def _finding_without(finding: Finding, gone: Collection[Which]) -> Finding:
    stays = [which(sample.stamp) not in gone for sample in finding.samples]
    groups = [tuple(at for at in group if stays[at]) for group in finding.groups]
    groups = [group for group in groups if len(group) > 1]
    if finding.groups:
        # What is alike to nothing any more is no duplicate.
        alike = {at for group in groups for at in group}
        stays = [at in alike for at in range(len(stays))]
    if all(stays):
        return finding
    places: dict[int, int] = {}
    kept: list[Sample] = []
    for at, sample in enumerate(finding.samples):
        if stays[at]:
            places[at] = len(kept)
            kept.append(sample)
    return replace(
        finding,
        samples=tuple(kept),
        size=sum(sample.stamp.size for sample in kept),
        groups=tuple(tuple(places[at] for at in group) for group in groups),
    )
