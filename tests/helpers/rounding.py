"""The arithmetic of any machine: matrix operations of torch that round as some other processor would.

A library of matrix products splits its sums by the instructions of the processor and by the shape and the layout of
the factors. So the same call gives the same bits every time, but a row may round differently beside other rows, at
another place of its block, or when the same numbers lie transposed; on some machines more so than on the one that tests
are written on. ``switch_on`` makes every machine such a machine: it replaces torch's kernels for the CPU by ones whose
rounding depends on operation, dtype, shapes, strides and place in the result, and on nothing else.

- A product moves by its usual error: noise in [-1, 1] times eps times the product of the absolute values (Higham,
  Accuracy and Stability of Numerical Algorithms, Eq. 3.13). Between instruction sets of one processor it was
  measured to be .1 to 4 in these units, at most 11.
- A sum runs in another order: what is exact, such as a count, stays exact.
- A factorisation reads entries that are off by as much as rounding, which is how its error is bounded (backward).

NumPy's products cannot be replaced, since ``@`` is compiled into its arrays; OPENBLAS_CORETYPE changes their bits.
"""

from __future__ import annotations

import os
import warnings
import zlib
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import torch
from torch import Tensor

#: Set to 1: ``conftest.py`` and the processes that tests start call ``switch_on_if_asked``.
VARIABLE = "VMTL_TEST_OTHER_ROUNDING"
PRODUCTS = ("mm", "addmm", "bmm", "baddbmm", "addmv", "dot", "addbmm")
SUMS = ("sum.dim_IntList", "mean.dim")
FACTORISATIONS = (
    "linalg_cholesky_ex",
    "cholesky_inverse",
    "_cholesky_solve_helper",
    "linalg_inv_ex",
    "_linalg_solve_ex",
    "linalg_solve_triangular",
    "linalg_lu_factor_ex",
    "_linalg_eigh",
    "_linalg_svd",
    "_linalg_slogdet",
)
FLOATS = (torch.float32, torch.float64)
#: Products that are written into a tensor that is there already.
IN_PLACE = ("addmm_", "baddbmm_", "addmv_", "addbmm_")
OUT = ("mm.out", "addmm.out", "bmm.out", "baddbmm.out", "addmv.out", "dot.out", "addbmm.out", "sum.IntList_out")
#: A prime number of noises, read from a place that operation, dtype, shapes and strides choose.
LENGTH = 65521

Operation = Callable[..., Any]
_LIBRARY = torch.library.Library("aten", "IMPL")


def switch_on_if_asked() -> None:
    if os.environ.get(VARIABLE):
        switch_on()


@cache
def switch_on() -> None:
    """From now on, in every thread of this process."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Warning only once for all operators")
        for names, rounding in ((PRODUCTS, _product), (SUMS, _sum), (FACTORISATIONS, _factorisation)):
            for name in names:
                _replace(name, partial(rounding, name, _plain(name)))
        for name in IN_PLACE:
            _replace(name, partial(_in_place, getattr(torch.ops.aten, name.removesuffix("_"))))
        for name in OUT:
            _replace(name, partial(_out, getattr(torch.ops.aten, name.split(".")[0])))


def _plain(name: str) -> Operation:
    """The operation as torch has it on the CPU."""
    kernel = torch.library.get_kernel(f"aten::{name}", "CPU")
    return partial(kernel.call_boxed, torch._C.DispatchKeySet(torch._C.DispatchKey.CPU))


def _replace(name: str, operation: Operation) -> None:
    _LIBRARY.impl(name, lambda *args, **options: operation(*args, **options), "CPU", allow_override=True)


def _product(name: str, plain: Operation, *args: Any, **options: Any) -> Tensor:
    result: Tensor = plain(*args, **options)
    if result.dtype not in FLOATS:
        return result
    size = plain(*map(abs, args), **{key: abs(value) for key, value in options.items()})
    return result.addcmul_(size, _noise(name, result, args), value=torch.finfo(result.dtype).eps)


def _sum(name: str, plain: Operation, x: Tensor, dim: list[int] | None = None, *args: Any, **options: Any) -> Tensor:
    if x.dtype in FLOATS and x.numel():
        axes = [axis for axis in dim or range(x.ndim) if x.shape[axis] > 1]
        x = x.roll([1 + _place(name, [x]) % (x.shape[axis] - 1) for axis in axes], axes) if axes else x
    result: Tensor = plain(x, dim, *args, **options)
    return result


def _factorisation(name: str, plain: Operation, *args: Any, **options: Any) -> Any:
    def off(value: Any) -> Any:
        if not isinstance(value, Tensor) or value.dtype not in FLOATS:
            return value
        return torch.addcmul(value, value, _noise(name, value, args), value=torch.finfo(value.dtype).eps)

    return plain(*map(off, args), **options)


def _in_place(operation: Operation, target: Tensor, *args: Any, **options: Any) -> Tensor:
    return target.copy_(operation(target, *args, **options))


def _out(operation: Operation, *args: Any, out: Tensor, **options: Any) -> Tensor:
    result = operation(*args, **options)
    return out.resize_(result.shape).copy_(result)


def _noise(name: str, like: Tensor, args: Sequence[Any]) -> Tensor:
    """Numbers in [-1, 1] of the shape of ``like``, always the same for the same kind of call."""
    start, size = _place(name, args), like.numel()
    copies = 1 << ((start + size) // LENGTH).bit_length()
    return _noises(like.dtype, copies)[start : start + size].view(like.shape)


@cache
def _noises(dtype: torch.dtype, copies: int) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    once = torch.rand(LENGTH, generator=generator, dtype=torch.float64).mul_(2).sub_(1)
    return once.to(dtype).repeat(copies)


def _place(name: str, args: Sequence[Any]) -> int:
    kinds = [(each.dtype, tuple(each.shape), each.stride()) for each in args if isinstance(each, Tensor)]
    return zlib.crc32(repr((name, kinds)).encode()) % LENGTH
