"""Older names of torch.hub's functions.

See https://docs.pytorch.org/docs/2.13/model_zoo.html
"""

from rushlight import _missing
from rushlight.hub import load_state_dict_from_url as load_url
from rushlight.hub import tqdm

__all__ = ["load_url", "tqdm"]
__getattr__ = _missing.module_getattr(__name__)
__dir__ = _missing.module_dir(__name__)
