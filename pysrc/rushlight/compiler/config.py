"""Settings of PyTorch's compiler, which are kept and change nothing: nothing is compiled."""

import sys

from rushlight.utils._config_module import install_config_module

job_id = None
pgo_extra_read_key = None
pgo_extra_write_key = None
cache_key_tag = ""
force_disable_caches = False
dynamic_sources = ""
dynamic_values = ""
unbacked_sources = ""
force_cudagraph_gc = False
_DYNAMO = """
accumulated_recompile_limit allow_unspec_int_on_nn_module assume_static_by_default automatic_dynamic_shapes
capture_dynamic_output_shape_ops capture_scalar_outputs dynamic_shapes enable_cpp_symbolic_shape_guards
fail_on_recompile_limit_hit log_file_name recompile_limit reorderable_logging_functions
skip_tensor_guards_with_matching_dict_tags verbose wrap_top_frame
"""
install_config_module(
    sys.modules[__name__], {name: ("rushlight._dynamo.config", name) for name in _DYNAMO.split()}
)
