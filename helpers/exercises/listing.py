"""The exercises: what each asks for, and three hints that lead to it."""

from __future__ import annotations

from dataclasses import dataclass

from ..tasks import TASKS


@dataclass(frozen=True)
class Exercise:
    """One function to write.

    Parameters
    ----------
    id : str
    title : str
    task : str
        The right function it is compared with, a name in ``helpers.tasks.TASKS``.
    hints : tuple of three str
        From a nudge to nearly the line itself.
    frameworks : tuple of str
        In which libraries it can be written.
    """

    id: str
    title: str
    task: str
    hints: tuple[str, str, str]
    frameworks: tuple[str, ...] = ("numpy",)

    def __post_init__(self):
        if self.task not in TASKS or len(self.hints) != 3:
            raise ValueError(f"exercise {self.id} needs a task from helpers.tasks and three hints.")


EXERCISES: dict[str, Exercise] = {
    exercise.id: exercise
    for exercise in (
        Exercise(
            "01-softmax",
            "Softmax of each row of scores",
            "softmax",
            (
                "Two steps: an exponential for each score, then each divided by what they add up to.",
                "Adding the same amount to every score changes nothing. So you may first subtract something "
                "that keeps np.exp from overflowing: which number makes the largest score 0?",
                "Subtract the maximum, take np.exp, divide by the sum: maximum and sum both along the last "
                "axis (axis=-1, keepdims=True), so that each row is on its own.",
            ),
        ),
        Exercise(
            "01-attention-row",
            "The output of one query",
            "attention_row",
            (
                "Four steps: a dot product for each key; the division; the softmax; a weighted sum of the values.",
                "K @ q gives all the dot products. Divide by the square root of which length?",
                "weights @ V sums the rows of V by their weights: (n_k,) @ (n_k, d_v) gives (d_v,).",
            ),
        ),
        Exercise(
            "02-scores",
            "The scores of all queries with all keys",
            "scores",
            (
                "Row i, column j belongs to query i and key j. One product has all these dot products at once.",
                "The keys lie in the rows of K, so K has to be turned: (n_q, d_k) @ (d_k, n_k). Which size is the "
                "divisor made of?",
                "Q.shape[-1] is d_k. Divide the whole product by its square root; ** 0.5 leaves float32 as it is.",
            ),
        ),
        Exercise(
            "02-attention",
            "Attention over all keys",
            "full_attention",
            (
                "Three steps: scores, as before; a softmax in each row; then the sums of values.",
                "A row of scores runs along the last axis, so maximum and sum are taken there, with keepdims=True.",
                "Once the weights are (n_q, n_k), one product with V, which is (n_k, d_v), sums the values for every "
                "query at once.",
            ),
        ),
        Exercise(
            "03-softmax-slopes",
            "The slopes of a row of weights",
            "softmax_slopes",
            (
                "Write a weight as its exponential divided by the sum. A nudge of score j changes the sum, and "
                "one of the exponentials.",
                "Off the diagonal only the sum changes: weight i falls by weight i times weight j. On the diagonal the "
                "exponential grows as well, which adds the weight itself.",
                "np.outer gives all products of two weights, np.diag puts the weights on a diagonal: one minus the "
                "other.",
            ),
        ),
        Exercise(
            "04-causal-pattern",
            "Who may read whom under a causal mask",
            "causal_pattern",
            (
                "Say row 0 aloud, then row 1: which keys may that query read? Start from there.",
                "Column j is allowed in row i when j is not later than i. NumPy has functions for triangles.",
                "np.tril keeps the diagonal and what lies below. Give it a square array of nothing but True.",
            ),
        ),
        Exercise(
            "04-masked-weights",
            "Softmax over the allowed keys",
            "masked_weights",
            (
                "A blocked key should get weight exactly 0. Which score has the exponential 0?",
                "Change the scores before the softmax, not the weights after it, and do it by position: "
                "np.where(allowed, ..., ...).",
                "Put -np.inf where allowed is False. Then subtract the maximum of each row (axis=-1, "
                "keepdims=True), take np.exp, and divide each row by its sum.",
            ),
        ),
        Exercise(
            "05-combine",
            "A causal pattern that hides padding",
            "causal_and_padding",
            (
                "Two rules, and a key must pass both. Which of the two is the same for every query?",
                "Make the causal pattern first. keep has one entry for each key, and a row of the pattern "
                "has one column for each key.",
                "A row of n entries beside an (n, n) array goes along every row of it by itself. "
                "Combine the two with &.",
            ),
        ),
        Exercise(
            "05-converter",
            "From three kinds of mask to allowed",
            "to_allowed",
            (
                "Write down, for each kind, what an entry looks like that may be read.",
                "In two of the kinds it is the same number, and False is equal to that number.",
                "A comparison with 0 gives booleans of any array, be it floats, integers or booleans: "
                "== for two of the kinds, != for the third.",
            ),
        ),
        Exercise(
            "06-causal-attention",
            "Causal attention",
            "causal_attention",
            (
                "Four steps: divided scores; the future blocked; the softmax of each row; the sum of values.",
                "The strict upper triangle is the future: triu with an offset of 1. Its scores become -inf "
                "before the softmax, in a new array.",
                "Divide Q @ K.T by the square root of the width of Q. Write -inf where the future is True. "
                "Take the softmax over the last axis, and multiply the weights by V.",
            ),
            ("numpy", "torch", "jax"),
        ),
        Exercise(
            "07-split-heads",
            "Cut the features into heads",
            "split_heads",
            (
                "Take one row of X and no head is torn: its features, in blocks of d_head, are the heads' parts. "
                "Which shape has X when only this last axis is cut in two?",
                "Reshape to (..., T, n_heads, d_head): that cuts each row and mixes nothing. Then the head axis "
                "has to come before the positions.",
                "X.reshape(*X.shape[:-1], n_heads, -1) cuts the last axis. Then exchange the axes -3 and -2 with "
                "swapaxes: counted from the end, they are the same with and without axes in front.",
            ),
        ),
        Exercise(
            "07-merge-heads",
            "Put the heads side by side again",
            "merge_heads",
            (
                "It is the cut run backwards. Which of its two steps has to be undone first?",
                "First bring the heads behind the positions, so that the parts of one position lie together. "
                "Only then may a reshape make one axis of the last two.",
                "H.swapaxes(-3, -2) gives (..., T, n_heads, d_head). Keep all its axes but the last two in the "
                "reshape, and let -1 stand for n_heads times d_head.",
            ),
        ),
        Exercise(
            "07-multi-head",
            "Attention with several heads",
            "multi_head_attention",
            (
                "Five steps: three projections; the cut; attention in all heads at once; the join; W_O.",
                "Once cut, the steps are those of one head, on the last two axes: K.swapaxes(-2, -1) in the place "
                "of K.T. Which width stands under the root now?",
                "Cut X @ W_Q, X @ W_K and X @ W_V. Divide Q @ K.swapaxes(-2, -1) by the square root of "
                "Q.shape[-1], put -np.inf where allowed is False, take the softmax over the last axis, multiply "
                "by V. Join the heads and multiply by W_O.",
            ),
        ),
        Exercise(
            "08-next-score",
            "One more score",
            "next_score",
            (
                "Two cases: the score is the new maximum, or it is not. Can one formula serve both?",
                "First the new maximum. The sum so far holds exp(s - old) of each score s. What turns "
                "exp(s - old) into exp(s - new)?",
                "Multiply the sum by exp(old maximum - new maximum), which is 1 where nothing changed. "
                "Then add exp(score - new maximum).",
            ),
        ),
        Exercise(
            "08-next-tile",
            "One more tile of scores, for several queries",
            "next_tile",
            (
                "Step 1 again, one row per query. Which functions are max and + for whole rows?",
                "scores.max(axis=-1, keepdims=True) is (n_q, 1), like running_max: np.maximum takes the larger of the "
                "two in each row.",
                "Shrink running_sum by exp(running_max - new_max). Add the sum of exp(scores - new_max) along axis=-1, "
                "with keepdims=True. np.hstack puts the two columns side by side.",
            ),
        ),
        Exercise(
            "08-add-tile",
            "One more tile, with its values",
            "add_tile",
            (
                "What happens to the output so far when the maximum rises? It is a sum of exponentials, too.",
                "The same factor shrinks the sum and the output. The exponentials of the tile are then needed twice.",
                "With exps = exp(scores - new_max): add the sums of its rows to the sum, and exps @ V to the output. "
                "Do not divide yet.",
            ),
        ),
        Exercise(
            "08-tiles",
            "Attention, tile after tile",
            "tiled_attention",
            (
                "Start the state, add one tile of keys after the other, divide at the end. Where does each tile begin?",
                "range(0, len(K), size) gives the beginnings; a slice beyond the end is cut short by itself. Before "
                "the first tile, sum and output are 0. And the maximum?",
                "Start the maximum at np.finfo(float).min, the lowest finite number. In each tile: the scores of all "
                "queries with these keys, -inf where not allowed; then the lines of your third step.",
            ),
        ),
        Exercise(
            "09-picture",
            "Numbers to draw for one head",
            "picture_of_head",
            (
                "Go through the four lines and ask of each: would it still be right for another head, another "
                "pattern, or a head that is evenly spread?",
                "Three of the four lines can go: one mixes heads, one exchanges queries and keys, one gives every "
                "picture a scale of its own.",
                "What is left is one np.where: heads[head] where allowed is True, and a number below all weights "
                "where it is False.",
            ),
        ),
        Exercise(
            "09-lengths",
            "How much each edge writes",
            "edge_lengths",
            (
                "An edge from query i to key j adds A[i, j] times a vector. Which vector is that, after W_O?",
                "The vector of key j is the same for all queries, so one length for each key is enough: those of "
                "the rows of V @ W_O.",
                "np.linalg.norm(..., axis=-1) gives the lengths, (n_k,). A row of A has one column for each key, "
                "so a product lays them out by itself.",
            ),
        ),
        Exercise(
            "10-repair-attention",
            "Causal attention, repaired",
            "causal_attention",
            (
                "Add up each row of `weights`, then each column. Which of the two should make 1?",
                "A query shares its attention out among the keys, and the keys are the columns. Along which axis "
                "do a maximum and a sum run that belong to one query?",
                "Take maximum and sum along axis=-1, both with keepdims=True, so that each row keeps to itself.",
            ),
        ),
        Exercise(
            "10-repair-weights",
            "Weights over the allowed keys, repaired",
            "masked_weights",
            (
                "Follow one allowed key through the first two lines. Is there a score with which it gets lost?",
                "Whether a key is blocked stands in `allowed`. The value of its score says nothing about it.",
                "One np.where does the work of the first two lines: it asks `allowed`, keeps the scores where that "
                "is True, and puts -np.inf elsewhere.",
            ),
        ),
        Exercise(
            "10-repair-join",
            "Heads put side by side, repaired",
            "merge_heads",
            (
                "Write down the numbers of a small H in the order in which they lie there. Which of them belong "
                "to token 0?",
                "A row of the result belongs to one token and takes something from each head. So before the "
                "reshape the token axis has to stand in front of the head axis.",
                "Exchange the axes -3 and -2 with swapaxes, then reshape as before.",
            ),
        ),
    )
}
