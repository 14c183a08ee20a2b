"""The questions: prose from one TOML file a notebook, numbers from running the tasks they name."""

from __future__ import annotations

import json
import random
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from .. import tasks
from ..misconceptions import CATALOGUE, programs_for

KINDS = ("choice", "row", "grid", "number", "shape", "cells", "words")
NUMERIC = ("row", "grid", "number")
MOST_DRAWN = 128  # sets of numbers of a question that are kept
BUG_MISSED = "bug-missed"  # of a question about a wrong program: what the right one would give


@dataclass(frozen=True)
class Option:
    """One statement of a choice; ``key`` is what the run comes to if the statement holds."""

    key: str
    says: str
    misconception: str | None = None
    feedback: str = ""
    right: bool = False


@dataclass(frozen=True)
class Question:
    """One question with the inputs it is about; its answer is always computed from them."""

    id: str
    notebook: str
    kind: str
    prompt: str
    version: int = 1
    task: str | None = None
    program: str | None = (
        None  # id of a catalogue entry, where the question is about what a wrong program gives
    )
    part: str = "all"
    cell: str | None = None
    ask: str = ""
    show_program: bool = True  # whether the lines of a wrong program help beside a diagnosis
    labels: tuple[str, ...] = ()
    row_labels: tuple[str, ...] = ()
    unit: str | None = None
    options: tuple[Option, ...] = ()
    misconceptions: tuple[str, ...] = ()
    because: str = ""
    explanation: str = ""
    wrong_and_sure: str = ""
    inputs: Mapping[str, Any] = field(default_factory=dict)
    then: Mapping[str, Any] = field(default_factory=dict)
    fresh: Mapping[str, list] = field(default_factory=dict)
    why: Mapping[str, str] = field(default_factory=dict)  # by misconception, in place of the catalogue's own
    expected: tuple[float, float] | None = None  # where a measurement bears out the right option
    names: Mapping[str, str] = field(
        default_factory=dict
    )  # of inputs that the notebook's cell calls otherwise
    variant: str = "base"
    own_numbers: bool = False  # whether each learner gets other numbers; helpers.predictions.own says which

    def run(self, program: Callable[..., Any] | None = None) -> Any:
        """Run the right function, or ``program`` in its place; a pair (before, after) where ``then`` says so."""
        if self.task is None:
            return None
        if program is None and self.program:
            program = programs_for(self.task)[self.program]
        before = tasks.run(self.task, self.inputs, program)
        return (before, tasks.run(self.task, {**self.inputs, **self.then}, program)) if self.then else before

    def asked(self, program: Callable[..., Any] | None = None) -> Any:
        """Return the part of the result that the question asks for: a number, an array, a shape or an option's key."""
        if self.task is None:
            return next((option.key for option in self.options if option.right), None)
        return tasks.read(self.run(program), self.part)

    @cached_property
    def truth(self) -> Any:
        return self.asked()

    @cached_property
    def wrong(self) -> dict[str, Any]:
        """What each wrong program this question can see gives instead, by id, commonest first."""
        if self.task is None:
            return {}
        programs = programs_for(self.task)
        found = {}
        for name in self.misconceptions or programs:
            if name not in programs or name == self.program:
                continue
            try:
                found[name] = self.asked(programs[name])
            except (ValueError, IndexError, ZeroDivisionError, TypeError):
                continue  # a wrong program may well be undefined on these inputs
        if BUG_MISSED in self.misconceptions:
            found[BUG_MISSED] = self.asked(tasks.TASKS[self.task].truth)
        return found

    @property
    def shape(self) -> tuple[int, ...]:
        """How many numbers or cells the answer has along each axis; empty for one number, a shape or a choice."""
        return np.shape(self.truth) if self.kind in ("row", "grid", "cells") else ()

    @property
    def right_key(self) -> str | None:
        return self.truth if self.kind == "choice" else None

    def option(self, key: str | None) -> Option | None:
        return next((option for option in self.options if option.key == key), None)

    def say(self, template: str, **more: Any) -> str:
        """Fill ``{placeholders}`` with the question's inputs, the whole ``run`` and the ``asked`` part of it."""
        names = {**self.inputs, **{f"then_{name}": value for name, value in self.then.items()}}
        if "{run" in template:  # running can take seconds
            names["run"] = self.run()
        return template.format(**names, asked=self.truth, **more) if template else ""

    @property
    def text(self) -> str:
        return self._with_inputs(self.prompt)

    @property
    def asks(self) -> str:
        return self._with_inputs(self.ask)

    def _with_inputs(self, template: str) -> str:
        return template.format(**self.inputs, **{f"then_{name}": value for name, value in self.then.items()})

    def renew(self, variant: str, tries: int = 500) -> Question:
        """The same question on fresh numbers, drawn from ``fresh`` by the variant's name.

        ``fresh`` names for an input the values that each of its entries may take, or whole inputs to choose from
        (lists and tables). Numbers on which a wrong program would give the right answer (to two digits) are drawn
        again, and so, where ``tries`` allow, are those on which two wrong programs agree that were apart before.
        A question without ``fresh`` keeps its numbers. The draw depends on nothing but id, variant and ``fresh``.
        """
        if not self.fresh:
            return replace(self, variant=variant)
        rng = random.Random(f"{self.id}/{variant}")
        second_best = None
        for _ in range(tries):
            drawn = {name: _draw(rng, values, self.inputs[name]) for name, values in self.fresh.items()}
            candidate = self._on(drawn)
            if drawn == {name: self.inputs[name] for name in drawn} or not candidate._tells_apart(self.wrong):
                continue
            if candidate._alike <= self._alike:
                return candidate._called(variant)
            second_best = second_best or candidate
        if second_best:
            return second_best._called(variant)
        raise ValueError(
            f"{self.id}: no numbers from its `fresh` table tell its wrong programs apart in {tries} draws: "
            "widen the table."
        )

    @cached_property
    def _drawn(self) -> dict[str, Question]:
        return {}

    def _on(self, drawn: Mapping[str, Any]) -> Question:
        """This question on other inputs; a class draws the same ones again and again, and each is run once."""
        name = json.dumps(drawn)
        if name not in self._drawn:
            if len(self._drawn) >= MOST_DRAWN:
                self._drawn.clear()
            self._drawn[name] = replace(self, inputs={**self.inputs, **drawn})
        return self._drawn[name]

    def _called(self, variant: str) -> Question:
        """The same under a variant's name, with what has been run already."""
        renamed = replace(self, variant=variant)
        vars(renamed).update({name: vars(self)[name] for name in ("truth", "wrong") if name in vars(self)})
        return renamed

    def _tells_apart(self, names: Mapping[str, Any]) -> bool:
        if set(self.wrong) != set(names):
            return False
        if self.kind in NUMERIC and not np.all(np.isfinite(np.asarray(self.truth, dtype=float))):
            return False
        return not any(agree(self.truth, value, within=0.005) for value in self.wrong.values())

    @cached_property
    def _alike(self) -> set[tuple[str, str]]:
        """Pairs of wrong programs that this question cannot tell from each other."""
        pairs = combinations(self.wrong.items(), 2)
        return {(one, other) for (one, this), (other, that) in pairs if agree(this, that, within=0.005)}


