"""A good fixed comparator u on the simplex or in a box, improved at every row.

A regret bound that holds against every u of a set (the simplex or a box) holds against any single u
of the set. The comparator therefore need not be the best u of the set: the best u found so far is
improved at every row, in O(n²) for n weights.
"""

from onlinear._numerics.linalg import add_square, axpy, dot, kernel, symv

__all__ = ["add_row", "improve_in_box", "improve_on_simplex", "loss_of", "sum_of_atoms"]


MOVES = 4  # moves of weight between two atoms per row


@kernel
def add_row(x, y, A, b):
    """Add a row to A = Σxxᵀ and b = Σyx."""
    add_square(x, A)
    axpy(y, x, b)


@kernel
def loss_of(u, A, b, squares, g):
    """Return Σ (y − uᵀx)² plus a margin for rounding; g is scratch.

    A = Σxxᵀ and b = Σyx are those of :func:`add_row`, and ``squares`` is Σy².
    """
    symv(A, u, g)
    fit, power = dot(b, u), dot(u, g)
    allowance = 1e-15 * (3 + u.size) * (squares + 2.0 * abs(fit) + power)
    return max(0.0, squares - 2.0 * fit + power) + allowance


@kernel
def sum_of_atoms(p, U, u):
    """Write the sum of the atoms of :func:`improve_on_simplex`, weighted by p, to u."""
    n = u.size
    for i in range(n):
        u[i] = U * p[i]
        if p.size > n:
            u[i] -= U * p[n + i]


@kernel
def improve_on_simplex(p, U, low, A, b, u, g):
    """Improve the weights p ≥ low, Σp = 1, of vectors (atoms); write the atoms' weighted sum to u.

    The atoms are U·e_1..U·e_n, where U is a number and e_i the i-th unit vector, and also
    −U·e_1..−U·e_n if p has 2n entries. A few times, weight is moved from the atom along which the
    loss rises most steeply to the atom along which it falls most steeply, by the amount that
    reduces the loss most. (Solvers for support vector machines use the same two-coordinate steps.)
    A and b are those of :func:`add_row`; g is scratch.
    """
    n = u.size
    sum_of_atoms(p, U, u)
    symv(A, u, g)
    axpy(-1.0, b, g)  # half the gradient, Au − b
    for _ in range(MOVES):
        more = less = -1
        steepest, flattest = 0.0, 0.0
        for k in range(p.size):
            slope = U * g[k] if k < n else -U * g[k - n]
            if more < 0 or slope < steepest:
                more, steepest = k, slope
            if p[k] > low and (less < 0 or slope > flattest):
                less, flattest = k, slope
        gap = flattest - steepest
        if less < 0 or not gap > 0.0:
            break
        i, j = more % n, less % n
        s, t = (U if more < n else -U), (U if less < n else -U)
        curvature = s * s * A[i, i] - 2.0 * s * t * A[i, j] + t * t * A[j, j]
        amount = p[less] - low
        if curvature * amount > gap:
            amount = gap / curvature
        if not amount > 0.0:
            break
        p[more] += amount
        p[less] -= amount
        u[i] += s * amount
        u[j] -= t * amount
        axpy(s * amount, A[i], g)
        axpy(-t * amount, A[j], g)
    sum_of_atoms(p, U, u)  # computed anew: u must not have a move that p lost to rounding


@kernel
def improve_in_box(u, low, high, price, A, b, g):
    """Reduce the loss plus price·Σu_i by minimising over each u_i in [low, high] in turn.

    A and b are those of :func:`add_row`; g is scratch.
    """
    symv(A, u, g)
    axpy(-1.0, b, g)  # half the gradient of the loss, Au − b
    for i in range(u.size):
        if A[i, i] > 0.0:
            moved = min(max(u[i] - (g[i] + 0.5 * price) / A[i, i], low), high) - u[i]
            u[i] += moved
            axpy(moved, A[i], g)
