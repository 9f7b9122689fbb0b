"""SummaryWriter: what happens in training, as files that TensorBoard shows."""

from __future__ import annotations

import os
import time

from tensorboard.compat import tf
from tensorboard.compat.proto import event_pb2
from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.plugins.projector.projector_config_pb2 import ProjectorConfig
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from rushlight import _missing

from . import summary
from ._convert_np import make_np
from ._embedding import get_embedding_info, make_mat, make_sprite, make_tsv, write_pbtxt
from ._graph import graph
from ._utils import figure_to_image

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Self

__all__ = ["FileWriter", "SummaryWriter"]
__getattr__ = _missing.module_getattr(__name__)
__dir__ = _missing.module_dir(__name__)


class FileWriter:
    """Write events to a file of a folder, in the background.

    Parameters
    ----------
    log_dir : str
        The folder.
    max_queue : int, default 10
        Events that may wait before adding another one does.
    flush_secs : float, default 120
        Seconds after which what waits is written.
    filename_suffix : str, default ''
        End of the file's name.
    """

    def __init__(
        self, log_dir: Any, max_queue: int = 10, flush_secs: float = 120, filename_suffix: str = ""
    ) -> None:
        self._options = str(log_dir), max_queue, flush_secs, filename_suffix
        self.event_writer = EventFileWriter(*self._options)

    def get_logdir(self) -> str:
        """Return the folder."""
        return self.event_writer.get_logdir()

    def add_event(self, event: Any, step: Any = None, walltime: float | None = None) -> None:
        """Add an event, of now if no time is given."""
        event.wall_time = time.time() if walltime is None else walltime
        if step is not None:
            event.step = int(step)
        self.event_writer.add_event(event)

    def add_summary(self, summary: Any, global_step: Any = None, walltime: float | None = None) -> None:
        """Add a summary, as an event."""
        self.add_event(Event(summary=summary), global_step, walltime)

    def add_graph(self, graph_profile: Any, walltime: float | None = None) -> None:
        """Add (GraphDef, RunMetadata)."""
        definition, stats = graph_profile
        self.add_event(Event(graph_def=definition.SerializeToString()), None, walltime)
        run = event_pb2.TaggedRunMetadata(tag="step1", run_metadata=stats.SerializeToString())
        self.add_event(Event(tagged_run_metadata=run), None, walltime)

    def add_onnx_graph(self, graph: Any, walltime: float | None = None) -> None:
        """Add a GraphDef."""
        self.add_event(Event(graph_def=graph.SerializeToString()), None, walltime)

    def flush(self) -> None:
        """Write what waits."""
        self.event_writer.flush()

    def close(self) -> None:
        """Write what waits and close the file."""
        self.event_writer.close()

    def reopen(self) -> None:
        """Close the file and begin another one."""
        self.event_writer.close()
        self.event_writer = EventFileWriter(*self._options)


def _default_bins():
    """Limits that grow by a tenth, on both sides of zero: TensorFlow's."""
    limits, limit = [], 1e-12
    while limit < 1e20:
        limits.append(limit)
        limit *= 1.1
    return [*(-each for each in reversed(limits)), 0, *limits]


