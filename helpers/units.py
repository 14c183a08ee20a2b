"""Numbers of bytes as one reads them."""

from __future__ import annotations


def readable(n_bytes: float) -> str:
    """Write a number of bytes in the unit that suits it: 1 KiB is 1,024 bytes, 1 MiB 1,024 KiB.

    Examples
    --------
    >>> readable(4 * 1024 * 1024), readable(1536), readable(12)
    ('4 MiB', '1.5 KiB', '12 B')
    """
    for unit in ("B", "KiB", "MiB", "GiB"):
        if n_bytes < 1024:
            return f"{n_bytes:.3g} {unit}" if n_bytes < 1000 else f"{n_bytes:,.0f} {unit}"
        n_bytes = n_bytes / 1024  # not in place: it may be an entry of an array
    return f"{n_bytes:,.0f} TiB"
