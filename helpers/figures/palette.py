"""One palette for the page and the cards: colours of series, colours of numbers, names of axes."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

# Each is at least 3:1 on white and on JupyterLab's dark #111111, so that one value serves both themes (none
# of JupyterLab's own variables for colours is); texts take the colour of the text around them. Those that
# meet in a picture differ in lightness too, for every kind of colour vision.
QUERY = "#a06cea"
KEY = "#12a08a"
VALUE = "#c32240"
YOU = "#dc7b00"
RUN = "#175fc4"
GREY = "#7d8590"
ALLOWED = "#2e72be"  # the ramp of weights half way up: strong, and no number

SERIES = {"you": YOU, "run": RUN, "query": QUERY, "key": KEY, "value": VALUE}
OTHERS = (RUN, YOU, KEY, VALUE, QUERY, "#50575f")

QUERY_AXIS = "query i (reads)"
KEY_AXIS = "key j (is read)"
BLOCKED = "blocked"
EMPTY = "no key"

# The ramps are steep near zero: 1/64 is told from 0 by eye, and 0.25 from 0.26 is not.
_POSITIVE = {
    0: "#f4f7f9",
    1 / 64: "#d3ecfa",
    1 / 16: "#aad8f6",
    1 / 8: "#84c4f1",
    1 / 4: "#57a3e3",
    1 / 2: "#2e72be",
    3 / 4: "#225097",
    1: "#1b366c",
}
_NEGATIVE = {
    0: "#f4f7f9",
    1 / 64: "#f4e7d1",
    1 / 16: "#ecd1a7",
    1 / 8: "#e6ba7f",
    1 / 4: "#da9951",
    1 / 2: "#bd6819",
    3 / 4: "#9b4806",
    1: "#77330c",
}


def rgb(colour: str) -> tuple[int, int, int]:
    """Red, green and blue, 0 to 255, of ``#rrggbb``."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def luminance(colour: str) -> float:
    """Relative luminance as WCAG 2 defines it, 0 (black) to 1 (white)."""
    parts = np.array(rgb(colour)) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(one: str, other: str) -> float:
    """Contrast ratio as WCAG 2 defines it, 1 to 21.

    Examples
    --------
    >>> contrast("#ffffff", "#000000")
    21.0
    """
    dark, light = sorted((luminance(one), luminance(other)))
    return round((light + 0.05) / (dark + 0.05), 6)


@lru_cache(maxsize=4096)
def ink_on(colour: str) -> str:
    """Black or white, whichever is easier to read on `colour`: always at least 4.5:1."""
    return max(("#000000", "#ffffff"), key=lambda ink: contrast(ink, colour))


def series_colour(name: str, position: int) -> str:
    """Colour of a series: its own if it is you, the run, query, key or value, else by position."""
    return SERIES.get(name, OTHERS[position % len(OTHERS)])


@lru_cache(maxsize=64)
def dark(colour: str) -> str:
    """The same colour, darkened until text in it is easy to read on white."""
    while contrast(colour, "#ffffff") < 4.6:
        colour = "#{:02x}{:02x}{:02x}".format(*(int(part * 0.95) for part in rgb(colour)))
    return colour


def _ramp(stops: dict[float, str]) -> np.ndarray:
    """256 colours through the stops, (256, 3) of 0 to 255."""
    at = np.linspace(0, 1, 256)
    channels = np.array([rgb(colour) for colour in stops.values()]).T
    return (
        np.stack([np.interp(at, list(stops), channel) for channel in channels], axis=-1)
        .round()
        .astype(np.uint8)
    )


RAMP = _ramp(_POSITIVE)
# Negative numbers to the left, zero in the middle: 511 colours, so that zero has one of its own.
RAMP_BOTH = np.concatenate([_ramp(_NEGATIVE)[:0:-1], RAMP])


def colours(values: np.ndarray, limits: tuple[float, float] = (0.0, 1.0)) -> np.ndarray:
    """Colour of each number, the same in both worlds.

    Parameters
    ----------
    values : ndarray of any shape
        Numbers; those outside the limits take the colour of the nearer limit.
    limits : (low, high)
        ``(0, high)`` gives the ramp from pale to blue, ``(-high, high)`` the one with zero in the middle.

    Returns
    -------
    ndarray of uint8, shape (*values.shape, 3)
    """
    return ramp_for(limits)[places(values, limits)]


def ramp_for(limits: tuple[float, float]) -> np.ndarray:
    """The ramp of a scale: 256 colours from zero up, or 511 to both sides of it."""
    return RAMP if limits[0] >= 0 else RAMP_BOTH


def places(values: np.ndarray, limits: tuple[float, float] = (0.0, 1.0)) -> np.ndarray:
    """Place of each number on its ramp, as integers of the same shape."""
    low, high = limits
    size = len(ramp_for(limits))
    # Halved first: the largest float64 to both sides of zero is further apart than a float64 can say.
    place = (np.clip(values, low, high) / 2 - low / 2) / (high / 2 - low / 2)
    # The index rule of matplotlib's colour maps, so that the two worlds agree to the last bit.
    return np.clip(np.nan_to_num(place) * size, 0, size - 1).astype(int)


def colour(value: float, limits: tuple[float, float] = (0.0, 1.0)) -> str:
    """Colour of one number as ``#rrggbb``."""
    return "#{:02x}{:02x}{:02x}".format(*colours(np.array(value), limits))


def limits_for(values: np.ndarray) -> tuple[float, float]:
    """Limits for numbers that choose their own scale: from zero, or the same to both sides of it.

    Zero therefore always has the same pale colour.

    Examples
    --------
    >>> limits_for(np.array([1.0, 3.0])), limits_for(np.array([-2.0, 1.0]))
    ((0.0, 3.0), (-2.0, 2.0))
    """
    finite = values[np.isfinite(values)]
    largest = float(np.abs(finite).max()) if finite.size else 0.0
    # Away from where halving or doubling would leave the floats: a finfo.min fill is drawn too.
    largest = float(np.clip(largest, 1e-300, 1e300)) if largest else 1.0
    return (-largest, largest) if (finite < 0).any() else (0.0, largest)


@lru_cache(maxsize=2)
def colormap(both: bool = False):
    """The same ramp as a matplotlib colour map: from zero up, or to both sides of it."""
    from matplotlib.colors import ListedColormap

    colormap = ListedColormap(
        (RAMP_BOTH if both else RAMP) / 255, name="both sides of zero" if both else "from zero"
    )
    return colormap.with_extremes(bad=(0, 0, 0, 0))
