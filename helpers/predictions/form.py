"""The boxes and buttons of a card, as ipywidgets; what they commit goes through the same function as typed code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import ipywidgets as widgets
from markupsafe import Markup
from traitlets import TraitError

from ..questions import Question
from .answers import NotCommitted
from .kernel import Session, session
from .render import SURENESS, style

Commit = Callable[[Any, str, "int | None"], None]
LARGEST_CLICKED = 6  # rows or columns; larger patterns are typed as code
_newest: WeakKeyDictionary[Session, dict[tuple[str, str], Form]] = WeakKeyDictionary()


class Form:
    """The form of one question, open or folded to a button.

    ``commit`` takes answer, reason and sureness, and raises NotCommitted with what to mend. The button that commits
    is also the one that opens a folded form again, so that the keyboard focus stays where it is.
    """

    def __init__(self, question: Question, commit: Commit, draft: dict | None = None) -> None:
        self._commit = commit
        self._asked_for_reason = False
        known = (
            draft is not None and draft["version"] == question.version
        )  # else its answer may have another form
        try:
            self.answer, self._read = _answer_field(question, draft["answer"] if known else None)
        except (TraitError, IndexError, TypeError):  # the version is the same, and the answer fits no more
            self.answer, self._read = _answer_field(question, None)
        self.because = widgets.Text(
            description="because",
            placeholder="one line of reason",
            value=(draft or {}).get("because") or "",
            layout=widgets.Layout(width="auto"),
        )
        self.sure = widgets.RadioButtons(
            options=[(text, level) for level, text in SURENESS.items()],
            value=None,
            description="how sure",
            orientation="horizontal",
            layout=widgets.Layout(width="auto"),
        )
        self.button = widgets.Button(layout=widgets.Layout(width="auto"))
        self.unknown = widgets.Button(description="I don’t know yet", layout=widgets.Layout(width="auto"))
        self.message = widgets.HTML()
        self.button.on_click(
            lambda _: self._press(self._read, needs_all=True) if self.is_open else self.open()
        )
        self.unknown.on_click(lambda _: self._say_unknown())
        self._fields = (self.answer, self.because, self.sure, self.unknown)
        buttons = widgets.HBox([self.button, self.unknown])
        self.box = widgets.VBox(
            [widgets.HTML(_style_tag()), self.answer, self.because, self.sure, buttons, self.message]
        )
        self.box.add_class("abh-form")
        self.open() if draft is None else self.fold()
        newest = _newest.setdefault(session(), {})
        key = question.id, question.variant
        if draft is None and key in newest:
            self._take_over(newest[key])
        newest[key] = self

    def _take_over(self, before: Form) -> None:
        """Keep what was filled in and not committed when the cell runs again, as Shift+Enter in a box makes it."""
        if before.is_open:
            for old, new in zip(before._entries(), self._entries(), strict=True):
                new.value = old.value

    def _entries(self) -> list[widgets.Widget]:
        """Every box, choice and toggle, in order."""
        found, left = [], [self.answer, self.because, self.sure]
        while left:
            widget = left.pop(0)
            left = [*getattr(widget, "children", ()), *left]
            if hasattr(widget, "value") and not isinstance(widget, widgets.Label):
                found.append(widget)
        return found

    def open(self) -> None:
        """Show the boxes."""
        self._show(True)

    def fold(self) -> None:
        """Leave one button, which opens the form again."""
        self._show(False)

    def _show(self, is_open: bool) -> None:
        self.is_open = is_open
        for field in self._fields:
            field.layout.display = None if is_open else "none"
        self.button.description = "Commit" if is_open else "Change my mind"
        self.button.button_style = "primary" if is_open else ""
        self.message.value = ""

    def _press(self, read: Callable[[], Any], needs_all: bool) -> None:
        """Commit and fold, or say what is missing. Whatever fails is said here: a callback's error shows nowhere."""
        try:
            answer = read()
            if needs_all and self.sure.value is None:
                raise NotCommitted("Say how sure you are: a guess, fairly sure or sure.")
            if needs_all and not self.because.value.strip() and not self._asked_for_reason:
                self._asked_for_reason = True
                raise NotCommitted(
                    "A reason in one line makes it a prediction rather than a guess. Commit again to go without."
                )
            self._commit(answer, self.because.value, self.sure.value if needs_all else None)
            self.fold()
        except NotCommitted as error:
            self.tell(str(error))
        except Exception as error:
            self.tell(
                f"The card failed ({type(error).__name__}: {error}). "
                "If it does not say committed, type your answer as code instead."
            )

    def _say_unknown(self) -> None:
        """Commit "I don't know yet". Its button is gone then, so the focus moves to the one that stays."""
        self._press(lambda: None, needs_all=False)
        if not self.is_open:
            self.button.focus()

    def tell(self, text: str) -> None:
        """Show a sentence below the buttons; announced by screen readers."""
        self.message.value = Markup('<p class="abh-message" role="alert">{}</p>').format(text)


