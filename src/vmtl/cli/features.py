"""``vmtl features``: a folder of images -> one feature file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from vmtl.cli._support.options import Debug, Quiet


def features(
    images: Annotated[Path, typer.Argument(help="Folder of images laid out as <Domain>/<Class>/*.jpg|png.")],
    out: Annotated[Path, typer.Option(help="The feature file to write (.npz).")],
    backbone: Annotated[
        str, typer.Option(help="efficientnet_lite0, vgg16, onnx:FILE or timm:NAME.")
    ] = "efficientnet_lite0",
    weights: Annotated[Path | None, typer.Option(help="A local checkpoint; vgg16 needs one.")] = None,
    scaling: Annotated[str | None, typer.Option(help="Scaling for an ONNX file: imagenet or lite.")] = None,
    cache: Annotated[Path | None, typer.Option(help="Folder that keeps computed features.")] = None,
    skip_broken: Annotated[bool, typer.Option("--skip-broken", help="Leave out unreadable images.")] = False,
    threads: Annotated[int | None, typer.Option(help="Threads of the backbone; default all cores.")] = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Compute features of a folder of images; a stopped run goes on where it was."""
    from vmtl.cli._support.files import check_output
    from vmtl.datasets import save_npz
    from vmtl.vision import extract_features, load_backbone
    from vmtl.vision.transform import PIXEL_SCALINGS

    if scaling is not None and scaling not in PIXEL_SCALINGS:
        raise ValueError(f"There is no scaling {scaling!r}; use {' or '.join(PIXEL_SCALINGS)}.")
    check_output(out)
    network = load_backbone(backbone, weights=weights, n_threads=threads)
    if scaling is not None:
        network = replace(network, transform=replace(PIXEL_SCALINGS[scaling], size=network.transform.size))
    done = extract_features(images, network, cache=cache, skip_broken=skip_broken, progress=not quiet)
    save_npz(done.problem, out)
    for path in done.broken:
        typer.echo(f"skipped {path}: it cannot be read", err=True)
    problem = done.problem
    typer.echo(
        f"{out}: {problem.n_rows} images, {problem.n_tasks} tasks, {problem.n_classes} classes, "
        f"{problem.X.shape[1]} features; {done.n_cached} from the cache, {done.seconds:.1f} s"
    )
