"""Files that TensorBoard shows: ``torch.utils.tensorboard``.

It writes by the ``tensorboard`` package, which must be installed; images need Pillow besides, figures
matplotlib, and videos moviepy. See https://docs.pytorch.org/docs/2.13/tensorboard.html
"""

import tensorboard

from rushlight import _missing

if tuple(map(int, tensorboard.__version__.split(".")[:2])) < (1, 15):
    raise ImportError("TensorBoard logging requires TensorBoard version 1.15 or above")
del tensorboard

from tensorboard.summary.writer.record_writer import RecordWriter  # noqa: E402

from .writer import FileWriter, SummaryWriter  # noqa: E402

__all__ = ["FileWriter", "RecordWriter", "SummaryWriter"]
__getattr__ = _missing.module_getattr(__name__)
__dir__ = _missing.module_dir(__name__)
