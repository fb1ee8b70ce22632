from pathlib import Path

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from nets.data import augment, index
from nets.data.distractors import distractor
from nets.data.drawn import draw_plates, draw_scenes
from nets.data.index import LabelledImage, LabelledPlate
from nets.data.photos import LONGEST_SIDE, Photo, bounds, box_corners, decode
from nets.data.scenes import SceneMaker
from nets.data.unlabelled import unlabelled_plates
from plates.geometry import Floats, Image, iou

RED, BLUE = (0, 0, 255), (255, 0, 0)
PLATE = (200.0, 150.0, 320.0, 180.0)


def marked_photo(exact: bool = True) -> Photo:
    """A grey photo with a plate whose left half is red and whose right half is blue."""
    image = np.full((300, 500, 3), 90, np.uint8)
    image[150:180, 200:260] = RED
    image[150:180, 260:320] = BLUE
    return Photo(image, np.array([box_corners(PLATE)], np.float32), exact)


def shows(image: Image, colour: tuple[int, int, int]) -> NDArray[np.bool_]:
    """Return which pixels (h, w) are of about a colour."""
    return np.asarray(np.abs(image.astype(int) - colour).max(axis=2) < 90)


def around(mask: NDArray[np.bool_]) -> Floats:
    rows, columns = np.nonzero(mask)
    return np.array([columns.min(), rows.min(), columns.max() + 1, rows.max() + 1], np.float32)


