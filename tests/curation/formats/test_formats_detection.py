"""The tool that wrote a source is told by its content; nothing of ZeroClaw's own is ever taken for another's."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from format_sources import DATA, FILES, RMEM, ZEROCLAW, database, read

from zeroclaw_tui.curation.formats.detection import FORMATS, detect, own_format
from zeroclaw_tui.curation.formats.foreign import ForeignFormat
from zeroclaw_tui.curation.formats.old_source import Source
from zeroclaw_tui.curation.formats.own import section, title
from zeroclaw_tui.memory.change import Row
from zeroclaw_tui.memory.errors import InspectorError, Unreadable, UsageError

TEST_DATA = DATA.parent
OWN = {
    "jsonl": b'{"zeroclaw_memories": 1, "exported": "2026-01-01"}\n{"key": "a", "content": "A"}\n',
    "csv": b"key,content,category\r\na,A,core\r\n",
    "markdown": b"# ZeroClaw memories\n\n",
}


@pytest.mark.parametrize(("name", "format"), FILES.items())
@pytest.mark.parametrize("called", ["notes.txt", "memory.json", "x.md"])
def test_a_file_is_known_whatever_it_is_called(tmp_path: Path, name: str, format: str, called: str) -> None:
    shutil.copy(DATA / name, tmp_path / called)
    found = detect(Source(tmp_path / called))
    assert found.format.name == format
    assert found.why


def test_a_folder_is_known_by_what_lies_in_it() -> None:
    assert detect(Source(DATA / "claude_code")).format.name == "claude"
    assert detect(Source(DATA / "openclaw")).format.name == "openclaw"


@pytest.mark.parametrize("own", OWN)
@pytest.mark.parametrize("called", ["memory.jsonl", "x.json", "x.md"])
def test_our_own_exports_are_no_other_tools(tmp_path: Path, own: str, called: str) -> None:
    (tmp_path / called).write_bytes(OWN[own])
    assert own_format(Source(tmp_path / called)) == own
    way = "export FILE.jsonl" if own == "markdown" else "Import it without --from"
    with pytest.raises(UsageError, match=way):
        detect(Source(tmp_path / called))


@pytest.mark.parametrize("path", sorted((TEST_DATA / "snapshots").glob("zeroclaw_*.md")), ids=lambda path: path.stem)
def test_a_snapshot_of_zeroclaw_leads_to_hydrate(path: Path) -> None:
    with pytest.raises(UsageError, match="zeroclaw memory hydrate"):
        detect(Source(path))


@pytest.mark.parametrize("path", sorted((TEST_DATA / "sqlite").glob("*.db")), ids=lambda path: path.stem)
def test_a_database_of_zeroclaw_leads_to_copy(path: Path, tmp_path: Path) -> None:
    copied = Path(shutil.copy(path, tmp_path / "brain.db"))
    for named in (copied, tmp_path):
        with pytest.raises(UsageError, match="zeroclaw memory copy"):
            detect(Source(named))


def test_the_store_of_another_program_leads_to_copy(tmp_path: Path) -> None:
    for path in (database(tmp_path / "rustmem.db", RMEM), DATA / "memory_rs.json"):
        with pytest.raises(UsageError, match=rf"{path.name} is a store of .*`zeroclaw memory copy --location {path} "):
            detect(Source(path))


@pytest.mark.parametrize("tool", FORMATS, ids=lambda tool: tool.name)
def test_no_format_sees_itself_in_zeroclaws_own(tmp_path: Path, tool: ForeignFormat) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    paths = [database(tmp_path / "brain.db", ZEROCLAW), notes, TEST_DATA / "markdown", TEST_DATA / "snapshots"]
    row = Row("", {"key": "k", "content": "- [fact] Bees [[Wax]]", "category": "core"})
    exported = {notes / "MEMORY.md": title("2026-11-23", "sqlite") + section(row)}
    for path, data in (exported | {tmp_path / own: data for own, data in OWN.items()}).items():
        path.write_bytes(data)
        paths.append(path)
    for path in paths:
        likeness = tool.likeness(Source(path))
        assert likeness is None or likeness.degree < 0.5


def test_a_name_that_is_given_decides(tmp_path: Path) -> None:
    (tmp_path / "MEMORY.md").write_text("# A\n\nb\n")
    assert detect(Source(tmp_path / "MEMORY.md"), "claude").format.name == "claude"
    with pytest.raises(UsageError, match=r"'mem1'.*mem0"):
        detect(Source(tmp_path), "mem1")


def test_of_two_that_are_equally_certain_none_is_taken(tmp_path: Path) -> None:
    shutil.copy(DATA / "mem0.json", tmp_path)
    shutil.copy(DATA / "server_memory.jsonl", tmp_path)
    with pytest.raises(UsageError, match=r"mcp, because .*mem0, because .*--from NAME decides"):
        detect(Source(tmp_path))


def test_of_two_in_a_folder_a_person_decides(tmp_path: Path) -> None:
    here = tmp_path / "here"
    shutil.copytree(DATA / "claude_code", here)
    assert detect(Source(here)).format.name == "claude"
    shutil.copy(DATA / "mem0.json", here / "export.json")
    with pytest.raises(UsageError, match=r"could be of several tools: mem0, because .*; claude, because ") as several:
        detect(Source(here))
    assert several.value.hint == "--from NAME decides."


def test_what_nobody_knows_names_what_was_looked_for_and_what_comes_nearest(tmp_path: Path) -> None:
    (tmp_path / "memory.jsonl").write_text('{"id": "1", "labels": [], "properties": {}}\n{"id": "2"}\n')
    with pytest.raises(UsageError, match=r"is most like the MCP server.*properties.*Looked for: .*mem0\."):
        detect(Source(tmp_path / "memory.jsonl"))
    (tmp_path / "notes.txt").write_text("some text")
    with pytest.raises(UsageError, match="is not in a format I recognise"):
        detect(Source(tmp_path / "notes.txt"))


@pytest.mark.parametrize(
    ("name", "text", "told", "way"),
    [
        ("README.md", "# Hive\n", "is not in a format I recognise", "Name the file or directory of the memories."),
        (
            "pyproject.toml",
            "[project]\n",
            "is not in a format I recognise",
            "Name the file or directory of the memories.",
        ),
        (
            "tsconfig.json",
            "{ // bees\n",
            "is not in a format I recognise",
            "Name the file or directory of the memories.",
        ),
        ("notes.md", "# Hive\n\n- Wax\n", "is not in a format I recognise", "If these are notes, `--from openclaw`"),
        ("USER.md", "# Mila\n\n- Wax\n", "most like OpenClaw", "`--from openclaw` reads it as that."),
        ("CLAUDE.md", "- Run the tests\n", "instructions, not of memories", "`--from claude --with instructions`"),
        (
            "SOUL.md",
            "- Be kind\n",
            "instructions, not of memories",
            "its directory with `--from openclaw --with instructions`",
        ),
        ("notes.txt", "", "is empty", "Name the file or directory of the memories."),
    ],
)
def test_what_holds_no_memories_is_named_with_what_helps(
    tmp_path: Path, name: str, text: str, told: str, way: str
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(UsageError, match=rf"^{name} .*{told}") as failure:
        detect(Source(tmp_path / name))
    assert way in (failure.value.hint or "")


@pytest.mark.parametrize("name", ["CLAUDE.md", "SOUL.md", "notes.md", "USER.md"])
def test_what_is_said_to_help_does(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("- Run the tests\n")
    with pytest.raises(UsageError) as failure:
        detect(Source(tmp_path / name))
    hint = failure.value.hint or ""
    tool = next(tool for tool in FORMATS if f"--from {tool.name} " in hint or f"--from {tool.name}`" in hint)
    along = frozenset({"instructions"} if "--with instructions" in hint else ())
    rows, _ = read(tmp_path if "its directory" in hint else tmp_path / name, tool.taking(along))
    assert [row.values["content"] for row in rows.values()] in (["Run the tests"], ["- Run the tests"])


def test_a_broken_file_is_said_to_be_broken(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_bytes((DATA / "mem0.json").read_bytes()[:-30])
    with pytest.raises(UsageError, match="not JSON"):
        detect(Source(tmp_path / "x.json"))
    path = database(tmp_path / "x.db", RMEM)
    path.write_bytes(path.read_bytes()[:-87])
    with pytest.raises(Unreadable, match="cut off"):
        detect(Source(path))


@pytest.mark.parametrize("name", FILES)
def test_a_number_that_is_too_large_costs_its_own_field_alone(tmp_path: Path, name: str) -> None:
    text = (DATA / name).read_text(encoding="utf-8").replace('{"', f'{{"odd": {"9" * 5000}, "')
    (tmp_path / name).write_text(text, encoding="utf-8")
    # What has no date has that of its file.
    shutil.copystat(DATA / name, tmp_path / name)
    assert read(tmp_path / name)[0] == read(DATA / name)[0]


def test_a_broken_file_beside_does_not_hide_the_others(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"a": ')
    (tmp_path / "a.db").write_bytes(b"SQLite format 3\0" + b"x" * 1000)
    shutil.copy(DATA / "mem0.json", tmp_path / "b.json")
    source = Source(tmp_path)
    assert detect(source).format.name == "mem0"
    assert set(source.unread) == {"a.json"}


def test_a_json_file_is_parsed_once(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes((DATA / "mem0.json").read_bytes())
    source = Source(path)
    detect(source)
    path.write_bytes(b"{}")
    assert source.document(source.files()[0])["results"]
    with pytest.raises(InspectorError):
        detect(Source(path))
