"""The engine of the live figures: controls, a function that draws, and what stands on the page when nothing runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from ..figures import Picture
from ..figures.picture import fold, join, tag
from ..predictions.render import style
from . import cell
from .controls import Control

Bundle = dict[str, Any]
STYLE = style("widgets.css") + Markup(Path(__file__).with_name("live.css").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Frame:
    """What a live figure shows for one setting of its controls.

    Attributes
    ----------
    pictures : mapping of str to Picture
        Drawn side by side under their names.
    says : str
        The picture in one sentence, computed from its data.
    reached : bool
        Whether the goal is met.
    """

    pictures: Mapping[str, Picture]
    says: str
    reached: bool = False


class LiveFigure:
    """Controls, and a picture that follows them.

    Ending a cell with it shows it; ``show(figure, after="04-hot")`` shows it once that question is committed.

    Parameters
    ----------
    name : str
        What the figure is about, for a screen reader and for the page without a kernel.
    goal : str
        What the learner is to find.
    controls : mapping of str to Control
        By the argument of `draw` that each gives.
    draw : callable
        Takes the values of the controls by name, returns a `Frame`. It runs for every move: 2 ms at most.
    """

    def __init__(
        self, name: str, goal: str, controls: Mapping[str, Control], draw: Callable[..., Frame]
    ) -> None:
        self.name, self.goal, self.controls = name, goal, dict(controls)
        self._draw = draw
        self.frames = 0
        self.reached = False
        self.failed: Exception | None = None
        self.box: Any = None
        for control in self.controls.values():
            control.observe(self._changed)

    @property
    def values(self) -> dict[str, Any]:
        """What the controls are set to."""
        return {name: control.value for name, control in self.controls.items()}

    def frame(self) -> Frame:
        """The frame for the controls as they stand."""
        return self._draw(**self.values)

    def faces(self) -> list[Bundle]:
        """Both outputs of the figure: the still picture that stays in the file, and the live one below it."""
        still = self._still()
        try:
            box = self._build()
        except ImportError:  # no ipywidgets: the still picture is the figure
            return [still, {"text/html": "", "text/plain": ""}]
        return [still, {**box._repr_mimebundle_(), "text/plain": ""}]

    def close(self) -> None:
        """Take the figure out of the kernel's memory."""
        box, self.box = self.box, None
        left = [box] if box is not None else []
        while left:
            widget = left.pop()
            parts = [getattr(widget, name, None) for name in ("layout", "style")]
            left += getattr(widget, "children", ())
            for part in (widget, *parts):
                if part is not None:
                    part.close()

    def _ipython_display_(self) -> None:
        from ..predictions import show

        show(self)

    def _still(self) -> Bundle:
        try:
            frame = self.frame()
        except Exception as error:
            says = _failure(error)
            return {"text/html": str(tag("p", says)), "text/plain": says}
        about = f"{self.name}. {frame.says}"
        drawn = [
            join([tag("p", name), Markup(own.svg), fold(Markup(own.table), name)])
            for name, own in frame.pictures.items()
        ]
        parts = [
            tag("style", STYLE),
            tag("p", tag("strong", self.name), style="margin:4px 0"),
            tag("p", join([tag("strong", "Goal: "), self.goal]), style="margin:4px 0"),
            *drawn,
            tag("p", frame.says, style="margin:4px 0"),
            tag("p", "Run this cell for the controls.", style="margin:4px 0;font-size:13px;opacity:.85"),
        ]
        return {"text/html": str(tag("div", *parts, class_="abh-still")), "text/plain": about}

    def _build(self) -> Any:
        import ipywidgets as widgets

        self.close()
        cell.adopt(self)
        self._goal, self._picture = widgets.HTML(), widgets.HTML()
        # A live region that is replaced falls silent, so the sentence is a widget of its own, beside the picture.
        self._readout = widgets.HTML()
        self._numbers = widgets.ToggleButton(
            description="numbers as a table", layout={"width": "auto", "align_self": "flex-start"}
        )
        wrap = {"flex_flow": "row wrap", "align_items": "flex-start", "grid_gap": "2px 24px"}
        # What is large stands beside the picture where there is room, the rest above.
        large = [control.widget() for control in self.controls.values() if control.large]
        small = [control.widget() for control in self.controls.values() if not control.large]
        panel = widgets.HBox(small, layout={**wrap, "align_items": "center"})
        figure = widgets.HBox([*large, self._picture], layout=wrap)
        look = widgets.HTML(tag("style", STYLE), layout={"display": "none"})
        self._picture.add_class("abh-picture")
        self._readout.add_class("abh-readout")
        self.box = widgets.VBox([look, self._goal, panel, figure, self._readout, self._numbers])
        self.box.add_class("abh-live")
        self._goal.value = self._goal_html(now=False)
        self.redraw()
        self._later = cell.Coalesced(self.redraw)
        self._numbers.observe(lambda change: self._later(), "value")
        return self.box

    def _changed(self) -> None:
        if self.box is not None:
            self._later()

    def redraw(self) -> None:
        """Draw what the controls say now. What fails is said on the figure: a callback's error shows nowhere."""
        self.frames += 1
        try:
            frame = self.frame()
            pictures = [self._one(name, picture) for name, picture in frame.pictures.items()]
            self.failed = None
        except Exception as error:
            self.failed = error
            says = Markup('<p class="abh-failed" role="alert">{}</p>').format(_failure(error))
            self._picture.value, self._readout.value = says, ""
            return
        self._picture.value = tag("div", *pictures, class_="abh-pictures")
        self.reached = self.reached or frame.reached
        self._goal.value = self._goal_html(frame.reached)
        says = f"{frame.says} Goal reached." if frame.reached else frame.says
        self._readout.value = Markup(
            '<p role="status" aria-live="polite" style="margin:4px 0">{}</p>'
        ).format(says)

    def _one(self, name: str, picture: Picture) -> Markup:
        heading = [tag("p", name, class_="abh-name")] if name else []
        table = [fold(Markup(picture.table))] if self._numbers.value else []
        if not picture.svg:
            return tag("div", *heading, Markup(picture.table))
        return tag("div", *heading, Markup(picture.svg), *table)

    def _goal_html(self, now: bool) -> Markup:
        mark = tag(
            "strong", "Goal reached: " if now else "Goal, reached once: " if self.reached else "Goal: "
        )
        return tag("p", join([mark, self.goal]), class_="abh-goal")


def _failure(error: Exception) -> str:
    return (
        f"This setting cannot be drawn ({type(error).__name__}: {error}). "
        "The controls still work: move the last one back."
    )
