"""Every config.pbtxt against plates/contract.py."""

from pathlib import Path

import pytest
from google.protobuf import text_format
from tritonclient.grpc import model_config_pb2

from plates import contract, pipeline

REPOSITORY = Path(__file__).parents[2] / "model_repository"
CONFIGS = sorted(REPOSITORY.glob("*/config.pbtxt")) + sorted(REPOSITORY.glob("*/configs/*.pbtxt"))
PYTHON = {contract.PLATE_RECOGNITION.name, contract.YOLO.name}
NATIVE = {contract.YOLO_NET.name, contract.STN.name, contract.LPRNET.name}


def parse(path: Path) -> model_config_pb2.ModelConfig:
    """Parse a config as Triton does; unknown fields are errors."""
    return text_format.Parse(path.read_text(), model_config_pb2.ModelConfig())


def tensors(rows: object) -> tuple[contract.Tensor, ...]:
    names = {"TYPE_STRING": "BYTES"}
    return tuple(
        contract.Tensor(
            row.name,
            names.get(kind := model_config_pb2.DataType.Name(row.data_type), kind.removeprefix("TYPE_")),
            tuple(row.dims),
        )
        for row in rows  # type: ignore[attr-defined]
    )


def test_the_repository_holds_the_models_of_the_contract_and_no_others() -> None:
    assert {path.name for path in REPOSITORY.iterdir()} == {model.name for model in contract.MODELS}


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_names_types_and_shapes_are_the_contracts(path: Path) -> None:
    config = parse(path)
    (model,) = (model for model in contract.MODELS if model.name == path.relative_to(REPOSITORY).parts[0])
    assert config.name in {"", model.name}
    assert config.max_batch_size == model.max_batch_size
    assert tensors(config.input) == model.inputs
    assert tensors(config.output) == model.outputs


@pytest.mark.parametrize("name", sorted(NATIVE))
def test_each_network_has_a_gpu_and_a_cpu_variant(name: str) -> None:
    gpu, cpu = parse(REPOSITORY / name / "config.pbtxt"), parse(REPOSITORY / name / "configs" / "cpu.pbtxt")
    kinds = model_config_pb2.ModelInstanceGroup.Kind
    assert (gpu.backend, kinds.Name(gpu.instance_group[0].kind)) == ("pytorch", "KIND_GPU")
    assert (cpu.backend, kinds.Name(cpu.instance_group[0].kind)) == ("onnxruntime", "KIND_CPU")
    for config in (gpu, cpu):
        assert config.HasField("dynamic_batching")
        # A sub-request's own time bounds its wait: no deadline that the settings admit is longer than the default.
        policy = config.dynamic_batching.default_queue_policy
        assert policy.allow_timeout_override
        assert policy.timeout_action == policy.REJECT
        assert policy.default_timeout_microseconds == 3600 * 10**6
        assert config.model_warmup, "the first request would pay for the network's start"


@pytest.mark.parametrize("name", sorted(PYTHON))
def test_each_python_model_works_where_the_networks_do(name: str) -> None:
    gpu, cpu = parse(REPOSITORY / name / "config.pbtxt"), parse(REPOSITORY / name / "configs" / "cpu.pbtxt")
    kinds = model_config_pb2.ModelInstanceGroup.Kind
    assert kinds.Name(gpu.instance_group[0].kind) == "KIND_GPU"
    assert kinds.Name(cpu.instance_group[0].kind) == "KIND_CPU"
    assert gpu.parameters.pop("FORCE_CPU_ONLY_INPUT_TENSORS").string_value == "no"
    gpu.instance_group[0].kind = cpu.instance_group[0].kind
    assert gpu == cpu


@pytest.mark.parametrize("name", sorted(PYTHON))
def test_all_models_that_detect_do_so_with_the_defaults_of_the_code(name: str) -> None:
    parameters = parse(REPOSITORY / name / "config.pbtxt").parameters
    options = pipeline.Options.from_parameters({key: value.string_value for key, value in parameters.items()})
    assert options == pipeline.Options()
