"""Examples in docstrings: all of them run, and what users meet first has one."""

import functools
import inspect
import pathlib
import re

import pytest
from tests.kits.docstrings import MODULES, documented, examples, public, report

from rushlight import nn

# whose public classes and functions have an example each; operators are described by the operator table
SHOWN = (
    *("rushlight.nn", "rushlight.nn.functional", "rushlight.nn.init", "rushlight.nn.attention"),
    *("rushlight.nn.utils", "rushlight.nn.utils.rnn", "rushlight.nn.utils.parametrize"),
    *("rushlight.nn.utils.parametrizations", "rushlight.nn.utils.prune", "rushlight.nn.utils.stateless"),
    *("rushlight.optim", "rushlight.optim.lr_scheduler", "rushlight.optim.swa_utils"),
    *("rushlight.utils.data", "rushlight.utils.checkpoint", "rushlight.utils.dlpack"),
    *("rushlight", "rushlight.serialization", "rushlight.inspect", "rushlight.random"),
    *("rushlight.autograd", "rushlight.autograd.functional", "rushlight.autograd.graph"),
    *("rushlight.autograd.grad_mode", "rushlight.amp", "rushlight.func", "rushlight.functional"),
    "rushlight.linalg",
)

# Of those, the names without an example. This list only gets shorter;
# `PYTHONPATH=pysrc python -m tests.package.test_doctests` writes it anew.
WITHOUT_EXAMPLE = {
    "rushlight.nn.functional": """
        adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool1d_with_indices
        adaptive_max_pool2d adaptive_max_pool2d_with_indices adaptive_max_pool3d
        adaptive_max_pool3d_with_indices affine_grid alpha_dropout batch_norm binary_cross_entropy
        binary_cross_entropy_with_logits celu cosine_embedding_loss cross_entropy ctc_loss dropout
        dropout1d dropout2d dropout3d elu embedding embedding_bag feature_alpha_dropout fold
        fractional_max_pool2d fractional_max_pool2d_with_indices fractional_max_pool3d
        fractional_max_pool3d_with_indices gaussian_nll_loss glu grid_sample group_norm gumbel_softmax
        hardsigmoid hardswish hardtanh hinge_embedding_loss huber_loss instance_norm interpolate kl_div
        l1_loss layer_norm leaky_relu linear_cross_entropy local_response_norm log_softmax lp_pool1d
        lp_pool2d lp_pool3d margin_ranking_loss max_pool1d max_pool1d_with_indices max_pool2d
        max_pool2d_with_indices max_pool3d max_pool3d_with_indices max_unpool1d max_unpool2d
        max_unpool3d mish mse_loss multi_head_attention_forward multi_margin_loss multilabel_margin_loss
        multilabel_soft_margin_loss nll_loss normalize pad poisson_nll_loss relu relu6 rms_norm rrelu
        selu sigmoid silu smooth_l1_loss soft_margin_loss softmax softmin softsign tanh tanhshrink
        threshold triplet_margin_loss triplet_margin_with_distance_loss unfold upsample
        upsample_bilinear upsample_nearest
    """,
    "rushlight.nn.init": """
        calculate_gain constant_ dirac_ eye_ kaiming_normal_ kaiming_uniform_ normal_ ones_ orthogonal_
        sparse_ trunc_normal_ uniform_ xavier_normal_ xavier_uniform_ zeros_
    """,
    "rushlight.nn.attention": """
        SDPBackend sdpa_kernel
    """,
    "rushlight.nn.utils": """
        clip_grad_norm clip_grad_norm_ clip_grad_value_ clip_grads_with_norm_
        convert_conv2d_weight_memory_format convert_conv3d_weight_memory_format fuse_conv_bn_eval
        fuse_conv_bn_weights fuse_linear_bn_eval fuse_linear_bn_weights get_total_norm
        parameters_to_vector remove_spectral_norm remove_weight_norm skip_init spectral_norm
        vector_to_parameters weight_norm
    """,
    "rushlight.nn.utils.rnn": """
        PackedSequence invert_permutation pack_padded_sequence pack_sequence pad_packed_sequence
        pad_sequence unpack_sequence unpad_sequence
    """,
    "rushlight.nn.utils.parametrize": """
        ParametrizationList cached is_parametrized register_parametrization remove_parametrizations
        transfer_parametrizations_and_params type_before_parametrizations
    """,
    "rushlight.nn.utils.parametrizations": """
        orthogonal spectral_norm weight_norm
    """,
    "rushlight.nn.utils.prune": """
        BasePruningMethod CustomFromMask Identity L1Unstructured LnStructured PruningContainer
        RandomStructured RandomUnstructured custom_from_mask global_unstructured identity is_pruned
        l1_unstructured ln_structured random_structured random_unstructured remove
    """,
    "rushlight.nn.utils.stateless": """
        functional_call
    """,
    "rushlight.optim": """
        ASGD Adadelta Adafactor Adagrad Adam AdamW Adamax LBFGS Muon NAdam Optimizer RAdam RMSprop Rprop
        SGD SparseAdam swap_in_optimizer_params_and_state
    """,
    "rushlight.optim.lr_scheduler": """
        ChainedScheduler ConstantLR CosineAnnealingLR CosineAnnealingWarmRestarts CyclicLR ExponentialLR
        LRScheduler LambdaLR LinearLR MultiStepLR MultiplicativeLR OneCycleLR PolynomialLR
        ReduceLROnPlateau SequentialLR StepLR
    """,
    "rushlight.optim.swa_utils": """
        AveragedModel SWALR get_ema_avg_fn get_ema_multi_avg_fn get_swa_avg_fn get_swa_multi_avg_fn
        update_bn
    """,
    "rushlight.utils.data": """
        BatchSampler ChainDataset ConcatDataset DFIterDataPipe DataChunk DataLoader Dataset
        DistributedSampler IterDataPipe IterableDataset MapDataPipe RandomSampler Sampler
        SequentialSampler StackDataset Subset SubsetRandomSampler TensorDataset WeightedRandomSampler
        _DatasetKind argument_validation default_collate default_convert functional_datapipe
        get_worker_info guaranteed_datapipes_determinism non_deterministic random_split
        runtime_validation runtime_validation_disabled
    """,
    "rushlight.utils.checkpoint": """
        CheckpointFunction DefaultDeviceType check_backward_validity checkpoint checkpoint_sequential
        detach_variable noop_context_fn set_checkpoint_debug_enabled set_checkpoint_early_stop
    """,
    "rushlight.utils.dlpack": """
        DLDeviceType from_dlpack
    """,
    "rushlight": """
        BFloat16Tensor Bits16Tensor Bits1x8Tensor Bits2x4Tensor Bits4x2Tensor Bits8Tensor BoolTensor
        ByteTensor CharTensor ComplexDoubleTensor ComplexFloatTensor ComplexHalfTensor
        DisableTorchFunction DisableTorchFunctionSubclass DoubleTensor Float4_e2m1fn_x2Tensor
        Float8_e4m3fnTensor Float8_e4m3fnuzTensor Float8_e5m2Tensor Float8_e5m2fnuzTensor
        Float8_e8m0fnuTensor FloatTensor Generator HalfTensor IntTensor LongTensor QInt32Tensor
        QInt8Tensor QUInt2x4Tensor QUInt4x2Tensor QUInt8Tensor ShortTensor Size Tensor UInt16Tensor
        UInt32Tensor UInt64Tensor UntypedStorage allclose are_deterministic_algorithms_enabled asarray
        atleast_1d atleast_2d atleast_3d bartlett_window best_splits blackman_window block_diag
        broadcast_shapes broadcast_tensors broadcast_to cartesian_prod cdist chain_matmul combinations
        compile compiled_with_cxx11_abi detach detach_ device dtype einsum empty_permuted empty_strided
        enable_grad equal finfo from_file frombuffer get_deterministic_debug_mode get_device
        get_device_module get_float32_matmul_precision get_num_interop_threads get_rng_state gradient
        hamming_window hann_window histogram histogramdd iinfo imag inference_mode initial_seed
        is_complex is_conj is_deterministic_algorithms_warn_only_enabled is_distributed
        is_floating_point is_inference is_neg is_nonzero is_same_size is_signed is_storage
        is_vulkan_available is_warn_always_enabled isclose kaiser_window layout load lu manual_seed
        matrices_of_chain memory_format meshgrid no_grad numel qscheme range resize_as_ resolve_conj
        resolve_neg save scalar_tensor seed set_default_tensor_type set_deterministic_debug_mode
        set_float32_matmul_precision set_grad_enabled set_num_interop_threads set_printoptions
        set_rng_state set_warn_always tensordot thread_safe_generator typename unique unique_consecutive
        unravel_index use_deterministic_algorithms vander zero_
    """,
    "rushlight.serialization": """
        add_safe_globals clear_safe_globals default_restore_location get_crc32_options get_safe_globals
        get_unsafe_globals_in_checkpoint location_tag safe_globals set_crc32_options
        validate_cuda_device
    """,
    "rushlight.inspect": """
        Report
    """,
    "rushlight.random": """
        fork_rng
    """,
    "rushlight.autograd": """
        Function backward detect_anomaly grad gradcheck gradgradcheck set_detect_anomaly
        set_multithreading_enabled
    """,
    "rushlight.autograd.functional": """
        hessian hvp jacobian jvp vhp vjp
    """,
    "rushlight.autograd.graph": """
        GradientEdge Node disable_saved_tensors_hooks get_gradient_edge increment_version
        register_multi_grad_hook save_on_cpu saved_tensors_hooks
    """,
    "rushlight.amp": """
        GradScaler autocast custom_bwd custom_fwd is_autocast_available
    """,
    "rushlight.func": """
        functional_call stack_module_state
    """,
    "rushlight.linalg": """
        cond diagonal householder_product lstsq matrix_norm matrix_rank multi_dot norm pinv tensorinv
        tensorsolve vander vecdot
    """,
}


