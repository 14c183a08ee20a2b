"""A page to project: vote, discuss, vote again on one question; the run's result is shown when you ask for it."""

from __future__ import annotations

import base64
import difflib
import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import shorten
from typing import Any

import click
import numpy as np
from markupsafe import Markup

from .. import questions
from ..misconceptions import CATALOGUE
from ..predictions import render
from ..questions import Question
from . import page, tally
from .arguments import Submissions, numbered
from .collect import Class, collect, something
from .context import context
from .tally import Event
from .writing import check_folder, check_page, write_whole

MOST = 5  # choices on a projected page
WORDS = 90  # characters of a prompt in a list
CLOSE = 4  # ids that are offered for one that is not there
LETTERS = "ABCDEFGH"
RIGHT, UNDECIDED, OTHER = "right", "undecided", ""  # what an answer is, where it is no option or program


@dataclass(frozen=True)
class Grid:
    """A small table to draw: a pattern, or rows of numbers."""

    rows: tuple[tuple[str, ...], ...]
    head: tuple[str, ...] = ()  # names of the columns
    sides: tuple[str, ...] = ()  # names of the rows
    pattern: bool = False  # whether 1 and 0 mean on and off


@dataclass(frozen=True)
class Choice:
    """One of the answers to vote for."""

    letter: str
    says: Any  # HTML
    right: bool
    belief: str = ""
    votes: int = 0
    grid: Grid | None = None


