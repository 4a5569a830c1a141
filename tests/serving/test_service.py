"""The pages of the service, asked by a real HTTP client."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from helpers.numeric_models import NUMBERS
from helpers.tables import make_table
from vmtl import MultiTaskClassifier
from vmtl._utils.types import Array

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from helpers.serving import Client, process_of, thread_of, wait_until
from vmtl.serving import Limits, make_app, service

pytestmark = pytest.mark.system

COLUMNS = [*NUMBERS, "ward"]
GOOD = {"age": 0.1, "dose": 0.2, "bmi": None, "ward": "A"}
KIND = {"content-type": "application/json"}


@pytest.fixture(scope="module")
def model() -> MultiTaskClassifier:
    table = make_table(90, 0)
    model = MultiTaskClassifier(missing="impute", random_state=0)
    return model.fit(table[COLUMNS], table["outcome"], tasks=table["site"])


@pytest.fixture(scope="module")
def client(model: MultiTaskClassifier, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    path = tmp_path_factory.mktemp("served") / "model.vmtl"
    model.save(path, metadata={"task": "site"})
    with process_of(path, "--max-rows", "100", "--max-bytes", "20000") as (_, client):
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
    assert about["limits"] == {"rows": 100, "bytes": 20000, "waiting": 256, "seconds": 30.0}
    health = client.get("/health").json()
    assert (health["status"], health["waiting"]) == ("ok", 0)
    document = client.get("/openapi.json").json()
    asked = document["paths"]["/predict"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert list(asked["properties"]) == ["rows", "tasks", "coverage", "uncertainty"]
    assert asked["properties"]["rows"]["oneOf"][0]["items"]["required"] == COLUMNS


def test_it_gives_the_models_predictions(client: Client, model: MultiTaskClassifier) -> None:
    rows, tasks = objects(40)
    table = make_table(40, 1)
    X, sites = table[COLUMNS], table["site"]
    answer = client.post("/predict", json={"rows": rows, "tasks": tasks, "coverage": 0.8, "uncertainty": True})
    np.testing.assert_allclose(probabilities(answer), model.predict_proba(X, tasks=sites), rtol=0, atol=1e-6)
    predicted = answer.json()["predictions"]
    uncertainty, sets = model.uncertainty(X, tasks=sites), model.predict_set(X, tasks=sites, coverage=0.8)
    assert [row["set"] for row in predicted] == [list(sets.columns[inside]) for inside in sets.to_numpy()]
    for name in ("total", "aleatoric", "epistemic"):
        np.testing.assert_allclose([row[name] for row in predicted], uncertainty[name], rtol=0, atol=1e-6)


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
        ({"rows": [], "tasks": "north"}, 422, "The request has 0 rows; send between 1 and 100 at a time."),
        ({"rows": [GOOD] * 101, "tasks": "north"}, 422, "The request has 101 rows; send between 1 and 100 at a time."),
        ("\ud800", 422, "?"),
        ({"rows": [{**GOOD, "ward": "\ud800"}], "tasks": "\ud800"}, 422, "Unknown task"),
        ({"rows": [GOOD] * 1000, "tasks": "north"}, 413, "bytes, more than 20000; send fewer rows at a time."),
        ({"row": [GOOD]}, 422, "The request has the unknown key 'row' (did you mean 'rows'?); it takes rows, tasks"),
        ({"rows": [GOOD], "tasks": "north", "coverage": 0.999}, 422, "coverage=0.999 needs 999 labelled rows"),
    ],
)
def test_bad_input_is_answered_by_a_sentence(client: Client, body: Any, status: int, sentence: str) -> None:
    answer = client.post("/predict", json=body)
    assert answer.status_code == status
    assert list(answer.json()) == ["error"]
    assert sentence in answer.json()["error"]
    assert answer.json()["error"].endswith(".")


def test_what_is_no_json_no_page_and_no_length(client: Client) -> None:
    broken = client.post("/predict", data=b'{"rows": [', headers=KIND)
    assert broken.status_code == 422
    assert broken.json()["error"].startswith("The request is not valid JSON: Expecting value at line 1, column 11;")
    infinite = client.post("/predict", data=b'{"rows": [[Infinity, 1, 1, "A"]], "tasks": "north"}', headers=KIND)
    assert infinite.status_code == 422
    assert "infinite value" in infinite.json()["error"]
    assert client.get("/nothing").status_code == 404
    assert client.get("/predict").status_code == 405
    assert client.get("/predict").json()["error"].startswith("GET /predict is not served")
    assert client.post("/predict", data=iter([b"{}"])).status_code == 411  # chunked
    assert client.get("/health").status_code == 200


def test_many_at_once_get_their_own_answers(client: Client, model: MultiTaskClassifier) -> None:
    def ask(seed: int) -> tuple[int, Any]:
        rows, tasks = objects(5, seed)
        if seed % 10 == 0:
            rows[2]["age"] = "old"  # one that spoils no other
        return seed, client.post("/predict", json={"rows": rows, "tasks": tasks})

    with ThreadPoolExecutor(16) as pool:
        for seed, answer in pool.map(ask, range(100)):
            if seed % 10 == 0:
                assert answer.json()["error"].startswith("Data row 3: 'old' in column 'age'")
                continue
            table = make_table(5, seed)
            expected = model.predict_proba(table[COLUMNS], tasks=table["site"])
            np.testing.assert_allclose(probabilities(answer), expected, rtol=0, atol=1e-6)


class Gate:
    """A model that predicts when it is told to, and counts the batches that it was given."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.open, self.batches = threading.Event(), 0
        monkeypatch.setattr(service, "answer_together", self.answer)

    def answer(self, model: object, requests: Sequence[object]) -> list[bytes]:
        self.batches += 1
        self.open.wait()
        return [b"{}"] * len(requests)


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    gate = Gate(monkeypatch)
    yield gate
    gate.open.set()