@pytest.mark.parametrize("module", MODULES)
def test_examples(module, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    failed = [said for name, text in examples()[module] if (said := report(name, text))]
    assert not failed, "\n".join(failed)


@functools.cache
def without_example():
    """Return {module: names} of the classes and functions that lack an example, each at its first module."""
    seen, lacking = set(), {}
    for module in SHOWN:
        for key, value in public(module):
            operator = inspect.isbuiltin(value) or (isinstance(value, type) and issubclass(value, Exception))
            if operator or id(value) in seen:
                continue
            seen.add(id(value))
            if ">>>" not in (value.__doc__ or ""):
                lacking.setdefault(module, set()).add(key)
    return lacking


@pytest.mark.parametrize("module", SHOWN)
def test_what_users_meet_has_an_example(module):
    listed = set(WITHOUT_EXAMPLE.get(module, "").split())
    lacking = without_example().get(module, set())
    assert not lacking - listed, "write an example"
    assert not listed - lacking, "has an example or is no more: take it from the list"


# sections of a docstring, in their order
SECTIONS = (
    "Parameters",
    "Attributes",
    "Returns",
    "Yields",
    "Shape",
    "Raises",
    "Notes",
    "References",
    "Examples",
)


def told(text):
    """Return the names in the section Parameters of a docstring."""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=\n\n|\Z)", text, flags=re.M | re.S)
    lines = section[1].splitlines() if section else []
    return [
        name.lstrip("*") for each in lines if each[0] != " " for name in each.partition(" : ")[0].split(", ")
    ]


