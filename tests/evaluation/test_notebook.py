"""What a notebook shows of learners, their wrappers, certificates and explanations."""

import numpy as np
import pandas as pd
import pytest
from notebook_html import read
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from table import stream

import onlinear as ol

X, Y = stream(60, d=3)
HOSTILE = "<script>alert('x')</script>&amp;"
FRAME = pd.DataFrame(X, columns=["a", HOSTILE, "c"])
MODELS = {
    "fresh": lambda: ol.Ridge(b=0.25),
    "Ridge": lambda: ol.Ridge(b=0.25).fit(FRAME, Y),
    "Auto": lambda: ol.Auto().fit(FRAME, Y),
    "Standardized": lambda: ol.Standardized(ol.Ridge()).fit(FRAME, Y),
    "KernelAAR": lambda: ol.KernelAAR().fit(FRAME[:5], Y[:5]),
    "Mapped": lambda: ol.features.Mapped(ol.features.RandomFourier(4), ol.Ridge()).fit(FRAME, Y),
    "Late": lambda: ol.Late(ol.Ridge().fit(FRAME, Y)),
    "Bank": lambda: ol.Bank([ol.Ridge(b=0.25), ol.LASER()]),
    "Keyed": lambda: ol.Keyed(ol.Ridge(b=0.25)),
    "Certificate": lambda: ol.certificate(ol.LASER(), X, Y),
    "Certificate without a bound": lambda: ol.certificate(ol.ONS(), X, Y),
    "explanation": lambda: ol.Auto().fit(FRAME, Y).explain(),
}


def text_of(thing):
    return "|".join(read(thing._repr_html_()).text)


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
def test_a_notebook_shows_it_with_tags_that_match_and_texts_that_are_escaped(make):
    thing = make()
    html = thing._repr_html_()
    page = read(html)
    assert "script" not in {tag for tag, _ in page.tags}
    assert "nan" not in html
    assert 40 < len(html) < 8000


def test_a_learner_shows_parameters_rows_and_named_coefficients():
    assert "Ridge|b|0.25|" in text_of(ol.Ridge(b=0.25)).replace("on_bad|'raise'|", "")
    assert text_of(ol.Ridge()).endswith("rows learnt|0")
    model = ol.Ridge().fit(FRAME, Y)
    shown = text_of(model)
    assert "rows learnt|60|coefficients|" in shown
    for name, weight in zip(FRAME.columns, model.coef_, strict=True):
        assert f"|{name}|{weight:.4g}".replace("-", "−") in shown
    skipping = ol.Ridge(on_bad="skip")
    skipping.learn_one([np.nan], 1.0)
    assert "rows skipped|1" in text_of(skipping)


def test_an_intercept_is_shown_and_auto_explains_itself():
    model = ol.Auto().fit(FRAME, Y)
    shown = text_of(model)
    assert f"intercept|{model.intercept_:.4g}".replace("-", "−") in shown
    assert "Auto has learnt 60 rows of 3 columns." in shown


def test_of_many_columns_the_largest_coefficients_are_shown():
    y = 3.0 * np.eye(1, 100)[0] - 7.0 * np.eye(1, 100, 70)[0]
    model = ol.Ridge().fit(np.eye(100), y)
    shown = text_of(model)
    assert "the 20 largest of 100" in shown
    assert "column 0|1.5|" in shown
    assert "column 70|−3.5" in shown


def test_an_explanation_is_still_a_text():
    words = ol.Auto().fit(X, Y).explain()
    assert isinstance(words, str)
    assert read(words._repr_html_()).text == [words]


def test_a_certificate_shows_its_figures_and_three_curves():
    proof = ol.certificate(ol.LASER(), X, Y)
    shown = text_of(proof)
    for name in ("loss", "comparator", "ceiling"):
        assert f"{name}|{getattr(proof, name)[-1]:.4g}|" in shown
    assert "holds|yes|" in shown
    assert proof.theorem in shown
    lines = [a for tag, a in read(proof._repr_html_()).tags if tag == "path"]
    assert len(lines) == 4  # and the axes
    (loss,) = [a["d"] for a in lines if "stroke-width" in a]
    heights = 128 - np.array([float(point.split()[1]) for point in loss[1:].split("L")])
    most = max(proof.loss[-1], proof.comparator[-1], proof.ceiling[-1])
    np.testing.assert_allclose(heights, 120 * proof.loss / most, atol=0.051)


def test_a_certificate_without_a_bound_says_why():
    shown = text_of(ol.certificate(ol.ONS(), X, Y))
    assert "holds|no bound is known for ONS without a radius" in shown
    assert "ceiling|–|" in shown


def test_what_keeps_several_models_shows_its_counts():
    keyed = ol.Keyed(ol.Ridge(b=0.25))
    keyed.replay([0, 1] * 30, X, Y)
    assert "Keyed|keys|2|events|60|" in text_of(keyed)
    assert "every key starts with|Ridge(b=0.25)" in text_of(keyed)
    late = ol.Late(ol.Ridge())
    late.predict_one(X[0], id=1)
    assert "Late|waiting|1|" in text_of(late)
    assert "learner 24" not in text_of(ol.Bank([ol.Ridge()] * 25))
    assert "and|5 more" in text_of(ol.Bank([ol.Ridge()] * 25))


def test_a_pipeline_of_scikit_learn_shows_a_learner_as_its_step():
    pipeline = make_pipeline(StandardScaler(), ol.Ridge(b=0.25)).fit(X, Y)
    assert "Ridge(b=0.25)" in pipeline._repr_html_()
