"""The options of the verbs of upkeep: hygiene, audit, snapshot, hydrate, doctor, compact, reindex, export, import,
copy."""

from __future__ import annotations

import argparse

from zeroclaw_tui.cli.reading_options import AddVerb, add_filters, count, positive
from zeroclaw_tui.curation.formats import ALONG

FORMATS = ("jsonl", "csv", "markdown")


def add_upkeep_verbs(verb: AddVerb) -> None:
    """Every verb of upkeep."""
    _add_hygiene(verb("hygiene", "what ZeroClaw's hygiene would archive and delete, and doing it with undo"))
    _add_audit(verb("audit", "what pollutes the memory: duplicates, recall blobs, tool results, secrets and more"))
    _add_snapshot(
        verb("snapshot", "write MEMORY_SNAPSHOT.md as ZeroClaw does, with a copy beside it that loses nothing")
    )
    _add_hydrate(verb("hydrate", "bring memories of a snapshot into the store, or make an empty store of it"))
    _add_doctor(verb("doctor", "what is wrong with the store, the risk of it, and its repair"))
    _add_compact(verb("compact", "make the database file small, when no other program has it open"))
    _add_reindex(verb("reindex", "make the vectors that memories lack"))
    _add_export(verb("export", "write memories to JSONL (nothing lost), CSV or Markdown"))
    _add_import(verb("import", "bring memories in from a file or folder, of this program or another tool"))
    _add_copy(verb("copy", "bring memories of this store to another one, of any backend, and check them there"))


def _add_hygiene(hygiene: argparse.ArgumentParser) -> None:
    hygiene.add_argument(
        "--as-of",
        metavar="WHEN",
        help="what it would do then: a date (the midnight it begins with), RFC 3339, 30d (ago) or 'in 30d'",
    )
    hygiene.add_argument(
        "--without", action="append", default=[], metavar="ITEM", help="leave this out, by its name (repeatable)"
    )
    _add_dry_run(hygiene)


def _add_audit(audit: argparse.ArgumentParser) -> None:
    audit.add_argument("--only", action="append", metavar="KIND", help="only this kind of finding (repeatable)")
    audit.add_argument("--limit", type=count, default=5, metavar="N", help="how many memories to show of each (5)")
    action = audit.add_mutually_exclusive_group()
    action.add_argument("--purge", action="store_true", help="move the memories of the findings named to the trash")
    action.add_argument("--recategorise", metavar="NAME", help="give them this category")
    action.add_argument("--merge", choices=("newest", "longest"), help="of duplicates keep one")
    audit.add_argument(
        "--clean-copies", action="store_true", help="also remove the old texts where they still lie elsewhere"
    )
    _add_dry_run(audit)


def _add_snapshot(snapshot: argparse.ArgumentParser) -> None:
    snapshot.add_argument("--diff", action="store_true", help="compare the snapshot with the store, write nothing")
    snapshot.add_argument("--file", metavar="PATH", help="with --diff: compare this file in place of ZeroClaw's own")
    snapshot.add_argument(
        "--replace-foreign", action="store_true", help="replace a file of that name that is not ZeroClaw's"
    )
    _add_dry_run(snapshot)


def _add_hydrate(hydrate: argparse.ArgumentParser) -> None:
    hydrate.add_argument(
        "file", nargs="?", metavar="FILE", help="a snapshot or a JSONL export; ZeroClaw's own if not given"
    )
    hydrate.add_argument("--pick", action="append", metavar="KEY", help="only the memory of this key (repeatable)")
    conflict = hydrate.add_mutually_exclusive_group()
    for name, about in _CONFLICTS:
        conflict.add_argument(
            f"--{name}", dest="on_conflict", action="store_const", const=name, default="skip", help=about
        )
    for name, _ in _CONFLICTS:
        hydrate.add_argument(
            f"--{name}-key",
            action="append",
            default=[],
            metavar="KEY",
            help=f"--{name} for this key alone (repeatable)",
        )
    _add_dry_run(hydrate)


_CONFLICTS = (
    ("skip", "keep the store's memory where a key has another content (what happens unless asked)"),
    ("overwrite", "take the file's"),
    ("rename", "bring the file's in under another key"),
)


def _add_doctor(doctor: argparse.ArgumentParser) -> None:
    doctor.add_argument("--deep", action="store_true", help="also check a copy of the database page by page")
    doctor.add_argument(
        "--repair", action="append", metavar="FINDING", help="repair this, after a backup (repeatable); all"
    )
    _add_dry_run(doctor)


def _add_compact(compact: argparse.ArgumentParser) -> None:
    _add_dry_run(compact)


def _add_reindex(reindex: argparse.ArgumentParser) -> None:
    reindex.add_argument("--per-minute", type=positive, metavar="N", help="send at most so many requests a minute")
    reindex.add_argument("--id", action="append", metavar="ID", help="only the memory of this id (repeatable)")
    _add_dry_run(reindex)


def _add_export(export: argparse.ArgumentParser) -> None:
    export.add_argument(
        "file", nargs="?", default="-", metavar="FILE", help="where to write; - is stdout, as without it"
    )
    export.add_argument(
        "--format",
        choices=(*FORMATS, "mem0", "mcp", "memory-rs", "okf"),
        help="unless the name of the file tells; jsonl else. mem0, mcp and memory-rs are the JSON of these tools, okf a"
        " folder of Open Knowledge Format. CSV has every text as it is, also one that begins with ="
        " and that a spreadsheet takes for a formula",
    )
    export.add_argument("--vectors", action="store_true", help="with the vectors (JSONL only)")
    export.add_argument("--overwrite", action="store_true", help="replace a file that is there")
    add_filters(export)


def _add_import(importing: argparse.ArgumentParser) -> None:
    importing.add_argument(
        "file",
        metavar="FILE_OR_FOLDER",
        help="what `zeroclaw memory export` wrote, a table with key and content, or another tool's memories",
    )
    importing.add_argument(
        "--from",
        "--format",
        dest="format",
        metavar="NAME",
        help="whose memories they are, where the content does not tell",
    )
    importing.add_argument(
        "--with",
        dest="along",
        action="append",
        default=[],
        choices=ALONG,
        help="bring in, too, what is left out unless it is asked for (repeatable)",
    )
    _add_clashes(importing)
    _add_dry_run(importing)


def _add_copy(copying: argparse.ArgumentParser) -> None:
    copying.add_argument(
        "--to",
        required=True,
        metavar="BACKEND",
        help="where to: sqlite, markdown, postgres, qdrant, redis, lucid, or a plug-in by its name",
    )
    copying.add_argument(
        "--to-location", metavar="URL_OR_PATH", help="the store itself, where it is not the one the config names"
    )
    _add_clashes(copying)
    _add_dry_run(copying)
    add_filters(copying)


def _add_clashes(parser: argparse.ArgumentParser) -> None:
    clash = parser.add_mutually_exclusive_group()
    for name, about in _CLASHES:
        clash.add_argument(f"--{name}", dest="on_clash", action="store_const", const=name, default="skip", help=about)


_CLASHES = (
    ("skip", "leave out memories whose id or key is taken (what happens unless asked)"),
    ("overwrite", "replace what is there; undo brings it back"),
    ("rename", "bring them in under another key"),
)


def _add_dry_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="only say what would be done")
