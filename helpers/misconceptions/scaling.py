"""Wrong beliefs about the division by √d_k."""

from __future__ import annotations

from .catalogue import also, belief, wrong
from .plain import blocked, scaled, softmax


@wrong(
    "scale-missing",
    "scores",
    "The scores are the dot products, just as they are.",
    verdict="the division by √d_k is missing",
    why="Dividing by √d_k brings the scores closer together before the "
    "exponential, so the largest wins by less.",
    source="mlc-llm PR #3426; PAIR tiny-transformers #71; TorchCode #17",
)
def scale_missing(Q, K):
    return Q @ K.T  # not divided by √d_k


@also("scale-missing", "head_scale")
def no_scale(d_model, n_heads):
    return 1.0


@wrong(
    "scale-dk",
    "scores",
    "The dot product is divided by d_k, as in a mean.",
    verdict="divided by d_k, not by its square root",
    why="A dot product adds d_k terms of either sign, which partly cancel: its size grows like √d_k, not like d_k.",
    source="TorchCode #17",
)
def scale_dk(Q, K):
    d_k = Q.shape[-1]
    return Q @ K.T / d_k


@also("scale-dk", "head_scale")
def head_width_itself(d_model, n_heads):
    return d_model / n_heads


@wrong(
    "scale-inverted",
    "scores",
    "The dot product is multiplied by √d_k.",
    verdict="multiplied by √d_k where it should be divided",
    why="Long vectors already have larger dot products: multiplying spreads "
    "the scores further instead of taming them.",
    source="esceptico/perceiver-io #9",
)
def scale_inverted(Q, K):
    return Q @ K.T * Q.shape[-1] ** 0.5


@wrong(
    "scale-length",
    "scores",
    "The dot product is divided by the square root of the number of tokens.",
    verdict="divided by the square root of the number of keys, not of their width",
    why="Each score is a sum over the d_k features; how many keys there are does not enter it.",
)
def scale_length(Q, K):
    n_k = len(K)
    return Q @ K.T / n_k**0.5


@wrong(
    "scale-after",
    "attention_weights",
    "The weights are divided by √d_k after the softmax.",
    verdict="divided by √d_k after the softmax, not before",
    why="After the softmax a division only makes every weight smaller, and the row no longer sums to 1.",
)
def scale_after(Q, K, allowed):
    weights = softmax(blocked(Q @ K.T, allowed))
    return weights / Q.shape[-1] ** 0.5


@wrong(
    "scale-dv",
    "attention",
    "The dot product is divided by the square root of the width of the values.",
    verdict="divided by √d_v, the width of the values",
    why="The values take no part in the dot product, so their width cannot say how large it becomes.",
    source="openai/gpt-2 #49",
)
def scale_dv(Q, K, V, allowed):
    d_v = V.shape[-1]
    weights = softmax(blocked(Q @ K.T / d_v**0.5, allowed))
    return weights @ V


@wrong(
    "scale-dmodel",
    "head_weights",
    "Every head divides by √d_model.",
    verdict="divided by √d_model, the width of all heads together",
    why="One head's dot product runs over its own d_model / n_heads features, and only these make it large.",
    source="ng-video-lecture #6; omihub777/ViT-CIFAR PR #11; dfdx #171; Graylab/DL4Proteins-notebooks #12",
)
def scale_dmodel(Q, K, n_heads, allowed):
    d_model = n_heads * Q.shape[-1]
    return softmax(blocked(Q @ K.T / d_model**0.5, allowed))


@also("scale-dmodel", "head_scale")
def model_scale(d_model, n_heads):
    return d_model**0.5


@wrong(
    "scale-heads",
    "head_weights",
    "Every head divides by the square root of the number of heads.",
    verdict="divided by √n_heads",
    why="A head does not know how many others there are; its dot product grows with its own width d_k.",
    source="tenstorrent/tt-metal #56789",
)
def scale_heads(Q, K, n_heads, allowed):
    return softmax(blocked(Q @ K.T / n_heads**0.5, allowed))


@also("scale-heads", "head_scale")
def number_of_heads(d_model, n_heads):
    return n_heads**0.5


@wrong(
    "scale-no-effect",
    "attention_weights",
    "Dividing every score by the same number washes out when the weights are normalised.",
    verdict="the common divisor is taken to cancel",
    why="Weights depend on differences of scores, and dividing every score divides the differences too.",
)
def scale_no_effect(Q, K, allowed, temperature):
    return softmax(blocked(scaled(Q, K), allowed))  # the temperature is left out: it would cancel


@wrong(
    "temperature-inverted",
    "attention_weights",
    "The scores are multiplied by the temperature.",
    verdict="multiplied by the temperature where it should be divided",
    why="A high temperature brings the scores closer together, so the weights become more even, not sharper.",
)
def temperature_inverted(Q, K, allowed, temperature):
    return softmax(blocked(scaled(Q, K) * temperature, allowed))


@wrong(
    "temp",
    "attention_weights",
    "A higher temperature lets some weight through to the blocked keys.",
    verdict="the temperature is taken to reach the blocked keys",
    why="A blocked score is -inf, and -inf divided by any temperature is "
    "still -inf: its exponential stays exactly 0.",
)
def temp(Q, K, allowed, temperature):
    kept = min(1, 1 / temperature)  # the rest is spread over all keys, blocked ones as well
    return kept * softmax(blocked(scaled(Q, K), allowed)) + (1 - kept) / len(K)


belief(
    "scale-sum",
    "With the wrong scale the weights of a row no longer sum to 1.",
    verdict="a wrong scale is taken to show in the sum of a row",
    why="The softmax divides by the sum of the exponentials, whatever they are: a "
    "wrong scale shows in the shares, not in the sum.",
    source="TinyTorch, Module 13, ta-guide.md",
)
belief(
    "scale-prevents",
    "Dividing by √d_k keeps the softmax from saturating.",
    verdict="what holds on average is taken for a promise",
    why="It assumes independent parts of mean 0 and variance 1. A query that "
    "points along its key saturates all the same.",
    source="common in explainers; both source texts of the course warn of it",
)
