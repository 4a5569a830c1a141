"""The training loop, the same for every method."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from vmtl._utils.json_values import Document
from vmtl._utils.noise import Noise
from vmtl.data.rows import Rows
from vmtl.paper import schedules
from vmtl.paper.model import Model
from vmtl.paper.objective import Objective, Scales, Terms
from vmtl.paper.training.batches import make_sampler
from vmtl.paper.training.history import HISTORY_LENGTH, History
from vmtl.paper.training.optimiser import make_optimiser


class DivergenceError(RuntimeError):
    """A term of the loss, or a weight, is no longer finite; ``task`` is None if it belongs to all tasks."""

    def __init__(self, step: int, term: str, task: int | None, name: str | None = None) -> None:
        self.step, self.term, self.task, self.name = step, term, task, name
        owner = "" if task is None else f" of task {name or task}"
        super().__init__(
            f"Training diverged at step {step}: {term}{owner} is not finite; "
            "lower learning_rate, or scale the features."
        )

    def __reduce__(self) -> tuple[type[DivergenceError], tuple[int, str, int | None, str | None]]:
        return type(self), (self.step, self.term, self.task, self.name)


@dataclass(frozen=True)
class Progress:
    """The step just taken and its loss, for callbacks."""

    step: int
    total: int
    loss: float
    nll: float
    kl_z: float
    kl_w: float


@dataclass(frozen=True)
class Scheduled:
    """The values of the schedules at one step."""

    scales: Scales
    tau: float
    lr: float


#: Called after every step: checkpoints, progress, stopping by raising.
Hook = Callable[["Trainer", Progress], None]


class Trainer:
    """The state of one run: model, optimiser, noise, step and history. ``run`` does the steps."""

    def __init__(self, model: Model, rows: Rows, seed: int) -> None:
        self.model, self.rows = model, rows
        self.objective = Objective(model, rows)
        self.noise = Noise(seed, rows.x.device, rows.x.dtype)
        self.sampler = make_sampler(rows, model.settings.batch_rows)
        self.optimiser = make_optimiser(self.objective)
        self.history = History()
        self.step = 0
        self.extras: dict[str, Tensor] = {}  # what hooks want kept in checkpoints
        self._every = max(1, -(-model.settings.max_steps // HISTORY_LENGTH))

    def run(self, hooks: Sequence[Hook] = ()) -> None:
        """Train to the last step; hooks run after every step."""
        total = self.model.settings.max_steps
        started = time.perf_counter() - (self.history.seconds[-1] if self.history.seconds else 0.0)
        while self.step < total:
            progress = self._one_step(total, started)
            for hook in hooks:
                hook(self, progress)
        check_weights(self.objective, self.model.n_tasks, self.step)

    def _one_step(self, total: int, started: float) -> Progress:
        scheduled, step = self._scheduled(total), self.step
        for group in self.optimiser.param_groups:
            group["lr"] = scheduled.lr * group["rate"]
        values, loss = self._terms(scheduled)
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        self.optimiser.step()
        self._update_prior()
        self.step += 1
        if step % self._every == 0 or self.step == total:
            self._record(values, scheduled, time.perf_counter() - started)
        return _progress(self.step, total, values, loss)

    def _scheduled(self, total: int) -> Scheduled:
        """The values of the schedules at this step."""
        settings, n_tasks = self.model.settings, self.model.n_tasks
        clock = schedules.compressed(self.step, total, settings.schedule_steps)

        def now(schedule: schedules.Schedule) -> float:
            return schedules.value(schedule, *clock, n_tasks)

        scales = Scales(now(settings.kl_scale_z), now(settings.kl_scale_w))
        return Scheduled(scales, now(settings.tau), now(settings.learning_rate))

    def _terms(self, scheduled: Scheduled) -> tuple[Terms, Tensor]:
        """The terms of the next batch and their weighted sum."""
        batch = self.sampler.draw(self.noise)
        values = self.objective.terms(batch, scheduled.tau, self.noise)
        loss = self.objective.loss(values, scheduled.scales)
        if not bool(torch.isfinite(loss)):
            self._explain_divergence(values)
        return values, loss

    def _update_prior(self) -> None:
        prior = self.model.prior_w
        if prior is not None and prior.update_every and (self.step + 1) % prior.update_every == 0:
            try:
                with torch.no_grad():
                    prior.update(self.model.weights())
            except torch.linalg.LinAlgError:  # type: ignore[attr-defined]
                raise DivergenceError(self.step, "the prior of w", None) from None

    def _record(self, values: Terms, scheduled: Scheduled, seconds: float) -> None:
        history = self.history
        history.step.append(self.step)
        history.nll.append(values.nll.detach())
        history.kl_z.append(values.kl_z.detach())
        history.kl_w.append(values.kl_w.detach())
        history.kl_scale_z.append(scheduled.scales.kl_z)
        history.kl_scale_w.append(scheduled.scales.kl_w)
        history.tau.append(scheduled.tau)
        history.lr.append(scheduled.lr)
        history.seconds.append(seconds)

    def _explain_divergence(self, values: Terms) -> None:
        for name in ("nll", "kl_z", "kl_w"):
            broken = ~torch.isfinite(getattr(values, name))
            if bool(broken.any()):
                raise DivergenceError(self.step, name, int(broken.nonzero()[0]))
        raise DivergenceError(self.step, "the weighted sum of the losses", None)

    def state(self) -> tuple[dict[str, object], dict[str, Tensor]]:
        """Everything that the next step depends on, as JSON and tensors; an error if it is not finite."""
        check_weights(self.objective, self.model.n_tasks, self.step)
        tensors = dict(self.objective.state_dict())
        tensors["noise"] = self.noise.state()
        for index, parameter in enumerate(self._parameters()):
            for name, value in self.optimiser.state[parameter].items():
                tensors[f"optimiser.{index}.{name}"] = value
        tensors.update({f"extras.{name}": value for name, value in self.extras.items()})
        history = self.history
        for name in History.TERMS:
            recorded = getattr(history, name)
            tensors[f"history.{name}"] = torch.stack(recorded) if recorded else torch.zeros(0, self.model.n_tasks)
        return {"step": self.step, "history": history.numbers()}, tensors

    def restore(self, payload: Document, tensors: dict[str, Tensor]) -> None:
        """Continue where ``state`` was taken."""
        device = self.rows.x.device
        weights = {name: tensor for name, tensor in tensors.items() if name.startswith(("model.", "prior_z."))}
        self.objective.load_state_dict(weights)
        self.noise.restore(tensors["noise"])
        self.extras = {k.removeprefix("extras."): v.to(device) for k, v in tensors.items() if k.startswith("extras.")}
        self.step = int(payload["step"])
        for index, parameter in enumerate(self._parameters()):
            prefix = f"optimiser.{index}."
            self.optimiser.state[parameter] = {
                name.removeprefix(prefix): value.to(device)
                for name, value in tensors.items()
                if name.startswith(prefix)
            }
        history = {name: list(values) for name, values in payload["history"].items()}
        for name in History.TERMS:
            history[name] = list(tensors[f"history.{name}"].to(device))
        self.history = History(**history)

    def _parameters(self) -> list[torch.nn.Parameter]:
        return [parameter for group in self.optimiser.param_groups for parameter in group["params"]]


def _progress(step: int, total: int, values: Terms, loss: Tensor) -> Progress:
    means = torch.stack([loss.detach(), values.nll.mean(), values.kl_z.mean(), values.kl_w.mean()]).tolist()
    return Progress(step, total, *means)


def check_weights(module: torch.nn.Module, n_tasks: int, step: int) -> None:
    """Raise if a weight is not finite; after the last update no loss would show it."""
    for name, parameter in module.state_dict().items():
        broken = ~torch.isfinite(parameter)
        if bool(broken.any()):
            per_task = parameter.dim() > 0 and len(parameter) == n_tasks > 1
            task = int(broken.nonzero()[0, 0]) if per_task else None
            raise DivergenceError(step, f"the weight {name.removeprefix('model.')}", task)
