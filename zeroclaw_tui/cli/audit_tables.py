"""What an audit found, as a table with samples for people and as a document for scripts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from zeroclaw_tui.cli.output import BOLD, CYAN, DIM, YELLOW, Line, Part, Styled, size_shown, width
from zeroclaw_tui.cli.told import stamp_as_json
from zeroclaw_tui.curation.audit.findings import AuditReport, Finding, Sample
from zeroclaw_tui.curation.audit.remedies import plan_merge
from zeroclaw_tui.curation.audit.secrets import masked
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.superseded import among_fact
from zeroclaw_tui.memory.text import cells, counted, cut, one_line, padded

LONGEST_KEY, LONGEST_REMARK = 24, 30
_COUNT, _BYTES, _SHARE = 10, 9, 7
_MERGED = ("exact duplicates", "near duplicates")


def report_lines(
    library: Library, report: AuditReport, findings: Sequence[Finding], limit: int, *, chosen: bool
) -> Iterator[Line]:
    """A line of totals, a table of the findings, then each with its first memories and what can be done."""
    among = f", {among_fact(len(report.superseded))}" if report.superseded else ""
    yield (Styled(f"{counted(report.rows)}{among}, {size_shown(report.size)}", BOLD),)
    yield (Styled(f"{library.memory.name} · {one_line(library.memory.location)}", DIM),)
    yield ()
    if not findings:
        nothing = "Nothing of that was found." if chosen and report.rows else "Nothing was found that pollutes it."
        yield (nothing if report.rows else "Nothing is remembered here yet.",)
        return
    yield from _table(report, findings)
    for finding in findings:
        yield ()
        yield from _finding_lines(finding, limit)


def report_as_json(library: Library, report: AuditReport, findings: Sequence[Finding], limit: int) -> dict[str, Any]:
    """The document; its names stand in `auditing`."""
    return {
        "backend": library.memory.name,
        "location": library.memory.location,
        "rows": report.rows,
        "superseded": len(report.superseded),
        "size": report.size,
        "findings": [
            {
                "kind": finding.kind,
                "count": finding.count,
                "size": finding.size,
                "won": _won(finding),
                "remark": finding.remark,
                "whole": finding.is_whole,
                "groups": [[finding.samples[at].stamp.id for at in group] for group in finding.groups],
                "samples": [
                    {
                        **stamp_as_json(sample.stamp),
                        "excerpt": sample.excerpt,
                        "remark": sample.remark,
                        "spelled": sample.spelled or None,
                    }
                    for sample in finding.samples[:limit]
                ],
            }
            for finding in findings
        ],
        "notes": list(report.notes),
    }


def _table(report: AuditReport, findings: Sequence[Finding]) -> Iterator[Line]:
    left = max(cells(finding.kind) for finding in findings)
    head = ("memories", _COUNT), ("bytes", _BYTES), ("share", _SHARE)
    yield (Styled(padded("finding", left) + "".join(f"  {padded(name, to, right=True)}" for name, to in head), DIM),)
    for finding in findings:
        share = 100 * finding.size / report.size if report.size else 0.0
        shown = "<0.1 %" if 0 < share < 0.05 else f"{share:.1f} %"
        yield (
            Styled(padded(finding.kind, left), YELLOW if finding.kind in ("secrets", "hidden text") else BOLD),
            f"  {padded(f'{finding.count:,}', _COUNT, right=True)}",
            f"  {padded(size_shown(finding.size), _BYTES, right=True)}",
            f"  {padded(shown, _SHARE, right=True)}",
        )


def _finding_lines(finding: Finding, limit: int) -> Iterator[Line]:
    groups = f" in {counted(len(finding.groups), 'group')}" if finding.groups else ""
    yield (Styled(finding.kind, BOLD), f"  {counted(finding.count)}{groups}, {size_shown(finding.size)}")
    yield from _wrapped(finding.remark)
    shown = _shown(finding, limit)
    if shown:
        keys = [_key(sample) for sample in shown]
        left = max(map(cells, keys))
        remarks = min(LONGEST_REMARK, max(cells(sample.remark) for sample in shown))
        room = max(20, width() - left - remarks - (6 if remarks else 4))
        for sample, key in zip(shown, keys, strict=True):
            remark: list[Part] = [Styled(padded(cut(sample.remark, remarks), remarks), CYAN), "  "] if remarks else []
            yield ("  ", padded(key, left), "  ", *remark, cut(one_line(sample.excerpt), room))
            if sample.spelled:
                yield from _wrapped(f"it says: {one_line(sample.spelled)}", "      ")
    if finding.count > len(shown):
        yield (Styled(f"  … {finding.count - len(shown):,} more; --limit N and --json show them", DIM),)
    yield from _remedy(finding)


def _shown(finding: Finding, limit: int) -> list[Sample]:
    """The first ones; of duplicates group after group, so that what is alike stands together."""
    order = [at for group in finding.groups for at in group] if finding.groups else range(finding.count)
    return [finding.samples[at] for at in [*order][:limit]]


def _remedy(finding: Finding) -> Iterator[Line]:
    """What would be won, and the command for it."""
    only = f"`zeroclaw memory audit --only {finding.kind.replace(' ', '-')}"
    if finding.kind == "stale vectors" or finding.stays:
        # Its remark names the way, or why there is none.
        return
    if finding.kind in _MERGED:
        yield (Styled(f"  Keeping one of each group wins {size_shown(_won(finding))}: {only} --merge newest`", DIM),)
    else:
        if finding.kind == "hidden text":
            yield (
                Styled("  `zeroclaw memory get KEY` shows one, `zeroclaw memory edit KEY --content` cleans it.", DIM),
            )
        yield (Styled(f"  Letting them go wins {size_shown(_won(finding))}: {only} --purge`", DIM),)


def _won(finding: Finding) -> int:
    """Bytes of content."""
    if finding.kind in _MERGED:
        return plan_merge(finding, "newest").going.size
    return 0 if finding.kind == "stale vectors" or finding.stays else finding.size


def _key(sample: Sample) -> str:
    return cut(one_line(masked(sample.stamp.key)) or "(no key)", LONGEST_KEY)


def _wrapped(text: str, indent: str = "  ") -> Iterator[Line]:
    import textwrap

    for line in textwrap.wrap(text, max(40, min(width(), 100) - len(indent))):
        yield (indent, line)
