"""The page to project: what can be voted for, where tallies come from, and that nothing is told before it is asked."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from helpers import questions
from helpers.classroom import tally
from helpers.classroom.__main__ import cli
from helpers.classroom.collect import collect
from helpers.classroom.live import choices, left_out, votes_from, write_live
from helpers.classroom.page import first as beliefs_first
from helpers.classroom.page import shown_most
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
    assert page.inner_text('tbody tr:nth-child(1) [data-part="2"]') == "67%"
    widths = page.evaluate(
        '[...document.querySelectorAll(".bars div:nth-child(2)")].map(bar => bar.style.width)'
    )
    assert widths[:2] == ["66.6667%", "33.3333%"]
    second.nth(1).fill("6")
    assert page.inner_text("#state") == "8 votes"
    second.nth(1).fill("-4")
    assert page.inner_text("#state") == "2 votes", "less than none is none"


@pytest.mark.parametrize("name", ["01-weights", "04-pattern", "04-first-row-hot"])
@pytest.mark.parametrize(("scheme", "width"), [("light", 1920), ("dark", 1920), ("light", 320)])
def test_accessible_in_every_state(browser, tmp_path, scheme, width, name):
    axe = optional("axe_playwright_python.sync_playwright").Axe()
    path = write_live(questions.get(name), tmp_path / "live.html", Counter({"right": 4, "": 2}))
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
    near = CliRunner().invoke(cli, ["live", "01-wieghts"]).output
    assert "Did you mean 01-weights" in near and "07-" not in near
    assert CliRunner().invoke(cli, ["live", "zz"]).output.count("\n") <= 2


@pytest.mark.parametrize("typed", ["01", "1", "01_one_row_by_hand"])
def test_a_notebooks_number_lists_its_questions(typed):
    ran = CliRunner().invoke(cli, ["live", typed])
    lines = [line.split() for line in ran.output.splitlines()[1:]]
    assert [line[0] for line in lines] == [one.id for one in questions.of_notebook("01_one_row_by_hand")]
    assert lines[1][1:5] == ["The", "two", "dot", "products"] and ran.exit_code == 1


def test_only_a_page_of_ours_is_written_over(tmp_path):
    mine, deep = tmp_path / "mynotes.html", tmp_path / "deep" / "er" / "vote.html"
    mine.write_text("<p>mine", encoding="utf-8")
    ran = CliRunner().invoke(cli, ["live", "01-scale", "--to", str(mine)])
    assert ran.exit_code == 1 and "was not written by this command" in ran.output
    assert mine.read_text(encoding="utf-8") == "<p>mine"
    for name in ("01-scale", "01-weights"):
        assert CliRunner().invoke(cli, ["live", name, "--to", str(deep)]).exit_code == 0
        assert f"<title>Vote: {name}</title>" in deep.read_text(encoding="utf-8")
    ran = CliRunner().invoke(cli, ["live", "01-scale", "--to", str(tmp_path / "deep")])
    assert ran.exit_code == 1 and "is a folder" in ran.output
    ran = CliRunner().invoke(cli, ["live", "01-scale", "--to", str(mine / "vote.html")])
    assert ran.exit_code == 1 and "is a file" in ran.output


def test_the_command_says_how_many_votes_it_filled_in(tmp_path):
    folder, to = str(make(tmp_path / "class", 25)), str(tmp_path / "vote.html")
    question = questions.get("01-weights")
    votes = votes_from([tmp_path / "class"], question)
    filled = sum(choice.votes for choice in choices(question, votes))
    ran = CliRunner().invoke(cli, ["live", "01-weights", "--votes", folder, "--to", to])
    assert f"First vote: {filled} filled in; {left_out(question, votes)}." in ran.output
    assert f"Not counted in the first vote: {left_out(question, votes)}." in Path(to).read_text(
        encoding="utf-8"
    )
    one = next(path for path in (tmp_path / "class").rglob("00_*.ipynb"))
    ran = CliRunner().invoke(cli, ["live", "04-pattern", "--votes", str(one), "--to", to])
    assert ran.exit_code == 0 and "has answered 04-pattern, so the first vote is empty" in ran.output


def test_pages_for_the_beliefs_that_the_report_puts_first(tmp_path):
    folder, out = str(make(tmp_path / "class", 25)), tmp_path / "votes"
    ran = CliRunner().invoke(cli, ["live", "--top", "3", folder, "--to", str(out)])
    assert ran.exit_code == 0, ran.output
    collected = collect([folder], workers=1)
    found = tally.events(collected)
    first = [shown_most(belief).id for belief in beliefs_first(tally.beliefs(found))]
    assert {path.name for path in out.iterdir()} == {f"live-{name}.html" for name in first}
    text = (out / f"live-{first[0]}.html").read_text(encoding="utf-8")
    assert sum(map(int, re.findall(r'value="(\d+)" data-vote="1"', text))) > 5
    ran = CliRunner().invoke(cli, ["live", "01-scale", folder])
    assert ran.exit_code == 1 and "Submissions go behind --votes" in ran.output


def test_every_vote_stands_at_a_choice_or_is_told_of():
    """A vote for each answer that is known, one for another and one undecided: none is lost."""
    some_left = 0
    for question in questions.load().values():
        keys = [one.key for one in question.options] or ["right", *question.wrong]
        votes = Counter([*keys, "", "undecided"])
        counted = sum(choice.votes for choice in choices(question, votes))
        other = len(keys) - counted + 1
        assert left_out(question, votes) == f"{other} gave another answer, 1 did not know yet", question.id
        some_left += other > 1
    assert some_left > 0


def test_patterns_and_tables_are_drawn_with_their_names():
    found = choices(questions.get("04-pattern"))
    drawn = next(choice for choice in found if choice.right).grid
    assert drawn.rows == (
        ("1", "0", "0", "0"),
        ("1", "1", "0", "0"),
        ("1", "1", "1", "0"),
        ("1", "1", "1", "1"),
    )
    assert (drawn.pattern, drawn.sides[0], drawn.head[3]) == (True, "query 0", "key 3")
    numbers = choices(questions.get("06-weights"))[0].grid
    assert not numbers.pattern and np.shape(numbers.rows) == (2, 2)
    assert choices(questions.get("01-weights"))[0].grid is None
    assert choices(questions.get("02-alone"))[0].grid is None, "words, not a row of 0 and 1"


def test_buttons_say_what_they_will_do(page):
    assert page.inner_text("#reveal") == "Show what the run gives"
    page.click("#reveal")
    page.click("#bars")
    assert (page.inner_text("#reveal"), page.inner_text("#bars")) == (
        "Hide what the run gives",
        "Hide the votes",
    )
    page.click("#bars")
    assert page.inner_text("#bars") == "Show and edit the votes" and not page.is_visible(".bars")


def test_every_question_fits_on_a_projector(browser, tmp_path):
    """Votes, result and explanation at 1920 by 1080, without scrolling and in type of at least three quarters."""
    shown, sizes = browser.new_page(viewport={"width": 1920, "height": 1080}), {}
    for question in questions.load().values():
        path = write_live(question, tmp_path / "live.html", Counter({"right": 3, "": 2}))
        shown.goto(path.as_uri())
        shown.click("#bars")
        shown.click("#reveal")
        height = shown.evaluate("document.documentElement.scrollHeight")
        sizes[question.id] = (height, float(shown.evaluate("document.body.style.getPropertyValue('--size')")))
    shown.close()
    assert {name: size for name, size in sizes.items() if size[0] > 1080 or size[1] < 0.75} == {}
