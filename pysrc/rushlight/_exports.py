"""The public names of packages whose names are written in other modules: one table.

It says which module has each name. A package loads some with itself and others when something first asks for
them; ``dir``, the stubs and the tests read the same table. ``a=b``: the package calls a what the module calls
b. ``*``: what the module lists in ``__all__``. Modules stand relative to the package, or with whole names.
"""

import sys

from ._missing import module_dir, module_getattr

_FUNCTION = type(lambda: None)

# names that a package loads with itself
AT_ONCE = {
    "rushlight": {
        "functional": (
            "allclose broadcast_shapes broadcast_tensors broadcast_to chain_matmul equal imag is_complex "
            "is_floating_point is_nonzero isclose lu numel unique unique_consecutive unravel_index"
        ),
        "_layout_queries": (
            "detach detach_ get_device is_conj is_distributed is_inference is_neg is_same_size is_signed "
            "resize_as_ resolve_conj resolve_neg zero_"
        ),
        "_create": "asarray empty_permuted empty_strided from_file frombuffer scalar_tensor",
        "_deterministic": (
            "are_deterministic_algorithms_enabled get_deterministic_debug_mode "
            "is_deterministic_algorithms_warn_only_enabled set_deterministic_debug_mode "
            "use_deterministic_algorithms"
        ),
        "_tensor_functions": (
            "atleast_1d atleast_2d atleast_3d block_diag cartesian_prod combinations gradient meshgrid "
            "vander range=_range"
        ),
        "_histogram": "histogram histogramdd",
        "_einsum": "cdist einsum tensordot",
        "_settings": (
            "compile get_float32_matmul_precision get_num_interop_threads is_warn_always_enabled "
            "set_float32_matmul_precision set_num_interop_threads set_warn_always"
        ),
        "_types": (
            "compiled_with_cxx11_abi get_device_module is_storage is_vulkan_available "
            "set_default_tensor_type typename"
        ),
        "_signal_windows": "bartlett_window blackman_window hamming_window hann_window kaiser_window",
        "autograd.grad_mode": "enable_grad inference_mode no_grad set_grad_enabled",
        "random": "get_rng_state initial_seed manual_seed seed set_rng_state thread_safe_generator",
    },
    "rushlight.autograd": {
        "_engine": "backward grad",
        "grad_mode": "enable_grad inference_mode no_grad set_grad_enabled set_multithreading_enabled",
        "gradcheck": "gradcheck gradgradcheck",
    },
    "rushlight.functional": {
        "rushlight._einsum": "cdist einsum tensordot",
        "rushlight._tensor_functions": "atleast_1d atleast_2d atleast_3d block_diag cartesian_prod meshgrid",
    },
    "rushlight.nn.functional": {
        "rushlight._C": (
            "bilinear conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d "
            "conv_transpose3d cosine_similarity pairwise_distance pdist"
        ),
        "_activation": "*",
        "_attention": (
            "* _canonical_mask _check_key_padding_mask _in_projection _in_projection_packed "
            "_mha_shape_check _none_or_dtype"
        ),
        "_dropout": "*",
        "_embedding": "*",
        "_linear": "*",
        "_loss": "*",
        "_norm": "*",
        "_pool": (
            "* _adaptive_max_pool1d _adaptive_max_pool2d _adaptive_max_pool3d "
            "_check_unpool_output_size _fractional_max_pool2d _fractional_max_pool3d _max_pool1d "
            "_max_pool2d _max_pool3d _unpool_output_size"
        ),
        "_vision": "*",
    },
    "rushlight.nn.modules": {
        "activation": "*",
        "adaptive": "*",
        "batchnorm": "*",
        "channelshuffle": "*",
        "container": "*",
        "conv": "*",
        "distance": "*",
        "dropout": "*",
        "flatten": "*",
        "fold": "*",
        "instancenorm": "*",
        "lazy": "*",
        "linear": "*",
        "loss": "*",
        "module": "Module",
        "normalization": "*",
        "padding": "*",
        "pixelshuffle": "*",
        "pooling": "*",
        "rnn": "*",
        "sparse": "*",
        "transformer": "*",
        "upsampling": "*",
    },
    "rushlight.nn.utils": {
        "clip_grad": (
            "clip_grads_with_norm_=_clip_grads_with_norm_ get_total_norm=_get_total_norm clip_grad_norm "
            "clip_grad_norm_ clip_grad_value_"
        ),
        "convert_parameters": "parameters_to_vector vector_to_parameters",
        "spectral_norm": "remove_spectral_norm spectral_norm",
        "weight_norm": "remove_weight_norm weight_norm",
    },
    "rushlight.optim": {
        "optimizer": "Optimizer",
    },
    "rushlight.testing": {
        "_comparison": "assert_allclose assert_close",
        "_creation": "make_tensor",
    },
}
# names whose module is imported when something first asks for them
WHEN_ASKED = {
    "rushlight": {
        "futures": "Future",
        "amp.autocast_mode": "autocast",
        "amp.grad_scaler": "GradScaler",
        "_C": (
            "_amp_foreach_non_finite_check_and_unscale_ _amp_update_scale_ _standard_gamma "
            "_standard_gamma_grad _sample_dirichlet _dirichlet_grad _safe_softmax "
            "_scaled_dot_product_attention_math _scaled_dot_product_flash_attention_for_cpu "
            "_embedding_bag _embedding_bag_forward_only _pack_padded_sequence _pad_packed_sequence "
            "_convolution _convolution_mode"
        ),
        "amp._per_device": (
            "is_autocast_cpu_enabled set_autocast_cpu_enabled get_autocast_cpu_dtype "
            "set_autocast_cpu_dtype get_autocast_gpu_dtype set_autocast_gpu_dtype is_autocast_xla_enabled "
            "set_autocast_xla_enabled get_autocast_xla_dtype set_autocast_xla_dtype "
            "is_autocast_ipu_enabled set_autocast_ipu_enabled get_autocast_ipu_dtype "
            "set_autocast_ipu_dtype"
        ),
        "_alias": "install_as_torch load_ipython_extension",
        "_summary": "summary",
        "_dispatch_keys": "DispatchKey DispatchKeySet",
        "_checks": (
            "_assert _check _check_index _check_is_size _check_not_implemented _check_tensor_all "
            "_check_tensor_all_with _check_type _check_value _check_with"
        ),
        "_dynamo.decorators": "_disable_dynamo",
        "nn._native_attention": "_native_multi_head_attention _transformer_encoder_layer_fwd",
        "serialization": "load save",
        "_tensor_str": "set_printoptions",
        "utils.dlpack": "from_dlpack to_dlpack",
        "_lowrank": "pca_lowrank svd_lowrank nuclear_norm",
        "storage": (
            "BFloat16Storage BoolStorage ByteStorage CharStorage DoubleStorage FloatStorage HalfStorage "
            "IntStorage ComplexDoubleStorage ComplexFloatStorage LongStorage ShortStorage TypedStorage "
            "QInt8Storage QInt32Storage QUInt8Storage QUInt4x2Storage QUInt2x4Storage"
        ),
    },
    "rushlight.autograd": {
        "function": "Function",
        "profiler": "kineto_available",
        "rushlight._profiling.kinds": "DeviceType ProfilerActivity",
        "anomaly_mode": "detect_anomaly set_detect_anomaly",
    },
    "rushlight.distributions": {
        "bernoulli": "Bernoulli",
        "beta": "Beta",
        "binomial": "Binomial",
        "categorical": "Categorical",
        "cauchy": "Cauchy",
        "chi2": "Chi2",
        "continuous_bernoulli": "ContinuousBernoulli",
        "dirichlet": "Dirichlet",
        "distribution": "Distribution",
        "exponential": "Exponential",
        "exp_family": "ExponentialFamily",
        "fishersnedecor": "FisherSnedecor",
        "gamma": "Gamma",
        "generalized_pareto": "GeneralizedPareto",
        "geometric": "Geometric",
        "gumbel": "Gumbel",
        "half_cauchy": "HalfCauchy",
        "half_normal": "HalfNormal",
        "independent": "Independent",
        "inverse_gamma": "InverseGamma",
        "kumaraswamy": "Kumaraswamy",
        "lkj_cholesky": "LKJCholesky",
        "laplace": "Laplace",
        "log_normal": "LogNormal",
        "logistic_normal": "LogisticNormal",
        "lowrank_multivariate_normal": "LowRankMultivariateNormal",
        "mixture_same_family": "MixtureSameFamily",
        "multinomial": "Multinomial",
        "multivariate_normal": "MultivariateNormal",
        "negative_binomial": "NegativeBinomial",
        "normal": "Normal",
        "one_hot_categorical": "OneHotCategorical OneHotCategoricalStraightThrough",
        "pareto": "Pareto",
        "poisson": "Poisson",
        "relaxed_bernoulli": "RelaxedBernoulli",
        "relaxed_categorical": "RelaxedOneHotCategorical",
        "studentT": "StudentT",
        "transformed_distribution": "TransformedDistribution",
        "uniform": "Uniform",
        "von_mises": "VonMises",
        "weibull": "Weibull",
        "wishart": "Wishart",
        "constraint_registry": "biject_to transform_to",
        "kl": "kl_divergence register_kl",
        "transforms": (
            "AbsTransform AffineTransform CatTransform ComposeTransform CorrCholeskyTransform "
            "CumulativeDistributionTransform ExpTransform IndependentTransform LowerCholeskyTransform "
            "PositiveDefiniteTransform PowerTransform ReshapeTransform SigmoidTransform SoftmaxTransform "
            "SoftplusTransform StackTransform StickBreakingTransform TanhTransform Transform "
            "identity_transform"
        ),
    },
    "rushlight.nn": {
        "modules.linear_cross_entropy_options": "LinearCrossEntropyOptions",
    },
    "rushlight.nn.modules": {
        "linear_cross_entropy_options": "LinearCrossEntropyOptions",
    },
    "rushlight.nn.parallel": {
        "distributed": "DistributedDataParallel",
        "scatter_gather": "gather scatter",
    },
    "rushlight.nn.utils": {
        "fusion": "fuse_conv_bn_eval fuse_conv_bn_weights fuse_linear_bn_eval fuse_linear_bn_weights",
        "memory_format": "convert_conv2d_weight_memory_format convert_conv3d_weight_memory_format",
        "init": "skip_init",
    },
    "rushlight.optim": {
        "adadelta": "Adadelta",
        "adagrad": "Adagrad",
        "adam": "Adam",
        "adamax": "Adamax",
        "adamw": "AdamW",
        "asgd": "ASGD",
        "lbfgs": "LBFGS",
        "nadam": "NAdam",
        "radam": "RAdam",
        "rmsprop": "RMSprop",
        "rprop": "Rprop",
        "sgd": "SGD",
        "_adafactor": "Adafactor",
        "_muon": "Muon",
        "sparse_adam": "SparseAdam",
        "_stateless": "swap_in_optimizer_params_and_state",
    },
}
# modules of a package that are imported when something first asks for them
MODULES = {
    "rushlight": (
        "_VF __config__ _dynamo _jit_internal _onednn _tensor_str accelerator amp ao autograd "
        "backends compiler cpu cuda distributed distributions export func futures fx hub inspect jit "
        "linalg mps mtia multiprocessing nn onnx optim overrides profiler quantization return_types "
        "safetensors serialization special storage testing torch_version types utils version xpu"
    ),
    "rushlight._dynamo": "_trace_wrapped_higher_order_op decorators external_utils utils",
    "rushlight.ao": "quantization",
    "rushlight.ao.quantization": "stubs",
    "rushlight.autograd": ("anomaly_mode function functional graph profiler profiler_util"),
    "rushlight.distributed": "device_mesh optim tensor",
    "rushlight.distributions": (
        "bernoulli beta binomial categorical cauchy chi2 constraint_registry constraints "
        "continuous_bernoulli dirichlet distribution exp_family exponential fishersnedecor gamma "
        "generalized_pareto geometric gumbel half_cauchy half_normal independent inverse_gamma kl "
        "kumaraswamy laplace lkj_cholesky log_normal logistic_normal lowrank_multivariate_normal "
        "mixture_same_family multinomial multivariate_normal negative_binomial normal "
        "one_hot_categorical pareto poisson relaxed_bernoulli relaxed_categorical studentT "
        "transformed_distribution transforms uniform utils von_mises weibull wishart"
    ),
    "rushlight.fx": "_symbolic_trace experimental graph graph_module node proxy",
    "rushlight.fx.experimental": "proxy_tensor",
    "rushlight.jit": "annotations",
    "rushlight.nn": ("attention common_types grad intrinsic qat quantizable quantized"),
    "rushlight.nn.parallel": "distributed scatter_gather",
    "rushlight.nn.utils": ("fusion init memory_format parametrizations parametrize prune rnn stateless"),
    "rushlight.optim": (
        "adadelta adagrad adam adamax adamw asgd lbfgs lr_scheduler nadam radam rmsprop rprop sgd "
        "sparse_adam swa_utils"
    ),
}


