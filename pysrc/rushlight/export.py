"""Names of PyTorch's export that packages import; to export raises.

See https://docs.pytorch.org/docs/2.13/export.html
"""

from rushlight import _exports, _missing

__all__ = ["Dim", "ExportedProgram", "export", "load", "register_dataclass", "save"]

Dim = _missing.absent_class(__name__, "Dim")
ExportedProgram = _missing.absent_class(__name__, "ExportedProgram")
export = _missing.absent_function(__name__, "export")
load = _missing.absent_function(__name__, "load")
register_dataclass = _missing.absent_function(__name__, "register_dataclass")
save = _missing.absent_function(__name__, "save")
_exports.publish(globals())
