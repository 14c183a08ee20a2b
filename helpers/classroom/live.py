"""A page to project: vote, discuss, vote again on one question; the run's result is shown when you ask for it."""

from __future__ import annotations

import base64
import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from markupsafe import Markup

from .. import questions
from ..misconceptions import CATALOGUE
from ..predictions import render
from ..questions import Question
from . import page, tally
from .collect import collect

MOST = 5  # choices on a projected page
LETTERS = "ABCDEFGH"


@dataclass(frozen=True)
class Choice:
    """One of the answers to vote for."""

    letter: str
    says: Any  # HTML
    right: bool
    belief: str = ""
    votes: int = 0


def choices(question: Question, votes: Counter | None = None) -> list[Choice]:
    """
    What a class can vote for: a choice's own statements, else the run's answer among those of wrong programs.

    Parameters
    ----------
    question : Question
    votes : Counter of str, optional
        How many gave each answer, as `option_of` names it.

    Returns
    -------
    list of Choice
        In an order that says nothing about which is right.

    Examples
    --------
    >>> from helpers import questions
    >>> [choice.says for choice in choices(questions.get("01-mixture"))]
    ['4', '5', '6', '8']
    >>> sum(choice.right for choice in choices(questions.get("01-mixture")))
    1
    """
    votes = votes or Counter()
    if question.kind == "choice":
        found = [
            (
                option.key,
                render._inline(option.says),
                option.key == question.truth,
                option.misconception or "",
            )
            for option in question.options
        ]
    else:
        found = _from_programs(question)
    return [
        Choice(letter, says, right, CATALOGUE[belief].verdict if belief in CATALOGUE else "", votes[key])
        for letter, (key, says, right, belief) in zip(LETTERS, found, strict=False)
    ]


def _from_programs(question: Question) -> list[tuple[str, str, bool, str]]:
    """The right answer and those of the commonest wrong programs, each text once, by size or alphabet."""
    texts = {page.right(question): ("", True)}
    for name in question.wrong:
        if len(texts) < MOST:
            texts.setdefault(page.gives(question, name), (name, False))
    if len(texts) < 2:
        raise ValueError(
            f"{question.id} has no wrong answers to vote for: choose one of {', '.join(_votable()[:8])}, …"
        )
    return [
        (name or "right", text, right, name) for text, (name, right) in sorted(texts.items(), key=_natural)
    ]


def _natural(item: tuple[str, Any]) -> list[tuple[int, float, str]]:
    parts = re.split(r"(-?\d+(?:\.\d+)?)", item[0])
    return [
        (0, float(part), "") if re.fullmatch(r"-?\d+(?:\.\d+)?", part) else (1, 0.0, part) for part in parts
    ]


def _votable() -> list[str]:
    return [one.id for one in questions.load().values() if one.kind == "choice"]


def votes_from(sources: Sequence[Path], question: Question) -> Counter:
    """How many of a class gave each of the answers that can be voted for, from what was handed in."""
    collected = collect(sources)
    found = [
        event
        for event in tally.events(collected, (question.notebook,))
        if event.answer.question == question.id and not event.again
    ]
    if question.kind == "choice":
        return Counter(
            event.answer.answer.strip('"') for event in found if event.answer.version == question.version
        )
    return Counter("right" if event.verdict.right else event.verdict.misconception or "" for event in found)


def write_live(question: Question, path: Path, votes: Counter | None = None) -> Path:
    """Write the page, whole in itself: it works from a stick, without a network."""
    script = page.template("live.js.html").render().strip()
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    context = {
        "question": question,
        "prompt": render.markdown(question.text),
        "choices": choices(question, votes),
        "recorded": votes is not None,
        "right": page.right(question),
        "explanation": render.markdown(question.say(question.explanation)),
        "script": Markup(script),  # ours, without anybody's text
        "digest": digest,
        "look": Markup(page.template("live.css").render()),
    }
    page.written("live.html", context, path)
    return path


@click.command("live")
@click.argument("question")
@click.option(
    "--votes",
    "sources",
    multiple=True,
    type=click.Path(exists=True, path_type=Path),
    help="Fill in the first vote from submissions, or from what collect wrote.",
)
@click.option("--to", type=click.Path(path_type=Path), help="File to write. Default: live-QUESTION.html.")
def command(question: str, sources: tuple[Path, ...], to: Path | None) -> None:
    """Make a page to project for peer instruction on QUESTION (01-scale): vote, discuss, vote again.

    Tallies are typed, or counted with the keys of the letters; the run's result appears when you ask for it.
    """
    try:
        asked = questions.get(question)
        where = write_live(
            asked, to or Path(f"live-{asked.id}.html"), votes_from(sources, asked) if sources else None
        )
    except ValueError as error:
        raise click.ClickException(str(error)) from None
    click.echo(f"Written: {where}. Open it in a browser; it needs no network.")
