"""Start a program in a pty, wait for a text on its screen, press a key and return its exit code.

python start_in_terminal.py --expect TEXT [--quit KEY] -- PROGRAM [ARG ...]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from support import terminal

terminal.PATIENCE = 300.0


def main() -> int:
    """Exit with the program's own code, or 1 if the text never appeared."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--expect", required=True)
    parser.add_argument("--quit", default="")
    parser.add_argument("program", nargs="+")
    given = parser.parse_args()
    with terminal.Terminal(given.program, columns=100, lines=30, fresh=True) as screen:
        screen.wait_for(given.expect)
        if given.quit:
            screen.press(given.quit)
        code = screen.wait_exit()
        print(screen.text if code else f"{given.program[0]}: {given.expect!r} seen, exit {code}")
        return code


if __name__ == "__main__":
    sys.exit(main())
