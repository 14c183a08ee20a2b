"""The page to project: what can be voted for, where tallies come from, and that nothing is told before it is asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from helpers import questions
from helpers.classroom.__main__ import cli
from helpers.classroom.live import choices, left_out, votes_from, write_live
from helpers.predictions import answers
from tests.class_of import learners, make
from tests.support import chromium, optional

VOTED = ("01-scale", "01-weights")  # statements, and numbers made into choices


@pytest.mark.parametrize("question", questions.load().values(), ids=lambda question: question.id)
def test_every_question_can_be_voted_on(question):
    found = choices(question)
    assert [choice.letter for choice in found] == list("ABCDEFGH"[: len(found)])
    assert sum(choice.right for choice in found) == 1
    assert 2 <= len(found) <= 6
    assert len({str(choice.says) for choice in found}) == len(found)
    assert all(choice.belief == "" for choice in found if choice.right)


def test_the_place_of_the_right_answer_says_nothing():
    """Over all questions it stands first, last and between."""
    places = Counter()
    for question in questions.load().values():
        found = choices(question)
        at = next(at for at, choice in enumerate(found) if choice.right)
        places["first" if at == 0 else "last" if at == len(found) - 1 else "between"] += 1
    assert min(places.values()) > 10 and len(places) == 3


@pytest.mark.parametrize("name", VOTED)
def test_tallies_come_from_records(name, tmp_path):
    make(tmp_path / "class", 25)
    question = questions.get(name)
    votes = votes_from([tmp_path / "class"], question)
    gave = [line for learner in learners(25) for line in learner.lines if line["question"] == name]
    shown = choices(question, votes)
    assert 0 < sum(choice.votes for choice in shown) <= len(gave)
    right = sum(answers.diagnose(question, line["answer"]).right is True for line in gave)
    assert next(choice.votes for choice in shown if choice.right) == right > 0
    other = len(gave) - sum(choice.votes for choice in shown) - votes["undecided"]
    assert other == 0 if question.kind == "choice" else other > 0
    assert left_out(question, votes).startswith(f"{other} gave another answer") == (other > 0)


@pytest.fixture(scope="module")
def browser() -> Iterator:
    playwright = optional("playwright.sync_api")
    with playwright.sync_playwright() as started:
        found = started.chromium.launch(executable_path=chromium(), args=["--no-sandbox", "--disable-gpu"])
        yield found
        found.close()


@pytest.fixture(params=VOTED)
def page(request, browser, tmp_path) -> Iterator:
    path = write_live(
        questions.get(request.param), tmp_path / "live.html", Counter({"same": 3, "sharper": 2})
    )
    shown = browser.new_page(viewport={"width": 1920, "height": 1080})
    shown.problems = []
    shown.on("console", lambda message: shown.problems.append(message.text))
    shown.on("pageerror", lambda error: shown.problems.append(str(error)))
    shown.on(
        "request", lambda asked: shown.problems.append(asked.url) if asked.url != path.as_uri() else None
    )
    shown.goto(path.as_uri())
    yield shown
    assert shown.problems == [], "no error, and nothing is fetched"
    shown.close()


def looks(page) -> list[str]:
    """How each choice looks, in letters and colours."""
    return page.evaluate("""[...document.querySelectorAll("tbody tr")].map(row => [row, ...row.cells].map(cell => {
        const s = getComputedStyle(cell);
        return [s.color, s.backgroundColor, s.boxShadow, s.fontWeight, s.border, s.paddingLeft].join();
    }).join("|"))""")


def test_nothing_tells_the_right_one_before_it_is_asked(page):
    assert len(set(looks(page))) == 1, "the choices look alike"
    seen = page.inner_text("main")
    assert "as the run" not in seen and "The run gives" not in seen
    assert not page.is_visible("input[type=number]"), "votes of others would tell too"
    page.click("#reveal")
    assert len(set(looks(page))) == 2
    assert "The run gives" in page.inner_text("#result")
    page.click("#reveal")
    assert len(set(looks(page))) == 1 and not page.is_visible("#result")


def test_vote_discuss_and_vote_again_by_keyboard(page):
    start = int(page.inner_text("#state").split()[0])
    page.keyboard.type("abb")
    page.keyboard.press("Shift+B")
    assert page.inner_text("#state") == f"{start + 2} votes"
    page.click("text=Second vote")
    assert page.inner_text("#state") == "0 votes"
    page.keyboard.type("aab")
    page.click("#bars")
    second = page.locator('input[data-vote="2"]')
    assert [second.nth(at).input_value() for at in range(2)] == ["2", "1"]
    widths = page.evaluate(
        '[...document.querySelectorAll(".bars div:nth-child(2)")].map(bar => bar.style.width)'
    )
    assert widths[:2] == ["66.6667%", "33.3333%"]
    second.nth(1).fill("6")
    assert page.inner_text("#state") == "8 votes"
    second.nth(1).fill("-4")
    assert page.inner_text("#state") == "2 votes", "less than none is none"


@pytest.mark.parametrize(("scheme", "width"), [("light", 1920), ("dark", 1920), ("light", 320)])
def test_accessible_in_every_state(browser, tmp_path, scheme, width):
    axe = optional("axe_playwright_python.sync_playwright").Axe()
    path = write_live(questions.get("01-weights"), tmp_path / "live.html", Counter(right=4))
    shown = browser.new_page(viewport={"width": width, "height": 1000}, color_scheme=scheme)
    shown.goto(path.as_uri())
    for press in (None, "#bars", "#reveal"):
        if press:
            shown.click(press)
        found = axe.run(shown).response["violations"]
        assert [(rule["id"], rule["nodes"][0]["html"][:100]) for rule in found] == []
    assert shown.evaluate("document.documentElement.scrollWidth") <= width
    shown.close()


def test_the_command_line_makes_the_page(tmp_path):
    to = tmp_path / "vote.html"
    ran = CliRunner().invoke(cli, ["live", "01-scale", "--to", str(to)])
    assert ran.exit_code == 0 and "needs no network" in ran.output
    assert "filled in from" not in to.read_text(encoding="utf-8")
    ran = CliRunner().invoke(cli, ["live", "01-nothing"])
    assert ran.exit_code == 1 and "There is no question '01-nothing'" in ran.output
    assert not Path("live-01-nothing.html").exists()
