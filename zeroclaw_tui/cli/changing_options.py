"""The options of the verbs that change memory."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from zeroclaw_tui.cli.reading_options import AddVerb, add_filters, add_verb, count, positive

_ERASE = """\
Erase a text from every place of the install: memories, chats, traces, audit rows, caches, snapshot, archives, backups,
and what this program keeps of them. Memories and cached answers that hold it go as a whole; from chats, traces and logs
only the text. Nothing brings it back: it is the one verb that also empties the trash of these rows. Stop ZeroClaw
first, else bytes of it stay in files that it has open; the report says what is left, and why."""

AddCommon = Callable[[argparse.ArgumentParser], None]

_CLEAR = """\
ZeroClaw's own command, with its flags and words; but all memories go and not only the first thousand, a key goes for
one agent only, and `zeroclaw memory undo` brings everything back. Superseded memories stay, as in ZeroClaw."""


def add_changing_verbs(verb: AddVerb, add_common: AddCommon) -> None:
    """store, edit, forget, purge, clear, erase, undo, redo and trash."""
    _add_store(verb("store", "store a memory; one of that key and agent is replaced, as ZeroClaw does it"))
    _add_edit(verb("edit", "change a memory in place, by its exact key or its id"))

    forget = verb("forget", "delete one memory, by its exact key or its id")
    _add_key(forget)
    _add_removal(forget)

    purge = verb("purge", "delete every memory that the filters leave, or those of these keys or ids")
    purge.add_argument("keys", nargs="*", metavar="KEY", help="exact keys, in place of filters")
    purge.add_argument("--id", action="append", metavar="ID", help="this memory (repeatable), in place of filters")
    add_filters(purge)
    _add_removal(purge)

    clear = verb("clear", "delete all memories, those of a category, or the one of a key")
    clear.description = _CLEAR
    clear.add_argument("--key", metavar="KEY", help="only the memory of this key, or of the only key that begins so")
    clear.add_argument("--category", metavar="NAME", help="only this category")
    clear.set_defaults(forever=False)
    _add_clean(clear)
    _add_dry_run(clear)

    _add_erase(verb("erase", "a text gone from every place of the install, in any case of letters, with a report"))

    undo = verb("undo", "take back the last change that was not taken back yet")
    which = undo.add_mutually_exclusive_group()
    which.add_argument("--id", type=positive, metavar="N", help="the change of this number, whatever came after it")
    which.add_argument("--list", action="store_true", help="only list the changes made here, each with its number")
    _add_clash(undo)
    _add_dry_run(undo)

    redo = verb("redo", "do again what undo took back last, unless another change came since")
    redo.add_argument("--id", type=positive, metavar="N", help="the change of this number, whatever came since")
    _add_clash(redo)
    _add_dry_run(redo)

    _add_trash(
        verb("trash", "what was deleted: list it, restore it, let go of it; the history of a memory"), add_common
    )


def _add_store(store: argparse.ArgumentParser) -> None:
    store.add_argument("key", metavar="KEY")
    store.add_argument("content", metavar="CONTENT", help="the text to remember; - reads it from stdin")
    _add_as_zeroclaw(store)
    store.add_argument("--new", action="store_true", help="refuse a key that is there already")
    store.add_argument("--category", default="core", metavar="NAME", help="core unless given")
    store.add_argument("--session", metavar="ID")
    store.add_argument("--namespace", metavar="NAME")
    store.add_argument("--importance", type=float, metavar="0..1")
    store.add_argument("--pinned", action="store_true", default=None, help="hygiene and budgets spare it")


def _add_erase(erase: argparse.ArgumentParser) -> None:
    erase.description = _ERASE
    erase.add_argument("text", metavar="TEXT", help="the text; - reads it from stdin, since others see a command line")
    erase.add_argument(
        "--also", action="append", default=[], metavar="SPELLING", help="another spelling of it (repeatable)"
    )
    erase.add_argument(
        "--also-files",
        action="store_true",
        help="also from workspace files, Markdown notes beside the store, scheduled jobs, knowledge.db and audit.log",
    )
    erase.add_argument(
        "--export", metavar="FILE", help="write a copy of the memories that go first, outside the install"
    )
    erase.add_argument("--report", metavar="FILE", help="write the report there as well (JSON with --json or *.json)")
    _add_dry_run(erase)


def _add_as_zeroclaw(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--as-zeroclaw",
        action="store_true",
        help="do what ZeroClaw's own store would by [memory.policy]: refuse, or blank out first (from 0.8.4 on)",
    )


def _add_edit(edit: argparse.ArgumentParser) -> None:
    _add_key(edit)
    _add_as_zeroclaw(edit)
    edit.add_argument("--content", metavar="TEXT", help="the new text; - reads it from stdin")
    edit.add_argument("--key", dest="new_key", metavar="NEW", help="the new key")
    edit.add_argument("--category", metavar="NAME")
    edit.add_argument("--session", metavar="ID", help='"" takes the session away')
    edit.add_argument("--namespace", metavar="NAME")
    edit.add_argument("--importance", type=float, metavar="0..1")
    pinned = edit.add_mutually_exclusive_group()
    pinned.add_argument("--pinned", action="store_true", default=None, help="hygiene and budgets spare it")
    pinned.add_argument("--no-pinned", dest="pinned", action="store_false", default=None)
    edit.add_argument("--unsupersede", action="store_true", help="show a superseded memory to the agent again")
    _add_clean(edit)


def _add_trash(trash: argparse.ArgumentParser, add_common: AddCommon) -> None:
    actions = trash.add_subparsers(dest="trash_verb", metavar="VERB", required=True)

    def below(name: str, about: str) -> argparse.ArgumentParser:
        made = add_verb(actions, name, about)
        add_common(made)
        return made

    listing = below("list", "deleted memories, the last deleted first, each with the number that restores it")
    listing.add_argument("--contains", metavar="TEXT", help="in key or content, whatever its case")
    listing.add_argument("--limit", type=count, default=50, metavar="N", help="how many at most (50)")
    listing.add_argument("--offset", type=count, default=0, metavar="N", help="how many to leave out first (0)")
    listing.add_argument("--every-store", action="store_true", help="of all stores of this config dir")

    restore = below("restore", "bring deleted memories back")
    restore.add_argument("numbers", nargs="*", type=positive, metavar="NUMBER", help="as `trash list` shows them")
    restore.add_argument("--contains", metavar="TEXT", help="all that have this in key or content")
    restore.add_argument("--all", action="store_true", help="all of this store")
    restore.add_argument("--id", metavar="ID", help="the memory of this id")
    _add_clash(restore)

    empty = below("empty", "let go of deleted memories for ever; without a NUMBER of all, and of every undo")
    empty.add_argument("numbers", nargs="*", type=positive, metavar="NUMBER", help="as `trash list` shows them")
    _add_dry_run(empty)

    _add_key(below("history", "what was done here to one memory, with what changed in its text"))


def _add_key(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("key", nargs="?", metavar="KEY", help="its exact key")
    parser.add_argument("--id", metavar="ID", help="the memory of this id")


def _add_removal(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--forever", action="store_true", help="keep nothing in the trash: nothing brings it back")
    _add_clean(parser)
    _add_dry_run(parser)


def _add_clean(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--clean-copies",
        action="store_true",
        help="also remove the old text where it still lies elsewhere; a change of its own, which undo takes back first",
    )


def _add_dry_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="only say what would be done")


def _add_clash(parser: argparse.ArgumentParser) -> None:
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "--overwrite", dest="clash", action="store_const", const="overwrite", default="refuse",
        help="replace what is there now",
    )  # fmt: skip
    group.add_argument(
        "--rename", dest="clash", action="store_const", const="rename", default="refuse",
        help="put back beside what is there now, under another key",
    )  # fmt: skip
