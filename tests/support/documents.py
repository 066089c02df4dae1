"""Extract the code blocks of a document, and the output that they claim."""

import re

from places import ROOT


def blocks(document: str, language: str = "python") -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / document).read_text(), re.S)


def shown(block: str) -> list[str]:
    """The output that a block claims: in comments beside or below a print."""
    lines: list[str] = []
    below = False
    for line in block.splitlines():
        if beside := re.match(r"print\(.*?\)\s+# (.*)$", line):
            lines.append(beside[1])
        elif below and line.startswith("#"):
            lines.append(line[2:])
            continue
        below = beside is None and line.strip().startswith("print(")
    return lines
