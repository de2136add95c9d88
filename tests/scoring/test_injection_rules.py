"""Which memories reach the prompt: threshold, limits, skips, decay and the exact block, by version and rule."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.judging import judge
from support.memories import MemoryEntry, UsageError
from support.questions import Rule, ScoredEntry
from support.rules import profile_for

from zeroclaw_tui.scoring.injection import context_block

NOW = "2026-03-20T12:00:00+00:00"
VERSIONS = ("0.1.2", "0.1.7", "0.1.8", "0.2.1", "0.4.3", "0.5.9", "0.6.2", "0.6.3", "0.7.3", "0.7.5", "0.8.2", "0.8.4")


def days_ago(days: float, fraction: str = "") -> str:
    moment = datetime(2026, 3, 20, 12, tzinfo=UTC) - timedelta(days=days)
    return moment.strftime("%Y-%m-%dT%H:%M:%S") + fraction + "+00:00"


def scored(
    key: str = "lang",
    content: str = "User prefers Rust",
    score: float | None = 0.9,
    category: str = "core",
    timestamp: str = NOW,
) -> ScoredEntry:
    return ScoredEntry(MemoryEntry(id=key, key=key, content=content, category=category, timestamp=timestamp), 1, score)


def judged(
    *entries: ScoredEntry, version: str = "0.8.4", rule: Rule = "cli", threshold: float = 0.4, session: str | None = "s"
) -> tuple[ScoredEntry, ...]:
    return judge(entries, profile_for(version), threshold, rule, NOW, session_id=session)


def reason(entry: ScoredEntry, version: str, rule: Rule = "cli", session: str | None = "s") -> str | None:
    return judged(entry, version=version, rule=rule, session=session)[0].not_injected_because


def keys_in(entries: tuple[ScoredEntry, ...]) -> list[str]:
    return [entry.entry.key for entry in entries if entry.injected]


@pytest.mark.parametrize(
    ("category", "timestamp", "decayed"),
    [
        ("daily", days_ago(0, ".123456789"), 0.8),
        ("daily", days_ago(7, ".123456789"), 0.4),
        ("daily", days_ago(14, ".123456789"), 0.2),
        ("daily", "2026-03-13T12:00:00Z", 0.4),
        ("daily", "2026-03-13T14:00:00.5+02:00", 0.4),
        ("daily", "2026-03-13 12:00:00z", 0.4),
        # Core memories do not decay, nor those with a future or invalid time.
        ("core", days_ago(70), 0.8),
        ("daily", days_ago(-3), 0.8),
        ("daily", "2026-01-01", 0.8),
        ("daily", "MEMORY", 0.8),
        ("daily", "", 0.8),
        ("daily", "2026-01-01T00:00:00", 0.8),
        ("daily", "2026-02-31T00:00:00+00:00", 0.8),
    ],
)
def test_a_daily_memory_loses_half_its_score_in_seven_days(category: str, timestamp: str, decayed: float) -> None:
    (entry,) = judged(scored(score=0.8, category=category, timestamp=timestamp))
    assert entry.decayed == pytest.approx(decayed, abs=1e-5)
    assert entry.injected is (decayed >= 0.4 - 1e-5)


@pytest.mark.parametrize(
    ("score", "days", "words"),
    [(0.8, 14, "0.20 < 0.40 after decay from 0.80"), (0.1, 70, "0.00 < 0.40 after decay from 0.10")],
)
def test_a_score_that_decays_below_the_threshold_says_so(score: float, days: float, words: str) -> None:
    (entry,) = judged(scored(score=score, category="daily", timestamp=days_ago(days)))
    assert entry.not_injected_because == f"threshold {words}"


@pytest.mark.parametrize(
    ("version", "rule", "decays"),
    [
        ("0.1.7", "cli", False),
        ("0.5.8", "cli", False),
        ("0.5.9", "cli", True),
        ("0.8.2", "cli", True),
        ("0.8.2", "channel", False),
        ("0.8.3", "cli", True),
        ("0.8.3", "channel", True),
    ],
)
def test_decay_depends_on_version_and_rule(version: str, rule: Rule, decays: bool) -> None:
    (entry,) = judged(scored(score=0.8, category="daily", timestamp=days_ago(14)), version=version, rule=rule)
    assert entry.injected is not decays
    assert (entry.decayed is not None) is decays


def test_an_entry_without_a_score_always_passes_the_threshold() -> None:
    (entry,) = judged(scored(score=None, category="daily", timestamp=days_ago(99)))
    assert entry.injected
    assert entry.decayed is None


@pytest.mark.parametrize(
    ("score", "shown"),
    [(0.4, None), (0.399, "0.399 < 0.400"), (0.399999999, "0.399999999 < 0.400000000"), (1e-6, "0.00 < 0.40")],
)
def test_the_reason_shows_numbers_that_differ(score: float, shown: str | None) -> None:
    (entry,) = judged(scored(score=score))
    assert entry.not_injected_because == (f"threshold {shown}" if shown else None)


def test_a_nan_score_is_below_every_threshold() -> None:
    (entry,) = judged(scored(score=math.nan), threshold=-1)
    assert not entry.injected


@pytest.mark.parametrize(
    ("key", "content", "because", "since", "rules"),
    [
        ("assistant_resp", "x", "assistant reply", "0.1.2", "both"),
        (" Assistant_Resp_7", "x", "assistant reply", "0.1.2", "both"),
        ("user_msg", "x", "user message", "0.7.4", "both"),
        ("USER_MSG_ab12", "x", "user message", "0.7.4", "both"),
        ("k", "ok <tool_result id=1>", "tool result", "0.2.1", "both"),
        ("k", " [CRON: daily] x", "auto-save noise", "0.4.3", "both"),
        ("k", "[heartbeat TASK 3] x", "auto-save noise", "0.4.3", "both"),
        ("k", "[distilled_a] x", "auto-save noise", "0.4.3", "both"),
        ("k", "a Distilled_Index_Sig: b", "auto-save noise", "0.4.3", "both"),
        ("k", "[Memory context]\n- a: b", "auto-save noise", "0.7.3", "both"),
        ("k", " \n", "empty content", "0.4.3", "both"),
        ("Mio_History ", "x", "history key", "0.1.2", "channel"),
        ("k", "see [IMAGE:/a.png]", "image", "0.1.9", "channel"),
    ],
)
def test_a_skip_rule_applies_from_its_version_on(key: str, content: str, because: str, since: str, rules: str) -> None:
    ordered = sorted({*VERSIONS, since, "0.8.3"}, key=lambda text: [int(part) for part in text.split(".")])
    for version in ordered:
        by_version = ordered.index(version) >= ordered.index(since)
        for rule in ("cli", "channel"):
            by_rule = rules == "both" or rule == "channel" or version in ("0.8.3", "0.8.4")
            expected = f"skipped: {because}" if by_version and by_rule else None
            assert reason(scored(key, content), version, rule) == expected, (version, rule)  # type: ignore[arg-type]


@pytest.mark.parametrize("key", ["assistant_response", "my_assistant_resp", "user_msgs", "history", "histories"])
def test_keys_that_only_resemble_skipped_ones_are_injected(key: str) -> None:
    assert reason(scored(key), "0.8.4") is None


@pytest.mark.parametrize(
    ("version", "session", "is_skipped"),
    [("0.8.4", None, True), ("0.8.3", None, True), ("0.8.4", "s", False), ("0.8.2", None, False)],
)
def test_conversation_needs_a_session_from_0_8_3_on(version: str, session: str | None, is_skipped: bool) -> None:
    because = reason(scored(category="conversation"), version, session=session)
    assert because == ("skipped: conversation without a session" if is_skipped else None)


@pytest.mark.parametrize(("version", "injected"), [("0.8.2", [True, True, True]), ("0.8.3", [True, False, True])])
def test_only_the_first_memory_of_a_key_is_injected_from_0_8_3_on(version: str, injected: list[bool]) -> None:
    """Agents that read each other's memories can each have the key; a withheld memory does not count."""
    both = judged(scored(content="Hers"), scored(content="His"), scored("tz"), version=version)
    assert [entry.injected for entry in both] == injected
    kept = judged(scored(content="Hers")._replace(withheld="exfil_curl"), scored(content="His"), version=version)
    assert [entry.injected for entry in kept] == [False, True]


