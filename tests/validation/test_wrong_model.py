"""What is given in place of a learner is named, with what to write instead."""

import numpy as np
import pytest
from sklearn.linear_model import SGDRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from table import stream

import onlinear as ol
from onlinear._validation.words import with_article
from onlinear.river import River

X, Y = stream(30)
NEEDS_A_LEARNER = {
    "replay": lambda model: ol.replay(model, X, Y),
    "certificate": lambda model: ol.certificate(model, X, Y),
    "Certified": ol.Certified,
    "Keyed": ol.Keyed,
    "Late": ol.Late,
    "Bank": lambda model: ol.Bank([model]),
    "Bank without a list": ol.Bank,
    "Mapped": lambda model: ol.features.Mapped(ol.features.RandomFourier(), model).fit(X, Y),
    "Standardized": lambda model: ol.Standardized(model).fit(X, Y),
    "River": River,
    "report": lambda model: ol.report(model, X, Y, "never.html"),
    "regret_plot": lambda model: ol.regret_plot(model, X, Y),
    "several in a regret_plot": lambda model: ol.regret_plot([model], X, Y),
}


@pytest.mark.parametrize("needs", NEEDS_A_LEARNER.values(), ids=NEEDS_A_LEARNER)
def test_what_is_not_a_learner_is_named_with_what_to_write_instead(needs):
    with pytest.raises((TypeError, ValueError), match=r"got the class LASER: write LASER\(\)$"):
        needs(ol.LASER)
    with pytest.raises((TypeError, ValueError), match=r"got a str$"):
        needs("LASER")
    with pytest.raises((TypeError, ValueError), match=r"got an SGDRegressor$"):
        needs(SGDRegressor())


@pytest.mark.parametrize("name", ["replay", "certificate", "Keyed", "Late", "report", "River"])
def test_a_pipeline_is_refused_with_what_works_instead(name):
    pipeline = make_pipeline(StandardScaler(), ol.Ridge())
    words = r"got a Pipeline: .*onlinear\.Standardized\(learner\) and onlinear\.Auto\(\) scale row"
    with pytest.raises(TypeError, match=words):
        NEEDS_A_LEARNER[name](pipeline)


def test_a_certificate_of_a_filter_says_where_its_bound_is():
    words = r"got a LaserFilter; the bounds of filters are in docs/guarantees\.md, section Filters$"
    with pytest.raises(TypeError, match=words):
        ol.certificate(ol.LaserFilter(), X, np.sign(Y))


def test_a_class_of_another_kind_is_named_too():
    with pytest.raises(TypeError, match=r"got the class Ridge: write Ridge\(\)"):
        ol.merge([ol.Ridge, ol.Ridge])
    with pytest.raises(TypeError, match=r"got the class RidgeFilter: write RidgeFilter\(\)"):
        ol.filter_replay(ol.RidgeFilter, X, np.sign(Y))
    with pytest.raises(ValueError, match=r"got the class RandomFourier: write RandomFourier\(\)"):
        ol.features.Mapped(ol.features.RandomFourier, ol.Ridge()).fit(X, Y)


def test_a_learner_that_has_learnt_is_named_with_its_article():
    for call in (ol.Certified, lambda model: ol.report(model, X, Y, "never.html")):
        with pytest.raises(ValueError, match="begins with the first row, got an Auto that has lea"):
            call(ol.Auto().fit(X, Y))
    with pytest.raises(ValueError, match="got an RLS that has learnt 30"):
        ol.Standardized(ol.RLS().fit(X, Y)).fit(X, Y)


def test_the_article_is_that_of_the_sound():
    for name in ("Auto", "RLS", "NLMS", "AAR", "OSLOG", "ndarray", "SGDRegressor"):
        assert with_article(name) == f"an {name}"
    for name in ("LASER", "GD", "Ridge", "str", "Pipeline"):
        assert with_article(name) == f"a {name}"
