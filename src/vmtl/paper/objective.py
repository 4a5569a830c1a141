"""The objective (Eq. 5 and 11), term by term and task by task.

Minimising the KL of Eq. 4 from q to the true posterior is maximising the lower bound of Eq. 5, on draws Eq. 11:

loss_t = mean_n [ NLL_tn + kl_scale_z KL_z,tn ] + kl_scale_w KL_w,t / N_t

where
    NLL_tn = -1/(L M) sum_l sum_m log p(y_tn | z^l, w^m), ``Terms.nll`` after the mean over rows (T,)
    KL_z,tn = KL(q(z_tn | x_tn) || p(z_tn | x_tn, others)), ``Terms.kl_z`` after the mean over rows (T,)
    KL_w,t = KL(q(w_t) || p(w_t | others)), ``Terms.kl_w`` (T,)
    N_t = ``Model.task_rows`` (T,); L, M = ``n_z``, ``n_w``
    kl_scale_z, kl_scale_w = ``Scales``

With both scales 1, loss_t is minus the ELBO of task t (Eq. 5) divided by N_t, and the sum of all loss_t by the shares
N_t / N (``task_weight="rows"``) is Eq. 11 up to a constant factor: the preset ``literal``.

Where we depart from the paper: tasks count alike (``task_weight="tasks"``) or whole ("sum"); ``divide_kl_w=False`` adds
KL_w to the mean loss of a row whole, not divided by N_t, as the authors' code does.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from vmtl._utils.noise import Noise
from vmtl.data.rows import Batch, Rows
from vmtl.paper.distributions import Gaussian, Posterior
from vmtl.paper.logits import sample_logits
from vmtl.paper.model import Model
from vmtl.paper.priors import Context, ZPrior, make_z_prior


@dataclass(frozen=True)
class Terms:
    """Raw terms of every task: mean NLL and mean KL_z over its rows, and KL_w, in nats."""

    nll: Tensor  # (T,)
    kl_z: Tensor  # (T,)
    kl_w: Tensor  # (T,)


@dataclass(frozen=True)
class Scales:
    """Weights of the KL terms at one step."""

    kl_z: float
    kl_w: float


class Objective(nn.Module):
    """What training minimises: a model, and the prior of z that its training rows define.

    The prior of z (Eq. 9) needs the rows of the other tasks, which this object holds during training; a model alone
    predicts and cannot be trained.

    Parameters
    ----------
    model : Model
        The model to train; one whose weights are all frozen, such as a fitted or a loaded one, is refused.
    rows : Rows
        Its training rows, as features that the encoder reads.
    """

    prior_z: ZPrior | None

    def __init__(self, model: Model, rows: Rows) -> None:
        super().__init__()
        if not any(parameter.requires_grad for parameter in model.parameters()):
            raise ValueError("This model is for prediction only: its weights are frozen; fit a new one on the rows.")
        self.model, self.settings = model, model.settings
        name = model.method.prior_z
        self.prior_z = None if name is None else make_z_prior(name, model.settings, rows, model.encoder.latent_dim)
        self.task_share = self._task_share(model.task_rows)

    def terms(self, batch: Batch, tau: float, noise: Noise) -> Terms:
        """The terms of one batch, mixing weights drawn at temperature ``tau``."""
        model = self.model
        alpha, beta = model.draw_mixing(tau, noise)
        q_z: Posterior = model.encoder(batch.x, None, noise)
        weights = model.weights(alpha, noise)
        context = Context(batch, alpha, beta, noise)
        zero = batch.weight.new_zeros(model.n_tasks)
        kl_w = zero if model.prior_w is None else model.prior_w.penalty(weights, context)
        kl_z = zero if self.prior_z is None else self.prior_z.kl(q_z, model.encoder, context)
        nll = batch.mean(self._nll(q_z, model.with_bias(weights), batch.y, noise))
        return Terms(nll, kl_z, kl_w)

    def task_losses(self, terms: Terms, scales: Scales) -> Tensor:
        """loss_t of every task, as at the top of this file: (T,)."""
        model = self.model
        kl_w = scales.kl_w * terms.kl_w
        if self.settings.divide_kl_w:
            kl_w = kl_w / model.task_rows
        return terms.nll + scales.kl_z * terms.kl_z + kl_w + model.likelihood.penalty() / model.task_rows

    def loss(self, terms: Terms, scales: Scales) -> Tensor:
        """The scalar to minimise: the tasks' losses, summed as the method weighs them."""
        loss: Tensor = self.model.weighting(self.task_losses(terms, scales), self.task_share)
        return loss

    def _task_share(self, task_rows: Tensor) -> Tensor:
        """How much each task's loss counts: by its rows ("rows", Eq. 11), alike ("tasks"), or whole ("sum"): (T,)."""
        if self.settings.task_weight == "rows":
            return task_rows / task_rows.sum()
        whole = torch.ones_like(task_rows)
        return whole if self.settings.task_weight == "sum" else whole / len(whole)

    def _nll(self, q_z: Posterior, q_w: Posterior, y: Tensor, noise: Noise) -> Tensor:
        """-log p(y | z, w) of every row, averaged over draws: (T, N)."""
        likelihood, n_z, n_w = self.model.likelihood, self.settings.n_z, self.settings.n_w
        if isinstance(q_z, Gaussian) and isinstance(q_w, Gaussian):
            return likelihood.nll_sampled(q_z, q_w, y, noise, n_z, n_w)
        return likelihood.nll(sample_logits(q_z, q_w, noise, n_z, n_w), y)
