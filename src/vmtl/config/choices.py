"""What a setting may be, by name."""

from __future__ import annotations

from typing import Literal

EncoderName = Literal["kernel", "linear", "noisy-linear", "mlp"]
#: How the KL to a mixture is computed.
Form = Literal["bound", "monte-carlo", "moment-matched", "weighted-sum"]
FORMS: tuple[Form, ...] = ("bound", "monte-carlo", "moment-matched", "weighted-sum")
#: How mixing weights are found.
Mode = Literal["gumbel", "learnable", "mean"]
#: Whether a mixture prior also moves the tasks it is mixed from.
PriorGradient = Literal["detached", "both"]
Predictive = Literal["monte-carlo", "moment", "mean"]
