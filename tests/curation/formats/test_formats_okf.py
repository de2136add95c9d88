"""The Open Knowledge Format: read, and written so that nothing is lost."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st
from note_samples import WRITTEN, degree, read, sample, written

from zeroclaw_tui.curation.formats.foreign import digest, memory_row
from zeroclaw_tui.curation.formats.okf import OpenKnowledgeFormat, bundle
from zeroclaw_tui.curation.formats.source import Report, Source
from zeroclaw_tui.memory.change import StoredRow
from zeroclaw_tui.memory.errors import Refused

OKF = OpenKnowledgeFormat()
NOW = datetime(2026, 11, 23, 12, 0, tzinfo=UTC)
HARD = st.sampled_from(
    [
        *(
            "---",
            "a\n---\nb",
            "\r\n",
            "a\r\nb",
            "a\rb",
            "\n",
            " a ",
            "\x00",
            "\x85",
            "\u2028",
            "\ufeff",
            "\udcff",
        ),
        *("yes", "null", "1e5", "012", "2026-03-01", "*a", "&a", "!!a", "a: b", "{a}", "index", "CON", "...", "🐝"),
        *("# ZeroClaw memories\n", "### 🔑 `k`", '"', "'", "\\", "\t"),
    ]
)
TEXT = st.lists(st.text() | HARD, max_size=4).map("".join)
ROWS = st.lists(
    st.fixed_dictionaries(
        {"key": TEXT, "content": TEXT, "category": TEXT, "created_at": TEXT, "updated_at": TEXT},
        optional={
            "session_id": TEXT,
            "namespace": TEXT,
            "kind": TEXT,
            "importance": st.floats(),
            "pinned": st.sampled_from([0, 1]),
        },
    ),
    max_size=6,
    unique_by=lambda values: values["key"],
)


def test_concepts_of_both_versions_are_read_and_others_left(tmp_path: Path) -> None:
    found = read(OKF, sample("okf", tmp_path))
    assert {key: (row.values["category"], row.values["content"]) for key, row in found.rows.items()} == {
        "okf_home_hive_care": ("note", "Hive care\n\nFrames are changed in April.\n\nTags: bees"),
        "okf_home_rye_bread": ("recipe", "Rye bread\n\nMila bakes it on Sundays.\nStatus: deprecated"),
    }
    assert found.rows["okf_home_hive_care"].values["created_at"] == "2026-07-01T09:00:00Z"
    assert found.rows["okf_home_rye_bread"].values["updated_at"] == "2026-06-20T08:00:00Z"
    assert found.report.left == {
        "home/scrap.md": "it has no type in its front matter, so it is no concept",
        "index.md": "reserved by the format",
    }
    assert found.report.lost == {"resource": 1, "generated.by": 1}
    assert list(found.report.notes) == ["Deprecated or stale, and marked as such in the text: 1."]


def test_a_project_keeps_its_bundle_in_a_folder_and_what_is_stale_says_so(tmp_path: Path) -> None:
    concept = "---\ntype: Fact\nstale_after: 2020-01-01\n---\nBees\n"
    folder = written(
        tmp_path, README="# A project\n", **{".okf/bees": concept, ".okf/new": concept.replace("2020", "2999")}
    )
    found = read(OKF, folder)
    assert {key: row.values["content"] for key, row in found.rows.items()} == {
        "okf_bees": "Bees\nStatus: stale since 2020-01-01",
        "okf_new": "Bees",
    }


def test_likeness_is_that_of_the_index_or_of_the_concepts(tmp_path: Path) -> None:
    folder = sample("okf", tmp_path)
    assert degree(OKF, folder) == 1
    (folder / "index.md").unlink()
    assert degree(OKF, folder) >= 0.5
    assert degree(OKF, folder / "home" / "rye-bread.md") >= 0.5
    for tool in ("openclaw", "claude_code", "basic_memory"):
        assert degree(OKF, sample(tool, tmp_path)) == 0


@given(ROWS, st.none() | TEXT)
def test_what_is_written_is_read_back_exactly(values: list[dict[str, object]], agent: str | None) -> None:
    rows = [StoredRow("", dict(one), None, agent) for one in values]  # type: ignore[arg-type]
    with TemporaryDirectory() as name:
        folder = Path(name)
        put(folder, rows)
        back = [row for _, row in OKF.memories(Source(folder), Report())]
        assert sorted(map(told, back)) == sorted(map(told, rows))
        assert degree(OKF, folder) == 1


def told(row: StoredRow) -> str:
    """All that has to come back, as text that tells 1 from 1.0 and is the same for every nan."""
    return repr((row.agent, sorted(row.values.items())))


def put(folder: Path, rows: Sequence[StoredRow]) -> list[str]:
    """Writes a bundle; the paths in the order they came, none twice on any file system."""
    paths = []
    for path, data in bundle(rows, NOW):
        assert not path.is_absolute()
        assert ".." not in path.parts
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
        paths.append(str(path))
    assert len({path.casefold() for path in paths}) == len(paths)
    return paths


def test_file_names_are_slugs_that_every_system_takes(tmp_path: Path) -> None:
    keys = ["../../etc/passwd", "a b", "a_b", "A.B", "index", "log", "con", "养蜂", "🐝", ""]
    paths = put(tmp_path, [memory_row(key, key or "Bees", "core", created="2026-01-01T00:00:00Z") for key in keys])
    assert paths[:8] == [
        "core/etc_passwd.md",
        "core/a_b.md",
        f"core/a_b_{digest('a_b')}.md",
        f"core/a_b_{digest('A.B')}.md",
        f"core/index_{digest('index')}.md",
        f"core/log_{digest('log')}.md",
        "core/con_.md",
        "core/养蜂.md",
    ]
    assert paths[-1] == "index.md"


def test_the_index_says_the_version_and_links_every_memory(tmp_path: Path) -> None:
    rows = [
        memory_row("hive_care", "Bees", "core", created="2026-01-01T00:00:00Z"),
        memory_row("[x](y)", "Wax", "daily", created="2026-01-01T00:00:00Z"),
    ]
    put(tmp_path, rows)
    assert (tmp_path / "index.md").read_text(encoding="utf-8") == (
        '---\nokf_version: "0.2"\n---\n\n# ZeroClaw memories\n\n'
        "# core\n\n* [hive\\_care](core/hive_care.md)\n\n# daily\n\n* [\\[x\\](y)](daily/x_y.md)\n"
    )


@pytest.mark.parametrize("by", ["new", "core_elsewhere"])
def test_a_superseded_memory_is_deprecated_and_names_the_newer_one(tmp_path: Path, by: str) -> None:
    """ZeroClaw writes the newer one's key, and never asks whether it is there: whatever stands there hides a memory."""
    newer = StoredRow("id-2", {"key": "new", "content": "Rye", "category": "core"})
    older = StoredRow("id-1", {"key": "old", "content": "White", "category": "core", "superseded_by": by})
    put(tmp_path, [older, newer])
    assert "\nstatus: deprecated\n" in (tmp_path / "core" / "old.md").read_text()
    assert read(OKF, tmp_path).rows["old"].values["superseded_by"] == by


