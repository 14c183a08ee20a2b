"""The checker: what it says of stubs, solutions, wrong programs, and of all that can go wrong in between."""

from __future__ import annotations

import functools
import html
import html.parser
import math
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest

from helpers import attention, patterns, tasks
from helpers.exercises import EXERCISES, SOLUTIONS, Result, check, check_task, hint
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
    def talks(scores):
        print("<b>here</b>" * 1000)
        print("again", file=sys.stderr)
        return attention.softmax(scores)

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
    assert "It was warned: RuntimeWarning: overflow" in repr(result)


def loops(scores):
    steps = 0
    while True:
        try:
            steps += 1
        except Exception:
            break


def loops_elsewhere(scores):
    return loops(scores)


@pytest.mark.parametrize("function", [loops, loops_elsewhere, lambda scores: [0 for _ in iter(int, 1)]])
def test_a_loop_that_never_ends_is_stopped(function):
    tracing, started = sys.gettrace(), time.monotonic()
    result = check("01-softmax", function, seconds=0.3)
    assert result.passed is False and result.score == 0
    assert "had not come back after 0.3 seconds" in repr(result)
    assert time.monotonic() - started < 10
    assert sys.gettrace() is tracing


def leaves(scores):
    sys.exit("bye")


def recurses(scores):
    return recurses(scores)


def asks_for_memory(scores):
    return np.zeros((10**7, 10**7)) + 1


def stops(scores):
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (leaves, "SystemExit"),
        (recurses, "RecursionError"),
        (asks_for_memory, "Memory"),
        (stops, "You stopped it"),
    ],
)
def test_nothing_gets_out_of_a_check(function, says):
    result = check("01-softmax", function)
    assert result.passed is False and says in repr(result)


def test_a_fault_of_the_checkers_is_not_the_learners(monkeypatch):
    def breaks(*args):
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
    result = check(
        "06-causal-attention", lambda Q, K, V: attention.causal_attention(Q, K, V).astype(np.float64)
    )
    assert result.passed is True
    assert "float32 went in and float64 came out" in repr(result)


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
    bundle = result._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/html"}
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

    text = check("01-softmax", talks)._repr_mimebundle_()["text/html"]
    assert "<script>" not in text and "<img" not in text and html.escape("<img src=x>") in text


def test_a_result_is_a_plain_value():
    assert Result(True, "Right") == Result(True, "Right")
    assert repr(Result(None, "Not started yet", exercise="01-softmax")) == "01-softmax: Not started yet"


def test_hints_come_one_after_the_other(monkeypatch):
    shown = []
    monkeypatch.setattr("IPython.display.display", shown.append)
    monkeypatch.setattr("helpers.exercises._hints_given", {})
    for _ in range(4):
        assert hint("01-softmax") is None
    hint("04-causal-pattern")
    hint("no-such")
    texts = list(map(repr, shown))
    for text, number in zip(texts, (1, 2, 3, 3, 1), strict=False):
        assert f"Hint {number} of 3" in text
    assert EXERCISES["01-softmax"].hints[2] in texts[3]
    assert "There is no exercise" in texts[5]


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
