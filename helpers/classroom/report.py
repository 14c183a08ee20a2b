"""A class's report: one page to lecture from, and tables for a spreadsheet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import click

from .. import questions
from . import page, tally
from .arguments import Submissions, numbered
from .collect import Class, collect, something, summary
from .page import Counted, Wishes
from .roster import Person, matched, read_roster
from .sheets import write_sheet
from .tally import FEW, Event
from .writing import check_folder, write_whole

PAGE = "report.html"


def write_report(
    collected: Class, folder: str | Path, wishes: Wishes, mark: str = "completion", workers: int | None = None
) -> Path:
    """
    Write a class's report.

    Parameters
    ----------
    collected : Class
    folder : path-like
        The page and the tables go here; what is there under the same names is replaced, once all is worked out.
    wishes : Wishes
    mark : {"completion", "right"}
        What marks.csv counts: committed predictions, or also those that agree with the run.
    workers : int, optional
        As `workers.spread` takes it.

    Returns
    -------
    Path
        The page.
    """
    folder, wishes = Path(folder), taken(collected, wishes)
    found = tally.events(collected, wishes.notebooks, workers, "Judging", copies=wishes.copies)
    counted = page.count(collected, found)
    context = page.report(counted, wishes)
    context |= {"date": date.today().isoformat(), "marked_right": mark == "right"}
    text = page.rendered("report.html", context)
    sheets = {
        "questions.csv": _question_rows(counted),
        "misconceptions.csv": _belief_rows(counted),
        "unknown_answers.csv": _unknown_rows(counted),
        "exercises.csv": _exercise_rows(collected, wishes),
        "calibration.csv": _calibration_rows(found),
        "marks.csv": _mark_rows(collected, found, wishes, mark),
        "problems.csv": _problem_rows(collected),
    }
    made = {name: list(rows) for name, rows in sheets.items()}
    folder.mkdir(parents=True, exist_ok=True)
    for name, (head, *rows) in made.items():
        write_sheet(folder / name, head, rows)
    write_whole(folder / PAGE, text)
    return folder / PAGE


def taken(collected: Class, wishes: Wishes) -> Wishes:
    """Wishes with the notebooks that the class seems to have been asked for, where none is named."""
    if wishes.notebooks or wishes.assigned:
        return wishes
    assigned = tally.assigned(collected)
    return replace(wishes, notebooks=assigned.notebooks, assigned=assigned)


Rows = Iterator[Sequence[Any]]
SURE = ("a guess", "fairly sure", "sure")


def _sure(count: tally.Count) -> tuple[Any, ...]:
    return tuple(page.sureness(count) or ("", "", ""))


def _question_rows(counted: Counted) -> Rows:
    """Each answer that five people or more gave a question together, as it was typed most; told apart by numbers."""
    yield ("question", "wording", "numbers", "answer", "kind", "misconception", "people", *SURE)
    for one in counted.answered:
        for group in one.groups:
            start = (one.question.id, group.version, "own" if group.variant is None else group.variant)
            if len(group.events) < FEW:
                yield (
                    *start,
                    "",
                    f"fewer than {FEW}, not broken down",
                    "",
                    len(group.events),
                    *_sure(group.count),
                )
                continue
            for row in page.spread(group, counted.unknown(group)):
                yield (
                    *start,
                    row["said"],
                    row["kind"],
                    row["id"],
                    row["people"],
                    *(row["sure"] or ("", "", "")),
                )


def _belief_rows(counted: Counted) -> Rows:
    yield ("misconception", "belief", "could show it", "showed it", "hold it", *SURE, "weight", "questions")
    for one in counted.beliefs:
        if one.could < FEW:
            continue  # of so few people it would say who
        where = " ".join(sorted(one.where))
        yield (
            one.entry.id,
            one.entry.belief,
            one.could,
            one.met,
            one.held.people,
            *_sure(one.held),
            round(one.weight, 2) if one.held.people >= FEW else "",
            where,
        )


def _unknown_rows(counted: Counted) -> Rows:
    """Every cluster, also of one: a belief that few hold shows here as well, and says nothing about who."""
    yield ("question", "wording", "numbers", "answer", "where it parts", "people", *SURE)
    for one in counted.answered:
        for group in one.groups:
            if len(group.events) >= FEW:
                for cluster in counted.unknown(group):
                    numbers = "own" if group.variant is None else group.variant
                    start = (one.question.id, group.version, numbers, cluster.said, cluster.step)
                    yield (*start, cluster.count.people, *_sure(cluster.count))


def _exercise_rows(collected: Class, wishes: Wishes) -> Rows:
    states = ("right", "not yet", "not started")
    yield ("exercise", "students", *states, "misconceptions")
    for one in tally.exercises(collected, wishes.notebooks):
        people = sum(one.states.values())
        few = people < FEW
        named = "" if few else "; ".join(f"{name} {count}" for name, count in one.beliefs.most_common())
        yield (one.id, people, *("" if few else one.states[state] for state in states), named)


def _calibration_rows(found: Sequence[Event]) -> Rows:
    yield ("sureness", "answers judged", "as the run")
    for name, (judged, right) in zip(SURE, tally.calibration(found).values(), strict=True):
        yield (name, judged, right if judged >= FEW else "")


def _mark_rows(collected: Class, found: Sequence[Event], wishes: Wishes, mark: str) -> Rows:
    """A line for each student: per cent of the predictions committed, in each assigned notebook and in all."""
    asked = {
        name: {one.id for one in questions.of_notebook(name)}
        for name in wishes.notebooks or questions.titles()
    }
    sizes = list(map(len, asked.values()))
    more = ("judged", "as the run", "right %") if mark == "right" else ()
    head, who = _whom(collected, wishes)
    yield (*head, *(f"{name[:2]} %" for name in asked), "committed %", *more)
    judged = _judged(found) if mark == "right" else {}
    for at, student in enumerate(collected.students):
        done = [len(tally.committed(student, ids)) for ids in asked.values()]
        parts = [_percent(count, size) for count, size in zip(done, sizes, strict=True)]
        row = (*who[at], *parts, _percent(sum(done), sum(sizes)))
        if mark == "right":
            of, right = judged.get(at, (0, 0))
            row += (of, right, round(100 * right / of, 1) if of else "")
        yield row


def _percent(part: int, whole: int) -> float:
    return round(100 * part / whole, 1)


def _whom(collected: Class, wishes: Wishes) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """Columns that say whose a line is, and them for each student: a number; with names also name, id and address."""
    students, roster = collected.students, wishes.roster or ()
    if not wishes.names:
        return ("submission",), [(number,) for number, _ in enumerate(students, 1)]
    own = [Person(student.owner, student.owner_id) for student in students]
    listed = {at: roster[place] for at, place in matched(roster, students).items()}
    rows = []
    for at, one in enumerate(own):
        person = listed.get(at, one)
        rows.append((at + 1, person.name, person.id or one.id, person.email))
    return ("submission", "name", "id", "email"), rows


def _judged(found: Sequence[Event]) -> dict[int, tuple[int, int]]:
    """For each student how many first answers were judged, and how many were right; pre-test and re-asks left out."""
    result: dict[int, tuple[int, int]] = {}
    for event in found:
        if event.verdict.right is not None and not event.again and tally.PRETEST not in event.answer.question:
            of, right = result.get(event.student, (0, 0))
            result[event.student] = (of + 1, right + event.verdict.right)
    return result


def _problem_rows(collected: Class) -> Rows:
    yield ("submission", "file", "problem")
    for problem in collected.all_problems:
        yield (collected.number(problem.owner) or "", problem.file, problem.text)


@click.command("report")
@click.argument("sources", nargs=-1, required=True, type=Submissions())
@click.option(
    "--to", default="report", show_default=True, type=click.Path(path_type=Path), help="Folder to write."
)
@click.option(
    "--notebook",
    "chosen",
    multiple=True,
    help="What was assigned: 01, or 01,04; may be given several times. Default: what a tenth of the class handed in.",
)
@click.option("--names", is_flag=True, help="Name students, on the page and in marks.csv. Default: numbers.")
@click.option(
    "--reasons/--no-reasons", default=True, show_default=True, help="Quote what students gave as reasons."
)
@click.option("--mark", type=click.Choice(["completion", "right"]), default="completion", show_default=True)
@click.option(
    "--roster",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Class list: a CSV as exported (name, id, email), or a name or id a line.",
)
@click.option("--count-copies", "copies", is_flag=True, help="Count lines that two people share for both.")
@click.option("--title", default=Wishes.title, show_default=True)
@click.option("--keep-until", default="", help="The date to delete it by, for the page to say.")
@click.option("--workers", type=click.IntRange(1), help="How many processes work. Default: by the machine.")
def command(sources, to, chosen, names, reasons, mark, roster, copies, title, keep_until, workers) -> None:
    """Report what a class believes: one page and tables, from SOURCES as collect takes them or has written them.

    The page begins with the three beliefs worth ten minutes of the next lecture. Predictions are not marked for being
    right unless you say --mark right.
    """
    check_folder(to, PAGE)
    listed = None if roster is None else read_roster(roster)
    wishes = Wishes(title, names, reasons, notebooks_called(chosen), listed, keep_until, copies)
    collected = something(collect(sources, workers, "Reading"), sources)
    wishes = taken(collected, wishes)
    where = write_report(collected, to, wishes, mark, workers)
    click.echo(summary(collected))
    for line in _said(wishes, collected):
        click.echo(line)
    click.echo(f"Written: {where}, and tables beside it.")


def _said(wishes: Wishes, collected: Class) -> Iterator[str]:
    """What the terminal says of the notebooks that count."""
    if not wishes.assigned:
        return
    names = ", ".join(name[:2] for name in wishes.notebooks)
    needed = wishes.assigned.needed
    people = "one student" if needed == 1 else f"{needed} students"
    yield f"Taken as assigned: {names}, each handed in by {people} or more. If it was other: --notebook 01,04"
    for at, left in wishes.assigned.strays.items():
        yield f"  {collected.students[at].owner}: {', '.join(name[:2] for name in left)} left out"


def notebooks_called(chosen: Sequence[str]) -> tuple[str, ...]:
    """Notebooks by number or by name, in the order of the course."""
    known = {name[:2]: name for name in questions.titles()}
    wanted = numbered(chosen)
    for one in wanted:
        if one not in known and one not in known.values():
            raise click.ClickException(f"There is no notebook {one!r}: choose from {', '.join(known)}.")
    return tuple(name for number, name in known.items() if {number, name} & set(wanted))
