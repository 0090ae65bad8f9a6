"""How Numba compiles kernels and parts: as always, but for what takes time and changes nothing in the result.

Numba makes machine code of every function, even of one that is only called from others, into which its code is copied
and optimised again. A part is not called from Python, so here only kernels become machine code. Most parts stay as they
were translated until a kernel takes them in; short ones that are inlined everywhere are optimised first, once for all.

Nor does any text pass through what kernels never need: closures, blocks of `with`, loops that are to be unrolled or run
in parallel, and operations on whole arrays that are to be merged into one loop.

And wherever two numbers are added, Numba tries one of dozens of definitions of `+` after the other. Here it remembers
the one that it has found.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import PassManager
from numba.core.environment import lookup_environment
from numba.core.typed_passes import DumpParforDiagnostics, NopythonRewrites
from numba.core.types import Function
from numba.core.typing.context import Context
from numba.core.typing.templates import Signature
from numba.core.untyped_passes import (
    FindLiterallyCalls,
    InlineClosureLikes,
    LiteralPropagationSubPipelinePass,
    LiteralUnroll,
    MakeFunctionToJitFunction,
    WithLifting,
)

_NOT_NEEDED = (
    DumpParforDiagnostics,
    FindLiterallyCalls,
    InlineClosureLikes,
    LiteralPropagationSubPipelinePass,
    LiteralUnroll,
    MakeFunctionToJitFunction,
    NopythonRewrites,
    WithLifting,
)


class _TypesOfCalls(Context):
    """Numba's own, with a memory of the types that it has found for calls of operators and the like.

    What Numba compiles for a call, such as `max`, depends on the caller's options, too, and is left to it.
    """

    __slots__ = ("_known",)

    def __init__(self, numbas: Context):
        self.__dict__ = numbas.__dict__
        self._known: dict[Any, Signature] = {}

    def _resolve_user_function_type(self, func: Any, args: Any, kws: Any, literals: Any = None) -> Any:
        function = self._lookup_global(func) or func
        if kws or not isinstance(function, Function):
            return super()._resolve_user_function_type(func, args, kws, literals)
        if (function, args) not in self._known:
            found = super()._resolve_user_function_type(func, args, kws, literals)
            if function.get_impl_key(found) != function.typing_key:
                return found
            self._known[function, args] = found
        return self._known[function, args]


_types_of_calls = cache(_TypesOfCalls)


class _KernelCode(JITCodeLibrary):
    """The code of a kernel."""

    def _finalize_specific(self) -> None:
        super()._finalize_specific()
        for each in self._final_module.global_variables:  # the parts had no place in memory for theirs
            environment = lookup_environment(each.name)
            if environment is not None:
                self._codegen.set_env(each.name, environment)  # type: ignore[attr-defined]


class _InlinedCode(JITCodeLibrary):
    """The code of a part, from which others take it."""

    def _finalize_final_module(self) -> None:
        self._finalized = True

    @property
    def codegen(self) -> Any:
        """Numba asks for it only to place the environment of a function that Python can call."""
        return self

    def set_env(self, name: str, environment: Any) -> None:
        """Leave that to the kernel."""


class _PartCode(_InlinedCode):
    """The same, not optimised before a kernel is."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        """Leave that, too, to the kernel."""


class KernelCompiler(CompilerBase):
    """Compiles a kernel."""

    code: type[JITCodeLibrary] = _KernelCode

    def define_pipelines(self) -> list[PassManager]:
        """The steps from the text of a function to its code."""
        self.state.typingctx = _types_of_calls(self.state.typingctx)
        self.state.library = self.code(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        self.state.library.enable_object_caching()
        steps = PassManager("pater")
        usual = DefaultPassBuilder.define_nopython_pipeline(self.state)
        steps.passes = [each for each in usual.passes if each[0] not in _NOT_NEEDED]
        steps.finalize()
        return [steps]


class PartCompiler(KernelCompiler):
    """Compiles a part."""

    code = _PartCode


class InlinedCompiler(KernelCompiler):
    """Compiles a part that is inlined wherever it is called."""

    code = _InlinedCode
