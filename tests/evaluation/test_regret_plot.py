"""The picture of losses, comparators and ceilings."""

import sys
import types

import numpy as np
import pytest
from table import stream

import onlinear as ol


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_one_call_draws_loss_comparators_and_ceiling(tmp_path):
    X, y = stream(80)
    ax = ol.regret_plot(ol.LASER(), X, y, log=True, also={"nought": np.cumsum(y * y)})
    assert legend(ax) == ["LASER()", "best fixed", "nought", "loss", "comparator", "ceiling"]
    assert ax.get_yscale() == "log"
    proof = ol.certificate(ol.LASER(), X, y)
    for line, curve in zip(ax.lines, (proof.loss, proof.comparator, proof.ceiling), strict=False):
        np.testing.assert_array_equal(line.get_ydata(), curve)
    ax.figure.savefig(tmp_path / "regret.png")
    assert (tmp_path / "regret.png").stat().st_size > 10_000


def test_several_learners_and_certificates_can_be_drawn_together():
    X, y = stream(80)
    watched = ol.Certified(ol.AAR(clip=0.9))
    watched.replay(X[:40], y[:40])
    proof = watched.replay(X[40:], y[40:])
    ax = ol.regret_plot([proof, ol.RLS(on_bad="skip")], np.vstack([X[:40], X[:40] * np.nan]), y)
    assert legend(ax)[:3] == ["AAR(clip=0.9)", "RLS(on_bad='skip')", "best fixed"]
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), np.arange(41, 81))


@pytest.mark.parametrize(
    ("call", "rule"),
    [
        (lambda X, y: ol.regret_plot(ol.RLS()), "needs X and y"),
        (lambda X, y: ol.regret_plot([], X, y), "needs learners or certificates"),
        (lambda X, y: ol.regret_plot(ol.RLS, X, y), "needs learners or certificates"),
        (lambda X, y: ol.regret_plot([3], X, y), "needs learners or certificates"),
        (lambda X, y: ol.regret_plot(ol.RLS(), X, y, also={"a": [1.0]}), "needs 80 values"),
    ],
)
def test_what_cannot_be_drawn_is_refused(call, rule):
    with pytest.raises((TypeError, ValueError), match=rule):
        call(*stream(80))


def test_a_notebook_shows_the_figure_though_pyplot_was_not_imported(monkeypatch):
    import matplotlib.pyplot as plt

    monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
    monkeypatch.delitem(sys.modules, "matplotlib.pyplot")
    monkeypatch.delattr("matplotlib.pyplot")  # as in a process that has not imported it
    before = plt.get_fignums()
    ax = ol.regret_plot(ol.certificate(ol.Ridge(), *stream(20)))
    shown = sys.modules["matplotlib.pyplot"]
    try:
        (new,) = set(shown.get_fignums()) - set(before)  # once, not twice
        assert shown.figure(new) is ax.figure
    finally:
        shown.close(ax.figure)


def test_a_script_without_pyplot_draws_and_saves(monkeypatch, tmp_path):
    monkeypatch.delitem(sys.modules, "matplotlib.pyplot", raising=False)
    ax = ol.regret_plot(ol.certificate(ol.Ridge(), *stream(20)))
    assert "matplotlib.pyplot" not in sys.modules
    ax.figure.savefig(tmp_path / "regret.png")
    assert (tmp_path / "regret.png").stat().st_size > 10_000
