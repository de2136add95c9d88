"""Clean-up: each finding names exactly its memories, and a merge keeps a better copy of each deleted memory."""

from __future__ import annotations

import random
import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from itertools import pairwise
from typing import Any

import numpy
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.libraries import Library
from support.questions import EVERYTHING
from support.small_store import blob
from support.stores import versions

from zeroclaw_tui.curation import changes, duplicates
from zeroclaw_tui.curation.clean_up import CleanUpReport, Finding, FindingKind, check_memories, merge, plan_merge
from zeroclaw_tui.curation.duplicates import DuplicateFinder, Duplicates
from zeroclaw_tui.memory.text import WHITE_SPACE

PLAIN = (
    "Anna planted three apple trees behind the old barn",
    "The ferry to the island leaves at half past seven",
    "Please remember that Oskar cannot stand loud music",
    "Our second printer jams whenever the paper is damp",
    "Every Thursday the market sells fresh goat cheese",
    "Miriam wants to learn the cello before next winter",
    "A spare bicycle pump hangs next to the garage door",
    "Grandfather tells the story of the frozen lake again",
    "Windows on the north side need a new coat of paint",
    "Someone left a green umbrella in the meeting room",
    "Two litres of oil go into the engine after a change",
    "Leo prefers maps over written directions when hiking",
    "This recipe calls for saffron and far too much butter",
    "Nobody answers the phone between noon and one o'clock",
)

STORES = ("G1", "G2", "G3", "G4")
MIXED = "aB3dE5gH7jK9mN1pQ3sT5vX7zA9cD1fG3iJ5"


ALONE: dict[FindingKind, tuple[list[dict[str, Any]], list[dict[str, Any]]]] = {
    "assistant replies": (
        [{"key": "assistant_resp"}, {"key": "assistant_resp_4f"}, {"key": "Assistant_Resp_X"}],
        [{"key": "assistant_response_style"}, {"key": "my_assistant_resp"}, {"key": "assistant"}],
    ),
    "recall blobs": (
        [{"content": f"{PLAIN[0]} [Memory context]\n- a: b"}, {"content": f"[Memory context] {PLAIN[1]}"}],
        [{"content": f"{PLAIN[2]} memory context"}, {"content": f"[Memory] {PLAIN[3]}"}],
    ),
    "tool results": (
        [{"content": f'<tool_result name="shell">{PLAIN[0]}</tool_result>'}, {"content": f"{PLAIN[1]} <tool_result"}],
        [{"content": f"{PLAIN[2]} tool_result"}, {"content": f"{PLAIN[3]} <tool>"}],
    ),
    "heartbeat and cron": (
        [
            {"content": f"[cron:7 daily] {PLAIN[0]}"},
            {"content": f"  [Heartbeat Task | high] {PLAIN[1]}"},
            {"content": f"[distilled_memory] {PLAIN[2]}"},
            {"content": f"{PLAIN[3]} DISTILLED_index_sig:77"},
        ],
        [{"content": f"{PLAIN[4]} [cron:7]"}, {"content": f"cron: {PLAIN[5]}"}, {"content": f"heartbeat {PLAIN[6]}"}],
    ),
    "too short": (
        [{"content": text} for text in ("nineteen characters", "  ok  \u2003\n" + " " * 40, "", "é" * 19)],
        [{"content": "twenty characters it"}, {"content": "🦀" * 20}],
    ),
    "too long": (
        [{"content": "ab c" * 1000 + "x"}],
        [{"content": "ab d" * 1000}, {"content": "ä€🦀 " * 1000}],
    ),
    "hidden text": (
        [
            {"content": f"{PLAIN[0]}\U000e0041\U000e0042"},
            {"content": f"pass\u200bword of {PLAIN[1]}"},
            {"content": f"{PLAIN[2]}\u3164"},
            {"content": f"\u202e{PLAIN[3]}"},
            {"key": "na\u00adme"},
        ],
        [
            {"content": f"{PLAIN[4]} 👩‍🚀❤️"},
            {"content": "می‌خواهم کتاب‌ها را بخوانم و بنویسم"},
            {"content": f"\ufeff{PLAIN[5]}\u00a0!"},
            {"content": f"שלום\u200f! {PLAIN[6]}"},
        ],
    ),
    "empty keys": ([{"key": ""}, {"key": " \t"}], [{"key": "0"}, {"key": "_"}]),
}  # fmt: skip


def _found(report: CleanUpReport, kind: FindingKind) -> Finding | None:
    return next((finding for finding in report.findings if finding.kind == kind), None)


def _ids(report: CleanUpReport, kind: FindingKind) -> list[str]:
    finding = _found(report, kind)
    return [] if finding is None else [sample.version.id for sample in finding.samples]


