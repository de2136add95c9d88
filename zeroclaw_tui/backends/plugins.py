"""Backends of other packages. Only their names are read until a config uses one of them.

To write your own backend, subclass Memory in your own package:

1. Implement the seven abstract methods. Every command and screen works with these alone, if each memory has a unique
   `id`. `in_memory.py` is a sample that does more.
2. Register the class in that package's pyproject.toml; the name of the entry point is the value of `memory.backend`:
   `[project.entry-points."zeroclaw_tui.backends"]`, `shoe-box = "shoe_box:ShoeBox"`.
3. Read the settings in `from_config`: `config.location` is the value of --location, `config.storage` the table
   `[storage.shoe-box]` of config.toml, with decrypted secrets. Set `about = About(location=…)` and raise the errors of
   memory/errors.py, without passwords.
4. Set `why_not` to a sentence for each thing that the store cannot do (`TRAIT_LIMITS` fits the seven methods alone).
   Override methods that the store can do faster or more exactly.
5. Subclass MemoryContract and StoreContract of zeroclaw_tui.testing in your tests, and GoneContract for a server;
   implement `async def new_memory(self, folder)`, which returns an empty store, and run plain `pytest`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, NamedTuple

from zeroclaw_tui.memory.errors import InspectorError, Refused, SearchInterrupted
from zeroclaw_tui.memory.text import mask_secrets, one_line

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from zeroclaw_tui.backends.base import Memory
    from zeroclaw_tui.config.memory_config import MemoryConfig

GROUP = "zeroclaw_tui.backends"
_CALLED = (
    *("store", "recall", "get", "list", "forget", "count", "health_check"),
    *("open", "close", "store_batch", "get_batch"),
)


class Plugin(NamedTuple):
    """One backend of another package."""

    name: str
    package: str
    """The name and version of the package."""
    entry_point: EntryPoint

    def create(self, config: MemoryConfig) -> Memory:
        """Create the store of a config without opening it. Raises Refused if the plug-in is broken, also later."""
        backend = self._load()
        try:
            memory = backend.from_config(config)
            # A plug-in only has to implement the methods of ZeroClaw's trait.
            memory.name = memory.name or self.name
            location = memory.about.location or mask_secrets(config.location or f"package {self.package}")
            memory.about = memory.about._replace(location=location)
        except InspectorError:
            raise
        except Exception as error:
            raise self._broken(f"cannot be created: {_describe(error)}") from error
        for name in _CALLED:
            if (method := getattr(memory, name, None)) is not None:
                setattr(memory, name, self._guarded(name, method))
        return memory

    def _guarded(self, name: str, method: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        """Wrap a method so that its unexpected errors are raised as Refused, with the name of the package."""

        @wraps(method)
        async def call(*args: Any, **options: Any) -> Any:
            try:
                return await method(*args, **options)
            except (InspectorError, SearchInterrupted):
                raise
            except (Exception, SystemExit) as error:
                raise self._broken(f"failed in {name}: {_describe(error)}") from error

        return call

    def _load(self) -> type[Memory]:
        from zeroclaw_tui.backends.base import Memory

        try:
            found = self.entry_point.load()
        except (Exception, SystemExit) as error:
            # A module of another package may raise anything while it is imported.
            raise self._broken(f"cannot be imported: {_describe(error)}") from error
        if not (isinstance(found, type) and issubclass(found, Memory) and not found.__abstractmethods__):
            value = one_line(self.entry_point.value)
            raise self._broken(f"names {value}, which is not a class with the seven methods of Memory")
        return found

    def _broken(self, problem: str) -> Refused:
        return Refused(
            f"The backend {self.name!r} of the package {self.package} {problem}.",
            hint="Update or uninstall that package, or open another store: --backend NAME with --location PATH.",
            title="Plug-in not usable",
        )


def installed_plugins() -> list[Plugin]:
    """List the backends of installed packages, by name."""
    from importlib.metadata import entry_points

    found = [
        Plugin(one_line(point.name).strip().lower(), _package(point), point) for point in entry_points(group=GROUP)
    ]
    return sorted(found, key=lambda plugin: (plugin.name, plugin.package))


def _package(point: EntryPoint) -> str:
    distribution = point.dist
    return "of no name" if distribution is None else one_line(f"{distribution.name} {distribution.version}")


def _describe(error: BaseException) -> str:
    """Describe an error in one line, without secrets and traceback."""
    message = one_line(mask_secrets(str(error)))
    return f"{type(error).__name__}: {message}".removesuffix(".") if message else type(error).__name__
