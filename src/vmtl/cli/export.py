"""``vmtl export``: a model as a file that runs without Python."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vmtl.cli._support.console import note, show_json
from vmtl.cli._support.options import Debug, Json, ModelFile, Quiet


def export(
    model: ModelFile,
    onnx: Annotated[Path, typer.Option(help="The ONNX file to write.")],
    quiet: Quiet = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Write a model as one ONNX file, which onnxruntime runs in any language.

    Its inputs are `x`, the raw numeric columns in the order of training (float64, NaN for gaps, dates as days since
    1970-01-01), and `task`, the place of each row's task in the list of tasks (int64, from 0). Its outputs are
    `probabilities` or `prediction`, and `total`, `aleatoric` and `epistemic` uncertainty. Columns, tasks and classes
    stand in the metadata of the file. A row that `vmtl predict` would refuse gives NaN.
    """
    from vmtl._utils.progress_bar import progress_bar
    from vmtl.cli._support.files import check_output
    from vmtl.cli._support.loading import load_model
    from vmtl.serving import describe, export_onnx

    check_output(onnx, model)
    fitted = load_model(model)
    with progress_bar("Exporting", visible=not (quiet or json)):
        export_onnx(fitted, onnx)
    facts = describe(fitted)
    if json:
        show_json({"out": str(onnx), "bytes": onnx.stat().st_size, **facts})
    size = f"{onnx.stat().st_size / 1e6:.1f} MB"
    note(
        f"{onnx}: {size}, {len(facts['columns'])} columns, {len(facts['tasks'])} tasks; same predictions.",
        quiet or json,
    )