_top = "rushlight"  # what the package calls itself in names of functions and classes


def call_package(name):
    """Have public functions and classes say that they are of ``name``: where torch means rushlight, torch."""
    global _top
    _top = name


def called(module):
    """Return what a module of the package is called by functions and classes in it."""
    return _top + module[len("rushlight") :]


def _set_module(home, *objects):
    """Make ``home`` the ``__module__`` of functions and classes, and of the functions in these classes."""
    for each in objects:
        before = each.__module__
        each.__module__ = home
        if isinstance(each, type):
            for member in vars(each).values():
                function = getattr(member, "__func__", member)  # behind staticmethod and classmethod
                if type(function) is _FUNCTION and function.__module__ == before:  # not one of another class
                    function.__module__ = home


def _whole(package, module):
    return module if module.startswith("rushlight.") else f"{package}.{module}"


def _listed(whole, names):
    """Return the names that a row lists; ``*`` stands for those that the module lists itself."""
    names = names.split()
    if names[0] != "*":
        return names
    __import__(whole)
    return [*sys.modules[whole].__all__, *names[1:]]


def _fetch(space, whole, names):
    """Put names of a module into a package, by which texts and pickles know what a private module has."""
    __import__(whole)
    found, package = vars(sys.modules[whole]), space["__name__"]
    is_private = whole.rpartition(".")[2][0] == "_"
    for name in names:
        own = name
        if "=" in name:
            name, _, own = name.partition("=")
        value = space[name] = found[own]
        if is_private and name[0] != "_" and getattr(value, "__module__", None) in (whole, called(whole)):
            _set_module(called(package), value)


