"""What a setting may be, by name: the types that the code checks and the values that messages list."""

from __future__ import annotations

from typing import Literal, get_args

#: What makes q(z | x), see ``vmtl.paper.encoders``.
EncoderName = Literal["linear", "noisy-linear", "mlp", "noisy-mlp"]
#: How the KL to a mixture is computed.
KLForm = Literal["bound", "monte-carlo", "moment-matched", "weighted-sum"]
KL_FORMS: tuple[KLForm, ...] = get_args(KLForm)
#: How mixing weights are found.
MixingMode = Literal["gumbel", "learnable", "mean"]
#: Whether gradients also pass through a mixture prior, to the tasks that it is mixed from.
PriorGradient = Literal["detached", "both"]
#: What a prediction is made of: draws of z and w (Eq. 12), the moments of the logits, or posterior means.
Predictive = Literal["monte-carlo", "moment", "mean"]
#: Whether tasks count alike in the objective, by their rows, or whole.
TaskWeight = Literal["tasks", "rows", "sum"]
#: What attention logits are divided by: the root of the number of features, or the range of a row's logits.
AttentionScale = Literal["root", "range"]
#: How standard deviations of q(w) are kept positive.
WidthLink = Literal["exp", "softplus"]
