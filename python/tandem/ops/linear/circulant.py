"""Circulant operators in one to three dimensions: products by Fourier transforms."""

from tandem._core import as_dtype, convert_to_tensor, execute
from tandem.framework.dtypes import complex64
from tandem.ops.linear import parts
from tandem.ops.linear.base import LinearOperator, shape_with


class _Circulant(LinearOperator):
    """A matrix by its spectrum, whose last axes are those of the blocks."""

    _fields = ("spectrum",)
    _depth, _forward, _backward = 1, "FFT", "IFFT"

    def _start(self, spectrum, input_output_dtype, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name):
        given = {k: v for k, v in locals().items() if k not in ("self", "__class__")}
        self._spectrum = parts.tensor_of(spectrum)
        if (self._spectrum.shape.rank or self._depth) < self._depth:
            raise ValueError(f"Argument `spectrum` must have at least {self._depth} dimensions. Found: {self._spectrum}")
        if is_square is False:
            raise ValueError("A Circulant operator is always square.")
        if not self._spectrum.dtype.is_complex:
            if is_self_adjoint is False:
                raise ValueError("A real spectrum always corresponds to a self-adjoint operator.")
            is_self_adjoint = True
        super().__init__(input_output_dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, True, name, given)

    spectrum = property(lambda self: self._spectrum)
    block_depth = property(lambda self: self._depth)
    block_shape = property(lambda self: self._spectrum.shape[-self._depth :])

    def block_shape_tensor(self):
        return execute("Shape", convert_to_tensor(self._spectrum))[-self._depth :]

    def _shape(self):
        shape = self._spectrum.shape
        size = shape[-self._depth :].num_elements()
        return shape_with(shape[: -self._depth], size, size)

    def _shape_tensor(self):
        sizes = execute("Shape", convert_to_tensor(self._spectrum))
        size = execute("Prod", sizes[-self._depth :], axis=[0], keepdims=True)
        return execute("ConcatV2", [sizes[: -self._depth], size, size], axis=0)

    @property
    def _kind(self):
        wide = self.dtype.name in ("float64", "complex128") or self._spectrum.dtype.name in ("float64", "complex128")
        return as_dtype("complex128" if wide else "complex64")

    def _complex(self):
        return execute("Cast", convert_to_tensor(self._spectrum), dtype=self._kind)

    def _real_or_not(self, x, dtype=None):
        dtype = dtype or self.dtype
        x = x if dtype.is_complex or not x.dtype.is_complex else execute("Real", x)
        return execute("Cast", x, dtype=dtype)

    def convolution_kernel(self, name="convolution_kernel"):
        """What an argument is convolved with."""
        return self._real_or_not(execute(self._backward, self._complex()))

    def _applied(self, x, spectrum):
        x = execute("Cast", x, dtype=self._kind)
        order = [*range(x.shape.rank - 2), x.shape.rank - 1, x.shape.rank - 2]
        x = execute("Transpose", x, perm=order)
        sizes = execute("Shape", x)
        blocks = execute("Reshape", x, execute("ConcatV2", [sizes[:-1], self.block_shape_tensor()], axis=0))
        wide = execute("ExpandDims", spectrum, axis=-self._depth - 1)
        found = execute(self._backward, execute(self._forward, blocks) * wide)
        flat = execute("ConcatV2", [execute("Shape", found)[: -self._depth], sizes[-1:]], axis=0)
        found = execute("Reshape", found, flat)
        order = [*range(found.shape.rank - 2), found.shape.rank - 1, found.shape.rank - 2]
        return self._real_or_not(execute("Transpose", found, perm=order))

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        spectrum = self._complex()
        return self._applied(parts.adjoint(x) if adjoint_arg else x, parts.conj(spectrum) if adjoint else spectrum)

    def _solve(self, rhs, adjoint=False):
        spectrum = self._complex()
        return self._applied(rhs, execute("Reciprocal", parts.conj(spectrum) if adjoint else spectrum))

    def _flat(self):
        spectrum = convert_to_tensor(self._spectrum)
        sizes = execute("Shape", spectrum)
        size = execute("Prod", sizes[-self._depth :], axis=[0], keepdims=True)
        return execute("Reshape", spectrum, execute("ConcatV2", [sizes[: -self._depth], size], axis=0))

    def _determinant(self):
        return self._real_or_not(execute("Prod", self._flat(), axis=[-1]))

    def _log_abs_determinant(self):
        return self._real_or_not(execute("Sum", parts.log_abs(self._flat()), axis=[-1]))

    def _trace(self):
        return self._real_or_not(execute("Sum", self._flat(), axis=[-1]))

    def _diag_part(self):
        flat = self._flat()
        mean = self._real_or_not(execute("Mean", flat, axis=[-1], keepdims=True))
        return execute("BroadcastTo", mean, execute("Shape", flat))

    def _eigvals(self):
        return convert_to_tensor(self._spectrum)

    def cond(self, name="cond"):
        size = execute("Exp", parts.log_abs(self._flat()))
        return self._real_or_not(execute("Max", size, axis=[-1]) / execute("Min", size, axis=[-1]))

    def _with(self, spectrum):
        return type(self)(spectrum, self.dtype, self.is_non_singular, self.is_self_adjoint, self.is_positive_definite, True)

    def _adjoint(self):
        return self._with(parts.conj(self._spectrum))

    def _inverse(self):
        return self._with(execute("Reciprocal", self._spectrum))

    def assert_hermitian_spectrum(self, name="assert_hermitian_spectrum"):
        """Raises where the operator would make complex numbers of real ones."""
        from tandem.ops import check

        kernel = execute(self._backward, self._complex())
        limit = 5 * convert_to_tensor(1.2e-7 if self._kind.name == "complex64" else 2.3e-16, kernel.dtype.real_dtype)
        most = execute("Max", execute("Abs", execute("Real", kernel))) + 1
        check.assert_less_equal(execute("Max", execute("Abs", execute("Imag", kernel))), limit * most * 100, message="Spectrum was not Hermitian")


class LinearOperatorCirculant(_Circulant):
    """Every row is the one before, moved on by one."""

    def __init__(self, spectrum, input_output_dtype=complex64, is_non_singular=None, is_self_adjoint=None,
                 is_positive_definite=None, is_square=True, name="LinearOperatorCirculant"):  # fmt: skip
        self._start(spectrum, input_output_dtype, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name)



class LinearOperatorCirculant2D(_Circulant):
    """A circulant matrix of circulant blocks."""

    _depth, _forward, _backward = 2, "FFT2D", "IFFT2D"

    def __init__(self, spectrum, input_output_dtype=complex64, is_non_singular=None, is_self_adjoint=None,
                 is_positive_definite=None, is_square=True, name="LinearOperatorCirculant2D"):  # fmt: skip
        self._start(spectrum, input_output_dtype, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name)



class LinearOperatorCirculant3D(_Circulant):
    """A circulant matrix of circulant blocks of circulant blocks."""

    _depth, _forward, _backward = 3, "FFT3D", "IFFT3D"

    def __init__(self, spectrum, input_output_dtype=complex64, is_non_singular=None, is_self_adjoint=None,
                 is_positive_definite=None, is_square=True, name="LinearOperatorCirculant3D"):  # fmt: skip
        self._start(spectrum, input_output_dtype, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name)