def _style_tag() -> str:
    return Markup("<style>{}{}{}</style>").format(style(), style("widgets.css"), style("form.css"))


def _answer_field(question: Question, draft: Any) -> tuple[widgets.Widget, Callable[[], Any]]:
    """The widget that takes an answer of this kind, and a function that reads it."""
    return {
        "choice": _choice,
        "row": _row,
        "grid": _grid,
        "cells": _cells,
        "number": _line,
        "shape": _line,
        "words": _words,
    }[question.kind](question, draft)


def _choice(question: Question, draft: Any):
    letters = "abcdefghij"
    options = [
        (f"{letters[at]}) {_plain(option.says)}", option.key) for at, option in enumerate(question.options)
    ]
    field = widgets.RadioButtons(
        options=options, value=draft, description="", layout=widgets.Layout(width="auto")
    )
    return field, lambda: _chosen(field.value)


def _chosen(value: Any) -> Any:
    if value is None:
        raise NotCommitted("Choose one of the statements.")
    return value


def _plain(markdown: str) -> str:
    return markdown.replace("`", "").replace("**", "").replace("*", "")


def _text(description: str, value: str = "", width: str = "150px") -> widgets.Text:
    return widgets.Text(description=description, value=value, layout=widgets.Layout(width=width))


def _row(question: Question, draft: Any):
    count = question.shape[0]
    labels = question.labels or tuple(f"entry {at}" for at in range(count))
    fields = [_text(label, draft[at] if draft else "") for at, label in enumerate(labels)]
    box = widgets.HBox(fields, layout=widgets.Layout(flex_flow="row wrap"))
    return box, lambda: [field.value for field in fields]


def _grid(question: Question, draft: Any):
    rows, columns = question.shape
    names = question.row_labels or tuple(f"row {at}" for at in range(rows))
    heads = question.labels or tuple(f"col {at}" for at in range(columns))
    fields = [
        [_text(f"{names[i]}, {heads[j]}", draft[i][j] if draft else "", "auto") for j in range(columns)]
        for i in range(rows)
    ]
    lines = [widgets.HBox(line, layout=widgets.Layout(flex_flow="row wrap")) for line in fields]
    return widgets.VBox(lines), lambda: [[field.value for field in line] for line in fields]


def _line(question: Question, draft: Any):
    value = ", ".join(str(size) for size in draft) if isinstance(draft, list) else (draft or "")
    name = "shape" if question.kind == "shape" else (question.labels[0] if question.labels else "answer")
    field = _text(name, value, "320px")
    field.placeholder = "for example 2, 3" if question.kind == "shape" else ""
    return field, lambda: field.value


def _words(question: Question, draft: Any):
    field = widgets.Textarea(description="in words", value=draft or "", layout=widgets.Layout(width="auto"))
    return field, lambda: field.value


def _cells(question: Question, draft: Any):
    rows, columns = question.shape
    if max(rows, columns) > LARGEST_CLICKED:
        field = widgets.Textarea(description="rows of 0, 1", layout=widgets.Layout(width="auto"))
        return field, lambda: field.value
    on, off = ("changes", "stays") if question.part == "rows that change" else ("allowed", "blocked")
    names = question.row_labels or tuple(f"query {at}" for at in range(rows))
    heads = question.labels or tuple(f"key {at}" for at in range(columns))
    buttons = [
        [_toggle(on, off, f"{names[i]}, {heads[j]}", bool(draft and draft[i][j])) for j in range(columns)]
        for i in range(rows)
    ]
    tall = rows > 1
    corner = [widgets.Label("")] if tall else []
    children = corner + [widgets.Label(head) for head in heads]
    for name, line in zip(names, buttons, strict=True):
        children += ([widgets.Label(name)] if tall else []) + line
    template = ("max-content " if tall else "") + f"repeat({columns}, 92px)"
    box = widgets.GridBox(children, layout=widgets.Layout(grid_template_columns=template, grid_gap="2px"))
    return box, lambda: [[int(button.value) for button in line] for line in buttons]


def _toggle(on: str, off: str, where: str, value: bool) -> widgets.ToggleButton:
    button = widgets.ToggleButton(
        value=value,
        description=on if value else off,
        icon="check" if value else "",
        tooltip=where,
        layout=widgets.Layout(width="90px", margin="0"),
    )

    def say(change: dict) -> None:
        button.description = on if change["new"] else off
        button.icon = "check" if change["new"] else ""

    button.observe(say, "value")
    return button
