"""Every awkward X works or raises its documented error; nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from helpers.bad_inputs import Case, dates, run, with_value
from helpers.reliable import Toy
from vmtl import MultiTaskClassifier, MultiTaskRegressor


def as_frame(toy: Toy, **columns: Any) -> dict[str, Any]:
    frame = pd.DataFrame(toy.X, columns=[f"c{j}" for j in range(toy.X.shape[1])])
    return {"X": frame.assign(**columns)}


def strided(toy: Toy) -> dict[str, Any]:
    wide = np.zeros((2 * len(toy.X), 3 * toy.X.shape[1]))
    wide[::2, ::3] = toy.X
    return {"X": wide[::2, ::3]}


def read_only(toy: Toy) -> dict[str, Any]:
    X = toy.X.astype(np.float32)
    X.setflags(write=False)
    return {"X": X}


X_CASES: dict[str, Case] = {
    "NaN": Case(with_value(np.nan), r"X contains NaN in column 2; .*missing='impute'"),
    "NaN filled": Case(with_value(np.nan), options={"missing": "impute"}),
    "infinity": Case(with_value(np.inf), r"X contains infinity \(inf\) in column 2; replace it by a number or a gap"),
    "minus infinity": Case(with_value(-np.inf), r"X contains infinity \(inf\) in column 2"),
    "infinity filled": Case(with_value(np.inf), "infinite value", {"missing": "impute"}),
    "NaN in a named column": Case(
        lambda toy: as_frame(toy, c1=np.where(np.arange(len(toy.X)) == 3, np.nan, 1.0)), "NaN in column 'c1'"
    ),
    "two columns with NaN": Case(lambda toy: {"X": np.where(np.arange(6) < 2, np.nan, toy.X)}, r"column 0 and 1 more"),
    "huge": Case(with_value(1e18)),
    "too huge": Case(with_value(1e19), r"beyond 1e\+18 in column 2, too large for float64; divide the column"),
    "the largest double": Case(with_value(1.7e308), r"beyond 1e\+18 in column 2"),
    "large": Case(with_value(1e9)),
    "tiny": Case(lambda toy: {"X": toy.X * 1e-30}),
    "denormal": Case(lambda toy: {"X": toy.X * 1e-310}),
    "constant column": Case(lambda toy: {"X": np.where(np.arange(6) == 1, 7.0, toy.X)}),
    "all columns constant": Case(lambda toy: {"X": np.ones_like(toy.X)}),
    "all zero": Case(lambda toy: {"X": np.zeros_like(toy.X)}),
    "duplicate columns": Case(lambda toy: {"X": np.hstack([toy.X, toy.X])}),
    "columns with one name": Case(lambda toy: {"X": pd.DataFrame(toy.X, columns=list("aabcde"))}, "'a' occurs twice"),
    "text columns with one name": Case(
        lambda toy: {"X": pd.DataFrame(toy.X, columns=list("aabcde")).astype(object).map(str)}, "'a' occurs twice"
    ),
    "one feature": Case(lambda toy: {"X": toy.X[:, :1]}),
    "no feature": Case(lambda toy: {"X": toy.X[:, :0]}, "0 feature"),
    "more features than rows": Case(lambda toy: {"X": np.tile(toy.X, (1, 40))}),
    "one dimension": Case(lambda toy: {"X": toy.X[:, 0]}, "Reshape your data"),
    "three dimensions": Case(lambda toy: {"X": toy.X[..., None]}, "dim 3"),
    "complex": Case(lambda toy: {"X": toy.X + 1j}, "Complex data not supported"),
    "objects that are numbers": Case(lambda toy: {"X": toy.X.astype(object)}),
    "objects that are not": Case(lambda toy: {"X": np.full(toy.X.shape, object())}, "float", kind=TypeError),
    "text that is not a number": Case(lambda toy: {"X": np.full(toy.X.shape, "a")}, "could not convert"),
    "dictionaries": Case(lambda toy: {"X": [{"a": 1}] * len(toy.X)}, "float", kind=TypeError),
    "booleans": Case(lambda toy: {"X": toy.X > 0}),
    "int8": Case(lambda toy: {"X": (toy.X * 10).astype(np.int8)}),
    "the largest int64": Case(
        lambda toy: {"X": np.full(toy.X.shape, np.iinfo(np.int64).max)}, r"beyond 1e\+18 in column 0 and 5 more"
    ),
    "integers beyond int64": Case(lambda toy: {"X": np.full(toy.X.shape, 2**70, dtype=object)}, r"beyond 1e\+18"),
    "float16": Case(lambda toy: {"X": toy.X.astype(np.float16)}),
    "float64 in Fortran order": Case(lambda toy: {"X": np.asfortranarray(toy.X)}),
    "big-endian": Case(lambda toy: {"X": toy.X.astype(">f8")}),
    "long double": Case(lambda toy: {"X": toy.X.astype(np.longdouble)}),
    "not contiguous": Case(strided),
    "reversed": Case(lambda toy: {"X": toy.X[:, ::-1]}),
    "read-only": Case(read_only),
    "lists": Case(lambda toy: {"X": toy.X.tolist()}),
    "masked array": Case(lambda toy: {"X": np.ma.masked_array(toy.X)}),
    "sparse csr": Case(lambda toy: {"X": sparse.csr_matrix(toy.X)}),
    "sparse coo": Case(lambda toy: {"X": sparse.coo_array(toy.X)}),
    "sparse csc, filled": Case(lambda toy: {"X": sparse.csc_matrix(toy.X)}, options={"missing": "impute"}),
    "sparse with NaN": Case(lambda toy: {"X": sparse.csr_matrix(with_value(np.nan)(toy)["X"])}, "NaN in column 2"),
    "DataFrame": Case(lambda toy: as_frame(toy)),
    "DataFrame with text": Case(lambda toy: as_frame(toy, ward=np.where(toy.X[:, 0] > 0, "a", "é"))),
    "DataFrame with categories": Case(lambda toy: as_frame(toy, ward=pd.Categorical(np.where(toy.X[:, 0] > 0, 1, 2)))),
    "DataFrame with a text gap": Case(
        lambda toy: as_frame(toy, ward=np.where(toy.X[:, 0] > 0, "a", None)), "Values are missing in 'ward'"
    ),
    "DataFrame with dates": Case(lambda toy: as_frame(toy, seen=dates(toy))),
    "DataFrame with time spans": Case(
        lambda toy: as_frame(toy, spent=dates(toy) - pd.Timestamp("2024-01-01")), "time spans"
    ),
    "DataFrame with nullable integers": Case(
        lambda toy: as_frame(toy, n=pd.array(np.arange(len(toy.X)), dtype="Int64"))
    ),
    "DataFrame with a nullable gap": Case(
        lambda toy: as_frame(toy, n=pd.array([None, *range(len(toy.X) - 1)], dtype="Int64")), "NaN in column 'n'"
    ),
    "array of dates": Case(lambda toy: {"X": np.asarray(dates(toy))[:, None]}, "array of dates"),
    "array of time spans": Case(lambda toy: {"X": np.arange(len(toy.X)).astype("m8[D]")[:, None]}, "array of dates"),
    "all rows equal": Case(lambda toy: {"X": np.tile(toy.X[:1], (len(toy.X), 1))}),
    "no rows": Case(lambda toy: {"X": toy.X[:0], "y": toy.values[:0], "tasks": toy.tasks[:0]}, "0 sample"),
}


@pytest.mark.parametrize("kind", [MultiTaskClassifier, MultiTaskRegressor])
@pytest.mark.parametrize("name", X_CASES)
def test_rows(name: str, kind: Any, toy: Toy) -> None:
    run(kind, X_CASES[name], toy)
