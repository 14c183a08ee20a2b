"""A picture for a card: inline SVG, the same numbers as a real table, and one plain sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property

from markupsafe import Markup, escape


def tag(name: str, *children: object, **attributes: object) -> Markup:
    """An HTML or SVG element; children and attributes are escaped unless they are markup already.

    Examples
    --------
    >>> print(tag("text", "<script>", font_size=12))
    <text font-size="12">&lt;script&gt;</text>
    """
    inside = "".join([child if type(child) is Markup else escape(child) for child in children])
    return Markup(f"<{name}{written(attributes)}>{inside}</{name}>")


def written(attributes: Mapping[str, object]) -> str:
    """Attributes as they stand in an element, escaped; None leaves one out.

    Examples
    --------
    >>> written({"fill": "none", "font_size": 12, "stroke": None})
    ' fill="none" font-size="12"'
    """
    parts = []
    for key, value in attributes.items():
        if value is not None:
            value = (
                f"{value:g}" if isinstance(value, float) else value if type(value) is int else escape(value)
            )
            parts.append(f' {_spelled(key)}="{value}"')
    return "".join(parts)


@cache
def _spelled(key: str) -> str:
    """An attribute as HTML writes it, where Python says ``class_`` or ``font_size``."""
    return key.rstrip("_").replace("_", "-")


def join(parts: Iterable[object]) -> Markup:
    """Elements one after the other."""
    return Markup("").join(parts)


def sideways(content: Markup, name: str) -> Markup:
    """Something that may be wider than a narrow page: it scrolls by itself, and by keyboard too."""
    return tag("div", content, style="overflow-x:auto", tabindex=0, role="group", aria_label=name)


def fold(table: Markup, title: str = "") -> Markup:
    """A table that only repeats a picture, waiting behind a line that names it."""
    name = f"numbers as a table: {title}" if title else "numbers as a table"
    summary = tag("summary", name, style="cursor:pointer;font-size:13px")
    return tag("details", summary, table, style="margin:2px 0 6px")


@dataclass(frozen=True)
class Picture:
    """What a learner is shown, in every form a viewer may want.

    Attributes
    ----------
    svg : str
        Inline SVG without ids, labelled with `text`; empty where the table says everything.
    numbers : str or callable
        The table, or how to make it: a live figure draws many pictures and asks for few tables.
    text : str
        What the picture shows, in words, computed from its data.
    folded : bool
        Whether the table only repeats the picture and waits behind "numbers as a table".
    """

    svg: str
    numbers: str | Callable[[], str] = field(compare=False)
    text: str
    folded: bool = False

    @cached_property
    def table(self) -> str:
        """A real HTML table: what is left of a picture in a notebook opened untrusted."""
        return self.numbers if isinstance(self.numbers, str) else self.numbers()

    @property
    def html(self) -> str:
        """The table and the picture, ready for ``IPython.display.HTML`` or ``ipywidgets.HTML``."""
        picture = tag("div", Markup(self.svg), style="margin:6px 0") if self.svg else Markup("")
        table = Markup(self.table)
        return str(picture + fold(table) if self.folded else table + picture)

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        return {"text/html": self.html, "text/plain": self.text}
