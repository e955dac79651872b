"""Is there room for what is about to be asked for? If not, it is refused by name, in place of a MemoryError.

Nothing is refused that could be had: what counts is the memory that the operating system can still give, and
where that is not known, nothing is said before it has failed.
"""

import os

from gapfit.errors import TooLarge

HELD_TWICE = 2.0**26  # bytes of rows, whatever share of all they are


def ask_for(size: float, what: str, instead: str) -> None:
    """Raise `TooLarge` if so many bytes cannot be had; `instead` says what can be done."""
    there = available()
    if there is not None and size > there:
        raise TooLarge(
            f"{what} would take {readable(size)} of memory, and {readable(there)} can be had: {instead}"
        )


def may_be_held_twice(size: float, rows: float) -> bool:
    """May a solver hold so many bytes of rows once more, the better to work on them?

    A tenth of all of them, or what is little anyway: where rows are many, memory is dearer than time.
    """
    return size <= max(HELD_TWICE, rows / 10)


def available() -> float | None:
    """The bytes that processes can still be given, if that is known."""
    try:
        with open("/proc/meminfo") as file:
            lines = dict(line.split(":", 1) for line in file)
        free = 1024.0 * (int(lines["MemAvailable"].split()[0]) + int(lines["SwapFree"].split()[0]))
    except (OSError, KeyError, ValueError, IndexError):
        try:
            return float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")
        except (AttributeError, ValueError, OSError):
            return None
    return free


def readable(size: float) -> str:
    """Bytes as people read them."""
    unit = next((k for k, name in enumerate(_UNITS) if size < 1000 * 1024**k), len(_UNITS) - 1)
    return f"{size / 1024**unit:.3g} {_UNITS[unit]}"


_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB")
