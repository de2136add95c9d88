"""The entry points of both scripts: dispatch, handing over to the real ZeroClaw, and errors without tracebacks."""

from __future__ import annotations

import errno
import gc
import io
import os
import sys
from _thread import allocate_lock
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from zeroclaw_tui import __version__
from zeroclaw_tui.cli.hand_over import can_hand_over, hand_over
from zeroclaw_tui.memory.errors import (
    DONE,
    INTERRUPTED,
    NOT_REACHABLE,
    REFUSED,
    InspectorError,
    SearchInterrupted,
    UsageError,
)

if TYPE_CHECKING:
    from types import TracebackType

DEBUG_VARIABLE = "ZEROCLAW_TUI_DEBUG"
_RARELY_USED = (
    "ssl", "asyncio.sslproto", "inspect", "ipaddress", "linecache", "textwrap", "tokenize", "tomllib", "platform",
    "pickle",
)  # fmt: skip
"""Modules that asyncio, pathlib, NumPy and our own modules import, a third of their cost, and few commands use."""
_stand_ins_lock = allocate_lock()
_OBJECTS_BETWEEN_COLLECTIONS = 200_000
_FULL = (errno.ENOSPC, errno.EDQUOT)
_CANNOT_BE_WRITTEN = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def inspector() -> int:
    """Run `zeroclaw-tui`, and return its exit code."""
    return _run(_inspect, "zeroclaw-tui")


def zeroclaw() -> int:
    """Run a command of `zeroclaw`, and return its exit code; other commands go to the real ZeroClaw."""
    return _run(_dispatch, "zeroclaw")


def _run(run: Callable[[Sequence[str]], int], program: str) -> int:
    """Run a program, and turn every failure into a sentence and an exit code."""
    # Python's default, a collection every 700 objects, takes a tenth of a short command's time.
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    sys.excepthook = _one_sentence(program)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            # The shell closed the stream: `>&-`.
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))
    # Tests replace stdout by another stream.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    try:
        try:
            code = run(sys.argv[1:])
        except InspectorError as error:
            code = error.exit_code
            _print_error(program, error.title, error.message, error.hint, code, **error.details)
        sys.stdout.flush()
        # Spares the interpreter's final garbage collection.
        gc.freeze()
    except BrokenPipeError:
        _forget_stdout()
        return DONE
    except OSError as error:
        if error.filename is not None and error.errno in _FULL:
            message = f"Cannot write {error.filename}: the disk is full."
            _print_error(program, "Disk full", message, "Free some space there and try again.", NOT_REACHABLE)
            return NOT_REACHABLE
        # An error without a file name comes from a stream.
        if error.filename is not None or error.errno not in _CANNOT_BE_WRITTEN:
            raise
        _forget_stdout()
        from zeroclaw_tui.cli.output import note

        note(f"{program}: Cannot write to stdout: {error.strerror}.\nSend the output somewhere else.")
        return NOT_REACHABLE
    except (KeyboardInterrupt, SearchInterrupted):
        return INTERRUPTED
    return code


def _print_error(program: str, title: str, message: str, hint: str, exit_code: int, **details: Any) -> None:
    """Print an error on stderr, and with --json also as a document on stdout."""
    from zeroclaw_tui.cli.output import error_as_json, note, print_document

    arguments = sys.argv[1:]
    own = arguments[: arguments.index("--")] if "--" in arguments else arguments
    if "--json" in own and own[0] != "--real" and {"memory", "onboard"} & set(own):
        is_batch = any(argument.partition("=")[0] == "--batch" for argument in own)
        print_document({"error": error_as_json(title, message, hint, exit_code, **details)}, compact=is_batch)
    note(f"{program}: {message}" + (f"\n{hint}" if hint else ""))


def _one_sentence(program: str) -> Callable[[type[BaseException], BaseException, TracebackType | None], None]:
    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if os.environ.get(DEBUG_VARIABLE) == "1":
            sys.__excepthook__(kind, error, trace)
            return
        message = f"Internal error ({kind.__name__}). Please report it with the command you ran."
        hint = f"Run the command with {DEBUG_VARIABLE}=1 to see where it happened."
        _print_error(program, "Internal error", message, hint, REFUSED)

    return hook


def _forget_stdout() -> None:
    """Redirect Python's flush at exit to the null device."""
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())


