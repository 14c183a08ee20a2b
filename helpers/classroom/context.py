"""What a question takes for granted away from its notebook: the question before it, and what stands between them."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from markupsafe import Markup

from .. import questions
from ..predictions import render
from ..questions import Question

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"

# Questions on the same cell speak of one situation, which the first of them sets out. Where that is not so:
FOLLOWS = {
    "02-shapes": None,
    "03-blind": "03-head",
    "06-inplace": None,
    "06-unequal": "06-survivors",
    "07-score-shape": "07-split-shape",
}
ENDS = (
    "predict",
    "run",
    "compare",
    "check",
    "write",
    "explore",
    "hint",
    "revisit",
    "setup",
)  # of what came before


def earlier(question: Question) -> Question | None:
    """
    The question whose situation this one goes on with.

    Examples
    --------
    >>> earlier(questions.get("04-first-row-hot")).id, earlier(questions.get("01-order"))
    ('04-first-row', None)
    """
    if question.id in FOLLOWS:
        return questions.get(FOLLOWS[question.id]) if FOLLOWS[question.id] else None
    if question.cell is None:
        return None
    first = next(one for one in questions.of_notebook(question.notebook) if one.cell == question.cell)
    return first if first.id != question.id else None


def context(question: Question) -> dict[str, Any]:
    """What to show beside a prompt: ``earlier``, id and prompt, and ``cells``, HTML of what stands before."""
    first = earlier(question)
    return {
        "earlier": {"id": first.id, "prompt": render.markdown(first.text)} if first else None,
        "cells": _before(question),
    }


def _before(question: Question) -> Markup:
    """The cells of the notebook between the result before and the question's card, as the learner reads them."""
    cells = _cells(question.notebook)
    at = next((at for at, cell in enumerate(cells) if cell["id"] == f"predict-{question.id[3:]}"), 0)
    found: list[Markup] = []
    for cell in reversed(cells[:at]):
        if cell["cell_type"] == "code" and cell["id"].split("-")[0] in ENDS:
            break
        found.insert(0, _shown(cell))
    return Markup("\n").join(found)


def _shown(cell: dict[str, Any]) -> Markup:
    text = "".join(cell["source"])
    if cell["cell_type"] == "code":
        return Markup("<pre>{}</pre>").format(text)
    text = re.sub(r"^#+ (.*)$", r"**\1**", text, flags=re.M)  # headings are the page's own
    text = re.sub(r"!\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return render.markdown(re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", text))


@cache
def _cells(notebook: str) -> list[dict[str, Any]]:
    """Cells of a notebook of the course; none where it is not there, as in a class's own copy."""
    path = NOTEBOOKS / f"{notebook}.ipynb"
    return json.loads(path.read_text(encoding="utf-8"))["cells"] if path.is_file() else []
