"""Tables for a spreadsheet, in which no text of a submission can act as a formula."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from .writing import whole

# What a spreadsheet takes for a formula, full-width forms included, also behind spaces.
_FORMULA = tuple("=+-@|%\uff1d\uff0b\uff0d\uff20")


def cell(value: Any) -> Any:
    """
    One cell: numbers as they are, text so that a spreadsheet shows it and does nothing with it.

    Examples
    --------
    >>> cell("=HYPERLINK(1)"), cell(" +1"), cell(-0.5), cell("closer")
    ("'=HYPERLINK(1)", "' +1", -0.5, 'closer')
    """
    if value is None or isinstance(value, (int, float)):
        return value
    text = " ".join(str(value).split("\x00"))
    acts = text[:1] in ("\t", "\r", "\n") or text.lstrip().startswith(_FORMULA)
    return f"'{text}" if acts else text


def uncell(text: str) -> str:
    """
    Give text back as it was before `cell`.

    Examples
    --------
    >>> uncell(cell("=1")), uncell(cell("'t Hooft"))
    ('=1', "'t Hooft")
    """
    return text[1:] if text[:1] == "'" and cell(text[1:]) == text else text


def write_sheet(path: Path, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a CSV file. The byte order mark tells Excel that names with accents are UTF-8."""
    with whole(path, encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(head)
        writer.writerows([cell(value) for value in row] for row in rows)
