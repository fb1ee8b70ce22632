import numpy as np
import pytest

from plates import alphabet, contract, pipeline
from plates.formats import Format
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
    """A reader that reads a crop's mean brightness as the first digit of D000AA77, and remembers how many it got."""

    def __init__(self, certainty: float = 20.0) -> None:
        self.batches: list[int] = []
        self.certainty = certainty

    def __call__(self, crops: Floats) -> Floats:
        self.batches.append(len(crops))
        digits = np.clip((crops.mean(axis=(1, 2, 3)) + 1) * 5, 0, 9).astype(int)
        return np.concatenate([logits_saying(f"A{digit}00AA77", self.certainty) for digit in digits])


class ScriptedReader:
    """A reader that says given texts in turn, each as certainly as told."""

    def __init__(self, *texts: tuple[str, float]) -> None:
        self.texts = list(texts)
        self.crops: list[Floats] = []

    def __call__(self, crops: Floats) -> Floats:
        self.crops += list(crops)
        said, self.texts = self.texts[: len(crops)], self.texts[len(crops) :]
        return np.concatenate([logits_saying(text, certainty) for text, certainty in said])


def logits_saying(text: str, certainty: float) -> Floats:
    """Return logits (1, 23, 18) of a reader that sees this text."""
    path = [label for index in alphabet.encode(text) for label in (index, alphabet.BLANK)]
    path = (path + [alphabet.BLANK] * contract.TIME_STEPS)[: contract.TIME_STEPS]
    logits = np.zeros((1, alphabet.CLASSES, contract.TIME_STEPS), np.float32)
    logits[0, path, range(contract.TIME_STEPS)] = certainty
    return logits


def unreachable(_: Floats) -> Floats:
    raise AssertionError("the reader must not be asked")


BLACK = np.zeros((480, 640, 3), np.uint8)


def test_a_picture_without_plates_never_reaches_the_reader() -> None:
    readings = pipeline.recognize(BLACK, PlantedDetector((50, 50, 40, 10, 0.2, 0.9)), unreachable, Options())
    assert readings.detections.boxes.shape == (0, 4)
    assert readings.texts == []
    assert readings.scores.shape == (0,)
    assert readings.milliseconds.shape == (len(contract.STAGES),)


def test_the_detector_gets_a_batch_of_one_letterboxed_picture() -> None:
    detector = PlantedDetector()
    pipeline.detect(
        np.zeros((1080, 1920, 3), np.uint8), detector, Options(input_size=320, second_look_size=0, closer_look_size=0)
    )
    assert detector.inputs == [(1, 192, 320, 3)]


class PictureFillingDetector:
    """A detector that sees one plate, the whole picture, where that is small, and a part of it where it is large."""

    def __init__(self, first_score: float) -> None:
        self.first_score = first_score
        self.widths: list[int] = []

    def __call__(self, image: Image) -> Floats:
        width = image.shape[2]
        self.widths.append(width)
        if width > 200:
            return np.array([[[width / 2, 80, 150, 60, self.first_score, 1]]], np.float32)
        middle = image.shape[1] / 2
        return np.array([[[width / 2, middle, 0.9 * width, 40, 0.95, 1], [20, middle, 30, 8, 0.9, 1]]], np.float32)


def test_a_plate_that_fills_the_picture_is_found_in_a_second_look() -> None:
    detector = PictureFillingDetector(first_score=0.5)
    found = pipeline.detect(np.zeros((150, 600, 3), np.uint8), detector, Options())
    assert detector.widths == [640, 192]
    # The part that the first look saw lies inside; the small one of the second look isn't what it is for.
    np.testing.assert_allclose(found.boxes, [[30, 12.5, 570, 137.5]], atol=1)
    np.testing.assert_allclose(found.scores, [0.95])


