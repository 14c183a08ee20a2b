"""Wrong beliefs about blocking scores."""

from __future__ import annotations

import numpy as np

from .catalogue import also, belief, wrong
from .plain import softmax, weigh


@wrong(
    "mask-ignored",
    "masked_weights",
    "Every key is read, the later ones too.",
    verdict="the blocked keys are read as well",
    why="What the rule forbids is not read at all, however well it matches.",
)
def mask_ignored(scores, allowed):
    return softmax(scores)


@also("mask-ignored", "causal_pattern")
def all_pairs(n_q):
    return np.ones((n_q, n_q), dtype=bool)


@also("mask-ignored", "pattern")
def nothing_blocked(allowed):
    return np.ones_like(allowed)


@wrong(
    "mask-value-0",
    "masked_weights",
    "A blocked score is set to 0.",
    verdict="blocked scores are set to 0, and exp(0) is 1",
    why="0 is an ordinary score, larger than many allowed ones: a blocked key then counts as much as "
    "a key that scores 0. So does -1e-9, one sign away from -1e9.",
    source="allenai/allennlp PR #105; XiangMochu/RnG #2; Shujun-He/RibonanzaNet #5 (-1e-9)",
)
def mask_value_0(scores, allowed):
    scores = np.where(allowed, scores, 0)
    return softmax(scores)


@wrong(
    "mask-after",
    "masked_weights",
    "The blocked weights are set to 0 after the softmax.",
    verdict="blocked after the softmax: the rows sum to less than 1",
    why="The blocked keys have taken their share of the row before they "
    "are removed, and nobody gives it back.",
    source="huggingface/pytorch-image-models PR #2236; self-critical #89",
)
def mask_after(scores, allowed):
    weights = softmax(scores)
    return np.where(allowed, weights, 0)


@wrong(
    "mask-renormalised",
    "masked_weights",
    "Zeros after the softmax are fine once each row is divided by its sum.",
    verdict="blocked after the softmax and normalised again: this fails "
    "when a blocked score is far above the rest",
    why="On tame scores it agrees. With a blocked score of 900 every legal exponential has vanished "
    "already, and 0 / 0 is left.",
    source="pointer-generator #88",
)
def mask_renormalised(scores, allowed):
    weights = np.where(allowed, softmax(scores), 0)
    return weights / weights.sum(axis=-1, keepdims=True)


@wrong(
    "polarity",
    "pattern",
    "True means blocked.",
    verdict="allowed and blocked are exchanged",
    why="Here True means may attend. Some libraries mean the opposite, and "
    "no error tells you: look at the first row.",
    source="rasbt/LLMs-from-scratch #1061; pytorch/pytorch PR #170415, #120668; x-transformers #164",
)
def polarity(allowed):
    return ~allowed


@also("polarity", "causal_pattern")
def future_only(n_q):
    return np.triu(np.ones((n_q, n_q), dtype=bool), 1)


@wrong(
    "mask-past",
    "causal_pattern",
    "A position reads itself and what comes after it.",
    verdict="the past is blocked instead of the future",
    why="Rows are queries: row 0 has only key 0 to read, so the allowed cells lie on and below the diagonal.",
)
def mask_past(n_q):
    return np.triu(np.ones((n_q, n_q), dtype=bool))


@wrong(
    "mask-diag",
    "causal_pattern",
    "A position reads the earlier positions, but not itself.",
    verdict="the diagonal is blocked: nobody reads its own position",
    why="Then query 0 has no key at all, and its row is 0 / 0. Only what "
    "lies strictly above the diagonal is blocked.",
    source="pbloem/former #10; transformer-explainer, Article 320",
)
def mask_diag(n_q):
    return np.tril(np.ones((n_q, n_q), dtype=bool), -1)


@wrong(
    "mask-one-ahead",
    "causal_pattern",
    "A position may read one position ahead.",
    verdict="the diagonal is one off: each position reads the next one",
    why="The next token is the answer that the position is to predict. Row 0 has one legal key, not two.",
)
def mask_one_ahead(n_q):
    return np.tril(np.ones((n_q, n_q), dtype=bool), 1)


@wrong(
    "mask-only-self",
    "causal_pattern",
    "A position may read only itself.",
    verdict="the past is blocked as well: only the diagonal is left",
    why="Everything up to the own position may be read: row i has i + 1 legal keys.",
)
def mask_only_self(n_q):
    return np.eye(n_q, dtype=bool)


@wrong(
    "mask-on-queries",
    "pattern",
    "The pattern goes on the query axis: it says which rows are blocked.",
    verdict="blocked along the query axis instead of the key axis",
    why="A blocked key is a column: nobody may read it. A query that is blocked instead has nothing to "
    "read, and its row is 0 / 0.",
    source="hyunwoongko/transformer #40; huggingface/transformers #11",
)
def mask_on_queries(allowed):
    return allowed.T


@wrong(
    "padrows",
    "pattern",
    "The rows of padding tokens have to be blocked too.",
    verdict="padding blocks its query as well as its key",
    why="Nobody reads what a padding position puts out, so its row may hold "
    "anything. Blocking it leaves a row with no legal key.",
    source="annotated-transformer #37, #137; pytorch_advanced #175",
)
def padrows(allowed):
    readable = allowed.any(axis=0)  # keys that somebody may read
    return allowed & readable[:, None]


@wrong(
    "mask-sentinel",
    "masked_weights",
    "Multiply the scores by the pattern, then turn every 0 into -inf.",
    verdict="a legal score of exactly 0 is blocked too",
    why="Two vectors at a right angle have the score 0, and that is an "
    "ordinary score. Block by position, never by value.",
    source="TorchCode #17",
)
def mask_sentinel(scores, allowed):
    scores = scores * allowed
    return softmax(np.where(scores == 0, -np.inf, scores))


