"""Rounds near the limits of floating point: how to detect them, and how to undo them.

A round is *usual* if its row, its label, the parameters of the step and the state are zero or of
size 1e-50 to 1e50. (The size of a row is its Euclidean norm. A label may also be smaller, and a
parameter may be infinite. Of a matrix, only the diagonal is checked, which bounds the other entries
of a covariance matrix.) No usual round writes a number that is not finite: each number that a step
writes has at most six factors of usual size, or the step itself refuses the row. Before a round
that is not usual, the state is copied. If the round leaves a number above 1e300, or NaN, in the
state, the copy is put back, and the row is refused with the status OVERFLOW.

So one rule holds for every step, even for steps that users write: after a round, the state is
finite, or the row was refused and nothing has changed. The check whether a round is usual reads
only O(d) numbers; in a table, most steps' state is checked once per block (:func:`.loops.chunk`).
"""

import ctypes

import numpy as np

from onlinear._engine.segments import copied, numbers_at
from onlinear._numerics.jit import (
    arrayobj,
    cgutils,
    intrinsic,
    ir,
    kernel,
    short,
    tell_address,
    types,
)

__all__ = [
    "FLOAT_MAX",
    "MOST",
    "allocated",
    "copy_parts",
    "flat",
    "put_back",
    "release",
    "same",
    "sound",
    "usual_label",
    "usual_numbers",
    "usual_row",
    "usual_state",
]

MOST, LEAST = 1e50, 1e-50
FLOAT_MAX = float(np.finfo(np.float64).max)
LARGEST = 1e300  # a weight beyond this would make predictions of usual rows overflow

# memory for the copy of the state: Numba's kernels cannot allocate any (onlinear._numerics.jit)
_malloc = ctypes.pythonapi.PyMem_RawMalloc
_free = ctypes.pythonapi.PyMem_RawFree
_malloc.restype, _malloc.argtypes = ctypes.c_size_t, [ctypes.c_size_t]
_free.restype, _free.argtypes = None, [ctypes.c_size_t]
MALLOC, FREE = "onlinear_malloc", "onlinear_free"
for _name, _function in ((MALLOC, _malloc), (FREE, _free)):
    _address = ctypes.cast(_function, ctypes.c_void_p).value
    assert _address is not None
    tell_address(_name, _address)


@intrinsic(without_jit=lambda size: _malloc(int(size)))
def _allocate(typing_context, size):
    """Allocate ``size`` bytes of memory; return their address, or 0 if memory is short."""

    def generate(context, builder, signature, values):
        word = ir.IntType(64)
        kind = ir.FunctionType(word, [word])
        function = cgutils.get_or_insert_function(builder.module, kind, MALLOC)
        return builder.call(function, values)

    return types.int64(types.int64), generate


@intrinsic(without_jit=lambda address: _free(int(address)))
def release(typing_context, address):
    """Free the memory at an address; do nothing if the address is 0."""

    def generate(context, builder, signature, values):
        kind = ir.FunctionType(ir.VoidType(), [ir.IntType(64)])
        function = cgutils.get_or_insert_function(builder.module, kind, FREE)
        builder.call(function, values)
        return context.get_dummy_value()

    return types.void(types.int64), generate


def _flat(arrays):
    return tuple(a.reshape(-1) for a in arrays), tuple(map(_side, arrays))


def _side(a):
    return a.shape[-1] if a.ndim > 1 and a.shape[-1] == a.shape[-2] else 0


@intrinsic(without_jit=_flat)
def flat(typing_context, arrays):
    """Return the arrays as vectors, and for each array n if it holds n × n matrices, else 0."""
    vector = types.Array(types.float64, 1, "C")
    count = len(arrays)
    kind = types.Tuple((types.UniTuple(vector, count), types.UniTuple(types.int64, count)))

    def generate(context, builder, signature, values):
        vectors, sides = [], []
        for j, array in enumerate(arrays):
            whole = context.make_array(array)(context, builder, builder.extract_value(values[0], j))
            part = context.make_array(vector)(context, builder)
            size = whole.itemsize
            arrayobj.populate_array(part, whole.data, (whole.nitems,), (size,), size, None)
            vectors.append(part._getvalue())
            side = ir.IntType(64)(0)
            if array.ndim > 1:
                *_, rows, columns = cgutils.unpack_tuple(builder, whole.shape)
                square = builder.icmp_signed("==", rows, columns)
                side = builder.select(square, columns, side)
            sides.append(side)
        both = (
            context.make_tuple(builder, kind[0], vectors),
            context.make_tuple(builder, kind[1], sides),
        )
        return context.make_tuple(builder, kind, both)

    return kind(arrays), generate


