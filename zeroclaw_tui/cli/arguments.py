"""The options of both scripts, as argparse parsers."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from zeroclaw_tui import __version__
from zeroclaw_tui.config.document.masking import masked_text
from zeroclaw_tui.config.install import OpenOptions
from zeroclaw_tui.config.server_url import is_url
from zeroclaw_tui.memory.errors import WrongUse

SHELLS = ("bash", "zsh")
VERBS_HERE = (
    "list", "get", "recall", "search", "stats", "facets", "health", "store", "edit", "forget", "purge", "clear",
    "erase", "undo", "redo", "trash", "hygiene", "audit", "snapshot", "hydrate", "doctor", "compact", "reindex",
    "export", "import", "copy", "explain", "similar", "prompt", "evaluate",
)  # fmt: skip
VERBS_TO_COME = ("tail",)
MAKING = ("store", "import")
"""The verbs that make the store where it is not there yet."""

_OPENING = (
    ("--config-dir", "DIR", "ZeroClaw's config dir (the one that holds config.toml)"),
    ("--workspace", "DIR", "ZeroClaw's workspace (or, from 0.8.0, its data dir)"),
    ("--backend", "NAME", "read this backend in place of the configured one"),
    ("--location", "URL_OR_PATH", "where the store lies: a database file, a Markdown folder or a URL"),
    ("--profile", "VERSION", "score as this ZeroClaw version does"),
)
_SWITCHES = (
    ("--json", "one JSON document on stdout and nothing else"),
    ("--yes", "answer yes to every question; repair first what writing needs"),
    ("--read-only", "refuse every write"),
)
_VALUE_OPTIONS = {name for name, _, _ in _OPENING} | {"--agent"}

_ABOUT_MEMORY = """\
What the agent remembers, straight from its store, with no daemon. Looking never writes;
what a change removes lies in a trash, and `undo` takes the change back.
Options may stand before or after the verb. A key that begins with "-" goes after "--"."""
_ABOUT_THE_REST = """\
Every other command is handed to the real zeroclaw; `zeroclaw --real ...` hands over these as well.

Exit codes: 0 done, 1 not there, refused, answered no, or health found something wrong, 2 wrong use or broken config,
3 store not reachable or locked, 127 no real zeroclaw to hand over to, 130 interrupted."""


class Parser(argparse.ArgumentParser):
    """A parser whose complaints are ordinary errors of this program."""

    def error(self, message: str) -> NoReturn:
        """Raise WrongUse in place of printing the usage."""
        told = masked_text(message[:1].upper() + message[1:])
        raise WrongUse(f"{told}.", hint=f"`{self.prog} --help` shows how.")

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        """What argparse makes of an action's words.

        Before Python 3.13 it takes the -- of `--option=--` for its own sign, and the option's value is an empty list.
        """
        if action.option_strings and action.nargs is None and arg_strings == ["--"]:
            value = self._get_value(action, "--")
            self._check_value(action, value)
            return value
        return super()._get_values(action, arg_strings)


def inspector_parser() -> Parser:
    """The parser of `zeroclaw-tui`."""
    parser = Parser(
        prog="zeroclaw-tui", allow_abbrev=False, description="See, search and explain what a ZeroClaw agent remembers."
    )
    parser.add_argument(
        "path",
        nargs="?",
        metavar="PATH_OR_URL",
        help="config dir, workspace, database file, Markdown folder, or the URL of a server",
    )
    parser.add_argument("--demo", action="store_true", help="open a throw-away workspace of sample memories")
    for name, metavar, about in _OPENING:
        parser.add_argument(name, metavar=metavar, help=about)
    parser.add_argument("--agent", metavar="ALIAS", help="see the memory of this agent")
    parser.add_argument("--read-only", action="store_true", help="refuse every write")
    _add_print_completion(parser)
    parser.add_argument("--version", action="version", version=f"zeroclaw-tui {__version__}")
    return parser


def zeroclaw_parser() -> Parser:
    """The parser of what `zeroclaw` answers itself."""
    parser = Parser(
        prog="zeroclaw",
        allow_abbrev=False,
        description="Answers `zeroclaw memory` and `zeroclaw onboard` itself and hands the rest to the real zeroclaw.",
        epilog="`zeroclaw --real ...` always hands over.",
    )
    _add_print_completion(parser)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    about = "list, search and explain what the agent remembers"
    _fill_memory(
        commands.add_parser(
            "memory",
            help=about,
            description=_ABOUT_MEMORY,
            epilog=_ABOUT_THE_REST,
            allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
    )
    from zeroclaw_tui.cli.onboard_options import add_onboard

    add_onboard(commands, "set up the memory in config.toml, with questions or by flags")
    return parser


def memory_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    """What stands behind `zeroclaw memory`, parsed. Raises WrongUse, which names the verb whose help tells more."""
    given, others = zeroclaw_parser().parse_known_args(["memory", *arguments])
    if others:
        after = " Behind -- everything is a key or a word of the query." if "--" in arguments else ""
        raise WrongUse(
            f"Unrecognized arguments: {masked_text(' '.join(others))}.",
            hint=f"`zeroclaw memory {given.verb} --help` shows how.{after}",
        )
    return given


def onboard_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    """What stands beside `onboard`, parsed. Raises WrongUse."""
    return zeroclaw_parser().parse_args(["onboard", *arguments])


def first_word(arguments: Sequence[str]) -> int | None:
    """Where the first argument stands that is neither an option nor an option's value."""
    skip = False
    for at, argument in enumerate(arguments):
        if skip:
            skip = False
        elif argument == "--":
            return None
        elif not argument.startswith("-"):
            return at
        else:
            skip = argument in _VALUE_OPTIONS
    return None


