"""The page as text: self-contained, escaped, with text for every figure."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from report_models import Case, make_case

from vmtl import MultiTaskClassifier
from vmtl.report import Control, Labelled, gather, render

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
    assert [a["id"] for a in page.all("section")] == [SECTIONS[0], "gains", *SECTIONS[1:]]
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
    case = make_case("class", wild, steps=2)
    page = Page(render(case.model, case.evidence, title=wild[0], facts={wild[1]: wild[2]}))
    assert len(page.all("script")) == 1
    assert page.all("img") == []
    assert not [a for _, a in page.tags if any(name.startswith("on") for name in a)]
    assert wild[0] in page.words
    assert wild[1] in "".join(page.words)


def test_a_page_of_many_tasks_stays_small() -> None:
    import numpy as np

    rng = np.random.default_rng(0)
    tasks = np.array([f"school {k}" for k in np.arange(480) % 80], dtype=object)
    rows = Labelled(rng.normal(size=(480, 3)), rng.integers(0, 2, 480), tasks)
    model = MultiTaskClassifier(max_steps=2, random_state=0).fit(rows.X, rows.y, tasks=tasks)
    evidence = gather(model, rows.X, rows.y, tasks)
    control = Control(np.full((3, 80, 80), 1 / 79), np.full((3, 80, 80), 1 / 79))
    text = render(model, evidence, {"stl": evidence, "pooled": evidence}, control)
    assert len(text) < 2_000_000
    assert text.count("school 79") >= 1
