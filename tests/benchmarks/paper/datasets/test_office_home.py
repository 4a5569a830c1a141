"""Office-Home as unpacked."""

from __future__ import annotations

from pathlib import Path

from benchmarks.paper.datasets import load_office_home
from vmtl.data.splits import document_split, read_split_document


def test_office_home_as_unpacked_matches_its_documents(real_data: Path, tmp_path: Path) -> None:
    """Empty files in place of the 15,588 images that the split documents name."""
    documents = real_data / "splits" / "office-home"
    for file in [*documents.glob("*/train_5.txt"), *documents.glob("*/test_5.txt")]:
        places = [place.replace("Real_World", "Real World") for place in read_split_document(file).paths]
        for folder in {Path(place).parent for place in places}:
            (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        for place in places:
            (tmp_path / place).touch()
    problem = load_office_home(tmp_path)
    assert problem.n_rows == 15588
    for percent in (5, 10, 20):
        split = document_split(problem, documents, percent)
        assert len(split.train) + len(split.test) == problem.n_rows
