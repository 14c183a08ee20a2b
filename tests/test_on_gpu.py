"""The comparison on a GPU: a sentence where there is none, and a list from whatever CUDA reports."""

from __future__ import annotations

import pytest

from helpers import on_gpu

from .support import optional


def test_without_pytorch_it_is_one_sentence(monkeypatch):
    monkeypatch.setattr(on_gpu, "library", lambda name: None)
    assert on_gpu.on_gpu() == on_gpu.NO_PYTORCH


def test_without_a_gpu_it_is_one_sentence(monkeypatch):
    torch = optional("torch")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert on_gpu.on_gpu() == on_gpu.NO_GPU


@pytest.fixture
def gpu(monkeypatch):
    """Let PyTorch take the CPU for a GPU of 4 MiB that has allocated 1,000 bytes, and 6,120 at most."""
    torch = optional("torch")
    calls = []
    there = {
        "is_available": lambda: True,
        "mem_get_info": lambda: (4 * 2**20, 4 * 2**20),
        "get_device_name": lambda: "a GPU",
        "synchronize": lambda: calls.append("wait"),
        "reset_peak_memory_stats": lambda: calls.append("reset"),
        "memory_allocated": lambda: 1000,
        "max_memory_allocated": lambda: 6120,
    }
    for name, function in there.items():
        monkeypatch.setattr(torch.cuda, name, function)
    monkeypatch.setattr(torch.Tensor, "cuda", lambda tensor: tensor)
    return calls


def test_a_line_for_each(gpu):
    said = on_gpu.on_gpu(T=48, d=7)
    assert said.startswith("On a GPU, T = 48:\n\n- ")
    assert [line.split(":")[0] for line in said.splitlines()[2:]] == ["- stored scores", "- fused"]
    assert said.count(" milliseconds, peak 5 KiB") == 2
    assert gpu.count("reset") == 2 and gpu.index("wait") < gpu.index("reset")


def test_what_does_not_fit_is_refused_before_it_is_tried(gpu):
    assert (
        on_gpu.on_gpu(T=2048) == "T=2,048 needs 64 MiB on the GPU, which has 4 MiB free: choose a smaller T."
    )
    assert not gpu


def test_both_compute_the_same(gpu):
    torch = optional("torch")
    Q, K, V = torch.randn(3, 1, 1, 13, 5, generator=torch.Generator().manual_seed(1))
    stored, fused = on_gpu._stored(torch, 13)(Q, K, V), on_gpu._fused(torch)(Q, K, V)
    assert torch.allclose(stored, fused, atol=1e-6) and not torch.allclose(stored, V, atol=1e-2)
