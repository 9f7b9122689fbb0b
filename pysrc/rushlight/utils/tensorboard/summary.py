"""What a SummaryWriter writes: a function for each kind of summary, which returns its protobuf."""

from __future__ import annotations

import io
import json
import struct

import numpy as np
from google.protobuf import struct_pb2
from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.plugins.custom_scalar import layout_pb2
from tensorboard.plugins.pr_curve.plugin_data_pb2 import PrCurvePluginData
from tensorboard.plugins.text.plugin_data_pb2 import TextPluginData

import rushlight
from rushlight import _C, _missing

from ._convert_np import make_np
from ._utils import _prepare_video, convert_to_HWC

__all__ = [
    "half_to_int",
    "int_to_half",
    "hparams",
    "scalar",
    "histogram_raw",
    "histogram",
    "make_histogram",
    "image",
    "image_boxes",
    "draw_boxes",
    "make_image",
    "video",
    "make_video",
    "audio",
    "custom_scalars",
    "text",
    "tensor_proto",
    "pr_curve_raw",
    "pr_curve",
    "compute_curve",
    "mesh",
]
__getattr__ = _missing.module_getattr(__name__)
__dir__ = _missing.module_dir(__name__)

_MOST_THRESHOLDS = 127  # more break TensorBoard's protobuf


# ---- parts of protobufs ----
def _shape(*dims):
    return TensorShapeProto(dim=[TensorShapeProto.Dim(size=n) for n in dims])


def _metadata(plugin, content=b""):
    return SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name=plugin, content=content))


def _one(tag, **value):
    return Summary(value=[Summary.Value(tag=tag, **value)])


def _floats(data):
    return TensorProto(
        dtype="DT_FLOAT", float_val=data.reshape(-1).tolist(), tensor_shape=_shape(*data.shape)
    )


# ---- numbers ----
def scalar(name, tensor, collections=None, new_style=False, double_precision=False):
    """A number; with new_style in the field for tensors, which TensorBoard loads faster."""
    array = make_np(tensor).squeeze()
    if array.ndim != 0:
        raise AssertionError(
            "Tensor should contain one element (0 dimensions).             "
            f"Was given size: {array.size} and {array.ndim} dimensions."
        )
    number = float(array)
    if not new_style:
        return _one(name, simple_value=number)
    if double_precision:
        proto = TensorProto(double_val=[number], dtype="DT_DOUBLE")
    else:
        proto = TensorProto(float_val=[number], dtype="DT_FLOAT")
    return _one(name, tensor=proto, metadata=_metadata("scalars"))


def half_to_int(f: float) -> int:
    """Return the bits of a number as float32, which stand for it where halves are written."""
    return struct.unpack("i", struct.pack("f", f))[0]


def int_to_half(i: int) -> float:
    """Return the number that half_to_int() was given."""
    return struct.unpack("f", struct.pack("i", i))[0]


def _halves(values):
    return [half_to_int(each) for each in values]


def _pairs(values):
    return [part for each in values for part in (each.real, each.imag)]


# dtype: (type of the protobuf, its field, what that field takes of a list)
_FIELDS = {
    _C.float16: ("DT_HALF", "half_val", _halves),
    _C.bfloat16: ("DT_BFLOAT16", "half_val", _halves),
    _C.float32: ("DT_FLOAT", "float_val", list),
    _C.float64: ("DT_DOUBLE", "double_val", list),
    _C.int8: ("DT_INT8", "int_val", list),
    _C.uint8: ("DT_UINT8", "uint32_val", list),
    _C.int16: ("DT_INT16", "int_val", list),
    _C.int32: ("DT_INT32", "int_val", list),
    _C.int64: ("DT_INT64", "int64_val", list),
    _C.complex32: ("DT_COMPLEX32", "scomplex_val", _pairs),
    _C.complex64: ("DT_COMPLEX64", "scomplex_val", _pairs),
    _C.complex128: ("DT_COMPLEX128", "dcomplex_val", _pairs),
    _C.bool: ("DT_BOOL", "bool_val", list),
}


def tensor_proto(tag, tensor):
    """A whole tensor. Raises ValueError for one of 2 GiB or more, or of a dtype that cannot be written."""
    if tensor.numel() * tensor.itemsize >= 1 << 31:
        raise ValueError("tensor is bigger than protocol buffer's hard limit of 2GB in size")
    if tensor.dtype not in _FIELDS:
        raise ValueError(f"{tag} has unsupported tensor dtype {tensor.dtype}")
    kind, field, convert = _FIELDS[tensor.dtype]
    values = convert(tensor.flatten().tolist())
    proto = TensorProto(dtype=kind, tensor_shape=_shape(*tensor.shape), **{field: values})
    return _one(tag, metadata=_metadata("tensor"), tensor=proto)


