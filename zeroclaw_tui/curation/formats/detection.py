"""Which tool wrote a file or folder of memories, by its content."""

from __future__ import annotations

import codecs
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

from zeroclaw_tui.backends.factory import backend_info, backend_of_file
from zeroclaw_tui.backends.fallback import copied_by
from zeroclaw_tui.curation.formats.foreign import CERTAIN, ForeignFormat, Likeness, nested_json
from zeroclaw_tui.curation.formats.front_matter import INSTRUCTIONS
from zeroclaw_tui.curation.formats.graphs import ServerMemory
from zeroclaw_tui.curation.formats.jsonl import MARK
from zeroclaw_tui.curation.formats.old_claude_code import ClaudeCodeMemory
from zeroclaw_tui.curation.formats.old_mem0 import Mem0
from zeroclaw_tui.curation.formats.old_openclaw import WORKSPACE_INSTRUCTIONS, OpenClawWorkspace
from zeroclaw_tui.curation.formats.old_rmem import RMemJson
from zeroclaw_tui.curation.formats.old_source import Report, Source
from zeroclaw_tui.curation.formats.own import TITLE
from zeroclaw_tui.memory.errors import InspectorError, UsageError
from zeroclaw_tui.memory.text import cut, one_line

FORMATS: tuple[ForeignFormat, ...] = (
    OpenClawWorkspace(),
    ClaudeCodeMemory(),
    ServerMemory(),
    RMemJson(),
    Mem0(),
)
"""Every format of another tool, in the order in which people are told of them."""

Own = Literal["jsonl", "csv", "markdown", "snapshot", "database"]
"""What of ZeroClaw's own a file is: an export of this program in one of three formats, ZeroClaw's MEMORY_SNAPSHOT.md,
or a ZeroClaw database."""

_SURE = 0.9
_LOOKED_AT = 64 * 1024
_LONGEST_NAME = 40
_SNAPSHOT = "# 🧠 ZeroClaw Memory Snapshot"
_FOR_READERS = re.compile(r"(readme|change|contributing|code_of_conduct|licen[cs]e|security|history|todo)")
"""How Markdown is called that a project has for people."""
_ELSEWHERE = "Name the file or directory of the memories."
_INSTRUCTIONS = {
    **dict.fromkeys(
        WORKSPACE_INSTRUCTIONS, "Name its directory with `--from openclaw --with instructions` to import them."
    ),
    **dict.fromkeys(INSTRUCTIONS, "Pass `--from claude --with instructions` to import them."),
}
"""What brings in the instructions of an agent, by the names of their files."""
_DATABASES = (".db", ".sqlite", ".sqlite3")
_ZEROCLAWS = frozenset({"id", "key", "content", "category", "created_at"})
_WAYS: dict[Own, tuple[str, str]] = {
    "jsonl": ("an export of ZeroClaw's memories", "Import it without --from."),
    "csv": ("a table of ZeroClaw's memories", "Import it without --from."),
    "markdown": (
        "a Markdown export, which is for reading",
        "`zeroclaw memory export FILE.jsonl` writes a file that can be imported.",
    ),
    "snapshot": ("a snapshot of ZeroClaw", "Import it with `zeroclaw memory hydrate`."),
    "database": (
        "a ZeroClaw database",
        "",
    ),
}
"""What each is, and what to do with it; copying a database needs its path."""


@dataclass(frozen=True, slots=True)
class Detected:
    """A format, and why it is taken for that: `why` completes the sentence "It looks like X: …".

    `degree` is that of `Likeness`, 1.0 for a format that was named.
    """

    format: ForeignFormat
    why: str
    degree: float = 1.0


def detect(source: Source, name: str | None = None) -> Detected:
    """The format of a source by its content, or the one of that name. Blocks.

    Raises UsageError for a name nobody has, for what is ZeroClaw's own, and what `foreign` raises.
    """
    if name is not None:
        return _named(source, name)
    own = own_format(source)
    if own is not None:
        raise is_own(source, own)
    refuse_store(source)
    return foreign(source)


def is_own(source: Source, format: Own) -> UsageError:
    """The error for what is ZeroClaw's own, where another tool's is wanted."""
    what, way = _WAYS[format]
    return UsageError(f"{source.name} is {what}.", hint=way or copied_by(source.path))


def refuse_store(source: Source) -> None:
    """Raise UsageError for the store of another program that this program opens: it is copied. Blocks."""
    profile = None if source.is_folder else backend_info(backend_of_file(source.path) or "")
    if profile is not None:
        raise UsageError(f"{source.name} is a store of {profile.title}.", hint=copied_by(source.path))


