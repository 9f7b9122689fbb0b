"""Special functions, as in torch.special."""

from . import _C, _missing
from ._C import _nn

__all__ = [
    "airy_ai",
    "bessel_j0",
    "bessel_j1",
    "bessel_y0",
    "bessel_y1",
    "chebyshev_polynomial_t",
    "chebyshev_polynomial_u",
    "chebyshev_polynomial_v",
    "chebyshev_polynomial_w",
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfcx",
    "erfinv",
    "exp2",
    "expit",
    "expm1",
    "gammainc",
    "gammaincc",
    "gammaln",
    "hermite_polynomial_h",
    "hermite_polynomial_he",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "laguerre_polynomial_l",
    "legendre_polynomial_p",
    "log1p",
    "log_ndtr",
    "log_softmax",
    "logit",
    "logsumexp",
    "modified_bessel_i0",
    "modified_bessel_i1",
    "modified_bessel_k0",
    "modified_bessel_k1",
    "multigammaln",
    "ndtr",
    "ndtri",
    "polygamma",
    "psi",
    "round",
    "scaled_modified_bessel_k0",
    "scaled_modified_bessel_k1",
    "shifted_chebyshev_polynomial_t",
    "shifted_chebyshev_polynomial_u",
    "shifted_chebyshev_polynomial_v",
    "shifted_chebyshev_polynomial_w",
    "sinc",
    "softmax",
    "spherical_bessel_j0",
    "xlog1py",
    "xlogy",
    "zeta",
]
__getattr__ = _missing.module_getattr(__name__)
__dir__ = _missing.module_dir(__name__)

# those that live here
airy_ai = _nn.special_airy_ai
bessel_j0 = _nn.special_bessel_j0
bessel_j1 = _nn.special_bessel_j1
bessel_y0 = _nn.special_bessel_y0
bessel_y1 = _nn.special_bessel_y1
chebyshev_polynomial_t = _nn.special_chebyshev_polynomial_t
chebyshev_polynomial_u = _nn.special_chebyshev_polynomial_u
chebyshev_polynomial_v = _nn.special_chebyshev_polynomial_v
chebyshev_polynomial_w = _nn.special_chebyshev_polynomial_w
entr = _nn.special_entr
erfcx = _nn.special_erfcx
hermite_polynomial_h = _nn.special_hermite_polynomial_h
hermite_polynomial_he = _nn.special_hermite_polynomial_he
i0e = _nn.special_i0e
i1 = _nn.special_i1
i1e = _nn.special_i1e
laguerre_polynomial_l = _nn.special_laguerre_polynomial_l
legendre_polynomial_p = _nn.special_legendre_polynomial_p
log_ndtr = _nn.special_log_ndtr
modified_bessel_i0 = _nn.special_modified_bessel_i0
modified_bessel_i1 = _nn.special_modified_bessel_i1
modified_bessel_k0 = _nn.special_modified_bessel_k0
modified_bessel_k1 = _nn.special_modified_bessel_k1
ndtr = _nn.special_ndtr
ndtri = _nn.special_ndtri
polygamma = _nn.special_polygamma
scaled_modified_bessel_k0 = _nn.special_scaled_modified_bessel_k0
scaled_modified_bessel_k1 = _nn.special_scaled_modified_bessel_k1
shifted_chebyshev_polynomial_t = _nn.special_shifted_chebyshev_polynomial_t
shifted_chebyshev_polynomial_u = _nn.special_shifted_chebyshev_polynomial_u
shifted_chebyshev_polynomial_v = _nn.special_shifted_chebyshev_polynomial_v
shifted_chebyshev_polynomial_w = _nn.special_shifted_chebyshev_polynomial_w
spherical_bessel_j0 = _nn.special_spherical_bessel_j0
xlog1py = _nn.special_xlog1py
zeta = _nn.special_zeta

# those that rushlight has by another name, or by this one
digamma = _C.digamma
erf = _C.erf
erfc = _C.erfc
erfinv = _C.erfinv
exp2 = _C.exp2
expit = _C.sigmoid
expm1 = _C.expm1
gammainc = _C.igamma
gammaincc = _C.igammac
gammaln = _C.lgamma
i0 = _C.i0
log1p = _C.log1p
log_softmax = _C.log_softmax
logit = _C.logit
logsumexp = _C.logsumexp
multigammaln = _C.mvlgamma
psi = _C.digamma
round = _C.round
sinc = _C.sinc
softmax = _C.softmax
xlogy = _C.xlogy
