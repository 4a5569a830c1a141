"""``helpers.rounding`` changes the last bits of every matrix operation as another processor would, and nothing else."""

from __future__ import annotations

import json

import pytest

from helpers.reliable import run_python
from helpers.rounding import FACTORISATIONS, IN_PLACE, OUT, PRODUCTS, SUMS, VARIABLE

#: One call of every operation that is replaced: of ``a`` (40, 6), ``b`` (6, 30), ``batch`` (8, 40, 6),
#: ``batch_b`` (8, 6, 30), ``v`` (6,), ``s`` (6, 6) positive definite with factor ``l``, and ``to`` to be written to.
CALLS = {
    "mm": "a @ b",
    "addmm": "torch.addmm(b[0], a, b, beta=-2, alpha=3)",
    "bmm": "batch @ batch_b",
    "baddbmm": "torch.baddbmm(b[:1], batch, batch_b)",
    "addmv": "a @ v",
    "dot": "(1000 * a[:, 0]) @ a[:, 1]",
    "addbmm": "torch.addbmm(b[0], batch, batch_b)",
    "sum.dim_IntList": "a.sum()",
    "mean.dim": "a.mean(0)",
    "linalg_cholesky_ex": "torch.linalg.cholesky(s)",
    "cholesky_inverse": "torch.cholesky_inverse(l)",
    "_cholesky_solve_helper": "torch.cholesky_solve(b, l)",
    "linalg_inv_ex": "torch.linalg.inv(s)",
    "_linalg_solve_ex": "torch.linalg.solve(s, b)",
    "linalg_solve_triangular": "torch.linalg.solve_triangular(l, b, upper=False)",
    "linalg_lu_factor_ex": "torch.linalg.lu_factor(s)[0]",
    "_linalg_eigh": "torch.linalg.eigh(s)[0]",
    "_linalg_svd": "torch.linalg.svd(a)[1]",
    "_linalg_slogdet": "torch.linalg.slogdet(s)[1]",
    "addmm_": "to(40, 30).addmm_(a, b)",
    "baddbmm_": "to(8, 40, 30).baddbmm_(batch, batch_b)",
    "addmv_": "to(40).addmv_(a, v)",
    "addbmm_": "to(40, 30).addbmm_(batch, batch_b)",
    "mm.out": "torch.mm(a, b, out=to(40, 30))",
    "addmm.out": "torch.addmm(b[0], a, b, out=to(40, 30))",
    "bmm.out": "torch.bmm(batch, batch_b, out=to(8, 40, 30))",
    "baddbmm.out": "torch.baddbmm(b[:1], batch, batch_b, out=to(8, 40, 30))",
    "addmv.out": "torch.addmv(a[:, 0], a, v, out=to(40))",
    "dot.out": "torch.dot(1000 * a[:, 0], a[:, 1], out=to())",
    "addbmm.out": "torch.addbmm(b[0], batch, batch_b, out=to(40, 30))",
    "sum.IntList_out": "torch.sum(a, 0, out=to(6))",
}
SCRIPT = """
import json, sys, threading
import torch
from helpers.rounding import switch_on
torch.set_num_threads(1)

def numbers(dtype):
    generator = torch.Generator().manual_seed(0)
    draw = lambda *shape: torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype)
    a = draw(40, 6)
    s = a.T @ a + torch.eye(6, dtype=dtype)
    return dict(a=a, b=draw(6, 30), batch=draw(8, 40, 6), batch_b=draw(8, 6, 30), v=draw(6), s=s,
                l=torch.linalg.cholesky(s), to=lambda *shape: torch.ones(shape, dtype=dtype), torch=torch)

given = {dtype: numbers(dtype) for dtype in (torch.float32, torch.float64)}
calls = json.loads(sys.argv[1])
plain = {(name, dtype): eval(call, given[dtype]) for name, call in calls.items() for dtype in given}
switch_on()
products = {}
for (name, dtype), expected in plain.items():
    one, two = eval(calls[name], given[dtype]), eval(calls[name], given[dtype])
    products.setdefault(name, []).append(dict(
        dtype=str(dtype), moved=not torch.equal(one, expected), repeated=torch.equal(one, two),
        by=float((one - expected).abs().max() / expected.abs().max() / torch.finfo(dtype).eps)))

a, b = given[torch.float32]["a"], given[torch.float32]["b"]
product, elsewhere = a @ b, []
thread = threading.Thread(target=lambda: elsewhere.append(a @ b))
thread.start()
thread.join()
weights = torch.full((1000,), 3.0)
grown = a.clone().requires_grad_()
((grown @ b) * product).sum().backward()
products["facts"] = dict(
    rows=not torch.equal((a[:20] @ b), product[:20]),
    place=not torch.equal((torch.vstack([a[20:], a[:20]]) @ b)[20:], product[:20]),
    layout=not torch.equal(a @ b.T.contiguous().T, product),
    copy=torch.equal(a.clone() @ b.clone(), product),
    thread=torch.equal(elsewhere[0], product),
    gradient=torch.equal(grown.grad, product @ b.T),
    zero=bool((torch.zeros(5, 6) @ b == 0).all()),
    count=float(weights.sum()) == 3000,
    integers=torch.equal(torch.arange(6) @ torch.ones(6, 2, dtype=torch.int64), torch.tensor([15, 15])),
)
print(json.dumps(products))
"""


@pytest.fixture(scope="module")
def products() -> dict:
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(VARIABLE, raising=False)  # the script begins with torch as it is
        return json.loads(run_python(SCRIPT, json.dumps(CALLS)).splitlines()[-1])


def test_every_replaced_operation_is_called() -> None:
    assert CALLS.keys() == {*PRODUCTS, *SUMS, *FACTORISATIONS, *IN_PLACE, *OUT}


@pytest.mark.parametrize("name", CALLS)
def test_last_bits_move_and_stay_moved(name: str, products: dict) -> None:
    """Except where numbers are so few that rounding may well agree: then in one of the two dtypes."""
    assert any(case["moved"] for case in products[name])
    for case in products[name]:
        assert case["repeated"]
        assert case["by"] < 100  # eps of the largest number; well-conditioned


@pytest.mark.parametrize("fact", ["rows", "place", "layout", "copy", "thread", "gradient", "zero", "count", "integers"])
def test_rounding_depends_on_shape_layout_and_place_alone(fact: str, products: dict) -> None:
    """Other bits in other rows, at another place, transposed; the same in a copy, a thread, and backwards."""
    assert products["facts"][fact]
