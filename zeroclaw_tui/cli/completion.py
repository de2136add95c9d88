"""Completion in bash, zsh and fish: a short script for each shell, which asks this program what may stand there.

An answer is a line for each value, `VALUE<Tab>what it is`, or the one line `:files` or `:folders` where the shell
itself knows best.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from zeroclaw_tui.cli.options import (
    ABOUT_MEMORY,
    ABOUT_ONBOARD,
    Parser,
    first_word,
    inspector_parser,
    open_options,
    zeroclaw_parser,
)
from zeroclaw_tui.cli.verbs import first_words, memory_parser, split_verb, topics, verb_parser, verbs_below
from zeroclaw_tui.memory.errors import DONE, InspectorError, UsageError

Value = tuple[str, str]
"""What may stand there, and a few words on it."""
FILES: Value = (":files", "")
FOLDERS: Value = (":folders", "")
MOST_KEYS = 200
SECONDS_FOR_A_STORE = 2.0

_PLACES = {
    "DIR": FOLDERS, "FILE": FILES, "PATH": FILES, "FILE_OR_FOLDER": FILES, "URL_OR_PATH": FILES, "PATH_OR_URL": FILES,
}  # fmt: skip
_IN_STORE = {"category": "category", "recategorise": "category", "session": "session", "namespace": "namespace"}
"""Which counts of a store hold the values of an option."""
_OWN_CATEGORIES = ("core", "daily", "conversation")

_BASH = """\
# Completion of {program} in bash: put this into ~/.local/share/bash-completion/completions/{program}
# or have ~/.bashrc do: source <({program} --print-completion bash)
_{name}() {{
    local line IFS=$'\\n'
    COMPREPLY=()
    while read -r line; do
        case $line in
            :files) compopt -o filenames 2>/dev/null; COMPREPLY+=($(compgen -f -- "$2")) ;;
            :folders) compopt -o filenames 2>/dev/null; COMPREPLY+=($(compgen -d -- "$2")) ;;
            *) COMPREPLY+=("${{line%%$'\\t'*}}") ;;
        esac
    done < <("$1" --complete bash "${{COMP_LINE:0:COMP_POINT}}" "$2" 2>/dev/null)
}}
complete -F _{name} {program}
"""
_ZSH = """\
#compdef {program}
# Completion of {program} in zsh: put this into a folder of $fpath as _{program}
# or have ~/.zshrc do, after compinit: source <({program} --print-completion zsh)
_{name}() {{
    local line
    local -a values shown
    for line in "${{(@f)$("${{words[1]}}" --complete zsh "${{(@Q)words[2,CURRENT]}}" 2>/dev/null)}}"; do
        case $line in
            :files) _files; return ;;
            :folders) _files -/; return ;;
            ?*) values+=("${{line%%$'\\t'*}}"); shown+=("${{line/$'\\t'/  -- }}") ;;
        esac
    done
    compadd -l -d shown -a values
}}
if [[ $funcstack[1] == _{name} ]]; then _{name} "$@"; else compdef _{name} {program}; fi
"""
_FISH = """\
# Completion of {program} in fish: put this into ~/.config/fish/completions/{program}.fish
function __{name}
    set -l words (commandline -opc)
    set -l program $words[1]
    set -e words[1]
    set -l current (commandline -ct)
    for line in ($program --complete fish $words "$current" 2>/dev/null)
        switch $line
            case :files
                __fish_complete_path "$current"
            case :folders
                __fish_complete_directories "$current"
            case '*'
                printf '%s\\n' $line
        end
    end
