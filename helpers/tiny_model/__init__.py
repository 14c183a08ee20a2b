"""A small transformer that was trained, not built: see each step, change any, and measure what that does."""

from .edges import cut_each, edge_table, last_layer_edges, telling_edges
from .edits import HOWS, ablate, ablate_heads, cut, replace, together
from .heads import HEADS, head_changes, head_table, looks, matches, rank_correlation
from .model import N_HEADS, N_LAYERS, SITES, forward, load
from .side_effects import Usual, direct_effects, displacement_table, reactions, stand_ins
from .task import best_possible, parts, sequences, text

__all__ = [
    "HEADS",
    "HOWS",
    "N_HEADS",
    "N_LAYERS",
    "SITES",
    "Usual",
    "ablate",
    "ablate_heads",
    "best_possible",
    "cut",
    "cut_each",
    "direct_effects",
    "displacement_table",
    "edge_table",
    "forward",
    "head_changes",
    "head_table",
    "last_layer_edges",
    "load",
    "looks",
    "matches",
    "parts",
    "rank_correlation",
    "reactions",
    "replace",
    "sequences",
    "stand_ins",
    "telling_edges",
    "text",
    "together",
]
