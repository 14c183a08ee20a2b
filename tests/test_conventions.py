"""What libraries take True for and give an empty row: as recorded, as documented, and with libraries missing."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from helpers import conventions, patterns
from helpers.attention import attention_weights
from helpers.conventions import FUNCTIONS, LIBRARIES
from tests.support import optional

PACKAGES = ("torch", "jax", "keras")
WAYS = [(name, weights) for name, function in FUNCTIONS.items() for weights in function.empty]
SCORES = np.array([[0.5, -1.0, 2.0], [1.5, 0.3, -0.7]])
MASKS = {
    "uneven": np.array([[1, 1, 0], [0, 1, 1]], dtype=bool),
    "one row empty": np.array([[0, 0, 0], [1, 0, 1]], dtype=bool),
    "one row full": np.array([[1, 1, 1], [0, 1, 0]], dtype=bool),  # empty where True is blocked
}

each_way = pytest.mark.parametrize(("name", "weights"), WAYS)
each_function = pytest.mark.parametrize("name", FUNCTIONS)


def hide(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Make an import of each package fail, as where it is not installed."""
    for name in names:
        monkeypatch.setitem(sys.modules, name, None)


def ran(finding: conventions.Finding) -> np.ndarray:
    assert finding.live, finding.remark
    assert finding.source == "run here"
    return finding.output


@each_way
@pytest.mark.parametrize("converted", [True, False], ids=["converted", "unchanged"])
@pytest.mark.parametrize("given", MASKS.values(), ids=MASKS)
def test_what_was_recorded_is_what_the_installed_library_does(name, weights, given, converted, monkeypatch):
    optional(FUNCTIONS[name].package)
    options = {"converted": converted, "weights": weights}
    live = ran(conventions.run(name, given, SCORES, **options))
    monkeypatch.setitem(conventions.FUNCTIONS, name, replace(FUNCTIONS[name], call=fails))
    recorded = conventions.run(name, given, SCORES, **options)
    assert not recorded.live
    np.testing.assert_allclose(live, recorded.output, atol=1e-6)


def fails(*given):
    raise RuntimeError("no such luck")


@each_function
def test_a_converted_pattern_gives_the_weights_of_this_course(name):
    optional(FUNCTIONS[name].package)
    given = MASKS["uneven"]
    Q, K, _ = conventions._arrays(SCORES)
    np.testing.assert_allclose(
        ran(conventions.run(name, given, SCORES)), attention_weights(Q, K, given), atol=1e-6
    )


@pytest.mark.parametrize("name", LIBRARIES)
def test_true_means_what_is_said_of_it(name):
    optional(FUNCTIONS[name].package)
    given = np.array([[True, True, False]])
    read = given if FUNCTIONS[name].true == "allowed" else ~given
    np.testing.assert_array_equal(ran(conventions.run(name, given, converted=False)) > 0, read)


@each_function
def test_the_causal_flag_lines_up_as_recorded(name):
    optional(FUNCTIONS[name].package)
    found = conventions.run_causal(name, 2, 5)
    if FUNCTIONS[name].causal is None:
        assert found is None
    else:
        allowed = patterns.causal(2, 5, align=FUNCTIONS[name].align)
        np.testing.assert_allclose(ran(found), allowed / allowed.sum(axis=-1, keepdims=True), atol=1e-6)


DOCUMENTED = {
    "sdpa": "should* take part in attention",
    "mha": "not allowed to attend",
    "jax": "should take part in attention",
    "keras": "1 indicates attention",
}


@pytest.mark.parametrize("name", LIBRARIES)
def test_the_documentation_says_what_the_notebook_quotes(name):
    library = optional(FUNCTIONS[name].package)
    documented = {
        "sdpa": lambda: library.nn.functional.scaled_dot_product_attention,
        "mha": lambda: library.nn.MultiheadAttention.forward,
        "jax": lambda: library.nn.dot_product_attention,
        "keras": lambda: library.layers.MultiHeadAttention,
    }[name]()
    assert DOCUMENTED[name] in " ".join(documented.__doc__.split())


