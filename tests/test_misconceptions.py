"""The catalogue: complete, readable, and each wrong program told apart from the truth and from all others."""

from __future__ import annotations

import inspect
import subprocess
import sys
import textwrap
from functools import cache

import numpy as np
import pytest

from helpers import tasks
from helpers.exercises.cases import Case, cases_for
from helpers.misconceptions import CATALOGUE, match, plain, programs_for
from helpers.misconceptions.lifts import as_task

# fmt: off
FORTY = [
    "scale-missing", "scale-dmodel", "scale-dk", "scale-sum", "scale-prevents", "axis", "direction",
    "heat-swap", "heat-offset", "heat-scale", "heat-headavg", "explain", "sink", "heads", "dout",
    "merge", "polarity", "mask-value-0", "mask-sentinel", "mask-after", "mask-sign", "mask-diag",
    "mask-addtwice", "mask-fp16", "fullrow", "padrows", "masked-nan", "align", "leak", "lookup",
    "v-embed", "qkv-inputs", "weights-free", "flash-approx", "mask-saves", "t2-time", "shift", "temp",
    "convention-drift", "mutates",
]
OF_THE_COURSE = [
    "values-move-weights", "shift-changes", "output-is-key", "output-is-weights", "dv-equals-dk",
    "scale-heads", "order-for-free", "more-heads-more-parameters", "mask-on-queries", "uniform",
    "scale-length", "scale-dv", "mask-ignored", "mask-one-ahead", "temperature-inverted",
    "mask-renormalised", "mask-finite-fill", "mask-small-fill", "score-proportional", "scale-no-effect",
    "order-reversed",
]
# fmt: on
TASKS = [task for task in tasks.TASKS if programs_for(task)]
PAIRS = [(task, id) for task in TASKS for id in programs_for(task)]

# Nobody types NaN: what these give is NaN, or right.
NEVER_TYPED = {"mask-times-inf", "mask-sign", "mask-renormalised", "no-maximum", "fullrow", "masked-nan"}
NEVER_TYPED |= {"padrows", "mutates", "starts-at-minus-inf", "starts-at-zero"}
# Under a causal pattern a pattern on the query axis is the past blocked, which comes first and is named. Of
# the whole block nobody is asked the numbers that need scores beside which all else vanishes.
SHARED = {
    *((task, "mask-past") for task in TASKS),
    *(
        ("multi_head_attention", f"mask-{end}")
        for end in ("finite-fill", "small-fill", "added-fill", "sentinel")
    ),
}


def test_the_forty_documented_and_the_courses_own_are_there():
    assert len(FORTY) == 40
    assert set(FORTY) | set(OF_THE_COURSE) <= set(CATALOGUE)


@pytest.mark.parametrize("id", CATALOGUE)
def test_an_entry_reads_well(id):
    entry = CATALOGUE[id]
    assert entry.id == id == id.lower()
    assert entry.belief.endswith(".") and entry.belief[0].isupper() and len(entry.belief) < 110
    assert not entry.verdict.endswith(".") and len(entry.verdict) < 110
    assert entry.why.endswith(".") and len(entry.why) < 230
    assert entry.source
    assert (entry.task is None) == (entry.program is None) == (entry.lines() == [])


@pytest.mark.parametrize(
    ("id", "task"), [(id, task) for id, entry in CATALOGUE.items() for task in entry.programs]
)
def test_the_lines_shown_are_the_program(id, task):
    lines, program = CATALOGUE[id].lines(task), CATALOGUE[id].programs[task]
    assert 1 <= len(lines) <= 5
    assert not any('"""' in line or line.startswith("def ") for line in lines)
    parameters = list(inspect.signature(program).parameters)
    assert set(parameters) <= set(inspect.signature(tasks.TASKS[task].truth).parameters)
    names = {"np": np, **{name: value for name, value in vars(plain).items() if not name.startswith("_")}}
    exec(f"def shown({', '.join(parameters)}):\n" + textwrap.indent("\n".join(lines), "    "), names)
    shown = as_task(task, names["shown"])
    for case in cases_for(task, beyond=True):
        np.testing.assert_array_equal(result(shown, case), result(programs_for(task)[id], case))


def result(program, case):
    copies = {
        name: value.copy() if isinstance(value, np.ndarray) else value for name, value in case.given.items()
    }
    try:
        return program(*[copies.pop(name) for name in case.args], **copies)
    except ValueError:
        return np.array("no result")


def given(case: Case, task: str) -> dict[str, object]:
    """The inputs of a case as a question gives them."""
    names = {"n": "n_q"} if task == "causal_pattern" else {}
    return {names.get(name, name): value for name, value in case.given.items() if value is not None}


def rows_of(value) -> dict[str, np.ndarray]:
    """What a question may ask of a result, by the name of the part."""
    value = np.asarray(value)
    if value.ndim == 2 and value.any():
        return {f"row {i}": row.astype(float) for i, row in enumerate(value)}
    return {"shape": np.array(value.shape)} if value.ndim == 2 else {"all": value.astype(float)}


def to_three_digits(mine):
    def fits(value):
        value = np.asarray(value, dtype=float)
        return value.shape == mine.shape and bool(np.allclose(value, mine, rtol=0, atol=0.0005))

    return fits


