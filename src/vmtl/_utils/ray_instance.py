"""The Ray instance that work runs on: a cluster that is there, or one of its own on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

from vmtl._utils.missing_extra import require

#: Environment that keeps numerical libraries of a new process on one thread.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
#: How often work is tried when its process dies under it.
ATTEMPTS = 3


def import_ray() -> ModuleType:
    """The module, or an error that says how to have it."""
    require("ray", "The engine ray", "ray")
    import ray

    return ray  # type: ignore[no-any-return]


@contextmanager
def start_ray(ray: ModuleType, workers: int, address: str | None) -> Iterator[None]:
    """Join the cluster at ``address``; without one start a new instance, whatever else runs or ran here."""
    size: dict[str, object] = {} if address else {"num_cpus": workers, "include_dashboard": False}
    quiet = {"log_to_driver": False, "configure_logging": False}
    try:
        ray.init(address=address or "local", runtime_env={"env_vars": ONE_THREAD}, **quiet, **size)
    except Exception as error:
        reason = " ".join(str(error).split())[:200]
        advice = f"at {address}; check --address" if address else "on this machine; use --engine local"
        raise RuntimeError(f"Ray cannot be used {advice} ({type(error).__name__}: {reason}).") from error
    try:
        yield
    finally:
        ray.shutdown()
