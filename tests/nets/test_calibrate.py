import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nets import calibrate, given_boxes, held_out, repository
from nets.calibrate import UncalibratedError
from nets.data import index
from nets.given_boxes import Plate, of, samples, served
from nets.held_out import Photo
from nets.metrics import Label
from nets.reliability import expected_calibration_error, scored
from plates import contract
from plates.alphabet import BLANK, encode
from plates.formats import Ground
from plates.pipeline import Options

BOX = (0.0, 0.0, 100.0, 20.0)
TEXT = "A123BC77"


def plates(temperature: float, sure: tuple[float, ...] = (0.6, 0.8, 0.9, 0.95), each: int = 20) -> list[Plate]:
    """Plates that are right as often as the reader is sure of them, whose logits are then sharpened or blurred.

    One digit is in doubt; dividing by `temperature` makes the logits true again.
    """
    count = len(sure) * each
    logits = np.full((count, *contract.LPRNET.outputs[0].shape), -30, np.float32)
    path = [label for character in encode(TEXT) for label in (character, BLANK)]
    path += [BLANK] * (contract.TIME_STEPS - len(path))
    logits[:, path, np.arange(contract.TIME_STEPS)] = 0
    labels = []
    for number, row in enumerate(logits):
        share, place = sure[number // each], number % each
        row[1, 2], row[7, 2] = math.log(share), math.log(1 - share)
        labels.append(Label(BOX, TEXT if place < round(share * each) else TEXT.replace("A1", "A7")))
    photos = [Photo(Path(f"{number}.jpg"), (), complete=False, group=f"{number}") for number in range(count)]
    return [
        Plate(photo, label, BOX, 1, Ground.WHITE, row * np.float32(temperature))
        for photo, label, row in zip(photos, labels, logits, strict=True)
    ]


@pytest.mark.parametrize("temperature", [0.6, 1.0, 2.5])
def test_the_temperature_that_was_put_in_is_found(temperature: float) -> None:
    assert calibrate.fit(plates(temperature), Options()) == pytest.approx(temperature, rel=0.06)


def test_scores_mean_more_on_plates_that_the_temperature_was_not_fitted_on() -> None:
    first, second = plates(2.5), plates(2.3, (0.7, 0.85))
    before = expected_calibration_error(scored(samples(first, served(Options())) + samples(second, served(Options()))))
    temperatures, read = calibrate.cross_fit(first, second, Options())
    assert temperatures[0] != temperatures[1]
    assert len(read) == 120
    assert expected_calibration_error(scored(read)) < before / 2


def test_a_temperature_at_the_end_of_the_range_is_no_calibration() -> None:
    wrong = [replace(plate, label=Label(BOX, "M001MM99")) for plate in plates(1.0)]
    with pytest.raises(UncalibratedError, match="look at the logits"):
        calibrate.fit(wrong, Options())


def test_heat_that_makes_every_reading_wrong_is_no_way_to_be_right_about_it() -> None:
    seen = plates(1.0)
    temperatures = 1.0, 2.0, 4.0
    readings = samples(seen, served(Options()))
    surprises = [
        calibrate.surprise(seen, calibrate.at(Options(), temperature), readings) for temperature in temperatures
    ]
    assert surprises == sorted(surprises)


def test_nothing_can_be_fitted_on_nothing() -> None:
    with pytest.raises(UncalibratedError, match="no plates"):
        calibrate.fit([], Options())


def test_thresholds_trade_wrong_texts_for_missing_ones() -> None:
    rows = calibrate.threshold_grid(scored(samples(plates(1.0), served(Options())))).rows
    wrong, held_back = ([float(row[column].rstrip("%")) for row in rows] for column in (2, 3))
    assert wrong == sorted(wrong, reverse=True)
    assert held_back == sorted(held_back)
    assert wrong[0] > wrong[-1]


def test_without_the_photos_one_sentence_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(index, "available", lambda root: False)
    assert calibrate.main([]) == 1
    assert "nothing to evaluate on" in capsys.readouterr().out


def test_the_temperature_is_written_into_the_repository(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    seen = plates(2.5)
    config = tmp_path / "plate_recognition" / "config.pbtxt"
    config.parent.mkdir()
    config.write_text('parameters [ { key: "temperature" value: { string_value: "1" } } ]')
    monkeypatch.setattr(held_out, "scenes", lambda: [plate.photo for plate in seen])
    monkeypatch.setattr(held_out, "crops", list)
    monkeypatch.setattr(given_boxes, "see", lambda photos, *_: of(seen, photos))
    monkeypatch.setattr(repository, "reader", lambda *_: None)
    monkeypatch.setattr(repository, "detector", lambda *_: None)
    monkeypatch.setattr(repository, "learnt_from_all", lambda _: [])
    assert calibrate.main(["--repository", str(tmp_path), "--write"]) == 0
    assert f'string_value: "{calibrate.fit(seen, Options()):g}"' in config.read_text()
