"""Classes: p(y | z, w) of Eq. 2 is a softmax, and the loss of a row its cross-entropy.

-log p(y | logits) = logsumexp_c(logits_c) - logits_y

where
    logits = (S, T, N, C), over the classes that the task saw
    y = (T, N) class indices

Where we depart from the paper: classes that a task never saw are left out of its cross-entropy, since real tasks miss
classes; predictions are always over all classes.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from vmtl._utils.noise import Noise
from vmtl.paper.distributions import Gaussian
from vmtl.paper.likelihoods.sampled_loss import sampled_loss


def log_softmax_(logits: Tensor) -> Tensor:
    """log softmax over the last axis, in place; torch's own kernel is slow on rows shorter than a vector."""
    if logits.shape[-1] >= 16:
        return torch.log_softmax(logits, -1, out=logits)
    logits.sub_(logits.amax(-1, keepdim=True))
    return logits.sub_(logits.exp().sum(-1, keepdim=True).log_())


class Categorical(nn.Module):
    """Cross-entropy over the classes that each task saw: ``class_mask`` (T, C)."""

    visible: Tensor

    def __init__(self, class_mask: Tensor) -> None:
        super().__init__()
        self.register_buffer("visible", class_mask[:, None], persistent=False)  # (T, 1, C)
        self.all_visible = bool(class_mask.all())

    def penalty(self) -> Tensor | float:
        """A softmax has no parameters of its own."""
        return 0.0

    def nll(self, logits: Tensor, y: Tensor) -> Tensor:
        """(S, T, N, C) and (T, N) to (T, N): the mean over draws of -log p(y | draw)."""
        if not self.all_visible:
            logits = logits.masked_fill(~self.visible, torch.finfo(logits.dtype).min)
        target = logits.gather(-1, y.expand(logits.shape[:-1]).unsqueeze(-1)).squeeze(-1)
        return (logits.logsumexp(-1) - target).mean(0)

    def nll_sampled(self, q_z: Gaussian, q_w: Gaussian, y: Tensor, noise: Noise, n_z: int, n_w: int) -> Tensor:
        """The same on the draws of ``sample_logits``: (T, N)."""
        visible_w = Gaussian(self._hide_in_bias(q_w.mean), q_w.scale)
        return sampled_loss(q_z, visible_w, y, noise, n_z, n_w, self)

    def _hide_in_bias(self, mean: Tensor) -> Tensor:
        """Weights (T, C, K+1) whose biases give the classes that a task did not see the probability 0."""
        if self.all_visible:
            return mean
        bias = mean[..., -1].masked_fill(~self.visible[:, 0], torch.finfo(mean.dtype).min / 4)
        return torch.cat([mean[..., :-1], bias.unsqueeze(-1)], -1)

    def value_and_gradient(self, logits: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """sum over draws of -log p(y), and p - 1[y] for every draw; ``logits`` is overwritten."""
        log_p = log_softmax_(logits)
        target = y.expand(logits.shape[:-1]).unsqueeze(-1)
        value = log_p.gather(-1, target).squeeze(-1).sum(0).neg_()
        minus_one = log_p.new_full((), -1.0).expand(target.shape)
        return value, log_p.exp_().scatter_add_(-1, target, minus_one)
