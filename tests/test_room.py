"""Memory is refused by name before it is asked for."""

import pytest

from gapfit import TooLarge, room


def test_more_than_there_is_is_refused_with_what_to_do(monkeypatch):
    monkeypatch.setattr(room, "available", lambda: 3 * 1024.0**3)
    room.ask_for(2 * 1024.0**3, "a matrix", "take fewer")
    with pytest.raises(
        TooLarge, match=r"a matrix would take 4 GiB of memory, and 3 GiB can be had: take fewer"
    ):
        room.ask_for(4 * 1024.0**3, "a matrix", "take fewer")
    assert issubclass(TooLarge, MemoryError)


def test_where_it_is_not_known_nothing_is_refused(monkeypatch):
    monkeypatch.setattr(room, "available", lambda: None)
    room.ask_for(1e30, "a matrix", "take fewer")


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 bytes"), (999, "999 bytes"), (1024, "1 KiB"), (1.5 * 1024**3, "1.5 GiB"), (1e22, "8.88e+06 PiB")],
)
def test_sizes_as_people_read_them(size, text):
    assert room.readable(size) == text


def test_what_is_little_or_a_tenth_of_all_may_be_held_twice():
    assert room.may_be_held_twice(room.HELD_TWICE, 1.0) and room.may_be_held_twice(1e9, 1e10)
    assert not room.may_be_held_twice(1.1e9, 1e10) and not room.may_be_held_twice(2 * room.HELD_TWICE, 1.0)


def test_this_machine_has_some():
    assert room.available() is None or room.available() > 1e6
