"""Where the repository is, and the data sets that may lie beside it."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
DATA = ROOT.parent / "shared" / "data"
