"""Memory for millions of small records that grows without moving the records in it.

A record is a vector of float64 numbers. The place of a record in memory is called a slot; slots are
numbered 0, 1, 2, … The memory consists of segments, blocks that have room for a fixed number of
records; when all segments are full, another one is added. One number of each record, such as the
first of a matrix, is aligned to a cache line. Compiled code finds the record in a slot by its
address: :func:`where` returns the address, :func:`numbers_at` returns the vector at an address,
:func:`moved` returns the arrays of one record given the arrays of another record, and
:func:`ask_for` prefetches memory that is needed soon.

Each Numba intrinsic of this module has a plain Python form, for ``NUMBA_DISABLE_JIT=1``.
"""

import ctypes
from typing import Any

import numpy as np

from onlinear._numerics.aligned import LINE
from onlinear._numerics.jit import (
    CompiledFunction,
    arrayobj,
    cgutils,
    intrinsic,
    ir,
    kernel,
    types,
)

__all__ = ["Segments", "ask_for", "copied", "moved", "numbers_at", "where"]

BYTES = 1 << 26  # of a segment, which holds at least one record


def _numbers_at(address, count, shape=None):
    memory: Any = (ctypes.c_double * int(count)).from_address(int(address))
    return np.ndarray(shape or (int(count),), np.float64, memory)


def _moved(arrays, bytes):
    return tuple(_numbers_at(a.ctypes.data + bytes, a.size, a.shape) for a in arrays)


def _no_prefetch(address):
    pass


@intrinsic(without_jit=_numbers_at)
def numbers_at(typing_context, address, count):
    """Return the vector of ``count`` float64 numbers at an address."""
    kind = types.Array(types.float64, 1, "C")

    def generate(context, builder, signature, values):
        address, count = values
        array = context.make_array(kind)(context, builder)
        size = context.get_constant(types.intp, 8)
        data = builder.inttoptr(address, context.get_data_type(types.float64).as_pointer())
        arrayobj.populate_array(array, data, (count,), (size,), size, None)
        return array._getvalue()

    return kind(types.int64, types.intp), generate


@intrinsic(without_jit=_moved)
def moved(typing_context, arrays, bytes):
    """Return views of the same shapes as ``arrays``, at addresses shifted by ``bytes`` bytes."""

    def generate(context, builder, signature, values):
        given, bytes = values
        parts = []
        for j, kind in enumerate(arrays):
            part = context.make_array(kind)(context, builder, builder.extract_value(given, j))
            part.data = cgutils.pointer_add(builder, part.data, bytes)
            parts.append(part._getvalue())
        return context.make_tuple(builder, arrays, parts)

    return arrays(arrays, types.int64), generate


@intrinsic(without_jit=_no_prefetch)
def _prefetch(typing_context, address):
    """Prefetch a cache line."""

    def generate(context, builder, signature, values):
        pointer, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
        function = builder.module.declare_intrinsic("llvm.prefetch", [pointer], kind)
        hints = [number(0), number(1), number(1)]  # to read, into the second cache, data
        builder.call(function, [builder.inttoptr(values[0], pointer), *hints])
        return context.get_dummy_value()

    return types.void(types.int64), generate


@kernel(inline="always")
def where(bases, power, stride, slot):
    """Return the address of the record in a slot.

    ``bases`` has the addresses of the segments, a segment holds 2**power records, and ``stride`` is
    the number of bytes from one record to the next.
    """
    return bases[slot >> power] + (slot & ((1 << power) - 1)) * stride


@kernel(inline="always")
def ask_for(address, size):
    """Prefetch ``size`` bytes of memory, from ``address`` on."""
    for line in range(address & -LINE, address + size, LINE):
        _prefetch(line)


@kernel
def copied(source, target):
    """Copy one vector to another of the same length."""
    for i in range(source.size):
        target[i] = source[i]


@CompiledFunction
def _gather(bases, power, stride, slots, rows):
    for k in range(slots.size):
        copied(numbers_at(where(bases, power, stride, slots[k]), rows.shape[1]), rows[k])


