"""Tensors in memory, and on a card; where there is none, those in memory are taken for such."""

import pytest

ASKED_IN = ("blocks", "judged", "kernel", "samples")  # of `gapfit.estimators`: is X on a card?


@pytest.fixture
def card(monkeypatch):
    """Where tensors on a card are. Without one, NumPy cannot read tensors, as it cannot read those."""
    import torch  # which need not be there: then these tests are skipped

    from gapfit.design.elsewhere import is_tensor

    if torch.cuda.is_available():
        return "cuda"

    for name in ASKED_IN:
        monkeypatch.setattr(f"gapfit.estimators.{name}.is_on_a_card", is_tensor)

    def refused(self, *args, **kwargs):
        raise TypeError("can't convert a tensor on a card to numpy")

    monkeypatch.setattr(torch.Tensor, "__array__", refused)
    return "cpu"


@pytest.fixture(params=["in memory", "on a card"])
def where(request):
    return "cpu" if request.param == "in memory" else request.getfixturevalue("card")
