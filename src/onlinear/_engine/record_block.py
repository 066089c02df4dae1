"""Many records of the same layout in one block of memory, for banks of learners.

A record holds the arrays of one learner: its state, or its parameters. A block holds K records, one
after another; the first matrix of each is aligned to a cache line. The first axis of each array of
a block runs over the records: ``arrays[j]`` has the shape (K,) + shape of the j-th array of a
record. In compiled code, the state or parameters of record k are ``at(arrays, k)``.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from onlinear._engine.record import before_aligned
from onlinear._numerics.aligned import LINE
from onlinear._numerics.jit import arrayobj, cgutils, intrinsic, types

__all__ = ["RecordBlock", "at"]

NUMBER = 8  # every array begins at a multiple of this many bytes


class RecordBlock:
    """Memory for ``count`` records, each with arrays of the same shapes and types as ``like``.

    A block has room for at least two records, with a gap after each. So the arrays of a block are
    never contiguous, and Numba compiles functions for one type of array, whatever the number of
    records.
    """

    def __init__(self, count: int, like: Sequence[np.ndarray]) -> None:
        sizes = [-(-array.nbytes // NUMBER) * NUMBER for array in like]
        self.count, self.size = count, sum(sizes)
        stride = (self.size // LINE + 1) * LINE
        rooms = max(count, 2)
        memory = np.zeros(rooms * stride + LINE, dtype=np.uint8)
        first = -(memory.ctypes.data + NUMBER * before_aligned(like)) % LINE
        self.memory = memory[first : first + rooms * stride].reshape(rooms, stride)
        starts = [sum(sizes[:j]) for j in range(len(sizes))]
        self.arrays = tuple(
            np.ndarray(
                (rooms, *array.shape),
                array.dtype,
                self.memory.data,
                start,
                (stride, *np.empty(array.shape, array.dtype).strides),
            )
            for array, start in zip(like, starts, strict=True)
        )

    @property
    def records(self) -> np.ndarray:
        """The records as the rows of a matrix; all arrays must be float64."""
        return self.memory[: self.count, : self.size].view(np.float64)

    def put(self, k: int, values: Sequence[Any]) -> None:
        """Write ``values``, which are arrays and numbers, to record k."""
        for array, value in zip(self.arrays, values, strict=True):
            array[k] = value


def _at(arrays, k):
    return tuple(array[k] for array in arrays)


@intrinsic(without_jit=_at)
def at(typing_context, arrays, k):
    """Return the arrays of record k, given the arrays of a block; single numbers become scalars.

    Unlike views, the returned arrays have a type that tells the compiler that they are contiguous.
    (They are found by address, since Numba cannot loop over a tuple of arrays of several types.)
    """
    kinds = [
        types.Array(array.dtype, array.ndim - 1, "C") if array.ndim > 1 else array.dtype
        for array in arrays
    ]

    def generate(context, builder, signature, values):
        given, index = values
        parts = []
        for j, (array, kind) in enumerate(zip(arrays, kinds, strict=True)):
            whole = context.make_array(array)(context, builder, builder.extract_value(given, j))
            shape = cgutils.unpack_tuple(builder, whole.shape)
            strides = cgutils.unpack_tuple(builder, whole.strides)
            start = cgutils.pointer_add(builder, whole.data, builder.mul(index, strides[0]))
            if array.ndim == 1:
                parts.append(context.unpack_value(builder, kind, start))
                continue
            part = context.make_array(kind)(context, builder)
            arrayobj.populate_array(part, start, shape[1:], strides[1:], whole.itemsize, None)
            parts.append(part._getvalue())
        return context.make_tuple(builder, signature.return_type, parts)

    return types.Tuple(kinds)(arrays, k), generate
