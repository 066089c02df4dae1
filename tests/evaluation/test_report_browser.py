"""Reports in a real browser: every chart is drawn, nothing is complained of, names do nothing."""

import json
import re
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from pages import HOSTILE, contest

import onlinear as ol
from onlinear._evaluation.html import charts
from onlinear._evaluation.report.comparison import comparison
from onlinear._evaluation.report.resumable_recorder import Story

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next(filter(None, map(shutil.which, BROWSERS)), None)
pytestmark = pytest.mark.skipif(
    BROWSER is None,
    reason=f"needs a browser: none of {', '.join(BROWSERS)} is on the path",
)


def opened(path, tmp_path, *more):
    """Return the page after its scripts have run, and what the console said."""
    done = subprocess.run(
        [
            BROWSER,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            f"--user-data-dir={tmp_path / 'profile'}",
            "--virtual-time-budget=20000",
            "--enable-logging=stderr",
            *more,
            "--dump-dom",
            path.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return done.stdout, [text for text in done.stderr.splitlines() if "CONSOLE" in text]


def drawn(page):
    return int(re.search(r'<html[^>]* data-drawn="(\d+)"', page).group(1))


def report(model, X, y, names, tmp_path, target="y"):
    story = Story(model, names, target)
    story.replay(X, y, 0)
    story.write(tmp_path / "report.html", [(HOSTILE[0], 3, [1, 2, 3])])
    return tmp_path / "report.html"


def test_hostile_names_do_nothing_and_every_chart_is_drawn(tmp_path):
    X, y = ol.streams.rotating(rows=700, d=len(HOSTILE))
    X[5] = np.nan
    path = report(ol.Auto(on_bad="skip"), X, y, HOSTILE, tmp_path, target=HOSTILE[2])
    page, said = opened(path, tmp_path)
    assert said == []
    assert drawn(page) == page.count('class="chart') == page.count('class="main-svg"') // 3 > 8
    title = re.search(r"<title>(.*?)</title>", page, re.S).group(1)
    assert title.endswith("predicted by Auto")
    assert "<img" not in page
    assert not re.search(r"<svg[^>]*onload", page)
    body = re.sub(r"<script.*?</script>", "", page, flags=re.S)
    assert "<b>" not in body
    assert "javascript:" not in re.sub(r">[^<]*<", "><", body)  # but in text


def test_a_dark_page_draws_in_other_colours(tmp_path):
    X, y = ol.streams.rotating(rows=50, d=2)
    path = report(ol.LASER(), X, y, ["a", "b"], tmp_path)
    light, _ = opened(path, tmp_path)
    dark, said = opened(path, tmp_path, "--blink-settings=preferredColorScheme=0")
    assert said == []
    assert 'data-scheme="light"' in light
    assert 'data-scheme="dark"' in dark
    assert drawn(dark) == drawn(light)
    first = tuple(int(charts.DARK[0][i : i + 2], 16) for i in (1, 3, 5))
    assert f"rgb{first}" in dark
    assert f"rgb{first}" not in light


def test_a_report_on_classes_is_drawn_light_and_dark(tmp_path):
    X, y = ol.streams.rotating(rows=1500, d=3)
    model = ol.GD(eta=0.1, loss=ol.losses.Logistic())
    path = report(model, X, (y > 0) * 1.0, HOSTILE[:3], tmp_path, target=HOSTILE[5])
    light, said = opened(path, tmp_path)
    dark, also = opened(path, tmp_path, "--blink-settings=preferredColorScheme=0")
    assert said == also == []
    for page, colours in ((light, charts.LIGHT), (dark, charts.DARK)):
        assert drawn(page) == page.count('class="chart') == page.count('class="main-svg"') // 3 > 8
        bars = page[page.index(">How often<") : page.index(">Loss so far<")]
        assert bars.count('class="point"') == 20
        red, green, blue = (int(colours[0][i : i + 2], 16) for i in (1, 3, 5))
        assert f"fill: rgb({red}, {green}, {blue})" in bars


def test_a_comparison_is_drawn(tmp_path):
    comparison("Learners", "two streams", [contest(), contest()]).write(tmp_path / "page.html")
    page, said = opened(tmp_path / "page.html", tmp_path)
    assert said == []
    assert drawn(page) == 4


MEASURE = """
<title></title><body style="margin:0"><iframe style="border:0;width:390px;height:844px"></iframe>
<script>
const frame = document.querySelector("iframe");
frame.onload = () => setTimeout(() => {
  const page = frame.contentDocument, box = page.querySelector(".scroll");
  const names = [...page.querySelectorAll("tbody th bdi")];
  const range = page.createRange();
  const broken = names.filter((name) => name.textContent.split(" ").some((word) => {
    const at = name.textContent.indexOf(word);
    range.setStart(name.firstChild, at);
    range.setEnd(name.firstChild, at + word.length);
    return range.getClientRects().length > 1;
  }));
  document.title = JSON.stringify({
    page: page.documentElement.scrollWidth, box: box.clientWidth, table: box.scrollWidth,
    layers: frame.contentWindow.getComputedStyle(box).backgroundAttachment,
    broken: broken.map((name) => name.textContent), names: names.length,
  });
}, 3000);
frame.src = "page.html";
</script>
"""


def test_on_a_phone_a_wide_table_scrolls_inside_its_box_and_words_stay_whole(tmp_path):
    turning = contest()
    entries = [
        replace(each, name=name)
        for each, name in zip(
            turning.entries,
            ["RLS(forgetting=0.999)", "LASER(c=100000.0, shrink=False)", "Auto()"],
            strict=True,
        )
    ]
    wide = replace(
        turning, entries=entries, best={**turning.best, "best drifting": entries[0].loss}
    )
    comparison("Learners", "one stream", [wide]).write(tmp_path / "page.html")
    (tmp_path / "phone.html").write_text(MEASURE)
    options = "--allow-file-access-from-files", "--hide-scrollbars"
    page, said = opened(tmp_path / "phone.html", tmp_path, *options)
    assert said == []
    seen = json.loads(re.search(r"<title>(.*?)</title>", page).group(1))
    assert seen["page"] == 390  # the page itself does not scroll sideways
    assert seen["table"] > seen["box"] <= 390
    assert seen["layers"] == "local, local, scroll, scroll"  # shadows where there is more
    assert seen["names"] == 5
    assert seen["broken"] == []


def test_a_page_that_is_told_to_run_something_else_refuses(tmp_path):
    """The policy is real: were a name ever let through, it would still not run."""
    X, y = ol.streams.rotating(rows=20, d=2)
    path = report(ol.Ridge(), X, y, ["a", "b"], tmp_path)
    broken = path.read_text().replace("</main>", "<script>document.title='owned'</script></main>")
    path.write_text(broken)
    page, said = opened(path, tmp_path)
    assert "<title>y, predicted by Ridge</title>" in page
    assert any("Content Security Policy" in text for text in said)
