"""Compile functions to an object file, each with an entry that C can call.

The entry of a function is ``int32_t entry(int64_t *frame, int64_t *result)``: the entry reads the
arguments from the 8-byte slots of ``frame`` and writes the result to the slots of ``result``;
``call.c`` describes the slots. Everything but the entries is internal to the object file. Functions
in one object file share the code of the kernels that they call.
"""

import re
from typing import Any, NamedTuple

import llvmlite.binding as llvm
import numba
from llvmlite import ir
from numba.core import cgutils
from numba.core import types as numba_types
from numba.core.config import CPU_FEATURES, CPU_NAME  # type: ignore[attr-defined]
from numba.np.arrayobj import populate_array
from recorder import Job

from onlinear._numerics import link_only

__all__ = ["Entry", "compile_functions"]

types: Any = numba_types  # its type annotations leave out some attributes
I64, STATUS = ir.IntType(64), ir.IntType(32)
ELEMENTS = {types.float64: "d", types.int64: "l", types.boolean: "?"}
MOST_SLOTS, MOST_RESULTS = 1024, 16  # as in call.c
OUTSIDE = {  # the symbols that compiled code may need: C's library, its mathematics, and call.c
    *("memcpy", "memmove", "memset", "numba_attempt_nocopy_reshape"),
    *("exp", "log", "pow", "cos", "sin", "sqrt", "expm1", "log1p", "tanh", "hypot"),
    *("onlinear_malloc", "onlinear_free"),
    *("onlinear_blas_dgemm", "onlinear_blas_dsymm", "onlinear_blas_dsyrk"),
}
# flags that let the compiler change a result: only `reassoc` is used, in sums whose exact value
# does not matter (onlinear._numerics.vectors.finite, onlinear._engine.number_range.usual_row)
UNSAFE = re.compile(r" = f(?:add|sub|mul|div|rem|neg) (?:\w+ )*(?:fast|arcp|contract|afn)\b")


class Entry(NamedTuple):
    """A function of an object file: its symbol, and the types of its arguments and result."""

    symbol: str
    takes: str
    gives: str


def _signature(kind: Any) -> str:
    if isinstance(kind, types.Array):
        if not kind.aligned or kind.layout not in "CA" or kind.dtype not in ELEMENTS:
            raise TypeError(f"no entry can take an array of type {kind}")
        return f"A{kind.ndim}{kind.layout}{ELEMENTS[kind.dtype]}{'w' if kind.mutable else 'r'}"
    if isinstance(kind, types.BaseTuple):
        return "(" + "".join(map(_signature, kind.types)) + ")"
    if isinstance(kind, types.Boolean):
        return "b"
    if isinstance(kind, (types.Float, types.Integer)) and kind.bitwidth == 64:
        return "f" if isinstance(kind, types.Float) else "i"
    if isinstance(kind, types.NoneType):
        return "n"
    raise TypeError(f"no entry can take or return {kind}")


class _Slots:
    """Generates code that reads values from consecutive 8-byte slots, or writes values to them."""

    def __init__(self, context: Any, builder: Any, place: Any) -> None:
        self._context, self._builder, self._place, self.count = context, builder, place, 0

    def _next(self) -> Any:
        self.count += 1
        return self._builder.gep(self._place, [I64(self.count - 1)])

    def read(self, kind: Any) -> Any:
        context, builder = self._context, self._builder
        if isinstance(kind, types.BaseTuple):
            return context.make_tuple(builder, kind, [self.read(each) for each in kind.types])
        number = builder.load(self._next())
        if isinstance(kind, types.Array):
            element = context.get_data_type(kind.dtype)
            sizes = [builder.load(self._next()) for _ in range(2 * kind.ndim)]
            size = context.get_constant(types.intp, context.get_abi_sizeof(element))
            array = context.make_array(kind)(context, builder)
            data = builder.inttoptr(number, element.as_pointer())
            populate_array(array, data, sizes[: kind.ndim], sizes[kind.ndim :], size, None)
            return array._getvalue()
        if isinstance(kind, types.Float):
            return builder.bitcast(number, ir.DoubleType())
        if isinstance(kind, types.Boolean):
            return builder.trunc(number, ir.IntType(1))
        return context.get_dummy_value() if isinstance(kind, types.NoneType) else number

    def write(self, kind: Any, value: Any) -> None:
        builder = self._builder
        if isinstance(kind, types.BaseTuple):
            for k, each in enumerate(kind.types):
                self.write(each, builder.extract_value(value, k))
            return
        if isinstance(kind, types.Float):
            value = builder.bitcast(value, I64)
        elif isinstance(kind, types.Boolean):
            value = builder.zext(value, I64)
        elif isinstance(kind, types.NoneType):
            value = I64(0)
        builder.store(value, self._next())


