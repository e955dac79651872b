"""Properties that are computed once, or each time where there is no room to keep them."""

from gapfit.cached import OfTheData, Spared


class Thing:
    spare = False

    def __init__(self, shared):
        self.shared, self.calls = shared, 0

    @OfTheData
    def of_the_data(self):
        self.calls += 1
        return object()

    @Spared
    def vectors(self):
        self.calls += 1
        return object()


def test_what_is_of_the_data_is_shared_by_all_who_have_them():
    shared = {}
    one, two = Thing(shared), Thing(shared)
    assert one.of_the_data is two.of_the_data and two.calls == 0
    assert Thing({}).of_the_data is not one.of_the_data


def test_what_is_spared_is_made_anew():
    thing = Thing({})
    assert thing.vectors is thing.vectors and thing.calls == 1
    large = Thing({})
    large.spare = True
    assert large.vectors is not large.vectors and large.calls == 2 and "vectors" not in vars(large)
