"""The options of both scripts: what each takes, and which place, memories and moments they name."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from zeroclaw_tui import __version__
from zeroclaw_tui.memory.errors import UsageError

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from zeroclaw_tui.config.locations import OpenOptions
    from zeroclaw_tui.memory.query import MemoryFilter


LIKENESS_OF_A_SLIP = 0.7
SHELLS = ("bash", "zsh")
RULES = ("cli", "channel", "cron", "library")
SUPERSEDED = ("hide", "show", "only")
ABOUT_MEMORY = "Browse, search, explain and change memories"
ABOUT_ONBOARD = "Set up memory in config.toml, interactively or by options"
_OPENING = (
    ("--config-dir", "DIR", "ZeroClaw's config directory (contains config.toml)"),
    ("--workspace", "DIR", "ZeroClaw's workspace (from 0.8.0: its data directory)"),
    ("--backend", "NAME", "Use this backend instead of the configured one"),
    ("--location", "URL_OR_PATH", "Path or URL of the store: database, Markdown directory or server"),
    ("--profile", "VERSION", "Use the scoring rules of this ZeroClaw version"),
)
_SWITCHES = (("--json", "Print JSON"), ("--yes", "Skip confirmations"), ("--read-only", "Refuse every write"))
STDIN = "-"
_AGE = r"(\d{1,7})\s*(h|d|w)"
UNITS_OF_AGE = {"h": "hours", "d": "days", "w": "weeks"}
_HAS_OFFSET = r"(?:Z|[+-]\d\d:?\d\d(?::?\d\d)?)$"
_LONG_FRACTION = r"(\.\d{6})\d+"
_VALUE_OPTIONS = {name for name, _, _ in _OPENING} | {"--agent"}
OWN_MEMORIES = "Only memories of this agent (repeatable)"
READABLE_MEMORIES = "Only memories this agent can read (repeatable)"
WHOSE_MEMORY = "Agent that owns the memory (repeatable)"
OWNER = "Agent that will own the memory"
"""What --agent means to a verb."""
_ABOUT_ZEROCLAW = f"""\
Handles `zeroclaw memory` and `zeroclaw onboard`; passes every other command
to the real zeroclaw.

