"""The checker: what it says of stubs, solutions, wrong programs, and of all that can go wrong in between."""

from __future__ import annotations

import functools
import html
import html.parser
import math
import statistics
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest

from helpers import attention, patterns, tasks
from helpers.exercises import EXERCISES, SOLUTIONS, Result, check, check_task, hint
from helpers.exercises import solution as show_solution
from helpers.exercises.cases import cases_for
from helpers.misconceptions import CATALOGUE, programs_for

from .support import optional

TASKS = [task for task in tasks.TASKS if programs_for(task)]
EXERCISE_PROGRAMS = [(id, name) for id, one in EXERCISES.items() for name in programs_for(one.task)]


def solution(id, **names):
    """A reference solution as a notebook has it: its source, run beside the imports of the setup cell."""
    notebook = {"np": np, "math": math, "__name__": "__main__", **names}
    before = set(notebook)
    exec(compile(SOLUTIONS[id], f"<solution {id}>", "exec"), notebook)
    (name,) = set(notebook) - before - {"__builtins__"}
    return notebook[name]


def stub(scores):
    """Weights over the last axis."""
    ...


def test_every_exercise_has_three_hints_a_solution_and_cases():
    assert [id[:2] for id in EXERCISES] == sorted(id[:2] for id in EXERCISES)
    for id, exercise in EXERCISES.items():
        assert exercise.id == id and id in SOLUTIONS and len(set(exercise.hints)) == 3
        assert len(cases_for(exercise.task)) >= 4
        for framework in exercise.frameworks[1:]:
            assert f"{id}-{framework}" in SOLUTIONS


@pytest.mark.parametrize("id", EXERCISES)
@pytest.mark.parametrize(
    "function",
    [stub, lambda scores: ..., None, ..., lambda *arrays: None],
    ids=["stub", "returns dots", "None", "dots", "returns None"],
)
def test_a_stub_is_not_started(id, function):
    result = check(id, function)
    assert (result.passed, result.misconception, result.score) == (None, None, 0.0)
    assert "Not started yet" in repr(result)


def test_a_stub_that_begins_and_ends_in_dots_is_not_started():
    def begun(scores):
        largest = scores.max()
        print(largest)
        return ...

    assert check("01-softmax", begun).passed is None


@pytest.mark.parametrize("id", EXERCISES)
@pytest.mark.filterwarnings("error")
def test_the_solution_passes(id):
    result = check(id, solution(id))
    assert (result.passed, result.misconception, result.score) == (True, None, 1.0), result
    assert not result.notes


def test_the_solution_passes_in_torch():
    result = check(
        "06-causal-attention", solution("06-causal-attention-torch", torch=optional("torch")), "torch"
    )
    assert result.passed is True and not result.notes, result


def test_the_solution_passes_in_jax():
    jax = optional("jax")
    result = check("06-causal-attention", solution("06-causal-attention-jax", jax=jax, jnp=jax.numpy), "jax")
    assert result.passed is True and not result.notes, result


@pytest.mark.parametrize(("id", "name"), EXERCISE_PROGRAMS)
def test_each_wrong_program_of_an_exercise_is_refused_by_its_name(id, name):
    result = check(id, programs_for(EXERCISES[id].task)[name])
    if (id, name) == ("04-causal-pattern", "align"):  # of as many queries as keys the two alignments are one
        assert result.passed is True
    else:
        assert (result.passed, result.misconception) == (False, name), result
        assert CATALOGUE[name].verdict in repr(result) and CATALOGUE[name].why in repr(result)
        assert all(line in repr(result) for line in result.lines)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.filterwarnings("error")
def test_a_task_accepts_its_truth_and_names_each_of_its_wrong_programs(task):
    assert check_task(task, tasks.TASKS[task].truth, beyond=True).passed is True
    for name, program in programs_for(task).items():
        result = check_task(task, program, beyond=True)
        assert (result.passed, result.misconception) == (False, name), result


def test_every_wrong_program_is_refused_somewhere():
    assert {id for id, entry in CATALOGUE.items() if entry.program} == {
        id for task in TASKS for id in programs_for(task)
    }


# What goes wrong in a learner's function comes back as a sentence.


def raises(scores):
    weights = scores / 2
    return weights[7.5]


def test_an_exception_names_its_type_and_the_line():
    text = repr(check("01-softmax", raises))
    assert (
        "IndexError" in text
        and "`return weights[7.5]`" in text
        and f"line {raises.__code__.co_firstlineno + 2}" in text
    )