def maker(*photos: Photo) -> SceneMaker:
    chosen = list(photos) or [marked_photo()]
    return SceneMaker(chosen, chosen, draw_plates(np.random.default_rng(0), 5))


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("view", ["_window", "_close_up", "_whole"])
def test_boxes_lie_on_the_plates_however_the_photo_is_seen(view: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = (256, 256) if view == "_window" else (256,)
    photos = [marked_photo()]
    image, boxes = getattr(SceneMaker(photos, photos, []), view)(rng, *size)
    if len(boxes):
        assert iou(around(shows(image, RED) | shows(image, BLUE)), boxes)[0] > 0.75


def test_mirrored_photos_do_not_mirror_their_plates() -> None:
    orders = []
    for seed in range(20):
        image, boxes = maker()._window(np.random.default_rng(seed), 256, 256)
        red, blue = shows(image, RED), shows(image, BLUE)
        if len(boxes) and red.any() and blue.any():
            orders.append(around(red)[[0, 2]].sum() < around(blue)[[0, 2]].sum())
    assert len(orders) > 10
    assert all(orders)


def test_photos_whose_corners_are_unknown_are_neither_mirrored_nor_turned() -> None:
    photo = marked_photo(exact=False)
    photo.image[:, :20] = (0, 255, 0)
    for seed in range(10):
        rng = np.random.default_rng(seed)
        centre = np.array([250.0, 150.0])
        image, boxes = maker(photo)._view(photo, rng, (300, 500), 1.0, centre, centre)
        assert around(shows(image, (0, 255, 0)))[0] == 0
        assert iou(np.array(PLATE, np.float32), boxes)[0] > 0.85


def test_a_plate_of_which_little_is_left_is_painted_over() -> None:
    photo = marked_photo(exact=False)
    image, boxes = maker(photo)._view(
        photo, np.random.default_rng(0), (300, 230), 1.0, np.array([0.0, 0.0]), np.array([0.0, 0.0])
    )
    assert len(boxes) == 0
    assert np.ptp(image[155:170, 205:230].reshape(-1, 3), axis=0).max() == 0


def test_a_plate_cut_by_the_border_is_boxed_up_to_it() -> None:
    photo = marked_photo(exact=False)
    _, boxes = maker(photo)._view(
        photo, np.random.default_rng(0), (300, 290), 1.0, np.array([0.0, 0.0]), np.array([0.0, 0.0])
    )
    assert boxes[0, 2] == 290


def test_pictures_are_a_function_of_the_generator() -> None:
    first = maker().make(np.random.default_rng(7), 128)
    again = maker().make(np.random.default_rng(7), 128)
    other = maker().make(np.random.default_rng(8), 128)
    np.testing.assert_array_equal(first[0], again[0])
    np.testing.assert_array_equal(first[1], again[1])
    assert not np.array_equal(first[0], other[0])


@pytest.mark.parametrize("seed", range(30))
def test_pictures_have_the_size_asked_for_and_boxes_inside(seed: int) -> None:
    image, boxes = maker().make(np.random.default_rng(seed), 160)
    assert image.shape == (160, 160, 3)
    assert image.dtype == np.uint8
    assert boxes.dtype == np.float32
    assert boxes.shape[1:] == (4,)
    assert (boxes >= 0).all()
    assert (boxes <= 160).all()
    assert (boxes[:, 2:] > boxes[:, :2]).all()


def test_pictures_without_plates_have_no_boxes() -> None:
    empty = Photo(np.full((300, 500, 3), 90, np.uint8), np.empty((0, 4, 2), np.float32), True)
    image, boxes = maker(empty)._mosaic(np.random.default_rng(0), 160)
    assert image.shape == (160, 160, 3)
    assert boxes.shape == (0, 4)


def test_a_drawn_plate_that_is_pasted_is_boxed_where_it_lies() -> None:
    for seed in range(20):
        image = np.full((256, 256, 3), 90, np.uint8)
        boxes = maker().paste_drawn(np.random.default_rng(seed), image, np.empty((0, 4), np.float32))
        assert iou(around(np.any(image != 90, axis=2)), boxes)[0] > 0.69


def test_nothing_is_pasted_over_a_plate() -> None:
    image = np.full((256, 256, 3), 90, np.uint8)
    everywhere = np.array([[0, 0, 256, 256]], np.float32)
    for seed in range(10):
        rng = np.random.default_rng(seed)
        assert len(maker().paste_drawn(rng, image, everywhere)) == 1
        maker()._paste_distractor(rng, image, everywhere)
    assert (image == 90).all()


def test_distractors_show_and_are_not_boxed() -> None:
    image = np.full((256, 256, 3), 90, np.uint8)
    maker()._paste_distractor(np.random.default_rng(1), image, np.empty((0, 4), np.float32))
    assert (image != 90).any()


@pytest.mark.parametrize("seed", range(20))
def test_distractors_come_with_their_opacity(seed: int) -> None:
    image, opacity = distractor(np.random.default_rng(seed))
    assert image.shape == (*opacity.shape, 3)
    assert image.dtype == np.uint8
    assert opacity.dtype == np.uint8
    assert opacity.max() == 255


def test_photos_are_kept_no_larger_than_asked_and_their_corners_with_them(tmp_path: Path) -> None:
    path = tmp_path / "photo.png"
    cv2.imwrite(str(path), np.zeros((600, 1000, 3), np.uint8))
    plate = LabelledPlate((100, 200, 300, 250), None, None, "standard")
    labelled = LabelledImage(path, "scene", "drawn", 0, True, 1000, 600, (plate,))
    photo = decode(labelled, longest_side=500)
    assert photo.image.shape == (300, 500, 3)
    assert not photo.exact
    np.testing.assert_allclose(bounds(photo.corners), [[50, 100, 150, 125]])


def test_a_file_that_is_no_image_is_named(tmp_path: Path) -> None:
    path = tmp_path / "notes.jpg"
    path.write_text("not an image")
    with pytest.raises(ValueError, match=r"notes\.jpg is not an image"):
        decode(LabelledImage(path, "scene", "drawn", 0, True, 1, 1, ()))


def test_warping_by_the_identity_changes_nothing() -> None:
    image = np.random.default_rng(0).integers(0, 256, (40, 60, 3), dtype=np.uint8)
    np.testing.assert_array_equal(augment.warp(image, np.eye(2, 3), (40, 60)), image)


def test_pasting_keeps_what_lies_around() -> None:
    image = np.full((100, 100, 3), 10, np.uint8)
    patch = np.full((20, 40, 3), 250, np.uint8)
    source = np.array(box_corners((0, 0, 40, 20)), np.float32)
    augment.paste(image, patch, None, source, source + np.float32(30))
    assert (image[32:48, 32:68] == 250).all()
    assert (image[:29] == 10).all()
    assert (image[:, 72:] == 10).all()


def test_pasting_outside_of_the_image_is_nothing() -> None:
    image = np.full((50, 50, 3), 10, np.uint8)
    patch = np.full((20, 40, 3), 250, np.uint8)
    source = np.array(box_corners((0, 0, 40, 20)), np.float32)
    augment.paste(image, patch, None, source, source + np.float32(200))
    assert (image == 10).all()


@pytest.mark.skipif(not index.available(), reason="the labelled photos are not there")
def test_real_photos_decode_with_their_plates_inside() -> None:
    photos = [photo for photo in index.load() if photo.kind == "scene"][:20]
    for photo in (decode(labelled) for labelled in photos):
        height, width = photo.image.shape[:2]
        assert max(height, width) <= LONGEST_SIDE
        assert len(photo.corners)
        assert (bounds(photo.corners)[:, 2:] <= np.array([width, height]) + 5).all()


def test_drawn_scenes_show_their_plate_where_it_is_boxed() -> None:
    for photo in draw_scenes(np.random.default_rng(0), 3):
        (box,) = bounds(photo.corners)
        left, top, right, bottom = box.astype(int)
        inside = photo.image[top:bottom, left:right].mean()
        assert inside > 120
        assert photo.exact


def test_drawn_plates_are_of_one_line_and_of_two() -> None:
    aspects = [plate.shape[1] / plate.shape[0] for plate in draw_plates(np.random.default_rng(0), 40)]
    assert min(aspects) < 2
    assert max(aspects) > 4


@pytest.mark.parametrize("seed", range(5))
def test_lookalikes_are_looked_at_and_are_no_plates(seed: int) -> None:
    photo = marked_photo()
    photo.image[20:40, 400:480] = (0, 255, 0)
    scenes = SceneMaker([photo], [photo], [], [(0, np.array([400, 20, 480, 40], np.float32))])
    rng = np.random.default_rng(seed)
    seen = 0
    for _ in range(20):
        image, boxes = scenes._window(rng, 256, 256)
        if shows(image, (0, 255, 0)).any() and len(boxes) == 0:
            seen += 1
    assert seen >= 2


def test_plates_found_since_the_labelling_are_plates_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "photo.png"
    cv2.imwrite(str(path), np.zeros((60, 100, 3), np.uint8))
    monkeypatch.setattr("nets.data.photos.unlabelled_plates", lambda: {"photo.png": ((1.0, 2.0, 30.0, 9.0),)})
    photo = decode(LabelledImage(path, "scene", "drawn", 0, False, 100, 60, ()))
    np.testing.assert_allclose(bounds(photo.corners), [[1, 2, 30, 9]])


def test_boxes_of_plates_found_since_are_boxes() -> None:
    for boxes in unlabelled_plates().values():
        for x_min, y_min, x_max, y_max in boxes:
            assert 0 <= x_min < x_max
            assert 0 <= y_min < y_max
