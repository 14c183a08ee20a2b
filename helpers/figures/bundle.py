"""One bundle for whatever a learner is shown: HTML with its text alternative, and one plain sentence."""

from __future__ import annotations

import base64
import io
import sys
from typing import Any

import numpy as np
from markupsafe import Markup

from .picture import Picture, fold, join, tag


def bundle(thing: Any, alt: str | None = None) -> dict[str, str]:
    """Turn a picture, figure, array or text into what a notebook displays.

    Parameters
    ----------
    thing : Picture, Axes, Figure, list of Axes, array-like or str
        A figure made with pyplot is closed afterwards, so that it is not drawn twice.
    alt : str, optional
        Text alternative; that of the data if not given.

    Returns
    -------
    dict of str to str
        ``text/html`` and ``text/plain``.

    Examples
    --------
    >>> bundle("a < b")
    {'text/html': '<p>a &lt; b</p>', 'text/plain': 'a < b'}
    """
    figure = _figure_of(thing)
    if figure is not None:
        return _from_figure(figure, alt)
    if isinstance(thing, str):
        return {"text/html": str(tag("p", thing)), "text/plain": thing}
    picture = thing if isinstance(thing, Picture) else _from_array(thing)
    if picture is not None:
        return {"text/html": picture.html, "text/plain": alt or picture.text}
    return {"text/html": str(tag("pre", repr(thing))), "text/plain": alt or repr(thing)}


def _figure_of(thing: Any) -> Any:
    """The figure behind an Axes, several of them, or a Figure; None for anything else."""
    if "matplotlib.figure" not in sys.modules:
        return None
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    if isinstance(thing, np.ndarray) and thing.dtype == object:  # as plt.subplots hands them out
        thing = thing.ravel().tolist()
    if isinstance(thing, list | tuple) and thing and all(isinstance(ax, Axes) for ax in thing):
        thing = thing[0]
    if isinstance(thing, Axes):
        thing = thing.figure
        return getattr(thing, "figure", None) or thing  # the figure itself, were it a subfigure
    return thing if isinstance(thing, Figure) else None


def _from_figure(figure: Any, alt: str | None) -> dict[str, str]:
    from .canvas import describe, table_of

    if alt is None:
        texts = [text for ax in figure.axes if (text := describe(ax))]
        heading = figure.get_suptitle().rstrip(".")
        alt = " ".join([f"{heading}."] * bool(heading) + texts) or "A figure without a title."
    file = io.BytesIO()
    # Twice the resolution of the page, for sharp text; no date and no version, so that runs compare equal.
    look = {"dpi": 200, "bbox_inches": "tight", "pad_inches": 0.06, "facecolor": "white"}
    figure.savefig(file, format="png", metadata={"Software": None}, **look)
    width = int.from_bytes(file.getvalue()[16:20], "big") // 2
    source = "data:image/png;base64," + base64.b64encode(file.getvalue()).decode("ascii")
    style = "max-width:100%;height:auto;background:#fff"
    parts = [Markup('<img alt="{}" src="{}" width="{}" style="{}">').format(alt, source, width, style)]
    parts += [fold(Markup(table), ax.get_title("left")) for ax in figure.axes if (table := table_of(ax))]
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None and pyplot.fignum_exists(getattr(figure, "number", -1)):
        pyplot.close(figure)
    return {"text/html": str(join(parts)), "text/plain": alt}


def _from_array(thing: Any) -> Picture | None:
    """Numbers as a picture; None for what is not an array of at most two axes."""
    from . import svg

    try:
        array = np.asarray(thing.detach().cpu() if hasattr(thing, "detach") else thing)
        if array.dtype.kind not in "biuf" or array.ndim > 2 or array.size == 0:
            return None
    except (TypeError, ValueError):
        return None
    if array.ndim == 2:
        return svg.pattern(array) if array.dtype == bool else svg.matrix(array)
    if array.ndim == 1:
        return svg.table([array.tolist()], rows=["value"], columns=[str(k) for k in range(array.size)])
    text = str(array.item())
    return Picture("", str(tag("p", text)), text)
