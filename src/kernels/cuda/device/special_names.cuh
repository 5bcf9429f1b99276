// Computed in double for every floating-point dtype, as on the CPU.
#define SPECIAL1(name, call) \
  template <class T>         \
  inline T f_##name(T x) {   \
    return (T)(call);        \
  }
#define SPECIAL2(name, call)    \
  template <class T>            \
  inline T f_##name(T x, T y) { \
    return (T)(call);           \
  }
SPECIAL1(lgamma, sp_gamma::lgamma(x))
SPECIAL1(digamma, sp_gamma::digamma(x))
SPECIAL2(zeta, sp_gamma::zeta(x, y))
SPECIAL2(polygamma, sp_gamma::polygamma(x, y))
SPECIAL2(igamma, sp_gamma::igamma(x, y))
SPECIAL2(igammac, sp_gamma::igammac(x, y))
SPECIAL2(igammagrada, sp_gamma::igamma_grad_a(x, y))
template <class T>
inline T f_betainc(T x, T y, T z) {
  return (T)sp_gamma::betainc(x, y, z);
}
SPECIAL1(erfinv, sp_bessel::erfinv(x))
SPECIAL1(ndtri, sp_bessel::ndtri(x))
SPECIAL1(besseli0e, sp_bessel::bessel_i0e(x))
SPECIAL1(besseli1e, sp_bessel::bessel_i1e(x))
SPECIAL1(besseli0, sp_bessel::bessel_i0e(x) * exp(fabs((double)x)))
SPECIAL1(besseli1, sp_bessel::bessel_i1e(x) * exp(fabs((double)x)))
SPECIAL1(besselk0e, sp_bessel::bessel_k0e(x))
SPECIAL1(besselk1e, sp_bessel::bessel_k1e(x))
SPECIAL1(besselk0, sp_bessel::bessel_k0e(x) * exp(-(double)x))
SPECIAL1(besselk1, sp_bessel::bessel_k1e(x) * exp(-(double)x))
SPECIAL1(besselj0, j0((double)x))
SPECIAL1(besselj1, j1((double)x))
SPECIAL1(bessely0, x < 0 ? -kInfinity : sp_bessel::bessel_y0_near_zeros(x, y0((double)x)))
SPECIAL1(bessely1, x < 0 ? -kInfinity : y1((double)x))
SPECIAL1(dawsn, sp_bessel::dawsn(x))
SPECIAL1(expint, sp_bessel::expint(x))
SPECIAL1(spence, sp_bessel::spence(x))
#undef SPECIAL1
#undef SPECIAL2
