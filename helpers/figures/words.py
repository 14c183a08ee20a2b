"""Numbers, tokens and whole pictures in words."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .grid import Grid

# Written as escapes like control characters: what XML forbids, what breaks a line, what turns text round.
_HIDDEN = {0x2028, 0x2029, 0xFFFE, 0xFFFF, *range(0x202A, 0x202F), *range(0x2066, 0x206A)}


def shown(token: object) -> str:
    r"""Text of a token as it is drawn: unchanged, but for characters that nothing can draw.

    Examples
    --------
    >>> shown("$x_1$"), shown("a\nb")
    ('$x_1$', 'a\\nb')
    """
    return _drawable(str(token))


@lru_cache(maxsize=4096)
def _drawable(token: str) -> str:
    return "".join(
        c.encode("unicode_escape").decode("ascii")
        if ord(c) in _HIDDEN or unicodedata.category(c) in ("Cc", "Cs")
        else c
        for c in token
    )


def number(value: Any, digits: int = 2) -> str:
    """A number as people write it: whole ones whole, others with `digits` decimals.

    Zero is ``0`` and one is ``1``; what only rounds to them is ``<0.01`` and ``1.00``.

    Examples
    --------
    >>> [number(x) for x in (0, 0.004, 0.25, 0.998, 1, -1.5, 12345.6, -1e9)]
    ['0', '<0.01', '0.25', '1.00', '1', '-1.50', '12346', '-1e9']
    """
    value = float(value)
    size = abs(value)
    if not np.isfinite(value):
        return f"{value:g}"
    if size >= 1e6:
        mantissa, exponent = f"{value:.1e}".split("e")
        return f"{mantissa.removesuffix('.0')}e{int(exponent)}"
    if value == round(value) or size >= 1000:
        return f"{value:.0f}".replace("-0", "0") if value == 0 else f"{value:.0f}"
    text = f"{value:.{digits}f}"
    if float(text) == 0:
        smallest = f"{10.0**-digits:.{digits}f}"
        return f"<{smallest}" if value > 0 else f">-{smallest}"
    return text


def exactly(value: float) -> str:
    """A number in a sentence: with three digits where two decimals would hide it.

    Examples
    --------
    >>> exactly(1 / 64), exactly(0.25)
    ('0.0156', '0.25')
    """
    return f"{value:.3g}" if 0 < abs(value) < 0.1 else number(value)


def written(series: Mapping[str, Sequence[float | None]], digits: int) -> dict[str, list[str]]:
    """Numbers of every series as text, a dash where there is none."""
    return {name: ["—" if v is None else number(v, digits) for v in own] for name, own in series.items()}


def plural(noun: str) -> str:
    """More than one of it: ``queries``, ``keys``."""
    return noun[:-1] + "ies" if noun.endswith("y") and noun != "key" else noun + "s"


def count(n: int, noun: str) -> str:
    """``1 query``, ``4 queries``."""
    return f"{n} {noun if n == 1 else plural(noun)}"


def listed(names: Sequence[str], most: int = 4) -> str:
    """Names in a sentence, the first few of many.

    Examples
    --------
    >>> listed(["0"]), listed(["0", "1", "2"]), listed(list("0123456"))
    ('0', '0, 1 and 2', '0, 1, 2, 3 and 3 more')
    """
    if len(names) > most + 1:
        names = [*names[:most], f"{len(names) - most} more"]
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def capital(sentence: str) -> str:
    """A sentence with a capital letter in front."""
    return sentence[:1].upper() + sentence[1:]


def _size(grid: Grid) -> str:
    return f"{count(grid.shape[0], grid.nouns[0])} by {count(grid.shape[1], grid.nouns[1])}."


def _cell(grid: Grid, i: int, j: int) -> str:
    return f"{grid.name(0, i)}, {grid.name(1, j)}"


def _are(n: int) -> str:
    return "is" if n == 1 else "are"


def _blocked(grid: Grid) -> list[str]:
    n = int(grid.blocked.sum())
    return [f"{n} of {grid.blocked.size} cells {_are(n)} blocked."] if n else []


def _leaks(grid: Grid) -> list[str]:
    cells = count(grid.leaks, "blocked cell")
    return [f"{cells} came with a number other than 0, which is not drawn."] if grid.leaks else []


def _empty(grid: Grid) -> list[str]:
    rows = [str(i) for i in np.flatnonzero(grid.empty)]
    if not rows:
        return []
    noun, verb = (grid.nouns[0], "has") if len(rows) == 1 else (plural(grid.nouns[0]), "have")
    return [capital(f"{noun} {listed(rows)} {verb} no {grid.nouns[1]} to read.")]


def _extreme(grid: Grid, best: float, what: str) -> str:
    where = np.argwhere(~grid.blocked & (grid.values == best))
    first = _cell(grid, *where[0])
    if len(where) == 1:
        return f"The {what}, {exactly(best)}, is at {first}."
    return f"The {what}, {exactly(best)}, stands in {len(where)} cells, first at {first}."


def sums_text(grid: Grid) -> str:
    """Which rows do not sum to 1, as a sentence; empty rows are told apart elsewhere."""
    full = ~grid.empty
    off = np.flatnonzero(full & ~grid.whole)
    if not off.size:
        if not full.any():
            return "No row has a sum."
        return f"Every {'' if full.all() else 'other '}row sums to 1."
    if off.size <= 4:
        return f"Not every row sums to 1: {listed([f'row {i} to {grid.sum_text(i)}' for i in off])}."
    low, high = grid.sums[off].min(), grid.sums[off].max()
    return f"{off.size} of {grid.shape[0]} rows do not sum to 1 but to {exactly(low)} up to {exactly(high)}."


def weights_text(grid: Grid) -> str:
    """What a picture of weights shows."""
    drawn = grid.values[~grid.blocked]
    said = []
    if drawn.size and (drawn == drawn[0]).all():
        said.append(f"Every {'allowed ' if grid.blocked.any() else ''}weight is {exactly(drawn[0])}.")
    elif drawn.size:
        best = float(drawn.max())
        where = np.argwhere(~grid.blocked & (grid.values == best))
        i, j = where[0]
        if len(where) == 1:
            reader = capital(grid.name(0, i))
            said.append(f"{reader} gives the most weight of all, {exactly(best)}, to {grid.name(1, j)}.")
        else:
            said.append(_extreme(grid, best, "largest weight"))
    return " ".join([_size(grid), *said, *_blocked(grid), *_leaks(grid), *_empty(grid), sums_text(grid)])


def numbers_text(grid: Grid) -> str:
    """What a picture of any matrix shows."""
    drawn = grid.values[~grid.blocked]
    finite = drawn[np.isfinite(drawn)]
    said = []
    if grid.values.size <= 6 and not grid.blocked.any():
        rows = [f"{grid.name(0, i)}: {', '.join(map(number, row))}" for i, row in enumerate(grid.values)]
        said.append(capital("; ".join(rows)) + ".")
    elif finite.size and (finite == finite[0]).all():
        said.append(f"Every number is {exactly(finite[0])}.")
    elif finite.size:
        said += [_extreme(grid, finite.max(), "largest"), _extreme(grid, finite.min(), "smallest")]
    for what, odd in (("not a number (nan)", np.isnan(drawn)), ("infinite", np.isinf(drawn))):
        if n := int(odd.sum()):
            said.append(f"{count(n, 'cell')} {_are(n)} {what}.")
    return " ".join([_size(grid), *said, *_blocked(grid), *_empty(grid)])


def pattern_text(grid: Grid) -> str:
    """What a picture of a pattern shows."""
    per_row = (~grid.blocked).sum(axis=1)
    n = int(per_row.sum())
    if (per_row == per_row[0]).all():
        said = f"Every query may read {count(int(per_row[0]), 'key')}."
    elif per_row.size <= 8:
        said = f"Allowed keys of each query, in order: {', '.join(map(str, per_row))}."
    else:
        said = f"A query may read from {per_row.min()} to {count(int(per_row.max()), 'key')}."
    return " ".join(
        [_size(grid), f"{n} of {grid.blocked.size} cells {_are(n)} allowed.", said, *_empty(grid)]
    )


def difference_text(grid: Grid, first: np.ndarray, second: np.ndarray, names: tuple[str, str]) -> str:
    """Where two patterns part: `first` and `second` mark what only the one or the other allows."""
    size = grid.blocked.size
    said = [
        _size(grid),
        f"{names[0]} and {names[1]} agree in {size - (first | second).sum()} of {size} cells.",
    ]
    for name, cells in zip(names, (first, second), strict=True):
        where = [_cell(grid, i, j) for i, j in np.argwhere(cells)]
        if where:
            many = f"{len(where)} cells, first " if len(where) > 1 else ""
            said.append(f"Allowed by {name} only: {many}{where[0]}.")
    return " ".join(said)


def bars_text(labels: Sequence[str], values: Mapping, texts: Mapping[str, Sequence[str]]) -> str:
    """What bars show: every number while they are few, else the largest of each series."""
    if len(labels) <= 8:
        rows = [", ".join(f"{name} {own[k]}" for name, own in texts.items()) for k in range(len(labels))]
        return " ".join(f"{label}: {row}." for label, row in zip(labels, rows, strict=True))
    said = [f"{len(labels)} positions, {listed(list(values))}."]
    for name, own in values.items():
        known = [k for k, v in enumerate(own) if v is not None and np.isfinite(v)]
        if known:
            k = max(known, key=lambda k: own[k])
            said.append(f"Largest of {name}: {texts[name][k]} at position {k} ({labels[k]}).")
    return " ".join(said)


def lines_text(x: np.ndarray, lines: Mapping[str, np.ndarray], xlabel: str, ylabel: str) -> str:
    """What lines show: where each begins and ends, and its largest number if that is in between."""
    said = [f"{ylabel} against {xlabel}, from {exactly(x[0])} to {exactly(x[-1])}."]
    for name, y in lines.items():
        known = np.flatnonzero(np.isfinite(y))
        if not known.size:
            said.append(f"{name} has no numbers.")
            continue
        first, last, top = known[0], known[-1], known[y[known].argmax()]
        between = exactly(y[top]) not in (exactly(y[first]), exactly(y[last]))
        peak = f", at most {exactly(y[top])} at {exactly(x[top])}" if between else ""
        said.append(f"{name} goes from {exactly(y[first])} to {exactly(y[last])}{peak}.")
    return " ".join(said)