def compile_functions(jobs: dict[str, Job]) -> tuple[list[Entry], bytes]:
    """Compile functions, given by the symbols of their entries; return entries and object file."""
    if not link_only.KNOWN:
        raise RuntimeError(f"Numba {numba.__version__} is not known to onlinear: use 0.64 to 0.68")
    entries, whole, codegen = [], None, None
    for symbol, job in jobs.items():
        options = {"no_cpython_wrapper": True, "pipeline_class": link_only.Compiler, **job.options}
        dispatcher = numba.njit(job.function, **options)
        dispatcher.compile(job.types)
        made = dispatcher.overloads[job.types]
        codegen = made.target_context.codegen()
        if whole is None:
            whole = llvm.parse_assembly(str(codegen._create_empty_module(symbol)))
            whole.name = job.name
        whole.link_in(_entry(made, symbol))  # first, so that what it calls is linked in
        whole.link_in(made.library._get_module_for_linking(), preserve=True)
        takes = "".join(map(_signature, made.fndesc.argtypes))
        entries.append(Entry(symbol, takes, _signature(made.fndesc.restype)))
    assert whole is not None
    assert codegen is not None
    for each in (*whole.functions, *whole.global_variables):
        if not each.is_declaration and each.name not in jobs:
            each.linkage = "internal"
    cheap = {"loop_vectorize": codegen._loopvect, "slp_vectorize": False}
    cheap |= {"opt": codegen._opt_level, "cost": "cheap"}
    for settings in (cheap, {}):  # the passes that Numba runs
        passes, builder = codegen._module_pass_manager(**settings)
        passes.run(whole, builder)
    _check(whole)
    return entries, _machine().emit_object(whole)


def _check(module: Any) -> None:
    """Refuse arithmetic that depends on the machine, and symbols that nothing defines."""
    unsafe = UNSAFE.search(str(module))
    if unsafe:
        raise ValueError(f"{module.name} has arithmetic that depends on the machine: {unsafe[0]}")
    outside = {each.name for each in module.functions if each.is_declaration}
    foreign = {name for name in outside if not name.startswith("llvm.")} - OUTSIDE
    if foreign:
        raise ValueError(f"{module.name} needs {', '.join(sorted(foreign))}: nothing defines it")


def _entry(made: Any, symbol: str) -> Any:
    """Return an LLVM module with the entry of a compiled function, which C can call."""
    context, described = made.target_context, made.fndesc
    module = context.codegen()._create_empty_module(symbol)
    convention = context.call_conv
    kind = convention.get_function_type(described.restype, described.argtypes)
    inner = ir.Function(module, kind, described.llvm_func_name)
    slots = I64.as_pointer()
    entry = ir.Function(module, ir.FunctionType(STATUS, [slots, slots]), symbol)
    builder = ir.IRBuilder(entry.append_basic_block("entry"))
    frame, result = (_Slots(context, builder, each) for each in entry.args)
    arguments = [frame.read(each) for each in described.argtypes]
    status, value = convention.call_function(
        builder, inner, described.restype, described.argtypes, arguments
    )
    result.write(described.restype, value)
    builder.ret(status.code)
    if frame.count > MOST_SLOTS or result.count > MOST_RESULTS:
        raise ValueError(
            f"{symbol} needs {frame.count} slots for its arguments and {result.count} for its "
            f"result, but there are only {MOST_SLOTS} and {MOST_RESULTS}"
        )
    return llvm.parse_assembly(cgutils.normalize_ir_text(str(module)))


def _machine() -> Any:
    """Return LLVM's description of the processor to compile for, with code for shared libraries."""
    target = llvm.Target.from_triple(llvm.get_process_triple())
    return target.create_target_machine(
        cpu=CPU_NAME, features=CPU_FEATURES or "", opt=3, reloc="pic"
    )