def _draw(rng: random.Random, values: list, now: Any) -> Any:
    """An input from ``fresh``: one of the ``values``, or one for each entry of what stands there ``now``."""
    if isinstance(now, list) and not isinstance(values[0], (list, dict)):
        return [_draw(rng, values, entry) for entry in now]
    return values[int(rng.random() * len(values))]  # unlike choice(), the same in every version of Python


def agree(one: Any, other: Any, within: float = 1e-6) -> bool:
    """Whether two asked parts are the same: equal keys or shapes, or numbers no further apart than ``within``."""
    if isinstance(one, (str, tuple)) or isinstance(other, (str, tuple)) or one is None or other is None:
        return type(one) is type(other) and one == other
    one, other = np.asarray(one, dtype=float), np.asarray(other, dtype=float)
    if one.shape != other.shape:
        return False
    # As np.allclose(rtol=1e-4, equal_nan=True), at a third of its time: renew asks hundreds of times.
    with np.errstate(invalid="ignore"):
        near = np.abs(one - other) <= within + 1e-4 * np.abs(other)
    same = (one == other) | ((one != one) & (other != other))
    return bool(np.all(np.where(np.isfinite(one) & np.isfinite(other), near, same)))


def _build(notebook: str, raw: dict[str, Any]) -> Question:
    raw = dict(raw)
    options = tuple(Option(**option) for option in raw.pop("options", ()))
    for name in ("labels", "row_labels", "misconceptions"):
        raw[name] = tuple(raw.get(name, ()))
    if "expected" in raw:
        raw["expected"] = tuple(raw["expected"])
    for option in options:
        if option.misconception and option.misconception not in CATALOGUE:
            raise ValueError(
                f"{raw['id']}: option {option.key!r} names {option.misconception!r}, which is not in the catalogue."
            )
    return Question(notebook=notebook, options=options, **raw)


@cache
def load() -> dict[str, Question]:
    """All questions by id, in the order of the notebooks and of the files."""
    found: dict[str, Question] = {}
    for path in sorted(Path(__file__).parent.glob("*.toml")):
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        shared = {name: content[name] for name in ("own_numbers",) if name in content}
        for raw in content["questions"]:
            question = _build(content["notebook"], {**shared, **raw})
            if question.id in found:
                raise ValueError(f"{path.name}: question {question.id} is there twice: rename one.")
            found[question.id] = question
    return found


def get(question_id: str) -> Question:
    """One question by id; ValueError with the nearest ids for a name that is not there."""
    questions = load()
    if not isinstance(question_id, str) or question_id not in questions:
        near = [name for name in questions if name[:2] == str(question_id)[:2]] or list(questions)
        raise ValueError(f"There is no question {question_id!r}. Known: {', '.join(near)}.")
    return questions[question_id]


@cache
def titles() -> dict[str, str]:
    """Notebook file name (without ending) -> its title, in order."""
    files = sorted(Path(__file__).parent.glob("*.toml"))
    contents = (tomllib.loads(path.read_text(encoding="utf-8")) for path in files)
    return {content["notebook"]: content["title"] for content in contents}


def of_notebook(notebook: str) -> Iterator[Question]:
    return (question for question in load().values() if question.notebook == notebook)
