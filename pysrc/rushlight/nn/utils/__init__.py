"""Helpers around parameters."""

from rushlight import _exports

__all__ = [
    "clip_grad_norm",
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "get_total_norm",
    "parameters_to_vector",
    "parametrizations",
    "parametrize",
    "remove_spectral_norm",
    "remove_weight_norm",
    "spectral_norm",
    "stateless",
    "vector_to_parameters",
    "weight_norm",
    *("convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format", "skip_init"),
    *("fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"),
]
# those at once hide the modules that they come from, so they cannot wait until they are asked for
_exports.publish(globals())
