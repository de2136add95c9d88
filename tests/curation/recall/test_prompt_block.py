"""The literal block by every set of rules a person would tell apart, written out by hand."""

from __future__ import annotations

import pytest
from support.judging import judge

from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.recall import Rule, ScoredEntry
from zeroclaw_tui.scoring.injection import context_block
from zeroclaw_tui.scoring.profiles import LANDMARKS, profile_for

AS_OF = "2026-03-20T12:00:00+00:00"
LONG = "word " * 200
CUT = ("word " * 160).rstrip() + "..."

ENTRIES = (
    ("lang", "User prefers Rust\nand [bold] text", 0.9),
    ("assistant_resp_1", "Noted.", 0.8),
    ("tool", "<tool_result>7</tool_result>", 0.7),
    ("diary", LONG, 0.6),
    ("mio_history", "said hello", 0.5),
)
"""Best first, all core and so not decaying, one for each thing that versions and rules do differently."""

LANG = "- lang: User prefers Rust\nand [bold] text\n"
TOOL = "- tool: <tool_result>7</tool_result>\n"
WHOLE = f"- diary: {LONG}\n"
SHORT = f"- diary: {CUT}\n"
HISTORY = "- mio_history: said hello\n"
CLOSED = "[/Memory context]\n\n"

GOLDEN: dict[tuple[str, Rule], str] = {
    ("0.1.7", "cli"): f"[Memory context]\n{LANG}{TOOL}{WHOLE}{HISTORY}\n",
    ("0.1.7", "channel"): f"[Memory context]\n{LANG}{TOOL}{SHORT}\n",
    ("0.6.2", "cli"): f"[Memory context]\n{LANG}{WHOLE}{HISTORY}\n",
    ("0.6.2", "channel"): f"[Memory context]\n{LANG}{SHORT}\n",
    ("0.7.5", "cli"): f"[Memory context]\n{LANG}{WHOLE}{HISTORY}{CLOSED}",
    ("0.7.5", "channel"): f"[Memory context]\n{LANG}{SHORT}{CLOSED}",
    ("0.8.3", "cli"): f"[Memory context]\n{LANG}{SHORT}{CLOSED}",
    ("0.8.3", "channel"): f"[Memory context]\n{LANG}{SHORT}{CLOSED}",
    ("0.8.4", "cli"): f"[Memory context]\n{LANG}{SHORT}{CLOSED}",
    ("0.8.4", "channel"): f"[Memory context]\n{LANG}{SHORT}{CLOSED}",
}


def block(version: str, rule: Rule, entries: list[tuple[str, str, float]]) -> str:
    scored = [
        ScoredEntry(MemoryEntry(id=key, key=key, content=content, category="core", timestamp=AS_OF), rank, score)
        for rank, (key, content, score) in enumerate(entries, 1)
    ]
    judged = judge(scored, profile_for(version), 0.4, rule, AS_OF, session_id="s")
    return context_block(judged, profile_for(version), rule)


def test_every_landmark_has_its_golden_block_by_both_rules() -> None:
    assert set(GOLDEN) == {(version, rule) for version in LANDMARKS for rule in ("cli", "channel")}


@pytest.mark.parametrize(("version", "rule"), GOLDEN)
def test_the_block_is_the_one_written_out_by_hand(version: str, rule: Rule) -> None:
    assert block(version, rule, list(ENTRIES)) == GOLDEN[version, rule]


@pytest.mark.parametrize(("version", "rule"), GOLDEN)
def test_five_that_fit_are_five_for_the_older_cli_agent_and_four_for_all_else(version: str, rule: Rule) -> None:
    takes = 5 if rule == "cli" and version in ("0.1.7", "0.6.2", "0.7.5") else 4
    lines = "".join(f"- k{place}: text {place}\n" for place in range(takes))
    end = "\n" if version in ("0.1.7", "0.6.2") else CLOSED
    entries = [(f"k{place}", f"text {place}", 0.9) for place in range(5)]
    assert block(version, rule, entries) == f"[Memory context]\n{lines}{end}"
