"""Loaders: each returns a ``Problem``; those that draw their own rows return its ``Split`` as well."""

from vmtl.data.column_types import set_column_types
from vmtl.datasets.digits import load_digits_domains, load_rotated_digits
from vmtl.datasets.images import image_folder, image_lists
from vmtl.datasets.npz import load_npz, open_features, row_batches, save_npz
from vmtl.datasets.rotated_mnist import load_rotated_mnist
from vmtl.datasets.school import load_school
from vmtl.datasets.synthetic import SyntheticTasks, make_task_groups
from vmtl.datasets.table_files import read_table

__all__ = [
    "SyntheticTasks",
    "image_folder",
    "image_lists",
    "load_digits_domains",
    "load_npz",
    "load_rotated_digits",
    "load_rotated_mnist",
    "load_school",
    "make_task_groups",
    "open_features",
    "read_table",
    "row_batches",
    "save_npz",
    "set_column_types",
]
