"""What a card and a comparison look like: HTML for the page, plain text for every other front end."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import jinja2
import numpy as np
from markdown_it import MarkdownIt
from markupsafe import Markup, escape

from .. import figures
from ..misconceptions import CATALOGUE, programs_for
from ..questions import NUMERIC, Question, agree
from ..units import readable
from . import answers, own

Bundle = dict[str, Any]
SURENESS = {1: "a guess", 2: "fairly sure", 3: "sure"}
EARLIER = "The question has changed since this answer, so nothing is judged. You can still change your mind."
CHANGED = (
    "The numbers in the cell above are not the question’s any more, so nothing is judged; both are shown."
)
HELD = "Explained once your class opens the explanations."
_LATER = "Later, run this cell again to change your mind; the first answer stays in the record."
MOST_CELLS = 40  # a result with more numbers than this is not written out beside a choice


@cache
def _template(name: str) -> jinja2.Template:
    loader = jinja2.PackageLoader("helpers.predictions", "templates", encoding="utf-8")
    return jinja2.Environment(loader=loader, autoescape=True).get_template(name)


@cache
def style(name: str = "style.css") -> Markup:
    return Markup(_template(name).render())  # ours, without user text


def markdown(text: str) -> Markup:
    """Markdown as HTML; HTML inside it is escaped."""
    return Markup(MarkdownIt("commonmark", {"html": False}).render(text))


def inline(text: str) -> Markup:
    return Markup(MarkdownIt("commonmark", {"html": False}).renderInline(text))


def card(question: Question, problems: list[str], path: str, open_code: bool = False) -> Bundle:
    """The question before a commit: prompt, statements to choose from, and the call that commits without widgets."""
    options = [inline(option.says) for option in question.options]
    html = _template("card.html").render(
        style=style(),
        question=question,
        prompt=markdown(question.text),
        ask=question.asks,
        options=options,
        problems=problems,
        call=example_call(question),
        path=path,
        open=open_code,
    )
    plain = [f"Predict {question.id}: {question.text}", question.asks]
    plain += [
        f"  {letter}) {option.says}" for letter, option in zip("abcdefghij", question.options, strict=False)
    ]
    plain += [*problems, f"Commit with: {example_call(question)}"]
    return {"text/html": html, "text/plain": "\n".join(line for line in plain if line)}


def committed_card(
    question: Question, first: dict, latest: dict, attempts: int, problems: list[str]
) -> Bundle:
    """The question after a commit: first answer, and the latest where it differs."""
    said = [_said(question, first)] + ([f"Now: {_said(question, latest)}"] if attempts > 1 else [])
    sure = SURENESS.get(first["sure"])
    html = _template("card.html").render(
        style=style(),
        question=question,
        prompt=markdown(question.text),
        said=said,
        problems=problems,
        state=f"committed, {sure}" if sure else "committed",
        note=_LATER if not own.is_again({"variant": question.variant}) else "",
    )
    plain = [f"Predict {question.id}: committed.", *said, *problems]
    return {"text/html": html, "text/plain": " ".join(plain)}


def _said(question: Question, line: dict) -> str:
    """What was committed, with the reason."""
    text = answer_text(question, line["answer"])
    if not line.get("because"):
        return text
    return (
        f"{text} Because “{line['because']}”."
        if text.endswith(".")
        else f"{text}, because “{line['because']}”."
    )


def example_call(question: Question) -> str:
    """The typed form of an answer, with blanks where the learner's numbers go."""
    blanks = {
        "choice": '"a"',
        "number": "…",
        "shape": "(…)",
        "words": '"…"',
        "row": "[" + ", ".join("…" for _ in range(question.shape[0])) + "]" if question.kind == "row" else "",
    }
    blank = (
        blanks.get(question.kind)
        or "["
        + ", ".join("[" + ", ".join("…" * question.shape[1]) + "]" for _ in range(question.shape[0]))
        + "]"
    )
    again = f', variant="{question.variant}"' if own.is_again({"variant": question.variant}) else ""
    return f'predict("{question.id}", {blank}, because="…", sure=2{again})'


def number(value: float) -> str:
    """A run's number: integers whole, others to three decimals (four significant digits when tiny)."""
    if not np.isfinite(value):
        return {np.inf: "∞", -np.inf: "−∞"}.get(value, "NaN")
    if value == round(value) and abs(value) < 1e15:
        return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.0f}"
    return f"{value:.3f}" if abs(value) >= 0.001 else f"{value:.3g}"


