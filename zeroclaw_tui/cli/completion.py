"""Completion scripts for bash and zsh, made by shtab from the parsers of both programs.

The scripts are static: verbs, options, fixed values, files and directories. They never open a store.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import shtab

from zeroclaw_tui.backends.factory import BACKENDS
from zeroclaw_tui.cli.onboard import onboard_parser
from zeroclaw_tui.cli.options import ABOUT_MEMORY, ABOUT_ONBOARD, Parser, add_common, inspector_parser, zeroclaw_parser
from zeroclaw_tui.cli.verbs import Verb, every_verb, first_words, memory_parser, topics, verb_parser, verbs_below
from zeroclaw_tui.config.schema import BACKENDS_WITH_DEFAULTS
from zeroclaw_tui.memory.errors import DONE

_PLACES = {
    "DIR": shtab.DIRECTORY, "FILE": shtab.FILE, "PATH": shtab.FILE, "FILE_OR_FOLDER": shtab.FILE,
    "URL_OR_PATH": shtab.FILE, "PATH_OR_URL": shtab.FILE,
}  # fmt: skip
"""The completion of a value, by its name in the help."""


def print_script(program: str, shell: str) -> int:
    """Write the completion script for a shell to stdout."""
    parser = _whole_parser() if program == "zeroclaw" else inspector_parser()
    _add_values(parser)
    sys.stdout.write(f"{shtab.complete(parser, shell).strip()}\n")
    return DONE


def _whole_parser() -> Parser:
    """Build one parser for `zeroclaw` with all its commands."""
    parser = zeroclaw_parser()
    commands = parser.add_subparsers(prog="zeroclaw")
    verbs = commands.add_parser("memory", help=ABOUT_MEMORY, parents=[memory_parser()], add_help=False).add_subparsers(
        prog="zeroclaw memory"
    )
    for name, about in first_words():
        below = verbs_below(name)
        own = _parser_of_several(below) if below else verb_parser(every_verb()[name])
        verbs.add_parser(name, help=about, parents=[own], add_help=False)
    commands.add_parser("onboard", help=ABOUT_ONBOARD, parents=[onboard_parser()], add_help=False)
    return parser


def _parser_of_several(verbs: Sequence[Verb]) -> Parser:
    """Build a parser for verbs with the same first word, which share their options here.

    shtab would list third-level parsers among those of the second level.
    """
    parser = Parser(conflict_handler="resolve")
    parser.add_argument("verb", choices=[each.name.split()[1] for each in verbs])
    for each in verbs:
        for add in each.options:
            add(parser)
    add_common(parser, verbs[0].agents)
    return parser


def _add_values(parser: argparse.ArgumentParser) -> None:
    """Set the values of options and arguments that are known without a store."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                _add_values(below)
        elif action.choices is not None:
            continue
        elif action.dest in ("backend", "to"):
            action.choices = [profile.key for profile in BACKENDS]
        elif action.dest == "memory":
            action.choices = BACKENDS_WITH_DEFAULTS
        elif action.dest == "topic":
            action.choices = [name for name, _ in (*topics(), *first_words())]
        elif isinstance(action.metavar, str) and action.metavar in _PLACES:
            action.complete = _PLACES[action.metavar]  # type: ignore[attr-defined]
