"""Loaders of the published image sets: folders, list files or feature files, checked to be complete."""

from benchmarks.paper.datasets.domainnet import load_domainnet
from benchmarks.paper.datasets.imageclef import load_imageclef
from benchmarks.paper.datasets.office_caltech import load_office_caltech
from benchmarks.paper.datasets.office_home import load_office_home

__all__ = ["load_domainnet", "load_imageclef", "load_office_caltech", "load_office_home"]