@pytest.mark.parametrize("store", STORES)
async def test_findings_about_single_memories_name_exactly_those(open_rows, store):
    cases = [
        (kind, is_guilty, row)
        for kind, both in ALONE.items()
        for is_guilty in (True, False)
        for row in both[not is_guilty]
    ]
    rows = [
        {
            "key": f"k{at}",
            "content": f"{PLAIN[at % len(PLAIN)]} {PLAIN[-1 - at % len(PLAIN)]}",
            **row,
            "id": f"{kind if is_guilty else 'no'}-{at}",
        }
        for at, (kind, is_guilty, row) in enumerate(cases)
    ]
    report = await check_memories(await open_rows(rows, store))
    assert report.rows == len(rows)
    assert report.size == sum(len(row["content"].encode()) for row in rows)
    for kind in ALONE:
        guilty = [row for row in rows if row["id"].startswith(f"{kind}-")]
        assert _ids(report, kind) == [row["id"] for row in guilty]
        finding = _found(report, kind)
        assert finding.size == sum(len(row["content"].encode()) for row in guilty)
        assert finding.remark.endswith(".")


async def test_a_finding_names_the_kind_of_secret_and_hides_its_value(open_rows):
    secret = f"ghp_{MIXED}"
    rows = [
        {"content": f"token for CI: {secret} and password=hunter2"},
        {"content": f"token for CI: {secret} and password=hunter2 "},
        {"content": "Anna keeps her passwords in a book"},
    ]
    report = await check_memories(await open_rows(rows, "G4"))
    finding = _found(report, "secrets")
    assert [sample.remark for sample in finding.samples] == ["a GitHub token, a password"] * 2
    shown = [sample.excerpt for other in report.findings for sample in other.samples]
    assert not any(secret in excerpt or "hunter2" in excerpt for excerpt in shown)


SAME = PLAIN[0]
LONG = " ".join(PLAIN[:4])


def _at(day: int) -> dict[str, str]:
    moment = f"2026-03-{day:02d}T10:00:00.123456789+00:00"
    return {"created_at": "2026-01-01T10:00:00+00:00", "updated_at": moment}


ROWS: tuple[dict[str, Any], ...] = (
    {"id": "old", "content": SAME, **_at(1)},
    {"id": "other", "content": PLAIN[1], **_at(2)},
    {"id": "newest", "content": SAME, **_at(9)},
    {"id": "longest", "content": f"  {SAME}  \n", **_at(5)},
    {"id": "twin 1", "content": PLAIN[2], **_at(3)},
    {"id": "twin 2", "content": PLAIN[2], **_at(3)},
)


async def _finding(library: Library, kind: FindingKind = "exact duplicates") -> Finding:
    finding = _found(await check_memories(library), kind)
    assert finding is not None
    return finding


async def _state(library: Library) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    await library.memory.scan(lambda row: rows.append((row.id, row.handle, sorted(row.values.items(), key=str))))
    return sorted(rows, key=str)


def _deleted(finding: Finding) -> set[str]:
    return {version.id for version in plan_merge([finding]).to_delete.versions}


@pytest.mark.parametrize("store", STORES)
async def test_a_merge_keeps_one_memory_of_each_group_and_undo_restores_the_others(open_rows, store):
    library = await open_rows(ROWS, store)
    finding, before = await _finding(library), await _state(library)
    assert _deleted(finding) == {"old", "longest", "twin 1"}
    plan = plan_merge([finding])
    assert [(stays.version.id, len(going)) for stays, going in plan.groups] == [("newest", 2), ("twin 2", 1)]
    outcome = await merge(library, plan)
    assert (outcome.verb, outcome.count) == ("merge", 3)
    assert outcome.action.summary == "merged away 3 memories"
    assert {version.id for version in await versions(library.memory, EVERYTHING)} == {"newest", "other", "twin 2"}
    assert _found(await check_memories(library), "exact duplicates") is None
    assert (await changes.undo(library)).count == 3
    assert await _state(library) == before


