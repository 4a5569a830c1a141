"""What a method may be."""

from typing import Any

import pytest

from vmtl import Method


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"prior_z": "standard_normal"}, "prior_z='standard_normal' is a KL and needs q_z='gaussian'"),
        ({"prior_w": "gumbel_mixture"}, "prior_w='gumbel_mixture' needs q_w='gaussian'; q_w is 'delta'"),
        ({"q_w": "gaussian", "prior_w": "tensor_normal"}, "prior_w='tensor_normal' needs q_w='delta'"),
        ({"q_z": "gaussian"}, "q_z='gaussian' needs a prior_z"),
        ({"q_w": "gaussian"}, "q_w='gaussian' needs a prior_w"),
        (
            {"encoder": "per task", "q_w": "gaussian", "prior_w": "gumbel_mixture"},
            "a mixture of other tasks needs one shared encoder",
        ),
        ({"shared_head": True, "q_w": "gaussian", "prior_w": "learned_gaussian"}, "one classifier for all tasks"),
        ({"shared_head": True, "head": "amortised"}, "set shared_head=False"),
        ({"prior_w": "laplace"}, "prior_w must be one of None, 'standard_normal'"),
        ({"q_z": "laplace"}, "q_z must be one of 'delta', 'gaussian'; got 'laplace'"),
        ({"weighting": "gradnorm"}, "weighting must be one of 'equal', 'uncertainty'"),
        ({"head": "linear"}, "head must be one of"),
        ({"encoder": "own"}, "encoder must be one of"),
    ],
)
def test_meaningless_combinations_are_refused_when_declared(fields: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence) as caught:
        Method(name="Mine", summary="s", reference="r", **fields)
    assert str(caught.value).startswith("Mine: ")


@pytest.mark.parametrize(
    ("fields", "mixes_z", "mixes_w"),
    [
        ({}, False, False),
        ({"q_w": "gaussian", "prior_w": "gumbel_mixture"}, False, True),
        ({"q_z": "gaussian", "prior_z": "gumbel_mixture"}, True, False),
        ({"q_z": "gaussian", "prior_z": "bottleneck", "q_w": "gaussian", "prior_w": "learned_gaussian"}, False, False),
    ],
)
def test_which_mixing_weights_exist(fields: dict[str, Any], mixes_z: bool, mixes_w: bool) -> None:
    method = Method(name="Mine", summary="s", reference="r", **fields)
    assert (method.mixes_z, method.mixes_w, method.mixes) == (mixes_z, mixes_w, mixes_z or mixes_w)
