"""The wizard in a real terminal, from the first question to the written file."""

from __future__ import annotations

import os
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from support.http_endpoints import after, embeddings, serving
from support.postgres_server import PostgresServer
from support.terminal import Terminal

ZEROCLAW = str(Path(sys.executable).parent / "zeroclaw")
WIZARD = [ZEROCLAW, "onboard", "--interactive"]
BACKENDS = ("sqlite", "lucid", "postgres", "markdown", "qdrant", "none")
OLD = """# mine
default_temperature = 0.7   # warm

[memory]
backend = "markdown"        # readable
auto_save = true

# ---- channels ----
[channels_config]
cli = true
"""
USER, RIGHT, WRONG = "writer", "right-one-4711", "wrong-one-4712"
PLACE = re.compile(r"Step (\d+) [·.] ")
COLOUR = re.compile(rb"\x1b\[(?:[0-9]*;)*(?:3[0-9]|4[0-9]|9[0-7]|10[0-7])[;m]")


@pytest.fixture
def home(clean_environment: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty HOME, with only our own `bin` and the system's folders on PATH."""
    programs = clean_environment / "bin"
    programs.mkdir()
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    monkeypatch.chdir(clean_environment)
    return clean_environment


@pytest.fixture(scope="module")
def server(postgres: PostgresServer) -> PostgresServer:
    postgres.make_user(USER, RIGHT, owns=USER)
    return postgres


def config_file(home: Path, text: str | None = None) -> Path:
    """Return the path of the config, written with a text if given."""
    file = home / ".zeroclaw" / "config.toml"
    if text is not None:
        file.parent.mkdir()
        file.write_text(text)
    return file


def lucid(home: Path, text: str) -> None:
    program = home / "bin" / "lucid"
    program.write_text(text)
    program.chmod(0o755)


def place(screen: Terminal) -> int:
    """Return the number of the last question, 0 before the first."""
    numbers = [int(found) for found in PLACE.findall(screen.text)]
    return numbers[-1] if numbers else 0


def type_in(screen: Terminal, number: int, *keys: str) -> None:
    """Type an answer once its line has appeared: text typed earlier would be edited by the terminal itself."""

    def is_ready() -> bool:
        rows = [row for row in screen.rows if row]
        is_line = len(rows) > 1 and "ctrl+b back" in rows[-2] and rows[-1].startswith((" ❯", " >"))
        return is_line and place(screen) == number

    screen.wait_until(is_ready, f"the line of question {number}")
    screen.press(*keys)


def ask_everything(screen: Terminal) -> None:
    """Answer the question of how much to ask."""
    screen.wait_for("Which settings do you want to", "❯ Basics", "Everything")
    screen.press("down", "enter")


def choose_backend(screen: Terminal, backend: str, *, basics: bool = False) -> None:
    """Answer the first question of a new install."""
    if basics:
        screen.wait_for("Which settings do you want to", "❯ Basics")
        screen.press("enter")
    else:
        ask_everything(screen)
    screen.wait_for("Which memory backend?", "← back")
    screen.press(*["down"] * BACKENDS.index(backend), "enter")


def enter_to_the_review(screen: Terminal, last: int = 1) -> list[str]:
    """Accept the offered answer to every question; return the screens."""
    seen: list[str] = []
    while True:
        screen.wait_until(lambda: "Write" in screen.text or place(screen) > last, f"question {last + 1}")  # noqa: B023
        seen.append(screen.text)
        if "Write" in screen.text:
            return seen
        last = place(screen)
        screen.press("enter")


def choose_lucid_in_the_basics(screen: Terminal) -> None:
    """Answer all questions of a Markdown config, changing the backend to Lucid."""
    screen.wait_for("Which settings do you want to", "❯ Basics")
    screen.press("enter")
    screen.wait_for("❯ Markdown  (now)", "← back")
    screen.press("up", "up", "enter")
    type_in(screen, 2, "enter")


def end(screen: Terminal) -> None:
    """Decline everything offered after writing."""
    screen.wait_for("What next?", "❯ Nothing now")
    screen.press("enter")
    assert screen.wait_exit() == 0


def memory_of(file: Path) -> dict[str, Any]:
    section = tomllib.loads(file.read_text())["memory"]
    assert isinstance(section, dict)
    return section


def is_running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_the_review_of_another_backend_fits_on_a_small_screen(home: Path) -> None:
    file = config_file(home, OLD.replace("markdown", "sqlite"))
    with Terminal([*WIZARD, "--no-test"]) as screen:
        choose_backend(screen, "postgres")
        type_in(screen, 2, "postgres://writer:secret@db.home:5432/memory", "enter")
        enter_to_the_review(screen, 2)
        screen.wait_for("Cancel without saving", "← back")
        for words in (
            "── Review",
            '- backend = "sqlite"',
            '+ backend = "postgres"',
            "+ db_url",
            "~/.zeroclaw/config.toml",
        ):
            assert words in screen.text, words
        screen.press("ctrl+c")
        assert screen.wait_exit() == 130
    assert 'backend = "sqlite"' in file.read_text()


def test_a_wrong_password_is_reported_and_can_be_corrected(home: Path, server: PostgresServer) -> None:
    with Terminal(WIZARD, lines=40) as screen:
        choose_backend(screen, "postgres", basics=True)
        type_in(screen, 2, server.url(USER, WRONG, USER), "enter")
        screen.wait_for(f"refuses the user {USER} or the password", "❯ Change the answer and test again", "Keep it")
        screen.press("enter")
        type_in(screen, 2, "ctrl+u", server.url(USER, RIGHT, USER), "enter")
        seen = enter_to_the_review(screen, 2)
        assert any("PostgreSQL: connects in" in text for text in seen)
        screen.press("enter")
        end(screen)
        screen.wait_for("Created the key file")
        for password in (WRONG, RIGHT):
            assert password.encode() not in screen.raw
    written = config_file(home).read_text()
    assert 'db_url = "enc2:' in written
    assert (home / ".zeroclaw" / ".secret_key").exists()


def test_at_forty_columns_every_word_is_readable_and_the_inspector_opens_afterwards(home: Path) -> None:
    file = config_file(home, OLD)
    notes = file.parent / "workspace" / "MEMORY.md"
    notes.parent.mkdir()
    notes.write_text("# Long-term memory\n\n- **tea**: prefers it green\n")
    with Terminal(WIZARD, columns=40) as screen:
        ask_everything(screen)
        screen.wait_for("Which memory backend?", "❯ Markdown  (now)", "← back")
        screen.press("enter")
        screen.wait_for("Step 2 ", "Save user messages automatically?", "← back")
        screen.press("n")
        screen.wait_for("Step 3 ", "Enable hygiene (archive and delete", "← back")
        screen.press("ctrl+b")
        screen.wait_until(lambda: "❯ No\n   ← back" in screen.text.rpartition("Step 2")[2], "the question again")
        assert not re.search(r"\w…", screen.text), "no word may be cut in two"
        screen.press("enter")
        enter_to_the_review(screen, 2)
        screen.wait_for("- auto_save = true", "+ auto_save = false", "Write", "Cancel without saving")
        screen.press("enter")
        screen.wait_for("What next?", "❯ Nothing now", "Open the inspector")
        assert file.read_text() == OLD.replace("auto_save = true", "auto_save = false")
        screen.press("down", "enter")
        screen.wait_for("prefers it green")
        screen.press("q")
        assert screen.wait_exit() == 0


def test_no_colour_is_sent_if_none_is_wanted(home: Path) -> None:
    with Terminal(WIZARD, variables={"NO_COLOR": "1"}) as screen:
        choose_backend(screen, "markdown")
        enter_to_the_review(screen)
        screen.press("enter")
        end(screen)
        assert not COLOUR.search(screen.raw)
    with Terminal(WIZARD) as screen:
        screen.wait_for("Which settings do you want to")
        assert COLOUR.search(screen.raw), "otherwise the pattern above never matches"


def test_no_question_is_asked_if_stdin_is_a_pipe(home: Path) -> None:
    with Terminal(["/bin/sh", "-c", f"echo | {ZEROCLAW} onboard --interactive; echo ended with $?"]) as screen:
        screen.wait_for("ended with 2", "--interactive needs a terminal", "--defaults")
        assert b"Which memory backend?" not in screen.raw
    assert not config_file(home).exists()


def test_ctrl_c_during_a_test_of_a_program_leaves_no_process_and_keeps_the_file(home: Path) -> None:
    started = home / "started"
    lucid(home, f"#!/bin/sh\necho $$ > {started}.new\nmv {started}.new {started}\nexec sleep 600\n")
    file = config_file(home, OLD)
    with Terminal(WIZARD) as screen:
        choose_lucid_in_the_basics(screen)
        screen.wait_until(lambda: started.exists(), "lucid started")
        screen.press("ctrl+c")
        assert screen.wait_exit() == 130
        screen.wait_for("Stopped. Nothing was changed.")
        screen.wait_until(lambda: not is_running(int(started.read_text())), "lucid end")
    assert file.read_text() == OLD


def test_keys_typed_during_a_test_are_not_echoed_and_echo_is_restored(home: Path) -> None:
    waiting, done = home / "waiting", home / "done"
    os.mkfifo(done)
    lucid(home, f"#!/bin/sh\n: > {waiting}\nread line < {done}\n")
    config_file(home, OLD)
    command = f"trap : INT; {ZEROCLAW} onboard --interactive; stty -a"
    with Terminal(["/bin/sh", "-c", command]) as screen:
        choose_lucid_in_the_basics(screen)
        screen.wait_until(waiting.exists, "lucid started")
        screen.press("down", "up", "x")
        screen.wait_until(lambda: "Testing Lucid" in screen.text, "the test")
        done.write_text("go\n")
        screen.wait_for("✓ Lucid", "What now?")
        assert b"^[" not in screen.raw
        screen.press("ctrl+c")
        screen.wait_for("Stopped. Nothing was changed.", " echo ")


def test_ctrl_c_while_an_endpoint_is_silent_exits_at_once(home: Path) -> None:
    file = config_file(home, OLD.replace("markdown", "sqlite"))
    before = file.read_bytes()
    with serving(after(600, embeddings(3))) as endpoint, Terminal(WIZARD, lines=40) as screen:
        screen.wait_for("Which settings do you want to", "❯ Basics")
        screen.press("enter")
        screen.wait_for("❯ SQLite  (now)", "← back")
        screen.press("enter")
        type_in(screen, 2, "enter")
        type_in(screen, 3, "ctrl+u", f"{endpoint.base}/v1", "enter")
        screen.wait_for("Testing Embeddings")
        screen.press("ctrl+c")
        assert screen.wait_exit() == 130
        screen.wait_for("Stopped. Nothing was changed.")
    assert file.read_bytes() == before


@pytest.mark.parametrize("term", ["xterm-256color", "dumb", "vt100", "linux"])
def test_a_terminal_without_our_symbols_gets_ascii_instead(home: Path, term: str) -> None:
    with Terminal(WIZARD, variables={"PYTHONIOENCODING": "iso-8859-1", "TERM": term}) as screen:
        screen.wait_for("Which settings do you want to", "> Basics")
        screen.press("down", "enter")
        screen.wait_for("-- Step 1 . ", "> SQLite", "< back")
        screen.press("enter")
        type_in(screen, 2, "ctrl+c")
        assert screen.wait_exit() == 130
        assert screen.raw.isascii()
        assert "? " not in screen.text.replace("kept? ", "")


def test_end_of_input_is_a_usage_error_that_names_an_alternative(home: Path) -> None:
    with Terminal(WIZARD) as screen:
        choose_backend(screen, "sqlite")
        type_in(screen, 2, "x", "enter")
        screen.wait_for("The answer must be a whole number from 0 to 300;")
        screen.press("\x7f", "\x04")
        assert screen.wait_exit() == 2
        screen.wait_for("Stopped. Nothing was changed.", "--answers FILE")
    assert not config_file(home).exists()
    assert not (home / ".zeroclaw").exists()
