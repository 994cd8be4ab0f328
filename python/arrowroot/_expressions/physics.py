"""What pairs and groups of particles have together, as the functions of ROOT's RVec of these names."""

from __future__ import annotations

from typing import Any

import numpy as np

from arrowroot._expressions.lists import Array, Items, Problem, aligned, reduce


def delta_phi(first: Items, second: Items) -> Items:
    """Return the second angle less the first one, between -pi and pi."""
    (one, other), valid, levels = _doubles("DeltaPhi", [first, second])
    return Items(_wrapped(np.asarray(other - one)), valid, levels)


def _wrapped(angle: Array) -> Array:
    """Return angles of an array of their own between -pi and pi, in their place."""
    if not (angle.max(initial=0) < 2 * np.pi and angle.min(initial=0) > -2 * np.pi):
        np.fmod(angle, 2 * np.pi, out=angle)
    high, low = angle > np.pi, angle < -np.pi
    angle[high] -= 2 * np.pi
    angle[low] += 2 * np.pi
    return angle


def delta_r(values: list[Items]) -> Items:
    """Return the distance of two directions: (eta1, eta2, phi1, phi2). The root of the squares, as ROOT has it."""
    (eta1, eta2, phi1, phi2), valid, levels = _doubles("DeltaR", values)
    squares, others = np.asarray(eta2 - eta1), _wrapped(np.asarray(phi2 - phi1))
    for one in (squares, others):
        np.multiply(one, one, out=one)
    squares += others
    return Items(np.sqrt(squares, out=squares), valid, levels)


def momentum(function: str, values: list[Items]) -> list[Items]:
    """Return x, y, z and the energy of particles: (pt, eta, phi, mass). ``function``: that needs them, for errors."""
    data, valid, levels = _doubles(function, values)
    return [Items(one, valid, levels) for one in _momentum(*data)]


def invariant_mass(momentum: list[Items]) -> Items:
    """Return the mass of all particles of each list together; 0 of none."""
    if not momentum[0].levels:
        raise Problem("InvariantMass() is of lists; InvariantMasses() is of two particles")
    parts = [reduce("sum", one) for one in momentum]
    return Items(_mass(*(part.data for part in parts)), parts[0].valid, parts[0].levels)


def invariant_masses(one: list[Items], other: list[Items]) -> Items:
    """Return the masses of two particles each."""
    data, valid, levels = aligned([*one, *other])
    return Items(_mass(*(a + b for a, b in zip(data[:4], data[4:], strict=True))), valid, levels)


def _doubles(name: str, values: list[Items]) -> tuple[list[Array], Array | None, Any]:
    if any(value.kind in ("text", "record") for value in values):
        raise Problem(f"{name}() is of numbers")
    data, valid, levels = aligned(values)
    shape = np.broadcast_shapes(*(one.shape for one in data))
    return [np.broadcast_to(one.astype(np.float64, copy=False), shape) for one in data], valid, levels


def _momentum(pt: Array, eta: Array, phi: Array, mass: Array) -> tuple[Array, Array, Array, Array]:
    """Return x, y, z and the energy."""
    x, y, z = pt * np.cos(phi), pt * np.sin(phi), pt * np.sinh(eta)
    return x, y, z, np.sqrt(x * x + y * y + z * z + mass * mass)


def _mass(x: Array, y: Array, z: Array, energy: Array) -> Array:
    return np.asarray(np.sqrt(energy * energy - x * x - y * y - z * z))