def taken(value):
    """Return the names of the arguments of a class or function, None where it hands them on."""
    values = inspect.signature(value).parameters.values()
    handed_on = any(each.kind is each.VAR_POSITIONAL for each in values)
    return None if handed_on else [each.name for each in values if not each.name.startswith("_")]


def wrong_parameters(value):
    """Yield what the section Parameters says that is not so."""
    names = told(inspect.cleandoc(value.__doc__ or ""))
    if names and taken(value) not in (None, names):
        yield f"parameters {names}, not {taken(value)}"


def wrong_description(cls):
    """Yield what the docstring of a layer lacks, or says that is not so."""
    text = inspect.cleandoc(cls.__doc__ or "")
    first, _, rest = text.partition("\n")
    if not re.fullmatch(r"[A-Z].{,74}[.]", first) or not rest.startswith("\n"):
        yield f"first line: {first}"
    sections = re.findall(r"^(\w+)\n---+$", text, flags=re.M)
    if sections != sorted(sections, key=SECTIONS.index):
        yield f"order of sections: {sections}"
    if f".{cls.__name__}.html" not in text and cls is not nn.Container:  # which PyTorch has no page for
        yield "no link to PyTorch's page"
    lazy = cls.__name__.startswith("Lazy")  # the parameters are those of the layer that it becomes
    if taken(cls) and not told(text) and not lazy:
        yield "no parameters"
    yield from wrong_parameters(cls)


