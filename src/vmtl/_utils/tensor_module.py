"""A record of tensors that goes to a file and comes back."""

from __future__ import annotations

from typing import Any, Self, get_type_hints

from torch import Tensor


class TensorModule:
    """Holds the tensors and the parts that its annotations name.

    ``to_tensors`` gives them by dotted names, ``from_tensors`` puts them together again. An annotation is ``Tensor`` or
    another ``TensorModule``.
    """

    def __init__(self, **values: Any) -> None:
        for name in self.fields():
            setattr(self, name, values[name])

    @classmethod
    def fields(cls) -> dict[str, Any]:
        """The annotated names and their types."""
        return get_type_hints(cls)

    def to_tensors(self) -> dict[str, Tensor]:
        """All tensors by dotted names."""
        found: dict[str, Tensor] = {}
        for name, kind in self.fields().items():
            value = getattr(self, name)
            if kind is Tensor:
                found[name] = value
            else:
                found |= {f"{name}.{inner}": tensor for inner, tensor in value.to_tensors().items()}
        return found

    @classmethod
    def from_tensors(cls, tensors: dict[str, Tensor]) -> Self:
        """The module that ``to_tensors`` described, or a ValueError that says which tensor is missing."""
        values: dict[str, Any] = {}
        for name, kind in cls.fields().items():
            if kind is Tensor:
                if name not in tensors:
                    raise ValueError(f"there is no {name}")
                values[name] = tensors[name]
            else:
                start = f"{name}."
                inner = {k.removeprefix(start): v for k, v in tensors.items() if k.startswith(start)}
                values[name] = kind.from_tensors(inner)
        return cls(**values)
