"""Both scripts: what each answers itself, and that no traceback ever reaches a person."""

from __future__ import annotations

import contextlib
import errno
import gc
import io
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from types import FrameType, TracebackType
from typing import NoReturn

from zeroclaw_tui import __version__
from zeroclaw_tui.cli.arguments import (
    VERBS_HERE,
    VERBS_TO_COME,
    first_word,
    inspector_parser,
    memory_arguments,
    onboard_arguments,
    open_options,
    zeroclaw_parser,
)
from zeroclaw_tui.cli.output import note
from zeroclaw_tui.config.install import OpenOptions
from zeroclaw_tui.memory.errors import DONE, INTERRUPTED, NOT_REACHABLE, InspectorError, WrongUse

DEBUG_VARIABLE = "ZEROCLAW_TUI_DEBUG"
_OBJECTS_BETWEEN_COLLECTIONS = 50_000
_FULL = (errno.ENOSPC, errno.EDQUOT)
_CANNOT_BE_WRITTEN = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def inspector() -> int:
    """`zeroclaw-tui`: exit code of the inspector."""
    return _calmly("zeroclaw-tui", _inspect)


def zeroclaw() -> int:
    """`zeroclaw`: exit code of a memory command; anything else becomes the real ZeroClaw."""
    return _calmly("zeroclaw", _answer)


def _calmly(program: str, run: Callable[[Sequence[str]], int]) -> int:
    tell = _one_sentence(program)
    sys.excepthook = tell
    threading.excepthook = lambda failed: tell(
        failed.exc_type, failed.exc_value or RuntimeError(), failed.exc_traceback
    )
    _open_closed_streams()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    try:
        try:
            code = run(sys.argv[1:])
        except InspectorError as error:
            code = error.exit_code
            note(f"{program}: {error.message}" + (f"\n{error.hint}" if error.hint else ""))
        sys.stdout.flush()
    except BrokenPipeError:
        _forget_stdout()
        return DONE
    except OSError as error:
        if error.filename is not None and error.errno in _FULL:
            note(f"{program}: {error.filename} cannot be written: the disk is full.\nMake room there and do it again.")
            return NOT_REACHABLE
        # Failures with files are told by name where they happen; one without a name is that of a stream.
        if error.filename is not None or error.errno not in _CANNOT_BE_WRITTEN:
            raise
        _forget_stdout()
        note(f"{program}: Stdout cannot be written: {error.strerror}.\nSend the answer to another place.")
        return NOT_REACHABLE
    except KeyboardInterrupt:
        return INTERRUPTED
    return code


def _one_sentence(program: str) -> Callable[[type[BaseException], BaseException, TracebackType | None], None]:
    def tell(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if os.environ.get(DEBUG_VARIABLE) == "1":
            sys.__excepthook__(kind, error, trace)
            return
        note(f"{program}: This is a fault of the program ({kind.__name__}); please report it with the command you ran.")
        note(f"{DEBUG_VARIABLE}=1 in front of the command shows where it happened.")

    return tell


def _open_closed_streams() -> None:
    """A program started with a stream closed finds None in its place: nobody reads it, and nothing comes from it."""
    for name, mode, flags in (("stdin", "r", os.O_RDONLY), ("stdout", "w", os.O_WRONLY), ("stderr", "w", os.O_WRONLY)):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, flags), mode, encoding="utf-8"))


def _forget_stdout() -> None:
    """Python flushes stdout once more at exit; nobody reads it any longer."""
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())


