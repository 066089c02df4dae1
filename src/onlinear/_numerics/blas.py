"""Matrix products of SciPy's BLAS, called from compiled code.

A call of a BLAS routine has an overhead of about thirty nanoseconds. Arrays are stored row by row,
but BLAS expects them column by column, so BLAS sees a matrix A as Aᵀ. Importing SciPy is slow, so
:func:`load` is not called until the first function that needs BLAS is compiled or read from the
cache.
"""

import ctypes
from functools import cache
from typing import Any

from onlinear._numerics import native
from onlinear._numerics.jit import cgutils, intrinsic, ir, kernel, tell_address, types

__all__ = ["add_product", "add_squares", "load", "product", "products_with"]

SIGNATURES = {  # arguments of the Fortran routines: characters, integers, doubles, array addresses
    "dgemm": "cciiidpipidpi",
    "dsymm": "cciidpipidpi",
    "dsyrk": "cciidpidpi",
}
NO, YES = ord("N"), ord("T")  # codes that tell BLAS whether to transpose a matrix
LEFT, TRIANGLE = ord("L"), ord("U")  # the triangle BLAS calls upper is our lower one
NUMBA = {"c": "int64", "i": "int64", "d": "float64", "p": "uint64"}
BITS = {"c": 8, "i": 32}
C: dict[str, Any] = {"c": ctypes.c_char, "i": ctypes.c_int, "d": ctypes.c_double}


def _symbol(name: str) -> str:
    return f"onlinear_blas_{name}"


@cache
def _address(name: str) -> int:
    """Return the address of a routine of SciPy's BLAS in this process."""
    from scipy.linalg import cython_blas

    api = ctypes.pythonapi
    name_of = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", api))
    kinds = ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p
    address = ctypes.PYFUNCTYPE(*kinds)(("PyCapsule_GetPointer", api))
    capsule = cython_blas.__pyx_capi__[name]
    return int(address(capsule, name_of(capsule)))


@cache
def load() -> None:
    """Tell compiled code the addresses of SciPy's BLAS routines in this process."""
    for name in SIGNATURES:
        tell_address(_symbol(name), _address(name))
    native.tell_blas(*map(_address, SIGNATURES))


def _routine(name: str) -> Any:
    """Return a function for compiled code that calls a Fortran routine of BLAS.

    Fortran takes each number by its address: the function stores the numbers and passes addresses.
    """
    kinds = SIGNATURES[name]

    def plain(*arguments):
        routine = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(kinds))(_address(name))
        places = []
        for kind, value in zip(kinds, arguments, strict=True):
            number = float(value) if kind == "d" else int(value)
            places.append(number if kind == "p" else ctypes.byref(C[kind](number)))
        routine(*places)

    @intrinsic(without_jit=plain)
    def call(typingctx, *arguments):
        def codegen(context, builder, signature, packed):
            places, address = [], ir.IntType(8).as_pointer()
            for kind, value in zip(kinds, cgutils.unpack_tuple(builder, packed[0]), strict=True):
                if kind == "p":
                    places.append(builder.inttoptr(value, address))
                    continue
                held = builder.trunc(value, ir.IntType(BITS[kind])) if kind in BITS else value
                places.append(builder.bitcast(cgutils.alloca_once_value(builder, held), address))
            routine = ir.FunctionType(ir.VoidType(), [address] * len(places))
            function = cgutils.get_or_insert_function(builder.module, routine, _symbol(name))
            builder.call(function, places)
            return context.get_dummy_value()

        given = [getattr(types, NUMBA[kind]) for kind in kinds]
        return types.void(types.StarArgTuple(given)), codegen

    return call


_dgemm, _dsymm, _dsyrk = _routine("dgemm"), _routine("dsymm"), _routine("dsyrk")


@kernel(inline="always")
def _at(A, row):
    """Return the address of a row of the matrix A."""
    return A.ctypes.data + row * A.strides[0]


@kernel(inline="always")
def _pitch(A):
    """Return how many numbers apart two successive rows of the matrix A are in memory."""
    return A.strides[0] // 8


@kernel(inline="always")
def products_with(S, X, rows, beta, out):
    """Set row i of out to S·(row i of X) + β·(row i of out), for i < ``rows``.

    S is symmetric; only its lower triangle is read.
    """
    d = S.shape[0]
    _dsymm(
        LEFT, TRIANGLE, d, rows, 1.0, _at(S, 0), _pitch(S), _at(X, 0), _pitch(X), beta,
        _at(out, 0), _pitch(out),
    )  # fmt: skip


@kernel(inline="always")
def add_squares(a, V, rows, d, S):
    """Add a·VᵀV to the lower triangle of S, for the first ``rows`` rows and d columns of V."""
    _dsyrk(TRIANGLE, NO, d, rows, a, _at(V, 0), _pitch(V), 1.0, _at(S, 0), _pitch(S))


@kernel(inline="always")
def product(A, first, rows, B, second, count, d, out):
    """Set out[i, j] ← A[first + i]·B[second + j], for i < rows and j < count.

    The dot products are over the first d columns.
    """
    _dgemm(
        YES, NO, count, rows, d, 1.0, _at(B, second), _pitch(B), _at(A, first), _pitch(A), 0.0,
        _at(out, 0), _pitch(out),
    )  # fmt: skip


@kernel(inline="always")
def add_product(a, T, rows, B, second, count, d, beta, out, first):
    """Set out[first:] ← a·T·B[second:] + β·out[first:], for d columns of B and out.

    Of T, the first ``rows`` rows and ``count`` columns are used.
    """
    _dgemm(
        NO, NO, d, rows, count, a, _at(B, second), _pitch(B), _at(T, 0), _pitch(T), beta,
        _at(out, first), _pitch(out),
    )  # fmt: skip