@CompiledFunction
def _scatter(bases, power, stride, slots, rows):
    for k in range(slots.size):
        copied(rows[k], numbers_at(where(bases, power, stride, slots[k]), rows.shape[1]))


@CompiledFunction
def _pick(bases, power, stride, slots, j, numbers):
    for k in range(slots.size):
        numbers[k] = numbers_at(where(bases, power, stride, slots[k]), j + 1)[j]


@CompiledFunction
def _put_number(bases, power, stride, slots, j, numbers):
    for k in range(slots.size):
        numbers_at(where(bases, power, stride, slots[k]), j + 1)[j] = numbers[k]


class Segments:
    """Storage for records of ``size`` numbers each, in slots that are claimed and released.

    A segment holds at most ``at_once`` records. The number at index ``before`` of each record is
    aligned to a cache line.
    """

    def __init__(self, size: int, at_once: int | None = None, before: int = 0) -> None:
        self.size, self._before = size, 8 * before
        self.stride = -(-8 * size // LINE) * LINE
        power = max(1, min(BYTES // self.stride, at_once or BYTES)).bit_length() - 1
        self.each = 1 << power
        self.place = np.empty(0, dtype=np.int64), power, self.stride  # for compiled code
        self._memory: list[np.ndarray] = []
        self._free: list[np.ndarray] = []  # slots given back
        self._used = 0  # slots ever taken

    @property
    def nbytes(self) -> int:
        """How many bytes the slots occupy, including free slots between slots that are taken."""
        return self._used * self.stride

    def claim(self, count: int) -> np.ndarray:
        """Return ``count`` slots for new records; the numbers in these slots are undefined."""
        taken: list[np.ndarray] = []
        while count and self._free:
            last = self._free.pop()
            taken.append(last[:count])
            if last.size > count:
                self._free.append(last[count:])
            count -= taken[-1].size
        if count:
            self._grow(self._used + count)
            self._used += count
            taken.append(np.arange(self._used - count, self._used))
        return np.concatenate([np.empty(0, dtype=np.int64), *taken])

    def release(self, slots: np.ndarray) -> None:
        """Free slots, so that new records can use them."""
        if not slots.size:
            return
        slots = np.sort(slots)
        if slots[-1] == self._used - 1 and slots[-1] - slots[0] == slots.size - 1:
            self._used = int(slots[0])  # the last slots: as if they had never been taken
        else:
            self._free.append(slots)

    def recover(self, taken: np.ndarray) -> None:
        """Free all slots but those in ``taken``, and zero the first number of each freed slot."""
        self._used = min(self._used, len(self._memory) * self.each)
        free = np.setdiff1d(np.arange(self._used), taken)
        self.put_number(free, 0, np.zeros(free.size))
        self._free = [free] if free.size else []

    def _grow(self, slots: int) -> None:
        while len(self._memory) * self.each < slots:
            memory = np.zeros(self.each * self.stride + LINE, dtype=np.uint8)
            self._memory.append(memory)
            address = memory.ctypes.data
            bases = np.append(self.place[0], address + -(address + self._before) % LINE)
            self.place = bases, *self.place[1:]

    def rows(self, slots: np.ndarray) -> np.ndarray:
        """Return copies of the records in the given slots, one record per row."""
        rows = np.empty((slots.size, self.size))
        _gather(*self.place, slots, rows)
        return rows

    def column(self, slots: np.ndarray, j: int) -> np.ndarray:
        """Return the number at index j of the record in each slot."""
        numbers = np.empty(slots.size)
        _pick(*self.place, slots, j, numbers)
        return numbers

    def put_number(self, slots: np.ndarray, j: int, numbers: np.ndarray) -> None:
        """Set the number at index j of the record in ``slots[k]`` to ``numbers[k]``, for all k."""
        _put_number(*self.place, slots, j, numbers)

    def put(self, slots: np.ndarray, rows: np.ndarray) -> None:
        """Write ``rows[k]`` to the record in ``slots[k]``, for all k."""
        _scatter(*self.place, slots, np.ascontiguousarray(rows))