def _floats(params):
    return tuple(float(value) for value in params if not isinstance(value, np.ndarray))


@intrinsic(without_jit=_floats)
def _numbers(typing_context, params):
    """Return those parameters that are numbers, leaving out those that are arrays."""
    places = [j for j, kind in enumerate(params) if isinstance(kind, types.Number)]
    result = types.UniTuple(types.float64, len(places))

    def generate(context, builder, signature, values):
        numbers = [
            context.cast(builder, builder.extract_value(values[0], j), params[j], types.float64)
            for j in places
        ]
        return context.make_tuple(builder, result, numbers)

    return result(params), generate


@short
def usual_number(a):
    """Whether a number is of usual size, or zero; NaN is not of usual size."""
    return (LEAST <= abs(a) <= MOST) or a == 0.0


@short
def usual_label(y):
    """Whether the size of a label is at most 1e50; False for NaN."""
    return abs(y) <= MOST


@short
def usual_numbers(params):
    """Whether each number among the parameters is of usual size, zero, or infinite (no limit)."""
    odd = 0
    for a in _numbers(params):
        odd += not (usual_number(a) or a == np.inf)
    return odd == 0


@short(fastmath={"reassoc"})  # the sum is only compared with limits
def usual_row(x):
    """Whether the norm of a row is zero or of usual size, so that all entries are finite."""
    total = 0.0
    for j in range(x.size):
        total += x[j] * x[j]
    return total == 0.0 or LEAST * LEAST <= total <= MOST * MOST


@short
def _usual_vector(a):
    odd = 0
    for i in range(a.size):
        size = abs(a[i])
        odd += not ((size >= LEAST) & (size <= MOST) | (size == 0.0))
    return odd == 0


@kernel
def _usual_diagonals(a, n):
    """Whether the diagonals of n × n matrices, stored one after another, are of usual size."""
    for first in range(0, a.size, n * n):
        for i in range(first, first + n * n, n + 1):
            if not usual_number(a[i]):
                return False
    return True


@short
def usual_state(state):
    """Whether each number of the state (of matrices, on the diagonal) is zero or of usual size."""
    parts, sides = flat(state)
    return _usual_parts(parts, sides)


@kernel
def _usual_parts(parts, sides):
    for k in range(len(parts)):
        if sides[k] == 0:
            if not _usual_vector(parts[k]):
                return False
        elif not _usual_diagonals(parts[k], sides[k]):
            return False
    return True


@kernel
def sound(parts):
    """Whether no number of the state is NaN or above 1e300 in size."""
    odd = 0
    for k in range(len(parts)):
        part = parts[k]
        for i in range(part.size):
            odd += not abs(part[i]) <= LARGEST
    return odd == 0


@kernel
def allocated(parts):
    """Allocate memory for a copy of the state; return its address, or 0 if memory is short."""
    size = 0
    for k in range(len(parts)):
        size += parts[k].size
    return _allocate(8 * size + 8)


@kernel
def copy_parts(parts, address):
    """Copy the state to the memory at an address."""
    size = 0
    for k in range(len(parts)):
        copied(parts[k], numbers_at(address + 8 * size, parts[k].size))
        size += parts[k].size


@kernel
def put_back(parts, address):
    """Restore the state from the copy at an address."""
    size = 0
    for k in range(len(parts)):
        copied(numbers_at(address + 8 * size, parts[k].size), parts[k])
        size += parts[k].size


@kernel
def same(parts, address):
    """Whether the state equals the copy at an address."""
    size, odd = 0, 0
    for k in range(len(parts)):
        copy = numbers_at(address + 8 * size, parts[k].size)
        for i in range(copy.size):
            odd += parts[k][i] != copy[i]
        size += parts[k].size
    return odd == 0
