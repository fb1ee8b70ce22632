"""Plates followed over frames."""

import numpy as np
import pytest

from gateway.recognizer import Box
from gateway.video.tracking import Sighting, Track, Tracker, affinity, buffered_iou, likeness

FIRST, SECOND = "B840OK197", "K123EX77"


def sighting(
    seconds: float, x: float, text: str = FIRST, score: float = 0.9, y: float = 300, width: float = 100
) -> Sighting:
    candidates = [(text, score)] if text else []
    return Sighting(seconds, Box(x, y, x + width, y + width / 4.6), candidates)


def follow(tracker: Tracker, *frames: list[Sighting]) -> list[Track]:
    """Give the tracker frames of a fifth of a second each and return all tracks in the order in which they ended."""
    ended = [track for index, frame in enumerate(frames) for track in tracker.update(index / 5, frame)]
    return ended + tracker.close()


def test_a_plate_that_moves_is_one_passage() -> None:
    (track,) = follow(Tracker(), *[[sighting(index / 5, 50 * index)] for index in range(10)])
    assert track.frames == 10
    assert track.first.seconds == 0
    assert track.last.seconds == pytest.approx(1.8)
    assert track.vote.verdict().text == FIRST


def test_a_fast_plate_whose_boxes_never_overlap_is_one_passage() -> None:
    (track,) = follow(Tracker(), *[[sighting(index / 5, 400 * index)] for index in range(6)])
    assert track.frames == 6


def test_an_unreadable_plate_is_followed_by_its_place_alone() -> None:
    (track,) = follow(Tracker(), *[[sighting(index / 5, 60 * index, text="")] for index in range(8)])
    assert track.frames == 8
    assert track.vote.verdict().text == ""


def test_speed_carries_an_unreadable_plate_farther_than_its_own_width() -> None:
    positions = [0, 120, 300, 600, 900, 1200]
    (track,) = follow(Tracker(), *[[sighting(index / 5, x, text="")] for index, x in enumerate(positions)])
    assert track.frames == len(positions)


def test_plates_side_by_side_keep_their_texts() -> None:
    frames = [
        [sighting(index / 5, 30 * index, FIRST), sighting(index / 5, 30 * index + 130, SECOND)] for index in range(8)
    ]
    tracks = follow(Tracker(), *frames)
    assert sorted(track.vote.verdict().text for track in tracks) == [FIRST, SECOND]
    assert [track.frames for track in tracks] == [8, 8]


def test_plates_that_cross_keep_their_texts() -> None:
    frames = [
        [sighting(index / 5, 100 * index, FIRST), sighting(index / 5, 900 - 100 * index, SECOND, y=310)]
        for index in range(10)
    ]
    tracks = follow(Tracker(), *frames)
    assert sorted((track.vote.verdict().text, track.frames) for track in tracks) == [(FIRST, 10), (SECOND, 10)]


def test_the_next_car_at_the_same_place_is_another_passage() -> None:
    frames = [[sighting(index / 5, 100, FIRST if index < 4 else SECOND)] for index in range(8)]
    tracks = follow(Tracker(), *frames)
    assert sorted((track.vote.verdict().text, track.frames) for track in tracks) == [(SECOND, 4), (FIRST, 4)][::-1]


def test_a_misread_frame_stays_with_its_plate() -> None:
    texts = [FIRST, FIRST, "8B40OK19", FIRST, "", FIRST]
    (track,) = follow(Tracker(), *[[sighting(i / 5, 20 * i, text, 0.4)] for i, text in enumerate(texts)])
    assert track.frames == len(texts)
    assert track.vote.verdict().text == FIRST


def test_a_plate_that_was_hidden_for_a_moment_is_one_passage() -> None:
    frames = [[sighting(0, 0)], [], [], [], [], [sighting(1, 500)]]
    (track,) = follow(Tracker(gap=1.5), *frames)
    assert track.frames == 2


def test_a_plate_that_comes_again_later_is_another_passage() -> None:
    frames = [[sighting(0, 0)], *[[]] * 9, [sighting(2, 0)]]
    tracks = follow(Tracker(gap=1.5), *frames)
    assert [track.frames for track in tracks] == [1, 1]


def test_a_passage_ends_as_soon_as_its_gap_is_over() -> None:
    tracker = Tracker(gap=1.0)
    tracker.update(0.0, [sighting(0, 0)])
    assert tracker.update(1.0, []) == []
    assert [track.frames for track in tracker.update(1.1, [])] == [1]
    assert tracker.tracks == []


def test_the_best_sighting_is_the_largest_of_those_read_well() -> None:
    frames = [
        [sighting(0.0, 0, score=0.9, width=50)],
        [sighting(0.2, 0, score=0.9, width=100)],
        [sighting(0.4, 0, score=0.1, width=200)],
    ]
    (track,) = follow(Tracker(), *frames)
    assert track.best.seconds == 0.2


def test_many_plates_and_much_noise_become_as_many_passages() -> None:
    rng = np.random.default_rng(1)
    texts = [f"A{100 + 37 * index}BC{77 + index}" for index in range(5)]
    frames = []
    for step in range(30):
        frame = [
            sighting(step / 5, 40 * step + rng.normal(0, 5), text, rng.uniform(0.5, 1), y=150 * lane + rng.normal(0, 3))
            for lane, text in enumerate(texts)
            if rng.random() < 0.8
        ]
        frames.append([frame[index] for index in rng.permutation(len(frame))])
    tracks = follow(Tracker(), *frames)
    assert sorted(track.vote.verdict().text for track in tracks) == sorted(texts)


def test_a_certain_text_elsewhere_is_the_same_plate_and_an_uncertain_one_is_not() -> None:
    track = Track(sighting(0, 0))
    assert affinity(track, sighting(0.2, 2000, FIRST, 0.95)) > 0
    assert affinity(track, sighting(0.2, 2000, FIRST, 0.3)) == 0


def test_boxes_that_nearly_touch_overlap_when_grown() -> None:
    box = Box(0, 0, 100, 20)
    assert buffered_iou(box, box) == 1
    assert 0 < buffered_iou(box, Box(150, 30, 250, 50)) < 1
    assert buffered_iou(box, Box(301, 0, 401, 20)) == 0


def test_texts_say_as_much_as_they_are_certain() -> None:
    assert likeness(FIRST, 1.0, FIRST, 1.0) == 1
    assert likeness(FIRST, 1.0, "", 0.0) == likeness(FIRST, 0.0, SECOND, 1.0) == 0.5
    assert likeness(FIRST, 0.9, SECOND, 0.9) < 0.5 < likeness(FIRST, 0.9, "B840OK19", 0.9)
