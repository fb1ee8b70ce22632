"""What cameras do to a picture."""

import numpy as np
import pytest

from nets.data import degrade, mounting
from nets.data.degrade import Degradation
from nets.data.plates import render_plate

DEGRADATIONS = [degradation for _, degradation in (*degrade.PIPELINE, *mounting.PIPELINE)]


@pytest.fixture(scope="module")
def plate() -> degrade.Image:
    return render_plate("A123BC77", np.random.default_rng(0), 24)


@pytest.mark.parametrize("degradation", DEGRADATIONS, ids=lambda degradation: degradation.__name__)
def test_a_degradation_changes_a_copy_of_the_same_size(degradation: Degradation, plate: degrade.Image) -> None:
    before = plate.copy()

    results = [degradation(plate, np.random.default_rng(seed)) for seed in range(5)]

    assert np.array_equal(plate, before)
    assert all(result.shape == plate.shape and result.dtype == np.uint8 for result in results)
    assert any(not np.array_equal(result, plate) for result in results)


@pytest.mark.parametrize("degradation", DEGRADATIONS, ids=lambda degradation: degradation.__name__)
def test_the_same_generator_degrades_the_same(degradation: Degradation, plate: degrade.Image) -> None:
    first, second = (degradation(plate, np.random.default_rng(3)) for _ in range(2))

    assert np.array_equal(first, second)


@pytest.mark.parametrize("degradation", DEGRADATIONS, ids=lambda degradation: degradation.__name__)
@pytest.mark.parametrize("shape", [(1, 1, 3), (3, 40, 3), (40, 2, 3)])
def test_tiny_pictures_survive(degradation: Degradation, shape: tuple[int, int, int]) -> None:
    image = np.full(shape, 128, np.uint8)

    assert degradation(image, np.random.default_rng(0)).shape == shape


@pytest.mark.parametrize("blur", [degrade.focus_blur, degrade.motion_blur, degrade.low_resolution])
def test_blur_takes_edges_away_and_leaves_the_brightness(blur: Degradation, plate: degrade.Image) -> None:
    blurred = blur(plate, np.random.default_rng(1))

    assert np.abs(np.diff(blurred.astype(int), axis=1)).sum() < np.abs(np.diff(plate.astype(int), axis=1)).sum()
    assert blurred.mean() == pytest.approx(plate.mean(), abs=6)


def test_shadow_only_darkens_and_glare_only_lightens(plate: degrade.Image) -> None:
    rng = np.random.default_rng(2)

    assert np.all(degrade.shadow(plate, rng) <= plate)
    assert np.all(degrade.glare(plate, rng) >= plate)


@pytest.mark.parametrize("weather", [degrade.rain, degrade.snowfall])
def test_weather_lightens_a_dark_picture_in_places(weather: Degradation) -> None:
    dark = np.full((24, 94, 3), 40, np.uint8)

    for seed in range(5):
        seen = weather(dark, np.random.default_rng(seed)).astype(int)

        assert seen.min() >= 40
        assert seen.max() > seen.min() + 15


def test_night_takes_light_away(plate: degrade.Image) -> None:
    for seed in range(10):
        assert degrade.night(plate, np.random.default_rng(seed)).mean() < 0.85 * plate.mean()


def test_bloom_floods_what_is_dark_beside_what_is_bright(plate: degrade.Image) -> None:
    for seed in range(5):
        flooded = degrade.bloom(plate, np.random.default_rng(seed)).astype(int)

        assert np.all(flooded >= plate)
        assert np.quantile(flooded, 0.05) > np.quantile(plate, 0.05) + 3


def test_infrared_has_no_colour(plate: degrade.Image) -> None:
    seen = degrade.infrared(plate, np.random.default_rng(0))

    assert np.array_equal(seen[..., 0], seen[..., 1])
    assert np.array_equal(seen[..., 0], seen[..., 2])


@pytest.mark.parametrize("happening", [mounting.frame, mounting.cake, mounting.obstruct])
def test_what_befalls_a_plate_leaves_most_of_it_to_be_seen(happening: Degradation) -> None:
    large = render_plate("A123BC77", np.random.default_rng(0), 72)
    for seed in range(20):
        changed = happening(large, np.random.default_rng(seed)).astype(int)

        assert np.mean(np.abs(changed - large).max(axis=2) > 25) < 0.3


def test_a_bent_plate_keeps_its_characters() -> None:
    large = render_plate("A123BC77", np.random.default_rng(0), 72)
    for seed in range(20):
        bent = mounting.bend(large, np.random.default_rng(seed))

        assert np.mean(bent < 100) == pytest.approx(np.mean(large < 100), rel=0.35)


def test_grey_has_three_equal_channels(plate: degrade.Image) -> None:
    grey = degrade.greyscale(plate, np.random.default_rng(0))

    assert np.array_equal(grey[..., 0], grey[..., 1])
    assert np.array_equal(grey[..., 0], grey[..., 2])


def test_a_projection_without_strength_changes_nothing() -> None:
    corners = np.array([(10, 10), (60, 12), (60, 24), (10, 22)], np.float64)

    matrix = degrade.projection(corners, np.random.default_rng(0), rotation=0, shear=0, perspective=0)

    np.testing.assert_allclose(matrix, np.eye(3), atol=1e-6)


def test_a_projection_keeps_the_middle_in_place() -> None:
    corners = np.array([(10, 10), (60, 10), (60, 22), (10, 22)], np.float64)

    matrix = degrade.projection(corners, np.random.default_rng(0), rotation=10, shear=0.2, perspective=0)

    moved = matrix @ (35, 16, 1)
    np.testing.assert_allclose(moved[:2] / moved[2], (35, 16), atol=1e-3)


def test_a_photo_is_taken_differently_each_time(plate: degrade.Image) -> None:
    rng = np.random.default_rng(0)

    photos = {degrade.photograph(plate, rng).tobytes() for _ in range(20)}

    assert len(photos) >= 18
