"""How far apart two colours are to a reader, also to one who lacks a kind of cone.

Machado, Oliveira and Fernandes (2009), severity 1, for what a reader without a cone sees; CIEDE2000 (Sharma, Wu and
Dalal 2005) for how far apart two colours are: 2.3 can just be told.
"""

from collections.abc import Sequence

import numpy as np

_CONES = {
    "none": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)


def _linear(colour: str) -> np.ndarray:
    values = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    """WCAG's contrast of two colours such as ``#0072b2``, from 1 to 21."""
    low, high = sorted(float(_XYZ[1] @ _linear(colour)) for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


def lost_cones(colour: str, cone: str) -> tuple[float, float, float]:
    """Return L*, a*, b* of a colour as a reader sees it who lacks a cone."""
    xyz = _XYZ @ np.clip(np.asarray(_CONES[cone]) @ _linear(colour), 0, 1) / [0.95047, 1, 1.08883]
    x, y, z = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def distance(one: Sequence[float], other: Sequence[float]) -> float:
    """CIEDE2000 between two colours as L*, a*, b*."""
    (l1, a1, b1), (l2, a2, b2) = one, other
    mean = (np.hypot(a1, b1) + np.hypot(a2, b2)) / 2
    more = 1.5 - 0.5 * np.sqrt(mean**7 / (mean**7 + 25.0**7))
    c1, c2 = np.hypot(more * a1, b1), np.hypot(more * a2, b2)
    h1, h2 = (np.degrees(np.arctan2(b, more * a)) % 360 for a, b in ((a1, b1), (a2, b2)))
    grey = c1 * c2 == 0
    turn = 0.0 if grey else (h2 - h1 + 180) % 360 - 180
    hue = (
        h1 + h2
        if grey
        else (h1 + h2) / 2
        if abs(h1 - h2) <= 180
        else (h1 + h2 + 360 * (1 if h1 + h2 < 360 else -1)) / 2
    )
    light, chroma = (l1 + l2) / 2 - 50, (c1 + c2) / 2
    waves = ((-0.17, 1, -30), (0.24, 2, 0), (0.32, 3, 6), (-0.2, 4, -63))
    t = 1 + sum(weight * np.cos(np.radians(n * hue + shift)) for weight, n, shift in waves)
    dl = (l2 - l1) / (1 + 0.015 * light**2 / np.sqrt(20 + light**2))
    dc = (c2 - c1) / (1 + 0.045 * chroma)
    dh = 2 * np.sqrt(c1 * c2) * np.sin(np.radians(turn) / 2) / (1 + 0.015 * chroma * t)
    rotation = np.sin(np.radians(60 * np.exp(-(((hue - 275) / 25) ** 2))))
    rotation *= -2 * np.sqrt(chroma**7 / (chroma**7 + 25.0**7))
    return float(np.sqrt(dl**2 + dc**2 + dh**2 + rotation * dc * dh))
