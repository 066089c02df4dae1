"""SIMD loops over vectors, several numbers at a time.

A rule is a function that computes the result for one element, such as ``y + a * x``; :func:`along`
turns the rule into a loop over whole vectors, for compiled code. The compiler's own loops process
16 numbers at a time and the rest one by one; for a vector of eight or twenty numbers, the rest is
most of the work. So the loops that ``along`` makes process eight numbers at a time, then four, two
and one. No sum changes its order, so the results are those of a plain loop, to the bit.
"""

import inspect
import operator
from collections.abc import Callable, Sequence
from typing import Any

from onlinear._numerics.jit import cgutils, intrinsic, ir, types

__all__ = ["along", "in_lanes"]

WIDTHS = (8, 4, 2, 1)


def along(rule: Callable[..., Any]) -> Any:
    """Turn a rule for one element of each vector into a loop over whole vectors.

    The rule returns one or several numbers, which the loop writes to the same number of vectors:
    the last of its arguments. The loop is as long as the first vector; among the arguments, scalars
    come before vectors. Any two vectors must be the same vector, or must not overlap.
    """
    names = list(inspect.signature(rule).parameters)

    def plain(*given: Any) -> None:
        vectors = [value for value in given if getattr(value, "ndim", 0)]
        scalars = given[: len(given) - len(vectors)]
        for j in range(vectors[0].size):
            new = _several(rule(*scalars, *(vector[j] for vector in vectors)))
            for vector, number in zip(vectors[-len(new) :], new, strict=True):
                vector[j] = number

    def typed(context: Any, *kinds: Any) -> Any:
        scalars = sum(not isinstance(kind, types.Array) for kind in kinds)
        given = [types.float64] * scalars + list(kinds[scalars:])
        return types.void(*given), _Loop(rule, kinds[scalars:])

    typed.__name__ = rule.__name__
    typed.__doc__ = rule.__doc__
    parameter = inspect.Parameter.POSITIONAL_OR_KEYWORD
    typed.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(name, parameter) for name in ("context", *names)]
    )
    return intrinsic(without_jit=plain)(typed)


