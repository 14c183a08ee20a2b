"""Wrong beliefs about array operations, and about what the numbers of a test can see."""

from __future__ import annotations

import numpy as np

from .catalogue import belief, wrong
from .plain import caller_after, outputs


@wrong(
    "fixture-sees-all",
    "outputs",
    "A test whose right numbers are known shows every wrong program.",
    verdict="the example is taken to see every error",
    why="It sees an error only if its sizes and values make that error change a number: here d_k is 1, and no "
    "blocked score is far above the rest.",
)
def as_if_it_saw_all(Q, K, V, programs):
    Q = np.hstack([Q, Q, 1 / Q])  # as if keys were three numbers wide
    K = np.hstack([K, K, K[::-1] * K])  # and unlike the queries
    programs = [name.replace("renormalised", "after") for name in programs]
    return outputs(Q, K, V, programs)


@wrong(
    "fixture-ordinary",
    "outputs",
    "An example with few numbers shows the same errors as one with many.",
    verdict="the example is taken for one with wider keys, which differ from the queries",
    why="That would show five of the six. Here a key is one number wide, and the keys are the queries.",
)
def as_if_it_were_ordinary(Q, K, V, programs):
    Q = np.hstack([Q, Q, 1 / Q])  # as if keys were three numbers wide
    K = np.hstack([K, K, K[::-1] * K])  # and unlike the queries
    return outputs(Q, K, V, programs)


@wrong(
    "fixture-wide",
    "outputs",
    "Without the division the scores are always larger.",
    verdict="the keys are taken to be two numbers wide",
    why="There are two keys, and each is one number wide: d_k is the width of a key.",
)
def as_if_two_wide(Q, K, V, programs):
    Q, K = np.hstack([Q, Q]), np.hstack([K, K])  # as if keys were two numbers wide
    programs = [name.replace("scale-length", "scale-missing") for name in programs]
    return outputs(Q, K, V, programs)


@wrong(
    "fixture-length",
    "outputs",
    "Where d_k is 1, no division shows.",
    verdict="√T is taken for √d_k",
    why="T counts positions, and there are two: √T is 1.41, not 1.",
)
def as_if_one_position(Q, K, V, programs):
    programs = [name.replace("scale-length", "scale-dk") for name in programs]
    return outputs(Q, K, V, programs)


@wrong(
    "swap-always-shows",
    "outputs",
    "Exchanged queries and keys always change the output.",
    verdict="the keys are taken to differ from the queries",
    why="Q and K hold the same numbers here, so Q @ K.T and K @ Q.T are one matrix.",
)
def as_if_k_were_not_q(Q, K, V, programs):
    return outputs(Q, K[::-1], V, programs)


@wrong(
    "swap-never-shows",
    "outputs",
    "Queries and keys play the same part, so exchanging them changes nothing.",
    verdict="queries and keys are taken to play the same part",
    why="K @ Q.T is Q @ K.T with rows and columns exchanged, and the mask and the softmax go by rows.",
)
def as_if_k_were_q(Q, K, V, programs):
    programs = [name.replace("swap-qk", "right") for name in programs]
    return outputs(Q, K, V, programs)


@wrong(
    "late-mask-shows",
    "outputs",
    "A mask after the softmax gives other weights, whatever follows.",
    verdict="the division by the row's sum is taken to repair nothing",
    why="The ratio of two legal weights does not depend on the others, so dividing by what is left of the row "
    "gives the right ones as long as something is left.",
)
def as_if_not_repaired(Q, K, V, programs):
    programs = [name.replace("renormalised", "after") for name in programs]
    return outputs(Q, K, V, programs)


@wrong(
    "assignment-writes",
    "caller_after",
    "Q = Q / 2 changes the array that was handed in.",
    verdict="an assignment is taken to write on the array",
    why="The right side makes a new array, and = only gives the name Q to it; the old one is as it was.",
)
def assignment_writes(Q, lines):
    lines = [line.replace("Q = Q / 2", "Q /= 2") for line in lines]
    return caller_after(Q, lines)


@wrong(
    "inplace-copies",
    "caller_after",
    "Q /= 2 is only short for Q = Q / 2.",
    verdict="/= is taken to make a new array",
    why="For a NumPy array /= divides in place: whoever else holds the array sees the new numbers.",
    source="d2l, X[~mask] = ...; pytorch/pytorch #109072 (masked_fill_)",
)
def inplace_copies(Q, lines):
    lines = [line.replace("Q /= 2", "Q = Q / 2") for line in lines]
    return caller_after(Q, lines)


@wrong(
    "view-copies",
    "caller_after",
    "Q.T is a new array.",
    verdict="a transpose is taken for a copy",
    why="A transpose looks at the same numbers in another order: what is written on it is written on the original.",
)
def view_copies(Q, lines):
    lines = [line.replace("S = Q.T", "S = Q.T.copy()") for line in lines]
    return caller_after(Q, lines)


@wrong(
    "product-is-view",
    "caller_after",
    "Whatever is computed from an array still writes on it.",
    verdict="a product is taken for a view of its factors",
    why="A product holds new numbers in an array of its own.",
)
def product_is_view(Q, lines):
    lines = [line.replace("S = Q @ Q", "S = Q") for line in lines]
    return caller_after(Q, lines)


@wrong(
    "numbers-never-widen",
    "bytes_each",
    "Dividing by a single number never changes the dtype of an array.",
    verdict="every single number is taken to adapt to the array",
    why="A Python number adapts. A NumPy number has a dtype of its own, and float64 wins over float32.",
)
def numbers_never_widen(d_k, dtype):
    return np.full(3, np.dtype(dtype).itemsize)


@wrong(
    "division-widens",
    "bytes_each",
    "A Python float has 8 bytes, so dividing by one gives 8 bytes.",
    verdict="a Python number is taken to widen the array",
    why="A Python number has no dtype that NumPy would have to keep: it takes that of the array.",
)
def division_widens(d_k, dtype):
    narrow = np.dtype(dtype).itemsize
    return np.array([narrow, 8, 8])


@wrong(
    "python-widens",
    "bytes_each",
    "NumPy's own functions keep the dtype; Python's ** does not.",
    verdict="Python's and NumPy's numbers are exchanged",
    why="It is the other way round: np.sqrt of a whole number is a float64 and says so; a Python number "
    "adapts to the array.",
)
def python_widens(d_k, dtype):
    narrow = np.dtype(dtype).itemsize
    return np.array([narrow, 8, narrow])


belief(
    "same-formula-same-bits",
    "The same formula gives the same bits everywhere.",
    verdict="two orders of addition are taken to round alike",
    why="Each addition is rounded, so a sum depends on its order in the last digits.",
)
