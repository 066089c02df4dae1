"""Reproductions of all figures and tables of five papers, each with a verdict.

Each figure or table has a module. The module's docstring says what the paper claims, what is run,
and how unclear passages are interpreted; the module's function ``run`` returns the numbers, the
pictures and which claims hold. ``onlinear paper NAME`` runs one module and writes its page;
``onlinear paper --all`` does so for all modules.

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