# ---- hyperparameters ----
def _as_hparam(value):
    """(type of the protobuf, field of google.protobuf.Value, value) of a hyperparameter."""
    if isinstance(value, _C.Tensor):
        return "DATA_TYPE_FLOAT64", "number_value", make_np(value)[0]
    if isinstance(value, str):
        return "DATA_TYPE_STRING", "string_value", value
    if isinstance(value, (int, float)):  # bools too, as in PyTorch
        return "DATA_TYPE_FLOAT64", "number_value", value
    raise ValueError("value should be one of int, float, str, bool, or torch.Tensor")


def hparams(hparam_dict=None, metric_dict=None, hparam_domain_discrete=None):
    """Three summaries of a run: the experiment, its hyperparameters, and that it ended well."""
    from tensorboard.plugins.hparams import api_pb2, metadata
    from tensorboard.plugins.hparams.plugin_data_pb2 import (
        HParamsPluginData,
        SessionEndInfo,
        SessionStartInfo,
    )

    domains = hparam_domain_discrete or {}
    given = {"hparam_dict": hparam_dict, "metric_dict": metric_dict, "hparam_domain_discrete": domains}
    for name, value in given.items():
        if not isinstance(value, dict):
            raise TypeError(f"parameter: {name} should be a dictionary, nothing logged.")
    for name, values in domains.items():
        kind = type(hparam_dict.get(name))
        if (
            name not in hparam_dict
            or not isinstance(values, list)
            or not all(isinstance(v, kind) for v in values)
        ):
            raise TypeError(
                f"parameter: hparam_domain_discrete[{name}] should be a list of same type as "
                f"hparam_dict[{name}]."
            )
    start, infos = SessionStartInfo(), []
    for name, value in hparam_dict.items():
        if value is None:
            continue
        kind, field, plain = _as_hparam(value)
        setattr(start.hparams[name], field, plain)
        info = api_pb2.HParamInfo(name=name, type=api_pb2.DataType.Value(kind))
        if name in domains:
            values = [struct_pb2.Value(**{field: each}) for each in domains[name]]
            info.domain_discrete.CopyFrom(struct_pb2.ListValue(values=values))
        infos.append(info)

    def summary(tag, **content):
        data = HParamsPluginData(version=metadata.PLUGIN_DATA_VERSION, **content)
        return _one(tag, metadata=_metadata(metadata.PLUGIN_NAME, data.SerializeToString()))

    metrics = [api_pb2.MetricInfo(name=api_pb2.MetricName(tag=name)) for name in metric_dict]
    experiment = api_pb2.Experiment(hparam_infos=infos, metric_infos=metrics)
    end = SessionEndInfo(status=api_pb2.Status.Value("STATUS_SUCCESS"))
    return (
        summary(metadata.EXPERIMENT_TAG, experiment=experiment),
        summary(metadata.SESSION_START_INFO_TAG, session_start_info=start),
        summary(metadata.SESSION_END_INFO_TAG, session_end_info=end),
    )


# ---- histograms and curves ----
def histogram_raw(name, min, max, num, sum, sum_squares, bucket_limits, bucket_counts):
    """A histogram that was counted elsewhere; limits are those on the right."""
    histo = HistogramProto(
        min=min,
        max=max,
        num=num,
        sum=sum,
        sum_squares=sum_squares,
        bucket_limit=bucket_limits,
        bucket=bucket_counts,
    )
    return _one(name, histo=histo)


def histogram(name, values, bins, max_bins=None):
    """A histogram of numbers; bins as for numpy.histogram()."""
    return _one(name, histo=make_histogram(make_np(values).astype(float), bins, max_bins))


def _merge_bins(counts, limits, most):
    """Join neighbours so that about `most` bins are left."""
    step = len(counts) // most
    if rest := len(counts) % step:
        counts = np.pad(counts, (0, step - rest))
    return counts.reshape(-1, step).sum(axis=-1), np.append(limits[:-1:step], limits[-1])


