"""Which page of PyTorch's documentation tells about an operator. `tests/parity/test_pages.py` compares."""

SITE = "https://docs.pytorch.org/docs/2.13/generated/"
# functions that are those of torch.nn.functional
_FUNCTIONAL = """
    adaptive_avg_pool1d avg_pool1d avg_pool2d avg_pool3d bilinear conv1d conv2d conv3d conv_transpose1d
    conv_transpose2d conv_transpose3d cosine_similarity gelu hardshrink linear one_hot pairwise_distance
    pdist pixel_shuffle pixel_unshuffle prelu scaled_dot_product_attention softplus softshrink
"""
# what functions of torch.nn.functional with other arguments call
_BEHIND = """
    relu silu leaky_relu elu celu selu hardtanh relu6 hardswish hardsigmoid mish rrelu threshold glu
    log_softmax max_pool1d max_pool2d max_pool3d adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d
    max_unpool2d fractional_max_pool2d max_unpool3d fractional_max_pool3d adaptive_avg_pool2d
    adaptive_avg_pool3d batch_norm layer_norm rms_norm group_norm instance_norm mse_loss l1_loss
    smooth_l1_loss huber_loss soft_margin_loss kl_div binary_cross_entropy binary_cross_entropy_with_logits
    multi_margin_loss multilabel_margin_loss poisson_nll_loss hinge_embedding_loss margin_ranking_loss
    cosine_embedding_loss triplet_margin_loss nll_loss ctc_loss pad embedding embedding_bag dropout
    alpha_dropout feature_alpha_dropout
"""
# functions and methods without a page
_NO_FUNCTION = """
    rsub frobenius_norm norm_except_dim clamp_min clamp_max log_sigmoid conv1d_input conv1d_weight
    conv2d_input conv2d_weight conv3d_input conv3d_weight conv_bias conv_tbc convolution
    max_pool1d_with_indices max_pool2d_with_indices max_pool3d_with_indices im2col col2im upsample_nearest1d
    upsample_nearest2d upsample_nearest3d upsample_linear1d upsample_bilinear2d upsample_trilinear3d
    upsample_bicubic2d grid_sampler grid_sampler_2d grid_sampler_2d_input grid_sampler_2d_grid
    grid_sampler_2d_along grid_sampler_2d_input_along grid_sampler_2d_grid_along grid_sampler_3d
    grid_sampler_3d_input grid_sampler_3d_grid grid_sampler_3d_along grid_sampler_3d_input_along
    grid_sampler_3d_grid_along affine_grid_generator native_batch_norm native_layer_norm native_group_norm
    cross_entropy_loss nll_loss_nd nll_loss2d nll_loss_forward nll_loss2d_forward lstm gru rnn_tanh rnn_relu
    lstm_cell gru_cell rnn_tanh_cell rnn_relu_cell slice alias split_with_sizes unsafe_split_with_sizes
    flatten_dense_tensors unflatten_dense_tensors reflection_pad1d reflection_pad2d reflection_pad3d
    replication_pad1d replication_pad2d replication_pad3d constant_pad_nd pad_sequence index index_put
    index_fill masked_fill masked_scatter put embedding_renorm_ fill binomial multinomial_with_replacement
    native_dropout alpha_dropout_ feature_dropout feature_dropout_ feature_alpha_dropout_ channel_shuffle
    native_channel_shuffle
"""
_NO_METHOD = """
    clamp_min clamp_max clamp_min_ clamp_max_ relu relu_ prelu log_softmax split_with_sizes
    unsafe_split_with_sizes index_reduce
"""
FUNCTIONAL, BEHIND = (frozenset(text.split()) for text in (_FUNCTIONAL, _BEHIND))
NO_FUNCTION, NO_METHOD = (frozenset(text.split()) for text in (_NO_FUNCTION, _NO_METHOD))
_IN_PLACE = {"relu_", "elu_", "hardtanh_", "leaky_relu_", "rrelu_", "threshold_"}  # functions that have one
MODULES = {"linalg_": "torch.linalg", "special_": "torch.special"}


def of_function(name):
    """What PyTorch calls it where it is described, or None."""
    if name.startswith("_") or name.endswith(("_backward", "_copy")) or name in NO_FUNCTION:
        return None
    if name.endswith("_"):
        return f"torch.nn.functional.{name}" if name in _IN_PLACE else None
    for prefix, module in MODULES.items():
        if name.startswith(prefix):
            rest = name.removeprefix(prefix)
            return None if rest.startswith("_") else f"{module}.{rest}"
    return f"torch.nn.functional.{name}" if name in FUNCTIONAL | BEHIND else f"torch.{name}"


def of_method(name):
    return None if name.startswith("_") or name in NO_METHOD else f"torch.Tensor.{name}"


def link(name):
    return f"{SITE}{name}.html"