def test_a_plate_found_for_certain_makes_the_second_look_unnecessary() -> None:
    detector = PictureFillingDetector(first_score=0.85)
    found = pipeline.detect(np.zeros((150, 600, 3), np.uint8), detector, Options())
    assert detector.widths == [640]
    np.testing.assert_allclose(found.scores, [0.85])


class FarSightedDetector:
    """A detector that sees a plate 40 pixels wide in a picture of 1920 only where it is looked at closely."""

    def __init__(self, first_score: float = 0.0) -> None:
        self.first_score = first_score
        self.widths: list[int] = []

    def __call__(self, image: Image) -> Floats:
        width = image.shape[2]
        self.widths.append(width)
        if width > 1000:
            return np.array([[[width / 2, 100, width / 48, 8, 0.85, 1]]], np.float32)
        return np.array([[[100, 100, 60, 12, self.first_score, 1]]], np.float32)


FRAME = np.zeros((1080, 1920, 3), np.uint8)


def test_a_plate_far_away_in_a_large_picture_is_found_in_a_closer_look() -> None:
    detector = FarSightedDetector()
    found = pipeline.detect(FRAME, detector, Options())
    assert detector.widths == [640, 192, 1280]
    np.testing.assert_allclose(found.boxes[:, 2] - found.boxes[:, 0], [40], atol=1)
    assert found.closer.tolist() == [True]


