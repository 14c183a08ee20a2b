"""The learner's own picture: what is predicted, how being sure went with being right, and what comes back."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from markupsafe import Markup

from .. import figures, questions
from ..questions import Question
from . import answers, render

UNJUDGED = "-pre-"  # the pre-test is committed but not judged until its twin closes the course
A_DAY = timedelta(days=1)


def _firsts(lines: Iterable[dict]) -> dict[str, dict]:
    """First committed line of each known question on its own numbers."""
    found: dict[str, dict] = {}
    known = questions.load()
    for line in lines:
        if line["variant"] == "base" and line["question"] in known:
            found.setdefault(line["question"], line)
    return found


def judged(line: dict) -> bool | None:
    """Whether a committed line says what the run says; None where nothing is judged or can be read any more."""
    question = questions.load().get(line["question"])
    if question is None or line["version"] != question.version or UNJUDGED in question.id:
        return None
    try:
        asked = question if line["variant"] == "base" else question.renew(line["variant"])
        return answers.diagnose(asked, line["answer"]).right
    except ValueError:
        return None


def progress(lines: list[dict]) -> render.Bundle:
    """The learner's record as one page: predictions by notebook, and calibration."""
    firsts = _firsts(lines)
    verdicts = {name: judged(line) for name, line in firsts.items()}
    rows = []
    for notebook, title in questions.titles().items():
        ids = [question.id for question in questions.of_notebook(notebook)]
        done = [name for name in ids if name in firsts]
        right = sum(verdicts[name] is True for name in done)
        count = sum(verdicts[name] is not None for name in done)
        rows.append(
            {
                "title": f"{notebook[:2]} {title}",
                "all": len(ids),
                "done": len(done),
                "judged": count,
                "right": right,
            }
        )
    sureness = []
    for level, name in render.SURENESS.items():
        mine = [key for key, line in firsts.items() if line["sure"] == level and verdicts[key] is not None]
        sureness.append({"name": name, "count": len(mine), "right": sum(verdicts[key] for key in mine)})
    sentence = _sentence(sureness)
    waiting = due(lines)
    back = f"{len(waiting)} to ask again: run `revisit()`." if waiting else ""
    drawn = figures.bars(
        [f"{row['name']} ({row['count']})" for row in sureness],
        {"share as the run": [row["right"] / row["count"] if row["count"] else None for row in sureness]},
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


def due(lines: list[dict], now: datetime | None = None) -> list[Question]:
    """Questions to ask again on fresh numbers.

    Due is what was first committed with "sure", was wrong, has fresh numbers to draw, has not been answered rightly on
    such numbers since, and lies behind: a question of another notebook was committed later, or a day has passed.
    """
    now = now or datetime.now(UTC)
    found = []
    for name, line in _firsts(lines).items():
        question = questions.get(name)
        if not question.fresh or line["sure"] != 3 or judged(line) is not False:
            continue
        later = lines[lines.index(line) + 1 :]
        moved_on = any(other["notebook"] != question.notebook for other in later)
        if not moved_on and now - _time(line) < A_DAY:
            continue
        again = [other for other in later if other["question"] == name and other["variant"] != "base"]
        if any(judged(other) for other in again):
            continue
        found.append(question.renew(f"fresh-{len({other['variant'] for other in again}) + 1}"))
    return found


def _time(line: dict) -> datetime:
    try:
        return datetime.fromisoformat(line["time"].replace("Z", "+00:00"))
    except ValueError:
        return datetime.fromtimestamp(0, UTC)
