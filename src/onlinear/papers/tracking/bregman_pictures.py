"""Herbster & Warmuth's (2001) Figures 2 and 4, drawn for all three of their divergences."""

from collections.abc import Callable
from typing import Any

import matplotlib
import numpy as np

from onlinear import bregman
from onlinear.papers._harness.outcome import Picture
from onlinear.papers._harness.pictures import LOOKS, STYLE, new
from onlinear.papers.tracking.bregman_points import GEOMETRIES, Geometry, definition

__all__ = ["divergences", "projections"]

SET, CURVE, LINE = LOOKS[1].color, LOOKS[0].color, LOOKS[6].color
BOX_ALPHA, FLOOR_ALPHA = 0.9, 0.45
CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(3) / 2]])  # of the simplex, in the plane


def projections() -> Picture:
    """Draw the projections on a ball (Figure 2), a box, and a simplex with a least weight."""
    with matplotlib.rc_context(STYLE):
        figure, axes = new(1, 3, height=2.8)
        _ball(axes[0, 0])
        _box(axes[0, 1])
        _simplex(axes[0, 2])
    words = (
        "Left, Fig 2: q = γw/‖w‖ is nearer to w than any other p on the sphere, since the way "
        "from o to w through p is longer than the straight way through q. Middle and right: the "
        "projections of the two entropies. All points of the dashed curve are as far from w as the "
        "projection q is; the curve touches the set only in q."
    )
    return Picture(figure, words)


def _dot(axes: Any, place: Any, name: str, offset: tuple[float, float] = (4, 4)) -> None:
    axes.plot(*place, "o", color=LINE, markersize=3.5, zorder=5)
    axes.annotate(name, place, textcoords="offset points", xytext=offset, fontsize=9)


def _bare(axes: Any, title: str) -> None:
    axes.set_title(title)
    axes.set_aspect("equal")
    axes.axis("off")


def _ball(axes: Any) -> None:
    w, angle = np.array([2.1, 0.9]), 1.15
    o, q, p = np.zeros(2), bregman.project_ball(w, 1.0), np.array([np.cos(angle), np.sin(angle)])
    turn = np.linspace(0, 2 * np.pi, 200)
    axes.fill(np.cos(turn), np.sin(turn), color=SET, alpha=0.15)
    axes.plot(np.cos(turn), np.sin(turn), color=SET)
    axes.plot(*np.transpose([o, q, w]), color=LINE, lw=1)
    axes.plot(*np.transpose([o, p, w]), color=CURVE, linestyle="--", lw=1)
    for place, name, offset in (
        (o, "o", (-9, -4)),
        (q, "q", (5, -9)),
        (p, "p", (0, 6)),
        (w, "w", (5, -2)),
    ):
        _dot(axes, place, name, offset)
    axes.annotate("γ", 0.5 * q, textcoords="offset points", xytext=(0, -10), fontsize=9)
    axes.set_xlim(-1.1, 2.4)
    axes.set_ylim(-1.5, 1.5)
    _bare(axes, "squared distance,\nball")


def _box(axes: Any) -> None:
    w = np.array([0.12, 1.1])
    q = bregman.project_box(w, BOX_ALPHA)
    low, high = BOX_ALPHA / 2, 2 / BOX_ALPHA
    axes.fill([low, high, high, low], [low, low, high, high], color=SET, alpha=0.15)
    axes.plot([low, high, high, low, low], [low, low, high, high, low], color=SET)
    grid = np.linspace(1e-9, 2.5, 300)
    across, up = np.meshgrid(grid, grid)
    height = across * np.log(across / w[0]) + w[0] - across + up * np.log(up / w[1]) + w[1] - up
    level = bregman.unnormalised_entropy(q, w)
    axes.contour(across, up, height, [level], colors=CURVE, linestyles="--", linewidths=1)
    axes.plot(*np.transpose([w, q]), color=LINE, lw=1)
    _dot(axes, w, "w", (-3, 6))
    _dot(axes, q, "q", (5, 3))
    axes.set_xlim(0, 2.4)
    axes.set_ylim(0, 2.4)
    axes.set_xticks([0, low, high], ["0", "α/n", "n/α"])
    axes.set_yticks([0, low, high], ["0", "α/n", "n/α"])
    axes.set_title("unnormalised entropy,\nbox")
    axes.set_aspect("equal")
    axes.grid(visible=False)


