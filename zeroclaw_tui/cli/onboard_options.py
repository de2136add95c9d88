"""The options of `zeroclaw onboard`, and which of its arguments are the real ZeroClaw's."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from zeroclaw_tui.cli.options import Parser, likely
from zeroclaw_tui.memory.errors import WrongUse
from zeroclaw_tui.memory.text import mask_secrets, one_line

RESTORE_ASKS = ""
"""What `--restore` without a name stands for."""
_TAKES_VALUE = frozenset({"--memory", "--set", "--answers", "--config-dir", "--workspace"})
_TAKES_VALUE_OR_NOT = "--restore"
_SWITCHES = ("--interactive", "--defaults", "--no-test", "--dry-run", "--json", "--yes", "--help")
OWN_OPTIONS = (*_SWITCHES, *sorted(_TAKES_VALUE), _TAKES_VALUE_OR_NOT)
_OF_ZEROCLAW = frozenset(
    {
        "--agent", "--api-key", "--cli", "--force", "--model", "--model-provider", "--provider", "--quick",
        "--reinit", "--tui",
    }
)  # fmt: skip
"""The options of `onboard` and `quickstart` that some ZeroClaw has, 0.1.2 to 0.8.4, and this program has not; those
that end with "-only" are ZeroClaw's as well."""
_LONGEST_SHOWN = 40

ABOUT = """\
Sets up the agent's memory in config.toml: asks in a terminal, or takes flags. Only the keys asked for change;
everything else stays byte for byte, and a dated backup is kept."""
_EPILOG = """\
A backend, a URL or any other setting comes from the first that has it: --memory and --set, the environment,
--answers, the config as it is, the default. Without a terminal nothing is asked.

Every other argument (--api-key, --provider, --channels-only, a section such as channels) belongs to the real
zeroclaw: the whole command is then handed to it, as `zeroclaw --real onboard ...` always is.

Exit codes: 0 done or nothing to change, 1 refused, 2 wrong use, a missing answer or a broken config,
3 not reachable or not writable, 127 no real zeroclaw to hand over to, 130 interrupted."""


def onboard_parser() -> Parser:
    """The parser of `zeroclaw onboard`."""
    from zeroclaw_tui.cli.options import Parser
    from zeroclaw_tui.config.defaults import BACKENDS_WITH_DEFAULTS

    parser = Parser(
        prog="zeroclaw onboard",
        description=ABOUT,
        epilog=_EPILOG,
        allow_abbrev=False,
    )
    parser.keeps_lines = True
    parser.add_argument("--interactive", action="store_true", help="ask, also beside other options")
    parser.add_argument("--defaults", action="store_true", help="never ask; what is not given is a default")
    parser.add_argument("--memory", metavar="BACKEND", help=", ".join(BACKENDS_WITH_DEFAULTS))
    parser.add_argument(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="one setting, in the spelling of any ZeroClaw (repeatable)",
    )
    parser.add_argument("--answers", metavar="FILE", type=_path, help="take answers from a TOML file")
    parser.add_argument("--no-test", action="store_true", help="write without testing what is answered")
    parser.add_argument("--dry-run", action="store_true", help="show what would change, and write nothing")
    parser.add_argument(
        "--restore",
        metavar="NAME",
        nargs="?",
        const=RESTORE_ASKS,
        help="put a backup back (`latest`, or the beginning of its name); without a name list them",
    )
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout and nothing else")
    parser.add_argument("--yes", action="store_true", help="put a backup back without asking")
    parser.add_argument("--config-dir", metavar="DIR", type=_path, help="the folder that holds config.toml")
    parser.add_argument("--workspace", metavar="DIR", type=_path, help="ZeroClaw's workspace or data dir")
    return parser


def foreign_argument(arguments: Sequence[str]) -> str | None:
    """The first argument of `zeroclaw onboard` that is not ours, without a value that hangs on it; else None."""
    waiting: list[str] = list(arguments)
    while waiting:
        argument = waiting.pop(0)
        name, equals, _ = argument.partition("=")
        if name in _TAKES_VALUE or name == _TAKES_VALUE_OR_NOT:
            if not equals and waiting and not _is_option(waiting[0]):
                waiting.pop(0)
        elif name not in _SWITCHES and argument != "-h":
            return name if name.startswith("-") else argument
    return None


def foreign_sentence(argument: str) -> tuple[str, str]:
    """What is said of an argument that nobody here can answer, and what to do next."""
    shown = one_line(mask_secrets(argument))[:_LONGEST_SHOWN]
    message = f"`zeroclaw onboard` has no {shown} here; it may be the real zeroclaw's, and there is none on PATH."
    near = likely(argument, OWN_OPTIONS)
    hint = f"Did you mean {near}? " if near else ""
    return message, f"{hint}`zeroclaw onboard --help` lists what is answered here."


def check_spelling(foreign: str) -> None:
    """Raise WrongUse for an option that is most likely one of ours, misspelt: no ZeroClaw has it."""
    if not foreign.startswith("--") or foreign in _OF_ZEROCLAW or foreign.endswith("-only"):
        return
    near = likely(foreign, OWN_OPTIONS, cutoff=0.8)
    if near is not None:
        shown = one_line(mask_secrets(foreign))[:_LONGEST_SHOWN]
        raise WrongUse(
            f"`zeroclaw onboard` has no {shown}.",
            hint=f"Did you mean {near}? `zeroclaw --real onboard {shown}` asks the real zeroclaw.",
        )


def check_fits(given: argparse.Namespace) -> None:
    """Raise WrongUse for options that contradict each other."""
    answering = {
        "--memory": given.memory is not None,
        "--set": bool(given.set),
        "--answers": given.answers is not None,
    }
    named = [name for name, is_given in answering.items() if is_given]
    if given.restore is not None:
        if given.interactive:
            named.append("--interactive")
        if named:
            raise WrongUse(
                f"--restore puts a backup back as it is and does not go with {' and '.join(named)}.",
                hint="Restore first, then run the other command.",
            )
    if given.interactive:
        quiet = [name for name, is_given in (("--defaults", given.defaults), ("--json", given.json)) if is_given]
        if quiet:
            raise WrongUse(
                f"--interactive asks, and {' and '.join(quiet)} never {'do' if len(quiet) > 1 else 'does'}.",
                hint="Leave one of them out.",
            )


def is_quiet(given: argparse.Namespace) -> bool:
    """True where the options already answer or want no questions."""
    return bool(
        given.memory is not None
        or given.set
        or given.answers is not None
        or given.defaults
        or given.dry_run
        or given.json
        or given.yes
    )


def _is_option(argument: str) -> bool:
    return argument.startswith("-") and argument != "-"


def _path(text: str) -> Path:
    """A path with its `~` replaced. An empty one, as an unset shell variable leaves it, would mean the folder that the
    shell happens to stand in. Raises WrongUse."""
    if not text.strip():
        raise WrongUse("An option that names a place is empty.", hint="Is the shell variable behind it set?")
    try:
        return Path(text).expanduser()
    except RuntimeError as error:
        raise WrongUse(f"There is no home folder for {one_line(text)}.", hint="Write the path out.") from error