def test_beyond_the_queue_it_is_busy(model: MultiTaskClassifier, gate: Gate) -> None:
    body = {"rows": [GOOD], "tasks": "north"}
    with thread_of(make_app(model, limits=Limits(waiting=2))) as client, ThreadPoolExecutor(3) as pool:
        accepted = [pool.submit(client.post, "/predict", json=body)]
        wait_until(lambda: gate.batches == 1)
        accepted += [pool.submit(client.post, "/predict", json=body) for _ in range(2)]
        wait_until(lambda: client.get("/health").json()["waiting"] == 2)
        refused = client.post("/predict", json=body)
        assert (refused.status_code, refused.headers["Retry-After"]) == (503, "1")
        assert refused.json() == {"error": "Too many requests are waiting; try again in a second."}
        gate.open.set()
        assert [answer.result().status_code for answer in accepted] == [200, 200, 200]
        assert client.post("/predict", json=body).status_code == 200


def test_bodies_beyond_what_it_holds_are_not_read(model: MultiTaskClassifier, gate: Gate) -> None:
    with thread_of(make_app(model, limits=Limits(bytes=100))) as client:
        slow = [client.connect() for _ in range(4)]
        for connection in slow:
            connection.sendall(b"POST /predict HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n")
        wait_until(lambda: client.post("/predict", data=b"{}").status_code == 503)
        for connection in slow:
            connection.close()
        wait_until(lambda: client.post("/predict", data=b"{}").status_code == 422)


def test_late_bodies_and_late_predictions_are_given_up(model: MultiTaskClassifier, gate: Gate) -> None:
    with thread_of(make_app(model, limits=Limits(seconds=0.2))) as client:
        with client.connect() as slow:
            slow.sendall(b"POST /predict HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{")
            answer = b"".join(iter(lambda: slow.recv(1000), b""))  # until it is closed
        assert answer.startswith(b"HTTP/1.1 408 ")
        assert answer.endswith(b'{"error":"The body did not arrive within 0.2 seconds; send it faster."}')
        late = client.post("/predict", json={"rows": [GOOD], "tasks": "north"})
        assert (late.status_code, late.headers["Retry-After"]) == (503, "1")
        assert late.json() == {"error": "No prediction within 0.2 seconds; try again later."}
        gate.open.set()
        assert client.get("/health").json()["waiting"] == 0