end
complete -c {program} -f -a '(__{name})'
"""
_SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


def print_script(program: str, shell: str) -> int:
    """Write what one shell loads to stdout."""
    name = "_".join((program.replace("-", "_"), "words"))
    sys.stdout.write(_SCRIPTS[shell].format(program=program, name=name))
    return DONE


def complete(asked: Sequence[str]) -> int:
    """Write what may stand behind `zeroclaw` and the words typed.

    `asked` is the shell's name and then the words, the last of them the one at the cursor; from bash, which cuts words
    at colons and equals signs, the line up to the cursor and the part of its last word that the answer replaces.
    """
    return _write(asked, _of_zeroclaw)


def complete_inspector(asked: Sequence[str]) -> int:
    """The same of `zeroclaw-tui`."""
    return _write(asked, lambda words: _of_parser(inspector_parser(), words))


def _write(asked: Sequence[str], offered: Callable[[Sequence[str]], Iterable[Value]]) -> int:
    shell, *words = asked or ("",)
    replaced = None
    if shell == "bash":
        line, replaced = (*words, "", "")[:2]
        words = _words(line)[1:]
    current = words[-1] if words else ""
    for value, about in offered(words or [""]):
        if value in (FILES[0], FOLDERS[0]):
            sys.stdout.write(f"{value}\n")
        elif value.startswith(current) and value.isprintable():
            shown = value if replaced is None else _in_bash(value[max(0, len(current) - len(replaced)) :])
            sys.stdout.write(f"{shown}\t{about}\n")
    return DONE


def _words(line: str) -> list[str]:
    """The words of a line as a shell reads them, the last one at its end, where a quote may still be open."""
    import shlex

    for closing in ("", "'", '"'):
        try:
            words = shlex.split(line + closing)
        except ValueError:
            continue
        return words if line[-1:].strip() or closing else [*words, ""]
    return line.split()


def _in_bash(value: str) -> str:
    import shlex

    return shlex.quote(value) if any(character in " \t'\"\\$`*?[](){}<>|&;!#~" for character in value) else value


def _of_zeroclaw(words: Sequence[str]) -> Iterator[Value]:
    *before, current = words
    at = first_word(before)
    if at is not None and before[at] == "memory":
        yield from _of_memory([*before[:at], *before[at + 1 :]], current)
    elif at is not None and before[at] == "onboard":
        from zeroclaw_tui.cli.onboard import onboard_parser

        yield from _of_parser(onboard_parser(), [*before[:at], *before[at + 1 :], current])
    elif at is not None or "--real" in before:
        # What the real zeroclaw takes is its own to complete.
        yield FILES
    elif current.startswith("-") or before:
        yield from _of_parser(zeroclaw_parser(), words)
    else:
        yield from (("memory", ABOUT_MEMORY), ("onboard", ABOUT_ONBOARD))


def _of_memory(before: Sequence[str], current: str) -> Iterator[Value]:
    try:
        verb, others = split_verb(before)
    except UsageError:
        at = first_word(before)
        for verb in verbs_below(before[at]) if at is not None and at == len(before) - 1 else ():
            yield verb.name.split()[1], verb.about
        return
    if verb is not None:
        yield from _of_parser(verb_parser(verb), [*others, current])
    elif current.startswith("-") or (before and before[-1].startswith("-") and _waits(memory_parser(), before)):
        yield from _of_parser(memory_parser(), [*before, current])
    else:
        yield from first_words()


def _of_parser(parser: Parser, words: Sequence[str]) -> Iterator[Value]:
    *before, current = words
    options: Mapping[str, argparse.Action] = parser._option_string_actions
    name, equals, _ = current.partition("=")
    waiting = options.get(name) if equals else _waits(parser, before)
    if waiting is not None:
        start = f"{name}=" if equals else ""
        for value, about in _values(parser, waiting, before):
            yield (value, about) if value in (FILES[0], FOLDERS[0]) else (start + value, about)
    elif current.startswith("-") and "--" not in before:
        for option, action in options.items():
            is_open = option not in before or isinstance(action, argparse._AppendAction)
            if option.startswith("--") and is_open and action.help is not argparse.SUPPRESS:
                yield option, action.help or ""
    else:
        place = _place(parser, before)
        if place is not None:
            yield from _values(parser, place, before)


def _waits(parser: Parser, before: Sequence[str]) -> argparse.Action | None:
    """The option whose value comes next."""
    action = parser._option_string_actions.get(before[-1]) if before and "--" not in before else None
    return action if action is not None and action.nargs in (None, "?") else None


def _place(parser: Parser, before: Sequence[str]) -> argparse.Action | None:
    """The argument without an option that comes next."""
    places = [action for action in parser._actions if not action.option_strings]
    given = 0
    for at, word in enumerate(before):
        is_word = not word.startswith("-") or "--" in before[:at]
        given += is_word and _waits(parser, before[:at]) is None
    if given < len(places):
        return places[given]
    return places[-1] if places and places[-1].nargs in ("*", "+") else None


def _values(parser: Parser, action: argparse.Action, before: Sequence[str]) -> Iterator[Value]:
    """What an option or an argument may be."""
    if action.choices is not None:
        yield from ((str(choice), "") for choice in action.choices)
    elif isinstance(action.metavar, str) and action.metavar in _PLACES:
        yield _PLACES[action.metavar]
    elif action.dest in ("backend", "to", "memory"):
        yield from _backends(is_set_up=action.dest == "memory")
    elif action.dest == "topic":
        yield from topics()
        yield from first_words()
    elif action.dest == "restore":
        yield from _backups(_place_named(parser, before))
    elif action.metavar == "KEY" or action.dest in _IN_STORE or action.dest == "agent":
        yield from _of_store(parser, action, before)


def _backends(*, is_set_up: bool) -> Iterator[Value]:
    if is_set_up:
        from zeroclaw_tui.config.schema import BACKENDS_WITH_DEFAULTS

        yield from ((name, "") for name in BACKENDS_WITH_DEFAULTS)
    else:
        from zeroclaw_tui.backends.factory import BACKENDS

        yield from ((profile.key, profile.label) for profile in BACKENDS if profile.not_yet is None)


def _backups(given: argparse.Namespace) -> Iterable[Value]:
    """The versions that can be put back; nothing where the place cannot be looked at."""
    from zeroclaw_tui.config.locations import home_folder
    from zeroclaw_tui.config.save import list_backups
    from zeroclaw_tui.onboard.situation import candidates

    try:
        place = open_options(given)
        home = home_folder(os.environ, place.config_dir)
        winner = candidates(os.environ, home, config_dir=place.config_dir, workspace=place.workspace)[0]
        return [(backup.name, "") for backup in list_backups(winner.install.own_dir)]
    except InspectorError:
        return []


def _of_store(parser: Parser, action: argparse.Action, before: Sequence[str]) -> Iterable[Value]:
    """What the store that the words name holds; nothing where it does not open at once: nobody at a prompt wants to
    read why."""
    import asyncio

    given = _place_named(parser, before)
    try:
        return asyncio.run(asyncio.wait_for(_read(given, action), SECONDS_FOR_A_STORE))
    except (InspectorError, OSError, TimeoutError):
        return [(name, "") for name in _OWN_CATEGORIES] if _IN_STORE.get(action.dest) == "category" else []


def _place_named(parser: Parser, before: Sequence[str]) -> argparse.Namespace:
    """The options among the words that say where the store is."""
    given = argparse.Namespace(
        **dict.fromkeys(("path", "config_dir", "workspace", "backend", "location", "profile", "agent")),
        read_only=True,
    )
    for at, word in enumerate(before):
        option, equals, value = word.partition("=")
        named = parser._option_string_actions.get(option)
        if named is not None and hasattr(given, named.dest) and named.dest not in ("agent", "read_only"):
            setattr(given, named.dest, value if equals else (*before[at + 1 :], None)[0])
    return given


async def _read(given: argparse.Namespace, action: argparse.Action) -> list[Value]:
    from datetime import UTC, datetime

    from zeroclaw_tui.curation.library import open_library
    from zeroclaw_tui.curation.store_choice import configs_for
    from zeroclaw_tui.memory.query import NEWEST_UPDATED, MemoryFilter

    library = await open_library(configs_for(open_options(given))[0])
    try:
        if action.metavar == "KEY":
            handles, _ = await library.memory.order_part(MemoryFilter(), NEWEST_UPDATED, 0, MOST_KEYS)
            rows = await library.memory.rows(handles)
            return [(row.key, row.category) for row in rows if row.key and not row.key.startswith("-")]
        facets = await library.memory.facets(MemoryFilter(), datetime.now(UTC).isoformat())
        counted = facets.agent if action.dest == "agent" else getattr(facets, _IN_STORE[action.dest])
        return [(str(name), str(count)) for name, count in (counted or {}).items() if name]
    finally:
        await library.close()
