"""The figures and tables of the five papers, run again, each with a verdict.

One module for each figure or table: its docstring says what the paper claims, what is run and which
reading of the text decides; its ``run`` returns the numbers, the pictures and what holds.
``onlinear paper NAME`` runs one and writes its page, ``onlinear paper --all`` all of them.

>>> from onlinear import papers
>>> study = papers.Study(repeats=2)
>>> outcome = papers.script("laser-fig-3-1").run(study)
>>> outcome.verdict
'reproduced'
"""

from onlinear.papers._harness.outcome import Claim, Outcome, Picture
from onlinear.papers._harness.scripts import NAMES, script
from onlinear.papers._harness.study import Study

__all__ = ["NAMES", "Claim", "Outcome", "Picture", "Study", "script"]