def load(space):
    """Put the names that a package has at once into its namespace."""
    package = space["__name__"]
    for module, names in AT_ONCE[package].items():
        whole = _whole(package, module)
        _fetch(space, whole, _listed(whole, names))


def publish(space):
    """Give a package the names of the table, and the ``__getattr__`` and ``__dir__`` that know the others."""
    package = space["__name__"]
    if package in AT_ONCE:
        load(space)
    later = {n: module for module, names in WHEN_ASKED.get(package, {}).items() for n in names.split()}
    modules = MODULES.get(package, "").split()
    missing = module_getattr(package)

    def __getattr__(name):
        module = later.get(name)
        if module is not None:
            _fetch(space, _whole(package, module), (name,))
            return space[name]
        if name not in modules:
            return missing(name)
        __import__(f"{package}.{name}")
        value = space[name] = sys.modules[f"{package}.{name}"]
        return value

    space["__getattr__"] = __getattr__
    space["__dir__"] = module_dir(package, {*later, *modules})


def homes(package):
    """Return ``{name: module}`` of a package: the whole name of the module in which each is written."""
    tables = AT_ONCE.get(package, {}), WHEN_ASKED.get(package, {})
    rows = [(_whole(package, module), names) for table in tables for module, names in table.items()]
    return {name.partition("=")[0]: whole for whole, names in rows for name in _listed(whole, names)}


def public(package):
    """Return the names that a package loads with itself and that are not private, sorted."""
    rows = AT_ONCE[package].items()
    return sorted(n for m, names in rows for n in _listed(_whole(package, m), names) if n[0] != "_")
