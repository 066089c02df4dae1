"""Mathematics of the site: linear text such as w_{t−1} becomes HTML with sub- and superscripts.

A block of plain text that contains a mathematical sign becomes a displayed equation.
"""

import re
from html import escape, unescape

__all__ = ["equations", "scripts", "typeset"]

SCRIPT = re.compile(
    r"(?<=[^\s_^])(?P<mark>[_^])(?:"
    r"\{(?P<braces>(?:[^{}]|\{[^{}]*\})*)\}"  # w_{t−1}, D_{w_{t−1}}
    r"|(?<=\^)\((?P<brackets>[^()]*)\)"  # r^(t−s)
    r"|(?P<word>max|min|segments|ii|ij|t[+−]1)(?![a-z])"
    r"|(?<![A-Za-z]{2}_)(?P<digits>\d+)"  # u_1, but not theorem_5
    r"|(?P<letter>[^\W\d_](?![a-z][a-z_])|[±−]))"  # N_tx is N_t x; best_fixed stays
)
TAG = re.compile(r"(<[^>]*>)")
AS_IT_IS = {"code", "pre", "script", "style", "h1", "h2", "h3", "h4", "h5", "h6"}
BLOCK = re.compile(
    r'<div class="language-text highlight"><pre><span></span><code>(.*?)</code></pre></div>', re.S
)
SIGN = re.compile("[ᵀŷΣΔδτ√‖≤←₀]")
EQUATION = re.compile(r"(\S+) +([=←]) +(.*)")  # left side, sign, right side and words beside it
GAP = re.compile(r" {3,}")  # between an equation and the words beside it


def scripts(text: str) -> str:
    """Return HTML text with sub- and superscripts.

    >>> scripts("xᵀD_{w_{t−1}}⁻¹x ≤ r^(t−s), best_fixed")
    'xᵀD<sub>w<sub>t−1</sub></sub>⁻¹x ≤ r<sup>t−s</sup>, best_fixed'
    """

    def tagged(match: re.Match[str]) -> str:
        tag = "sub" if match["mark"] == "_" else "sup"
        inner = next(each for each in match.groups()[1:] if each is not None)
        return f"<{tag}>{scripts(inner)}</{tag}>"

    return SCRIPT.sub(tagged, text)


def equations(block: str) -> str:
    """Return a block of text as a table: left side, sign, right side, and words beside them.

    >>> equations("w ← w − 2η_t g   every row")  # doctest: +ELLIPSIS
    '<table class="equations"><tr><td>w</td><td>←</td><td>w − 2η<sub>t</sub> g</td><td>every...'
    """
    rows = []
    for line in block.strip("\n").splitlines():
        equation = EQUATION.fullmatch(line.rstrip())
        *sides, rest = equation.groups() if equation else [line.rstrip()]
        formula, *beside = GAP.split(rest)
        cells = [f"<td>{_cell(each)}</td>" for each in sides]
        wide = "" if sides else ' colspan="3"'
        cells.append(f"<td{wide}>{_cell(formula)}</td>")
        if beside:
            cells.append(f"<td>{_cell('  '.join(beside))}</td>")
        rows.append("".join(cells))
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return f'<table class="equations">{body}</table>'


def _cell(text: str) -> str:
    return scripts(escape(text, quote=False)).replace("  ", "&emsp;")


def typeset(html: str) -> str:
    """Return a page with its equations typeset and its code unchanged."""

    def displayed(block: re.Match[str]) -> str:
        return equations(unescape(block[1])) if SIGN.search(block[1]) else block[0]

    html = BLOCK.sub(displayed, html)
    parts, inside = [], 0
    for part in TAG.split(html):
        if tag := re.match(r"<(/?)(\w+)", part):
            inside += (tag[2] in AS_IT_IS) * (-1 if tag[1] else 1)
        parts.append(part if tag or inside else scripts(part))
    return "".join(parts)
