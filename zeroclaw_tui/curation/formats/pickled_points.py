"""The points of a local Qdrant (qdrant-client), which are pickles: read without ever running one.

A pickle is a program for a small machine with a stack. Of its instructions those are known here that build numbers,
texts, lists, dictionaries, sets and tuples, and objects of the two classes below, which become plain dictionaries.
Anything else is refused, so that nothing in a file is ever imported or called (pickle protocols 2 to 5).
"""

from __future__ import annotations

import pickletools
import struct
from collections.abc import Callable
from typing import Any

from zeroclaw_tui.memory.text import is_unicode

_MODULE = "qdrant_client.http.models.models"
_CLASSES = frozenset({"PointStruct", "SparseVector"})
_MOST_STEPS = 2_000_000
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_EMPTY: dict[str, Callable[[], Any]] = {
    "EMPTY_DICT": dict,
    "EMPTY_LIST": list,
    "EMPTY_SET": set,
    "EMPTY_TUPLE": tuple,
}
_LITERALS = frozenset(
    {"SHORT_BINUNICODE", "BINUNICODE", "BINFLOAT", "BININT", "BININT1", "BININT2", "LONG1"}
    | {"SHORT_BINBYTES", "BINBYTES"}
)
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_IDLE = frozenset({"PROTO", "FRAME"})


class RefusedPickle(ValueError):
    """A pickle that does more than hold a point, or that is broken."""


class _Mark:
    """Where the parts of a collection begin on the stack."""


class _Class:
    """One of the classes that may be named; it is never imported."""


def unpickled_values(data: bytes) -> Any:
    """What a pickle of plain values and points holds. Raises RefusedPickle for any other."""
    machine = _Machine()
    try:
        for step, (instruction, argument, _) in enumerate(pickletools.genops(data)):
            if step > _MOST_STEPS:
                raise RefusedPickle("it is too long")
            if instruction.name == "STOP":
                return machine.stack.pop()
            machine.run(instruction.name, argument)
    except RefusedPickle:
        raise
    except (ValueError, TypeError, IndexError, KeyError, AttributeError, struct.error) as failure:
        raise RefusedPickle("it is broken") from failure
    raise RefusedPickle("it does not end")


class _Machine:
    """The stack, and what is remembered to be pushed again."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self._known: dict[int, Any] = {}

    def run(self, name: str, argument: Any) -> None:
        """One instruction. Raises RefusedPickle for one that no point needs."""
        stack = self.stack
        if name in _IDLE:
            return
        if name in _LITERALS:
            stack.append(_whole(argument))
        elif name in _CONSTANTS:
            stack.append(_CONSTANTS[name])
        elif name in _EMPTY:
            stack.append(_EMPTY[name]())
        elif name == "MARK":
            stack.append(_Mark())
        elif name in _TUPLES:
            count = _TUPLES[name]
            if len(stack) < count:
                raise RefusedPickle("it is broken")
            stack[-count:] = [tuple(stack[-count:])]
        elif name == "MEMOIZE":
            self._known[len(self._known)] = stack[-1]
        elif name in ("BINPUT", "LONG_BINPUT"):
            self._known[argument] = stack[-1]
        elif name in ("BINGET", "LONG_BINGET"):
            stack.append(self._known[argument])
        else:
            self._build(name)

    def _build(self, name: str) -> None:
        stack = self.stack
        if name == "TUPLE":
            stack.append(tuple(self._marked()))
        elif name == "APPEND":
            value = stack.pop()
            _list(stack[-1]).append(value)
        elif name == "APPENDS":
            values = self._marked()
            _list(stack[-1]).extend(values)
        elif name == "ADDITEMS":
            values = self._marked()
            if not isinstance(stack[-1], set):
                raise RefusedPickle("it is broken")
            stack[-1].update(map(_key, values))
        elif name == "SETITEM":
            value, key = stack.pop(), _key(stack.pop())
            _dict(stack[-1])[key] = value
        elif name == "SETITEMS":
            values = self._marked()
            if len(values) % 2:
                raise RefusedPickle("it is broken")
            _dict(stack[-1]).update(zip(map(_key, values[::2]), values[1::2], strict=True))
        elif name == "STACK_GLOBAL":
            what, module = stack.pop(), stack.pop()
            if module != _MODULE or what not in _CLASSES:
                raise RefusedPickle("it names what no point is made of")
            stack.append(_Class())
        elif name == "NEWOBJ":
            arguments, made = stack.pop(), stack.pop()
            if not isinstance(made, _Class) or arguments != ():
                raise RefusedPickle("it makes what no point is made of")
            stack.append({})
        elif name == "BUILD":
            state = stack.pop()
            fields = _dict(state[0] if isinstance(state, tuple) and len(state) == 2 else state)
            _dict(stack[-1]).update(_dict(fields.get("__dict__", fields)))
        else:
            raise RefusedPickle("it does more than hold values")

    def _marked(self) -> list[Any]:
        """What lies above the last mark, which goes too."""
        at = len(self.stack) - 1
        while not isinstance(self.stack[at], _Mark):
            at -= 1
            if at < 0:
                raise RefusedPickle("it is broken")
        values = self.stack[at + 1 :]
        del self.stack[at:]
        return values


def _key(value: Any) -> Any:
    """What may be looked up by its hash: that of a tuple in a tuple in a tuple… would overrun the stack of Python."""
    if not isinstance(value, str | int | float | bytes | None):
        raise RefusedPickle("it is broken")
    return value


def _whole(value: Any) -> Any:
    """Half a character, which a pickle may hold, becomes U+FFFD."""
    if isinstance(value, str) and not is_unicode(value):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return value


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise RefusedPickle("it is broken")
    return value


def _dict(value: Any) -> dict[Any, Any]:
    if not isinstance(value, dict):
        raise RefusedPickle("it is broken")
    return value
