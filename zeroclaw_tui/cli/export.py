"""`memory export`: write memories to a file, or to stdout.

With --json and a file the document is {"file", "count", "size", "format", "lost", "superseded_hidden", "filtered_out"}:
how many memories and bytes were written, sentences about what the format cannot hold, and how many memories were left
out because a newer one replaced them, or by the other filters. Nothing in an export is altered for spreadsheets.
"""

from __future__ import annotations

import argparse
import io
import sys
from codecs import getincrementaldecoder
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO

from zeroclaw_tui.cli.guard import Progress
from zeroclaw_tui.cli.output import GREEN, Styled, document, note, write_lines
from zeroclaw_tui.cli.selection import filter_given
from zeroclaw_tui.curation.formats.own import SUFFIXES, Format
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.transfer.export import Exported, Form, export_bundle, export_file, export_memories
from zeroclaw_tui.curation.words import left_out_words
from zeroclaw_tui.memory.errors import DONE, INTERRUPTED, Unreadable, WrongUse
from zeroclaw_tui.memory.query import MemoryFilter
from zeroclaw_tui.memory.text import counted, display_text, size_shown

STDOUT = "-"
BUNDLE = "okf"
_BUFFER = 1 << 18


async def export(library: Library, given: argparse.Namespace, now: datetime) -> int:
    """Write what the filters leave; what the format loses goes to stderr."""
    wanted = filter_given(given, now)
    if given.format == BUNDLE:
        return await _to_bundle(library, given, wanted)
    if given.file == STDOUT:
        return await _to_stdout(library, given, wanted)
    return await _to_file(library, given, wanted, expanded(given.file))


async def _to_stdout(library: Library, given: argparse.Namespace, wanted: MemoryFilter) -> int:
    if given.json:
        raise WrongUse(
            "Stdout takes the memories or a document about them, not both.",
            hint="Name a file for --json; --format jsonl writes JSON lines.",
        )
    # What stdout buffers of its own must come first.
    sys.stdout.flush()
    try:
        with Progress("Exporting", 0, library.memory.interrupt) as progress, _stdout() as out:
            exported = await export_memories(
                library, wanted, out, _format(given), vectors=given.vectors, advance=progress.advance
            )
    except BrokenPipeError:
        raise
    except OSError as error:
        raise Unreadable(
            f"Stdout cannot be written: {error.strerror}.", hint="Name a file in another place."
        ) from error
    if exported.cancelled:
        note(f"zeroclaw: Stopped after {counted(exported.count)}.")
    _tell_lost(exported)
    if exported.cancelled:
        return INTERRUPTED
    _tell_left_out(*await _left_out(library, wanted, exported))
    return DONE


def _stdout() -> BinaryIO:
    """With a buffer of its own: what is left in that of sys.stdout after a failure would fail again at the end."""
    out = open(sys.stdout.fileno(), "wb", buffering=_BUFFER, closefd=False)  # noqa: SIM115
    return io.BufferedWriter(_ForEyes(out)) if sys.stdout.isatty() else out


class _ForEyes(io.RawIOBase):
    """A terminal would act on what memories contain, so it is shown cleaned; files and pipes get the very bytes."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._decoder = getincrementaldecoder("utf-8")("replace")

    def writable(self) -> bool:
        """It is."""
        return True

    def write(self, data: Any) -> int:
        """Write what may be seen of it; all is taken."""
        self._out.write(display_text(self._decoder.decode(bytes(data))).encode("utf-8", "replace"))
        return len(data)

    def close(self) -> None:
        """Write what is left."""
        if not self.closed:
            self._out.close()
        super().close()


async def _to_file(library: Library, given: argparse.Namespace, wanted: MemoryFilter, path: Path) -> int:
    total = await library.memory.count()
    with Progress("Exporting", total, library.memory.interrupt) as progress:
        exported = await export_file(
            library, wanted, path, _format(given),
            vectors=given.vectors, overwrite=given.overwrite, advance=progress.advance,
        )  # fmt: skip
    return await _tell_file(library, given, wanted, path, exported)


async def _tell_file(
    library: Library, given: argparse.Namespace, wanted: MemoryFilter, path: Path, exported: Exported
) -> int:
    if exported.cancelled:
        note(f"zeroclaw: Stopped; {path} was not written.")
        return INTERRUPTED
    superseded, filtered = await _left_out(library, wanted, exported)
    if given.json:
        told = {"count": exported.count, "size": exported.size, "format": _format(given), "lost": list(exported.lost)}
        told |= {"superseded_hidden": superseded, "filtered_out": filtered}
        document({"file": str(path), **told})
        return DONE
    done = f" Exported {counted(exported.count)} to {path} ({size_shown(exported.size)})."
    write_lines([(Styled("✓", GREEN), done)])
    _tell_lost(exported)
    _tell_left_out(superseded, filtered)
    return DONE


async def _to_bundle(library: Library, given: argparse.Namespace, wanted: MemoryFilter) -> int:
    if given.file == STDOUT:
        raise WrongUse("Open Knowledge Format is a folder.", hint="Name the folder to make.")
    path = expanded(given.file)
    with Progress("Exporting", await library.memory.count(), library.memory.interrupt) as progress:
        exported = await export_bundle(library, wanted, path, advance=progress.advance)
    return await _tell_file(library, given, wanted, path, exported)


async def _left_out(library: Library, wanted: MemoryFilter, exported: Exported) -> tuple[int, int]:
    """How many superseded memories were left out, and how many others by the filters."""
    hidden = await library.superseded_hidden(wanted)
    return hidden, 0 if wanted.is_empty else max(0, await library.memory.count() - exported.count - hidden)


def _tell_left_out(superseded: int, filtered: int) -> None:
    if words := left_out_words(superseded, filtered):
        note(f"zeroclaw: {words}")


def expanded(name: str) -> Path:
    """A path as typed, with ~ as the home folder."""
    return Path(name).expanduser()


def _format(given: argparse.Namespace) -> Format | Form:
    named: Format | Form | None = given.format
    return named or SUFFIXES.get(Path(given.file).suffix.lower(), "jsonl")


def _tell_lost(exported: Exported) -> None:
    for sentence in exported.lost:
        note(f"zeroclaw: {sentence}")