def _inspect(arguments: Sequence[str]) -> int:
    parser = inspector_parser()
    given = parser.parse_args(arguments)
    if given.print_completion:
        from zeroclaw_tui.cli.completion import print_completion

        return print_completion(parser, given.print_completion)
    options = open_options(given)
    if given.demo and options != OpenOptions(read_only=given.read_only):
        raise WrongUse("--demo makes its own workspace, so nothing else can be named to open.")
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise WrongUse(
            "The inspector needs a terminal.",
            hint="Without one, `zeroclaw memory list`, `get`, `recall`, `stats`, `facets` and `health` answer the same,"
            " for scripts with --json.",
        )
    # What is imported and drawn until the list stands there stays; looking through it for what could go, every 700
    # objects as Python does, takes a fifth of the time until then.
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    from zeroclaw_tui.tui.app import DEMO_WANTED, run_inspector

    if not given.demo:
        code = run_inspector(options)
        if code != DEMO_WANTED:
            return code
    with _demo_options(given.read_only) as demo:
        return run_inspector(demo)


@contextlib.contextmanager
def _demo_options(read_only: bool) -> Iterator[OpenOptions]:
    """What opens the sample workspace, which is removed again however the program ends."""
    from datetime import UTC, datetime

    from zeroclaw_tui.config.document.replacing import temporary_folder
    from zeroclaw_tui.curation.demo import make_demo

    with temporary_folder("zeroclaw-tui-demo-") as folder:
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, _removing(str(folder)))
        yield OpenOptions(config_dir=make_demo(folder, datetime.now(UTC)), read_only=read_only)


def _removing(folder: str) -> Callable[[int, FrameType | None], None]:
    """A signal handler that removes a folder and then lets the signal do what it always does.

    An exception raised here could end the event loop between any two steps and leave a database thread for which the
    interpreter waits for ever.
    """
    import shutil

    def leave(number: int, frame: FrameType | None) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    return leave


def _answer(arguments: Sequence[str]) -> int:
    if arguments[:1] == ["--real"]:
        return _hand_over(arguments[1:])
    at = first_word(arguments)
    if at is not None and arguments[at] == "memory":
        return _answer_memory(arguments, at)
    if at is not None and arguments[at] == "onboard":
        return _answer_onboard(arguments, at)
    if arguments and arguments[0].partition("=")[0] == "--print-completion":
        return _complete(arguments)
    if at is None and arguments and set(arguments) <= {"-h", "--help", "-V", "--version"} and not _real_is_there():
        return _introduce(arguments)
    return _hand_over(arguments)


def _answer_memory(arguments: Sequence[str], at: int) -> int:
    own = [*arguments[:at], *arguments[at + 1 :]]
    verb_at = first_word(own)
    verb = None if verb_at is None else own[verb_at]
    if verb in VERBS_TO_COME:
        raise WrongUse(
            f"`zeroclaw memory {verb}` comes with a later release.", hint=f"Here now: {', '.join(VERBS_HERE)}."
        )
    given = memory_arguments(own)
    from zeroclaw_tui.cli.memory import answer

    return answer(given)


def _answer_onboard(arguments: Sequence[str], at: int) -> int:
    from zeroclaw_tui.cli.onboard_options import foreign_argument, foreign_sentence

    own = [*arguments[:at], *arguments[at + 1 :]]
    foreign = foreign_argument(own)
    if foreign is not None:
        _hand_over(arguments, foreign_sentence(foreign))
    given = onboard_arguments(own)
    from zeroclaw_tui.cli.onboard import onboard

    return onboard(given)


def _complete(arguments: Sequence[str]) -> int:
    from zeroclaw_tui.cli.completion import print_completion

    parser = zeroclaw_parser()
    # A command is required, but not for this.
    given = parser.parse_args([*arguments, "memory", "health"])
    return print_completion(parser, given.print_completion)


def _introduce(arguments: Sequence[str]) -> int:
    if {"-V", "--version"} & set(arguments):
        sys.stdout.write(f"zeroclaw-tui {__version__} (no real zeroclaw on PATH)\n")
    else:
        sys.stdout.write(zeroclaw_parser().format_help())
    return DONE


def _real_is_there() -> bool:
    from zeroclaw_tui.cli.pass_through import can_hand_over

    return can_hand_over()


def _hand_over(arguments: Sequence[str], without: tuple[str, str] | None = None) -> NoReturn:
    from zeroclaw_tui.cli.pass_through import hand_over

    hand_over(arguments, without)
