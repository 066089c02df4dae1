"""Words of messages."""

import pytest

import onlinear as ol
from onlinear._validation.words import with_article


def test_every_learner_has_its_article():
    said = {with_article(name) for name in ol.LEARNERS}
    for words in ("an Auto", "an AAR", "a LASER", "an RLS", "an NLMS", "a Ridge", "a WEMM"):
        assert words in said
    assert with_article("arrow") == "an arrow"
    assert with_article("parquet") == "a parquet"


def test_messages_say_an_auto(tmp_path):
    X, y = ol.streams.rotating(20, 2)
    model = ol.Auto().fit(X, y)
    with pytest.raises(ValueError, match="got an Auto that has learnt 20"):
        ol.report(model, X, y, tmp_path / "report.html")
