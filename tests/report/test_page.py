"""The page as text: self-contained, escaped, with text for every figure."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from helpers.report_models import EVEN, UNEVEN, Case, make_case, with_weights
from vmtl import MultiTaskClassifier, MultiTaskRegressor
from vmtl.evaluation import Labelled, gather
from vmtl.report import Control, render

FRONT = ["scores", "errors", "differences", "gains", "trust"]
QUESTIONS = ["How good is it?", "Where does it fail?", "How do tasks differ?", "What next?"]


class Page(HTMLParser):
    """Tags with their attributes, and the text outside of scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1][0] not in ("script", "style"):
            self.words.append(data)

    def all(self, name: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.tags if tag == name]


@pytest.mark.parametrize("kind", ["class", "real"])
def test_the_page_is_whole_and_alone(request: pytest.FixtureRequest, kind: str) -> None:
    case: Case = request.getfixturevalue(f"{kind}_case")
    text = render(case.model, case.evidence, {"none": case.evidence}, facts={"seed": 7}, title="Three sites")
    page = Page(text)
    curves = ["decisions"] if kind == "class" else []  # of three classes there is no line to draw
    assert [a["id"] for a in page.all("section")] == [*FRONT, *curves, "relatedness", "settings"]
    assert text.index('id="trust"') < text.index('<details id="appendix">') < text.index('id="relatedness"')
    assert all(f"<dt>{question}</dt>" in text for question in QUESTIONS)
    figures = page.all("figure")
    assert len(figures) >= 8
    assert all(figure["role"] == "img" and len(figure["aria-label"] or "") > 30 for figure in figures)
    assert len(page.all("svg")) == len(figures)
    ids = [a["id"] for _, a in page.tags if "id" in a]
    assert len(ids) == len(set(ids))
    outside = [
        value for _, a in page.tags for key, value in a.items() if key in ("src", "href", "xlink:href", "action")
    ]
    assert all(value is not None and value.startswith(("#", "data:")) for value in outside)
    assert not re.search(r"url\((?!#|'#|\"#)|@import|<style type", text)
    assert "mathdefault" not in text
    words = " ".join(page.words)
    for word in ("Three sites", "north", "learn", "unknown_task", "95 %"):
        assert word in words


def test_without_training_rows_the_page_says_what_is_missing(class_case: Case) -> None:
    text = render(class_case.model, class_case.evidence)
    assert "--train" in text
    assert 'id="gains"' not in text


def test_one_task_has_no_relatedness(class_case: Case) -> None:
    rows = class_case.test
    one = MultiTaskClassifier(random_state=0).fit(rows.X, rows.y)
    text = render(one, gather(one, rows.X, rows.y))
    assert 'id="relatedness"' not in text
    assert 'id="differences"' not in text
    assert 'id="scores"' in text
    assert "weak tasks" not in text


def test_first_come_words_of_the_trade_then_those_of_the_method(class_case: Case, real_case: Case) -> None:
    for case in (class_case, real_case):
        head, rest = render(case.model, case.evidence, {"none": case.evidence}).split("<nav", 1)
        first = " ".join(Page(head).words)
        assert not re.search(r"\balpha\b|\bnats\b|\bbeta\b|\br\b|kernel|posterior", first)
        assert "alpha" in rest[rest.index('id="appendix"') :]


def test_a_regression_has_no_words_of_classification(real_case: Case) -> None:
    text = render(real_case.model, real_case.evidence, {"none": real_case.evidence})
    assert not re.search(r"class(es|ification)?\b|logit|probabilit", " ".join(Page(text).words))


def test_names_are_shown_as_they_are_and_never_run() -> None:
    wild = (
        "<script>alert(1)</script>",
        "--></style><img src=x onerror=alert(1)>",
        '$x^2$ & "quo\'tes" 病院 \u202e' * 4,
    )
    case = make_case("class", wild)
    page = Page(render(case.model, case.evidence, title=wild[0], facts={wild[1]: wild[2]}))
    assert len(page.all("script")) == 1
    assert page.all("img") == []
    assert not [a for _, a in page.tags if any(name.startswith("on") for name in a)]
    assert wild[0] in page.words
    assert wild[1] in "".join(page.words)


def test_a_page_of_many_tasks_stays_small() -> None:
    rng = np.random.default_rng(0)
    tasks = np.array([f"school {k}" for k in np.arange(1200) % 400], dtype=object)
    rows = Labelled(rng.normal(size=(1200, 3)), rng.normal(size=1200), tasks)
    model = MultiTaskRegressor(random_state=0).fit(rows.X, rows.y, tasks=tasks)
    evidence = gather(model, rows.X, rows.y, tasks)
    text = render(model, evidence, {"none": evidence, "pooled": evidence})
    assert len(text) < 1_500_000
    assert "100 tasks with the most rows, of 400" in text


def words(text: str) -> str:
    return " ".join(" ".join(Page(text).words).split())


