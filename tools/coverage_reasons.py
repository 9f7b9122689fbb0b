"""Why names and arguments of PyTorch are missing: {reason: patterns of whole names, without "torch."}."""

_ANY = r"(Tensor\.)?"

MISSING = {
    "complex arithmetic comes later": [
        _ANY + r"(complex|polar|view_as_(complex|real)(_copy)?|imag|is_conj|is_neg|i?stft)",
        r"Tensor\.(cfloat|cdouble|chalf)",
        r"Tensor\.__complex__",
        r"(linalg\.)?eig|linalg\.eigvals",
    ],
    "`torch.fft` and signals come later": [r"fft", r"signal"],
    "function transforms (`torch.func`) come later": [
        r"vmap|cond|while_loop|autograd\.forward_ad|autograd\.variable",
    ],
    "sparse layouts come later": [
        r".*sparse.*|utils\.benchmark\.FuzzedSparseTensor",
        _ANY + r"(is_coalesced|coalesce|((c?col|crow|row)_)?indices|values|dense_dim)",
        _ANY + r"(hspmm|hsmm|dsmm|spmm|smm|saddmm|sspaddmm)",
        r"((c?col|crow|row)_)?indices_copy|values_copy|Tensor\.to_dense",
    ],
    "quantization": [
        _ANY + r"(q_.*|qscheme|int_repr|dequantize)",
        r"(fake_)?quantize.*|fake_quantize.*|quantized_.*|choose_qparams.*|fused_moving_avg.*|fbgemm.*|empty_quantized",
        r"quantization|ao|nn\.(qat|intrinsic|quanti\w+)",
        r"nn\.functional\.scaled_(grouped_)?mm",
    ],
    "nested and jagged tensors": [r"nested|jagged", r"Tensor\.to_padded_tensor"],
    "dtypes of fewer than 8 bits": [r"bit|u?int[1-7]"],
    "further operators come later": [
        r"native_norm|norm_except_dim|convolution|affine_grid_generator|grid_sampler(_[23]d)?",
    ],
    "low-discrepancy sequences come later": [
        r"quasirandom",
    ],
    "instructions are counted by valgrind itself": [
        r"utils\.benchmark\.(CallgrindStats|CopyIfCallgrind|FunctionCounts?)",
    ],
    "distributed computing": [
        r"distributed|Tensor\.is_distributed|is_distributed|futures|Future|RRefType|AggregationType"
    ],
    "other devices, streams and accelerators": [
        r"accelerator|mps|mtia|xpu|AcceleratorError|OutOfMemoryError|Stream|Event|get_device_module|is_vulkan_available",
        r"Tensor\.(ipu|mtia|xpu|is_(ipu|maia|mtia|vulkan|xla)|record_stream|module_load)",
        r"(DeviceObj|StreamObj)Type|cpu",
    ],
    "kernels of one vendor": [
        r"(cudnn|miopen|mkldnn)_.*|Tensor\.(is|to)_mkldnn|batch_norm_(backward|elemt|gather|stats|update).*"
    ],
    "TorchScript and its types": [
        r"\w*(Script|Jit|JIT|Graph|Logger|[Ss]erialization)\w*",
        r"(Any|Await|Bool|Class|Complex|Dict|Enum|Float|Int|Interface|List|None|Number|Optional|PyObject|String)Type",
        r"(SymBool|SymInt|Tensor|Tuple|Union|Inferred|Future)?Type",
        r"AliasDb|Argument|(Complete)?ArgumentSpec|Block|CallStack|Capsule|Code|CompilationUnit|ConcreteModuleType\w*",
        r"DeepCopyMemoTable|ErrorReport|ExecutionPlan|FileCheck|FunctionSchema|Gradient|IODescriptor|Node|OperatorInfo",
        r"PyTorchFile(Reader|Writer)|StaticModule|TracingState|Use|Value|Tag|Benchmark\w+|ThroughputBenchmark|FatalError",
        r"import_ir_module(_from_buffer)?|parse_(ir|schema|type_comment)|merge_type_from_type_comment|unify_type_list",
        r"fork|wait|classproperty|get_file_path|StorageBase|(Buffer|Module|Parameter)Dict",
    ],
    "compiling, tracing, exporting and symbolic sizes": [
        r"compiler|export|fx|library|ops|classes|package|Sym(Bool|Float|Int)|sym_.*",
        r"DispatchKey(Set)?|ExcludeDispatchKeyGuard|cpp|compiled_with_cxx11_abi|Tensor\.__torch_dispatch__",
    ],
    "profiling": [r"(autograd\.)?profiler\w*|monitor"],
    "masked tensors": [r"masked"],
    "iterative solvers come later": [r"lobpcg"],
    "how PyTorch itself was built": [r"has_(lapack|mkl|openmp|spectral)"],
    "removed in PyTorch: the function there only raises": [
        r"(Tensor\.)?(symeig|solve|lstsq|eig|matrix_rank)",
        r"Tensor\.(reinforce|volatile|__n?div__)",
    ],
    "internal, without a use in Python": [
        r"prepare_multiprocessing_environment|init_num_threads",
        r"slice_inverse|Tensor\.(slice_inverse|const_data_ptr|storage_type|__(nonzero|long|i?div|rdiv)__)",
        r"autograd\.(NestedIOFunction|enforce_grad_layout_policy)",
        r"nn\.functional\.(assert_int_or_pair|has_torch_function\w*)",
        r"Tensor\.(name|names|index|grad_dtype)|(Tensor\.)?hash_tensor|AVG|SUM|PRIVATE_OPS|Storage",
    ],
}

_DEPRECATED = "the deprecated form with the number in front"
LACKING = {
    _DEPRECATED: [r"(add|sub|addcdiv|addcmul|addmm|addbmm|addmv|addr|baddbmm)_? \(.*"],
    "results wider than their factors: accelerators only": [r"(mm|bmm|addmm|baddbmm) \(.*out_dtype.*"],
    "`alpha` goes by keyword": [_ANY + r"(rsub|subtract_?) alpha by position"],
    "`out` and `dtype` go by keyword": [_ANY + r"norm (out|dtype) by position"],
    "NumPy's names are taken by what is written in C": [r"(linalg\.\w+|nuclear_norm) (axis|keepdims)="],
    "several results go to their own tensors": [r"native_batch_norm out="],
    "devices with streams only": [r"Tensor\.record_stream .*"],
    "what replaces it takes keywords alone": [r"nn\.Container .*"],
    "operators call it by position": [r"Tensor\.__\w+__ other="],
}

# (argument, of what, why)
IGNORED = [
    ("pin_memory", "factories, `new_zeros` ...", "no memory is pinned"),
    ("non_blocking", "`to`, `copy_`, `cuda`, `type`", "every copy waits"),
    ("sparse", "`embedding`", "the gradient is dense"),
]