def choices(question: Question, votes: Counter | None = None) -> list[Choice]:
    """
    What a class can vote for: a choice's own statements, else the run's answer among those of wrong programs.

    Parameters
    ----------
    question : Question
    votes : Counter of str, optional
        How many gave each answer, as `votes_in` counts them.

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
        return [
            Choice(
                letter,
                render.inline(option.says),
                option.key == question.truth,
                _verdict(option.misconception),
                votes[option.key],
            )
            for letter, option in zip(LETTERS, question.options, strict=False)
        ]
    return [
        Choice(letter, text, name == RIGHT, _verdict(name), votes[name], drawn)
        for letter, (text, name, drawn) in zip(LETTERS, _from_programs(question), strict=False)
    ]


def _verdict(belief: str | None) -> str:
    return CATALOGUE[belief].verdict if belief in CATALOGUE else ""


def _from_programs(question: Question) -> list[tuple[str, str, Grid | None]]:
    """The right answer and those of the commonest wrong programs, each with what gives it, by size or alphabet."""
    found = {page.right(question): (RIGHT, question.truth)}
    for name, value in question.wrong.items():
        if len(found) < MOST:
            found.setdefault(page.gives(question, name), (name, value))
    return [
        (text, name, grid(question, value)) for text, (name, value) in sorted(found.items(), key=_natural)
    ]


def _natural(item: tuple[str, Any]) -> list[tuple[int, float, str]]:
    parts = re.split(r"(-?\d+(?:\.\d+)?)", item[0])
    return [
        (0, float(part), "") if re.fullmatch(r"-?\d+(?:\.\d+)?", part) else (1, 0.0, part) for part in parts
    ]


def grid(question: Question, value: Any) -> Grid | None:
    """
    A table of an answer that is one; None for an answer that is read better in a line.

    Examples
    --------
    >>> grid(questions.get("04-pattern"), [[True, False], [True, True]]).rows
    (('1', '0'), ('1', '1'))
    >>> grid(questions.get("01-weights"), [0.7, 0.3]) is None
    True
    """
    if question.kind not in ("cells", "grid") or np.ndim(value) != 2 or question.part == "rows that change":
        return None
    cells = np.asarray(value)
    pattern = question.kind == "cells"
    if pattern:
        texts = [["1" if on else "0" for on in row] for row in cells.astype(bool)]
    else:
        whole = bool(np.all(cells == np.round(cells)))
        texts = [[render.number(one) if whole else f"{one:.3f}" for one in row] for row in cells.tolist()]
    sides, head = question.row_labels, question.labels
    fits = (len(sides), len(head)) == cells.shape
    names = (tuple(head), tuple(sides)) if fits else ((), ())
    return Grid(tuple(map(tuple, texts)), *names, pattern)


# Votes from what was handed in.


def votes_in(found: Iterable[Event], question: Question) -> Counter:
    """How many of a class gave each answer: an option's key, a wrong program's id, or one of the above."""
    votes: Counter = Counter()
    for event in found:
        verdict, answer = event.verdict, event.answer
        if answer.question != question.id or event.again or answer.version != question.version:
            continue
        if verdict.right is None:
            votes[UNDECIDED if answer.answer == "null" else OTHER] += 1
        elif question.kind == "choice":
            votes[answer.answer.strip('"')] += 1
        else:
            votes[RIGHT if verdict.right else verdict.misconception or OTHER] += 1
    return votes


def votes_from(sources: Sequence[Path], question: Question) -> Counter:
    """As `votes_in`, from folders and zips."""
    return votes_in(tally.events(collect(sources), (question.notebook,)), question)


def left_out(question: Question, votes: Counter) -> str:
    """In words, the answers that are no choice on the page; empty where there are none."""
    other = votes.total() - votes[UNDECIDED] - sum(choice.votes for choice in choices(question, votes))
    said = [f"{other} gave another answer"] if other else []
    if votes[UNDECIDED]:
        said.append(f"{votes[UNDECIDED]} did not know yet")
    return ", ".join(said)


def write_live(question: Question, path: Path, votes: Counter | None = None) -> Path:
    """Write the page, whole in itself: it works from a stick, without a network."""
    script = page.template("live.js.html").render().strip()
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    offered = choices(question, votes)
    shown = {
        "question": question,
        "prompt": render.markdown(question.text),
        "context": context(question),
        "choices": offered,
        "recorded": votes is not None,
        "left_out": left_out(question, votes) if votes else "",
        "right": next(choice for choice in offered if choice.right),
        "explanation": render.markdown(question.say(question.explanation)),
        "script": Markup(script),  # ours, without anybody's text
        "digest": digest,
        "look": Markup(page.template("live.css").render()),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, page.rendered("live.html", shown))
    return path


@click.command("live")
@click.argument("what", nargs=-1, required=True, metavar="QUESTION | --top N SUBMISSIONS...")
@click.option(
    "--votes",
    "sources",
    multiple=True,
    type=Submissions(),
    help="Fill in the first vote from submissions, or from what collect wrote.",
)
@click.option(
    "--top", type=click.IntRange(1, 20), help="Pages for so many beliefs that the report puts first."
)
@click.option("--to", type=click.Path(path_type=Path), help="File to write; with --top the folder.")
@click.pass_context
def command(
    ctx: click.Context, what: tuple[str, ...], sources: tuple[Path, ...], top: int | None, to: Path | None
) -> None:
    """Make a page to project for peer instruction on QUESTION (01-scale): vote, discuss, vote again.

    Tallies are typed, or counted with the keys of the letters; the run's result appears when you ask for it. A
    notebook's number (01) lists its questions. With --top 3 SUBMISSIONS, pages for the three beliefs that the report
    puts first, the first vote filled in.
    """
    if top is not None:
        paths = tuple(Submissions().convert(one, None, ctx) for one in (*what, *sources))
        _write_top(top, paths, to or Path("live"))
        return
    if len(what) > 1:
        raise click.ClickException(
            f"One question at a time: got {', '.join(what)}. Submissions go behind --votes; --top 3 takes them alone."
        )
    asked = _question(what[0])
    path = to or Path(f"live-{asked.id}.html")
    check_page(path)
    if not sources:
        click.echo(f"Written: {write_live(asked, path)}. Open it in a browser; it needs no network.")
        return
    collected = something(collect(sources), sources)
    votes = votes_in(tally.events(collected, (asked.notebook,)), asked)
    click.echo(f"Written: {write_live(asked, path, votes)}. {_filled(asked, votes)}")
    if not votes:
        where = ", ".join(map(str, sources))
        click.echo(
            f"Warning: nobody in {where} has answered {asked.id}, so the first vote is empty.", err=True
        )


def _filled(question: Question, votes: Counter) -> str:
    """How many votes a page starts with."""
    count = sum(choice.votes for choice in choices(question, votes))
    more = left_out(question, votes)
    return f"First vote: {count} filled in{f'; {more}' if more else ''}."


def _write_top(top: int, sources: Sequence[Path], folder: Path) -> None:
    check_folder(folder)
    collected: Class = something(collect(sources), sources)
    found = tally.events(collected, tally.assigned(collected).notebooks)
    beliefs = page.first(tally.beliefs(found), top)
    if not beliefs:
        raise click.ClickException(
            f"No belief was met in a question that {tally.FEW} people or more answered."
        )
    for belief in beliefs:
        asked = page.shown_most(belief)
        path = folder / f"live-{asked.id}.html"
        check_page(path)
        votes = votes_in(found, asked)
        click.echo(
            f"Written: {write_live(asked, path, votes)}. {belief.entry.belief} {_filled(asked, votes)}"
        )


def _question(name: str) -> Question:
    """A question by id; for what is none, those that may have been meant."""
    known = questions.load()
    if name in known:
        return known[name]
    (number,) = numbered([name])[:1] or [""]
    titles = {title[:2]: title for title in questions.titles()}
    if notebook := titles.get(number) or next((one for one in titles.values() if one == number), None):
        rows = [
            f"  {one.id}  {shorten(one.text, WORDS, placeholder=' …')}"
            for one in questions.of_notebook(notebook)
        ]
        raise click.ClickException("\n".join([f"{name} is a notebook. Choose one of its questions:", *rows]))
    near = difflib.get_close_matches(name, known, CLOSE, 0.5)
    near += [one for one in known if one[3:] == name[3:] and one not in near]
    also = f"a notebook's number lists its questions, as {near[0][:2] if near else '01'}"
    meant = f"Did you mean {', '.join(near)}? Or: {also}." if near else f"{also[0].upper()}{also[1:]}."
    raise click.ClickException(f"There is no question {name!r}. {meant}")
