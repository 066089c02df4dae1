"""onlinear inspect: what a state file holds."""

import json

from command import run, stream
from typer.testing import CliRunner

import onlinear as ol
from onlinear._cli.app import app


def test_inspect_says_what_a_state_file_holds(data):
    X, y = stream(400)
    run("data.csv", "-t", "y", "--state", "run.onl", "-o", "out.csv")
    ol.LASER(c=7.0).fit(X, y).save("laser.onl")
    watched = ol.Certified(ol.AAR())
    watched.replay(X, y)
    watched.save("watched.onl")
    ol.Bank([ol.AAR(), ol.LASER()]).save("bank.onl")
    for name, expected in {
        "run": ["Auto()", "400", "out.csv", "Over all these rows, the relationship"],
        "laser": ["LASER(c=7.0)", "column 2"],
        "watched": ["certified learner", "AAR()", "certificate: loss"],
        "bank": ["bank"],
    }.items():
        result = CliRunner().invoke(app, ["inspect", f"{name}.onl"])
        assert result.exit_code == 0, result.output
        for words in expected:
            assert words in result.output
        assert json.loads(CliRunner().invoke(app, ["inspect", f"{name}.onl", "--json"]).output)
    (data / "laser.onl").write_bytes((data / "laser.onl").read_bytes()[:-1])
    result = CliRunner().invoke(app, ["inspect", "laser.onl"])
    assert result.exit_code == 1
    assert "truncated or altered" in result.stderr


def test_inspect_says_what_models_by_key_are_in_a_file(data):
    keyed = ol.Keyed(ol.Ridge())
    keyed.replay(["a", "b", "a"], [[1.0], [2.0], [3.0]], [1.0, 2.0, 3.0])
    keyed.predict_one("c", [1.0], id=7)
    keyed.save("keyed.onl")
    found = json.loads(CliRunner().invoke(app, ["inspect", "keyed.onl", "--json"]).output)
    assert (found["holds"], found["model"]) == ("models by key", "Ridge()")
    assert (found["keys"], found["events"], found["late labels"]["waiting"]) == (2, 3, 1)
    assert "models by key" in CliRunner().invoke(app, ["inspect", "keyed.onl"]).output
