"""Predict, then run: the calls a notebook makes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from importlib.util import find_spec
from numbers import Integral
from typing import Any

import numpy as np

from .. import questions
from ..questions import Question
from . import answers, own, render
from .answers import NotCommitted
from .kernel import Slot, session
from .record import make_line

__all__ = [
    "before_and_after",
    "compare",
    "diagnose",
    "numbers",
    "picture",
    "predict",
    "progress",
    "revisit",
    "show",
]

_UNANSWERED = object()
WAITING = "The run’s own result appears here once you commit. Running the cell again does not reveal it."


def predict(
    question_id: str,
    answer: Any = _UNANSWERED,
    because: str = "",
    sure: int | None = None,
    *,
    variant: str | None = None,
) -> None:
    """Show a question's card, or commit an answer typed as code.

    Parameters
    ----------
    question_id : str
        For example ``"01-weights"``.
    answer : optional
        A number, a row or grid of numbers (as numbers or as text, digits count), a shape, a pattern of 0 and 1,
        the letter of a statement, or ``None`` for "I don't know yet". Left out, the card with its boxes appears.
    because : str
        One line of reason.
    sure : {1, 2, 3}
        1 a guess, 2 fairly sure, 3 sure. Needed with an answer.
    variant : str, optional
        Which numbers, where a question is asked again with others; the card of `revisit` says it.

    Notes
    -----
    Nothing about the answer is shown before a commit. The first commit of a question is never altered; another
    answer is a further line of the record.
    """
    try:
        question = _mine(question_id) if variant is None else questions.get(question_id).renew(str(variant))
    except ValueError as error:
        _say(str(error))
        return
    if answer is _UNANSWERED:
        _Card(question).show()
    else:
        _Card(question).show(typed=(answer, because, sure))


def diagnose(question_id: str, answer: Any) -> str | None:
    """Id of the known misconception that gives this answer, or None.

    >>> diagnose("01-weights", [1.0, 0.0])
    'lookup'
    """
    question = _mine(question_id)
    return answers.diagnose(question, answers.read(question, answer)).misconception


def numbers(question_id: str) -> tuple[Any, ...]:
    """Return the numbers that a question's card shows to this learner, as arrays: ``Q, K = numbers("10-…")``.

    In a notebook that asks each learner with other numbers, they follow from the record: the time of its first
    line decides, and once something is committed there, what was asked. So they are the same after a restart.
    An empty record gives the numbers of the answer key; ``QUESTION_NUMBERS=autumn`` in the environment, set
    before the first prediction there, gives a whole class the same other ones.
    """
    return own.numbers(_mine(question_id))


def _mine(question_id: str) -> Question:
    """The question on this learner's numbers."""
    return own.of(questions.get(question_id), session().record.lines())


def compare(question_id: str, value: Any = None) -> None:
    """Show the run's ``value`` beside the prediction: at once if one is committed, else as soon as it is.

    ``value`` is the asked part or the whole result of the run (for a question with two runs, the pair).
    """
    try:
        question = _mine(question_id)
    except ValueError as error:
        _say(str(error))
        return
    _watch_comparison(question, _as_it_is(value))


def show(thing: Any, after: str | None = None) -> None:
    """Show a figure, an array or a text, once the question ``after`` is committed (at once if ``after`` is None)."""
    if after is None:
        for bundle in _faces(thing):
            Slot(bundle)
        return
    try:
        question = questions.get(after)
    except ValueError as error:
        _say(str(error))
        return
    now = session()
    waiting = [render.waiting(question, f"This appears once you have committed {question.id}.")]
    faces = cache(partial(_faces, thing))
    if hasattr(thing, "faces"):
        waiting.append({"text/html": "", "text/plain": ""})  # of a live figure: made once it is to be seen
    else:
        faces()  # of anything else: now, since a later cell may write into it

    def draw(place: int) -> tuple[render.Bundle, Mapping[str, Any]]:
        return (faces()[place] if now.record.lines(question.id) else waiting[place]), {}

    for place in range(len(waiting)):
        now.watch(question.id, partial(draw, place))


def _faces(thing: Any) -> list[render.Bundle]:
    """What a thing puts on the page: one output, or two where it is a live figure with a still picture."""
    from .. import figures

    if hasattr(thing, "faces"):
        return thing.faces()
    if isinstance(thing, str):
        return [{"text/html": str(render.markdown(thing)), "text/plain": thing}]
    return [figures.bundle(thing)]


def progress() -> None:
    """Show which questions are committed, in which notebook, and how being sure went with being right."""
    from . import overview

    now = session()
    now.watch("*", lambda: (overview.progress(now.record.lines()), {}))


def picture() -> None:
    """Show the learner's own picture: over time, sure against right, misconceptions, and where to look again."""
    from . import overview

    now = session()
    now.watch("*", lambda: (overview.picture(now.record.lines(), now.explanations_held), {}))


def before_and_after() -> None:
    """Show the pre-test beside its twin, with its answers, once all of the twin is committed."""
    from . import twins

    now = session()
    now.watch("*", lambda: (twins.beside(now.record.lines(), now.explanations_held), {}))