@wrong(
    "mask-finite-fill",
    "masked_weights",
    "A blocked score is set to -1e9: low enough.",
    verdict="blocked with -1e9, which is an ordinary number",
    why="A legal score of -2e9 loses against it, and a row with no legal key gets an even share for every "
    "forbidden one. Fill with -inf.",
    source="d2l PR #2423; apex #1390",
)
def mask_finite_fill(scores, allowed):
    return softmax(np.where(allowed, scores, -1e9))


@wrong(
    "mask-small-fill",
    "masked_weights",
    "A blocked score is set to -10000: low enough.",
    verdict="blocked with -10000, which is an ordinary number",
    why="A legal score of -20000 loses against it. Fill with -inf, which nothing can fall below.",
    source="huggingface/transformers #12109; hyunwoongko/transformer #40",
)
def mask_small_fill(scores, allowed):
    return softmax(np.where(allowed, scores, -1e4))


@wrong(
    "mask-added-fill",
    "masked_weights",
    "A blocked score gets -1e9 added to it.",
    verdict="-1e9 is added, which blocks only while the legal scores are near 0",
    why="A legal score of -2e9 loses against it; and a row with no legal key comes back as if nothing were "
    "blocked. Add -inf, or fill with it.",
)
def mask_added_fill(scores, allowed):
    return softmax(scores + np.where(allowed, 0, -1e9))


@wrong(
    "mask-added",
    "masked_weights",
    "The pattern is added to the scores.",
    verdict="the pattern is added as 0 and 1",
    why="Adding 1 to the legal scores only favours them a little; a blocked key keeps a share.",
    source="huggingface/diffusers #14342; huggingface/transformers #41443",
)
def mask_added(scores, allowed):
    return softmax(scores + allowed)


@wrong(
    "mask-times-inf",
    "masked_weights",
    "Multiplying 1 - allowed by -inf gives 0 where allowed and -inf elsewhere.",
    verdict="multiplied by -inf, and 0 times -inf is not a number",
    why="Every allowed cell becomes NaN, and with it every row. Choose with np.where instead of multiplying.",
    source="cerebroai/reformers #3",
)
def mask_times_inf(scores, allowed):
    return softmax(scores + (1 - allowed) * -np.inf)


@wrong(
    "mask-sign",
    "masked_weights",
    "A blocked score is set to +inf.",
    verdict="the sign is wrong: +inf wins instead of losing",
    why="exp(-inf) is 0, but exp(+inf) is infinite, and infinity divided by infinity is not a number.",
    source="lucidrains/memory-compressed-attention #2",
)
def mask_sign(scores, allowed):
    return softmax(np.where(allowed, scores, np.inf))


@wrong(
    "fullrow",
    "attention_weights",
    "The softmax copes with a row in which every key is blocked.",
    verdict="a row with nothing to read goes through the softmax",
    why="Its exponentials are all 0 and so is their sum. Say what such a row "
    "should be, or make sure that each has a legal key.",
    source="pytorch/pytorch #103749, #103963; d2l PR #2423; apex #1390",
)
def fullrow(Q, K, allowed):
    return weigh(Q, K, allowed)


@wrong(
    "masked-nan",
    "attention",
    "What a blocked value holds cannot matter: its weight is 0.",
    verdict="a weight of 0 is taken to remove NaN",
    why="A weight of 0 removes every finite value, but not NaN or "
    "infinity: clear the blocked values before the sum.",
    source="pytorch/pytorch #101967",
)
def masked_nan(Q, K, V, allowed):
    weights = np.nan_to_num(weigh(Q, K, allowed))  # empty rows are 0
    return weights @ V


@wrong(
    "align",
    "causal_pattern",
    "Query 0 stands at key 0, however many keys there are.",
    verdict="aligned at the top left, as if the first query stood at the first key",
    why="With cached keys one new query stands at the end and may read all of "
    "them; aligned at the top left it reads only key 0.",
    source="flash-attention #517; mlx #2835; tvm PR #14907",
)
def align(n_q, n_k):
    return np.tri(n_q, n_k, dtype=bool)


belief(
    "mask-addtwice",
    "Two planes of the lowest number are as good as one.",
    verdict="two lowest numbers are added, and overflow to -inf",
    why="finfo.min + finfo.min overflows to -inf, so a row that both planes block "
    "has no finite score left. Combine booleans with &.",
    source="huggingface/transformers PR #17306, #26421, #31303; NVIDIA-NeMo/Automodel PR #2658",
)
belief(
    "mask-fp16",
    "A fill of -1e9 blocks in half precision as it does in single.",
    verdict="the fill is a number that float16 does not have",
    why="Its lowest number is -65504: -1e9 becomes -inf or is refused, and the "
    "row that was to be saved by a finite number is not.",
    source="fairseq #3575; apex #1105; flax #982",
)
belief(
    "leak",
    "A very low training loss shows that the model is good.",
    verdict="a loss too good to be true is taken for success",
    why="If a position can read its own answer it need not predict it. Change "
    "a future token: nothing before it may move.",
    source="attention-is-all-you-need-pytorch #19",
)
belief(
    "convention-drift",
    "True means the same in every library and every module.",
    verdict="one convention is taken to hold everywhere",
    why="An additive mask of 0 and -inf, handed to a function that expects "
    "True for allowed, passes every test of shapes.",
    source="harvard-edge/cs249r_book PR #1785",
)