class SummaryWriter:
    """Write numbers, histograms, images and more to a folder that TensorBoard shows.

    Methods add them in the order of training, with `global_step` and a name, whose part before a slash groups
    it. They return at once; flush() and close() write what waits.

    Parameters
    ----------
    log_dir : str, optional
        The folder; by default ``runs/`` and the date, the host's name and `comment`.
    comment : str, default ''
        End of the default folder's name.
    purge_step : int, optional
        TensorBoard hides events of this step and later ones that were written before.
    max_queue : int, default 10
        Events that may wait before adding another one does.
    flush_secs : float, default 120
        Seconds after which what waits is written.
    filename_suffix : str, default ''
        End of the files' names.

    Notes
    -----
    Same as torch.utils.tensorboard.writer.SummaryWriter: https://docs.pytorch.org/docs/2.13/tensorboard.html
    """

    def __init__(
        self,
        log_dir: Any = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        filename_suffix: str = "",
    ) -> None:
        if not log_dir:
            import socket

            now = time.strftime("%b%d_%H-%M-%S")
            log_dir = os.path.join("runs", f"{now}_{socket.gethostname()}{comment}")
        self.log_dir = log_dir
        self.purge_step = purge_step
        self.max_queue = max_queue
        self.flush_secs = flush_secs
        self.filename_suffix = filename_suffix
        self.file_writer: FileWriter | None = None
        self.all_writers: dict[str, FileWriter] | None = None
        self._get_file_writer()
        self.default_bins = _default_bins()

    def _new_file_writer(self, folder):
        return FileWriter(folder, self.max_queue, self.flush_secs, self.filename_suffix)

    def _get_file_writer(self):
        """The writer of the folder, which is opened again after close()."""
        if self.file_writer is None:
            writer = self.file_writer = self._new_file_writer(self.log_dir)
            self.all_writers = {writer.get_logdir(): writer}
            if self.purge_step is not None:
                step, self.purge_step = self.purge_step, None
                writer.add_event(Event(step=step, file_version="brain.Event:2"))
                writer.add_event(Event(step=step, session_log=SessionLog(status=SessionLog.START)))
        return self.file_writer

    def _add(self, made, global_step=None, walltime=None):
        self._get_file_writer().add_summary(made, global_step, walltime)

    def get_logdir(self) -> Any:
        """Return the folder."""
        return self.log_dir

    # ---- numbers ----
    def add_scalar(
        self,
        tag: str,
        scalar_value: Any,
        global_step: Any = None,
        walltime: float | None = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """Add a number: a tensor, an array or a number of Python of one element."""
        made = summary.scalar(tag, scalar_value, new_style=new_style, double_precision=double_precision)
        self._add(made, global_step, walltime)

    def add_scalars(
        self,
        main_tag: str,
        tag_scalar_dict: dict[str, Any],
        global_step: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Add several numbers to one chart: ``{name: number}``, each in a folder of its own."""
        walltime = time.time() if walltime is None else walltime
        folder = self._get_file_writer().get_logdir()
        for tag, value in tag_scalar_dict.items():
            own = f"{folder}/{main_tag.replace('/', '_')}_{tag}"
            if own not in self.all_writers:
                self.all_writers[own] = self._new_file_writer(own)
            self.all_writers[own].add_summary(summary.scalar(main_tag, value), global_step, walltime)

    def add_tensor(
        self, tag: str, tensor: Any, global_step: Any = None, walltime: float | None = None
    ) -> None:
        """Add a whole tensor."""
        self._add(summary.tensor_proto(tag, tensor), global_step, walltime)

    def add_hparams(
        self,
        hparam_dict: dict[str, Any],
        metric_dict: dict[str, Any],
        hparam_domain_discrete: dict[str, list[Any]] | None = None,
        run_name: str | None = None,
        global_step: Any = None,
    ) -> None:
        """Add hyperparameters and what came out, for comparison between runs.

        Parameters
        ----------
        hparam_dict : dict
            Names and values: numbers, texts, bools or tensors.
        metric_dict : dict
            Names and numbers of results; the names are those of add_scalar().
        hparam_domain_discrete : dict, optional
            Names and lists of all values that a hyperparameter may have.
        run_name : str, optional
            Name of the folder for this run; by default the time.
        global_step : int, optional
            Step of the results.
        """
        if type(hparam_dict) is not dict or type(metric_dict) is not dict:
            raise TypeError("hparam_dict and metric_dict should be dictionary.")
        made = summary.hparams(hparam_dict, metric_dict, hparam_domain_discrete)
        folder = os.path.join(self._get_file_writer().get_logdir(), run_name or str(time.time()))
        with SummaryWriter(log_dir=folder) as writer:
            for each in made:
                writer._add(each, global_step)
            for name, value in metric_dict.items():
                writer.add_scalar(name, value, global_step)

    # ---- histograms and curves ----
    def add_histogram(
        self,
        tag: str,
        values: Any,
        global_step: Any = None,
        bins: Any = "tensorflow",
        walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:
        """Add a histogram of numbers; `bins` as for numpy.histogram(), or 'tensorflow'."""
        bins = self.default_bins if isinstance(bins, str) and bins == "tensorflow" else bins
        self._add(summary.histogram(tag, values, bins, max_bins=max_bins), global_step, walltime)

    def add_histogram_raw(
        self,
        tag: str,
        min: float,
        max: float,
        num: int,
        sum: float,
        sum_squares: float,
        bucket_limits: Any,
        bucket_counts: Any,
        global_step: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Add a histogram that was counted elsewhere; limits are those on the right of each bin."""
        if len(bucket_limits) != len(bucket_counts):
            raise ValueError("len(bucket_limits) != len(bucket_counts), see the document.")
        made = summary.histogram_raw(tag, min, max, num, sum, sum_squares, bucket_limits, bucket_counts)
        self._add(made, global_step, walltime)

    def add_pr_curve(
        self,
        tag: str,
        labels: Any,
        predictions: Any,
        global_step: Any = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Add the curve of precision and recall of predictions in [0, 1]; labels are 0 or 1."""
        labels, predictions = make_np(labels), make_np(predictions)
        made = summary.pr_curve(tag, labels, predictions, num_thresholds, weights)
        self._add(made, global_step, walltime)

    def add_pr_curve_raw(
        self,
        tag: str,
        true_positive_counts: Any,
        false_positive_counts: Any,
        true_negative_counts: Any,
        false_negative_counts: Any,
        precision: Any,
        recall: Any,
        global_step: Any = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Add a curve of precision and recall that was computed elsewhere."""
        made = summary.pr_curve_raw(
            tag,
            true_positive_counts,
            false_positive_counts,
            true_negative_counts,
            false_negative_counts,
            precision,
            recall,
            num_thresholds,
            weights,
        )
        self._add(made, global_step, walltime)

    # ---- pictures and sound ----
    def add_image(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:
        """Add an image: bytes, or numbers between 0 and 1; `dataformats` names its dims."""
        self._add(summary.image(tag, img_tensor, dataformats=dataformats), global_step, walltime)

    def add_images(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:
        """Add images as a grid."""
        self._add(summary.image(tag, img_tensor, dataformats=dataformats), global_step, walltime)

    def add_image_with_boxes(
        self,
        tag: str,
        img_tensor: Any,
        box_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        rescale: float = 1,
        dataformats: str = "CHW",
        labels: Any = None,
    ) -> None:
        """Add an image with boxes (n, 4): left, top, right and bottom; labels are texts."""
        labels = [labels] if isinstance(labels, str) else labels
        if labels is not None and len(labels) != box_tensor.shape[0]:
            labels = None
        made = summary.image_boxes(
            tag, img_tensor, box_tensor, rescale=rescale, dataformats=dataformats, labels=labels
        )
        self._add(made, global_step, walltime)

    def add_figure(
        self,
        tag: str,
        figure: Any,
        global_step: Any = None,
        close: bool = True,
        walltime: float | None = None,
    ) -> None:
        """Add a figure of matplotlib, or a list of them; they are closed unless `close` is False."""
        dims = "NCHW" if isinstance(figure, list) else "CHW"
        self.add_image(tag, figure_to_image(figure, close), global_step, walltime, dataformats=dims)

    def add_video(
        self,
        tag: str,
        vid_tensor: Any,
        global_step: Any = None,
        fps: float = 4,
        walltime: float | None = None,
    ) -> None:
        """Add videos (n, time, channels, height, width), by moviepy."""
        self._add(summary.video(tag, vid_tensor, fps), global_step, walltime)

    def add_audio(
        self,
        tag: str,
        snd_tensor: Any,
        global_step: Any = None,
        sample_rate: int = 44100,
        walltime: float | None = None,
    ) -> None:
        """Add sound of one channel, numbers between -1 and 1."""
        self._add(summary.audio(tag, snd_tensor, sample_rate=sample_rate), global_step, walltime)

    # ---- text, graphs, embeddings ----
    def add_text(
        self, tag: str, text_string: str, global_step: Any = None, walltime: float | None = None
    ) -> None:
        """Add a text in Markdown."""
        self._add(summary.text(tag, text_string), global_step, walltime)

    def add_onnx_graph(self, prototxt: Any) -> None:
        """Raise NotImplementedError: graphs of ONNX files are not read."""
        raise _missing.refuse("SummaryWriter.add_onnx_graph")

    def add_graph(
        self,
        model: Any,
        input_to_model: Any = None,
        verbose: bool = False,
        use_strict_trace: bool = True,
    ) -> None:
        """Add the graph of a module: what its forward calls for an input, or a tuple of inputs."""
        self._get_file_writer().add_graph(graph(model, input_to_model, verbose, use_strict_trace))

    @staticmethod
    def _encode(rawstr):
        """A name without slashes."""
        return rawstr.replace("%", "%25").replace("/", "%2f").replace("\\", "%5c")

    def add_embedding(
        self,
        mat: Any,
        metadata: Any = None,
        label_img: Any = None,
        global_step: Any = None,
        tag: str = "default",
        metadata_header: Any = None,
    ) -> None:
        """Add vectors for the projector.

        Parameters
        ----------
        mat : Tensor or array (n, dims)
            Vectors.
        metadata : list, optional
            A label for each, or a list of labels if there is a header.
        label_img : Tensor (n, channels, height, width), optional
            An image for each.
        global_step : int, optional
            Step of training; by default 0.
        tag : str, default 'default'
            Name of the embedding.
        metadata_header : list of str, optional
            What the labels of a list are.
        """
        mat = make_np(mat)
        global_step = 0 if global_step is None else global_step
        subdir = f"{str(global_step).zfill(5)}/{self._encode(tag)}"
        folder = os.path.join(self._get_file_writer().get_logdir(), subdir)
        files = tf.io.gfile
        if files.exists(folder) and not files.isdir(folder):
            raise NotADirectoryError(f"Path: `{folder}` exists, but is a file. Cannot proceed.")
        if mat.ndim != 2:
            raise AssertionError("mat should be 2D, where mat.size(0) is the number of data points")
        if metadata is not None and len(metadata) != mat.shape[0]:
            raise AssertionError("#labels should equal with #data points")
        if label_img is not None and label_img.shape[0] != mat.shape[0]:
            raise AssertionError("#images should equal with #data points")
        if files.exists(folder):
            print("warning: Embedding dir exists, did you set global_step for add_embedding()?")
        else:
            files.makedirs(folder)
        if metadata is not None:
            make_tsv(metadata, folder, metadata_header=metadata_header)
        if label_img is not None:
            make_sprite(label_img, folder)
        make_mat(mat, folder)
        self._tell_projector(get_embedding_info(metadata, label_img, subdir, global_step, tag))

    def _tell_projector(self, info):
        """Write the configuration anew, with one embedding more."""
        from google.protobuf import text_format

        if not hasattr(self, "_projector_config"):
            self._projector_config = ProjectorConfig()
        self._projector_config.embeddings.extend([info])
        write_pbtxt(self._get_file_writer().get_logdir(), text_format.MessageToString(self._projector_config))

    # ---- charts and meshes ----
    def add_custom_scalars_multilinechart(
        self, tags: list[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """Add a chart of several numbers."""
        self.add_custom_scalars({category: {title: ["Multiline", tags]}})

    def add_custom_scalars_marginchart(
        self, tags: list[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """Add a chart of a number between two others: tags of the value, the lower and the upper."""
        if len(tags) != 3:
            raise AssertionError(f"Expected 3 tags, got {len(tags)}.")
        self.add_custom_scalars({category: {title: ["Margin", tags]}})

    def add_custom_scalars(self, layout: dict[str, dict[str, list[Any]]]) -> None:
        """Add charts: ``{category: {title: ["Multiline" or "Margin", tags]}}``."""
        self._add(summary.custom_scalars(layout))

    def add_mesh(
        self,
        tag: str,
        vertices: Any,
        colors: Any = None,
        faces: Any = None,
        config_dict: dict[str, Any] | None = None,
        global_step: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Add points (batch, n, 3), with colours and the triangles between them."""
        made = summary.mesh(tag, vertices, colors, faces, config_dict)
        self._add(made, global_step, walltime)

    # ---- files ----
    def flush(self) -> None:
        """Write what waits."""
        for writer in (self.all_writers or {}).values():
            writer.flush()

    def close(self) -> None:
        """Write what waits and close the files; adding more opens others."""
        for writer in (self.all_writers or {}).values():
            writer.flush()
            writer.close()
        self.file_writer = self.all_writers = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, exc_type: object, exc_val: object, exc_tb: object) -> None:
        self.close()
