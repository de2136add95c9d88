"""The words of the wizard outside its questions: what was found, the review, and what comes after."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from zeroclaw_tui.onboard.asker import Line
from zeroclaw_tui.onboard.plan import Plan
from zeroclaw_tui.onboard.probes.finding import Finding
from zeroclaw_tui.onboard.situation import Situation


def found_lines(situation: Situation) -> list[Line]:
    """Where: config file, generation, version and its source, what was found, which rule won, warnings."""
    raise NotImplementedError


def review_lines(plan: Plan, findings: Sequence[Finding]) -> list[Line]:
    """The review: file, how many lines change and stay, the coloured diff (masked), notes, test results."""
    raise NotImplementedError


def after_lines(plan: Plan, backup: str | None) -> list[Line]:
    """After writing: what changed, the backup and how to get it back, exports, the real binary's command for providers
    and channels in this generation, `zeroclaw-tui`."""
    raise NotImplementedError


def plan_document(plan: Plan, findings: Sequence[Finding], *, written: bool, backup: str | None) -> dict[str, Any]:
    """The `--json` document: config, generation {schema, version, form}, backend, written, dry_run left to the caller,
    backup, changes [{key, path, from, to, secret}], diff (masked text), lines {changed, kept}, tests [{subject,
    verdict, sentence, facts, hint, corrections}], notes, exports. Secrets are four dots."""
    raise NotImplementedError
