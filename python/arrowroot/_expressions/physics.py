"""What pairs and groups of particles have together, as the functions of ROOT's RVec of these names."""

from __future__ import annotations

from typing import Any

import numpy as np

from arrowroot._expressions.lists import Array, Items, Problem, aligned, reduce


def delta_phi(first: Items, second: Items) -> Items:
    """Return the second angle less the first one, between -pi and pi."""
    (one, other), valid, levels = _doubles("DeltaPhi", [first, second])
    return Items(_wrapped(other - one), valid, levels)


def _wrapped(angle: Array) -> Array:
    rest = np.fmod(angle, 2 * np.pi)
    return np.asarray(
        np.where(rest < -np.pi, rest + 2 * np.pi, np.where(rest > np.pi, rest - 2 * np.pi, rest))
    )


def delta_r(values: list[Items]) -> Items:
    """Return the distance of two directions: (eta1, eta2, phi1, phi2)."""
    (eta1, eta2, phi1, phi2), valid, levels = _doubles("DeltaR", values)
    return Items(np.hypot(eta2 - eta1, _wrapped(phi2 - phi1)), valid, levels)


def invariant_mass(values: list[Items]) -> Items:
    """Return the mass of all particles of each list together: (pt, eta, phi, mass); 0 of none."""
    data, valid, levels = _doubles("InvariantMass", values)
    if not levels:
        raise Problem("InvariantMass() is of lists; InvariantMasses() is of two particles")
    parts = [reduce("sum", Items(one, valid, levels)) for one in _momentum(*data)]
    return Items(_mass(*(part.data for part in parts)), parts[0].valid, parts[0].levels)


def invariant_masses(values: list[Items]) -> Items:
    """Return the masses of two particles each: (pt1, eta1, phi1, mass1, pt2, eta2, phi2, mass2)."""
    data, valid, levels = _doubles("InvariantMasses", values)
    one, other = _momentum(*data[:4]), _momentum(*data[4:])
    return Items(_mass(*(a + b for a, b in zip(one, other, strict=True))), valid, levels)


def _doubles(name: str, values: list[Items]) -> tuple[list[Array], Array | None, Any]:
    if any(value.kind in ("text", "record") for value in values):
        raise Problem(f"{name}() is of numbers")
    data, valid, levels = aligned(values)
    shape = np.broadcast_shapes(*(one.shape for one in data))
    return [np.broadcast_to(one, shape).astype(np.float64) for one in data], valid, levels


def _momentum(pt: Array, eta: Array, phi: Array, mass: Array) -> tuple[Array, Array, Array, Array]:
    """Return x, y, z and the energy."""
    x, y, z = pt * np.cos(phi), pt * np.sin(phi), pt * np.sinh(eta)
    return x, y, z, np.sqrt(x * x + y * y + z * z + mass * mass)


def _mass(x: Array, y: Array, z: Array, energy: Array) -> Array:
    return np.asarray(np.sqrt(energy * energy - x * x - y * y - z * z))
