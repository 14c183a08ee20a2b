"""The learner's own picture: what is predicted, how being sure went with being right, and what comes back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from markupsafe import Markup

from .. import figures, questions
from ..misconceptions import CATALOGUE
from ..questions import Question
from . import answers, own, render

UNJUDGED = "-pre-"  # the pre-test is committed but not judged until its twin closes the course
A_DAY = timedelta(days=1)
MOST_AGAIN = 5  # questions asked again at a time
HALVES = 8  # judged answers from which on a first and a second half say something
MOST_DAYS = 10  # the latest, in the picture


@dataclass(frozen=True)
class Event:
    """The first answer to a question on some numbers, and what came of it."""

    question: Question  # on the numbers it was asked with
    line: dict
    right: bool | None  # None: nothing is judged, or it can be read no more
    misconception: str | None
    again: bool

    @property
    def sure(self) -> bool:
        return self.line["sure"] == 3

    @property
    def is_open(self) -> bool:
        """Whether something is left to learn here: a wrong answer, or none yet."""
        return self.right is False or (self.line["answer"] is None and UNJUDGED not in self.question.id)


def events(lines: Iterable[dict]) -> list[Event]:
    """Every question's first answer on each of its numbers, in the order of the record; others change nothing."""
    found: dict[tuple[str, str], Event] = {}
    known = questions.load()
    for line in lines:
        key = (line["question"], line["variant"])
        if line["question"] in known and key not in found:
            found[key] = _event(known[line["question"]], line)
    return list(found.values())


def _event(question: Question, line: dict) -> Event:
    again = own.is_again(line)
    if line["version"] != question.version or UNJUDGED in question.id:
        return Event(question, line, None, None, again)
    try:
        asked = question if line["variant"] == question.variant else question.renew(line["variant"])
        diagnosis = answers.diagnose(asked, line["answer"])
    except ValueError:
        return Event(question, line, None, None, again)
    return Event(asked, line, diagnosis.right, diagnosis.misconception, again)


def _firsts(found: Iterable[Event]) -> dict[str, Event]:
    """The first answer to each question."""
    firsts: dict[str, Event] = {}
    for event in found:
        if not event.again:
            firsts.setdefault(event.question.id, event)
    return firsts


def judged(line: dict) -> bool | None:
    """Whether a committed line says what the run says; None where nothing is judged or can be read any more."""
    return next((event.right for event in events([line])), None)


def progress(lines: list[dict]) -> render.Bundle:
    """The learner's record as one page: predictions by notebook, and calibration."""
    firsts = _firsts(events(lines))
    rows = []
    for notebook, title in questions.titles().items():
        ids = [question.id for question in questions.of_notebook(notebook)]
        done = [firsts[name] for name in ids if name in firsts]
        rows.append(
            {
                "title": f"{notebook[:2]} {title}",
                "all": len(ids),
                "done": len(done),
                "judged": sum(event.right is not None for event in done),
                "right": sum(event.right is True for event in done),
            }
        )
    sureness = _sureness(firsts.values())
    sentence = _sentence(sureness)
    count = len(due(lines))
    back = f"{count} to ask again: run `revisit()`." if count else ""
    drawn = figures.bars(
        [f"{row['name']} ({row['count']})" for row in sureness],
        {"share as the run": [_share(row) for row in sureness]},
    )
    picture = Markup(drawn.svg) if any(row["count"] for row in sureness) else Markup("")
    html = render._template("progress.html").render(
        style=render.style(), rows=rows, sureness=sureness, picture=picture, sentence=sentence, due=back
    )
    plain = [
        f"{row['title']}: {row['done']} of {row['all']} predicted, "
        f"{row['right']} of {row['judged']} judged agree with the run"
        for row in rows
    ]
    return {"text/html": html, "text/plain": "\n".join([*plain, sentence, back]).strip()}


def _sureness(found: Iterable[Event]) -> list[dict[str, Any]]:
    """For each level of sureness how many answers were judged, and how many agree with the run."""
    mine = [event for event in found if event.right is not None]
    return [
        {
            "name": name,
            "count": sum(event.line["sure"] == level for event in mine),
            "right": sum(event.line["sure"] == level and event.right for event in mine),
        }
        for level, name in render.SURENESS.items()
    ]


def _share(row: dict[str, Any]) -> float | None:
    return row["right"] / row["count"] if row["count"] else None


def _of(row: dict[str, Any]) -> str:
    return f"{row['right']} of {row['count']}" if row["count"] else "—"