def make_histogram(values, bins, max_bins=None):
    """Count an array's elements, without the empty bins at both ends."""
    if values.size == 0:
        raise ValueError("The input has no element.")
    values = values.reshape(-1)
    counts, limits = np.histogram(values, bins=bins)
    if max_bins is not None and len(counts) > max_bins:
        counts, limits = _merge_bins(counts, limits, max_bins)
    filled = np.flatnonzero(counts)
    if not filled.size:
        raise ValueError("The histogram is empty, please file a bug report.")
    first, end = int(filled[0]), int(filled[-1]) + 1
    # limits are those on the right: an empty bin in front has the first one on the left
    before = counts[first - 1 : first] if first else [0]
    return HistogramProto(
        min=values.min(),
        max=values.max(),
        num=len(values),
        sum=values.sum(),
        sum_squares=values.dot(values),
        bucket_limit=limits[first : end + 1].tolist(),
        bucket=[*np.asarray(before).tolist(), *counts[first:end].tolist()],
    )


def compute_curve(labels, predictions, num_thresholds=None, weights=None):
    """Return rows of true and false positives, true and false negatives, precision and recall."""
    weights = 1.0 if weights is None else weights
    places = np.int32(np.floor(predictions * (num_thresholds - 1)))
    labels = labels.astype(np.float64)

    def at_least(weights):
        """How much lies at each threshold or above."""
        span = (0, num_thresholds - 1)
        counts, _ = np.histogram(places, bins=num_thresholds, range=span, weights=weights)
        return np.cumsum(counts[::-1])[::-1]

    tp, fp = at_least(labels * weights), at_least((1.0 - labels) * weights)
    tn, fn = fp[0] - fp, tp[0] - tp
    return np.stack((tp, fp, tn, fn, tp / np.maximum(1e-7, tp + fp), tp / np.maximum(1e-7, tp + fn)))


def _curve(tag, data, num_thresholds):
    content = PrCurvePluginData(version=0, num_thresholds=num_thresholds).SerializeToString()
    return _one(tag, metadata=_metadata("pr_curves", content), tensor=_floats(data))


def pr_curve_raw(tag, tp, fp, tn, fn, precision, recall, num_thresholds=127, weights=None):
    """A curve of precision and recall that was computed elsewhere."""
    data = np.stack((tp, fp, tn, fn, precision, recall))
    return _curve(tag, data, min(num_thresholds, _MOST_THRESHOLDS))


def pr_curve(tag, labels, predictions, num_thresholds=127, weights=None):
    """The precision and recall of predictions in [0, 1] at evenly spaced thresholds."""
    n = min(num_thresholds, _MOST_THRESHOLDS)
    return _curve(tag, compute_curve(labels, predictions, n, weights), n)


# ---- pictures and sound ----
def _calc_scale_factor(tensor):
    """Bytes are colours as they are, other numbers lie between 0 and 1."""
    return 1 if make_np(tensor).dtype == np.uint8 else 255


def _to_bytes(array):
    return (array.astype(np.float32) * _calc_scale_factor(array)).clip(0, 255).astype(np.uint8)


def image(tag, tensor, rescale=1, dataformats="NCHW"):
    """An image, or several as a grid."""
    array = convert_to_HWC(make_np(tensor), dataformats)
    return _one(tag, image=make_image(_to_bytes(array), rescale=rescale))


def image_boxes(tag, tensor_image, tensor_boxes, rescale=1, dataformats="CHW", labels=None):
    """An image with boxes (n, 4): left, top, right and bottom."""
    array = convert_to_HWC(make_np(tensor_image), dataformats)
    boxes = make_np(tensor_boxes)
    return _one(tag, image=make_image(_to_bytes(array), rescale=rescale, rois=boxes, labels=labels))


def _draw_single_box(
    image, xmin, ymin, xmax, ymax, display_str, color="black", color_text="black", thickness=2
):
    from PIL import ImageDraw, ImageFont

    draw = ImageDraw.Draw(image)
    corners = [(xmin, ymin), (xmin, ymax), (xmax, ymax), (xmax, ymin), (xmin, ymin)]
    draw.line(corners, width=thickness, fill=color)
    if display_str:
        font = ImageFont.load_default()
        left, top, right, bottom = font.getbbox(display_str)
        width, height = right - left, bottom - top
        margin = np.ceil(0.05 * height)
        draw.rectangle([(xmin, ymax - height - 2 * margin), (xmin + width, ymax)], fill=color)
        draw.text((xmin + margin, ymax - height - margin), display_str, fill=color_text, font=font)
    return image


def draw_boxes(disp_image, boxes, labels=None):
    """Draw boxes (n, 4) with their labels on an image of Pillow."""
    for i, box in enumerate(boxes):
        label = None if labels is None else labels[i]
        disp_image = _draw_single_box(disp_image, *box[:4], display_str=label, color="Red")
    return disp_image


