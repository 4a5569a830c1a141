"""``vmtl serve`` as a process of its own, asked by a real HTTP client."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import requests

from helpers.numeric_models import NUMBERS
from helpers.processes import PATIENCE
from helpers.tables import make_table
from vmtl import MultiTaskClassifier, MultiTaskRegressor
from vmtl._utils.types import Array
from vmtl.deployment import describe

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

from vmtl.deployment.service import predictions, read_rows, read_tasks

pytestmark = pytest.mark.system

COLUMNS = [*NUMBERS, "ward"]


@pytest.fixture(scope="module")
def model(quick_inference: None) -> MultiTaskClassifier:
    table = make_table(90, 0)
    model = MultiTaskClassifier(missing="impute", max_steps=15, random_state=0)
    return model.fit(table[COLUMNS], table["outcome"], tasks=table["site"])


@dataclass(frozen=True)
class Client:
    """Asks one address; may be shared by threads."""

    address: str

    def get(self, page: str) -> Any:
        return requests.get(self.address + page, timeout=PATIENCE)

    def post(self, page: str, **body: Any) -> Any:
        return requests.post(self.address + page, timeout=PATIENCE, **body)


@contextmanager
def served(path: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], Client]]:
    """The process of ``vmtl serve`` on a free port, and a client of it."""
    command = [sys.executable, "-m", "vmtl", "serve", str(path), "--port", "0", *options]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stderr is not None
        try:
            first = process.stderr.readline()
            address = re.search(r"http://\S+:\d+", first)
            assert address is not None, first + process.stderr.read()
            yield process, Client(address[0])
        finally:
            process.kill()


@pytest.fixture(scope="module")
def client(model: MultiTaskClassifier, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    path = tmp_path_factory.mktemp("served") / "model.vmtl"
    model.save(path, metadata={"task": "site"})
    with served(path, "--max-rows", "100", "--max-bytes", "20000") as (_, client):
        yield client


def objects(n: int, seed: int = 1) -> tuple[list[dict[str, Any]], list[str]]:
    """Rows as JSON has them, null for gaps, and their tasks."""
    table = make_table(n, seed)
    rows = table[COLUMNS].astype(object).where(table[COLUMNS].notna(), None)
    return rows.to_dict(orient="records"), table["site"].tolist()


def probabilities(answer: Any) -> Array:
    assert answer.status_code == 200, answer.text
    return np.array([list(row["probabilities"].values()) for row in answer.json()["predictions"]])


def test_it_says_what_it_serves(client: Client) -> None:
    about = client.get("/").json()
    assert about["tasks"] == ["north", "south", "west"]
    assert about["columns"] == COLUMNS
    assert about["classes"] == ["mild", "none", "severe"]
    assert about["limits"] == {"rows": 100, "bytes": 20000}
    assert client.get("/health").json() == {"status": "ok"}


def test_objects_columns_and_lists_give_the_models_predictions(client: Client, model: MultiTaskClassifier) -> None:
    rows, tasks = objects(40)
    table = make_table(40, 1)
    expected = model.predict_proba(table[COLUMNS], tasks=table["site"])
    uncertainty = model.uncertainty(table[COLUMNS], tasks=table["site"])
    columns = {name: [row[name] for row in rows] for name in COLUMNS}
    lists = [[row[name] for name in COLUMNS] for row in rows]
    with_task = [{**row, "site": task} for row, task in zip(rows, tasks, strict=True)]
    for body in ({"rows": rows, "tasks": tasks}, {"rows": columns, "tasks": tasks}, {"rows": lists, "tasks": tasks}):
        np.testing.assert_allclose(probabilities(client.post("/predict", json=body)), expected, rtol=0, atol=1e-6)
    answer = client.post("/predict", json={"rows": with_task})
    np.testing.assert_allclose(probabilities(answer), expected, rtol=0, atol=1e-6)
    predicted = answer.json()["predictions"]
    assert [row["prediction"] for row in predicted] == model.classes_[expected.argmax(1)].tolist()
    for name in ("total", "aleatoric", "epistemic"):
        np.testing.assert_allclose([row[name] for row in predicted], uncertainty[name], rtol=0, atol=1e-6)


GOOD = {"age": 0.1, "dose": 0.2, "bmi": None, "ward": "A"}


@pytest.mark.parametrize(
    ("body", "status", "sentence"),
    [
        ({"rows": [GOOD], "tasks": "nort"}, 422, "Unknown task 'nort' (did you mean 'north'?); the model knows"),
        ({"rows": [GOOD]}, 422, 'The request names no task; add "tasks"'),
        ({"rows": [GOOD], "tasks": ["north", "west"]}, 422, "There are 2 tasks for 1 row; give one per row."),
        ({"rows": [GOOD], "tasks": [None]}, 422, "A task is missing or no name"),
        ({"rows": [GOOD, {"age": 1}], "tasks": "north"}, 422, "Row 2 lacks 'dose', 'bmi', 'ward', which the model"),
        ({"rows": {"age": [1]}, "tasks": "north"}, 422, "The request lacks 'dose', 'bmi', 'ward'"),
        ({"rows": {"age": [1], "dose": []}, "tasks": "north"}, 422, "The columns differ in length"),
        ({"rows": [[1, 2]], "tasks": "north"}, 422, "Row 1 is neither an object nor a list of 4 values; repair it."),
        (
            {"rows": [{**GOOD, "age": "old"}], "tasks": "north"},
            422,
            "Data row 1: 'old' in column 'age', which held numbers in training",
        ),
        ({"rows": [{**GOOD, "age": [1]}], "tasks": "north"}, 422, "in column 'age', which held numbers in training"),
        ({"rows": [], "tasks": "north"}, 422, "The request has 0 rows; send between 1 and 100 at a time."),
        ({"rows": [GOOD] * 101, "tasks": "north"}, 422, "The request has 101 rows; send between 1 and 100 at a time."),
        ({"rows": [GOOD, [1, 2, 3, "A"]], "tasks": "north"}, 422, "Row 2 is written unlike row 1; write all rows as"),
        ({"rows": {"\ud800": 3}, "tasks": "north"}, 422, "The request is wrong at 'rows."),
        pytest.param(
            *({"rows": [{**GOOD, "ward": "\ud800"}], "tasks": "north"}, 422, "half of a surrogate pair"),
            marks=pytest.mark.skipif(pd.__version__ < "3", reason="pandas 2 keeps it"),
        ),
        ({"rows": [{**GOOD, "ward": ["A"]}], "tasks": "north"}, 422, "Column 'ward' holds a list in a cell"),
        ({"rows": [GOOD] * 1000, "tasks": "north"}, 413, "bytes, more than 20000; send fewer rows at a time."),
        ({"row": [GOOD]}, 422, "The request is wrong at 'rows' (Field required); send JSON such as"),
        ({"rows": 3}, 422, "The request is wrong at 'rows"),
    ],
)
def test_bad_input_is_answered_by_a_sentence(client: Client, body: Any, status: int, sentence: str) -> None:
    answer = client.post("/predict", json=body)
    assert answer.status_code == status
    assert list(answer.json()) == ["error"]
    assert sentence in answer.json()["error"]
    assert answer.json()["error"].endswith(".")


def test_what_is_no_json_no_page_and_no_length(client: Client) -> None:
    kind = {"content-type": "application/json"}
    broken = client.post("/predict", data=b'{"rows": [', headers=kind)
    assert broken.status_code == 422
    assert broken.json()["error"].startswith("The request is wrong")
    infinite = client.post("/predict", data=b'{"rows": [[Infinity, 1, 1, "A"]], "tasks": "north"}', headers=kind)
    assert infinite.status_code == 422
    assert "infinite value" in infinite.json()["error"]
    assert client.get("/nothing").status_code == 404
    assert client.get("/predict").status_code == 405
    assert client.get("/predict").json()["error"].startswith("GET /predict is not served")
    assert client.post("/predict", data=iter([b"{}"])).status_code == 411  # chunked
    assert client.get("/health").status_code == 200


def test_many_at_once_get_their_own_answers(client: Client, model: MultiTaskClassifier) -> None:
    def ask(seed: int) -> tuple[int, Array]:
        rows, tasks = objects(5, seed)
        return seed, probabilities(client.post("/predict", json={"rows": rows, "tasks": tasks}))

    with ThreadPoolExecutor(16) as pool:
        for seed, answered in pool.map(ask, range(100)):
            table = make_table(5, seed)
            expected = model.predict_proba(table[COLUMNS], tasks=table["site"])
            np.testing.assert_allclose(answered, expected, rtol=0, atol=1e-6)


def test_sigterm_ends_it_with_success_and_a_taken_port_is_said(model: MultiTaskClassifier, tmp_path: Path) -> None:
    model.save(tmp_path / "model.vmtl")
    with served(tmp_path / "model.vmtl") as (process, client):
        port = client.address.rsplit(":")[-1]
        command = [sys.executable, "-m", "vmtl", "serve", str(tmp_path / "model.vmtl"), "--port", port]
        second = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
        assert second.returncode == 2
        assert f"Cannot listen at 127.0.0.1, port {port} (Address already in use); choose another" in second.stderr
        assert client.get("/health").status_code == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0


@pytest.mark.usefixtures("quick_inference")
def test_arrays_have_columns_by_their_place_and_numbers_are_real() -> None:
    x = np.random.default_rng(0).normal(size=(40, 2))
    model = MultiTaskRegressor(max_steps=5, random_state=0).fit(x, x.sum(1), tasks=np.arange(40) % 2)
    assert describe(model)["columns"] == ["x0", "x1"]
    mean, std = model.predict(x[:3], tasks=[1, 1, 1], return_std=True)
    for rows in (x[:3].tolist(), {"x1": x[:3, 1].tolist(), "x0": x[:3, 0].tolist()}):
        table = read_rows(rows, ["x0", "x1"], max_rows=3)
        predicted = predictions(model, table, read_tasks(1, table, model))
        np.testing.assert_allclose([row["prediction"] for row in predicted], mean, rtol=0, atol=1e-6)
        np.testing.assert_allclose([row["total"] for row in predicted], std, rtol=0, atol=1e-6)
    with pytest.raises(ValueError, match="The model was fitted on numbers, and some cell is none"):
        predictions(model, read_rows([["a", 1]], ["x0", "x1"], 3), np.array([1], dtype=object))
