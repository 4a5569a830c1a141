"""The factor is the plain one where that exists, and that of a matrix next to it where rounding spoiled it."""

from __future__ import annotations

import pytest
import torch

from vmtl._utils.cholesky import MOST, cholesky, inverse

KINDS = [torch.float32, torch.float64]


def gram(rows: int, columns: int, dtype: torch.dtype, seed: int = 0) -> torch.Tensor:
    """X X', of rank ``columns``."""
    x = torch.randn(rows, columns, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)
    return x @ x.T


@pytest.mark.parametrize("dtype", KINDS)
def test_a_sound_matrix_has_its_plain_factor(dtype: torch.dtype) -> None:
    matrix = gram(20, 30, dtype)
    assert torch.equal(cholesky(matrix), torch.linalg.cholesky(matrix))


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
@pytest.mark.parametrize("seed", range(5))
def test_a_singular_matrix_has_a_factor_beside_it(dtype: torch.dtype, scale: float, seed: int) -> None:
    """Of rank 3, with an eigenvalue below 0 by as much as rounding may move it: jitter in proportion."""
    eps = torch.finfo(dtype).eps
    matrix = scale * gram(40, 3, dtype, seed)
    matrix -= 4 * eps * matrix.trace() * torch.eye(40, dtype=dtype)
    with pytest.raises(torch.linalg.LinAlgError):
        torch.linalg.cholesky(matrix)
    factor = cholesky(matrix)
    assert torch.equal(factor, factor.tril())
    away = (factor.double() @ factor.double().T - matrix.double()).abs().max()
    assert away <= 200 * eps * matrix.trace()


@pytest.mark.parametrize("dtype", KINDS)
def test_zero_noise_on_equal_rows(dtype: torch.dtype) -> None:
    """The kernel of rows that are all equal: rank one, and no noise that would help."""
    matrix = torch.full((60, 60), 0.7, dtype=dtype)
    assert cholesky(matrix).isfinite().all()


def test_gradients_pass_through_the_jitter() -> None:
    """d log det(A + j I) / dA = (A + j I)^-1, the jitter held fixed."""
    matrix = gram(6, 2, torch.float64)
    matrix = (matrix - 1e-13 * torch.eye(6, dtype=torch.float64)).requires_grad_()
    factor = cholesky(matrix)
    (2 * factor.diagonal().log().sum()).backward()
    inverse = torch.cholesky_inverse(factor.detach())
    torch.testing.assert_close(matrix.grad, inverse, rtol=1e-3, atol=1e-3 * float(inverse.abs().max()))


@pytest.mark.parametrize(
    "matrix",
    [
        torch.tensor([[1.0, 2.0], [2.0, 1.0]]),
        torch.tensor([[1.0, float("nan")], [float("nan"), 1.0]]),
        torch.tensor([[float("inf"), 0.0], [0.0, 1.0]]),
        -torch.eye(3),
        torch.zeros(3, 3),
        torch.diag(torch.tensor([1.0, 1.0, -3 * MOST])),
    ],
    ids=["indefinite", "nan", "infinite", "negative", "zero", "beyond rounding"],
)
def test_what_is_no_covariance_is_an_error(matrix: torch.Tensor) -> None:
    with pytest.raises(torch.linalg.LinAlgError, match="scale the columns of X"):
        cholesky(matrix)


def test_several_matrices_have_their_factors_and_those_that_rounding_spoiled_too() -> None:
    sound, spoiled = gram(20, 30, torch.float64), gram(20, 3, torch.float64)
    spoiled -= 4e-16 * spoiled.trace() * torch.eye(20, dtype=torch.float64)
    torch.testing.assert_close(cholesky(torch.stack([sound, 2 * sound]))[0], cholesky(sound))
    both = torch.stack([sound, spoiled])
    factors = cholesky(both)
    torch.testing.assert_close(factors @ factors.mT, both, rtol=0, atol=1e-11)


@pytest.mark.parametrize("shape", [(), (3,)])
def test_inverses_of_hundreds_of_rows_on_two_threads(shape: tuple[int, ...]) -> None:
    """Where torch's own inverse of several such matrices raises on more than one thread."""
    matrix = gram(600, 700, torch.float64).expand(*shape, 600, 600).contiguous() / 700
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        found = inverse(matrix)
    finally:
        torch.set_num_threads(threads)
    eye = torch.eye(600, dtype=torch.float64).expand_as(matrix)
    torch.testing.assert_close(found @ matrix, eye, rtol=0, atol=1e-7)