copies_of_one_text = st.lists(
    st.fixed_dictionaries(
        {
            "category": st.sampled_from(["core", "daily", "conversation", "notes", "Core", ""]),
            "session_id": st.sampled_from([None, "discord:guild/chan#9", "cli"]),
            "pinned": st.integers(0, 1),
            "agent": st.sampled_from(["default", "anna"]),
            "namespace": st.sampled_from(["default", "work"]),
            "superseded_by": st.sampled_from([None, None, None, "key0"]),
            "updated_at": st.sampled_from([_at(day)["updated_at"] for day in range(1, 5)]),
            "content": st.sampled_from([SAME, f" {SAME}\n", PLAIN[1]]),
        }
    ),
    min_size=2,
    max_size=12,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(copies_of_one_text)
async def test_every_deleted_copy_has_a_kept_one_that_is_recalled_in_its_place(open_rows, rows):
    """A higher-ranking copy with the same text, agent and namespace stays; an irreplaceable copy stays too."""
    library = await open_rows([{"id": str(at), "key": f"key{at}", **row} for at, row in enumerate(rows)], "G4")
    finding = _found(await check_memories(library), "exact duplicates")
    going = {int(name) for name in (_deleted(finding) if finding is not None else ())}
    stay = [row for at, row in enumerate(rows) if at not in going]

    def replaces(other, row):
        place = [(one["content"].strip(), one["agent"], one["namespace"]) for one in (other, row)]
        is_recalled = row["category"] != "conversation" or other["session_id"] in (None, row["session_id"])
        is_same_row = other is row
        return (
            place[0] == place[1]
            and other["superseded_by"] is None
            and _rank(other) >= _rank(row)
            and is_recalled
            and not is_same_row
        )

    for number in going:
        assert not rows[number]["pinned"]
        assert rows[number]["superseded_by"] is None
        assert any(replaces(other, rows[number]) for other in stay)
    for row in stay:
        if not row["pinned"] and row["superseded_by"] is None:
            higher = [other for other in stay if replaces(other, row) and _rank(other) > _rank(row)]
            assert not higher


def _rank(row: dict[str, Any]) -> tuple[int, int, bool, str]:
    order = {"conversation": 0, "daily": 1, "core": 3}
    return row["pinned"], order.get(row["category"], 2), row["session_id"] is None, row["updated_at"]


async def test_exact_and_near_duplicates_together_are_one_group(open_rows):
    """A deleted copy is no reason to delete another one."""
    rows = [
        {"id": "core", "content": LONG, "category": "core", "session_id": "a", **_at(1)},
        {"id": "chat", "content": LONG, "category": "conversation", "session_id": "a", **_at(9)},
        {"id": "near", "content": f"{LONG} indeed", "category": "core", "session_id": "b", **_at(5)},
    ]
    report = await check_memories(await open_rows(rows, "G4"))
    exact, near = _found(report, "exact duplicates"), _found(report, "near duplicates")
    assert exact is not None
    assert {version.id for version in near.versions} == {"chat", "near"}
    assert {version.id for version in plan_merge([exact, near]).to_delete.versions} == {"core"}


@pytest.mark.parametrize(
    "statement",
    ["UPDATE memories SET content = 'new', updated_at = '2026-04-01' WHERE id = 'newest'",
     "DELETE FROM memories WHERE id = 'newest'"],
)  # fmt: skip
async def test_a_group_is_skipped_if_the_memory_to_keep_was_changed_or_deleted(open_rows, statement):
    library = await open_rows(ROWS, "G4")
    plan = plan_merge([await _finding(library)])
    with closing(sqlite3.connect(library.memory.about.location)) as connection, connection:
        connection.execute(statement)
    outcome = await merge(library, plan)
    assert (outcome.count, set(outcome.changed)) == (1, {"old", "longest"})
    assert {"old", "longest", "twin 2"} <= {version.id for version in await versions(library.memory, EVERYTHING)}


# Duplicates, compared with models that compare every pair.


WORDS = [f"{first}{last}" for first in ("ka", "lo", "mi", "tan", "ver") for last in ("ro", "sel", "dim", "pu", "xen")]


def _duplicates(rows: Sequence[tuple[str, str, bytes | None]]) -> Duplicates:
    """Return the duplicates among rows of owner, content and vector."""
    finder = DuplicateFinder()
    for number, (owner, content, vector) in enumerate(rows):
        finder.add(number, owner, content, vector)
    return finder.find(lambda: None)


def _pairs(content: str) -> frozenset[tuple[str, ...]]:
    words = re.findall(r"[^\W]+", content.lower())
    return frozenset(pairwise(words)) if len(words) > 1 else frozenset((word,) for word in words)


def _shared(one: str, other: str) -> float:
    first, second = _pairs(one), _pairs(other)
    return len(first & second) / len(first | second) if first | second else 0.0


def _joined(count: int, linked: set[tuple[int, int]]) -> list[list[int]]:
    """Return groups of rows that are linked directly or indirectly."""
    groups = [{number} for number in range(count)]
    for one, other in linked:
        first, second = groups[one], groups[other]
        if first is not second:
            first |= second
            for number in second:
                groups[number] = first
    return sorted({tuple(sorted(group)) for group in map(frozenset, groups) if len(group) > 1}, key=list)


blanks = st.text(alphabet=WHITE_SPACE + "\x1c", max_size=3)
bodies = st.sampled_from(["", "a", "a b", "A b", "a  b", "ä", "\x1f", "x" * 50])


@given(st.lists(st.tuples(st.sampled_from(["", "anna"]), blanks, bodies, blanks), max_size=12))
def test_exact_means_equal_after_trimming_within_one_owner(parts):
    rows = [(owner, lead + body + tail, None) for owner, lead, body, tail in parts]
    expected: dict[tuple[str, str], list[int]] = {}
    for at, (owner, content, _) in enumerate(rows):
        expected.setdefault((owner, content.strip(WHITE_SPACE)), []).append(at)
    assert _duplicates(rows).exact == sorted(group for group in expected.values() if len(group) > 1)


@given(st.integers(0, 10**9), st.integers(4, 60))
def test_near_duplicates_by_words_equal_those_of_all_pairs(seed, length):
    """Every group is connected by pairs of 80 %; pairs of 90 % are never missed."""
    chance = random.Random(seed)
    texts = [" ".join(chance.choices(WORDS, k=length)) for _ in range(4)]
    for text in [*texts, *texts]:
        words = text.split()
        for _ in range(chance.randrange(3)):
            words[chance.randrange(len(words))] = chance.choice(WORDS)
        texts.append(" ".join(words))
    texts = list(dict.fromkeys(texts))
    found = _duplicates([("", text, None) for text in texts])
    assert not found.exact
    count = len(texts)
    every = [(one, other) for one in range(count) for other in range(one)]
    at_80 = _joined(
        count, {pair for pair in every if _shared(texts[pair[0]], texts[pair[1]]) >= duplicates.MIN_SHARED_WORDS}
    )
    at_90 = _joined(count, {pair for pair in every if _shared(texts[pair[0]], texts[pair[1]]) >= 0.9})
    groups = [set(group) for group in found.near]
    assert all(any(group <= set(whole) for whole in at_80) for group in groups)
    assert all(any(set(sure) <= group for group in groups) for sure in at_90)
    for group in found.near:
        for number in group:
            best = max(_shared(texts[number], texts[other]) for other in group if other != number)
            assert duplicates.MIN_SHARED_WORDS <= found.likeness[number] <= best + 1e-6


@given(st.integers(0, 10**9), st.integers(2, 40))
def test_near_duplicates_by_vectors_equal_those_of_all_cosines(seed, count):
    chance = random.Random(seed)
    numbers = [[chance.gauss(0, 1) for _ in range(3)] for _ in range(count)]
    owners = [chance.choice(["", "anna"]) for _ in range(count)]
    matrix = numpy.array(numbers, dtype=numpy.float32)
    matrix /= numpy.linalg.norm(matrix, axis=1)[:, None]
    cosines = matrix @ matrix.T
    if (abs(cosines - duplicates.MIN_COSINE) < 1e-5).any():
        return
    linked = {
        (one, other)
        for one in range(count)
        for other in range(one)
        if owners[one] == owners[other] and cosines[one, other] >= duplicates.MIN_COSINE
    }
    rows = [
        (owner, f"{at} {at}", blob(*vector)) for at, (owner, vector) in enumerate(zip(owners, numbers, strict=True))
    ]
    found = _duplicates(rows)
    assert [tuple(group) for group in found.near] == _joined(count, linked)


def _edited(text: str) -> str:
    return text.replace("  ", " ") + " indeed"


LONG_TEXTS = (
    "Anna planted three apple trees behind the old barn and the ferry to the island leaves at half past seven",
    "Our second printer jams whenever the paper is damp while the market sells fresh goat cheese every Thursday",
    "A spare bicycle pump hangs next to the garage door and grandfather tells the story of the frozen lake again",
)


def test_vectors_decide_if_both_memories_have_one_and_words_otherwise():
    here, there = blob(1, 0), blob(0, 1)
    assert _duplicates([("", LONG_TEXTS[0], here), ("", _edited(LONG_TEXTS[0]), there)]).near == []
    assert _duplicates([("", LONG_TEXTS[0], here), ("", LONG_TEXTS[1], here)]).near == [[0, 1]]
    assert _duplicates([("", LONG_TEXTS[0], here), ("", _edited(LONG_TEXTS[0]), None)]).near == [[0, 1]]
    assert _duplicates([("", LONG_TEXTS[0], here), ("", _edited(LONG_TEXTS[0]), blob(0, 1, 0))]).near == [[0, 1]]
    assert _duplicates([("", LONG_TEXTS[0], None), ("anna", _edited(LONG_TEXTS[0]), None)]).near == []


def test_a_thousand_equal_memories_are_one_group():
    texts = [f"{LONG_TEXTS[0]} {LONG_TEXTS[1]} {LONG_TEXTS[2]} the number of it is {number}" for number in range(1000)]
    assert _duplicates([("", text, None) for text in texts]).near == [list(range(1000))]
    beam = blob(1, 0.01)
    assert _duplicates([("", f"{at} {at}", beam) for at in range(1000)]).near == [list(range(1000))]
