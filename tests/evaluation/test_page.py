"""Pages: one file, valid data, nothing from data is ever more than text."""

import html.parser
import json
import re

import numpy as np
import plotly.graph_objects as go
import pytest
from pages import HOSTILE, contest

import onlinear as ol
from onlinear._evaluation.html import charts as _charts
from onlinear._evaluation.html.charts import figure, line, literal, numbers, scaled
from onlinear._evaluation.html.page import Chart, Figures, Page, Panels, Table, Text, Words, _json
from onlinear._evaluation.report.comparison import comparison
from onlinear._evaluation.report.resumable_recorder import Story


class Seen(html.parser.HTMLParser):
    """The elements, the text and the data of a page."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.texts, self.data = [], [], [], []
        self._inside = None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes
        kind = dict(attributes).get("type")
        self._inside = "json" if kind == "application/json" else tag

    def handle_endtag(self, tag):
        self._inside = None

    def handle_data(self, data):
        if self._inside == "json":
            self.data.append(json.loads(data, parse_constant=pytest.fail))
        elif self._inside not in ("script", "style"):
            self.texts.append(data)


def parts(names):
    traces = [line(name, [0, 1, 2], [1.0, np.nan, 3.0], k % 6) for k, name in enumerate(names)]
    chart = Chart(names[0], names[1], traces, scaled(traces, names[2], names[3], log="y"), True)
    return [
        Words(names[0], names[1]),
        Text(names[2], names[3]),
        Figures([(name, name, name) for name in names]),
        Table(names[4], names, [names], names[5]),
        chart,
        Panels(names[6], names[7], [chart, chart]),
    ]


def tame(names):
    return [f"name {k}" for k in range(len(names))]


def test_hostile_names_add_no_element_and_no_attribute():
    hostile = Seen(Page(HOSTILE[0], HOSTILE[2], parts(HOSTILE)).html())
    friendly = Seen(Page("title", "lead", parts(tame(HOSTILE))).html())
    assert hostile.tags == friendly.tags
    assert [name for name, _ in hostile.attributes] == [name for name, _ in friendly.attributes]
    assert not any(name.startswith("on") for name, _ in hostile.attributes)


def test_hostile_names_are_shown_as_they_are():
    text = "\n".join(Seen(Page("t", "l", parts(HOSTILE)).html()).texts)
    for name in HOSTILE[:6] + HOSTILE[8:9] + HOSTILE[10:]:
        assert name in text


def test_what_plotly_is_given_has_no_markup_and_no_template():
    for data in Seen(Page("t", "l", parts(HOSTILE)).html()).data[:-1]:
        words = json.dumps(data, ensure_ascii=False)
        assert "<" not in words
        assert ">" not in words
        assert "template" not in words
        for trace in data["data"]:
            assert len(trace["name"]) < 200


def test_data_cannot_end_the_script_element_it_stands_in():
    name = "</script><b>&amp;\u2028"
    trace = {**line("a", [0], [1.0]), "customdata": [name]}
    seen = Seen(Page("t", "l", [Chart("h", "c", [trace])]).html())
    assert "b" not in seen.tags
    assert seen.data[0]["data"][0]["customdata"] == [name]
    assert not set("<>&\u2028") & set(_json(name))


def test_a_page_needs_no_network_and_allows_none():
    text = Page("t", "l", parts(tame(HOSTILE))).html()
    seen = Seen(text)
    (policy,) = [v for k, v in seen.attributes if k == "content" and "default-src" in v]
    assert "default-src 'none'" in policy
    assert "unsafe-inline" not in policy.split("style-src")[0]
    assert "http" not in policy
    assert not [v for k, v in seen.attributes if k in ("src", "href") and not v.startswith("data:")]


def test_numbers_that_are_not_finite_are_null_and_whole_ones_exact():
    given = [np.nan, np.inf, -np.inf, 2.0**52, -0.1234567891, 0.0, 1e300]
    assert numbers(given) == [None, None, None, 2**52, -0.1234568, 0, 1e300]


def test_control_characters_and_turns_of_direction_are_not_passed_on():
    assert literal("a\x00b\u202ec\ud800d\ne") == "a\ufffdb\ufffdc\ufffdd e"
    assert literal("x" * 100) == "x" * 39 + "…"


@pytest.mark.parametrize(
    ("value", "words"),
    [(0.0, "0"), (1234567.8, "1,234,568"), (-0.012345, "−0.01235"), (1e-12, "1.000e-12")],
)
def test_figures_are_written_as_people_read_them(value, words):
    assert figure(value) == words


def linear_rgb(colour):
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    return [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]


def luminance(colour):
    return float(np.dot([0.2126, 0.7152, 0.0722], linear_rgb(colour)))


SEEN_BY = {  # linear RGB as colour-blind readers see it: Machado, Oliveira & Fernandes 2009
    "all colours": np.eye(3),
    "protanopia": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "deuteranopia": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "tritanopia": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
}


def oklab(rgb):
    """Return colours in OKLab (Ottosson 2020), where a distance of 0.02 is just noticeable."""
    cones = [[0.4122, 0.5363, 0.0514], [0.2119, 0.6807, 0.1074], [0.0883, 0.2817, 0.6300]]
    lab = [[0.2105, 0.7936, -0.0041], [1.9780, -2.4286, 0.4506], [0.0259, 0.7828, -0.8087]]
    return np.cbrt(rgb @ np.transpose(cones)) @ np.transpose(lab)


@pytest.mark.parametrize("reader", SEEN_BY)
@pytest.mark.parametrize("colours", [_charts.LIGHT, _charts.DARK], ids=["light", "dark"])
def test_no_two_lines_look_alike_to_any_reader(colours, reader):
    rgb = np.array([linear_rgb(colour) for colour in colours]) @ np.transpose(SEEN_BY[reader])
    seen = oklab(np.clip(rgb, 0, 1))
    apart = np.linalg.norm(seen[:, None] - seen[None], axis=-1) + np.eye(len(colours))
    assert apart.min() > 0.1


@pytest.mark.parametrize(
    ("colours", "page"), [(_charts.LIGHT, "#ffffff"), (_charts.DARK, "#15181c")]
)
def test_lines_stand_out_from_the_page(colours, page):
    script = Page("t", "l", []).html()
    assert page in script  # the background this is about
    for colour in colours:
        one, other = sorted([luminance(colour), luminance(page)])
        assert (other + 0.05) / (one + 0.05) >= 3.0, colour


def test_a_logarithmic_axis_is_about_the_first_line():
    rows = np.arange(1, 100)
    traces = [line("loss", rows, rows * 1.0), line("ceiling", rows, rows * 1e12)]
    low, high = scaled(traces, "x", "y", log="y")["yaxis"]["range"]
    assert -0.3 < low < 0 < 2 < high < 2.3
    assert "type" not in scaled([line("zero", rows, rows * 0.0)], "x", "y", log="y")["yaxis"]
    assert "type" not in scaled([line("none", [], [])], "x", "y", log="xy")["yaxis"]


def charts(page):
    for part in page.parts:
        if isinstance(part, Chart):
            yield part
        elif isinstance(part, Panels):
            yield from part.charts


@pytest.mark.parametrize("rows", [0, 1, 3, 700])
@pytest.mark.parametrize("model", [ol.LASER(c=10.0), ol.Auto(), ol.KernelAAR(budget=20)])
def test_every_chart_of_a_report_is_a_figure_to_plotly(model, rows):
    model = type(model)(**model.get_params(deep=False))
    X, y = ol.streams.rotating(rows=max(rows, 1), d=3)
    story = Story(model, HOSTILE[:3], HOSTILE[5])
    if rows:
        story.replay(X, y, 0)
    drawn = [go.Figure(chart.figure()) for chart in charts(story.page())]
    assert len(drawn) >= 2
    assert story.page().html() == story.page().html()


def test_a_comparison_ranks_the_learners_and_draws_them():
    both = [contest(), contest()]
    page = comparison("Learners", "on two streams", both)
    tables = [part for part in page.parts if isinstance(part, Table)]
    assert [row[0] for row in tables[0].rows][:2] == ["LASER(c=30.0, shrink=False)", "NLMS()"]
    assert "best fixed, in hindsight" in [row[0] for row in tables[1].rows]
    assert all(len(row) == len(tables[0].columns) for row in tables[0].rows)
    assert len([go.Figure(chart.figure()) for chart in charts(page)]) == 4
    assert re.search(r"<td[^>]*><bdi>stays</bdi></td>", page.html())


def trace_of(page, heading, name):
    (chart,) = [chart for chart in charts(page) if chart.heading == heading]
    (trace,) = [trace for trace in chart.traces if trace["name"] == name]
    return np.array(trace["x"], dtype=float), np.array(trace["y"], dtype=float)


def test_a_long_run_is_drawn_as_its_range_and_mean_in_windows():
    rng = np.random.default_rng(0)
    rows = 240 * 64  # windows of 64 rows
    X, y = rng.normal(size=(rows, 2)), 5e3 + rng.normal(size=rows)
    y[7000], y[3000] = 6e3, np.nan
    story = Story(ol.Ridge(on_bad="skip"), ["a", "b"], "y")
    run = story.replay(X, y, 100)
    page = story.page()
    for name, values in (("labels", y), ("predictions", run.predictions)):
        known = np.where(np.isfinite(y), values, np.nan).reshape(240, 64)
        at, mean = trace_of(page, "Predictions and labels", f"{name}: mean")
        np.testing.assert_array_equal(at, 100 + 64 * np.arange(240) + 31.5)
        np.testing.assert_allclose(mean, np.nanmean(known, axis=1), rtol=1e-6)
        edge, band = trace_of(page, "Predictions and labels", f"{name}: range")
        np.testing.assert_array_equal(edge, np.concatenate([at, at[::-1]]))
        np.testing.assert_allclose(band[:240], np.nanmax(known, axis=1), rtol=1e-6)
        np.testing.assert_allclose(band[:239:-1], np.nanmin(known, axis=1), rtol=1e-6)
    at, _ = trace_of(page, "The last 300 rows", "prediction")
    np.testing.assert_array_equal(at, 100 + np.arange(rows - 300, rows))


def test_a_short_run_is_drawn_row_by_row():
    X, y = ol.streams.rotating(rows=900, d=3)
    story = Story(ol.Ridge(), ["a", "b", "c"], "y")
    run = story.replay(X, y, 0)
    rows, values = trace_of(story.page(), "Predictions and labels", "prediction")
    np.testing.assert_array_equal(rows, np.arange(900))
    np.testing.assert_allclose(values, run.predictions, rtol=1e-6)


def test_the_error_over_time_counts_only_rows_that_were_learnt():
    X, y = np.zeros((4000, 1)), np.where(np.arange(4000) % 4, np.nan, 3.0)
    story = Story(ol.Ridge(on_bad="skip"), ["a"], "y")
    story.replay(X, y, 0)
    _, error = trace_of(story.page(), "Error over time", "Ridge")
    np.testing.assert_allclose(error, 3.0)  # it always predicts 0


def test_the_windows_of_a_comparison_have_one_as_their_least():
    page = comparison("t", "l", [contest()])
    (ahead,) = [chart for chart in charts(page) if chart.heading.startswith("Who is ahead")]
    least = np.min([trace["y"] for trace in ahead.traces], axis=0)
    np.testing.assert_allclose(least, 1.0)