commands:
  {"memory":<14} {ABOUT_MEMORY}
  {"onboard":<14} {ABOUT_ONBOARD}"""


def _formatter(prog: str) -> argparse.HelpFormatter:
    """Help with descriptions as they are written. Its width is fixed, since argparse asks for one at every option."""
    return argparse.RawDescriptionHelpFormatter(prog, width=78)


class Parser(argparse.ArgumentParser):
    """A parser whose complaints are ordinary errors of this program."""

    def __init__(self, **more: Any) -> None:
        super().__init__(allow_abbrev=False, formatter_class=_formatter, **more)

    def error(self, message: str, near: str | None = None) -> NoReturn:
        """Raise UsageError, its secrets masked, in place of printing the usage; `near` is what may be meant."""
        from zeroclaw_tui.memory.text import mask_secrets

        hint = f"`{self.prog} --help` shows how."
        raise UsageError(
            f"{mask_secrets(message[:1].upper() + message[1:])}.", hint=f"Did you mean {near}? {hint}" if near else hint
        )

    def parsed(self, arguments: Sequence[str]) -> argparse.Namespace:
        """These words, parsed. Raises UsageError, which names the option that a misspelt one may mean."""
        given, others = self.parse_known_args(arguments)
        if others:
            near = likely(others[0].partition("=")[0], self._option_string_actions)
            self.error(f"unrecognized arguments: {' '.join(others)}", near)
        return given


def inspector_parser() -> Parser:
    """The parser of `zeroclaw-tui`."""
    parser = Parser(
        prog="zeroclaw-tui",
        description="Browse, search, explain and change the memories of a ZeroClaw agent.",
    )
    parser.add_argument(
        "path",
        nargs="?",
        metavar="PATH_OR_URL",
        help="Config directory, workspace, database, Markdown directory or URL",
    )
    parser.add_argument("--demo", action="store_true", help="Open a temporary workspace with sample memories")
    for name, metavar, about in _OPENING:
        parser.add_argument(name, metavar=metavar, help=about)
    parser.add_argument("--agent", metavar="ALIAS", help="Show the memories of this agent")
    parser.add_argument("--read-only", action="store_true", help="Refuse every write")
    _add_print_completion(parser)
    parser.add_argument("--version", action="version", version=f"zeroclaw-tui {__version__}")
    return parser


def zeroclaw_parser() -> Parser:
    """The parser of what `zeroclaw` says of itself; what is behind a command has a parser of its own."""
    parser = Parser(
        prog="zeroclaw",
        usage="zeroclaw [-h] [--version] [--print-completion SHELL] COMMAND ...",
        description=_ABOUT_ZEROCLAW,
        epilog="`zeroclaw --real ...` always passes the command on.",
    )
    _add_print_completion(parser)
    parser.add_argument("--version", action="store_true", help="Print the version and exit")
    return parser


def columns(otherwise: int) -> int:
    """How many cells a line has: COLUMNS, else what the terminal says, else this many."""
    usual = os.environ.get("COLUMNS", "")
    if usual.isdecimal() and int(usual) > 0:
        return int(usual)
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or otherwise
    except (OSError, ValueError):
        return otherwise


def likely(typed: str, names: Iterable[str], cutoff: float = LIKENESS_OF_A_SLIP) -> str | None:
    """The name that a misspelt one most likely means; None when none is near."""
    import difflib

    near = difflib.get_close_matches(typed.lower(), list(names), n=1, cutoff=cutoff)
    return near[0] if near else None


def first_word(arguments: Sequence[str]) -> int | None:
    """Where the first argument is that is neither an option nor an option's value."""
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

    A local --location with no install named next to it is opened as a path is, so that a lone file needs no install; a
    URL in the place of a path is a --location. Raises UsageError for two places.
    """
    from pathlib import Path

    from zeroclaw_tui.config.locations import OpenOptions, is_url

    agents = agents_given(given)
    named, location = getattr(given, "path", None), given.location
    if is_url(named):
        if location is not None:
            raise UsageError("A URL and --location name two stores.", hint="Pass one of them.")
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
        create_missing=getattr(given, "makes_store", False),
        location=location,
        profile=given.profile,
        agent=agents[0] if agents else None,
        read_only=given.read_only,
    )


def agents_given(given: argparse.Namespace) -> tuple[str, ...]:
    """The agents named, of which the inspector takes one."""
    named = given.agent or []
    return (named,) if isinstance(named, str) else tuple(named)


AddOption = Callable[[argparse._ActionsContainer], object]
"""Adds one option, or several, to a parser or to a group of one."""


def option(*names: str, **about: Any) -> AddOption:
    """An option or an argument, declared as `add_argument` takes it."""
    return lambda container: container.add_argument(*names, **about)


def one_of(*exclusive: AddOption) -> AddOption:
    """Options of which at most one may be given."""
    return lambda container: _add_all(container.add_mutually_exclusive_group(), exclusive)


def group(title: str, about: str, *members: AddOption) -> AddOption:
    """Options under a title of their own in the help."""
    return lambda container: _add_all(container.add_argument_group(title, about), members)


def _add_all(container: argparse._ActionsContainer, options: Iterable[AddOption]) -> None:
    for add in options:
        add(container)


def count(text: str, least: int = 0) -> int:
    """A whole number, below the one that means no limit."""
    if not (text.isascii() and text.isdigit() and len(text) < 20 and least <= int(text) < 2**31):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {least} to 2,147,483,647")
    return int(text)


def positive(text: str) -> int:
    """A whole number of 1 or more."""
    return count(text, 1)


FILTERS = group(
    "filters",
    "All filters must match; a repeated one matches any of its values.",
    option("--category", action="append", metavar="NAME"),
    option("--session", action="append", metavar="ID", help='Session id; "" means no session'),
    option("--namespace", action="append", metavar="NAME"),
    option("--older-than", metavar="WHEN", help="Created before: an age (30d, 12h, 2w), a date or RFC 3339"),
    option("--newer-than", metavar="WHEN", help="Created after"),
    option("--contains", metavar="TEXT", help="Key or content contains TEXT (case-insensitive)"),
    option("--regex", metavar="PATTERN", help="Key or content matches this regular expression"),
    option("--superseded", nargs="?", const="show", default="hide", choices=SUPERSEDED,
           help="Superseded memories: hide (as ZeroClaw does), show or only"),
)  # fmt: skip
"""The filters that list, search, stats, purge, export and copy take."""
PAGE = (
    option("--limit", type=count, default=50, metavar="N", help="Maximum number of memories (50)"),
    option("--offset", type=count, default=0, metavar="N", help="Number of memories to skip (0)"),
)
"""Which part of a listing is printed."""
RECALL_SCOPE = (
    option("--limit", type=positive, metavar="N", help="Recall at most N memories (default: as a turn, mostly 5)"),
    option("--session", action="append", metavar="ID", help="Recall within this session (repeatable, in order)"),
    option("--namespace", metavar="NAME", help="Recall within this namespace"),
    option("--since", metavar="WHEN", help="Created since: an age (30d, 12h, 2w), a date or RFC 3339"),
    option("--until", metavar="WHEN", help="Created until"),
    option("--rule", choices=RULES, default="cli",
           help="Injection rule of the CLI agent, a channel, cron or the library"),
    option("--as-of", metavar="WHEN", help="Compute time decay as of this time instead of now"),
    group("what if", "Other values than those of config.toml; nothing is written.",
          option("--set", action="append", metavar="KEY=VALUE",
                 help="Another value of a setting, as memory.min_relevance_score=0.3; may be repeated")),
)  # fmt: skip
"""What is recalled, how it is judged, and other values of settings to try."""
LAYER = option("--layer", choices=("agent", "store"), default="agent",
               help="What reaches an agent, or the store's own recall")  # fmt: skip
KEY = option("key", nargs="?", metavar="KEY")
EXACT_KEY = option("key", nargs="?", metavar="KEY", help="Exact key")
ID = option("--id", metavar="ID", help="The memory with this id")
DRY_RUN = option("--dry-run", action="store_true", help="Show the plan and exit")


def conflict_options(dest: str, default: str, **ways: str) -> AddOption:
    """What becomes of memories whose key is taken: an option for each way, with its help."""
    shared: dict[str, Any] = {"dest": dest, "action": "store_const", "default": default}
    return one_of(*(option(f"--{way}", const=way, help=about, **shared) for way, about in ways.items()))


def add_common(parser: argparse.ArgumentParser, agents: str) -> None:
    """The options of every verb; `agents` is what --agent means, "" where it is to be refused and so is not shown."""
    group = parser.add_argument_group("common options")
    for name, metavar, about in _OPENING:
        group.add_argument(name, metavar=metavar, help=about)
    group.add_argument("--agent", action="append", metavar="ALIAS", help=agents or argparse.SUPPRESS)
    for name, about in _SWITCHES:
        group.add_argument(name, action="store_true", help=about)


def filter_given(given: argparse.Namespace, now: datetime) -> MemoryFilter:
    """The filter that the options mean. ZeroClaw's own categories in any case. Raises UsageError."""
    from zeroclaw_tui.memory.query import MemoryFilter, Superseded

    categories: tuple[str, ...] = ()
    if given.category:
        from zeroclaw_tui.memory.change import category_meant

        categories = tuple(map(category_meant, given.category))
    if given.regex:
        from zeroclaw_tui.backends.matching import compiled

        # A pattern that cannot be read is reported before any store is asked.
        compiled(given.regex)
    return MemoryFilter(
        category=categories or None,
        session=tuple(given.session or ()) or None,
        agent=agents_given(given) or None,
        namespace=tuple(given.namespace or ()) or None,
        older_than=moment_meant(given.older_than, now) if given.older_than is not None else None,
        newer_than=moment_meant(given.newer_than, now) if given.newer_than is not None else None,
        contains=given.contains or None,
        regex=given.regex or None,
        superseded=Superseded(given.superseded),
    )