def open_options(given: argparse.Namespace) -> OpenOptions:
    """What to open, out of the parsed options of either script.

    A local --location with no install named beside it is opened as a path is, so that a lone file needs no install; a
    URL in the place of a path is a --location. Raises WrongUse for two places.
    """
    agents = agents_given(given)
    named, location = getattr(given, "path", None), given.location
    if is_url(named):
        if location is not None:
            raise WrongUse("A URL and --location name two stores.", hint="Leave one of them out.")
        named, location = None, named
    path = _path(named)
    if location and "://" not in location:
        location = str(_path(location))
        if path is None and given.config_dir is None and given.workspace is None:
            path = Path(location)
            location = location if given.backend else None
    return OpenOptions(
        path=path,
        config_dir=_path(given.config_dir),
        workspace=_path(given.workspace),
        backend=given.backend,
        is_made=getattr(given, "verb", None) in MAKING,
        location=location,
        profile=given.profile,
        agent=agents[0] if agents else None,
        read_only=given.read_only,
    )


def agents_given(given: argparse.Namespace) -> tuple[str, ...]:
    """The agents named before and after the verb."""
    after = given.agent or []
    return (*(getattr(given, "agent_before", None) or []), *([after] if isinstance(after, str) else after))


def _fill_memory(parser: argparse.ArgumentParser) -> None:
    # The inspector starts without any of these.
    from zeroclaw_tui.cli.changing_options import add_changing_verbs
    from zeroclaw_tui.cli.reading_options import add_reading_verbs, add_scoring_verbs, add_verb
    from zeroclaw_tui.cli.upkeep_options import add_upkeep_verbs

    _add_common(parser, before_verb=True)
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)

    def verb(name: str, about: str, *aliases: str) -> argparse.ArgumentParser:
        made = add_verb(verbs, name, about, *aliases)
        _add_common(made, before_verb=False)
        return made

    add_reading_verbs(verb)
    add_scoring_verbs(verb)
    add_changing_verbs(verb, lambda parser: _add_common(parser, before_verb=False))
    add_upkeep_verbs(verb)


def _add_common(parser: argparse.ArgumentParser, *, before_verb: bool) -> None:
    default = None if before_verb else argparse.SUPPRESS
    group = parser.add_argument_group("options of every verb")
    for name, metavar, about in _OPENING:
        group.add_argument(name, metavar=metavar, help=about, default=default)
    group.add_argument(
        "--agent",
        action="append",
        metavar="ALIAS",
        dest="agent_before" if before_verb else "agent",
        help="only the memory this agent can read (repeatable)",
    )
    for name, about in _SWITCHES:
        group.add_argument(name, action="store_true", help=about, default=False if before_verb else default)


def _add_print_completion(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--print-completion", choices=SHELLS, help="print a completion script and exit")


def _path(given: Path | str | None) -> Path | None:
    return None if given is None else Path(given).expanduser()