@pytest.mark.parametrize("module", SHOWN)
def test_parameters_are_those_of_the_signature(module):
    values = [(key, value) for key, value in public(module) if not inspect.isbuiltin(value)]
    wrong = [f"{key}: {line}" for key, value in values for line in wrong_parameters(value)]
    assert not wrong


@pytest.mark.parametrize("name", [key for key, _ in public("rushlight.nn")])
def test_layers_are_described(name):
    assert not list(wrong_description(getattr(nn, name)))


def test_a_wrong_description_is_found():
    class Layer(nn.Linear):
        """an example\n\n    Examples\n    --------\n    Parameters\n    ----------\n    x : int"""

    wrong = list(wrong_description(Layer))
    kinds = [
        "first line",
        "order of sections",
        "no link to PyTorch's page",
        "parameters ['x'], not ['in_features', ",
    ]
    assert len(wrong) == 4 and all(map(str.startswith, wrong, kinds))
    Layer.__doc__ = None
    assert "no parameters" in list(wrong_description(Layer))


def test_a_wrong_example_is_found():
    assert "Expected:\n    3\nGot:\n    2" in report("sum", ">>> 1 + 1\n3\n")
    assert "AttributeError" in report("lost", ">>> torch.no_such_name\n")
    assert "UserWarning" in report("warns", ">>> F.mse_loss(torch.ones(2), torch.ones(1))\ntensor(0.)\n")
    assert report("right", ">>> nn.ReLU()(torch.zeros(2) + np.float32(1))\ntensor([1., 1.])\n") == ""


def test_classes_functions_and_methods_are_collected():
    names = {name for module in MODULES for name, _ in documented(module)}
    assert names >= {"rushlight.nn", "rushlight.nn.Conv2d", "rushlight.nn.functional.softmax"}
    assert names >= {"rushlight.nn.Module.to", "rushlight.optim.Adam.step", "rushlight.Tensor.add"}


def listed_anew():
    """Return the source of this file with the list of today."""
    import textwrap

    text = pathlib.Path(__file__).read_text()
    lines = []
    for module, names in without_example().items():
        wrapped = textwrap.wrap(" ".join(sorted(names)), 96)
        lines += [f'    "{module}": """', *(f"        {line}" for line in wrapped), '    """,']
    body = "\n".join(["WITHOUT_EXAMPLE = {", *lines, "}\n"]) if lines else "WITHOUT_EXAMPLE = {}\n"
    return re.sub(r"^WITHOUT_EXAMPLE = \{(\n.*?^)?\}\n", lambda _: body, text, flags=re.M | re.S)


if __name__ == "__main__":
    pathlib.Path(__file__).write_text(listed_anew())
