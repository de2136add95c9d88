"""Memories of other tools: how each format is recognised by its content, and how it is converted."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.memories import InspectorError, Row, UsageError

from zeroclaw_tui.curation.formats.source import Source
from zeroclaw_tui.curation.transfer.imports import find_format

DATA = Path(__file__).parents[2] / "data"
SAMPLES = {
    "openclaw": "openclaw",
    "claude_code": "claude",
    "server_memory.jsonl": "mcp",
    "mem0.json": "mem0",
    "rmem.json": "rmem",
}
TOOLS = sorted(set(SAMPLES.values()))
BEES = {"id": "9a1b0000-0000-4000-8000-000000000001", "memory": "Mila keeps bees", "user_id": "mila"}


def _read(path: Path, name: str | None = None) -> tuple[list[Row], Counter[str]]:
    source, lost = Source(path), Counter[str]()
    rows = list(find_format(source, name).read(source, lost))
    assert len({(row.agent, row.key) for row in rows}) == len(rows), "a key occurs twice"
    return rows, lost


def _contents(path: Path, name: str | None = None) -> list[Any]:
    return [row.values["content"] for row in _read(path, name)[0]]


def _written(folder: Path, **files: str) -> Path:
    """Create a folder with these files: `memory__a` is memory/a.md."""
    for name, text in files.items():
        path = folder / f"{name.replace('__', '/')}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def _is_known(path: Path) -> bool:
    try:
        find_format(Source(path))
    except InspectorError:
        return False
    return True


def _json(folder: Path, document: Any) -> Path:
    (folder / "x.json").write_text(json.dumps(document))
    return folder / "x.json"


@pytest.mark.parametrize(
    ("sample", "expected", "losses"),
    [
        (
            "openclaw",
            {
                "openclaw_memory_timezone_0f45e002": "core: **timezone**: Europe/Riga",
                "openclaw_memory_home_1b088809": "core: Mila keeps bees",
                "openclaw_user_name_42b0cdbc": "core: **Name:** Mila",
                "openclaw_2026_03_01_0715_conversation_summary_4a6e85e8": (
                    "conversation: user: How many frames?\nassistant: Ten."
                ),
                "openclaw_2026_03_01_hive_plan_70956f0d": "daily: The stand goes behind the shed",
                "openclaw_2026_03_01_8579d6eb": "daily: Ordered new hive frames",
                "openclaw_2026_03_01_ab379322": "daily: To open the hive:",
                "openclaw_2026_03_01_b4b35afb": "daily: ```sh\n# smoke first\n\nopen hive\n```",
                "openclaw_2026_03_01_31612c67": "daily: | frame | age |\n|---|---|\n| 1 | 2 |",
            },
            {"memories without text": 2},
        ),
        (
            "claude_code",
            {
                "claude_2e5db843": "core: [Smoker](smoker.md) — what the smoker burns",
                "claude_claude_code_feedback_answers": (
                    "feedback: Mila wants answers of three lines\n\nKeep answers short."
                ),
                "claude_claude_code_frame_change": (
                    "project: When frames are swapped\n\nFrames are swapped in April. See [[smoker]]."
                ),
            },
            {},
        ),
        (
            "server_memory.jsonl",
            {
                "mcp_mila_50b0a783": "person: Mila: Keeps bees",
                "mcp_mila_61c0a350": "person: Mila: Prefers rye bread",
                "mcp_mila_b21d15af": "relation: Mila runs Honey stall",
            },
            {},
        ),
        (
            "mem0.json",
            {"mem0_9a1b00000000": "hobbies: Mila keeps bees", "mem0_9a1b00000003": "core: Deploys on Fridays"},
            {"hash": 1, "metadata": 1, "role": 1, "expired memories": 1, "memories without text": 1},
        ),
        (
            "rmem.json",
            {
                "rmem_0b0e7c1e0000": "personal: Mila keeps bees on the roof",
                "rmem_1c1f8d2f0000": "core: Mila prefers rye bread",
            },
            {},
        ),
    ],
    ids=SAMPLES,
)
def test_each_tool_is_read_with_stable_keys(sample, expected, losses):
    source = Source(DATA / "formats" / sample)
    assert find_format(source).name == SAMPLES[sample]
    rows, lost = _read(source.path)
    assert {row.key: f"{row.values['category']}: {row.values['content']}" for row in rows} == expected
    assert lost == losses
    assert _read(source.path)[0] == rows


def test_owner_session_and_times_are_read():
    def stated(sample, key):
        row = next(row for row in _read(DATA / "formats" / sample)[0] if row.key == key)
        return row.agent, {name: row.values[name] for name in row.values if name not in ("key", "content", "category")}

    assert stated("mem0.json", "mem0_9a1b00000003") == (
        "helper",
        {"created_at": "2026-02-03T10:00:00Z", "namespace": "mila", "session_id": "r1"},
    )
    assert stated("rmem.json", "rmem_0b0e7c1e0000") == (
        None,
        {"created_at": "2026-04-10T09:00:00+00:00", "updated_at": "2026-04-10T09:00:00+00:00", "namespace": "mila"},
    )
    assert stated("server_memory.jsonl", "mcp_mila_b21d15af") == (None, {"kind": '{"semantic":"fact"}'})
    assert stated("claude_code", "claude_claude_code_frame_change")[1] == {
        "created_at": "2026-07-18T11:38:01.470Z",
        "updated_at": "2026-07-18T11:38:01.470Z",
        "namespace": "claude_code",
        "session_id": "0b0e7c1e-0000-4000-8000-000000000002",
    }
    assert stated("openclaw", "openclaw_2026_03_01_0715_conversation_summary_4a6e85e8")[1] == {
        "created_at": "2026-03-01T00:00:00+00:00"
    }


def test_a_folder_of_two_tools_is_read_as_one_or_the_requested_tool(tmp_path):
    shutil.copytree(DATA / "formats" / "claude_code" / "memory", tmp_path / "memory")
    _written(tmp_path, MEMORY="- Bees\n", **{f"memory/2026-03-0{day}": "- Wax\n" for day in range(1, 8)})
    assert find_format(Source(tmp_path)).name == "claude"
    assert {"Bees", "- Wax"} <= set(_contents(tmp_path))
    assert "Bees" in _contents(tmp_path, "openclaw")
    with pytest.raises(UsageError, match="'mem1'"):
        find_format(Source(tmp_path), "mem1")


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("README.md", b"# Hive\n", "no format that is known"),
        ("x.json", b'[{"name": "hive", "memory": "16 GB"}]', "no format that is known"),
        ("x.json", b'[{"user_id": "mila", "memory": {"limit": 5}}]', "no format that is known"),
        ("graph.jsonl", b'{"id": "1", "labels": [], "properties": {}}\n{"id": "2"}\n', "no format that is known"),
        ("x", b"", "is empty"),
    ],
)
def test_a_file_of_no_known_tool_is_refused_with_a_sentence(tmp_path, name, data, reason):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(InspectorError, match=reason) as failure:
        find_format(Source(tmp_path / name))
    assert failure.value.hint


@pytest.mark.parametrize("name", ["mem0", "rmem"])
def test_a_file_that_was_cut_off_is_not_empty(tmp_path, name):
    (tmp_path / "x.json").write_bytes((DATA / "formats" / f"{name}.json").read_bytes()[:-9])
    with pytest.raises(UsageError, match="is not readable JSON"):
        _read(tmp_path / "x.json", name)


def test_zeroclaws_own_files_are_not_a_foreign_format(tmp_path):
    days = "# Daily Log — 2026-03-01\n\n- **k**: v\n"
    _written(tmp_path / "seeded", MEMORY="# MEMORY.md\n\n## Facts\n- none yet\n", USER="# USER\n- Mila\n")
    _written(tmp_path / "seeded", **{"memory/2026-03-01": days})
    _written(tmp_path / "export", MEMORY="# ZeroClaw memories\n\n- [Bees](bees.md)\n")
    for path in (DATA / "markdown", DATA / "snapshots", tmp_path / "seeded", tmp_path / "export", tmp_path):
        assert not _is_known(path)


def test_claude_code_memories_have_their_project_as_namespace(tmp_path):
    for project, name in (("-home-mila-hive", "a"), ("-home-mila-bread", "b")):
        topic = f"---\nname: {name}\ndescription: b\ntype: user\n---\nBees\n"
        index = f"- [A]({name}.md) — where they live\n- [Secret](../../secret.md) — one\n\n# Prose\n\nMoved.\n- May\n"
        _written(tmp_path / "projects" / project / "memory", MEMORY=index, **{name: topic})
    _written(tmp_path, agents__helper="---\nname: helper\ndescription: helps\ntype: user\n---\nYou help.\n")
    _written(tmp_path / "projects", secret="the password")
    rows, _ = _read(tmp_path)
    assert [(row.values["namespace"], row.values["content"]) for row in rows] == [
        ("home-mila-bread", "[Secret](../../secret.md) — one"),
        ("home-mila-bread", "Moved."),
        ("home-mila-bread", "May"),
        ("home-mila-bread", "b\n\nBees"),
        ("home-mila-hive", "b\n\nBees"),
    ]


@pytest.mark.parametrize(
    "front",
    ["a: &x [1]\nb: *x", "!!python/object:os.system {}", "a: b: c", "a: [", "- list", "[" * 30_000],
    ids=["alias", "object", "two colons", "open", "list", "deep"],
)
def test_front_matter_is_read_without_trust(tmp_path, front):
    folder = _written(tmp_path, MEMORY="- Bees\n", **{"memory/2026-03-01": f"---\n{front}\n---\n\n- Wax\n"})
    assert "Wax" in _contents(folder, "openclaw")


def test_repeated_memories_and_keys_are_distinguished(tmp_path):
    twice = [BEES, BEES, {**BEES, "memory": "Mila sells honey"}]
    rows, lost = _read(_json(tmp_path, twice))
    assert [row.key for row in rows] == ["mem0_9a1b00000000", "mem0_9a1b00000000_2c925669"]
    assert lost == {"memories that come twice": 1}
    assert _read(_json(tmp_path, twice[2:]))[0][0].values["content"] == "Mila sells honey"


_NAMES = st.sampled_from(
    [
        *("name", "entityType", "observations", "type", "from", "to", "relationType", "entities", "relations"),
        *("results", "memory", "id", "user_id", "agent_id", "metadata", "categories", "created_at", "createdAt"),
        *("expiration_date", "content", "text", "category", "data", "success", "timestamp"),
    ]
)
_TIMES = st.sampled_from(["0001-01-01", "9999-12-31 23:59:59", "0001-01-01T00:00:00+14:00", "2026-W01-1"])
_LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12) | _TIMES
_VALUES = st.recursive(
    _LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_NAMES, inner, max_size=6), max_leaves=25
)


def _read_or_refuse(path: Path) -> None:
    _is_known(path)
    for name in TOOLS:
        try:
            rows, _ = _read(path, name)
        except InspectorError:
            continue
        for row in rows:
            assert str(row.values["content"]).strip()
            for value in (row.agent, *row.values.values()):
                str(value).encode()


@given(document=st.lists(st.dictionaries(_NAMES, _VALUES, max_size=8), max_size=5) | _VALUES, is_lines=st.booleans())
def test_any_json_is_read_or_refused(document, is_lines):
    parts = document if is_lines and isinstance(document, list) else [document]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "x.json"
        path.write_text("\n".join(json.dumps(part) for part in parts), encoding="utf-8")
        _read_or_refuse(path)


@given(data=st.data(), sample=st.sampled_from(list(SAMPLES)))
def test_any_broken_file_is_read_or_refused(data, sample):
    original = DATA / "formats" / sample
    with TemporaryDirectory() as folder:
        path = Path(folder) / sample
        if original.is_dir():
            shutil.copytree(original, path)
        else:
            shutil.copy(original, path)
        file = path if path.is_file() else data.draw(st.sampled_from(sorted(path.rglob("*.md"))))
        content = file.read_bytes()
        start = data.draw(st.integers(0, len(content)))
        end = data.draw(st.integers(start, min(len(content), start + 40)))
        pieces = st.sampled_from([b"- ", b"# ", b"**", b"[[", b"\n", b"\r", b"\x00", b"\xff", b"{", b"---\n", b"&a "])
        file.write_bytes(content[:start] + data.draw(pieces | st.binary(max_size=5)) + content[end:])
        _read_or_refuse(path)