def agent_given(given: argparse.Namespace) -> str | None:
    """The one agent that is named. Raises UsageError for several."""
    agents = tuple(dict.fromkeys(agents_given(given)))
    if len(agents) > 1:
        raise UsageError(f"This takes one agent, and {len(agents)} are given.", hint="Pass one --agent.")
    return agents[0] if agents else None


def text_given(typed: str, what: str) -> str:
    """Return a text that is given, or for - all of stdin but for one line end. Raises UsageError unless it is UTF-8."""
    if typed != STDIN:
        return utf_8(typed, what)
    data = sys.stdin.buffer.read()
    try:
        return data.decode("utf-8").removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError as error:
        raise UsageError(f"The text on stdin is not UTF-8 (byte {error.start:,}).", hint="Convert it first.") from error


def utf_8(typed: str, what: str) -> str:
    """Return a text as it was typed. Raises UsageError unless it is UTF-8."""
    from zeroclaw_tui.memory.text import is_unicode, one_line

    if not is_unicode(typed):
        raise UsageError(f"{what} is not UTF-8: {one_line(typed[:60])}", hint="Nothing was changed.")
    return typed


def moment_meant(text: str, now: datetime) -> str:
    """RFC 3339 for "30d", "12h", "2w" (before `now`), a date or a date with time; without offset it is local time.

    Raises UsageError for anything else.
    """
    from datetime import datetime, timedelta

    from zeroclaw_tui.memory.days import moment

    typed = text.strip()
    age = re.fullmatch(_AGE, typed, re.IGNORECASE)
    try:
        if age is not None:
            return (now - timedelta(**{UNITS_OF_AGE[age[2].lower()]: int(age[1])})).isoformat()
        if moment(typed) is not None:
            if "T" in typed.upper().replace(" ", "T") and re.search(_HAS_OFFSET, typed, re.IGNORECASE):
                return typed
            return datetime.fromisoformat(re.sub(_LONG_FRACTION, r"\1", typed)).astimezone().isoformat()
    except (ValueError, OverflowError):
        pass
    raise UsageError(f"Invalid time {text!r}.", hint="Use an age (12h, 30d, 2w), a date (2026-03-01) or RFC 3339.")


def bound_meant(text: str, now: datetime) -> str:
    """A bound of recall, which ZeroClaw compares as text: an age becomes RFC 3339, all else stays as typed."""
    meant = moment_meant(text, now)
    return meant if re.fullmatch(_AGE, text.strip(), re.IGNORECASE) else text.strip()


def _add_print_completion(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--print-completion", choices=SHELLS, help="Print a completion script and exit")


def path_meant(name: Path | str) -> Path:
    """A path as typed, with ~ as the home directory. An empty one, as an unset shell variable leaves it, would mean the
    current directory. Raises UsageError."""
    from pathlib import Path

    if not str(name).strip():
        raise UsageError("The path of an option is empty.", hint="Check that its shell variable is set.")
    return Path(name).expanduser()


def _path(given: Path | str | None) -> Path | None:
    return None if given is None else path_meant(given)
