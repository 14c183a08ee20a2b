"""Figures: arrays in, pictures out. SVG for cards and live figures, matplotlib for the page."""

from __future__ import annotations

from .bundle import bundle
from .canvas import describe, panels
from .charts import plot_bars, plot_lines
from .measures import plot_measures
from .page import plot_pattern, plot_scores, plot_weights
from .picture import Picture
from .plots import histogram, in_bytes, plane, sizes
from .svg import bars, matrix, pattern, scores, table, weights
from .tiles import tile

__all__ = [
    "Picture",
    "bars",
    "bundle",
    "describe",
    "histogram",
    "in_bytes",
    "matrix",
    "panels",
    "pattern",
    "plane",
    "plot_bars",
    "plot_lines",
    "plot_measures",
    "plot_pattern",
    "plot_scores",
    "plot_weights",
    "scores",
    "sizes",
    "table",
    "tile",
    "weights",
]
