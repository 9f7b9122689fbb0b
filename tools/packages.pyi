"""What tools/make_package_stubs.py cannot read from sources: functions that factories make, by package."""

class nn_functional:
    @overload
    def max_pool1d(
        input: Tensor,
        kernel_size: int | tuple[int, ...],
        stride: int | tuple[int, ...] | None = None,
        padding: int | tuple[int, ...] = 0,
        dilation: int | tuple[int, ...] = 1,
        ceil_mode: bool = False,
        return_indices: Literal[False] = False,
    ) -> Tensor: ...
    @overload
    def max_pool1d(
        input: Tensor,
        kernel_size: int | tuple[int, ...],
        stride: int | tuple[int, ...] | None = None,
        padding: int | tuple[int, ...] = 0,
        dilation: int | tuple[int, ...] = 1,
        ceil_mode: bool = False,
        *,
        return_indices: Literal[True],
    ) -> tuple[Tensor, Tensor]: ...
    def max_pool1d_with_indices(
        input: Tensor,
        kernel_size: int | tuple[int, ...],
        stride: int | tuple[int, ...] | None = None,
        padding: int | tuple[int, ...] = 0,
        dilation: int | tuple[int, ...] = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> tuple[Tensor, Tensor]: ...
    @overload
    def max_pool2d(
        input: Tensor,
        kernel_size: int | tuple[int, ...],
        stride: int | tuple[int, ...] | None = None,
        padding: int | tuple[int, ...] = 0,
        dilation: int | tuple[int, ...] = 1,
        ceil_mode: bool = False,
        return_indices: Literal[False] = False,
    ) -> Tensor: ...
    @overload
    def max_pool2d(
        input: Tensor,
        kernel_size: int | tuple[int, ...],
        stride: int | tuple[int, ...] | None = None,
        padding: int | tuple[int, ...] = 0,
        dilation: int | tuple[int, ...] = 1,
        ceil_mode: bool = False,
        *,
        return_indices: Literal[True],
    ) -> tuple[Tensor, Tensor]: ...
    def max_pool2d_with_indices(
        input: Tensor,
        kernel_size: int | tuple[int, ...],
        stride: int | tuple[int, ...] | None = None,
        padding: int | tuple[int, ...] = 0,
        dilation: int | tuple[int, ...] = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> tuple[Tensor, Tensor]: ...
    @overload
    def max_pool3d(
        input: Tensor,
        kernel_size: int | tuple[int, ...],
        stride: int | tuple[int, ...] | None = None,
        padding: int | tuple[int, ...] = 0,
        dilation: int | tuple[int, ...] = 1,
        ceil_mode: bool = False,
        return_indices: Literal[False] = False,
    ) -> Tensor: ...
    @overload
    def max_pool3d(
        input: Tensor,
        kernel_size: int | tuple[int, ...],
        stride: int | tuple[int, ...] | None = None,
        padding: int | tuple[int, ...] = 0,
        dilation: int | tuple[int, ...] = 1,
        ceil_mode: bool = False,
        *,
        return_indices: Literal[True],
    ) -> tuple[Tensor, Tensor]: ...
    def max_pool3d_with_indices(
        input: Tensor,
        kernel_size: int | tuple[int, ...],
        stride: int | tuple[int, ...] | None = None,
        padding: int | tuple[int, ...] = 0,
        dilation: int | tuple[int, ...] = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> tuple[Tensor, Tensor]: ...
    @overload
    def adaptive_max_pool1d(
        input: Tensor, output_size: int | tuple[int | None, ...], return_indices: Literal[False] = False
    ) -> Tensor: ...
    @overload
    def adaptive_max_pool1d(
        input: Tensor, output_size: int | tuple[int | None, ...], *, return_indices: Literal[True]
    ) -> tuple[Tensor, Tensor]: ...
    def adaptive_max_pool1d_with_indices(
        input: Tensor, output_size: int | tuple[int | None, ...], return_indices: bool = False
    ) -> tuple[Tensor, Tensor]: ...
    @overload
    def adaptive_max_pool2d(
        input: Tensor, output_size: int | tuple[int | None, ...], return_indices: Literal[False] = False
    ) -> Tensor: ...
    @overload
    def adaptive_max_pool2d(
        input: Tensor, output_size: int | tuple[int | None, ...], *, return_indices: Literal[True]
    ) -> tuple[Tensor, Tensor]: ...
    def adaptive_max_pool2d_with_indices(
        input: Tensor, output_size: int | tuple[int | None, ...], return_indices: bool = False
    ) -> tuple[Tensor, Tensor]: ...
    @overload
    def adaptive_max_pool3d(
        input: Tensor, output_size: int | tuple[int | None, ...], return_indices: Literal[False] = False
    ) -> Tensor: ...
    @overload
    def adaptive_max_pool3d(
        input: Tensor, output_size: int | tuple[int | None, ...], *, return_indices: Literal[True]
    ) -> tuple[Tensor, Tensor]: ...
    def adaptive_max_pool3d_with_indices(
        input: Tensor, output_size: int | tuple[int | None, ...], return_indices: bool = False
    ) -> tuple[Tensor, Tensor]: ...
    @overload
    def fractional_max_pool2d(
        input: Tensor,
        kernel_size: int | tuple[int, ...],
        output_size: int | tuple[int, ...] | None = None,
        output_ratio: float | tuple[float, ...] | None = None,
        return_indices: Literal[False] = False,
        _random_samples: Tensor | None = None,
    ) -> Tensor: ...
    @overload
    def fractional_max_pool2d(
        input: Tensor,
        kernel_size: int | tuple[int, ...],
        output_size: int | tuple[int, ...] | None = None,
        output_ratio: float | tuple[float, ...] | None = None,
        *,
        return_indices: Literal[True],
        _random_samples: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]: ...
    def fractional_max_pool2d_with_indices(
        input: Tensor,
        kernel_size: int | tuple[int, ...],
        output_size: int | tuple[int, ...] | None = None,
        output_ratio: float | tuple[float, ...] | None = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]: ...
    @overload
    def fractional_max_pool3d(
        input: Tensor,
        kernel_size: int | tuple[int, ...],
        output_size: int | tuple[int, ...] | None = None,
        output_ratio: float | tuple[float, ...] | None = None,
        return_indices: Literal[False] = False,
        _random_samples: Tensor | None = None,
    ) -> Tensor: ...
    @overload
    def fractional_max_pool3d(
        input: Tensor,
        kernel_size: int | tuple[int, ...],
        output_size: int | tuple[int, ...] | None = None,
        output_ratio: float | tuple[float, ...] | None = None,
        *,
        return_indices: Literal[True],
        _random_samples: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]: ...
    def fractional_max_pool3d_with_indices(
        input: Tensor,
        kernel_size: int | tuple[int, ...],
        output_size: int | tuple[int, ...] | None = None,
        output_ratio: float | tuple[float, ...] | None = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]: ...

class rushlight:
    def detach(input: Tensor) -> Tensor: ...
    def detach_(input: Tensor) -> Tensor: ...
    def get_autocast_cpu_dtype() -> dtype: ...
    def get_autocast_gpu_dtype() -> dtype: ...
    def get_autocast_ipu_dtype() -> dtype: ...
    def get_autocast_xla_dtype() -> dtype: ...
    def get_device(input: Tensor) -> builtins.int: ...
    def is_autocast_cpu_enabled() -> builtins.bool: ...
    def is_autocast_ipu_enabled() -> builtins.bool: ...
    def is_autocast_xla_enabled() -> builtins.bool: ...
    def is_conj(input: Tensor) -> builtins.bool: ...
    def is_distributed(input: Tensor) -> builtins.bool: ...
    def is_inference(input: Tensor) -> builtins.bool: ...
    def is_neg(input: Tensor) -> builtins.bool: ...
    def is_signed(input: Tensor) -> builtins.bool: ...
    def range(
        start: builtins.float = 0,
        end: builtins.float | None = None,
        step: builtins.float = 1,
        *,
        out: Tensor | None = None,
        dtype: _dtype | None = None,
        layout: _layout = ...,
        device: Device = None,
        requires_grad: builtins.bool = False,
    ) -> Tensor: ...
    def resolve_conj(input: Tensor) -> Tensor: ...
    def resolve_neg(input: Tensor) -> Tensor: ...
    def set_autocast_cpu_dtype(dtype: _dtype, /) -> None: ...
    def set_autocast_cpu_enabled(enabled: builtins.bool, /) -> None: ...
    def set_autocast_gpu_dtype(dtype: _dtype, /) -> None: ...
    def set_autocast_ipu_dtype(dtype: _dtype, /) -> None: ...
    def set_autocast_ipu_enabled(enabled: builtins.bool, /) -> None: ...
    def set_autocast_xla_dtype(dtype: _dtype, /) -> None: ...
    def set_autocast_xla_enabled(enabled: builtins.bool, /) -> None: ...
    def zero_(input: Tensor) -> Tensor: ...

class cuda:
    def manual_seed_all(seed: int) -> None: ...
    def max_memory_allocated(device: Device = None) -> int: ...
    def memory_reserved(device: Device = None) -> int: ...

class autograd:
    @overload
    def grad(
        outputs: Any,
        inputs: Tensor | Sequence[Any],
        grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        only_inputs: bool = True,
        allow_unused: bool | None = None,
        is_grads_batched: bool = False,
        materialize_grads: bool = False,
    ) -> tuple[Tensor, ...]: ...
    @overload
    def grad(
        outputs: Any,
        inputs: Mapping[str, Any],
        grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        only_inputs: bool = True,
        allow_unused: bool | None = None,
        is_grads_batched: bool = False,
        materialize_grads: bool = False,
    ) -> dict[str, Tensor]: ...
