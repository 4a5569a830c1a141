"""The claims of the paper that the data at hand can speak to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Row:
    """The jobs of one row of a table: a method and the options that make it this row, and the paper's name for it."""

    method: str
    options: Mapping[str, Any] = field(default_factory=dict)
    variant: str = ""


@dataclass(frozen=True)
class Claim:
    """``better`` has the better score, says the paper.

    worse : None compares with 0.
    metric : a name of ``claim_statistics.STATISTICS``.
    margin : "as good as" means not worse by more than this.
    control : ``worse`` is taken from the runs on this set instead.
    whole : ``worse`` has the preset's full length, whatever that of ``better`` is.
    fractions : the gain is larger at the first share of training data than at the second.
    data, fraction, split, preset : the place that decides; what other places say is counted beside it.
    """

    text: str
    better: Row
    worse: Row | None
    metric: str = "accuracy"
    margin: float = 0.0
    control: str | None = None
    whole: bool = False
    fractions: tuple[float, float] | None = None
    data: str = "office-caltech"
    fraction: float = 5.0
    split: str = "paper"
    preset: str = "paper"


def ablation(variant: str, **options: Any) -> Row:
    return Row("vmtl", options, variant)


VMTL, AC, BMTL, STL = Row("vmtl"), Row("vmtl_ac"), Row("bmtl"), Row("stl")
BOTH, GUMBEL = ablation("z Bayesian, w Bayesian"), ablation("Gumbel-Softmax prior")
Z_ONLY = ablation("z Bayesian, w deterministic", bayesian_w=False)
W_ONLY = ablation("z deterministic, w Bayesian", bayesian_z=False)
NEITHER = ablation("z deterministic, w deterministic", bayesian_z=False, bayesian_w=False)
LEARNABLE, EVEN = ablation("learnable weights prior", mixing="learnable"), ablation("mean prior", mixing="mean")
TIED, UNTIED = ablation("same weights for z and w", tie_mixing=True), ablation("different weights for z and w")
TEN, ONE = ablation("L = M = 10", n_z=10, n_w=10), ablation("L = M = 1", n_z=1, n_w=1)
HUNDRED = ablation("L = M = 100", n_z=100, n_w=100)
LEVELS, HIGHEST = "accuracy under attack, mean over levels", "accuracy at the highest noise level"
MNIST = {"metric": "nmse", "data": "rotated-mnist", "fraction": 0.1, "split": "random"}
SHARES = {"fractions": (5.0, 60.0), "split": "random"}
SHUFFLED = "office-caltech-dealt"

CLAIMS = (
    Claim("VMTL beats learning every task alone (STL)", VMTL, STL),
    Claim("VMTL beats Bayesian learning of every task alone (VSTL)", VMTL, Row("vstl")),
    Claim("VMTL beats hard sharing (BMTL)", VMTL, BMTL),
    Claim("VMTL beats Bayesian hard sharing (VBMTL)", VMTL, Row("vbmtl")),
    Claim("VMTL beats Bakker and Heskes", VMTL, Row("bakker")),
    Claim("VMTL beats MRN (Long et al.; in `paper` with all 15,000 steps)", VMTL, Row("long"), whole=True),
    Claim("VMTL beats Kendall et al.", VMTL, Row("kendall")),
    Claim("VMTL beats Qian et al.", VMTL, Row("qian")),
    Claim("Not in the paper: VMTL beats one model for all tasks (pooled)", VMTL, Row("pooled")),
    Claim("VMTL-AC is as good as VMTL, to one point", AC, VMTL, margin=1.0),
    Claim("Variational inference helps without sharing: VSTL beats STL", Row("vstl"), STL),
    Claim("Variational inference helps hard sharing: VBMTL beats BMTL", Row("vbmtl"), BMTL),
    Claim("VMTL's gain over STL is larger at 5 % than at 60 %", VMTL, STL, **SHARES),
    Claim("VMTL's gain over BMTL is larger at 5 % than at 60 %", VMTL, BMTL, **SHARES),
    Claim("z and w Bayesian beat z alone", BOTH, Z_ONLY),
    Claim("z and w Bayesian beat w alone", BOTH, W_ONLY),
    Claim("Bayesian z alone beats no Bayesian part", Z_ONLY, NEITHER),
    Claim("Bayesian w alone beats no Bayesian part", W_ONLY, NEITHER),
    Claim("Gumbel-Softmax beats learnable weights", GUMBEL, LEARNABLE),
    Claim("Gumbel-Softmax beats even weights", GUMBEL, EVEN),
    Claim("Different weights for z and w beat the same", UNTIED, TIED),
    Claim("Ten draws are as good as a hundred, to one point", TEN, HUNDRED, margin=1.0),
    Claim("Ten draws beat one", TEN, ONE),
    Claim(
        "Entropy tells wrong predictions from right ones, more so than in VBMTL", VMTL, Row("vbmtl"), "entropy_ratio"
    ),
    Claim("and more so than in Bakker and Heskes", VMTL, Row("bakker"), "entropy_ratio"),
    Claim("VMTL withstands an attack better than BMTL", VMTL, BMTL, LEVELS),
    Claim("VMTL-AC withstands strong noise better than VMTL", AC, VMTL, HIGHEST),
    Claim("VMTL-AC withstands strong noise better than BMTL", AC, BMTL, HIGHEST),
    Claim("VMTL-AC converges faster than VMTL", AC, VMTL, "loss, mean over steps"),
    Claim("Not in the paper: VMTL-AC converges faster by the likelihood alone", AC, VMTL, "NLL, mean over steps"),
    Claim("Tasks that are alike have larger alpha", VMTL, VMTL, "alpha between tasks that are alike", control=SHUFFLED),
    Claim("Tasks that are alike have larger beta", VMTL, VMTL, "beta between tasks that are alike", control=SHUFFLED),
    Claim("The same for VMTL-AC, alpha", AC, AC, "alpha between tasks that are alike", control=SHUFFLED),
    Claim("The same for VMTL-AC, beta", AC, AC, "beta between tasks that are alike", control=SHUFFLED),
    Claim("Relatedness is sparse, more so than by chance", VMTL, VMTL, "largest alpha of a task", control=SHUFFLED),
    Claim("Rotated MNIST: VMTL has a lower error than STL", VMTL, STL, **MNIST),
    Claim("Rotated MNIST: VMTL has a lower error than BMTL", VMTL, BMTL, **MNIST),
    Claim("Rotated MNIST: VMTL has a lower error than VBMTL", VMTL, Row("vbmtl"), **MNIST),
    Claim("Rotated MNIST: VMTL has a lower error than Bakker and Heskes", VMTL, Row("bakker"), **MNIST),
    Claim("Rotated MNIST: VMTL-AC has a lower error than BMTL", AC, BMTL, **MNIST),
    Claim(
        "Rotated MNIST: 0, 6 and 9 are harder than the other digits",
        VMTL,
        None,
        **{**MNIST, "metric": "nmse of 0, 6 and 9 minus that of the others"},
    ),
)