def value_text(value: Any) -> str:
    """An asked part in one line."""
    if isinstance(value, str):
        return value
    if isinstance(value, tuple):
        return "(" + ", ".join(str(size) for size in value) + ("," if len(value) == 1 else "") + ")"
    array = np.asarray(value)
    if array.dtype == bool:
        return " / ".join("".join("1" if cell else "0" for cell in row) for row in np.atleast_2d(array))
    if array.ndim == 0:
        return number(float(array))
    if array.ndim == 1:
        whole = bool(np.all(array == np.round(array)))
        return "[" + ", ".join(number(one) if whole else f"{one:.3f}" for one in array.tolist()) + "]"
    return "[" + ", ".join(value_text(row) for row in array) + "]"


def answer_text(question: Question, answer: Any) -> str:
    """A committed answer in one line, as the learner typed it; what answers another form of the question, as it is."""
    try:
        return "I don’t know yet" if answer is None else _answer_text(question, answer)
    except (TypeError, ValueError, IndexError):
        return str(answer)


def _answer_text(question: Question, answer: Any) -> str:
    if question.kind == "choice":
        option = question.option(answer)
        return option.says if option else str(answer)
    if question.kind == "shape":
        return value_text(tuple(answer))
    if question.kind == "cells" and question.part == "rows that change":
        return (
            ", ".join(label for label, on in zip(question.labels, answer[0], strict=True) if on)
            or "none of them"
        )
    if question.kind == "cells":
        return value_text(np.asarray(answer, bool))
    if question.kind == "grid":
        return " / ".join(", ".join(row) for row in answer)
    return ", ".join(answer) if isinstance(answer, (list, tuple)) else str(answer)


def waiting(question: Question | None, text: str) -> Bundle:
    """The place where a result will stand once its question is committed."""
    html = _template("compare.html").render(style=style(), question=question, waiting=text)
    return {"text/html": html, "text/plain": text}


def comparison(question: Question, line: dict, value: Any, held: bool, coming_back: bool) -> Bundle:
    """Yours beside the run's, the verdict, the wrong program if one is known, and the explanation."""
    answer = line["answer"]
    ran, note = _ran(question, value)
    earlier = line["version"] != question.version
    if question.kind == "words":
        table, picture, plain = _one_line_each(
            question, answer, HELD if held else question.say(question.explanation)
        )
    elif question.kind != "choice" and (earlier or _has_other_sizes(question, ran)):
        table, picture, plain = _one_line_each(question, answer, value_text(ran))
    else:
        table, picture, plain = _beside(question, answer, ran, value)
    context: dict[str, Any] = {"table": table, "picture": picture}
    said = [f"Compare {question.id}. {plain}"]
    if not held:
        headline, words = EARLIER, {"plain": []}
        if not earlier:
            headline, words = (note, {"plain": []}) if note else _words(question, line, coming_back)
        context |= {"headline": headline, **words}
        said += [headline, *words["plain"]]
    html = _template("compare.html").render(style=style(), question=question, **context)
    return {"text/html": html, "text/plain": "\n".join(part for part in said if part)}


def _ran(question: Question, value: Any) -> tuple[Any, str]:
    """What the notebook computed, the asked part of it; and why nothing can be judged by it, if that is so."""
    from .. import tasks

    if value is None:
        return question.truth, ""
    if question.expected:
        return _measured(question, float(np.ravel(value)[0]))
    if question.task is None:
        return question.truth, ""
    own = question.run()
    if question.then:
        value = tuple(np.asarray(one) for one in value)
        same = all(agree(one, other) for one, other in zip(value, own, strict=True))
        return (question.truth if same else tasks.read(value, question.part)), "" if same else CHANGED
    if isinstance(question.truth, tuple):
        shape = tuple(value) if isinstance(value, tuple) else np.shape(value)
        return shape, "" if shape == question.truth else CHANGED
    if isinstance(value, str) or np.shape(value) == np.shape(question.truth) != np.shape(own):
        ran = value
    elif np.shape(value) == np.shape(own):
        ran = tasks.read(value, question.part)
    elif question.kind == "choice" and np.ndim(value) == 1:  # the row itself, where the part speaks of a row
        ran = tasks.read([value], question.part.rpartition(" ")[0] + " 0")
    else:
        ran = value
    return ran, "" if agree(ran, question.truth) else CHANGED


def _measured(question: Question, value: float) -> tuple[str, str]:
    """What a measurement bears out: the right option, or, outside the range expected of it, nothing but itself."""
    low, high = question.expected
    if low <= value <= high:
        return question.truth, ""
    between = f"between {low:g} and {high:g}" if np.isfinite(high) else f"at least {low:g}"
    return f"{value:.3g}", (
        f"Measured was {value:.3g}, expected is {between}: nothing is judged. The machine may have been busy: run the "
        "cell above again. If it stays so, believe the run."
    )


