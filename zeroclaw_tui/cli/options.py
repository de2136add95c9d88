"""The options of both scripts, and the stores, memories and times that they name."""

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
"""The help of --agent, by the meaning that it has for a verb."""
_ABOUT_ZEROCLAW = f"""\
Handles `zeroclaw memory` and `zeroclaw onboard`; passes every other command
to the real zeroclaw.

commands:
  {"memory":<14} {ABOUT_MEMORY}
  {"onboard":<14} {ABOUT_ONBOARD}"""


def _formatter(prog: str) -> argparse.HelpFormatter:
    """Format help with descriptions as written. The fixed width saves argparse a lookup per option."""
    return argparse.RawDescriptionHelpFormatter(prog, width=78)


class Parser(argparse.ArgumentParser):
    """A parser whose errors are ordinary errors of this program."""

    def __init__(self, **more: Any) -> None:
        super().__init__(allow_abbrev=False, formatter_class=_formatter, **more)

    def error(self, message: str, near: str | None = None) -> NoReturn:
        """Raise UsageError, secrets masked, instead of printing the usage; `near` is a suggestion."""
        from zeroclaw_tui.memory.text import mask_secrets

        hint = f"`{self.prog} --help` shows how."
        raise UsageError(
            f"{mask_secrets(message[:1].upper() + message[1:])}.", hint=f"Did you mean {near}? {hint}" if near else hint
        )

    def parse(self, arguments: Sequence[str]) -> argparse.Namespace:
        """Parse arguments. Raises UsageError, with a suggestion for a misspelt option."""
        args, others = self.parse_known_args(arguments)
        if others:
            suggestion = suggest(others[0].partition("=")[0], self._option_string_actions)
            self.error(f"unrecognized arguments: {' '.join(others)}", suggestion)
        return args


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
    """The parser of `zeroclaw` without a command; each command has its own parser."""
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
    """The width of a line in cells: COLUMNS, else that of the terminal, else `otherwise`."""
    width = os.environ.get("COLUMNS", "")
    if width.isdecimal() and int(width) > 0:
        return int(width)
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or otherwise
    except (OSError, ValueError):
        return otherwise


def suggest(typed: str, names: Iterable[str], cutoff: float = 0.7) -> str | None:
    """The name closest to a misspelt one; None if none is close."""
    import difflib

    matches = difflib.get_close_matches(typed.lower(), list(names), n=1, cutoff=cutoff)
    return matches[0] if matches else None


def index_of_first_word(arguments: Sequence[str]) -> int | None:
    """Find the first argument that is neither an option nor an option's value; None without one."""
    skip = False
    for index, argument in enumerate(arguments):
        if skip:
            skip = False
        elif argument == "--":
            return None
        elif not argument.startswith("-"):
            return index
        else:
            skip = argument in _VALUE_OPTIONS
    return None


def open_options(args: argparse.Namespace) -> OpenOptions:
    """Convert the parsed options of either script into the store to open.

    A local --location without an install is opened like a path, so that a lone file needs no install; a URL as the path
    is a --location. Raises UsageError for two stores.
    """
    from pathlib import Path

    from zeroclaw_tui.config.locations import OpenOptions, is_url

    agents = agent_names(args)
    given, location = getattr(args, "path", None), args.location
    if is_url(given):
        if location is not None:
            raise UsageError("A URL and --location name two stores.", hint="Pass one of them.")
        given, location = None, given
    path = _path(given)
    if args.backend is not None:
        check_not_blank(args.backend)
    if location is not None and "://" not in location:
        location = str(_path(location))
        if path is None and args.config_dir is None and args.workspace is None:
            path = Path(location)
            location = location if args.backend else None
    return OpenOptions(
        path=path,
        config_dir=_path(args.config_dir),
        workspace=_path(args.workspace),
        backend=args.backend,
        create_missing=getattr(args, "makes_store", False),
        location=location,
        profile=args.profile,
        agent=agents[0] if agents else None,
        read_only=args.read_only,
    )


def store_options(args: argparse.Namespace) -> str:
    """The given options that name the store, for a shell; a URL with a password is shown as "URL"."""
    from zeroclaw_tui.memory.text import mask_secrets, shell_word

    named = {name: getattr(args, name[2:].replace("-", "_")) for name, _, _ in _OPENING if name != "--profile"}
    shown = {
        name: "URL" if mask_secrets(value) != value else shell_word(value) for name, value in named.items() if value
    }
    return " ".join(f"{name} {value}" for name, value in shown.items())


def agent_names(args: argparse.Namespace) -> tuple[str, ...]:
    """The agents in the arguments; the inspector accepts one."""
    agents = args.agent or []
    return (agents,) if isinstance(agents, str) else tuple(agents)


AddOption = Callable[[argparse._ActionsContainer], object]
"""Adds options to a parser or an argument group."""


def option(*names: str, **about: Any) -> AddOption:
    """Declare an option or an argument like `add_argument`."""
    return lambda container: container.add_argument(*names, **about)


def one_of(*exclusive: AddOption) -> AddOption:
    """Declare options that exclude each other."""
    return lambda container: _add_all(container.add_mutually_exclusive_group(), exclusive)


def group(title: str, about: str, *members: AddOption) -> AddOption:
    """Declare options under their own title in the help."""
    return lambda container: _add_all(container.add_argument_group(title, about), members)


def _add_all(container: argparse._ActionsContainer, options: Iterable[AddOption]) -> None:
    for add in options:
        add(container)


