"""What several commands are given: submissions, and notebooks by number."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click


class Submissions(click.Path):
    """Folders and zips that are there; a number that was meant for another option is told where it belongs."""

    def __init__(self) -> None:
        super().__init__(exists=True, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            if not re.fullmatch(r"\d{1,2}(,\d{1,2})*", str(value)):
                raise
            self.fail(
                f"{value} is a notebook's number, and here a folder or a zip is expected. For several notebooks "
                "repeat --notebook, or write --notebook 01,04.",
                param,
                ctx,
            )


def numbered(names: Iterable[str]) -> list[str]:
    """
    Notebooks as typed, one each, numbers with two digits.

    Examples
    --------
    >>> numbered(["1,04", "10_check_your_understanding"])
    ['01', '04', '10_check_your_understanding']
    """
    parts = [part.strip() for name in names for part in name.split(",")]
    return [part.zfill(2) if part.isdigit() else part for part in parts if part]