def make_image(tensor, rescale=1, rois=None, labels=None):
    """Encode an array (height, width, channels) of bytes as PNG."""
    from PIL import Image

    height, width, channels = tensor.shape
    picture = Image.fromarray(tensor)
    if rois is not None:
        picture = draw_boxes(picture, rois, labels=labels)
    picture = picture.resize((int(width * rescale), int(height * rescale)), Image.Resampling.LANCZOS)
    output = io.BytesIO()
    picture.save(output, format="PNG")
    return Summary.Image(
        height=height, width=width, colorspace=channels, encoded_image_string=output.getvalue()
    )


def video(tag, tensor, fps=4):
    """Videos (n, time, channels, height, width), side by side."""
    frames = _to_bytes(_prepare_video(make_np(tensor)))
    return _one(tag, image=make_video(frames, fps))


def make_video(tensor, fps):
    """Encode frames (time, height, width, channels) of bytes as GIF, by moviepy; without it return None."""
    import tempfile

    try:
        import moviepy
    except ImportError:
        print("add_video needs package moviepy")
        return None
    if not hasattr(moviepy, "ImageSequenceClip"):  # before 2.0
        from moviepy import editor as moviepy
    clip = moviepy.ImageSequenceClip(list(tensor), fps=fps)
    with tempfile.NamedTemporaryFile(suffix=".gif") as file:
        clip.write_gif(file.name, logger=None)
        data = file.read()
    _, height, width, channels = tensor.shape
    return Summary.Image(height=height, width=width, colorspace=channels, encoded_image_string=data)


def audio(tag, tensor, sample_rate=44100):
    """Sound of one channel, between -1 and 1."""
    import wave

    array = make_np(tensor).squeeze()
    if abs(array).max() > 1:
        print("warning: audio amplitude out of range, auto clipped.")
        array = array.clip(-1, 1)
    if array.ndim != 1:
        raise AssertionError("input tensor should be 1 dimensional.")
    array = (array * np.iinfo(np.int16).max).astype("<i2")
    output = io.BytesIO()
    with wave.open(output, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(sample_rate)
        file.writeframes(array.tobytes())
    sound = Summary.Audio(
        sample_rate=sample_rate,
        num_channels=1,
        length_frames=len(array),
        encoded_audio_string=output.getvalue(),
        content_type="audio/wav",
    )
    return _one(tag, audio=sound)


# ---- text, charts, meshes ----
def text(tag, text):
    """A text in Markdown."""
    content = TextPluginData(version=0).SerializeToString()
    proto = TensorProto(dtype="DT_STRING", string_val=[text.encode()], tensor_shape=_shape(1))
    return _one(f"{tag}/text_summary", metadata=_metadata("text", content), tensor=proto)


def _chart(title, kind, tags):
    if kind != "Margin":
        return layout_pb2.Chart(title=title, multiline=layout_pb2.MultilineChartContent(tag=tags))
    if len(tags) != 3:
        raise AssertionError("len(tags) != 3")
    series = layout_pb2.MarginChartContent.Series(value=tags[0], lower=tags[1], upper=tags[2])
    return layout_pb2.Chart(title=title, margin=layout_pb2.MarginChartContent(series=[series]))


def custom_scalars(layout):
    """Charts of several numbers: {category: {chart: ["Multiline" or "Margin", tags]}}."""
    categories = [
        layout_pb2.Category(title=title, chart=[_chart(name, *chart[:2]) for name, chart in charts.items()])
        for title, charts in layout.items()
    ]
    data = layout_pb2.Layout(category=categories).SerializeToString()
    proto = TensorProto(dtype="DT_STRING", string_val=[data], tensor_shape=TensorShapeProto())
    return _one("custom_scalars__config__", tensor=proto, metadata=_metadata("custom_scalars"))


def mesh(tag, vertices, colors, faces, config_dict, display_name=None, description=None):
    """Points, and the triangles between them: tensors (batch, n, 3)."""
    from tensorboard.plugins.mesh import metadata
    from tensorboard.plugins.mesh.plugin_data_pb2 import MeshPluginData

    config = "{}" if config_dict is None else json.dumps(config_dict, sort_keys=True)
    kinds = (
        (vertices, MeshPluginData.VERTEX),
        (faces, MeshPluginData.FACE),
        (colors, MeshPluginData.COLOR),
    )
    given = [(rushlight.as_tensor(data), kind) for data, kind in kinds if data is not None]
    components = metadata.get_components_bitmask([kind for _, kind in given])
    values = []
    for data, kind in given:
        about = metadata.create_summary_metadata(
            tag, display_name, kind, components, data.shape, description, json_config=config
        )
        name = metadata.get_instance_name(tag, kind)
        values.append(Summary.Value(tag=name, tensor=_floats(data), metadata=about))
    return Summary(value=values)