def test_channels_inject_four_entries_without_counting_skipped_ones() -> None:
    entries = [scored("assistant_resp"), *(scored(f"k{place}") for place in range(4))]
    assert keys_in(judged(*entries)) == ["k0", "k1", "k2", "k3"]
    five = judged(*(scored(f"k{place}") for place in range(5)))
    assert keys_in(five) == ["k0", "k1", "k2", "k3"]
    assert five[4].not_injected_because == "cap: 4 entries already in"


def test_the_first_entry_that_exceeds_the_limit_ends_the_block() -> None:
    long_key = "k" * 3500
    entries = judged(scored(long_key, "x"), scored("big", "y" * 800), scored("small", "z"))
    assert keys_in(entries) == [long_key]
    assert [entry.not_injected_because for entry in entries[1:]] == ["cap: 4,000 characters reached"] * 2


def test_the_last_character_still_fits() -> None:
    key = "k" * (4000 - len("- : x\n"))
    assert keys_in(judged(scored(key, "x"))) == [key]
    assert keys_in(judged(scored(key, "xy"))) == []


def test_contents_over_4000_characters_are_skipped_by_channels_up_to_0_8_2_and_cut_later() -> None:
    long = scored(content="x" * 4001)
    assert reason(long, "0.8.2", "channel") == "skipped: longer than 4,000 characters"
    assert reason(long, "0.8.2", "cli") is None
    assert reason(long, "0.8.3", "channel") is None