def count(text: str, least: int = 0) -> int:
    """Parse a whole number below 2^31, which would mean no limit."""
    if not (text.isascii() and text.isdigit() and len(text) < 20 and least <= int(text) < 2**31):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {least} to 2,147,483,647")
    return int(text)


def positive(text: str) -> int:
    """Parse a whole number of 1 or more."""
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
"""The filters of list, search, stats, purge, export and copy."""
PAGE = (
    option("--limit", type=count, default=50, metavar="N", help="Maximum number of memories (50)"),
    option("--offset", type=count, default=0, metavar="N", help="Number of memories to skip (0)"),
)
"""The page of a listing to print."""
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
"""The scope and rules of a recall, and other values of settings to try."""
LAYER = option("--layer", choices=("agent", "store"), default="agent",
               help="What reaches an agent, or the store's own recall")  # fmt: skip
KEY = option("key", nargs="?", metavar="KEY")
EXACT_KEY = option("key", nargs="?", metavar="KEY", help="Exact key")
ID = option("--id", metavar="ID", help="The memory with this id")
DRY_RUN = option("--dry-run", action="store_true", help="Show the plan and exit")


def conflict_options(dest: str, default: str, **ways: str) -> AddOption:
    """Declare an option for each way to handle memories whose key is taken, with its help."""
    shared: dict[str, Any] = {"dest": dest, "action": "store_const", "default": default}
    return one_of(*(option(f"--{way}", const=way, help=about, **shared) for way, about in ways.items()))


def add_common(parser: argparse.ArgumentParser, agents: str) -> None:
    """Add the options of every verb; `agents` is the help of --agent, "" to hide it because the verb refuses it."""
    group = parser.add_argument_group("common options")
    for name, metavar, about in _OPENING:
        group.add_argument(name, metavar=metavar, help=about)
    group.add_argument("--agent", action="append", metavar="ALIAS", help=agents or argparse.SUPPRESS)
    for name, about in _SWITCHES:
        group.add_argument(name, action="store_true", help=about)


def build_filter(args: argparse.Namespace) -> MemoryFilter:
    """Build the filter of the options; ZeroClaw's own categories match in any case. Raises UsageError."""
    from zeroclaw_tui.memory.query import MemoryFilter, Superseded

    categories: tuple[str, ...] = ()
    if args.category:
        from zeroclaw_tui.memory.change import normal_category

        categories = tuple(map(normal_category, args.category))
    if args.regex:
        from zeroclaw_tui.backends.matching import compiled

        # An invalid pattern is reported before any store is queried.
        compiled(args.regex)
    return MemoryFilter(
        category=categories or None,
        session=tuple(args.session or ()) or None,
        agent=agent_names(args) or None,
        namespace=tuple(args.namespace or ()) or None,
        older_than=parse_time(args.older_than, args.now) if args.older_than is not None else None,
        newer_than=parse_time(args.newer_than, args.now) if args.newer_than is not None else None,
        contains=args.contains or None,
        regex=args.regex or None,
        superseded=Superseded(args.superseded),
    )


def single_agent(args: argparse.Namespace) -> str | None:
    """The only agent in the arguments, or None. Raises UsageError for several."""
    agents = tuple(dict.fromkeys(agent_names(args)))
    if len(agents) > 1:
        raise UsageError(f"Only one agent can be named, but {len(agents)} are given.", hint="Pass one --agent.")
    return agents[0] if agents else None


def read_text(typed: str, what: str) -> str:
    """Return a text, or for - all of stdin without a final newline. Raises UsageError unless it is UTF-8."""
    if typed != STDIN:
        return check_utf_8(typed, what)
    data = sys.stdin.buffer.read()
    try:
        return data.decode("utf-8").removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError as error:
        raise UsageError(f"The text on stdin is not UTF-8 (byte {error.start:,}).", hint="Convert it first.") from error


def check_utf_8(typed: str, what: str) -> str:
    """Check a typed text, and return it. Raises UsageError unless it is valid UTF-8."""
    from zeroclaw_tui.memory.text import is_unicode, one_line

    if not is_unicode(typed):
        raise UsageError(f"{what} is not UTF-8: {one_line(typed[:60])}", hint="Nothing was changed.")
    return typed


def parse_time(text: str, now: datetime) -> str:
    """Parse "30d", "12h", "2w" (before `now`), a date or date with time, local without offset, into RFC 3339.

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


def parse_bound(text: str, now: datetime) -> str:
    """Parse a bound of a recall, which ZeroClaw compares as text: an age becomes RFC 3339, others stay as typed."""
    parsed = parse_time(text, now)
    return parsed if re.fullmatch(_AGE, text.strip(), re.IGNORECASE) else text.strip()


def _add_print_completion(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--print-completion", choices=SHELLS, help="Print a completion script and exit")


def parse_path(name: Path | str) -> Path:
    """Parse a path, and expand ~. Raises UsageError for an empty path."""
    from pathlib import Path

    check_not_blank(name)
    return Path(name).expanduser()


def check_not_blank(value: Path | str) -> None:
    """Raise UsageError for an empty value, as from an unset shell variable: it would mean the default."""
    if not str(value).strip():
        raise UsageError("The value of an option is empty.", hint="Check that its shell variable is set.")


def _path(typed: Path | str | None) -> Path | None:
    return None if typed is None else parse_path(typed)
