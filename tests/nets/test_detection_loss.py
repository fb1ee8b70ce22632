import pytest

pytest.importorskip("torch")

import torch
from torch import Tensor

from nets.detection_loss import DetectionLoss, complete_iou, match
from nets.yolov5 import ANCHORS, STRIDES, YOLOv5

pytestmark = pytest.mark.torch

WIDTH, HEIGHT = 96, 64


def heads(value: float = 0.0) -> list[Tensor]:
    shapes = [(2, 3, HEIGHT // s, WIDTH // s, 6) for s in STRIDES]
    return [torch.full(shape, value, requires_grad=True) for shape in shapes]


def target(*box: float, image: int = 0) -> Tensor:
    return torch.tensor([[image, 0, *box]])


def test_complete_iou_of_equal_boxes_is_one() -> None:
    boxes = torch.tensor([[10.0, 10.0, 40.0, 8.0], [5.0, 5.0, 1.0, 1.0]])
    torch.testing.assert_close(complete_iou(boxes, boxes), torch.ones(2), rtol=0, atol=1e-5)


def test_complete_iou_as_computed_by_hand() -> None:
    # Same size, moved by half the width: IoU 1/3, centres 2 apart, the box around both is 6 x 2: 4 / 40 is taken off.
    a, b = torch.tensor([[2.0, 1.0, 4.0, 2.0]]), torch.tensor([[4.0, 1.0, 4.0, 2.0]])
    torch.testing.assert_close(complete_iou(a, b), torch.tensor([1 / 3 - 0.1]), rtol=0, atol=1e-5)


def test_complete_iou_of_distant_boxes_is_negative_and_grows_towards_each_other() -> None:
    a = torch.tensor([[0.0, 0.0, 10.0, 4.0]]).repeat(2, 1)
    b = torch.tensor([[100.0, 0.0, 10.0, 4.0], [50.0, 0.0, 10.0, 4.0]])
    far, near = complete_iou(a, b).tolist()
    assert far < near < 0


def test_complete_iou_punishes_another_aspect_ratio() -> None:
    a = torch.tensor([[0.0, 0.0, 40.0, 10.0]])
    b = torch.tensor([[0.0, 0.0, 20.0, 10.0], [0.0, 0.0, 40.0, 5.0]])
    assert (complete_iou(a.repeat(2, 1), b) < 0.5).all()


def test_a_plate_is_learnt_in_its_cell_and_in_the_two_nearest_ones() -> None:
    anchors = torch.tensor(ANCHORS[0])[:1] / 8
    found = match(target(8 * 3.3, 8 * 2.8, 20.0, 7.0), anchors, 8, 8, 12)
    cells = set(zip(found.column.tolist(), found.row.tolist(), strict=True))
    assert cells == {(3, 2), (2, 2), (3, 3)}
    assert set(found.anchor.tolist()) == {0}
    # The box counts from each cell.
    torch.testing.assert_close(found.box[:, 0] + found.column, torch.full((3,), 3.3))
    torch.testing.assert_close(found.box[:, 1] + found.row, torch.full((3,), 2.8))


@pytest.mark.parametrize("centre", [(1.0, 1.0), (95.0, 63.0), (96.0, 64.0), (0.0, 0.0)])
def test_a_plate_at_the_border_is_learnt_inside_the_grid_only(centre: tuple[float, float]) -> None:
    found = match(target(*centre, 20.0, 7.0), torch.tensor(ANCHORS[0])[:1] / 8, 8, 8, 12)
    assert len(found.image) >= 1
    assert ((found.column >= 0) & (found.column < 12) & (found.row >= 0) & (found.row < 8)).all()


@pytest.mark.parametrize(("factor", "learnt"), [(3.9, True), (4.1, False), (1 / 3.9, True), (1 / 4.1, False)])
def test_an_anchor_learns_plates_within_a_factor_of_four(factor: float, learnt: bool) -> None:
    anchors = torch.tensor([[20.0, 8.0]]) / 8
    found = match(target(40.0, 30.0, 20.0, 8.0 * factor), anchors, 8, 8, 12)
    assert (len(found.image) > 0) == learnt


def test_without_plates_only_objectness_is_learnt() -> None:
    outputs = heads()
    parts = DetectionLoss(YOLOv5())(outputs, torch.zeros(0, 6))
    assert parts.box.item() == 0
    assert parts.objectness.item() > 0
    parts.total.backward()  # type: ignore[no-untyped-call]
    for output in outputs:
        gradient = output.grad
        assert gradient is not None
        assert (gradient[..., 4] > 0).all()
        assert (gradient[..., :4] == 0).all()


def test_a_batch_may_mix_images_with_and_without_plates() -> None:
    outputs = heads()
    DetectionLoss(YOLOv5())(outputs, target(50.0, 30.0, 36.0, 10.0, image=1)).total.backward()  # type: ignore[no-untyped-call]
    gradient = outputs[0].grad
    assert gradient is not None
    assert (gradient[0, ..., :4] == 0).all()
    assert (gradient[1, ..., :4] != 0).any()


def test_a_right_answer_costs_less_than_a_wrong_one() -> None:
    network = YOLOv5()
    loss = DetectionLoss(network)
    width, height = ANCHORS[0][1]
    plate = target(8 * 5.5, 8 * 3.5, width, height)
    right, wrong = heads(-8.0), heads(-8.0)
    for outputs, column in ((right, 5), (wrong, 9)):
        with torch.no_grad():
            for anchor in range(3):
                outputs[0][0, anchor, 3, column] = torch.tensor([0.0, 0.0, 0.0, 0.0, 8.0, 0.0])
    assert loss(right, plate).total < loss(wrong, plate).total


def test_objectness_is_asked_to_be_the_overlap() -> None:
    network = YOLOv5()
    width, height = ANCHORS[2][0]
    plate = target(32 * 1.5, 32 * 0.5, width, height)
    outputs = heads()
    with torch.no_grad():
        # This output is exact, so that its objectness has the target 1 and no gradient when it is sure.
        outputs[2][0, 0, 0, 1, 4] = 20.0
    DetectionLoss(network)(outputs, plate).total.backward()  # type: ignore[no-untyped-call]
    gradient = outputs[2].grad
    assert gradient is not None
    assert abs(gradient[0, 0, 0, 1, 4].item()) < 1e-6
    assert abs(gradient[0, 1, 0, 1, 4].item()) > 1e-6


def test_a_plate_that_two_want_asks_for_the_better_overlap() -> None:
    network = YOLOv5()
    width, height = ANCHORS[2][0]
    exact, worse = (48.0, 16.0, width, height), (48.0, 16.0, width / 2, height)
    outputs = heads()
    with torch.no_grad():
        outputs[2][0, 0, 0, 1, 4] = 20.0
    plates = torch.cat([target(*worse), target(*exact), target(*worse)])
    DetectionLoss(network)(outputs, plates).total.backward()  # type: ignore[no-untyped-call]
    gradient = outputs[2].grad
    assert gradient is not None
    assert abs(gradient[0, 0, 0, 1, 4].item()) < 1e-6


def test_classes_are_learnt_when_there_are_several() -> None:
    network = YOLOv5(classes=3)
    outputs = [torch.zeros(1, 3, HEIGHT // s, WIDTH // s, 8, requires_grad=True) for s in STRIDES]
    plate = torch.tensor([[0.0, 2.0, 44.0, 28.0, 36.0, 10.0]])
    parts = DetectionLoss(network)(outputs, plate)
    parts.total.backward()  # type: ignore[no-untyped-call]
    gradient = outputs[0].grad
    assert gradient is not None
    assert parts.classes > 0
    per_class = gradient.sum((0, 1, 2, 3))[5:]
    assert per_class[2] < 0
    assert (per_class[:2] > 0).all()


def test_the_gradient_teaches_one_image() -> None:
    torch.manual_seed(0)
    network = YOLOv5()
    loss = DetectionLoss(network)
    optimizer = torch.optim.AdamW(network.parameters(), lr=5e-3)
    images = torch.rand(2, 3, 64, 96)
    plates = torch.cat([target(50.0, 30.0, 40.0, 10.0), target(30.0, 40.0, 50.0, 20.0, image=1)])
    for _ in range(60):
        optimizer.zero_grad()
        loss(network(images), plates).total.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    with torch.no_grad():
        rows = network.decode(network(images))
    for image, plate in enumerate(plates[:, 2:]):
        best = rows[image, rows[image, :, 4].argmax(), :4]
        assert complete_iou(best[None], plate[None]).item() > 0.6
