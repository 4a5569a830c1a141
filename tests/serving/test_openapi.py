"""The OpenAPI document describes the requests that are read."""

from __future__ import annotations

import json

from vmtl.serving.openapi import openapi
from vmtl.serving.requests import KEYS


def test_it_names_the_columns_and_every_key_of_a_request() -> None:
    document = openapi({"columns": ["age", "dose"], "version": "1.2"})
    assert json.loads(json.dumps(document)) == document
    assert list(document["paths"]) == ["/", "/health", "/predict"]
    body = document["paths"]["/predict"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert tuple(body["properties"]) == KEYS
    assert body["additionalProperties"] is False
    row = body["properties"]["rows"]["oneOf"][0]["items"]
    assert row["required"] == list(row["properties"]) == ["age", "dose"]
