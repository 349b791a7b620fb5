"""The worked flats of §3.1 of Tai & Lin (2012): few occupied vertices lie near a flat of few dimensions."""

from typing import NamedTuple

import numpy as np


class Flat(NamedTuple):
    """The occupied vertices, and a flat o + αP whose rounded projections give them back."""

    name: str
    vertices: np.ndarray
    reference: np.ndarray
    directions: np.ndarray


FLATS = (
    Flat("equivalent", np.array([[0, 0], [1, 1]]), np.zeros(2), np.array([[1.0, 1.0]])),
    # The reference point is printed as [½, 0], which serves [1, 0] instead of [0, 1].
    Flat("inclusive", np.array([[0, 0], [0, 1], [1, 1]]), np.array([0.0, 0.5]), np.array([[1.0, 1.0]])),
    Flat("disjoint sub-classes", np.array([[0, 0, 0], [1, 0, 1], [0, 1, 1]]), np.zeros(3),
         np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]])),
    Flat("sub-classes", np.array([[0, 0, 0], [1, 0, 1], [0, 1, 1], [1, 1, 1]]), np.full(3, 0.5),
         np.array([[0.55, 0.4, 0.8], [-0.6, 0.8, 0.0]])),
)  # fmt: skip


def project(flat: Flat) -> np.ndarray:
    """Return the points of the flat nearest to its vertices.

    >>> project(FLATS[1]).tolist()
    [[-0.25, 0.25], [0.25, 0.75], [0.75, 1.25]]
    """
    coordinates = np.linalg.lstsq(flat.directions.T, (flat.vertices - flat.reference).T, rcond=None)[0]
    return np.round(flat.reference + coordinates.T @ flat.directions, 12)
