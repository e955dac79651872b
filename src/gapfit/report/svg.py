"""Small pictures as SVG, in the colours of the page: light or dark, whatever the reader has."""

from collections.abc import Sequence
from html import escape
from math import ceil, floor, isfinite, log10

Point = tuple[float, float]

WIDTH, HEIGHT = 460, 260
LEFT, RIGHT, TOP, BOTTOM = 62, 12, 26, 40


class Axes:
    """A frame with ticks; numbers on either axis may be logarithms."""

    def __init__(
        self, title: str, across: str, up: str, x: tuple[float, float], y: tuple[float, float], log: str = ""
    ) -> None:
        self.log_x, self.log_y = "x" in log, "y" in log
        self.x, self.y = self._widened(x, self.log_x), self._widened(y, self.log_y)
        self.parts: list[str] = []
        self.title, self.across, self.up = title, across, up

    def _widened(self, ends: tuple[float, float], log: bool) -> tuple[float, float]:
        low, high = (log10(end) if log else end for end in ends)
        room = 0.04 * (high - low) or 0.5
        return low - room, high + room

    def place(self, point: Point) -> Point:
        """In pixels."""
        x, y = point
        x, y = log10(x) if self.log_x else x, log10(y) if self.log_y else y
        across = (x - self.x[0]) / (self.x[1] - self.x[0])
        up = (y - self.y[0]) / (self.y[1] - self.y[0])
        return LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM)

    def line(self, points: Sequence[Point], kind: str) -> None:
        """Through all points; what is outside of the frame is cut off."""
        way = " ".join(f"{x:.1f},{y:.1f}" for x, y in map(self.place, points))
        self.parts.append(f'<polyline class="line {kind}" clip-path="url(#frame)" points="{way}"/>')

    def dots(self, points: Sequence[Point], kind: str) -> None:
        """One at each point."""
        for x, y in map(self.place, points):
            self.parts.append(f'<circle class="dot {kind}" cx="{x:.1f}" cy="{y:.1f}" r="3.5"/>')

    def whisker(self, first: Point, second: Point, kind: str) -> None:
        """From point to point."""
        (x, y), (u, v) = self.place(first), self.place(second)
        self.parts.append(
            f'<line class="whisker {kind}" x1="{x:.1f}" y1="{y:.1f}" x2="{u:.1f}" y2="{v:.1f}"/>'
        )

    def legend(self, entries: Sequence[tuple[str, str]]) -> None:
        """What each kind of line is, up from the bottom right corner."""
        for k, (kind, text) in enumerate(reversed(entries)):
            y = HEIGHT - BOTTOM - 14 - 16 * k
            x = WIDTH - RIGHT - 8
            self.parts.append(
                f'<text class="legend" x="{x - 22}" y="{y + 4}" text-anchor="end">{escape(text)}</text>'
                f'<line class="line {kind}" x1="{x - 16}" y1="{y}" x2="{x}" y2="{y}"/>'
            )

    def svg(self, told: str) -> str:
        """The picture; `told` is what it shows, for who cannot see it."""
        frame = (
            f'<rect class="frame" x="{LEFT}" y="{TOP}" width="{WIDTH - LEFT - RIGHT}" '
            f'height="{HEIGHT - TOP - BOTTOM}"/>'
        )
        words = (
            f'<text class="title" x="{(LEFT + WIDTH - RIGHT) / 2}" y="16" text-anchor="middle">'
            f"{escape(self.title)}</text>"
            f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 6}" text-anchor="middle">'
            f"{escape(self.across)}</text>"
            f'<text transform="translate(13 {(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)" '
            f'text-anchor="middle">{escape(self.up)}</text>'
        )
        return (
            f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(told)}">'
            f"{frame}{self._ticks()}{''.join(self.parts)}{words}</svg>"
        )

    def _ticks(self) -> str:
        told = []
        for value, text in ticks(*self.x, log=self.log_x):
            x = LEFT + (value - self.x[0]) / (self.x[1] - self.x[0]) * (WIDTH - LEFT - RIGHT)
            told.append(f'<line class="grid" x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{HEIGHT - BOTTOM}"/>')
            told.append(f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 15}" text-anchor="middle">{text}</text>')
        for value, text in ticks(*self.y, log=self.log_y):
            y = HEIGHT - BOTTOM - (value - self.y[0]) / (self.y[1] - self.y[0]) * (HEIGHT - TOP - BOTTOM)
            told.append(f'<line class="grid" x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}"/>')
            told.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{text}</text>')
        return "".join(told)


def ticks(low: float, high: float, *, log: bool) -> list[tuple[float, str]]:
    """Round numbers between these, about five of them, and how they are written."""
    if log:
        step = max(1, ceil((high - low) / 6))
        return [(float(k), f"1e{k}") for k in range(ceil(low), floor(high) + 1, step)]
    rough = (high - low) / 5
    unit = 10.0 ** floor(log10(rough))
    step_of = next(unit * k for k in (1, 2, 5, 10) if unit * k >= rough)
    first = ceil(low / step_of)
    places = [step_of * k for k in range(first, floor(high / step_of) + 1)]
    return [(place, f"{0.0 if abs(place) < 1e-12 * step_of else place:.6g}") for place in places]


def finite(points: Sequence[Point]) -> list[Point]:
    """Those that can be drawn."""
    return [(x, y) for x, y in points if isfinite(x) and isfinite(y)]
