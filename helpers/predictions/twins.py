"""The pre-test beside its twin: what was answered before the course and what after it, once the twin is committed."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from .. import questions
from ..questions import Question
from . import answers, own, render

BEFORE, AFTER = "-pre-", "-post-"


@dataclass(frozen=True)
class Side:
    """One question of a pair, and the first line committed for it."""

    question: Question
    line: dict | None

    @property
    def right(self) -> bool:
        return self.line is not None and answers.diagnose(self.question, self.line["answer"]).right is True

    @property
    def said(self) -> str:
        if self.line is None:
            return "not asked"
        sure = render.SURENESS.get(self.line["sure"])
        text = render.answer_text(self.question, self.line["answer"])
        return f"{text} ({sure})" if sure else text

    @property
    def run(self) -> str:
        option = self.question.option(self.question.truth) if self.question.kind == "choice" else None
        return option.says if option else render.value_text(self.question.truth)


def pairs(lines: list[dict]) -> list[tuple[Side, Side]]:
    """Each question of the pre-test with its twin, on this learner's numbers."""
    known = questions.load()
    twins = {name.split(AFTER)[1]: name for name in known if AFTER in name}
    befores = {name.split(BEFORE)[1]: name for name in known if BEFORE in name}
    return [(_side(befores[name], lines), _side(twins[name], lines)) for name in twins if name in befores]


def _side(name: str, lines: list[dict]) -> Side:
    question = own.of(questions.get(name), lines)
    mine = (
        line
        for line in lines
        if (line["question"], line["variant"], line["version"]) == (name, question.variant, question.version)
    )
    return Side(question, next(mine, None))


def beside(lines: list[dict], held: bool = False) -> render.Bundle:
    """Before and after, side by side; with the pre-test's answers unless explanations are ``held`` back."""
    found = pairs(lines)
    left = [after.question.id for _, after in found if after.line is None]
    if left:
        return render.waiting(None, f"This appears once all four are committed. Left: {', '.join(left)}.")
    sentence = "" if held else _count(found)
    shown = [
        {
            "before": render.markdown(before.question.text),
            "after": render.markdown(after.question.text),
            "table": _table(before, after),
            "explanation": "" if held else render.markdown(before.question.say(before.question.explanation)),
        }
        for before, after in found
    ]
    html = render._template("twins.html").render(style=render.style(), pairs=shown, sentence=sentence)
    plain = [sentence]
    for before, after in found:
        plain.append(
            f"{before.question.id}: then {before.said}, run {before.run}; "
            f"{after.question.id}: now {after.said}, run {after.run}."
        )
        plain += [] if held else [before.question.say(before.question.explanation)]
    return {"text/html": html, "text/plain": "\n".join(plain).strip()}


def _count(found: list[tuple[Side, Side]]) -> str:
    now = sum(after.right for _, after in found)
    if all(before.line is None for before, _ in found):
        return f"{now} of {len(found)} agree with the run; there is no answer from before the course."
    then = sum(before.right for before, _ in found)
    return f"Before the course {then} of {len(found)} agreed with the run, now {now}."


def _table(before: Side, after: Side) -> Markup:
    rows = [("abh-you", "you, before", before.said), ("abh-ran", "run, before", before.run)]
    rows += [("abh-you", "you, now", after.said), ("abh-ran", "run, now", after.run)]
    row = Markup('<tr class="{}"><th scope="row">{}</th><td>{}</td></tr>')
    return Markup('<table class="abh-says">{}</table>').format(
        Markup("").join(row.format(*one) for one in rows)
    )
