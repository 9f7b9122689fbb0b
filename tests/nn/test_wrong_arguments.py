"""A wrong type given to a layer's constructor: the error names the argument."""

import math

import pytest

from rushlight import nn

CASES = """
Conv1d(3, '4', 3)                           out_channels int str
Conv1d('3', 4, 3)                           in_channels int str
Conv2d(3, 4, '3')                           kernel_size int str
Conv2d(3, 4, (3, None))                     kernel_size int NoneType
Conv2d(3, 4, 3, groups='1')                 groups int str
Conv2d(3.0, 4, 3)                           in_channels int float
ConvTranspose3d(3, 4.0, 3)                  out_channels int float
Linear('3', 4)                              in_features int str
Linear(3, 4.5)                              out_features int float
Linear(None, 4)                             in_features int NoneType
Bilinear(3, '4', 5)                         in2_features int str
Bilinear(3, 4, '5')                         out_features int str
BatchNorm2d('x')                            num_features int str
InstanceNorm1d(None, affine=True)           num_features int NoneType
GroupNorm('2', 4)                           num_groups int str
GroupNorm(2, 4.0)                           num_channels int float
LayerNorm('x')                              normalized_shape int str
LayerNorm(3.5)                              normalized_shape int float
RMSNorm((2, 'x'))                           normalized_shape int str
Embedding('10', 3)                          num_embeddings int str
Embedding(10, '3')                          embedding_dim int str
Embedding(10, 3, padding_idx='a')           padding_idx int str
EmbeddingBag(10, 3.0)                       embedding_dim int float
Dropout('a')                                p float str
AlphaDropout(None)                          p float NoneType
LSTM(3, '4')                                hidden_size int str
LSTM(3, 4, num_layers='2')                  num_layers int str
LSTM(3, 4, proj_size='a')                   proj_size int str
GRUCell('3', 4)                             input_size int str
LSTMCell(3, 4.0)                            hidden_size int float
MultiheadAttention('8', 2)                  embed_dim int str
MultiheadAttention(8, None)                 num_heads int NoneType
PReLU(3.5)                                  num_parameters int float
"""


@pytest.mark.parametrize("case", CASES.strip().splitlines())
def test_the_error_names_the_argument(case):
    call, name, wanted, given = case.rsplit(None, 3)
    with pytest.raises(TypeError) as caught:
        eval(f"nn.{call}")
    assert str(caught.value) == f"{name} should be of type {wanted}, got: {given}"
    assert caught.value.__cause__ is None and caught.value.__suppress_context__


def test_other_errors_are_left_as_they_are():
    for make in (
        lambda **o: nn.Linear(3, 4, **o),
        lambda **o: nn.Conv2d(3, 4, 3, **o),
        lambda **o: nn.LSTM(3, 4, **o),
    ):
        with pytest.raises(TypeError, match=r"^empty\(\): argument 'dtype' must be torch.dtype, not str"):
            make(dtype="float")
    with pytest.raises(TypeError, match="^bias should be of type bool, got: int$"):
        nn.GRU(3, 4, bias=1)
    assert math.isnan(nn.Dropout(math.nan).p)