def _inspect(arguments: Sequence[str]) -> int:
    from zeroclaw_tui.cli.options import inspector_parser, open_options

    args = inspector_parser().parse(arguments)
    if args.print_completion:
        from zeroclaw_tui.cli.completion import print_script

        return print_script("zeroclaw-tui", args.print_completion)
    options = open_options(args)
    from zeroclaw_tui.config.locations import OpenOptions

    if args.demo and options != OpenOptions(read_only=args.read_only):
        raise UsageError("--demo opens its own workspace; leave out every other store.")
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            "zeroclaw-tui needs a terminal.",
            hint="Use `zeroclaw memory` in scripts; `zeroclaw memory --help` lists the commands.",
        )
    import threading

    threading.excepthook = lambda failed: sys.excepthook(
        failed.exc_type, failed.exc_value or RuntimeError(), failed.exc_traceback
    )
    from zeroclaw_tui.tui.app import DEMO_WANTED, run_inspector

    if not args.demo:
        code = run_inspector(options)
        if code != DEMO_WANTED:
            return code
    return _inspect_demo(args.read_only)


def _inspect_demo(read_only: bool) -> int:
    """Run the inspector on a temporary sample workspace."""
    from datetime import UTC, datetime

    from zeroclaw_tui.config.locations import OpenOptions
    from zeroclaw_tui.curation.demo import make_demo
    from zeroclaw_tui.files.disk import temporary_folder
    from zeroclaw_tui.tui.app import run_inspector

    with temporary_folder("zeroclaw-tui-demo-") as folder:
        return run_inspector(OpenOptions(config_dir=make_demo(folder, datetime.now(UTC)), read_only=read_only))


def _dispatch(arguments: Sequence[str]) -> int:
    if arguments[:1] == ["--real"]:
        return hand_over(arguments[1:])
    for name in _RARELY_USED:
        _import_at_use(name)
    from zeroclaw_tui.cli.options import index_of_first_word

    index = index_of_first_word(arguments)
    if index is not None and arguments[index] == "memory":
        return _run_memory([*arguments[:index], *arguments[index + 1 :]])
    if index is not None and arguments[index] == "onboard":
        return _run_onboard(arguments, index)
    if arguments and arguments[0].partition("=")[0] == "--print-completion":
        return _print_completion(arguments)
    if index is None and arguments and set(arguments) <= {"-h", "--help", "-V", "--version"} and not can_hand_over():
        return _introduce(arguments)
    return hand_over(arguments)


def _run_memory(own: Sequence[str]) -> int:
    from zeroclaw_tui.cli.options import index_of_first_word
    from zeroclaw_tui.cli.verbs import memory_arguments, memory_parser, run_verb, split_verb, verbs_below

    if split_verb(own)[0] is None:
        index = index_of_first_word(own)
        if index is not None and not {"-h", "--help"} & set(own):
            names = ", ".join(each.name for each in verbs_below(own[index]))
            raise UsageError(f"`zeroclaw memory {own[index]}` is not a command.", hint=f"Commands: {names}.")
        memory_parser().parse(own or ["--help"])
    return run_verb(memory_arguments(own))


def _import_at_use(name: str) -> None:
    """Defer the import of a module to its first use."""
    from types import ModuleType

    if name in sys.modules:
        return
    stand_in = ModuleType(name)

    def attribute(wanted: str) -> object:
        # The import system itself reads __spec__ and __path__ of every module.
        if wanted.startswith("__"):
            raise AttributeError(wanted)
        # Of several threads only one may remove it: the others would remove the real module.
        with _stand_ins_lock:
            if sys.modules.get(name) is stand_in:
                del sys.modules[name]
        return getattr(import_module(name), wanted)

    stand_in.__getattr__ = attribute  # type: ignore[method-assign]
    sys.modules[name] = stand_in


def _run_onboard(arguments: Sequence[str], at: int) -> int:
    from zeroclaw_tui.cli.onboard import check_spelling, foreign_argument, foreign_sentence, onboard, onboard_parser

    own = [*arguments[:at], *arguments[at + 1 :]]
    parser = onboard_parser()
    foreign = foreign_argument(parser, own)
    if foreign is not None:
        check_spelling(parser, foreign)
        hand_over(arguments, foreign_sentence(foreign))
    return onboard(parser.parse(own))


def _print_completion(arguments: Sequence[str]) -> int:
    from zeroclaw_tui.cli.completion import print_script
    from zeroclaw_tui.cli.options import zeroclaw_parser

    return print_script("zeroclaw", zeroclaw_parser().parse(arguments).print_completion)


def _introduce(arguments: Sequence[str]) -> int:
    if {"-V", "--version"} & set(arguments):
        sys.stdout.write(f"zeroclaw-tui {__version__} (no real zeroclaw on PATH)\n")
    else:
        from zeroclaw_tui.cli.options import zeroclaw_parser

        sys.stdout.write(zeroclaw_parser().format_help())
    return DONE
