"""Whatever is in the files, a reader of notes gives whole memories under keys of their own, and opens nothing else."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st
from note_samples import DATA, FORMATS, degree, read, sample, written

from zeroclaw_tui.curation.formats.foreign import ForeignFormat
from zeroclaw_tui.memory.errors import InspectorError

ORIGINALS = sorted(
    path.relative_to(DATA / "formats") for tool in FORMATS for path in (DATA / "formats" / tool).rglob("*.md")
)
PIECES = st.sampled_from(
    [b"- ", b"# ", b"> ", b"**", b"[[", b"]]", b"\n", b"\r", b"\t", b"\x00", b"\xff", b"{", b"[", b"|"]
) | st.sampled_from(
    ["---\n", "```\n", "[a](b.md)", ": ", "&a ", "*a", "permalink: x\n", "type: note\n", "2026-99-99", "🐝"]
).map(str.encode)


@st.composite
def broken_files(draw: st.DrawFn) -> tuple[Path, bytes]:
    """One of the samples, cut, spliced and sprinkled."""
    chosen = draw(st.sampled_from(ORIGINALS))
    data = (DATA / "formats" / chosen).read_bytes()
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(data)))
        behind = draw(st.integers(at, min(len(data), at + 40)))
        data = data[:at] + draw(PIECES | st.binary(max_size=5)) + data[behind:]
    return chosen, data


@given(broken_files())
def test_broken_notes_are_read_twice_alike_or_named(broken: tuple[Path, bytes]) -> None:
    with TemporaryDirectory() as name:
        path, data = broken
        reader = FORMATS[path.parts[0]]
        folder = sample(path.parts[0], Path(name))
        (folder.parent / path).write_bytes(data)
        first, second = read(reader, folder), read(reader, folder)
        assert first.rows == second.rows
        assert all(row.values["created_at"] for row in first.rows.values())
        assert all(str(row.values["content"]).strip() for row in first.rows.values())
        degree(reader, folder)


@given(broken_files(), st.sampled_from(list(FORMATS)))
def test_one_broken_file_is_read_or_refused_by_every_reader(broken: tuple[Path, bytes], tool: str) -> None:
    with TemporaryDirectory() as name:
        path, data = broken
        file = Path(name) / path.name
        file.write_bytes(data)
        with suppress(InspectorError):
            degree(FORMATS[tool], file)
            read(FORMATS[tool], file)


@pytest.mark.parametrize("tool", FORMATS)
def test_links_in_a_folder_lead_nowhere(tool: str, tmp_path: Path) -> None:
    secret = written(tmp_path / "elsewhere", secret="---\ntype: Note\npermalink: s\n---\nthe password\n")
    folder = sample(tool, tmp_path)
    before = read(FORMATS[tool], folder).rows
    for path in (folder, *(path for path in folder.rglob("*") if path.is_dir())):
        (path / "secret.md").symlink_to(secret / "secret.md")
        (path / "more").symlink_to(secret)
        os.mkfifo(path / "pipe.md")
    assert read(FORMATS[tool], folder).rows == before


@pytest.mark.parametrize("tool", FORMATS)
def test_every_sample_looks_most_like_its_own_tool(tool: str, tmp_path: Path) -> None:
    folder = sample(tool, tmp_path)
    degrees = {name: degree(reader, folder) for name, reader in FORMATS.items()}
    assert max(degrees, key=lambda name: degrees[name]) == tool
    assert all(found < 0.5 for name, found in degrees.items() if name != tool)


@pytest.mark.parametrize("reader", FORMATS.values(), ids=FORMATS)
def test_an_empty_folder_and_other_files_look_like_nothing(reader: ForeignFormat, tmp_path: Path) -> None:
    assert degree(reader, tmp_path) == 0
    (tmp_path / "notes.txt").write_text("- [fact] Bees [[Wax]]")
    (tmp_path / "memory.json").write_text("{}")
    assert degree(reader, tmp_path) == 0
    assert degree(reader, tmp_path / "memory.json") == 0
    assert not read(reader, tmp_path).rows