def test_what_was_edited_by_hand_counts(tmp_path: Path) -> None:
    put(tmp_path, [memory_row("hive", "Ten\rframes", "core", created="2026-01-01T00:00:00Z", importance=0.5)])
    path = tmp_path / "core" / "hive.md"
    path.write_text(path.read_text().replace("Ten\nframes", "Twelve frames"))
    values = read(OKF, tmp_path).rows["hive"].values
    assert values["content"] == "Twelve frames"
    assert values["importance"] == 0.5


@pytest.mark.parametrize(
    "own",
    [
        "zeroclaw: text",
        "zeroclaw: {key: [1]}",
        "zeroclaw: {key: {base64: '!'}, category: a}",
        "zeroclaw: {key: {surrogates: 7aCA}, category: a}",
    ],
)
def test_a_row_of_ours_that_was_tampered_with_is_read_as_any_concept(tmp_path: Path, own: str) -> None:
    found = read(OKF, written(tmp_path, bees=f"---\ntype: Note\n{own}\n---\n\nBees\n"))
    assert list(found.rows) == ["okf_bees"]
    assert found.report.lost == {"zeroclaw": 1}


def test_what_would_not_be_read_back_is_refused() -> None:
    def row(key: str, content: str) -> StoredRow:
        return memory_row(key, content, "core", created="2026-01-01T00:00:00Z")

    for one in (row("k", "a" * 4_200_000), row("k" * 70_000, "Bees"), row("k", "a\r" * 40_000)):
        with pytest.raises(Refused, match="too large"):
            list(bundle([one], NOW))
    with pytest.raises(Refused, match="too many files"):
        list(bundle([row("k", "Bees")] * 50_000, NOW))


def test_a_row_of_ours_without_a_date_has_that_of_its_concept_or_of_its_file(tmp_path: Path) -> None:
    text = "---\ntype: Note\ntimestamp: 2026-06-20T08:00:00Z\nzeroclaw: {key: hive, category: core}\n---\n\nBees\n"
    folder = written(tmp_path, bees=text, wax="---\ntype: Note\n---\nWax\n")
    os.utime(folder / "wax.md", (1_780_000_000, 1_780_000_000))
    found = read(OKF, folder)
    assert found.rows["hive"].values["created_at"] == "2026-06-20T08:00:00Z"
    assert found.of("Wax").values["created_at"] == WRITTEN
    assert found.report.guessed_dates == 1
