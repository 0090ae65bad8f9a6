"""What makes compiling quicker: parts are left for their callers to finish, and garbage is not collected meanwhile.

Knows Numba. It optimises every function and turns it into machine code, though the parts of a kernel are only ever
linked into it, and then optimised again with it. Here a part stays as it was lowered. Where this version of Numba has
other names inside, parts are compiled as Numba does it, which takes a fifth longer.
"""

from __future__ import annotations

import gc
from typing import Any

from numba.core import event
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler

_INSIDE = ("_optimize_final_module", "_finalize_final_module", "_finalize_dynamic_globals", "get_pointer_to_function")


class _WithoutEnvironment:
    """A code generator that is not asked to find a part among what is ready to run."""

    def __init__(self, codegen: Any) -> None:
        self._codegen = codegen

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codegen, name)

    def set_env(self, name: str, environment: Any) -> None:
        """Do nothing: there is no place for it."""


class _PartLibrary(JITCodeLibrary):
    """The code of a part, to be linked into that of its callers and to be run by nobody."""

    @property
    def codegen(self) -> Any:
        return _WithoutEnvironment(self._codegen)

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        return 0


class _PartCompiler(Compiler):
    def define_pipelines(self) -> Any:
        if self.state.library is None:
            self.state.library = _PartLibrary(self.state.targetctx.codegen(), "part")
            self.state.library.enable_object_caching()
        return super().define_pipelines()


PART_COMPILER: dict[str, Any] = (
    {"pipeline_class": _PartCompiler} if all(hasattr(JITCodeLibrary, name) for name in _INSIDE) else {}
)


class _NoCollection(event.Listener):
    """Compiling makes hundreds of thousands of objects that live until it ends: to look through them gains nothing."""

    def __init__(self) -> None:
        self._depth, self._collects = 0, False

    def on_start(self, event: Any) -> None:
        if self._depth == 0:
            self._collects = gc.isenabled()
            gc.disable()
        self._depth += 1

    def on_end(self, event: Any) -> None:
        self._depth -= 1
        if self._depth == 0 and self._collects:
            gc.enable()


event.register("numba:compile", _NoCollection())
