"""What a service takes and gives, as an OpenAPI document for programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def openapi(about: Mapping[str, Any]) -> dict[str, Any]:
    """The document; ``about`` is what ``GET /`` answers."""
    cell = {"type": ["number", "string", "boolean", "null"]}
    columns, label = about["columns"], {"type": ["string", "number"]}
    row = {"type": "object", "properties": dict.fromkeys(columns, cell), "required": columns}
    body = {
        "type": "object",
        "additionalProperties": False,
        "required": ["rows"],
        "properties": {
            "rows": {
                "oneOf": [
                    {"type": "array", "items": row},
                    {"type": "array", "items": {"type": "array", "items": cell}},
                    {"type": "object", "additionalProperties": {"type": "array", "items": cell}},
                ]
            },
            "tasks": {"oneOf": [label, {"type": "array", "items": label}]},
            "coverage": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
            "uncertainty": {"type": "boolean"},
        },
    }
    predictions = {"type": "object", "properties": {"predictions": {"type": "array", "items": {"type": "object"}}}}
    error = {"type": "object", "properties": {"error": {"type": "string"}}}
    refusals = {"408": "late", "411": "no length", "413": "too long", "422": "not to be predicted", "503": "busy"}
    responses = {"200": _content("One object per row.", predictions)}
    responses |= {status: _content(f"The request is refused: {why}.", error) for status, why in refusals.items()}
    anything = {"responses": {"200": _content("Facts.", {"type": "object"})}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "vmtl", "version": about["version"]},
        "paths": {
            "/": {"get": anything},
            "/health": {"get": anything},
            "/predict": {
                "post": {"requestBody": {"required": True, **_content("", body)}, "responses": responses},
            },
        },
    }


def _content(description: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": schema}}}
