import numpy as np
import pytest

from plates import alphabet, contract, pipeline
from plates.geometry import Floats, Image
from plates.pipeline import Options


class PlantedDetector:
    """A detector that sees what it is told, in pixels of the letterboxed image."""

    def __init__(self, *rows: tuple[float, float, float, float, float, float]) -> None:
        self.rows = np.array(rows, np.float32).reshape(-1, 6)
        self.inputs: list[tuple[int, ...]] = []

    def __call__(self, image: Image) -> Floats:
        self.inputs.append(image.shape)
        return self.rows[None]


class CountingReader:
    """A reader that reads a crop's mean brightness as a digit, and remembers how many it got at once."""

    def __init__(self, certainty: float = 20.0) -> None:
        self.batches: list[int] = []
        self.certainty = certainty

    def __call__(self, crops: Floats) -> Floats:
        self.batches.append(len(crops))
        logits = np.zeros((len(crops), alphabet.CLASSES, contract.TIME_STEPS), np.float32)
        logits[:, alphabet.BLANK, 1:] = self.certainty
        digits = np.clip((crops.mean(axis=(1, 2, 3)) + 1) * 5, 0, 9).astype(int)
        logits[np.arange(len(crops)), digits, 0] = self.certainty
        return logits


def unreachable(_: Floats) -> Floats:
    raise AssertionError("the reader must not be asked")


BLACK = np.zeros((480, 640, 3), np.uint8)


def test_a_picture_without_plates_never_reaches_the_reader() -> None:
    readings = pipeline.recognize(BLACK, PlantedDetector((50, 50, 40, 10, 0.2, 0.9)), unreachable, Options())
    assert readings.detections.boxes.shape == (0, 4)
    assert readings.texts == []
    assert readings.scores.shape == (0,)


def test_the_detector_gets_a_batch_of_one_letterboxed_picture() -> None:
    detector = PlantedDetector()
    pipeline.detect(np.zeros((1080, 1920, 3), np.uint8), detector, Options(input_size=320))
    assert detector.inputs == [(1, 192, 320, 3)]


def test_scores_are_objectness_times_class_and_the_best_comes_first() -> None:
    detector = PlantedDetector((100, 100, 40, 10, 0.8, 0.5), (300, 300, 40, 10, 0.9, 1.0))
    found = pipeline.detect(BLACK, detector, Options())
    np.testing.assert_allclose(found.scores, [0.9, 0.4], rtol=1e-6)
    np.testing.assert_allclose(found.boxes, [[280, 295, 320, 305], [80, 95, 120, 105]])


def test_a_plate_cut_by_the_border_is_given_and_one_in_the_padding_is_not() -> None:
    image = np.zeros((100, 640, 3), np.uint8)  # letterboxed to 128 rows: 14 rows of padding above and below
    detector = PlantedDetector((10, 60, 60, 12, 0.9, 0.9), (300, 5, 60, 8, 0.9, 0.9))
    found = pipeline.detect(image, detector, Options())
    np.testing.assert_allclose(found.boxes, [[0, 40, 40, 52]])


def test_more_plates_than_a_batch_are_read_in_chunks_and_in_order() -> None:
    image = np.zeros((640, 640, 3), np.uint8)
    rows, expected = [], []
    for index in range(70):
        x, y = 60 + 80 * (index % 7), 30 + 60 * (index // 7)
        shade = 255 if index % 3 else 0
        image[y - 20 : y + 20, x - 35 : x + 35] = shade
        rows.append((float(x), float(y), 40.0, 10.0, 0.99 - index / 200, 1.0))
        expected.append("9" if shade else "0")
    reader = CountingReader()
    readings = pipeline.recognize(image, PlantedDetector(*rows), reader, Options())
    assert reader.batches == [32, 32, 6]
    assert readings.texts == expected


def test_an_unsure_text_is_given_back_empty_with_its_score() -> None:
    detector = PlantedDetector((100, 100, 40, 10, 0.9, 1.0))
    readings = pipeline.recognize(BLACK, detector, CountingReader(certainty=2.0), Options(text_threshold=0.5))
    assert readings.texts == [""]
    assert 0 < readings.scores[0] < 0.5


def test_what_looks_blank_to_the_reader_is_given_only_where_the_detector_is_sure() -> None:
    detector = PlantedDetector((100, 100, 40, 10, 0.95, 1.0), (300, 300, 40, 10, 0.6, 1.0))
    blank = pipeline.recognize(BLACK, detector, CountingReader(certainty=2.0), Options())
    assert blank.texts == [""]
    np.testing.assert_allclose(blank.detections.scores, [0.95])
    assert blank.detections.boxes.shape == (1, 4)
    assert blank.scores.shape == (1,)
    readable = pipeline.recognize(BLACK, detector, CountingReader(), Options())
    np.testing.assert_allclose(readable.detections.scores, [0.95, 0.6])
    assert len(readable.texts) == len(readable.scores) == 2


def test_many_candidates_are_cut_to_the_best_before_suppression() -> None:
    generator = np.random.default_rng(0)
    rows = np.column_stack(
        [generator.uniform(20, 600, (5000, 2)), np.full((5000, 2), 8.0), generator.uniform(0.5, 1, 5000), np.ones(5000)]
    )
    found = pipeline.detect(np.zeros((640, 640, 3), np.uint8), PlantedDetector(*map(tuple, rows)), Options())
    assert len(found.scores) <= Options().max_plates
    assert found.scores[0] == pytest.approx(rows[:, 4].max())
    assert np.all(np.diff(found.scores) <= 0)


def test_options_come_from_a_models_parameters() -> None:
    options = Options.from_parameters({"input_size": "320", "detection_threshold": "0.5", "INFERENCE_MODE": "true"})
    assert options == Options(input_size=320, detection_threshold=0.5)
    with pytest.raises(ValueError, match="large"):
        Options.from_parameters({"input_size": "large"})
