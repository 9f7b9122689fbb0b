"""x-transformers: decoders, encoders, generation."""

import torch
from checks import check
from x_transformers import (
    AutoregressiveWrapper,
    ContinuousTransformerWrapper,
    Decoder,
    Encoder,
    TransformerWrapper,
    ViTransformerWrapper,
)

tokens = torch.arange(24).reshape(2, 12) % 20


def decoder(**options):
    return TransformerWrapper(
        num_tokens=20,
        max_seq_len=16,
        attn_layers=Decoder(dim=16, depth=2, heads=2, attn_dim_head=8, **options),
    )


@check
def plain():
    return decoder()(tokens)


@check
def rotary_glu_rms():
    return decoder(rotary_pos_emb=True, ff_glu=True, use_rmsnorm=True)(tokens)


@check
def alibi_and_gates():
    return decoder(alibi_pos_bias=True, attn_gate_values=True, residual_attn=True)(tokens)


@check
def flash():
    return decoder(attn_flash=True)(tokens)


@check
def loss_and_gradients():
    model = AutoregressiveWrapper(decoder())
    loss = model(tokens)
    loss.backward()
    return [loss, *(p.grad.norm() for p in model.parameters() if p.grad is not None)]


@check
def generate():
    model = AutoregressiveWrapper(decoder())
    return [model.generate(tokens[:, :4], 6, temperature=0.0), model.generate(tokens[:, :4], 6)]


@check
def encoder_of_images():
    model = ViTransformerWrapper(
        image_size=16, patch_size=8, num_classes=5, attn_layers=Encoder(dim=16, depth=1, heads=2)
    )
    return model(torch.rand(1, 3, 16, 16))


@check
def continuous():
    model = ContinuousTransformerWrapper(
        dim_in=3, dim_out=4, max_seq_len=16, attn_layers=Encoder(dim=16, depth=1, heads=2)
    )
    return model(torch.rand(2, 7, 3), mask=torch.ones(2, 7).bool())
