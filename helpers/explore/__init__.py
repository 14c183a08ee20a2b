"""Live figures: move a control and see attention follow. Controls and pictures; the maths is that of the helpers.

Each function returns a figure; ending a cell with it shows it, ``show(figure, after="04-hot")`` shows it once that
question is committed.
"""

from __future__ import annotations

from .growth import growth
from .heads import heads
from .live import Frame, LiveFigure
from .masks import masks
from .row import row
from .scale import scale
from .temperature import temperature
from .tiles import tiles

__all__ = ["Frame", "LiveFigure", "growth", "heads", "masks", "row", "scale", "temperature", "tiles"]