def test_too_many_arguments_are_told():
    text = repr(check("06-causal-attention", lambda Q: Q))
    assert "TypeError" in text and "positional argument" in text


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (lambda scores: print(), "Nothing came back"),
        (lambda scores: [1.0], "type list"),
        (lambda scores: "weights", "type str"),
        (lambda scores: attention.softmax(scores)[None], "The shape is (1, 2); expected (2,)"),
        (lambda scores: attention.softmax(scores).astype(int), "The dtype is int64; expected floating-point"),
        (lambda scores: attention.softmax(scores).astype(np.float16), "expected float32 or wider"),
        (lambda scores: attention.softmax(scores).astype(object), "The dtype is object"),
        (lambda scores: np.ma.masked_array(attention.softmax(scores)), "MaskedArray"),
        (
            lambda scores: np.full(scores.shape, np.nan),
            "Every number of the result is finite; at [0] it is nan",
        ),
        (lambda scores: attention.softmax(scores) - 1, "A weight is never negative"),
        (lambda scores: attention.softmax(scores) * 1.01, "Each row sums to 1; row 0 sums to 1.01"),
        (lambda scores: attention.softmax(2.5 * scores), "the ratio of the exponentials"),
    ],
)
def test_the_first_property_that_fails_is_told(answer, says):
    result = check("01-softmax", answer)
    assert result.passed is False
    assert says in repr(result).replace("int32", "int64")


def test_a_blocked_weight_that_is_only_small_is_told():
    def leaky(scores, allowed):
        return attention.softmax(np.where(allowed, scores, -20.0))

    assert "A blocked key has weight exactly 0; at [0, 1]" in repr(check("04-masked-weights", leaky))


def test_the_right_numbers_are_not_told():
    """A failed check names the property, not the numbers to return."""
    text = repr(check("06-causal-attention", lambda Q, K, V: np.zeros(V.shape)))
    assert "so its output is that key's value" in text
    assert "18.8" not in text and "0.119" not in text


@pytest.mark.parametrize("name", ["Q", "K", "V"])
def test_changed_inputs_are_named(name):
    def spoils(Q, K, V):
        out = attention.causal_attention(Q, K, V)
        {"Q": Q, "K": K, "V": V}[name][0] += 1
        return out

    result = check("06-causal-attention", spoils)
    assert (result.passed, result.misconception) == (False, "mutates")
    assert f"{name} is the same after the call" in repr(result)
    assert cases_for("causal_attention")[0].args["Q"][0, 0] == 1  # the cases themselves are not reached


def test_what_a_function_prints_is_shown_cut_and_not_let_through(capsys):
    right = solution("01-softmax")

    def talks(scores):
        print("<b>here</b>" * 1000)
        print("again", file=sys.stderr)
        return right(scores)

    result = check("01-softmax", talks)
    assert result.passed is True
    assert "It printed: <b>here</b>" in repr(result) and len(repr(result)) < 700
    assert capsys.readouterr() == ("", "")


def test_a_warning_is_shown_and_not_let_through():
    def overflows(scores):
        return np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = check("01-softmax", overflows)
    assert not caught
    assert "NumPy warned on one of the inputs: RuntimeWarning: overflow" in repr(result)


def loops(scores):
    steps = 0
    while True:
        try:
            steps += 1
        except Exception:
            break


def loops_elsewhere(scores):
    return loops(scores)


def loops_in_one_line(scores):
    while True: pass  # fmt: skip  # noqa: E701, a trace function never sees such a loop


def swallows_everything(scores):
    while True:
        try:
            len(scores)
        except:  # noqa: E722
            scores = scores + 0


def swallows_and_comes_back(scores):
    try:
        loops_in_one_line(scores)
    except BaseException:
        return scores


def loops_in_a_library(scores):
    while True:
        np.sum(np.ones(3))


def floods(scores):
    while True:
        print("x" * 1000)


ENDLESS = [
    loops,
    loops_elsewhere,
    loops_in_one_line,
    swallows_everything,
    swallows_and_comes_back,
    loops_in_a_library,
    floods,
    lambda scores: [0 for _ in iter(int, 1)],
    lambda scores: exec("while True: pass"),
    lambda scores: list(number for number in iter(int, 1) if number),
]


@pytest.mark.parametrize("function", ENDLESS)
def test_a_loop_that_never_ends_is_stopped(function):
    tracing, threads, started = sys.gettrace(), threading.active_count(), time.monotonic()
    result = check("01-softmax", function, seconds=0.2)
    assert result.passed is False and result.score == 0
    assert "had not come back after 0.2 seconds" in repr(result)
    assert len(repr(result)) < 1200
    assert time.monotonic() - started < 10
    assert (sys.gettrace(), threading.active_count()) == (tracing, threads)


