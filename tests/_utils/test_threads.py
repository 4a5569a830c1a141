"""The number of threads for the length of a call, and devices that can be used."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
import torch

from vmtl._utils.threads import check_device, check_threads, threads


@pytest.fixture(autouse=True)
def _restore() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def test_threads_are_as_before_after_the_call_and_after_an_error() -> None:
    torch.set_num_threads(1)
    with threads(2):
        assert torch.get_num_threads() == 2
    assert torch.get_num_threads() == 1
    with pytest.raises(RuntimeError), threads(2):
        raise RuntimeError
    assert torch.get_num_threads() == 1


def test_none_leaves_the_process_as_it_is() -> None:
    torch.set_num_threads(2)
    with threads(None):
        assert torch.get_num_threads() == 2


def test_the_last_of_several_calls_restores() -> None:
    torch.set_num_threads(1)
    inside, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with threads(2):
            inside.set()
            leave.wait(10)

    other = threading.Thread(target=hold)
    other.start()
    inside.wait(10)
    with threads(3):
        leave.set()
        other.join(10)
    assert torch.get_num_threads() == 1


@pytest.mark.parametrize("count", [0, -1, 1.5, "2"])
def test_a_wrong_count_is_refused(count: object) -> None:
    with pytest.raises(ValueError, match="n_threads must be a positive integer or None"):
        check_threads(count)


def test_a_device_that_is_not_there_is_explained() -> None:
    check_device("cpu")
    with pytest.raises(ValueError, match=r"device='nowhere' cannot be used here .* set device='cpu'"):
        check_device("nowhere")