@pytest.mark.parametrize(
    ("image", "options", "first_score", "widths"),
    [
        (FRAME, Options(), 0.9, [640]),
        (FRAME, Options(closer_look_size=0), 0.0, [640, 192]),
        (FRAME[:480, :900], Options(), 0.0, [640, 192]),
        (FRAME[:600, :1000], Options(), 0.0, [640, 192, 1000]),
        (FRAME, Options(input_size=1280, second_look_threshold=0.9), 0.0, [1280, 192]),
    ],
    ids=["a plate is certain", "switched off", "small picture", "its own size is enough", "looked at closely already"],
)
def test_a_closer_look_is_only_taken_where_it_can_help(
    image: Image, options: Options, first_score: float, widths: list[int]
) -> None:
    detector = FarSightedDetector(first_score)
    pipeline.detect(image, detector, options)
    assert [-(-width // 32) for width in detector.widths] == [-(-width // 32) for width in widths]


def test_what_a_closer_look_finds_must_be_read() -> None:
    read, unread = (
        pipeline.recognize(FRAME, FarSightedDetector(), CountingReader(certainty), Options())
        for certainty in (20.0, 2.0)
    )
    assert read.texts == ["A000AA77"]
    assert read.detections.closer.tolist() == [True]
    assert unread.texts == []


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
        expected.append("A900AA77" if shade else "A000AA77")
    reader = CountingReader()
    readings = pipeline.recognize(image, PlantedDetector(*rows), reader, Options())
    assert reader.batches == [32, 32, 6]
    assert readings.texts == expected


def test_an_unsure_text_is_given_back_empty_with_its_score() -> None:
    detector = PlantedDetector((100, 100, 40, 10, 0.9, 1.0))
    readings = pipeline.recognize(BLACK, detector, CountingReader(certainty=6.5), Options(text_threshold=0.999))
    assert readings.texts == [""]
    assert 0.5 < readings.scores[0] < 0.999
    assert readings.readings[0].text == "A000AA77"


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


def test_a_text_that_no_plate_holds_is_given_only_where_the_detector_is_sure() -> None:
    """A bus's number can be read as clearly as a plate."""
    sign, plate = (PlantedDetector((300, 300, 200, 44, score, 1.0)) for score in (0.6, 0.9))
    found = [
        pipeline.recognize(BLACK, detector, ScriptedReader((text, 12.0)), Options())
        for detector, text in ((sign, "162529"), (plate, "162529"), (sign, "B840OK77"))
    ]
    assert [readings.texts for readings in found] == [[], ["162529"], ["B840OK77"]]


def test_the_colour_of_the_plate_decides_between_letter_and_digit() -> None:
    doubtful = logits_saying("B123AB77", 12.0)
    doubtful[0, alphabet.encode("8"), 0] = 12.0
    light, dark = (np.full((640, 640, 3), shade, np.uint8) for shade in (225, 30))
    for left in range(210, 390, 20):
        light[290:310, left : left + 6] = 30
        dark[290:310, left : left + 6] = 225
    detector = PlantedDetector((300, 300, 200, 44, 0.9, 1.0))

    def reader(crops: Floats) -> Floats:
        return doubtful.repeat(len(crops), axis=0)

    found = [pipeline.recognize(image, detector, reader, Options()) for image in (light, dark)]
    assert [readings.texts for readings in found] == [["B123AB77"], ["8123AB77"]]
    assert [readings.readings[0].format for readings in found] == [Format.CIVIL, Format.MILITARY]


def test_a_black_plate_is_read_as_a_negative_as_well() -> None:
    image = np.full((640, 640, 3), 225, np.uint8)
    for left, ink, ground in ((210, 225, 30), (410, 30, 225)):
        image[285:315, left : left + 180] = ground
        image[290:310, left + 10 : left + 170 : 20] = ink
        for shift in range(6):
            image[290:310, left + 10 + shift : left + 170 : 20] = ink
    detector = PlantedDetector((300, 300, 180, 30, 0.95, 1.0), (500, 300, 180, 30, 0.9, 1.0))
    reader = ScriptedReader(("3370MO28", 4.0), ("B840OK77", 12.0), ("8370MO28", 12.0))
    found = pipeline.recognize(image, detector, reader, Options())
    assert found.texts == ["8370MO28", "B840OK77"]
    black, _, negative = reader.crops
    np.testing.assert_array_equal(negative, -black)


def test_an_upright_box_is_read_both_ways_and_the_likelier_reading_is_given() -> None:
    detector = PlantedDetector((100, 100, 60, 40, 0.95, 1.0), (300, 300, 200, 44, 0.9, 1.0))
    reader = ScriptedReader(("B840OK77", 3.0), ("KH73366", 12.0), ("1234", 12.0), ("AB77", 12.0))
    found = pipeline.recognize(BLACK, detector, reader, Options())
    assert len(reader.crops) == 4
    assert found.texts == ["1234AB77", "KH73366"]
    assert [reading.lines for reading in found.readings] == [2, 1]
    assert [reading.format for reading in found.readings] == [Format.MOTORCYCLE, Format.TAXI]


def test_a_tilted_plate_on_one_line_stays_one() -> None:
    detector = PlantedDetector((100, 100, 60, 40, 0.95, 1.0))
    sure = pipeline.recognize(
        BLACK, detector, ScriptedReader(("B840OK77", 12.0), ("1234", 5.0), ("AB77", 5.0)), Options()
    )
    assert (sure.texts, sure.readings[0].lines) == (["B840OK77"], 1)
    # A text that no plate holds on two lines is what halves of one line look like, however clear it is.
    odd = pipeline.recognize(
        BLACK, detector, ScriptedReader(("B840OK77", 8.0), ("KH7", 20.0), ("3366", 20.0)), Options()
    )
    assert (odd.texts, odd.readings[0].lines) == (["B840OK77"], 1)


ASLANT = (100, 100, 60, 20, 0.95, 1.0)
"""A box as high as that of a plate of 60 pixels that rises or falls by 7."""

LEVEL = (100, 100, 60, 13, 0.95, 1.0)


def test_a_plate_that_may_lie_aslant_is_read_again_both_ways_where_it_was_not_read_surely() -> None:
    detector = PlantedDetector(ASLANT, (300, 300, 60, 20, 0.9, 1.0))
    reader = ScriptedReader(("B840OK77", 5.0), ("E001KX98", 12.0), ("B640OK77", 5.0), ("B842OK77", 12.0))
    found = pipeline.recognize(BLACK, detector, reader, Options())
    assert len(reader.crops) == 4
    assert found.texts == ["B842OK77", "E001KX98"]
    assert found.scores[0] > 0.9


@pytest.mark.parametrize(
    ("row", "certainty", "options"),
    [(ASLANT, 12.0, Options()), (LEVEL, 6.0, Options()), (ASLANT, 6.0, Options(deskew_threshold=0))],
    ids=["read surely", "level", "switched off"],
)
def test_other_plates_are_read_once(
    row: tuple[float, float, float, float, float, float], certainty: float, options: Options
) -> None:
    reader = ScriptedReader(("B840OK77", certainty))
    found = pipeline.recognize(BLACK, PlantedDetector(row), reader, options)
    assert len(reader.crops) == 1
    assert found.readings[0].text == "B840OK77"


def test_a_guess_at_a_plate_made_level_is_not_taken_though_it_be_the_likelier() -> None:
    reader = ScriptedReader(("B840OK77", 5.5), ("E001KX98", 5.6), ("E002KX98", 5.6))
    found = pipeline.recognize(BLACK, PlantedDetector(ASLANT), reader, Options(blank_threshold=0))
    guess = pipeline.recognize(BLACK, PlantedDetector(LEVEL), ScriptedReader(("E001KX98", 5.6)), Options())
    assert len(reader.crops) == 3
    assert found.readings[0].text == "B840OK77"
    assert found.scores[0] < guess.scores[0] < pipeline.DESKEWED_SCORE


def test_what_no_plate_holds_comes_of_making_a_level_plate_aslant() -> None:
    reader = ScriptedReader(("B840OK77", 5.5), ("KKKKKKK", 20.0), ("1111111", 20.0))
    found = pipeline.recognize(BLACK, PlantedDetector(ASLANT), reader, Options())
    assert len(reader.crops) == 3
    assert found.readings[0].text == "B840OK77"


def test_two_lines_are_not_looked_for_when_switched_off() -> None:
    reader = ScriptedReader(("B840OK77", 12.0))
    pipeline.recognize(BLACK, PlantedDetector((100, 100, 60, 60, 0.95, 1.0)), reader, Options(two_line_ratio=0))
    assert len(reader.crops) == 1


@pytest.mark.parametrize(("shade", "kind"), [(230, Format.TRAILER), (20, Format.MILITARY)])
def test_the_colour_of_the_plate_decides_between_formats_that_read_the_same(shade: int, kind: Format) -> None:
    image = np.full((480, 640, 3), 120, np.uint8)
    image[278:322, 200:400] = shade
    image[290:310, 210:390:12] = 250 - shade
    image[290:310, 211:390:12] = 250 - shade
    detector = PlantedDetector((300, 300, 200, 44, 0.95, 1.0))
    found = pipeline.recognize(image, detector, ScriptedReader(*[("AB123477", 12.0)] * 2), Options())
    assert [(reading.text, reading.format) for reading in found.readings] == [("AB123477", kind)]


def test_the_temperature_reaches_the_decoding() -> None:
    detector = PlantedDetector((300, 300, 200, 44, 0.95, 1.0))
    cold, warm = (
        pipeline.recognize(BLACK, detector, ScriptedReader(("B840OK77", 8.0)), Options(temperature=value))
        for value in (1.0, 2.0)
    )
    assert warm.scores[0] < cold.scores[0]


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


def test_the_environment_comes_before_a_models_parameters() -> None:
    given = pipeline.overrides({"PLATES_INPUT_SIZE": "960", "PATH": "/bin", "PLATES_TEXT_THRESHOLD": "0.9"})
    assert given == {"input_size": "960", "text_threshold": "0.9"}
    assert Options.from_parameters({"input_size": "320"} | given) == Options(input_size=960, text_threshold=0.9)


def test_a_misspelt_variable_is_told() -> None:
    with pytest.raises(ValueError, match=r"PLATES_INPUT_SISE .*input_size"):
        pipeline.overrides({"PLATES_INPUT_SISE": "960"})
