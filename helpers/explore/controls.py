"""The controls of a live figure: each has a value, a widget that sets it, and a name that a screen reader says."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

LARGEST_CLICKED = 6  # rows or columns of a grid of toggles


class Control:
    """One value that a learner sets.

    Without ipywidgets, or before the figure is shown, it only holds the value.
    """

    large = False  # whether it stands beside the picture rather than in a line above it

    def __init__(self, name: str, value: Any) -> None:
        self.name = name
        self._value = value
        self._heard: list[Callable[[], None]] = []

    @property
    def value(self) -> Any:
        """What it is set to."""
        return self._value

    @value.setter
    def value(self, value: Any) -> None:
        self._set(value)

    def observe(self, function: Callable[[], None]) -> None:
        """Call `function` after each change."""
        self._heard.append(function)

    def widget(self) -> Any:
        """A new widget that shows and sets the value."""
        raise NotImplementedError

    def _set(self, value: Any) -> None:
        if self._same(value):
            return
        self._value = value
        for function in self._heard:
            function()
        self._show()  # last, since the picture is what is waited for

    def _same(self, value: Any) -> bool:
        return value == self._value

    def _show(self) -> None:
        """Bring the widgets in line with the value."""


class Number(Control):
    """A slider, and beside it a box to type the number into.

    ipywidgets gives its sliders no name that a screen reader could say; the box has one, and does the same.

    Parameters
    ----------
    name : str
    value, low, high : float
    step : float
        Of the slider; the box takes any number in between, rounded to whole ones where the step is whole.
    log : bool
        Whether the slider moves by factors; `step` is then a step of the base-2 logarithm.
    """

    def __init__(
        self, name: str, value: float, low: float, high: float, step: float = 1, log: bool = False
    ) -> None:
        super().__init__(name, value)
        self.low, self.high, self.step, self.log = low, high, step, log
        self._whole = all(isinstance(number, int) for number in (value, low, high))
        self._slider = self._box = None

    def widget(self) -> Any:
        import ipywidgets as widgets

        place = self._place(self.value)
        # Counted from where it starts: a slider whose steps miss its own value moves by itself when it is shown.
        low = place - self.step * math.ceil((place - self._place(self.low)) / self.step - 1e-9)
        high = place + self.step * math.ceil((self._place(self.high) - place) / self.step - 1e-9)
        kind = widgets.IntSlider if self._whole and not self.log else widgets.FloatSlider
        # Its own readout would be a second box, without a name.
        self._slider = kind(
            value=place,
            min=low,
            max=high,
            step=self.step,
            readout=False,
            layout={"flex": "0 1 200px", "min_width": "80px"},
        )
        box = widgets.BoundedIntText if self._whole else widgets.BoundedFloatText
        self._box = box(
            value=self.value,
            min=self.low,
            max=self.high,
            step=1 if self._whole else self.step if not self.log else None,
            description=self.name,
            layout={"width": "auto"},
            style={"description_width": "auto"},
        )
        self._slider.observe(lambda change: self._slid(change["new"]), "value")
        self._box.observe(lambda change: self._set(change["new"]), "value")
        return widgets.HBox([self._box, self._slider], layout={"align_items": "center"})

    def _slid(self, place: float) -> None:
        """Take a place of the slider, unless it is only the step nearest to what was typed: the page rounds to it."""
        if abs(place - self._place(self.value)) > self.step * 0.51:
            self._set(self._number(place))

    def _place(self, number: float) -> float:
        return math.log2(number) if self.log else number

    def _number(self, place: float) -> float:
        number = 2.0**place if self.log else place
        number = round(number) if self._whole else float(f"{number:.4g}")
        return min(max(number, self.low), self.high)

    def _show(self) -> None:
        if self._slider is None:
            return
        self._box.value = self.value
        # Only if it stands elsewhere: a typed 1.03 need not be a place of the slider, nor move back from it.
        if self._number(self._slider.value) != self.value:
            self._slider.value = self._place(self.value)


class Choice(Control):
    """One of a few, each a button; `options` maps what the button says to the value."""

    def __init__(self, name: str, options: Mapping[str, Any] | Sequence[Any], value: Any = None) -> None:
        options = options if isinstance(options, Mapping) else {str(option): option for option in options}
        super().__init__(name, next(iter(options.values())) if value is None else value)
        self.options = dict(options)
        self._field = None

    def widget(self) -> Any:
        import ipywidgets as widgets

        self._field = widgets.RadioButtons(
            options=list(self.options.items()),
            value=self.value,
            description=self.name,
            orientation="horizontal",
            layout={"width": "auto"},
            style={"description_width": "auto"},
        )
        self._field.observe(lambda change: self._set(change["new"]), "value")
        return self._field

    def _show(self) -> None:
        if self._field is not None:
            self._field.value = self.value if self.value in self.options.values() else None


class Switch(Control):
    """On or off."""

    def __init__(self, name: str, value: bool = False) -> None:
        super().__init__(name, value)
        self._field = None

    def widget(self) -> Any:
        import ipywidgets as widgets

        self._field = widgets.Checkbox(
            value=self.value, description=self.name, indent=False, layout={"width": "auto"}
        )
        self._field.observe(lambda change: self._set(change["new"]), "value")
        return self._field

    def _show(self) -> None:
        if self._field is not None:
            self._field.value = self.value


class Cells(Control):
    """A grid of cells that are allowed or blocked, each a button that says which.

    Parameters
    ----------
    name : str
    value : ndarray of bool, shape (n_rows, n_columns)
        At most 6 by 6.
    rows, columns : sequence of str
        What each row and column is called.
    states : (str, str)
        What a button says when it is on and when it is off.
    """

    large = True

    def __init__(
        self,
        name: str,
        value: np.ndarray,
        rows: Sequence[str],
        columns: Sequence[str],
        states: tuple[str, str] = ("yes", "no"),
    ) -> None:
        if max(value.shape) > LARGEST_CLICKED:
            raise ValueError(f"cells to click must be at most 6 by 6, got {value.shape}: pass fewer tokens")
        super().__init__(name, value.copy())
        self.rows, self.columns, self.states = list(rows), list(columns), states
        self._buttons: list[list[Any]] = []

    def widget(self) -> Any:
        import ipywidgets as widgets

        self._buttons = [
            [self._button(i, j) for j in range(len(self.columns))] for i in range(len(self.rows))
        ]
        children = [widgets.Label(self.name), *(widgets.Label(column) for column in self.columns)]
        for row, buttons in zip(self.rows, self._buttons, strict=True):
            children += [widgets.Label(row), *buttons]
        template = f"max-content repeat({len(self.columns)}, minmax(34px, 44px))"
        return widgets.GridBox(children, layout={"grid_template_columns": template, "grid_gap": "2px"})

    def _button(self, i: int, j: int) -> Any:
        import ipywidgets as widgets

        button = widgets.ToggleButton(
            value=bool(self.value[i, j]),
            tooltip=f"{self.rows[i]}, {self.columns[j]}",
            layout={"width": "auto", "margin": "0"},
        )
        self._say(button)

        def toggled(change: dict) -> None:
            self._say(button)
            new = self.value.copy()
            new[i, j] = change["new"]
            self._set(new)

        button.observe(toggled, "value")
        return button

    def _say(self, button: Any) -> None:
        button.description = self.states[0 if button.value else 1]

    def _same(self, value: np.ndarray) -> bool:
        return bool(np.array_equal(value, self._value))

    def _show(self) -> None:
        for i, line in enumerate(self._buttons):
            for j, button in enumerate(line):
                button.value = bool(self.value[i, j])