def _several(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


class Lanes:
    """Several numbers in one SIMD register, with the operators that rules use."""

    def __init__(self, builder: Any, value: Any) -> None:
        self._builder, self.value = builder, value

    def __add__(self, other: "Lanes") -> "Lanes":
        """Return the sums, element by element."""
        return Lanes(self._builder, self._builder.fadd(self.value, other.value))

    def __sub__(self, other: "Lanes") -> "Lanes":
        """Return the differences, element by element."""
        return Lanes(self._builder, self._builder.fsub(self.value, other.value))

    def __mul__(self, other: "Lanes") -> "Lanes":
        """Return the products, element by element."""
        return Lanes(self._builder, self._builder.fmul(self.value, other.value))


class _Loop:
    """Generates the LLVM code of a loop."""

    def __init__(self, rule: Callable[..., Any], kinds: Sequence[Any]) -> None:
        self._rule, self._kinds = rule, kinds
        together = all(kind.layout == "C" for kind in kinds)
        self._widths = WIDTHS if together else (1,)

    def __call__(self, context: Any, builder: Any, signature: Any, values: Sequence[Any]) -> Any:
        """Generate the code of the loop."""
        first, integer = len(values) - len(self._kinds), ir.IntType(64)
        vectors = [
            context.make_array(kind)(context, builder, value)
            for kind, value in zip(self._kinds, values[first:], strict=True)
        ]
        scalars = {w: [_spread(builder, a, w) for a in values[:first]] for w in self._widths}
        count, most = builder.extract_value(vectors[0].shape, 0), self._widths[0]
        whole = builder.and_(count, integer(-most))
        with cgutils.for_range_slice(builder, integer(0), whole, integer(most)) as (j, _):
            self._some(builder, scalars[most], vectors, j, most)
        for w in self._widths[1:]:
            left = builder.and_(count, integer(w))
            with builder.if_then(builder.icmp_signed("!=", left, integer(0))):
                begin = builder.and_(count, integer(-2 * w))
                self._some(builder, scalars[w], vectors, begin, w)
        return context.get_dummy_value()

    def _some(
        self, builder: Any, scalars: Sequence[Any], vectors: Sequence[Any], j: Any, w: int
    ) -> None:
        """Apply the rule to the w elements j, j + 1, … of each vector, in one SIMD register."""
        places = [_place(builder, vector, j, w) for vector in vectors]
        numbers = [builder.load(place, align=8) for place in places]
        new = _several(self._rule(*(Lanes(builder, value) for value in (*scalars, *numbers))))
        for lanes, place in zip(new, places[-len(new) :], strict=True):
            builder.store(lanes.value, place, align=8)


def _place(builder: Any, vector: Any, j: Any, w: int) -> Any:
    """Return the address of the w elements j, j + 1, … of a vector."""
    stride = builder.extract_value(vector.strides, 0)
    if w == 1:
        return cgutils.pointer_add(builder, vector.data, builder.mul(j, stride))
    kind = ir.VectorType(ir.DoubleType(), w).as_pointer()
    return builder.bitcast(builder.gep(vector.data, [j]), kind)


def _spread(builder: Any, number: Any, w: int) -> Any:
    """Return a register with one number in all its lanes."""
    if w == 1:
        return number
    nothing = ir.Constant(ir.VectorType(ir.DoubleType(), w), ir.Undefined)
    lane = ir.IntType(32)
    one = builder.insert_element(nothing, number, lane(0))
    return builder.shuffle_vector(one, nothing, ir.Constant(ir.VectorType(lane, w), [0] * w))


def in_lanes(order: Any) -> Any:
    """Return a function that computes aᵀb in as many partial sums as ``order`` has numbers.

    With n partial sums, partial sum k adds up the products a_i·b_i for i = k, k + n, k + 2n, …; if
    the length of the vectors is not a multiple of n, the products left over at the end go to the
    first partial sum. ``order`` says in which order the partial sums are added, such as
    ((0, 1), (2, 3)) for (s₀ + s₁) + (s₂ + s₃).
    """
    lanes = _size(order)

    def plain(a, b):
        sums = [0.0] * lanes
        whole = a.size - a.size % lanes
        for i in range(whole):
            sums[i % lanes] += a[i] * b[i]
        for i in range(whole, a.size):
            sums[0] += a[i] * b[i]
        return _added(order, sums, operator.add)

    @intrinsic(without_jit=plain)
    def sum_of_products(typing_context, a, b):
        """Return aᵀb."""

        def generate(context, builder, signature, values):
            integer, lane = ir.IntType(64), ir.IntType(32)
            several = ir.VectorType(ir.DoubleType(), lanes)
            vectors = [
                (context.make_array(kind)(context, builder, value), kind)
                for kind, value in zip(signature.args, values, strict=True)
            ]

            def one(vector, kind, j):
                number = builder.load(_place(builder, vector, j, 1))
                return context.cast(builder, number, kind.dtype, types.float64)

            def some(vector, kind, j):
                if kind.layout == "C" and kind.dtype == types.float64:
                    return builder.load(_place(builder, vector, j, lanes), align=8)
                numbers = ir.Constant(several, ir.Undefined)
                for k in range(lanes):
                    number = one(vector, kind, builder.add(j, integer(k)))
                    numbers = builder.insert_element(numbers, number, lane(k))
                return numbers

            def products(j):
                return builder.fmul(*(some(*vector, j) for vector in vectors))

            count, begin = builder.extract_value(vectors[0][0].shape, 0), integer(lanes)
            whole = builder.and_(count, integer(-lanes))
            sums = cgutils.alloca_once_value(builder, ir.Constant(several, [0.0] * lanes))
            with builder.if_then(builder.icmp_signed("!=", whole, integer(0))):
                builder.store(products(integer(0)), sums)
            with cgutils.for_range_slice(builder, begin, whole, integer(lanes)) as (j, _):
                builder.store(builder.fadd(builder.load(sums), products(j)), sums)
            total = builder.load(sums)
            parts = [builder.extract_element(total, lane(k)) for k in range(lanes)]
            first = cgutils.alloca_once_value(builder, parts[0])
            with cgutils.for_range_slice(builder, whole, count, integer(1)) as (j, _):
                product = builder.fmul(*(one(*vector, j) for vector in vectors))
                builder.store(builder.fadd(builder.load(first), product), first)
            parts[0] = builder.load(first)
            zero = ir.Constant(ir.DoubleType(), 0.0)
            return _added(order, parts, builder.fadd, lambda a: builder.fadd(a, zero))

        return types.float64(a, b), generate

    return sum_of_products


def _size(order: Any) -> int:
    return 1 if isinstance(order, int) else sum(map(_size, order))


def _added(
    order: Any,
    parts: Sequence[Any],
    add: Callable[[Any, Any], Any],
    unsigned: Callable[[Any], Any] | None = None,
) -> Any:
    """Add up the parts in the given order; ``unsigned`` turns a −0 among the first sums into 0."""
    if isinstance(order, int):
        return parts[order]
    left, right = order
    total = add(_added(left, parts, add, unsigned), _added(right, parts, add))
    return unsigned(total) if unsigned and isinstance(left, int) else total
