"""Print the lowest declared version of every package that users install, as constraints for pip."""

import re
import tomllib
from pathlib import Path

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
EXTRAS = ("sklearn", "river", "spark", "text")  # of the others, which are tools, any version does
DECLARED = re.compile(r"(?P<name>[\w-]+)>=(?P<version>[\d.]+)")

requirements = set(PROJECT["dependencies"])
for extra in EXTRAS:
    requirements.update(PROJECT["optional-dependencies"][extra])
for requirement in sorted(requirements):
    name, version = DECLARED.match(requirement).groups()
    series = [*version.split("."), "0", "0"][:3]  # 13 is 13.0.*, the lowest of its series
    print(f"{name}=={'.'.join(series[:2])}.*")