def _sentence(sureness: list[dict[str, Any]]) -> str:
    sure, guess = sureness[2], sureness[0]
    if not any(row["count"] for row in sureness):
        return "Nothing to compare yet: this page fills itself as you commit predictions with a sureness."
    parts = (
        [f"When you were sure, {sure['right']} of {sure['count']} agreed with the run"]
        if sure["count"]
        else []
    )
    parts += [f"of your guesses, {guess['right']} of {guess['count']} agreed"] if guess["count"] else []
    return ("; ".join(parts) + ".").capitalize() if parts else "Only fairly sure answers so far."


# What comes back, and when.


@dataclass(frozen=True)
class Return:
    """A question that is asked again."""

    question: Question  # on the fresh numbers it will have
    when: datetime  # not before this
    by_moving_on: bool  # whether a prediction in another notebook makes it due at once


def coming_back(lines: list[dict]) -> list[Return]:
    """What was committed with "sure", was wrong, and has not been right on fresh numbers since; next first.

    It is due once it lies behind: when something was committed in another notebook, at the latest after a day.
    What was wrong again waits for a day from then.
    """
    found = events(lines)
    returns = []
    for name, first in _firsts(found).items():
        question = questions.get(name)
        if not own.comes_back(question) or not first.sure or first.right is not False:
            continue
        again = [event for event in found if event.again and event.question.id == name]
        if any(event.right for event in again):
            continue
        numbered = question.renew(f"{own.AGAIN}{len(again) + 1}")
        if again:
            returns.append(Return(numbered, _time(again[-1].line) + A_DAY, by_moving_on=False))
            continue
        later = lines[lines.index(first.line) + 1 :]
        moved_on = [
            line for line in later if line["notebook"] != question.notebook and not own.is_again(line)
        ]
        when = _time(moved_on[0] if moved_on else first.line) + (timedelta() if moved_on else A_DAY)
        returns.append(Return(numbered, when, by_moving_on=not moved_on))
    return sorted(returns, key=lambda one: one.when)


def due(lines: list[dict], now: datetime | None = None) -> list[Question]:
    """Questions to ask again now, on fresh numbers, the longest due first."""
    now = now or datetime.now(UTC)
    return [one.question for one in coming_back(lines) if one.when <= now]


def agenda(lines: list[dict], now: datetime | None = None) -> str:
    """What is due, and when to come back for the rest."""
    now = now or datetime.now(UTC)
    returns = coming_back(lines)
    ready = [one.question.id for one in returns if one.when <= now]
    waiting = [one for one in returns if one.when > now]
    said = [f"Due now: {', '.join(ready)}." if ready else "Nothing is due."]
    if len(ready) > MOST_AGAIN:
        said.append(f"The first {MOST_AGAIN} are asked here; run the cell again for the others.")
    if waiting:
        said.append(f"Come back {_by_day(waiting)}.")
        if any(one.by_moving_on for one in waiting):
            said.append("A prediction in another notebook brings what you have just learned back sooner.")
    elif not ready:
        said.append("Much of what you are sure of and get wrong comes back here later, with other numbers.")
    return " ".join(said)


def _time(line: dict) -> datetime:
    try:
        found = datetime.fromisoformat(line["time"].replace("Z", "+00:00"))
    except ValueError:
        return datetime.fromtimestamp(0, UTC)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _by_day(waiting: list[Return]) -> str:
    """On which days to come back, each with the hour at which all of that day is due; in local time."""
    days: dict[Any, list[Return]] = {}
    for one in waiting:
        days.setdefault(one.when.astimezone().date(), []).append(one)
    said = []
    for day, mine in days.items():
        ids = ", ".join(one.question.id for one in mine)
        said.append(f"on {day.day} {day:%B} from {mine[-1].when.astimezone():%H:%M} for {ids}")
    return "; ".join(said)


# The whole picture, for the end of the course.


def picture(lines: list[dict], held: bool = False) -> render.Bundle:
    """Predictions over time, sure against right, misconceptions met and cleared, and where to look again.

    While explanations are ``held`` back, no misconception is named.
    """
    found = events(lines)
    firsts = list(_firsts(found).values())
    days, sureness, halves = _days(found), _sureness(firsts), _halves(firsts)
    for at, row in enumerate(sureness):
        row["parts"] = [_of(rows[at]) for rows in halves.values()]
    said = {
        "days": days,
        "sureness": sureness,
        "halves": list(halves),
        "sentence": _sentence(sureness),
        "met": [] if held else _met(found),
        "again": _to_look_at_again(found),
        "back": agenda(lines),
    }
    html = render._template("picture.html").render(
        style=render.style(),
        over_time=_over_time(days),
        calibration=_calibration(sureness, halves),
        held=held,
        **said,
    )
    return {"text/html": html, "text/plain": _plain(**said)}


