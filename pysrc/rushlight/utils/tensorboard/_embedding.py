"""Files of TensorBoard's projector: vectors and labels as tables, images as one sprite, a configuration."""

import math
import os

import numpy as np
from tensorboard.compat import tf
from tensorboard.plugins.projector.projector_config_pb2 import EmbeddingInfo

from ._convert_np import make_np
from ._utils import make_grid


def _write(folder, name, data):
    with tf.io.gfile.GFile(os.path.join(folder, name), "wb") as file:
        file.write(data)


def make_mat(matlist, save_path):
    """Write vectors as lines of numbers."""
    lines = ("\t".join(str(x.item()) for x in row) + "\n" for row in matlist)
    _write(save_path, "tensors.tsv", "".join(lines).encode())


def make_tsv(metadata, save_path, metadata_header=None):
    """Write a label for each vector, or a row of labels below a header."""
    if metadata_header:
        if len(metadata_header) != len(metadata[0]):
            raise AssertionError("len of header must be equal to the number of columns in metadata")
        lines = ["\t".join(map(str, row)) for row in [metadata_header, *metadata]]
    else:
        lines = [str(label) for label in metadata]
    _write(save_path, "metadata.tsv", ("\n".join(lines) + "\n").encode())


def make_sprite(label_img, save_path):
    """Write images (n, channels, height, width) as one square of images."""
    import io

    from PIL import Image

    grid = make_grid(make_np(label_img), ncols=math.ceil(label_img.shape[0] ** 0.5)).transpose(1, 2, 0)
    square = np.zeros((grid.shape[1], grid.shape[1], 3))
    square[: grid.shape[0]] = grid
    output = io.BytesIO()
    Image.fromarray(np.uint8((square * 255).clip(0, 255))).save(output, format="PNG")
    _write(save_path, "sprite.png", output.getvalue())


def get_embedding_info(metadata, label_img, subdir, global_step, tag):
    """Return what the projector must know of the files in a folder."""
    info = EmbeddingInfo()
    info.tensor_name = f"{tag}:{str(global_step).zfill(5)}"
    info.tensor_path = os.path.join(subdir, "tensors.tsv")
    if metadata is not None:
        info.metadata_path = os.path.join(subdir, "metadata.tsv")
    if label_img is not None:
        info.sprite.image_path = os.path.join(subdir, "sprite.png")
        info.sprite.single_image_dim.extend([label_img.shape[3], label_img.shape[2]])
    return info


def write_pbtxt(save_path, contents):
    """Write the projector's configuration."""
    _write(save_path, "projector_config.pbtxt", contents.encode())
