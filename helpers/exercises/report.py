"""What a check says: one result, as a card in a notebook and as text everywhere else."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from itertools import starmap

from markupsafe import Markup

COLOURS = {True: "#1a7f37", False: "#b35900", None: "#6e7781"}  # each 3:1 on white and on near-black
QUIET = "opacity:.85;font-size:13px"
CELL = "padding:3px 16px 3px 0;text-align:left;vertical-align:top"
PROSE = ("what holds", "but")  # rows that are sentences, not code
CODE = "color:inherit;margin:0;white-space:pre-wrap;font:13px/1.45 var(--jp-code-font-family,monospace)"
BOX = f"{CODE};margin:6px 0;padding:8px 12px;border-radius:4px;background:rgba(128,128,128,.12)"


@dataclass(frozen=True)
class Result:
    """What a check came to; as the last line of a cell it draws itself.

    Parameters
    ----------
    passed : bool or None
        None where nothing was judged: not started, or something is missing.
    headline : str
    misconception : str or None
        Id of the catalogue entry whose program behaves the same.
    score : float
        The part of the cases that came out right, from 0 to 1.
    exercise, rows, said, lines, why, whole, notes
        What it is about, the table, the explanation, the wrong program, what falsifies it, whether the program
        is a whole one or the step in which it differs, and remarks.
    """

    passed: bool | None
    headline: str
    misconception: str | None = None
    score: float = 0.0
    exercise: str = ""
    rows: tuple[tuple[str, str], ...] = ()
    said: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    why: str = ""
    whole: bool = True
    notes: tuple[str, ...] = ()

    @property
    def _lead(self) -> str:
        return "This program does the same:" if self.whole else "Yours behaves as if this step were in it:"

    def __repr__(self) -> str:
        text = [f"{self.exercise}: {self.headline}" if self.exercise else self.headline]
        for name, value in self.rows:
            text.append(textwrap.indent(value, " " * 14).replace(" " * 14, f"  {name:<12}", 1))
        text += self.said
        if self.lines:
            text += [self._lead, *(f"    {line}" for line in self.lines), self.why]
        return "\n".join([*text, *self.notes])

    def _repr_mimebundle_(self, include=None, exclude=None) -> tuple[dict[str, str], dict[str, dict]]:
        """The card, and what was judged as metadata of the output, for whoever reads a notebook that is handed in."""
        judged = {
            "exercise": self.exercise,
            "passed": self.passed,
            "misconception": self.misconception,
            "score": round(self.score, 3),
        }
        metadata = {} if self.passed is None else {"check": judged}
        return {"text/plain": repr(self), "text/html": str(self._html())}, metadata

    def _html(self) -> Markup:
        parts = [
            Markup('<div style="{}">Check{}</div>').format(
                QUIET, f" · {self.exercise}" if self.exercise else ""
            ),
            Markup('<div style="font-weight:600;margin-bottom:6px">{}</div>').format(self.headline),
        ]
        if self.rows:
            table = (
                '<table style="border-collapse:collapse;margin:0 0 8px;color:inherit;font:inherit">{}</table>'
            )
            parts.append(Markup(table).format(Markup().join(starmap(self._row, self.rows))))
        paragraph = Markup('<p style="margin:4px 0">{}</p>')
        parts += [paragraph.format(text) for text in self.said]
        if self.lines:
            parts.append(Markup('<div style="{}">{}</div>').format(QUIET, self._lead))
            parts.append(Markup('<pre style="{}">{}</pre>').format(BOX, "\n".join(self.lines)))
            parts.append(paragraph.format(self.why))
        parts += [Markup('<p style="margin:4px 0;{}">{}</p>').format(QUIET, note) for note in self.notes]
        return Markup(
            '<div style="box-sizing:border-box;max-width:760px;padding:8px 16px;border-left:4px solid {};'
            'font:14px/1.5 var(--jp-ui-font-family,system-ui,sans-serif)">{}</div>'
        ).format(COLOURS[self.passed], Markup().join(parts))

    @staticmethod
    def _row(name: str, value: str) -> Markup:
        inside = Markup("{}") if name in PROSE else Markup(f'<pre style="{CODE}">{{}}</pre>')
        return Markup(
            '<tr style="background:transparent"><th scope="row" style="{}">{}</th><td style="{}">{}</td></tr>'
        ).format(f"{CELL};font-weight:400;white-space:nowrap", name, CELL, inside.format(value))