def _beside(question: Question, answer: Any, ran: Any, value: Any) -> tuple[Markup, Markup, str]:
    if question.kind == "cells" and question.part == "rows that change":
        return _changes_beside(question, answer, np.asarray(ran, bool)[0])
    if question.kind == "cells":
        drawn = figures.pattern(ran, other=None if answer is None else np.asarray(answer, bool))
        return Markup(drawn.table), Markup(drawn.svg), drawn.text
    if question.kind == "row":
        return _row_beside(question, answer, np.asarray(ran, dtype=float))
    if question.kind == "grid":
        return _grid_beside(question, answer, np.asarray(ran, dtype=float))
    if question.kind == "choice":
        return _choice_beside(question, answer, ran, value)
    return _one_line_each(question, answer, _with_size(question, value_text(ran), ran))


def _with_size(question: Question, text: str, value: float) -> str:
    """A run's number; of bytes, also in the unit that suits it."""
    return f"{text} ({readable(value)})" if question.unit == "bytes" else text


def _has_other_sizes(question: Question, ran: Any) -> bool:
    """Whether a run on changed numbers has more or fewer entries than the question has boxes."""
    return np.ndim(ran) == len(question.shape) > 0 and np.shape(ran) != question.shape


def _one_line_each(question: Question, answer: Any, run: str) -> tuple[Markup, Markup, str]:
    yours = answer_text(question, answer)
    table, picture = _two_lines(yours if question.kind == "choice" else escape(yours), run)
    return table, picture, f"You: {yours}. Run: {run.removesuffix('.')}."


def _two_lines(you: str, run: str) -> tuple[Markup, Markup]:
    table = Markup(
        '<table class="abh-says"><tr class="abh-you"><th scope="row">you</th><td>{}</td></tr>'
        '<tr class="abh-ran"><th scope="row">run</th><td>{}</td></tr></table>'
    ).format(you if isinstance(you, Markup) else inline(you), inline(run))
    return table, Markup("")


def _lines_beside(labels: Sequence[str], yours: Sequence[str], ran: Sequence[str]) -> Markup:
    """A table with yours and the run's on adjacent lines."""
    cells = Markup("").join
    return Markup("<table><tr><td></td>{}</tr>{}{}</table>").format(
        cells(Markup('<th scope="col">{}</th>').format(label) for label in labels),
        Markup('<tr class="abh-you"><th scope="row">you</th>{}</tr>').format(
            cells(Markup("<td>{}</td>").format(one) for one in yours)
        ),
        Markup('<tr class="abh-ran"><th scope="row">run</th>{}</tr>').format(
            cells(Markup("<td>{}</td>").format(one) for one in ran)
        ),
    )


def _changes_beside(question: Question, answer: Any, ran: np.ndarray) -> tuple[Markup, Markup, str]:
    def words(row: Sequence[bool]) -> list[str]:
        return ["changes" if cell else "stays" for cell in row]

    yours = [""] * len(ran) if answer is None else words(answer[0])
    text = f"You: {answer_text(question, answer)}. Run: {answer_text(question, [ran])}."
    return _lines_beside(question.labels, yours, words(ran)), Markup(""), text


def _row_beside(question: Question, answer: Any, ran: np.ndarray) -> tuple[Markup, Markup, str]:
    labels = question.labels or tuple(str(at) for at in range(len(ran)))
    yours = [""] * len(ran) if answer is None else list(answer)
    run = value_text(ran)[1:-1].split(", ")
    table = _lines_beside(
        labels, yours, [_with_size(question, one, value) for one, value in zip(run, ran, strict=True)]
    )
    numbers = None if answer is None else [one.value for one in answers.flat_numbers(question, answer)]
    series, texts = {"run": ran.tolist()}, {"run": run}
    if numbers:
        series, texts = {"you": numbers, **series}, {"you": yours, **texts}
    drawn = figures.bars(labels, series, texts=texts)
    picture = Markup(drawn.svg) if np.all(np.isfinite(ran)) else Markup("")
    return table, picture, f"You: {answer_text(question, answer)}. Run: {', '.join(run)}."


