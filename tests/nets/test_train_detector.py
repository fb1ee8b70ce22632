from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

import torch

from nets import train_detector
from nets.data import index
from nets.data.drawn import draw_plates
from nets.data.photos import Photo, box_corners
from nets.data.scenes import SceneMaker
from nets.evaluate_detector import held_out_photos
from nets.train_detector import Batches, Config, Phase, Trainer
from nets.yolov5 import YOLOv5, load_detector
from plates.geometry import Floats

pytestmark = [
    pytest.mark.torch,
    # Python 3.12 warns of any fork beside threads; the process that makes pictures uses none of PyTorch's.
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]


def small_maker() -> SceneMaker:
    rng = np.random.default_rng(0)
    photos = []
    for _ in range(3):
        image = rng.integers(0, 80, (120, 160, 3), dtype=np.uint8)
        image[50:65, 40:110] = 220
        photos.append(Photo(image, np.array([box_corners((40, 50, 110, 65))], np.float32), True))
    return SceneMaker(photos, photos, draw_plates(rng, 2))


@pytest.fixture
def _small_training(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(train_detector, "scene_maker", lambda config: small_maker())
    monkeypatch.setattr(train_detector, "held_out_photos", lambda fold: [])
    monkeypatch.setattr(train_detector, "find_lookalikes", lambda network, scenes: [])
    monkeypatch.setattr(train_detector, "PHASES", (Phase(0.5, 64, 2), Phase(1.0, 96, 2)))


def trainer(folder: Path, steps: int) -> Trainer:
    torch.manual_seed(0)
    return Trainer(Config(steps=steps, warmup=2), YOLOv5(), folder)


def test_batches_are_a_function_of_their_number_and_the_seed() -> None:
    batches = Batches(small_maker(), 64, 3, seed=1)
    images, targets = batches[5]
    assert images.shape == (3, 64, 64, 3)
    assert images.dtype == torch.uint8
    assert targets.shape[1:] == (6,)
    assert torch.equal(images, batches[5][0])
    assert not torch.equal(images, batches[6][0])
    assert not torch.equal(images, Batches(small_maker(), 64, 3, seed=2)[5][0])


def test_targets_are_centres_and_sizes_of_the_plates() -> None:
    batches = Batches(small_maker(), 64, 1, seed=1)
    for step in range(5):
        _, targets = batches[step]
        _, boxes = small_maker().make(np.random.default_rng((1, step)), 64)
        found = targets[:, 2:].numpy()
        low, high = found[:, :2] - found[:, 2:] / 2, found[:, :2] + found[:, 2:] / 2
        np.testing.assert_allclose(np.hstack([low, high]), boxes, atol=1e-4)


@pytest.mark.usefixtures("_small_training")
def test_a_training_that_was_stopped_goes_on_as_if_it_had_not_been(tmp_path: Path) -> None:
    through = trainer(tmp_path / "through", steps=4)
    train_detector.train(through, save_every=1e9, evaluate_every=1e9)

    stopped = trainer(tmp_path / "stopped", steps=4)
    maker = small_maker()
    for step, size in ((0, 64), (1, 64)):
        stopped.train_step(*Batches(maker, size, 2, seed=0)[step])
    stopped.save()
    resumed = trainer(tmp_path / "stopped", steps=4)
    assert resumed.resume()
    assert resumed.step == 2
    train_detector.train(resumed, save_every=1e9, evaluate_every=1e9)

    assert resumed.step == through.step == 4
    for name, value in through.averaged.state_dict().items():
        torch.testing.assert_close(resumed.averaged.state_dict()[name], value, msg=name)


@pytest.mark.usefixtures("_small_training")
def test_the_averaged_weights_lie_beside_the_checkpoint(tmp_path: Path) -> None:
    training = trainer(tmp_path, steps=2)
    train_detector.train(training, save_every=1e9, evaluate_every=1e9)
    saved = load_detector(tmp_path / "detector.safetensors")
    for name, value in training.averaged.state_dict().items():
        torch.testing.assert_close(saved.state_dict()[name], value, msg=name)


@pytest.mark.usefixtures("_small_training")
@pytest.mark.parametrize(("trained", "searches"), [(False, 1), (True, 2)])
def test_lookalikes_are_searched_before_each_phase_once_the_network_knows_plates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trained: bool, searches: int
) -> None:
    seen: list[int] = []

    def find(network: YOLOv5, scenes: list[Photo]) -> list[tuple[int, Floats]]:
        seen.append(len(scenes))
        return []

    monkeypatch.setattr(train_detector, "find_lookalikes", find)
    training = Trainer(Config(steps=2, warmup=2), YOLOv5(), tmp_path, trained=trained)
    train_detector.train(training, save_every=1e9, evaluate_every=1e9)
    assert seen == [3] * searches


def test_without_a_checkpoint_a_training_starts_at_the_beginning(tmp_path: Path) -> None:
    training = trainer(tmp_path, steps=2)
    assert not training.resume()
    assert training.step == 0


def test_a_loss_that_is_not_finite_stops_the_training(tmp_path: Path) -> None:
    training = trainer(tmp_path, steps=2)
    with torch.no_grad():
        next(training.network.parameters()).fill_(float("nan"))
    with pytest.raises(FloatingPointError, match="at step 0"):
        training.train_step(*Batches(small_maker(), 64, 2, seed=0)[0])


def test_the_learning_rate_rises_then_falls_with_the_share_that_is_done(tmp_path: Path) -> None:
    training = Trainer(Config(steps=100, warmup=10), YOLOv5(), tmp_path)
    factors = []
    for step in range(100):
        training.step = step
        factors.append(training.learning_rate_factor())
    assert factors[:10] == sorted(factors[:10])
    assert factors[9] == 1
    assert factors[10:] == sorted(factors[10:], reverse=True)
    assert factors[-1] < 0.02


def test_a_time_limited_training_ends_by_the_time(tmp_path: Path) -> None:
    training = Trainer(Config(steps=0, seconds=200.0), YOLOv5(), tmp_path)
    training.seconds = 50.0
    assert training.progress == 0.25


def test_without_the_photos_one_sentence_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(index, "available", lambda: False)
    assert train_detector.main(["--steps", "1"]) == 1
    assert "the labelled photos are not at" in capsys.readouterr().err


def test_a_checkpoint_of_another_recipe_is_refused(tmp_path: Path) -> None:
    trainer(tmp_path, steps=8).save()
    with pytest.raises(ValueError, match="--fresh"):
        trainer(tmp_path, steps=9).resume()


@pytest.mark.skipif(not index.available(), reason="the labelled photos are not there")
def test_the_fold_that_is_held_out_is_not_trained_on() -> None:
    assert {photo.fold for photo in held_out_photos()} == {index.HELD_OUT_FOLD}
    assert {photo.fold for photo in train_detector.training_photos(index.HELD_OUT_FOLD)} == {0, 1, 2, 3}
    assert {photo.fold for photo in train_detector.training_photos(-1)} == {0, 1, 2, 3, 4}
