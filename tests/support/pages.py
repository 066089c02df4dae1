"""Test data for HTML pages: names that try to inject HTML, and a comparison of learners."""

import onlinear as ol
from onlinear._evaluation.report.comparison import Contest, Entry, thinned

HOSTILE = [
    "<script>document.title='owned'</script>",
    "<img src=x onerror=\"document.title='owned'\">",
    "</script><script>document.title='owned'</script>",
    "--><!-- <![CDATA[",
    "%{x} %{y:.2f}<extra></extra>",
    "<b>bold</b> & <a href='javascript:alert(1)'>here</a>",
    "\u2028\u2029\x00\x1b[31m \ud800",
    "\u202eright to left",
    "درجة الحرارة",
    "😀" * 100,
    "$title ${title} $$ {0} %s",
    '"><svg onload=document.title=1>',
]


def contest():
    X, y = ol.streams.rotating(rows=3000, d=4)
    entries = []
    for model in (ol.Ridge(), ol.LASER(c=30.0, shrink=False), ol.NLMS()):
        rows, loss = thinned(ol.replay(model, X, y).cumulative_loss)
        entries.append(Entry(repr(model), loss, note="" if entries else "stays"))
    best = {"best fixed": thinned(ol.hindsight.best_fixed(X, y))[1]}
    return Contest("A truth that turns", "words", rows, entries, best, mean=3000.0)
