"""The page as text: self-contained, escaped, with text for every figure."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from helpers.report_models import EVEN, UNEVEN, Case, make_case, with_weights
from vmtl import MultiTaskClassifier
from vmtl.evaluation import Labelled, gather
from vmtl.report import Control, render
from vmtl.report.arrows import Arrow
from vmtl.report.finding import Answer, Finding
from vmtl.report.page import _link_card

SECTIONS = ["scores", "relatedness", "trust", "errors", "learning", "settings"]


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
    text = render(case.model, case.evidence, {"stl": case.evidence}, facts={"seed": 7}, title="Three sites")
    page = Page(text)
    decisions = ["decisions"] if kind == "class" else []
    assert [a["id"] for a in page.all("section")] == [SECTIONS[0], "gains", *decisions, *SECTIONS[1:]]
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
    for word in ("Three sites", "north", "learns from", "max_steps", "95 %"):
        assert word in words


def test_without_training_rows_the_page_says_what_is_missing(class_case: Case) -> None:
    text = render(class_case.model, class_case.evidence)
    assert "--train" in text
    assert 'id="gains"' not in text


def test_one_task_and_a_method_without_weights_have_no_relatedness(class_case: Case) -> None:
    rows = class_case.test
    one = MultiTaskClassifier("stl", max_steps=3, random_state=0).fit(rows.X, rows.y)
    text = render(one, gather(one, rows.X, rows.y))
    assert 'id="relatedness"' not in text
    assert 'id="scores"' in text


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
    tasks = np.array([f"school {k}" for k in np.arange(480) % 80], dtype=object)
    rows = Labelled(rng.normal(size=(480, 3)), rng.integers(0, 2, 480), tasks)
    model = MultiTaskClassifier(max_steps=2, random_state=0).fit(rows.X, rows.y, tasks=tasks)
    evidence = gather(model, rows.X, rows.y, tasks)
    control = Control(np.full((3, 80, 80), 1 / 79), np.full((3, 80, 80), 1 / 79))
    text = render(model, evidence, {"stl": evidence, "pooled": evidence}, control)
    assert len(text) < 2_000_000
    assert text.count("school 79") >= 1


def words(text: str) -> str:
    return " ".join(" ".join(Page(text).words).split())


def control(weights: object) -> Control:
    return Control(np.array([weights]), np.array([EVEN]))


@pytest.mark.parametrize(
    ("weights", "refits", "sentence"),
    [
        (EVEN, None, "each task learns from all others alike"),
        (EVEN, EVEN, "each task learns from all others alike"),
        (UNEVEN, UNEVEN, "The weights differ no more than they do by chance"),
    ],
)
def test_weights_that_tell_nothing_are_not_a_finding(
    class_case: Case, weights: object, refits: object, sentence: str
) -> None:
    refitted = None if refits is None else control(refits)
    text = render(with_weights(class_case.model, weights), class_case.evidence, control=refitted)
    assert sentence in words(text)
    assert "strongest link none no task preferred" in words(text)
    assert 'aria-label="Who learns from whom.' not in text
    assert text.index("<details>") < text.index('id="table-arrows"') < text.index("</details>")
    assert not re.search(r"<li>\w+ learns from", text)
    assert ("Is it more than chance?" in text) == (refits is not None)


def test_weights_beyond_the_control_are_a_finding(class_case: Case) -> None:
    text = render(with_weights(class_case.model, UNEVEN), class_case.evidence, control=control(EVEN))
    assert "A preference is clear: north learns from south 0.90, and 1 more is as sure (even is 0.50)." in words(text)
    assert "(1 refit)" in text
    assert "<details>" not in text
    assert text.count("<li>south learns from north") == 1
    assert "<li>north learns from west" not in text  # within the control


def test_the_strongest_link_is_one_that_is_clear() -> None:
    def finding(answer: Answer, preferred: list[Arrow]) -> Finding:
        return Finding(answer, [wide, sure], preferred, [], [], 0.5, 3)

    wide, sure = Arrow("a", "b", 0.61, (0.01, 0.88)), Arrow("b", "c", 0.6, (0.55, 0.7))
    none = ("strongest link", "none is clear", "the strongest has a weight of 0.61; 90 %: 0.01 to 0.88")
    assert _link_card(finding("unknown", [])) == none
    assert _link_card(finding("clear", [])) == none
    assert _link_card(finding("unknown", [sure])) == none
    assert _link_card(finding("clear", [sure])) == ("strongest link", "0.60", "b learns from c; 90 %: 0.55 to 0.70")


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
    assert f"Best mean over tasks: Pooled {mean / 2:.3f}; this model {mean:.3f}, place 2 of 3." in text
    text = words(render(real_case.model, own, {"qian": worse}))
    assert f"Best mean over tasks: this model {mean:.3f}, of 2 methods; next Qian et al. {2 * mean:.3f}." in text


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
    assert "Blue and bold: the best method of a task." in text
    best = render(class_case.model, own, {"qian": own})
    assert f"this model {mean:.3f}, of 2 methods; next Qian et al. {mean:.3f}. The difference is within" in words(best)


def test_a_warning_stands_before_all_numbers(class_case: Case) -> None:
    text = render(class_case.model, class_case.evidence, warnings=["Too <good>."])
    assert text.index("Too &lt;good&gt;.") < text.index('class="cards"')
    assert 'class="warning"' not in render(class_case.model, class_case.evidence)


def test_every_question_has_an_answer(class_case: Case, real_case: Case) -> None:
    of_class, of_real = (words(render(case.model, case.evidence)) for case in (class_case, real_case))
    perfect = class_case.evidence.scores(np.arange(150))["ece_perfect"]
    assert f"a perfectly calibrated model would score {perfect:.3f} on as many rows" in of_class
    assert "Mean uncertainty of right predictions: " in of_class
    assert f"{int(class_case.evidence.wrong.sum())} of 150 rows are predicted wrong." in of_class
    assert re.search(r"95 % intervals contain [\d.]+ % of 150 rows: ", of_real)
    assert "Half of the predictions are off by at most" in of_real
    for text in (of_class, of_real):
        assert "In 20 steps, means over the tasks went like this: negative log likelihood" in text
        assert "may rise" in text
        assert "e+0" not in text


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


def test_counts_and_ties_read_well(class_case: Case) -> None:
    own = class_case.evidence
    assert own.p is not None
    tied = replace(own, p=np.eye(3)[own.y])
    text = words(render(class_case.model, tied, {"stl": tied}))
    assert "weakest tasks 1.000 north, south, west" in text
    assert "among 3 tasks, 0.15 on average" in text
    rows = class_case.test
    one = MultiTaskClassifier("stl", max_steps=3, random_state=0).fit(rows.X, rows.y)
    alone = words(render(one, gather(one, rows.X[:1], rows.y[:1])))
    assert "of 1 task, scored on 1 labelled row " in alone
    assert "weakest" not in alone