@pytest.mark.parametrize("weights", [EVEN, UNEVEN])
def test_links_within_the_control_are_claimed_nowhere(class_case: Case, weights: object) -> None:
    control = Control(np.array([EVEN]), np.array([weights]))
    text = render(with_weights(class_case.model, weights), class_case.evidence, control=control)
    assert 'aria-label="Who learns from whom.' not in text
    assert not re.search(r"<li>\w+ learns from", text)
    assert "learns more from south" not in words(text)
    assert "Is it more than chance?" in text


def test_links_beyond_both_controls_are_a_finding(class_case: Case) -> None:
    control = Control(np.array([EVEN]), np.array([EVEN]))
    text = render(with_weights(class_case.model, UNEVEN), class_case.evidence, control=control)
    assert "north learns more from south than from the others, and 1 more link is clear." in words(text)
    assert "(1 refit of each kind)" in text
    assert text.count("<li>south learns from north") == 1
    assert "<li>north learns from west" not in text  # within the control


def test_tied_maps_are_drawn_once(class_case: Case) -> None:
    text = render(with_weights(class_case.model, UNEVEN), class_case.evidence)
    assert text.count('aria-label="Map ') == 1
    assert "beta is tied to alpha" in text
    assert render(class_case.model, class_case.evidence).count('aria-label="Map ') == 2


def test_the_best_regression_has_the_least_error(real_case: Case) -> None:
    own = real_case.evidence
    assert own.mean is not None
    better, worse = (replace(own, mean=own.y + factor * (own.mean - own.y)) for factor in (0.5, 2.0))
    mean = own.mean_score()
    text = words(render(real_case.model, own, {"qian": worse, "pooled": better}))
    assert f"Best mean over tasks: all rows as one task {mean / 2:.3f}; this model {mean:.3f}, place 2 of 3." in text
    text = words(render(real_case.model, own, {"qian": worse}))
    assert (
        f"Best mean over tasks: this model {mean:.3f}, of 2 ways to learn these rows; next Qian et al. {2 * mean:.3f}."
        in text
    )


def test_the_best_method_is_named_and_comes_first(class_case: Case) -> None:
    own = class_case.evidence
    assert own.p is not None
    perfect = replace(own, p=np.eye(3)[own.y])
    poor = replace(own, p=np.roll(own.p, 1, axis=1))
    text = render(class_case.model, own, {"qian": poor, "pooled_linear": perfect, "per_task_linear": poor})
    mean = own.mean_score()
    assert f"Best mean over tasks: pooled linear 1.000; this model {mean:.3f}, place 2 of 4." in words(text)
    assert "more than chance" in words(text)
    table = text[text.index('id="table-methods"') :]
    assert table.index(">pooled linear<") < table.index("(this model)") < table.index(">Qian et al.<")
    assert "Blue and bold: the best of a task, be it by chance." in text
    best = render(class_case.model, own, {"qian": own})
    assert (
        f"this model {mean:.3f}, of 2 ways to learn these rows; next Qian et al. {mean:.3f}. The difference is within"
        in words(best)
    )


def test_a_warning_stands_before_all_numbers(class_case: Case) -> None:
    text = render(class_case.model, class_case.evidence, warnings=["Too <good>."])
    assert text.index("Too &lt;good&gt;.") < text.index('class="cards"')
    assert 'class="warning"' not in render(class_case.model, class_case.evidence)


def test_every_question_has_an_answer(class_case: Case, real_case: Case) -> None:
    of_class, of_real = (words(render(case.model, case.evidence)) for case in (class_case, real_case))
    assert "always the most frequent answer would be right in" in of_class
    assert "Mean uncertainty of right predictions: " in of_class
    assert f"{int(class_case.evidence.wrong.sum())} of 150 rows are predicted wrong." in of_class
    assert re.search(r"95 % intervals contain [\d.]+ % of 150 rows: ", of_real)
    assert "Half of the predictions are off by less than" in of_real
    assert "Learning curve" not in of_class + of_real


def test_regression_scores_are_named_and_marked(real_case: Case) -> None:
    own = real_case.evidence
    assert own.mean is not None
    off = replace(own, mean=np.where(own.task == 0, own.mean + 100, own.mean))
    text = render(real_case.model, off)
    assert "log loss" not in text
    assert "negative log-likelihood" in text
    assert "worse than always predicting that task" in text
    marked = re.findall(r'<td class="number hurt"[^>]*>[\d.]+ †</td>', text)
    assert len(marked) == 3  # the task, all rows, the mean of tasks
    assert "†</td>" not in render(real_case.model, own)


def test_a_single_row_of_a_single_task_is_enough(class_case: Case) -> None:
    rows = class_case.test
    one = MultiTaskClassifier(random_state=0).fit(rows.X, rows.y)
    assert "of 1 task, scored on 1 labelled row " in words(render(one, gather(one, rows.X[:1], rows.y[:1])))
