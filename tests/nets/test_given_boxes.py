from pathlib import Path

import cv2
import numpy as np
import pytest

from nets import given_boxes
from nets.held_out import Photo
from nets.metrics import Label
from plates import contract
from plates.alphabet import BLANK, encode
from plates.geometry import Floats, Image
from plates.pipeline import Options

LEFT = (10.0, 20.0, 110.0, 40.0)
RIGHT = (150.0, 20.0, 250.0, 40.0)
TEXTS = {50: "A123BC77", 200: "M001MM99"}
"""What a plate of some grey says."""


def spell(text: str, certainty: float = 12.0) -> Floats:
    """Logits (23, 18) of a reader that sees a text, a step for each character and a blank after it."""
    logits = np.zeros(contract.LPRNET.outputs[0].shape, np.float32)
    path = [index for character in encode(text) for index in (character, BLANK)]
    path += [BLANK] * (contract.TIME_STEPS - len(path))
    logits[path, np.arange(contract.TIME_STEPS)] = certainty
    return logits


def reader(crops: Floats) -> Floats:
    greys = crops.mean(axis=(1, 2, 3)) * 128 + 127.5
    return np.stack([spell(TEXTS[min(TEXTS, key=lambda grey: abs(grey - value))]) for value in greys])


def detector(images: Image) -> Floats:
    """Finds the left plate, a little off, in a picture of 640 x 320 pixels that shows 320 x 160 ones twice as large."""
    return np.array([[(124, 60, 200, 42, 0.9, 1)]], np.float32)


@pytest.fixture
def photo(tmp_path: Path) -> Photo:
    image = np.full((160, 320, 3), 128, np.uint8)
    for grey, (x_min, y_min, x_max, y_max) in zip(TEXTS, (LEFT, RIGHT), strict=True):
        image[int(y_min) - 5 : int(y_max) + 5, int(x_min) - 8 : int(x_max) + 8] = grey
    path = tmp_path / "photo.png"
    cv2.imwrite(str(path), image)
    labels = Label(LEFT, "A123BC77"), Label(RIGHT, "M007MM99"), Label((0, 100, 50, 110), None)
    return Photo(path, labels, complete=True)


def test_plates_with_a_text_are_read_in_their_labelled_boxes(photo: Photo) -> None:
    plates = given_boxes.see([photo], reader, Options())
    assert [plate.logits.shape for plate in plates] == [contract.LPRNET.outputs[0].shape] * 2
    for decoder in (given_boxes.greedy, given_boxes.served(Options())):
        samples = given_boxes.samples(plates, decoder)
        assert [sample.answer.text for sample in samples if sample.answer] == ["A123BC77", "M001MM99"]
        assert [sample.exact for sample in samples] == [True, False]
        assert {sample.photo for sample in samples} == {str(photo.path)}


def test_found_plates_are_read_in_the_boxes_that_the_detector_gives(photo: Photo) -> None:
    plates = given_boxes.see([photo], reader, Options(), given_boxes.detected_boxes(detector, Options()))
    assert [plate.label.text for plate in plates] == ["A123BC77"]
    assert [plate.box for plate in plates] == [pytest.approx((12, 19.5, 112, 40.5))]


def test_plates_on_two_lines_are_read_line_by_line(tmp_path: Path) -> None:
    image = np.full((200, 300, 3), 128, np.uint8)
    upper, lower, beside = ((50, "A123"), (200, "BC77"), (90, "A123BC77"))
    image[50:100, 20:120], image[100:150, 20:120] = upper[0], lower[0]
    image[50:70, 160:260] = beside[0]
    path = tmp_path / "photo.png"
    cv2.imwrite(str(path), image)
    labels = Label((20, 50, 120, 150), "A123BC77"), Label((160, 50, 260, 70), "A123BC77")

    def line_reader(crops: Floats) -> Floats:
        greys = crops[:, :, 12, 47].mean(axis=1) * 128 + 127.5
        said = dict([upper, lower, beside])
        return np.stack([spell(said[min(said, key=lambda grey: abs(grey - value))]) for value in greys])

    plates = given_boxes.see([Photo(path, labels, complete=True)], line_reader, Options())

    assert [plate.lines for plate in plates] == [2, 1]
    for decoder in (given_boxes.greedy, given_boxes.served(Options())):
        assert [sample.exact for sample in given_boxes.samples(plates, decoder)] == [True, True]


def test_photos_without_plates_show_the_reader_nothing(photo: Photo) -> None:
    plates = given_boxes.see([Photo(photo.path, (), complete=True)], reader, Options())
    assert given_boxes.samples(plates, given_boxes.greedy) == []


def test_a_higher_temperature_makes_scores_humbler(photo: Photo) -> None:
    plates = given_boxes.see([photo], reader, Options())
    decoders = [given_boxes.served(Options(temperature=temperature)) for temperature in (0.5, 1.0, 4.0)]
    scores = [
        [sample.answer.score for sample in given_boxes.samples(plates, decoder) if sample.answer]
        for decoder in decoders
    ]
    assert all(cold > warm > hot for cold, warm, hot in zip(*scores, strict=True))


def test_plates_are_joined_and_chosen_by_photo(photo: Photo) -> None:
    other = Photo(photo.path, photo.labels[:1], complete=False)
    both = given_boxes.see([photo], reader, Options()) + given_boxes.see([other], reader, Options())
    assert len(both) == 3
    assert [(plate.photo, plate.label) for plate in given_boxes.of(both, [other])] == [(other, photo.labels[0])]


def test_a_file_that_is_no_image_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "photo.jpg"
    path.write_text("not an image")
    with pytest.raises(ValueError, match="not an image"):
        given_boxes.load(Photo(path, (), complete=False))
