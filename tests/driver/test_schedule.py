"""When the driver looks: at claims at once, at guesses that are good enough, else at growing intervals."""

import numpy as np

from gapfit.driver.schedule import Schedule
from gapfit.solution import Certificate, Iterate


class Seen:
    """What a schedule asks of the best so far."""

    def __init__(self, enough=1e-3):
        self.n_iter, self.enough, self.tired = 0, enough, False
        self.certificate = Certificate(1.0, 0.0, 1.0)

    def suffices(self, gap, objective):
        return gap <= self.enough

    def out_of_patience(self):
        return self.tired


def looks(schedule, best, iterates):
    found = []
    for best.n_iter, iterate in enumerate(iterates, 1):
        if schedule.due(best, iterate):
            found.append(best.n_iter)
            schedule.looked(best, iterate)
    return found


def plain(**more):
    return Iterate(np.zeros(1), np.zeros(0), **more)


def test_a_claim_costs_nothing_and_is_taken_at_every_step():
    assert looks(Schedule(), Seen(), [plain(primal=1.0)] * 5) == [1, 2, 3, 4, 5]


def test_what_costs_a_pass_is_looked_at_ever_more_seldom():
    found = looks(Schedule(), Seen(), [plain()] * 100)
    steps = np.diff(found)
    assert found[0] == 1 and (np.diff(steps) >= 0).all() and len(found) < 25


def test_a_guess_is_believed_when_it_is_good_enough():
    guesses = [plain(estimate=10.0**-k) for k in range(6)]
    assert looks(Schedule(), Seen(), guesses)[0] == 4  # 1e-3 is the fourth


def test_a_guess_that_was_too_good_is_corrected_at_the_next_look():
    schedule, best = Schedule(), Seen()
    best.n_iter = 1
    assert schedule.due(best, plain(estimate=1e-3))
    best.certificate = Certificate(1.0, 0.99, 1e-2)  # ten times as large as was guessed
    schedule.looked(best, plain(estimate=1e-3))
    best.n_iter = 2
    assert not schedule.due(best, plain(estimate=9e-4))
    assert schedule.due(best, plain(estimate=1e-7))


def test_who_watches_is_told_though_the_guess_is_poor():
    watched, alone = Schedule(), Schedule()
    watched.watched = True
    poor = [plain(estimate=1.0)] * 40
    assert len(looks(watched, Seen(), poor)) > 8 and looks(alone, Seen(), poor) == []


def test_a_run_without_progress_is_looked_at_whatever_it_guesses():
    best = Seen()
    best.tired = True
    assert Schedule().due(best, plain(estimate=1.0))
