"""Time and peak memory of attention on a CUDA GPU: scores that are stored, against PyTorch's fused function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .libraries import library
from .measure import readable, score_bytes, seconds

NO_PYTORCH = "PyTorch is missing, so the comparison on a GPU is skipped."
NO_GPU = "PyTorch finds no CUDA GPU here, so the comparison on one is skipped."


def on_gpu(T: int = 8192, d: int = 64) -> str:
    """Compare both on one head in float32, causal, or say in a sentence why not.

    Parameters
    ----------
    T, d : int
        Tokens, and the width of queries, keys and values.

    Returns
    -------
    str
        A list in Markdown, or the sentence.
    """
    torch = library("torch")
    if torch is None:
        return NO_PYTORCH
    if not torch.cuda.is_available():
        return NO_GPU
    needed, free = 4 * score_bytes(T), torch.cuda.mem_get_info()[0]
    if needed > free:
        return f"T={T:,} needs {readable(needed)} on the GPU, which has {readable(free)} free: choose a smaller T."
    Q, K, V = torch.randn(3, 1, 1, T, d, generator=torch.Generator().manual_seed(0)).cuda()
    rows = [
        _row(torch, name, attend, (Q, K, V))
        for name, attend in {"stored scores": _stored(torch, T), "fused": _fused(torch)}.items()
    ]
    return "\n".join([f"On {torch.cuda.get_device_name()}, T = {T:,}:\n", *rows])


def _stored(torch: Any, T: int) -> Callable[..., Any]:
    """Attention that stores its scores; the pattern is made beforehand and not counted."""
    future = torch.ones(T, T, dtype=torch.bool).triu(1).cuda()

    def attend(Q: Any, K: Any, V: Any) -> Any:
        scores = (Q @ K.mT / Q.shape[-1] ** 0.5).masked_fill(future, -torch.inf)
        return torch.softmax(scores, dim=-1) @ V

    return attend


def _fused(torch: Any) -> Callable[..., Any]:
    return lambda Q, K, V: torch.nn.functional.scaled_dot_product_attention(Q, K, V, is_causal=True)


def _row(torch: Any, name: str, attend: Callable[..., Any], given: tuple[Any, ...]) -> str:
    def finished() -> None:
        attend(*given)
        torch.cuda.synchronize()  # a GPU is still at work when the call comes back

    finished()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    finished()
    peak = torch.cuda.max_memory_allocated() - before
    return f"- {name}: {1000 * seconds(finished):.2f} milliseconds, peak {readable(peak)}"