def test_each_answer_to_an_empty_row():
    got = {
        (name, weights): conventions.describe(
            conventions.run(name, [[False, False, False]], weights=weights).output[0]
        )
        for name, weights in WAYS
    }
    assert got == {
        ("sdpa", False): "zeros",
        ("mha", True): "NaN",
        ("mha", False): "zeros",
        ("jax", False): "even",
        ("keras", False): "even",
        ("keras", True): "zeros",
        ("numpy", False): "zeros",
    }
    assert conventions.describe([0.2, 0.8]) == "other"


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_missing_library_shows_what_was_recorded(name, monkeypatch):
    hide(monkeypatch, FUNCTIONS[name].package)
    found = conventions.run(name, [[True, True, False]], converted=False)
    assert (found.live, found.version) == (False, FUNCTIONS[name].version)
    assert found.source == "recorded in November 2026" and FUNCTIONS[name].package in found.remark
    expected = [[0, 0, 1]] if name == "mha" else [[0.5, 0.5, 0]]
    np.testing.assert_array_equal(found.output, expected)


@pytest.mark.parametrize("about", ["booleans", "empty rows"])
def test_the_table_names_what_ran_and_how_to_get_the_rest(about, monkeypatch):
    hide(monkeypatch, *PACKAGES)
    drawn = conventions.table(about)
    for name, function in FUNCTIONS.items():
        assert function.name in drawn.table and function.name in drawn.text
        assert function.version in drawn.text, name
    assert "Not run here: jax, keras, torch" in drawn.table
    assert "python start.py --frameworks" in drawn.table
    assert drawn.text.count("recorded in November 2026") == (4 if about == "booleans" else 6)
    assert drawn.text.count("run here") == 1


def test_the_table_of_empty_rows_has_a_line_for_each_way_to_call():
    drawn = conventions.table("empty rows")
    assert drawn.table.count('scope="row"') == len(WAYS)
    assert (
        "MultiheadAttention, need_weights=True: empty row [NaN, NaN, NaN], causal flag has none" in drawn.text
    )
    assert "jax dot_product_attention: empty row [0.33, 0.33, 0.33], causal flag top-left" in drawn.text


def test_keras_without_a_backend_counts_as_missing(monkeypatch):
    monkeypatch.delenv("KERAS_BACKEND", raising=False)
    monkeypatch.setattr(conventions, "BACKENDS", ("no_such_backend",))
    monkeypatch.delitem(sys.modules, "keras", raising=False)
    found = conventions.run("keras", [[True, False]])
    assert not found.live and "Keras needs one of no_such_backend" in found.remark


def test_a_backend_is_chosen_only_where_nobody_has():
    """Keras takes TensorFlow where nothing else is said, and fails where that is missing."""
    optional("keras")
    code = "from helpers import conventions; f = conventions.run('keras', [[True, False]]); print(f.live, f.version)"
    for chosen, backend in ({}, "jax"), ({"KERAS_BACKEND": "torch"}, "torch"):
        env = {name: value for name, value in os.environ.items() if name != "KERAS_BACKEND"} | chosen
        done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, encoding="utf-8")
        assert done.stdout.startswith("True ") and done.stdout.strip().endswith(f"on {backend}"), done.stderr
        assert done.stderr == ""


def test_nothing_is_imported_before_it_is_asked_for():
    code = (
        "import sys; from helpers import conventions; conventions.run('numpy', [[True]]); print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True)
    assert not {*PACKAGES, "matplotlib"} & set(done.stdout.split())


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: conventions.run("flax", [[True]]), "name must be one of 'sdpa', 'mha'"),
        (lambda: conventions.run_causal("flax", 1, 3), "name must be one of"),
        (lambda: conventions.run("jax", [[0.0, -np.inf]]), "given must be boolean"),
        (lambda: conventions.run("jax", [True, False]), r"got shape \(2,\): give one row per query"),
        (lambda: conventions.run("jax", [[True]], weights=True), "weights must be False here"),
        (lambda: conventions.table("true"), "about must be one of 'booleans', 'empty rows'"),
    ],
)
def test_what_cannot_be_asked_is_refused(call, said):
    with pytest.raises(ValueError, match=said):
        call()


def test_the_array_given_stays_as_it_is():
    given, scores = MASKS["uneven"].copy(), SCORES.copy()
    for name in FUNCTIONS:
        conventions.run(name, given, scores)
        conventions.run(name, given, scores, converted=False)
    np.testing.assert_array_equal(given, MASKS["uneven"])
    np.testing.assert_array_equal(scores, SCORES)
