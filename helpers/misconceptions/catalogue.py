"""What an entry of the catalogue is, and how a module adds one."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field

Program = Callable[..., object]


@dataclass(frozen=True)
class Misconception:
    """One wrong belief, with the wrong program it amounts to where it can be computed.

    Parameters
    ----------
    id : str
    belief : str
        One sentence, as the learner might say it.
    verdict : str
        A headline that names the error.
    why : str
        What falsifies it.
    source : str
        Where it was seen in public, or "course" where the course itself warns of it.
    programs : dict of str to callable
        The wrong program by the name of the task it imitates; empty for a belief that nothing computes.
        A program takes some or all of the arguments of the task's right function, by the same names.
    """

    id: str
    belief: str
    verdict: str
    why: str
    source: str
    programs: dict[str, Program] = field(default_factory=dict, repr=False)

    @property
    def task(self) -> str | None:
        """The task that the program imitates."""
        return next(iter(self.programs), None)

    @property
    def program(self) -> Program | None:
        """The wrong program itself."""
        return next(iter(self.programs.values()), None)

    def lines(self, task: str | None = None) -> list[str]:
        """Return the source lines of the program's body: what a learner is shown is what runs.

        Parameters
        ----------
        task : str, optional
            Show the program as written for this task, where there is one of its own.

        Examples
        --------
        >>> from helpers.misconceptions import CATALOGUE
        >>> CATALOGUE["scale-missing"].lines()
        ['return Q @ K.T  # not divided by √d_k']
        """
        program = self.programs.get(task or "", self.program)
        return [] if program is None else body(program)


def body(function: Program) -> list[str]:
    """Return the lines of a function's body, without the `def` line and a docstring."""
    source = textwrap.dedent(inspect.getsource(function))
    definition = ast.parse(source).body[0]
    statements = definition.body[1:] if ast.get_docstring(definition) else definition.body
    first = statements[0].lineno - 1
    return textwrap.dedent("\n".join(source.splitlines()[first:])).splitlines()


CATALOGUE: dict[str, Misconception] = {}


def belief(id: str, says: str, *, verdict: str, why: str, source: str = "course") -> Misconception:
    """Add a belief to the catalogue."""
    if id in CATALOGUE:
        raise ValueError(f"misconception {id!r} is in the catalogue already: give the new one another id.")
    CATALOGUE[id] = Misconception(id, says, verdict, why, source)
    return CATALOGUE[id]


def wrong(id: str, task: str, says: str, **words: str) -> Callable[[Program], Program]:
    """Add a belief to the catalogue together with the program decorated, which imitates `task`."""
    belief(id, says, **words)
    return also(id, task)


def also(id: str, task: str) -> Callable[[Program], Program]:
    """Give a belief that is there already a program for one more task."""

    def register(program: Program) -> Program:
        CATALOGUE[id].programs[task] = program
        return program

    return register