def foreign(source: Source) -> Detected:
    """The other tool that wrote a source which is none of ZeroClaw's own. Blocks.

    Raises UsageError where nothing is certain, where two formats are equally so, or a folder is surely of two tools;
    and what Source raises where a broken file kept every format from being certain.
    """
    found: list[tuple[Likeness, ForeignFormat]] = []
    failure: InspectorError | None = None
    for tool in FORMATS:
        try:
            likeness = tool.likeness(source)
        except InspectorError as error:
            failure = failure or error
            continue
        if likeness is not None:
            found.append((likeness, tool))
    found.sort(key=lambda one: one[0].degree, reverse=True)
    if not found or found[0][0].degree < CERTAIN:
        if failure is not None and not found:
            raise failure
        raise _uncertain(source, found)
    likeness, tool = found[0]
    least = min(likeness.degree, _SURE) if source.is_folder else likeness.degree
    alike = [one for one in found if one[0].degree >= least]
    if len(alike) > 1:
        raise _Undecided(source, alike)
    return Detected(tool, likeness.why, likeness.degree)


def own_format(source: Source) -> Own | None:
    """What of ZeroClaw's own a file is, by its content; None for any other file and for a folder. Blocks."""
    if source.is_folder:
        return None
    (file,) = source.files()
    if source.is_database(file):
        return "database" if _is_zeroclaws(source, file) else None
    start = source.head(file, _LOOKED_AT).removeprefix(codecs.BOM_UTF8).decode("utf-8", "replace")
    first = start.partition("\n")[0].strip()
    if first == TITLE:
        return "markdown"
    if first.startswith(_SNAPSHOT):
        return "snapshot"
    if {"key", "content"} <= {cell.strip().strip('"').lower() for cell in first.split(",")}:
        return "csv"
    parts = nested_json(first)
    if isinstance(parts, dict) and (MARK in parts or {"key", "content"} <= parts.keys()):
        return "jsonl"
    # A first line that is longer than what was looked at.
    return "jsonl" if len(first) == len(start) and first.startswith(f'{{"{MARK}"') else None


def _is_zeroclaws(source: Source, file: PurePosixPath) -> bool:
    return source.columns(file, "memories") >= _ZEROCLAWS


def _has_database(source: Source) -> bool:
    """Whether a ZeroClaw database is right in a folder."""
    for file in source.files():
        if source.is_folder and len(file.parts) == 1 and file.suffix.lower() in _DATABASES:
            # A file that cannot be read decides nothing.
            with suppress(InspectorError):
                if _is_zeroclaws(source, file):
                    return True
    return False


def _named(source: Source, name: str) -> Detected:
    for tool in FORMATS:
        if tool.name == name:
            return Detected(tool, "--from says so")
    raise UsageError(f"No format is called {cut(one_line(name), _LONGEST_NAME)!r}.", hint=f"There are {_tried()}.")


class _Undecided(UsageError):
    """What may be of several tools. `titles` is what people call these."""

    def __init__(self, source: Source, alike: Sequence[tuple[Likeness, ForeignFormat]]) -> None:
        which = "; ".join(f"{tool.name}, because {likeness.why}" for likeness, tool in alike)
        super().__init__(f"{source.name} could be of several tools: {which}.", hint="--from NAME decides.")
        self.titles = " and ".join(tool.title for _, tool in alike)
        self.is_sure = all(likeness.degree >= _SURE for likeness, _ in alike)


def _has_memories(tool: ForeignFormat, source: Source) -> bool:
    """Whether a format that is not certain would read anything."""
    try:
        return any(True for _ in tool.memories(source, Report()))
    except InspectorError:
        return False


def _tried() -> str:
    return ", ".join(tool.name for tool in FORMATS)


def _uncertain(source: Source, found: Sequence[tuple[Likeness, ForeignFormat]]) -> UsageError:
    """The error for what no format is certain of. Raises UsageError for Markdown that is no UTF-8."""
    if _has_database(source):
        return UsageError(f"{source.name} holds {_WAYS['database'][0]}.", hint=copied_by(source.path))
    if not source.is_folder:
        name = source.path.name.lower()
        if not source.head(source.files()[0], 1):
            return UsageError(f"{source.name} is empty.", hint=_ELSEWHERE)
        if name in _INSTRUCTIONS:
            what = "has the name of a file of instructions, not of memories"
            return UsageError(f"{source.name} {what}.", hint=_INSTRUCTIONS[name])
    nearest = ""
    if found:
        likeness, tool = found[0]
        nearest = f" It is most like {tool.title}: {likeness.why}."
    return UsageError(
        f"{source.name} is not in a format I recognise.{nearest}",
        hint=f"Looked for: {_tried()}. {_way_on(source, found[0][1] if found else None)}",
    )


def _way_on(source: Source, nearest: ForeignFormat | None) -> str:
    """What can be done with a source that no format is certain of."""
    name = "" if source.is_folder else source.path.name.lower()
    is_markdown = name.endswith(".md")
    if is_markdown:
        source.text(source.files()[0])
    if is_markdown and _FOR_READERS.match(name):
        return _ELSEWHERE
    if nearest is not None and _has_memories(nearest, source):
        return f"`--from {nearest.name}` reads it as that."
    if is_markdown:
        return "If these are notes, `--from openclaw` makes a memory of each bullet and paragraph."
    return _ELSEWHERE
