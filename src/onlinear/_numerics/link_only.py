"""Faster compilation of kernels, which are parts of other compiled functions.

Numba optimises every function that it compiles and makes machine code of it, then does the same
again inside each caller. A kernel is only ever a part of its callers, so this compiler makes no
machine code of the kernel itself: the kernel is linked into its callers, and the outermost function
is optimised as a whole. Linking kernels takes a third to a half less time than compiling them in
Numba's usual way, and the machine code is the same or better.

This compiler uses parts of Numba that may change in any release, so it is for known releases only
(:data:`KNOWN`); with other releases, Numba compiles kernels in its usual way.
"""

from typing import Any

import numba
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import LoweringPass, register_pass
from numba.core.typed_passes import NativeLowering

__all__ = ["KNOWN", "Compiler"]

KNOWN = (0, 64) <= numba.version_info.short <= (0, 68)  # releases that were tested


class _Codegen:
    """Numba's code generator, without its environments: objects that only machine code uses."""

    def __init__(self, codegen: Any) -> None:
        self._codegen = codegen

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codegen, name)

    def set_env(self, name: str, env: Any) -> None:
        """Do nothing, because only machine code would need the environment."""


class _Library(JITCodeLibrary):
    """Code to be linked into other libraries, which optimise it and make machine code of it."""

    @property
    def codegen(self) -> Any:
        """The code generator."""
        return _Codegen(self._codegen)

    def finalize(self) -> None:
        """Link the libraries that the code calls; optimise nothing and make no machine code."""
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Return the address 0, because the library has no machine code."""
        self._ensure_finalized()
        return 0


@register_pass(mutates_CFG=False, analysis_only=True)
class _IntoSuchALibrary(LoweringPass):
    """Make the later compiler passes write into a :class:`_Library`, which is not optimised."""

    _name = "onlinear_link_only"

    def __init__(self) -> None:
        LoweringPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        """Replace Numba's library by a :class:`_Library`."""
        state.library = _Library(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return False


class Compiler(CompilerBase):
    """Numba's compiler, without generating machine code."""

    def define_pipelines(self) -> Any:
        """Return Numba's usual passes, with :class:`_IntoSuchALibrary` before lowering."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        lowering = [each[0] for each in passes.passes].index(NativeLowering)
        passes.passes.insert(lowering, (_IntoSuchALibrary, "link only"))
        passes._finalized = False
        passes.finalize()
        return [passes]
