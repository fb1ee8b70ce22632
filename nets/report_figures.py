"""Figures of the model card as SVG: a reliability diagram, a confusion matrix. Numbers and lines, no photos."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Final

import numpy as np
from numpy.typing import NDArray

from nets.confusion import NOTHING, SYMBOLS
from nets.reliability import Bin

_PLOT: Final = 360
"""Side of the square that holds the data, in pixels."""
_MARGIN: Final = 52
_BLUE: Final = "#2563a8"
_GREY: Final = "#8a8a8a"


def reliability_svg(curves: Mapping[str, Sequence[Bin]]) -> str:
    """Draw accuracy over score: a point per bin, larger where there are more texts. On the diagonal, scores are true.

    Args:
        curves: the bins of each curve, by its name.
    """
    parts = [_frame("score", "share that was right")]
    parts.append(_line(_x(0), _y(0), _x(1), _y(1), _GREY, dashes="5 4"))
    for place, (name, bins) in enumerate(curves.items()):
        colour = (_BLUE, "#c2571a", "#3c8d40")[place % 3]
        most = max((bin_.count for bin_ in bins), default=1)
        filled = [bin_ for bin_ in bins if bin_.count]
        points = [(_x(bin_.score), _y(bin_.accuracy)) for bin_ in filled]
        parts.append(
            f'<polyline points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in points)}" fill="none" stroke="{colour}"/>'
        )
        for (x, y), bin_ in zip(points, filled, strict=True):
            radius = 2.5 + 7 * (bin_.count / most) ** 0.5
            parts.append(
                f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="{colour}" fill-opacity="0.55">'
                f"<title>{bin_.count} texts</title></circle>"
            )
        texts = sum(bin_.count for bin_ in bins)
        parts.append(_text(_x(0.03), _y(0.95) + 16 * place, f"{name} ({texts} texts)", colour, anchor="start"))
    return _document("".join(parts), _PLOT + 2 * _MARGIN, _PLOT + 2 * _MARGIN)


def confusion_svg(counts: NDArray[np.int64]) -> str:
    """Draw mistakes of characters: a row per labelled one, a column per one that was read.

    Args:
        counts: as `nets.confusion.confusion` gives them; the diagonal, characters read rightly, stays pale.
    """
    cell = 18
    mistakes = counts.copy()
    np.fill_diagonal(mistakes, 0)
    most = max(int(mistakes.max(initial=0)), 1)
    parts = []
    for row, symbol in enumerate(SYMBOLS):
        middle = _MARGIN + (row + 0.5) * cell
        parts.append(_text(_MARGIN - 10, middle + 4, symbol))
        parts.append(_text(middle, _MARGIN - 8, symbol))
        for column in range(len(SYMBOLS)):
            count = int(counts[row, column])
            # From white to blue by the root of the count, so that single mistakes show beside frequent ones.
            fill = "#eeeeee" if row == column else f"rgba(37,99,168,{(count / most) ** 0.5:.2f})"
            x, y = _MARGIN + column * cell, _MARGIN + row * cell
            parts.append(f'<rect x="{x}" y="{y}" width="{cell}" height="{cell}" fill="{fill}" stroke="#dddddd"/>')
            if count and row != column:
                colour = "#ffffff" if count > most / 3 else "#222222"
                parts.append(_text(x + cell / 2, y + 13, str(count), colour, size=10))
    side = _MARGIN + len(SYMBOLS) * cell
    parts.append(_text(_MARGIN, 16, f"read ({NOTHING}: left out)", anchor="start"))
    middle = _MARGIN + len(SYMBOLS) * cell / 2
    parts.append(_text(16, middle, f"labelled ({NOTHING}: added)", turn=True))
    return _document("".join(parts), side + 16, side + 16)


def _x(share: float) -> float:
    return _MARGIN + share * _PLOT


def _y(share: float) -> float:
    return _MARGIN + (1 - share) * _PLOT


def _frame(x_title: str, y_title: str) -> str:
    parts = [f'<rect x="{_x(0)}" y="{_y(1)}" width="{_PLOT}" height="{_PLOT}" fill="none" stroke="{_GREY}"/>']
    for tick in np.linspace(0, 1, 6):
        parts.append(_line(_x(tick), _y(0), _x(tick), _y(0) + 5, _GREY))
        parts.append(_text(_x(tick), _y(0) + 19, f"{tick:.1f}"))
        parts.append(_line(_x(0) - 5, _y(tick), _x(0), _y(tick), _GREY))
        parts.append(_text(_x(0) - 9, _y(tick) + 4, f"{tick:.1f}", anchor="end"))
    parts.append(_text(_x(0.5), _y(0) + 40, x_title))
    parts.append(_text(16, _y(0.5), y_title, turn=True))
    return "".join(parts)


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, dashes: str = "") -> str:
    dash = f' stroke-dasharray="{dashes}"' if dashes else ""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"{dash}/>'


def _text(
    x: float,
    y: float,
    text: str,
    colour: str = "#222222",
    *,
    size: int = 12,
    anchor: str = "middle",
    turn: bool = False,
) -> str:
    turned = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if turn else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" font-size="{size}" text-anchor="{anchor}"{turned}>'
        f"{escape(text)}</text>"
    )


def _document(content: str, width: float, height: float) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" font-family="sans-serif"><rect width="100%" height="100%" fill="#ffffff"/>'
        f"{content}</svg>\n"
    )