def test_a_library_that_takes_its_time_is_left_alone():
    """PyTorch and JAX do when they start; here the standard library is busy past the deadline."""
    right = solution("01-softmax")

    def slow(scores):
        statistics.pvariance(range(3000))
        return right(scores)

    assert check("01-softmax", slow, seconds=0.001).passed is True


def leaves(scores):
    sys.exit("bye")


def recurses(scores):
    return recurses(scores)


def asks_for_memory(scores):
    return np.zeros((10**7, 10**7)) + 1


def stops(scores):
    raise KeyboardInterrupt


class Unspeakable(Exception):
    def __str__(self):
        raise ValueError


def raises_something_odd(scores):
    raise Unspeakable


def generates(scores):
    yield scores


async def waits(scores):
    return scores


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (leaves, "SystemExit"),
        (recurses, "RecursionError"),
        (asks_for_memory, "Memory"),
        (stops, "You stopped it"),
        (raises_something_odd, "Unspeakable"),
        (generates, "write return where yield is"),
        (waits, "leave out the async"),
        (lambda scores: leaves(scores), "SystemExit"),
        (lambda scores: recurses(scores), "RecursionError"),
        (lambda scores: 1 / 0, "ZeroDivisionError"),
        (lambda scores: generates(scores), "write return where yield is"),
        (lambda scores: print("x" * 10**6), "Nothing came back"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_nothing_gets_out_of_a_check(function, says):
    result = check("01-softmax", function)
    assert result.passed is False and says in repr(result)
    assert "Traceback" not in repr(result) and len(repr(result)) < 1500


def test_a_fault_of_the_checkers_is_not_the_learners(monkeypatch):
    def breaks(*args, **options):
        raise RuntimeError("no such luck")

    monkeypatch.setattr("helpers.exercises.judge", breaks)
    result = check("01-softmax", solution("01-softmax"))
    assert result.passed is None and "RuntimeError: no such luck. That is no fault of your function" in repr(
        result
    )


# What is handed in by mistake.


@pytest.mark.parametrize(
    "function", [attention.softmax, np.exp, np.max, functools.partial(attention.softmax, axis=-1)]
)
def test_a_ready_made_function_is_told_kindly(function):
    result = check("01-softmax", function)
    assert result.passed is None and "ready-made" in repr(result)


def test_a_ready_made_pattern_or_torch_function_is_told_kindly():
    assert check("04-causal-pattern", patterns.causal).passed is None
    torch = optional("torch")
    for function in (torch.softmax, torch.nn.functional.scaled_dot_product_attention):
        assert check("06-causal-attention", function, framework="torch").passed is None


def test_a_result_in_place_of_the_function_is_told():
    result = check("01-softmax", np.array([0.7, 0.3]))
    assert result.passed is None and "without parentheses" in repr(result)


def test_unknown_names_are_told():
    assert "There is no exercise '01-sofmax'" in repr(check("01-sofmax", stub))
    assert "only in: numpy" in repr(check("01-softmax", solution("01-softmax"), framework="torch"))
    assert "only in: numpy, torch, jax" in repr(check("06-causal-attention", stub, framework="tensorflow"))


def test_a_missing_library_is_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    result = check("06-causal-attention", stub, framework="torch")
    assert (
        result.passed is None and "PyTorch is not installed" in repr(result) and "pip install" in repr(result)
    )


def test_a_wider_result_passes_with_a_remark():
    right = solution("06-causal-attention")
    result = check("06-causal-attention", lambda Q, K, V: right(Q, K, V).astype(np.float64))
    assert result.passed is True
    assert "float32 went in and float64 came out" in repr(result)


# A function that only calls an imported one.


def by_the_helper(Q, K, V):
    return attention.causal_attention(Q, K, V)


def by_another_of_ones_own(Q, K, V):
    return by_the_helper(Q, K, V)


def by_an_import_inside(Q, K, V):
    from helpers.attention import attention as attend

    return attend(Q, K, V, patterns.causal(len(Q)))


def in_a_closure():
    attend = attention.causal_attention
    return lambda Q, K, V: attend(Q, K, V)


@pytest.mark.parametrize(
    "function",
    [
        by_the_helper,
        by_another_of_ones_own,
        by_an_import_inside,
        in_a_closure(),
        lambda Q, K, V: attention.attention_weights(Q, K, patterns.causal(len(Q))) @ V,
        lambda Q, K, V: tasks.attention.causal_attention(Q, K, V),
    ],
)
def test_a_thin_wrapper_is_told_kindly(function):
    result = check("06-causal-attention", function)
    assert (
        result.passed is None and "ready-made" in repr(result) and "Write the steps yourself" in repr(result)
    )


def test_a_thin_wrapper_of_a_library_is_told_kindly():
    torch = optional("torch")

    def fused(Q, K, V):
        return torch.nn.functional.scaled_dot_product_attention(Q, K, V, is_causal=True)

    assert "done by scaled_dot_product_attention" in repr(check("06-causal-attention", fused, "torch"))
    jax = optional("jax")

    def fused_by_jax(Q, K, V):  # which wants values as wide as keys, and raises
        return jax.nn.dot_product_attention(Q[:, None], K[:, None], V[:, None], is_causal=True)[:, 0]

    assert "done by dot_product_attention" in repr(check("06-causal-attention", fused_by_jax, "jax"))


def test_steps_from_the_course_may_be_used():
    softmax = attention.softmax

    def mine(Q, K, V):
        scores = Q @ K.T / Q.shape[-1] ** 0.5
        return softmax(np.where(patterns.causal(len(Q)), scores, -np.inf)) @ V

    assert check("06-causal-attention", mine).passed is True


# Causality, by changing what comes later and by the gradient.


def leaky(right, amount):
    return lambda Q, K, V: right(Q, K, V) + amount * V.sum()


def test_a_leak_too_small_for_the_numbers_is_found_by_a_change():
    result = check("06-causal-attention", leaky(solution("06-causal-attention"), 1e-16))
    assert result.passed is False and result.score > 0.9
    assert "Output row 0 does not depend on key and value 1, which come later" in repr(result)
    assert "when these were changed, it moved" in repr(result)


def test_a_leak_is_told_of_a_function_that_fits_nothing_known():
    result = check("06-causal-attention", leaky(solution("06-causal-attention"), 0.01))
    assert (result.passed, result.misconception) == (False, None)
    assert "which come later" in repr(result)


def test_a_leak_too_small_for_a_change_is_found_by_the_gradient_in_torch():
    right = solution("06-causal-attention-torch", torch=optional("torch"))
    result = check("06-causal-attention", leaky(right, 1e-25), "torch")
    assert result.passed is False and "by the gradient it depends on them" in repr(result)


def test_a_leak_too_small_for_a_change_is_found_by_the_gradient_in_jax():
    jax = optional("jax")
    right = solution("06-causal-attention-jax", jax=jax, jnp=jax.numpy)
    result = check("06-causal-attention", leaky(right, 1e-25), "jax")
    assert result.passed is False and "by the gradient it depends on them" in repr(result)


def test_an_output_without_a_gradient_is_remarked_on():
    torch, jax = optional("torch"), optional("jax")
    right = solution("06-causal-attention")

    def through_numpy(Q, K, V):
        return torch.tensor(right(*(one.detach().numpy() for one in (Q, K, V))))

    def through_numpy_in_jax(Q, K, V):
        return jax.numpy.asarray(right(*map(np.asarray, (Q, K, V))))

    for function, framework in ((through_numpy, "torch"), (through_numpy_in_jax, "jax")):
        result = check("06-causal-attention", function, framework)
        assert result.passed is True and "no gradient comes through" in repr(result)


def test_the_device_of_the_mask_and_of_the_result_is_remarked_on():
    torch = optional("torch")

    def scores(Q, K):
        return Q @ K.T / Q.shape[-1] ** 0.5

    def future(n):
        return torch.ones(n, n, dtype=torch.bool).triu(1)

    functions = (
        lambda Q, K, V: torch.where(future(len(Q)), -math.inf, scores(Q, K)).softmax(-1) @ V,
        lambda Q, K, V: (scores(Q, K) + torch.full((len(Q),) * 2, -math.inf).triu(1)).softmax(-1) @ V,
    )
    for function in functions:
        result = check("06-causal-attention", function, "torch")
        assert result.passed is True and "on a GPU this would stop" in repr(result), result


def test_what_cannot_be_read_as_numbers_is_told():
    torch = optional("torch")
    right = solution("06-causal-attention-torch", torch=torch)
    for function in (
        lambda Q, K, V: right(Q, K, V).bfloat16(),
        lambda Q, K, V: right(Q, K, V).to_sparse(),
        lambda Q, K, V: right(Q, K, V).to("meta"),
    ):
        result = check("06-causal-attention", function, "torch")
        assert result.passed is False and "cannot be read as numbers" in repr(result)


# The reference solution.


def test_the_solution_is_shown_after_an_attempt_only(monkeypatch):
    shown = []
    monkeypatch.setattr("IPython.display.display", shown.append)
    monkeypatch.setattr("helpers.exercises._attempted", set())
    monkeypatch.setattr("helpers.exercises._hints_given", {})
    line = SOLUTIONS["06-causal-attention"].splitlines()[1].strip()
    check("06-causal-attention", stub)
    check("06-causal-attention", attention.causal_attention)
    show_solution("06-causal-attention")
    assert "After your first attempt" in repr(shown[-1]) and line not in repr(shown[-1])
    result = check("06-causal-attention", lambda Q, K, V: V)
    assert 'solution("06-causal-attention") shows one way' in repr(result)
    show_solution("06-causal-attention")
    assert line in repr(shown[-1])
    show_solution("06-causal-attention", "torch")
    assert "After your first attempt" in repr(shown[-1])
    show_solution("06-causal")
    assert "There is no solution '06-causal'" in repr(shown[-1])


# How a result looks.


class Tags(html.parser.HTMLParser):
    """Open and closed tags, and the text between them."""

    def __init__(self):
        super().__init__()
        self.open, self.seen, self.text = [], [], ""

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_the_card_is_sound_html_and_says_what_the_text_says():
    result = check("06-causal-attention", programs_for("causal_attention")["scale-missing"])
    bundle, metadata = result._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/html"}
    judged = {"exercise": "06-causal-attention", "passed": False, "misconception": "scale-missing"}
    assert metadata == {"check": {**judged, "score": round(result.score, 3)}}
    tags = Tags()
    tags.feed(bundle["text/html"])
    assert not tags.open
    assert not any("id" in attrs for _, attrs in tags.seen)
    assert [attrs["scope"] for tag, attrs in tags.seen if tag == "th"] == ["row"] * 3
    for part in (CATALOGUE["scale-missing"].verdict, CATALOGUE["scale-missing"].why, "Q = [[", *result.lines):
        assert part in tags.text and part in bundle["text/plain"]


def test_what_a_learner_wrote_is_escaped():
    def talks(scores):
        print("<script>alert(1)</script>")
        raise ValueError("<img src=x>")

    text = check("01-softmax", talks)._repr_mimebundle_()[0]["text/html"]
    assert "<script>" not in text and "<img" not in text and html.escape("<img src=x>") in text


def test_a_result_is_a_plain_value():
    assert Result(True, "Right") == Result(True, "Right")
    assert repr(Result(None, "Not started yet", exercise="01-softmax")) == "01-softmax: Not started yet"


def test_attention_that_holds_all_scores_is_not_in_tiles():
    def dense(Q, K, V, allowed, size):
        scores = np.where(allowed, Q @ K.T / Q.shape[-1] ** 0.5, -np.inf)
        exps = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return exps / exps.sum(axis=-1, keepdims=True) @ V

    result = check("08-tiles", dense)
    assert result.passed is False and 0.9 < result.score < 1
    assert "as much is held at once as all scores take" in result.headline
    assert "4 KiB" in repr(result) and "512 KiB" in repr(result)


@pytest.mark.parametrize("kind", (list, tuple))
def test_numbers_that_are_no_array_are_told_how_to_become_one(kind):
    def right(running_max, running_sum, score):
        new_max = max(running_max, score)
        total = running_sum * np.exp(running_max - new_max) + np.exp(score - new_max)
        return kind((new_max, total))

    said = repr(check("08-next-score", right))
    assert "np.array([...])" in said
    assert "No error known" not in said


def test_hints_come_one_after_the_other(monkeypatch):
    shown = []
    monkeypatch.setattr("IPython.display.display", shown.append)
    monkeypatch.setattr("helpers.exercises._hints_given", {})
    for _ in range(4):
        assert hint("01-softmax") is None
    hint("04-causal-pattern")
    hint("no-such")
    hint("08-growth")
    hint("08-no-such")
    texts = list(map(repr, shown))
    for text, number in zip(texts, (1, 2, 3, 3, 1), strict=False):
        assert f"Hint {number} of 3" in text
    assert EXERCISES["01-softmax"].hints[2] in texts[3]
    assert "There is no exercise" in texts[5] and "01-softmax" in texts[5]
    assert "08-growth is a question" in texts[6]
    assert "08-next-score" in texts[7] and "01-softmax" not in texts[7]


@pytest.mark.parametrize("id", EXERCISES)
def test_no_hint_holds_a_line_of_the_solution(id):
    lines = {line.split("  #")[0].strip() for line in SOLUTIONS[id].splitlines()[1:]}
    assert not any(line in text for line in lines for text in EXERCISES[id].hints)


def test_the_checker_imports_without_a_framework():
    code = "import sys, helpers.exercises; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {"matplotlib", "IPython", "ipywidgets", "torch", "jax"} & set(loaded)