def _grid_beside(question: Question, answer: Any, ran: np.ndarray) -> tuple[Markup, Markup, str]:
    text = f"You: {answer_text(question, answer)}. Run: {value_text(ran)}."
    shown = {"run": ran}
    if answer is not None:
        yours = np.array([one.value for one in answers.flat_numbers(question, answer)])
        shown = {"you": yours.reshape(question.shape), "run": ran}
    rows, columns = question.shape
    names = {
        "rows": question.row_labels or [f"row {i}" for i in range(rows)],
        "columns": question.labels or [f"column {j}" for j in range(columns)],
    }
    tables = [
        Markup('<p class="abh-note">{}</p>{}').format(who, Markup(figures.table(numbers, **names).table))
        for who, numbers in shown.items()
    ]
    return Markup("").join(tables), Markup(""), text


def _choice_beside(question: Question, answer: Any, ran: Any, value: Any) -> tuple[Markup, Markup, str]:
    option = question.option(ran)
    run = option.says if option else str(ran)
    table, picture = _two_lines(answer_text(question, answer), run)
    rows = _numbers_behind(question, value)
    if rows:
        table += Markup("<table>{}</table>").format(
            Markup("").join(
                Markup('<tr><th scope="row">{}</th><td>{}</td></tr>').format(*row) for row in rows
            )
        )
    numbers = "; ".join(f"{name}: {text}" for name, text in rows)
    return (
        table,
        picture,
        f"You: {answer_text(question, answer)} Run: {run}" + (f" ({numbers})" if numbers else ""),
    )


def _numbers_behind(question: Question, value: Any) -> list[tuple[str, str]]:
    """The numbers of a run that decided a choice, where there are few enough to read."""
    if value is None or isinstance(value, str):
        return []
    if question.expected:
        return [("measured", f"{float(np.ravel(value)[0]):.3g}")]
    values = list(zip(("before", "after"), value, strict=True)) if question.then else [("numbers", value)]
    name, _, at = question.part.rpartition(" ")
    rows = []
    for label, one in values:
        array = np.asarray(one, dtype=float)
        if name.endswith("row") and array.ndim == 2:
            array = array[int(at)]
        if array.size > MOST_CELLS:
            return []
        total = f", sum {number(float(array.sum()))}" if name.startswith("sum") else ""
        rows.append((label, value_text(array) + total))
    return rows


def _words(question: Question, line: dict, coming_back: bool) -> tuple[str, dict[str, Any]]:
    """Headline and the rest of what is said below the numbers."""
    diagnosis = answers.diagnose(question, line["answer"])
    words: dict[str, Any] = {"paragraphs": [], "plain": []}
    entry = CATALOGUE.get(diagnosis.misconception or "")
    if diagnosis.right is None:
        headline = "" if question.kind == "words" else "You said you did not know yet. Here is how it goes."
    elif diagnosis.right:
        headline = "Yes, your prediction and the run agree."
    elif entry is not None:
        headline = f"A known slip: {entry.verdict}."
        _add_program(question, entry, words)
        why = question.why.get(entry.id, entry.why)
        words["paragraphs"].append(markdown(why))
        words["plain"].append(why)
    else:
        headline = f"Not this time. {diagnosis.step}".strip()
    option = question.option(line["answer"]) if question.kind == "choice" else None
    told = [
        option.feedback if option else "",
        question.say(question.explanation) if question.kind != "words" else "",
    ]
    if diagnosis.right is False and line["sure"] == 3:
        told.append(question.say(question.wrong_and_sure))
        if coming_back:
            told.append(
                "You were sure, so this one comes back with other numbers: `revisit()` in a later notebook asks it."
            )
    for text in told:
        if text:
            words["paragraphs"].append(markdown(text))
            words["plain"].append(text)
    if question.because:
        words["reason"] = f"A reason that holds: {question.say(question.because)}"
        words["plain"].append(words["reason"])
    return headline, words


def _add_program(question: Question, entry: Any, words: dict[str, Any]) -> None:
    if entry.program is None or question.task is None or not question.show_program:
        return
    program = programs_for(question.task).get(entry.id)
    if program is None:
        return
    lines = "\n".join(entry.lines(question.task))
    gives = _program_gives(question, program)
    whole = question.task in entry.programs
    words["lines"] = lines
    words["lead"] = (
        f"This program gives {gives}:" if whole else f"With this step in it, a program gives {gives}:"
    )
    words["plain"].append(f"{words['lead']}\n{lines}")


def _program_gives(question: Question, program: Any) -> str:
    if question.kind in (*NUMERIC, "shape", "cells"):
        return value_text(question.asked(program))
    try:
        rows = _numbers_behind(question, question.run(program))
    except (ValueError, IndexError, TypeError):
        return "that answer"
    return (
        " and ".join(f"{text} {name}" if name != "numbers" else text for name, text in rows) or "that answer"
    )
