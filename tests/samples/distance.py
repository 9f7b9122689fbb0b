"""Samples: distances and likeness of vectors."""

import math

from samples.sample import WHOLE, S, x

SAMPLES = {
    "dist": [s.but(*WHOLE) for s in (S(x(2, 3), x(2, 3)), S(x(2, 3), x(3), 1), S(x(5), x(5), math.inf))],
    "pairwise_distance": [
        S(x(4, 5), x(4, 5)).but("bool"),
        S(x(4, 5), x(5), 1.0).but("bool"),
        S(x(4, 5), x(4, 5), 2.0, 1e-3, True).but("bool"),
        S(x(5), x(5)).but("bool"),
    ],
    "cosine_similarity": [
        s.but(*WHOLE)
        for s in (S(x(4, 5), x(4, 5)), S(x(4, 5), x(5), -1), S(x(4, 5), x(4, 1), 0, 0.5), S(x(3), x(3), 0))
    ],
}
