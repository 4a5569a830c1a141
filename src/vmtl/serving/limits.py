"""What one serving process takes on before it refuses."""

from __future__ import annotations

from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Limits:
    """Limits of requests, each for one process.

    Parameters
    ----------
    rows : int
        Rows of one request.
    bytes : int
        Length of the body of one request.
    waiting : int
        Requests that wait for their prediction; further ones are answered by 503.
    seconds : float
        Time from the head of a request to its answer. A body that is late is answered by 408, a prediction by 503.
    """

    rows: int = 10_000
    bytes: int = 2**24
    waiting: int = 256
    seconds: float = 30.0

    @property
    def bytes_waiting(self) -> int:
        """Bytes of all bodies that are being read or wait; further ones are answered by 503."""
        return 4 * self.bytes

    def to_json(self) -> dict[str, float]:
        """The limits by name."""
        return asdict(self)
