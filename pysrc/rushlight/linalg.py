"""Linear algebra, as torch.linalg: its factorisations are operators, the rest is made of them."""

from __future__ import annotations

from rushlight import _homes

from . import _C, _missing
from ._C import _LinAlgError as LinAlgError
from ._C import _nn
from ._linalg_norms import (
    cond,
    matrix_norm,
    norm,
)
from ._linalg_products import (
    diagonal,
    householder_product,
    multi_dot,
    tensorinv,
    tensorsolve,
    vander,
    vecdot,
)
from ._linalg_ranks import lstsq, matrix_rank, pinv

__all__ = [
    "LinAlgError",
    "cholesky",
    "cholesky_ex",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "householder_product",
    "inv",
    "inv_ex",
    "ldl_factor",
    "ldl_factor_ex",
    "ldl_solve",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_factor_ex",
    "lu_solve",
    "matmul",
    "matrix_exp",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "multi_dot",
    "norm",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_ex",
    "solve_triangular",
    "svd",
    "svdvals",
    "tensorinv",
    "tensorsolve",
    "vander",
    "vecdot",
    "vector_norm",
]
__getattr__ = _missing.lacks(__name__)
__dir__ = _missing.shows(__name__)

cholesky = _nn.linalg_cholesky
cholesky_ex = _nn.linalg_cholesky_ex
cross = _nn.linalg_cross
det = _nn.linalg_det
eig = _nn.linalg_eig
eigh = _nn.linalg_eigh
eigvals = _nn.linalg_eigvals
eigvalsh = _nn.linalg_eigvalsh
inv = _nn.linalg_inv
inv_ex = _nn.linalg_inv_ex
ldl_factor = _nn.linalg_ldl_factor
ldl_factor_ex = _nn.linalg_ldl_factor_ex
ldl_solve = _nn.linalg_ldl_solve
lu = _nn.linalg_lu
lu_factor = _nn.linalg_lu_factor
lu_factor_ex = _nn.linalg_lu_factor_ex
lu_solve = _nn.linalg_lu_solve
matmul = _C.matmul
matrix_exp = _nn.linalg_matrix_exp
matrix_power = _nn.linalg_matrix_power
qr = _nn.linalg_qr
slogdet = _nn.linalg_slogdet
solve = _nn.linalg_solve
solve_ex = _nn.linalg_solve_ex
solve_triangular = _nn.linalg_solve_triangular
svd = _nn.linalg_svd
svdvals = _nn.linalg_svdvals
vector_norm = _nn.linalg_vector_norm

_homes.adopt(
    __name__,
    matrix_norm,
    norm,
    cond,
    pinv,
    matrix_rank,
    lstsq,
    diagonal,
    vecdot,
    vander,
    multi_dot,
    householder_product,
    tensorinv,
    tensorsolve,
)
