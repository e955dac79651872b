"""Objects that can be left and taken up again."""

import numpy as np
import pytest

from gapfit.records import Kept
from gapfit.solvers.dual_sets.base import Response


class Walk(Kept):
    """Has all that a state may hold."""

    KEPT = ("x", "pair", "steps", "rng", "later")

    def __init__(self) -> None:
        self.x, self.steps, self.rng = np.zeros(3), 0, np.random.default_rng(0)
        self.pair = Response(np.zeros(2), np.zeros(1))

    def step(self) -> None:
        self.x += self.rng.normal(size=3)
        self.pair.z[:] += 1
        self.steps += 1


def test_a_state_is_a_copy_and_a_restored_object_goes_on_with_the_same_bytes() -> None:
    one, two = Walk(), Walk()
    one.step()
    state = one.state()
    one.step()
    for _ in range(2):  # a state can be used again
        two.restore(state)
        assert two.steps == 1 and isinstance(two.pair, Response)
        two.step()
        assert two.x.tobytes() == one.x.tobytes() and two.pair.z.tobytes() == one.pair.z.tobytes()


def test_what_is_not_there_yet_is_not_kept_and_what_is_there_must_be() -> None:
    walk = Walk()
    assert "later" not in walk.state()
    walk.later = 7
    assert walk.state()["later"] == 7
    with pytest.raises(KeyError, match="later"):
        walk.restore(Walk().state())