def _simplex(axes: Any) -> None:
    w = np.array([0.62, 0.34, 0.04])
    q = bregman.project_simplex(w, FLOOR_ALPHA)
    inner = (FLOOR_ALPHA / 3 + (1 - FLOOR_ALPHA) * np.eye(3)) @ CORNERS
    axes.fill(*inner.T, color=SET, alpha=0.15)
    axes.plot(*inner[[0, 1, 2, 0]].T, color=SET)
    axes.plot(*CORNERS[[0, 1, 2, 0]].T, color=LINE, lw=0.8)
    share, split = np.meshgrid(np.linspace(1e-6, 1 - 1e-6, 300), np.linspace(1e-6, 1 - 1e-6, 300))
    v = np.array([share, (1 - share) * split, (1 - share) * (1 - split)])
    height = np.sum(v * np.log(v / w[:, None, None]), axis=0)
    level = bregman.relative_entropy(q, w)
    flat = np.tensordot(CORNERS.T, v, 1)
    axes.contour(*flat, height, [level], colors=CURVE, linestyles="--", linewidths=1)
    axes.plot(*np.transpose([w @ CORNERS, q @ CORNERS]), color=LINE, lw=1)
    _dot(axes, w @ CORNERS, "w", (-11, -3))
    _dot(axes, q @ CORNERS, "q", (4, 4))
    _bare(axes, "relative entropy,\nsimplex with a floor")


def divergences() -> Picture:
    """Draw the divergence D(u, w) as in Figure 4: how far F(u) is above the tangent of F at w."""
    with matplotlib.rc_context(STYLE):
        figure, axes = new(1, 3, height=2.4)
        _gap(axes[0, 0], GEOMETRIES[0], (-1.0, 2.2), 0.4, 1.7, lambda a: np.array([a]))
        _gap(axes[0, 1], GEOMETRIES[1], (1e-9, 3.2), 0.5, 2.4, lambda a: np.array([a]))
        _gap(axes[0, 2], GEOMETRIES[2], (1e-9, 1 - 1e-9), 0.25, 0.8, lambda a: np.array([a, 1 - a]))
        axes[0, 0].set_ylabel("F")
        lines = axes[0, 0].get_legend_handles_labels()
        figure.legend(*lines, loc="outside lower center", ncols=3)
    words = (
        "Fig 4: the divergence D(u, w) is how far F(u) is above the tangent of F at w. The panel "
        "of the relative entropy runs along the simplex of two weights."
    )
    return Picture(figure, words)


def _gap(
    axes: Any,
    geometry: Geometry,
    ends: tuple[float, float],
    w: float,
    u: float,
    place: Callable[[float], np.ndarray],
) -> None:
    across = np.linspace(*ends, 200)
    curve = np.array([geometry.F(place(v)) for v in across])
    tangent = curve - [definition(geometry, place(v), place(w)) for v in across]
    axes.plot(across, curve, color=SET, label="F")
    axes.plot(across, tangent, color=LINE, linestyle="--", lw=1, label="its tangent at w")
    top, gap = geometry.F(place(u)), geometry.divergence(place(u), place(w))
    axes.plot([u, u], [top - gap, top], color=CURVE, lw=2.2, solid_capstyle="butt", label="D(u, w)")
    axes.plot([w], [geometry.F(place(w))], "o", color=LINE)
    bottom = min(tangent.min(), curve.min())
    axes.set_ylim(bottom - 0.12 * (curve.max() - bottom), None)
    axes.set_xticks([w, u], ["w", "u"])
    axes.set_title(f"{geometry.name}:\nD(u, w) = {gap:.2f}")
