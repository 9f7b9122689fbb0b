"""Settings of PyTorch's TorchDynamo, which are kept and change nothing: nothing is compiled.

A name that PyTorch does not have is an error, as there.
"""

import sys

from rushlight.utils._config_module import install_config_module

_ON = """
assume_dunder_attributes_remain_unchanged assume_static_by_default automatic_dynamic_local_pgo
automatic_dynamic_shapes capture_autograd_function capture_func_transforms capture_sparse_compute
dynamic_shapes enable_aot_compile enable_cpp_framelocals_guard_eval enable_cpp_guard_manager
enable_dynamo_decompositions enable_faithful_generator_behavior enable_trace_contextlib
error_on_nested_fx_trace error_on_nested_jit_trace fake_tensor_cache_enabled
fake_tensor_disable_inference_mode force_nn_module_property_static_shapes
force_parameter_static_shapes graph_break_on_nn_param_ctor guard_nn_modules
guard_nn_modules_using_dict_tags inline_inbuilt_nn_modules inline_single_use_invoke_subgraph
inline_torch_dispatch_torch_compile install_free_tensors_for_export issue_3_13_0_warning
log_compilation_metrics optimize_ddp raise_on_ctx_manager_usage record_runtime_overhead
replay_side_effects report_guard_failures rewrite_assert_with_torch_assert run_gc_after_compile
same_two_models_use_fp64 skip_code_recursive_on_recompile_limit_hit skip_fsdp_guards
skip_nnmodule_hook_guards skip_no_tensor_aliasing_guards_on_parameters
skip_tensor_guards_with_matching_dict_tags skip_torchrec trace_numpy
use_lamba_guard_for_object_aliasing use_lazy_graph_module
"""
_OFF = """
allow_empty_graphs allow_ignore_mark_dynamic allow_rnn allow_unspec_int_on_nn_module
automatic_dynamic_exclusion_guard caching_precompile capture_dynamic_output_shape_ops
capture_profiler_record_function capture_scalar_outputs compiled_autograd
constant_fold_autograd_profiler_enabled cprofile cudagraph_backend_keep_input_mutation
cudagraph_backend_support_input_mutation debug_disable_compile_counter
debug_force_graph_break_on_leaf_return debug_force_nested_calls disable do_not_emit_runtime_asserts
dont_skip_tracing dynamo_profiler enable_compiler_collectives enable_cpp_symbolic_shape_guards
enable_invoke_subgraph_regional_compile enable_p2p_compilation enable_trace_load_build_class
enable_trace_unittest error_on_dynamo_callback_in_fullgraph_compiled_code error_on_recompile
fail_on_recompile_limit_hit fake_tensor_cache_crosscheck_enabled force_compile_during_fx_trace
force_unspec_int_unbacked_size_like_on_torchrec_kjt generate_pycode graph_deduplication_lint
inline_invoke_subgraph install_free_tensors leaf_function_check_escaped_gradients
leaf_function_validate_outputs log_graph_in_out_metadata nested_graph_breaks
only_allow_pt2_compliant_ops optimize_ddp_lazy_compile prefer_deferred_runtime_asserts_over_guards
prepare_freezing raise_on_unsafe_aot_autograd record_compile_time_instruction_count
replay_record_enabled repro_forward_only repro_ignore_non_fp
skip_fwd_side_effects_in_bwd_under_checkpoint skip_guards_on_constant_func_defaults specialize_float
specialize_int strict_precompile suppress_errors trace_autograd_ops track_nodes_for_deduplication
use_graph_deduplication use_numpy_random_stream use_recursive_dict_tags_for_guards verbose
verify_correctness wrap_top_frame
"""
_NONE = """
automatic_dynamic_remote_pgo dead_code_elimination invalidate_compile_context_weakrefs log_file_name
pt2_compile_id_prefix repro_after
"""
_OTHERS = {
    "accumulated_recompile_limit": 256,
    "allowed_functions_module_string_ignorelist": set(),
    "automatic_dynamic_shapes_mark_as": "dynamic",
    "debug_backend_override": "",
    "debug_dir_root": "torch_compile_debug",
    "debug_dynamo_config_override": "",
    "debug_inductor_config_override": "",
    "ignore_logging_functions": set(),
    "max_saved_pointers_for_recursive_dict_tags_check": 256,
    "minimum_call_count": 1,
    "nontraceable_tensor_subclasses": set(),
    "numpy_default_complex": "complex128",
    "numpy_default_float": "float64",
    "numpy_default_int": "int64",
    "recompile_limit": 8,
    "reorderable_logging_functions": set(),
    "repro_level": 2,
    "repro_tolerance": 0.001,
    "side_effect_replay_policy": "info",
    "skipfiles_inline_module_allowlist": {},
    "traceable_tensor_subclasses": set(),
}
_HERE = sys.modules[__name__]
_HERE.__dict__.update(_OTHERS)
for _names, _value in ((_ON, True), (_OFF, False), (_NONE, None)):
    _HERE.__dict__.update(dict.fromkeys(_names.split(), _value))
install_config_module(
    _HERE,
    {
        "cache_size_limit": (__name__, "recompile_limit"),
        "accumulated_cache_size_limit": (__name__, "accumulated_recompile_limit"),
        "skip_code_recursive_on_cache_limit_hit": (__name__, "skip_code_recursive_on_recompile_limit_hit"),
        "fail_on_cache_limit_hit": (__name__, "fail_on_recompile_limit_hit"),
    },
)