def at_the_fill(task: str) -> list[Case]:
    """A legal score close to the fill itself, where one fill differs from another."""
    found = []
    for fill in (-1e9, -1e4):
        K = np.array([[fill + 0.7], [0.5], [1.5]])
        V = np.array([[0.1, 2.0], [0.7, 1.0], [1.9, 0.2]])
        offered = {
            "Q": np.ones((3, 1)),
            "K": K,
            "V": V,
            "scores": np.tile(K.T, (3, 1)),
            "n_heads": 7,
            "size": 2,
        }
        offered["allowed"] = np.tri(3, dtype=bool)
        found.append({name: offered[name] for name in tasks.TASKS[task].inputs if name in offered})
    return [Case(args) for args in found if "Q" in args or {"scores", "allowed"} <= set(args)]


@cache
def results():
    """For each task: its inputs, the right result, and that of each wrong program that has one."""
    found = {}
    for task in TASKS:
        inputs = [given(case, task) for case in [*cases_for(task, beyond=True), *at_the_fill(task)]]
        found[task] = [(one, tasks.run(task, one), _all_wrong(task, one)) for one in inputs]
    return found


def _all_wrong(task, inputs):
    wrong = {}
    for id, program in programs_for(task).items():
        copies = {
            name: value.copy() if isinstance(value, np.ndarray) else value for name, value in inputs.items()
        }
        try:
            wrong[id] = rows_of(tasks.run(task, copies, program))
        except ValueError:
            continue
    return wrong


@pytest.mark.parametrize(("task", "id"), [pair for pair in PAIRS if pair[1] not in NEVER_TYPED])
def test_a_program_is_named_from_its_numbers(task, id):
    """Typed to three digits, one row of its result on some input fits this program only."""
    for inputs, right, wrong in results()[task]:
        for part, mine in wrong.get(id, {}).items():
            fits = to_three_digits(mine)
            if not np.isfinite(mine).all() or (part in rows_of(right) and fits(rows_of(right)[part])):
                continue
            if [other for other, rows in wrong.items() if part in rows and fits(rows[part])] == [id]:
                assert match(task, inputs, part, fits) == [id]
                return
    assert (task, id) in SHARED, f"{id} shares every row of its numbers with another program of {task}"


def test_match_names_the_commonest_first_and_leaves_out_what_is_right_there():
    inputs = {"Q": [[1, 0]], "K": [[1, 0], [0, 1]]}
    assert match("attention_weights", inputs, "row 0", to_three_digits(np.array([0.731, 0.269]))) == [
        "scale-missing"
    ]
    assert match("attention_weights", inputs, "row 0", to_three_digits(np.array([0.670, 0.330]))) == []
    assert match("attention_weights", inputs, "row 0", to_three_digits(np.array([1.0, 0.0])))[0] == "lookup"
    assert match("attention_weights", inputs, "row 0", to_three_digits(np.array([0.5, 0.5])))[0] == "uniform"


def test_match_takes_a_pair_of_inputs():
    inputs, then = {"Q": [[1, 0]], "K": [[1, 0], [0, 1]], "V": [[1], [2]]}, {"V": [[100], [2]]}
    named = match(
        "weights_beside_values", inputs, "same or different", lambda answer: answer == "different", then
    )
    assert named == ["values-move-weights"]
    scores, shifted = {"scores": [2.0, 1.0], "shift": 0.0}, {"shift": 100.0}
    named = match(
        "shifted_softmax", scores, "same or different", lambda answer: answer == "different", shifted
    )
    assert named[-1] == "shift-changes"


def test_match_leaves_the_inputs_alone():
    inputs = {"scores": np.array([[0.5, 1.0], [2.0, 0.3]]), "allowed": np.tri(2, dtype=bool)}
    match("masked_weights", inputs, "row 0", lambda row: True)
    assert np.isfinite(inputs["scores"]).all()


@pytest.mark.parametrize("task", ["attention_weights", "attention", "split_heads", "merge_heads"])
def test_a_program_takes_a_batch_item_by_item(task):
    batch = {
        "attention_weights": {"Q": (2, 4, 3), "K": (2, 4, 3)},
        "attention": {"Q": (2, 4, 3), "K": (2, 4, 3), "V": (2, 4, 5)},
        "split_heads": {"X": (2, 5, 6)},
        "merge_heads": {"H": (2, 3, 5, 4)},
    }[task]
    rng = np.random.default_rng(0)
    arrays = {name: rng.normal(size=shape) for name, shape in batch.items()}
    more = {"n_heads": 3} if task == "split_heads" else {}
    for program in programs_for(task).values():
        items = []
        for item in range(2):
            try:
                items.append(program(**{name: array[item] for name, array in arrays.items()}, **more))
            except ValueError:
                break
        else:
            np.testing.assert_array_equal(program(**arrays, **more), items)


def test_the_catalogue_imports_without_what_a_question_does_not_need():
    code = "import sys, helpers.misconceptions; print(*sorted(sys.modules))"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {"matplotlib", "IPython", "ipywidgets", "torch", "jax"} & set(loaded)
