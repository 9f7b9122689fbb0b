"""Pictures as arrays: figures of matplotlib, grids of images, videos, orders of dims."""

import numpy as np


def figure_to_image(figures, close=True):
    """Return a figure as an array (3, height, width) of bytes, or a list of figures as (n, 3, height, width).

    With close, figures are closed afterwards.
    """
    if isinstance(figures, list):
        return np.stack([figure_to_image(figure, close) for figure in figures])
    from matplotlib import pyplot
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(figures)
    canvas.draw()
    width, height = figures.canvas.get_width_height()
    pixels = np.frombuffer(canvas.buffer_rgba(), dtype=np.uint8).reshape(height, width, 4)
    if close:
        pyplot.close(figures)
    return pixels[..., :3].transpose(2, 0, 1)


def make_grid(images, ncols=8):
    """Lay images (n, 1 or 3, height, width) out in rows, as one image (3, height, width)."""
    if not isinstance(images, np.ndarray):
        raise AssertionError("plugin error, should pass numpy array here")
    if images.shape[1] == 1:
        images = np.concatenate([images] * 3, 1)
    if images.ndim != 4 or images.shape[1] != 3:
        raise AssertionError("Input should be a 4D numpy array with 3 channels")
    n, _, height, width = images.shape
    ncols = min(n, ncols)
    nrows = -(-n // ncols)
    canvas = np.zeros((3, height * nrows, width * ncols), dtype=images.dtype)
    for i, image in enumerate(images):
        row, col = divmod(i, ncols)
        canvas[:, row * height : (row + 1) * height, col * width : (col + 1) * width] = image
    return canvas


def convert_to_HWC(tensor, input_format):
    """Return an image, or images as a grid, as an array (height, width, 3); the format names its dims."""
    if len(set(input_format)) != len(input_format):
        raise AssertionError(
            f"You can not use the same dimension shorthand twice.             input_format: {input_format}"
        )
    if tensor.ndim != len(input_format):
        raise AssertionError(
            "size of input tensor and input format are different.         "
            f"tensor shape: {tensor.shape}, input_format: {input_format}"
        )
    order = {4: "NCHW", 3: "HWC", 2: "HW"}.get(tensor.ndim)
    if order is None:
        return None
    tensor = tensor.transpose([input_format.upper().find(dim) for dim in order])
    if tensor.ndim == 4:
        return make_grid(tensor).transpose(1, 2, 0)
    if tensor.ndim == 2:
        return np.stack([tensor] * 3, 2)
    return np.concatenate([tensor] * 3, 2) if tensor.shape[2] == 1 else tensor


def _prepare_video(video):
    """Lay videos (n, time, channels, height, width) side by side, as (time, height, width, channels)."""
    n, time, channels, height, width = video.shape
    if video.dtype == np.uint8:
        video = np.float32(video) / 255.0
    if n & (n - 1):  # up to a power of two
        more = np.zeros((2 ** n.bit_length() - n, time, channels, height, width))
        video = np.concatenate((video, more), axis=0)
    rows = 2 ** ((n.bit_length() - 1) // 2)
    cols = video.shape[0] // rows
    video = video.reshape(rows, cols, time, channels, height, width).transpose(2, 0, 4, 1, 5, 3)
    return video.reshape(time, rows * height, cols * width, channels)