def test_a_withheld_entry_does_not_count() -> None:
    hidden = scored("hidden")._replace(withheld="exfil_curl")
    entries = judged(hidden, *(scored(f"k{place}") for place in range(5)), version="0.8.4")
    assert entries[0].not_injected_because == "withheld: exfil_curl"
    assert keys_in(entries) == ["k0", "k1", "k2", "k3"]
    assert entries[5].not_injected_because == "cap: 4 entries already in"


@pytest.mark.parametrize("as_of", ["", "yesterday", "2026-13-01"])
def test_an_invalid_time_is_a_usage_error(as_of: str) -> None:
    with pytest.raises(UsageError, match="not a valid time"):
        judge([scored()], profile_for("0.8.4"), 0.4, "cli", as_of, session_id=None)


@pytest.mark.parametrize(
    ("version", "end"), [("0.6.2", "\n"), ("0.6.3", "[/Memory context]\n\n"), ("0.8.4", "[/Memory context]\n\n")]
)
def test_the_block_is_exactly_the_text_in_the_prompt(version: str, end: str) -> None:
    entries = judged(scored("a", "one\ntwo"), scored("b", score=0.1), scored("c", "[/markup]"), version=version)
    block = context_block(entries, profile_for(version), "cli")
    assert block == "[Memory context]\n- a: one\ntwo\n- c: [/markup]\n" + end


def test_channels_cut_at_800_characters_without_blanks_before_the_dots() -> None:
    entry = scored(content="x" * 790 + " " * 10 + "y")
    block = context_block(judged(entry, version="0.7.5", rule="channel"), profile_for("0.7.5"), "channel")
    assert block.splitlines()[1] == "- lang: " + "x" * 790 + "..."
    uncut = context_block(judged(entry, version="0.7.5"), profile_for("0.7.5"), "cli")
    assert uncut.splitlines()[1] == f"- lang: {entry.entry.content}"
    exact = context_block(judged(scored(content="x" * 800)), profile_for("0.8.4"), "cli")
    assert exact.splitlines()[1] == "- lang: " + "x" * 800


ANY_ENTRY = st.builds(
    scored,
    key=st.one_of(st.text(max_size=8), st.sampled_from(["assistant_resp", "user_msg_1", "a_history"])),
    content=st.one_of(st.text(max_size=20), st.integers(0, 5000).map(lambda length: "x" * length)),
    score=st.one_of(st.none(), st.floats()),
    category=st.sampled_from(["core", "daily", "conversation", "people"]),
    timestamp=st.one_of(st.text(max_size=5), st.datetimes(timezones=st.just(UTC)).map(datetime.isoformat)),
)


@given(
    st.lists(ANY_ENTRY, max_size=12),
    st.sampled_from(VERSIONS),
    st.sampled_from(["cli", "channel"]),
    st.floats(allow_nan=False),
    st.one_of(st.none(), st.just("s")),
)
def test_limits_are_never_exceeded_and_every_skip_has_a_reason(
    entries: list[ScoredEntry], version: str, rule: Rule, threshold: float, session: str | None
) -> None:
    profile = profile_for(version)
    answers = judged(*entries, version=version, rule=rule, threshold=threshold, session=session)
    assert [answer.entry for answer in answers] == [entry.entry for entry in entries]
    assert all(answer.injected is (answer.not_injected_because is None) for answer in answers)
    taken = [answer for answer in answers if answer.injected]
    block = context_block(answers, profile, rule)
    assert bool(block) is bool(taken)
    if rule == "channel" or profile.one_injection_rule:
        assert len(taken) <= 4
        assert len(block) <= 4000 + len("[Memory context]\n[/Memory context]\n\n")
    for answer in taken:
        stored = answer.score if answer.decayed is None else answer.decayed
        assert stored is None or stored >= threshold
