"""A picture for a card: inline SVG, the same numbers as a real table, and one plain sentence."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from markupsafe import Markup, escape


def tag(name: str, *children: object, **attributes: object) -> Markup:
    """An HTML or SVG element; children and attributes are escaped unless they are markup already.

    Examples
    --------
    >>> print(tag("text", "<script>", font_size=12))
    <text font-size="12">&lt;script&gt;</text>
    """
    parts = [f"<{name}"]
    for key, value in attributes.items():
        if value is not None:
            text = f"{value:g}" if isinstance(value, float) else value
            parts.append(f' {key.rstrip("_").replace("_", "-")}="{escape(text)}"')
    parts.append(">")
    parts.extend(escape(child) for child in children)
    parts.append(f"</{name}>")
    return Markup("".join(parts))


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
    table : str
        A real HTML table: what is left of a picture in a notebook opened untrusted.
    text : str
        What the picture shows, in words, computed from its data.
    folded : bool
        Whether the table only repeats the picture and waits behind "numbers as a table".
    """

    svg: str
    table: str
    text: str
    folded: bool = False

    @property
    def html(self) -> str:
        """The table and the picture, ready for ``IPython.display.HTML`` or ``ipywidgets.HTML``."""
        picture = tag("div", Markup(self.svg), style="margin:6px 0") if self.svg else Markup("")
        table = Markup(self.table)
        return str(picture + fold(table) if self.folded else table + picture)

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        return {"text/html": self.html, "text/plain": self.text}