def revisit() -> None:
    """Ask again, with other numbers, what you were sure of and got wrong, once it is due; say when the rest is."""
    from . import overview

    now = session()
    now.watch("*", lambda: (render.waiting(None, overview.agenda(now.record.lines())), {}))
    for question in overview.due(now.record.lines())[: overview.MOST_AGAIN]:
        _Card(question).show()
        _watch_comparison(question)


def _watch_comparison(question: Question, value: Any = None) -> None:
    now = session()

    def draw() -> tuple[render.Bundle, Mapping[str, Any]]:
        lines = now.record.lines(question.id)
        mine = [line for line in lines if line["variant"] == question.variant]
        if not mine:
            return render.waiting(question, WAITING), {}
        bundle = _safely(question, mine[0], mine[-1], value, now.explanations_held)
        return bundle, {"predictions": lines}  # the notebook alone is then a complete submission

    now.watch(question.id, draw)


def _as_it_is(value: Any) -> Any:
    """A copy of a run's numbers: a later cell may write into them before a commit draws them. Tensors lose autograd."""
    if isinstance(value, (tuple, list)):
        return type(value)(map(_as_it_is, value)) if type(value) in (tuple, list) else value
    if hasattr(value, "detach"):
        return value.detach().cpu().clone()
    return value.copy() if isinstance(value, np.ndarray) else value


def _safely(question: Question, first: dict, latest: dict, value: Any, held: bool) -> render.Bundle:
    """Draw a comparison; a value that cannot be compared is said in a sentence rather than raised at the learner."""
    from . import overview

    try:
        comes_back = own.comes_back(question) and not own.is_again(first)
        comes_back = comes_back and first["sure"] == 3 and overview.judged(first) is False
        return render.comparison(question, latest, value, held, comes_back)
    except (ValueError, TypeError, IndexError, RuntimeError) as error:
        text = f"compare({question.id!r}, …) was given something it cannot set beside the prediction: {error}"
        return render.waiting(question, text)


def _say(text: str) -> None:
    Slot(render.waiting(None, text))


class _Card:
    """One question on the page: the prompt, and the form below it while there is something to fill in."""

    def __init__(self, question: Question) -> None:
        self.question = question
        self.session = session()

    def show(self, typed: tuple[Any, str, int | None] | None = None) -> None:
        if typed is not None:
            problem = self._commit_typed(*typed)
            self.prompt = Slot(*self._prompt([problem] if problem else [], open_code=bool(problem)))
            return
        self.prompt = Slot(*self._prompt(self.session.record.new_problems()))
        if _has_widgets():
            self._show_form()

    def _lines(self) -> list[dict]:
        return [
            line
            for line in self.session.record.lines(self.question.id)
            if line["variant"] == self.question.variant
        ]

    def _prompt(
        self, problems: list[str], open_code: bool = False
    ) -> tuple[render.Bundle, Mapping[str, Any]]:
        """The card, and the committed lines with it: some questions have no comparison that would carry them."""
        lines = self._lines()
        if lines:
            bundle = render.committed_card(self.question, lines[0], lines[-1], len(lines), problems)
            return bundle, {"predictions": lines}
        return (
            render.card(self.question, problems, str(self.session.path), open_code or not _has_widgets()),
            {},
        )

    def _commit_typed(self, answer: Any, because: str, sure: int | None) -> str:
        """Commit typed code. Returns what is to be told: nothing, or why it is not committed or not on disk."""
        try:
            return self._commit(answer, because, sure)
        except NotCommitted as error:
            return str(error)

    def _commit(self, answer: Any, because: str, sure: int | None) -> str:
        """Append one line to the record, then redraw what waited for it. Returns a sentence if it is in memory only.

        The same cell run or the same button pressed again adds nothing.
        """
        committed = None if answer is None else answers.read(self.question, answer)
        if committed is not None and (
            type(sure) is bool or not isinstance(sure, Integral) or sure not in (1, 2, 3)
        ):
            raise NotCommitted(
                "Say how sure you are: sure=1 (a guess), sure=2 (fairly sure) or sure=3 (sure)."
            )
        lines = self._lines()
        line = make_line(
            question=self.question.id,
            version=self.question.version,
            variant=self.question.variant,
            notebook=self.question.notebook,
            kind=self.question.kind,
            answer=committed,
            because=because,
            sure=int(sure) if committed is not None else None,
            attempt=len(lines) + 1,
        )
        if lines and all(line[name] == lines[-1][name] for name in ("answer", "because", "sure", "version")):
            return ""
        saved = self.session.record.append(line)
        self.session.committed(self.question.id)
        return saved.message or ""

    def _show_form(self) -> None:
        """Put the form below the prompt: open, or folded to a button where a line is committed already."""
        from .form import Form

        def commit(answer: Any, because: str, sure: int | None) -> None:
            told = self._commit(answer, because, sure)
            self.prompt.update(*self._prompt([told] if told else []))
            self.session.keep_one_button(self.below)

        lines = self._lines()
        self.form = Form(
            self.question, commit, draft=lines[-1] if lines else None
        )  # starts folded with a draft
        text = "Fill in the boxes, or answer by typing code." if not lines else ""
        self.below = Slot({**self.form.box._repr_mimebundle_(), "text/plain": text})
        if lines:
            self.session.keep_one_button(self.below)


def _has_widgets() -> bool:
    return find_spec("ipywidgets") is not None