def _days(found: list[Event]) -> list[dict[str, Any]]:
    """Answers day by day in local time, questions asked again among them."""
    days: dict[Any, list[Event]] = {}
    for event in found:
        days.setdefault(_time(event.line).astimezone().date(), []).append(event)
    return [
        {
            "day": f"{day.day} {day:%b}",
            "made": len(mine),
            "judged": sum(event.right is not None for event in mine),
            "right": sum(event.right is True for event in mine),
        }
        for day, mine in sorted(days.items())[-MOST_DAYS:]
    ]


def _halves(firsts: list[Event]) -> dict[str, list[dict[str, Any]]]:
    """Sureness in the first and in the second half of what was judged; nothing while there is little."""
    mine = [event for event in firsts if event.right is not None]
    if len(mine) < HALVES:
        return {}
    middle = len(mine) // 2
    return {"first half": _sureness(mine[:middle]), "second half": _sureness(mine[middle:])}


def _met(found: list[Event]) -> list[dict[str, str]]:
    """Each misconception met: where, and the last question that could have shown it and did not."""
    met: dict[str, list[Event]] = {}
    for event in found:
        if event.misconception:
            met.setdefault(event.misconception, []).append(event)
    rows = []
    for name, mine in met.items():
        later = found[found.index(mine[-1]) + 1 :]
        cleared = [event for event in later if event.right and name in _shows(event.question)]
        rows.append(
            {
                "belief": CATALOGUE[name].belief,
                "where": ", ".join(dict.fromkeys(event.question.id for event in mine)),
                "since": f"right since, in {cleared[-1].question.id}" if cleared else "still open",
            }
        )
    return rows


def _shows(question: Question) -> set[str | None]:
    """The misconceptions that an answer to a question can show."""
    return {*question.wrong, *(option.misconception for option in question.options)}


def _to_look_at_again(found: list[Event]) -> list[dict[str, Any]]:
    """Notebooks with questions whose latest numbers were not predicted rightly: most to gain first."""
    latest = {event.question.id: event for event in found}
    rows = []
    for notebook, title in questions.titles().items():
        left = [event for event in latest.values() if event.question.notebook == notebook and event.is_open]
        if left:
            sure = sum(event.sure for event in left)
            ids = ", ".join(event.question.id for event in left)
            rows.append(
                {
                    "file": f"{notebook}.ipynb",
                    "title": f"{notebook[:2]} {title}",
                    "ids": ids,
                    "sure": sure,
                    "count": len(left),
                }
            )
    return sorted(rows, key=lambda row: (-row["sure"], -row["count"]))


def _over_time(days: list[dict[str, Any]]) -> Markup:
    rows = [row for row in days if row["judged"]]
    if not rows:
        return Markup("")
    shares = [row["right"] / row["judged"] for row in rows]
    labels = [f"{row['day']} ({row['judged']})" for row in rows]
    return Markup(figures.bars(labels, {"share as the run": shares}).svg)


def _calibration(sureness: list[dict[str, Any]], halves: dict[str, list[dict[str, Any]]]) -> Markup:
    if not any(row["count"] for row in sureness):
        return Markup("")
    series = {name: [_share(row) for row in rows] for name, rows in halves.items()}
    series = series or {"share as the run": [_share(row) for row in sureness]}
    return Markup(figures.bars([f"{row['name']} ({row['count']})" for row in sureness], series).svg)


def _plain(
    days: list[dict],
    sureness: list[dict],
    halves: list[str],
    sentence: str,
    met: list[dict],
    again: list[dict],
    back: str,
) -> str:
    lines = [
        f"{row['day']}: {row['made']} predicted, {row['right']} of {row['judged']} judged agree with the run"
        for row in days
    ]
    for row in sureness:
        parts = [f"{part} in the {half}" for half, part in zip(halves, row["parts"], strict=True)]
        lines.append(", ".join([f"{row['name']}: {row['right']} of {row['count']} agree", *parts]))
    lines.append(sentence)
    lines += [f"Met: {row['belief']} In {row['where']}; {row['since']}." for row in met]
    lines += [f"Look again at {row['title']}: {row['ids']}" for row in again]
    return "\n".join([*lines, back])
