"""Raw ops on numbers: arithmetic, matrices, transforms, random numbers."""

import secrets

from tandem._core import as_dtype, convert_to_tensor, execute
from tandem.framework.variable import variable_of
from tandem.ops import random_generator
from tandem.ops.raw.arrays import text_of, values

TABLE = """
AccumulateNV2: AddN(inputs)
Angle: Angle(input)
Conj: Conj(input)
Imag: Imag(input)
Real: Real(input)
ComplexAbs: ComplexAbs(x)
Complex: Complex(real, imag)
ApproximateEqual: Less(tf.abs(Sub(x, y)), tolerance)
ApproxTopK: approx_top_k(input, k, reduction_dimension, is_max_k)
Div: truncated_div(x, y)
Mod: TruncateMod(x, y)
Inv: Reciprocal(x)
InvGrad: ReciprocalGrad(y, dy)
BandedTriangularSolve: tf.linalg.banded_triangular_solve(matrix, rhs, lower=lower, adjoint=adjoint)
BatchCholesky: Cholesky(input)
BatchCholeskyGrad: CholeskyGrad(l, grad)
BatchFFT: FFT(input)
BatchFFT2D: FFT2D(input)
BatchFFT3D: FFT3D(input)
BatchIFFT: IFFT(input)
BatchIFFT2D: IFFT2D(input)
BatchIFFT3D: IFFT3D(input)
FFTND: tf.signal.fftnd(input, fft_length, axes)
IFFTND: tf.signal.ifftnd(input, fft_length, axes)
RFFTND: tf.signal.rfftnd(input, fft_length, axes)
IRFFTND: tf.signal.irfftnd(input, fft_length, axes)
BatchMatMul, BatchMatMulV2: tf.matmul(x, y, adjoint_a=adj_x, adjoint_b=adj_y)
BatchMatMulV3: tf.matmul(tf.cast(x, Tout), tf.cast(y, Tout), adjoint_a=adj_x, adjoint_b=adj_y)
BatchMatrixDeterminant: MatrixDeterminant(input)
BatchMatrixInverse: MatrixInverse(input, adjoint=adjoint)
BatchMatrixSolve: MatrixSolve(matrix, rhs, adjoint=adjoint)
BatchMatrixSolveLs, MatrixSolveLs: tf.linalg.lstsq(matrix, rhs, l2_regularizer=values(l2_regularizer), fast=fast)
BatchMatrixTriangularSolve: MatrixTriangularSolve(matrix, rhs, lower=lower, adjoint=adjoint)
BatchSelfAdjointEig, SelfAdjointEig: joined_eigen(SelfAdjointEigV2(input))
BatchSelfAdjointEigV2, SelfAdjointEigV2: with_empty(SelfAdjointEigV2(input, compute_v=compute_v), compute_v)
BatchSvd, Svd: with_empty(Svd(input, compute_uv=compute_uv, full_matrices=full_matrices), compute_uv)
Eig: with_empty(Eig(input, compute_v=compute_v), compute_v)
Einsum: tf.einsum(text_of(equation), *inputs)
Bincount: bincount(arr, size, weights)
DenseCountSparseOutput: parts(tf.sparse.bincount(values, counted(weights), None, *limits(minlength, maxlength), binary_output=binary_output))
RaggedBincount: ragged_bincount(splits, values, size, weights, binary_output)
SparseBincount: sparse_bincount(indices, values, dense_shape, size, weights, binary_output)
RaggedCountSparseOutput: parts(tf.sparse.bincount(ragged(values, splits), counted(weights, splits), None, *limits(minlength, maxlength), binary_output=binary_output))
SparseCountSparseOutput: parts(tf.sparse.bincount(tf.SparseTensor(indices, values, dense_shape), counted_at(weights, indices, dense_shape), None, *limits(minlength, maxlength), binary_output=binary_output))
EuclideanNorm: EuclideanNorm(input, axis=axis, keepdims=keep_dims)
FresnelCos: tf.math.special.fresnel_cos(x)
FresnelSin: tf.math.special.fresnel_sin(x)
IsotonicRegression: isotonic(input, output_dtype)
MatrixExponential: tf.linalg.expm(input)
MatrixLogarithm: tf.linalg.logm(input)
MatrixSquareRoot: tf.linalg.sqrtm(input)
MatMul: MatMul(a, b, transpose_a=transpose_a, transpose_b=transpose_b)
TridiagonalMatMul: tf.linalg.tridiagonal_matmul(tf.concat([superdiag, maindiag, subdiag], -2), rhs, 'compact')
TridiagonalSolve: tf.linalg.tridiagonal_solve(diagonals, rhs, diagonals_format='compact', partial_pivoting=partial_pivoting, perturb_singular=perturb_singular)
SegmentSumV2: UnsortedSegmentSum(data, segment_ids, num_segments)
SegmentProdV2: UnsortedSegmentProd(data, segment_ids, num_segments)
SegmentMinV2: UnsortedSegmentMin(data, segment_ids, num_segments)
SegmentMaxV2: UnsortedSegmentMax(data, segment_ids, num_segments)
ToBool: to_bool(input)
InTopK: InTopKV2(predictions, targets, k)
NearestNeighbors: nearest(points, centers, k)
Timestamp: tf.timestamp()
FakeQuantWithMinMaxArgs: tf.quantization.fake_quant_with_min_max_args(inputs, min, max, num_bits, narrow_range)
FakeQuantWithMinMaxArgsGradient: tf.quantization.fake_quant_with_min_max_args_gradient(gradients, inputs, min, max, num_bits, narrow_range)
FakeQuantWithMinMaxVars: tf.quantization.fake_quant_with_min_max_vars(inputs, min, max, num_bits, narrow_range)
FakeQuantWithMinMaxVarsGradient: tf.quantization.fake_quant_with_min_max_vars_gradient(gradients, inputs, min, max, num_bits, narrow_range)
FakeQuantWithMinMaxVarsPerChannel: tf.quantization.fake_quant_with_min_max_vars_per_channel(inputs, min, max, num_bits, narrow_range)
FakeQuantWithMinMaxVarsPerChannelGradient: tf.quantization.fake_quant_with_min_max_vars_per_channel_gradient(gradients, inputs, min, max, num_bits, narrow_range)
QuantizeAndDequantize: tf.quantization.quantize_and_dequantize_v2(input, input_min, input_max, signed_input, num_bits, range_given, 'HALF_AWAY_FROM_ZERO')
QuantizeAndDequantizeV2, QuantizeAndDequantizeV4: tf.quantization.quantize_and_dequantize_v2(input, input_min, input_max, signed_input, num_bits, range_given, round_mode, None, narrow_range, None if axis == -1 else axis)
QuantizeAndDequantizeV3: tf.quantization.quantize_and_dequantize_v2(input, input_min, input_max, signed_input, values(num_bits), range_given, 'HALF_TO_EVEN', None, narrow_range, None if axis == -1 else axis)
StatelessRandomGammaV2: tf.random.stateless_gamma(shape, seed, convert(alpha), dtype=convert(alpha).dtype)
StatelessRandomGammaV3: StatelessRandomGammaV3(shape, key, counter, alpha)
StatelessRandomNormal: tf.random.stateless_normal(shape, seed, dtype=dtype)
StatelessTruncatedNormal: tf.random.stateless_truncated_normal(shape, seed, dtype=dtype)
StatelessRandomUniform: tf.random.stateless_uniform(shape, seed, dtype=dtype)
StatelessRandomUniformFullInt: tf.random.stateless_uniform(shape, seed, None, None, dtype)
StatelessRandomUniformInt: tf.random.stateless_uniform(shape, seed, minval, maxval, convert(maxval).dtype)
StatelessRandomPoisson: tf.random.stateless_poisson(shape, seed, lam, dtype)
StatelessRandomBinomial: tf.random.stateless_binomial(shape, seed, counts, probs, dtype)
StatelessParameterizedTruncatedNormal: tf.random.stateless_parameterized_truncated_normal(shape, seed, means, stddevs, minvals, maxvals)
StatelessMultinomial: tf.random.stateless_categorical(logits, values(num_samples), seed, output_dtype)
StatelessShuffle: StatelessShuffleV2(value, key, counter)
StatelessRandomGetAlg: tf.constant(1)
StatelessRandomGetKeyCounterAlg: (*StatelessRandomGetKeyCounter(seed), tf.constant(1))
RandomStandardNormal: drawn('StatelessRandomNormalV2', shape, seed, seed2, dtype)
TruncatedNormal: drawn('StatelessTruncatedNormalV2', shape, seed, seed2, dtype)
RandomUniform: drawn('StatelessRandomUniformV2', shape, seed, seed2, dtype)
RandomUniformInt: drawn_between(shape, minval, maxval, seed, seed2)
RandomGamma: tf.random.gamma(shape, alpha, dtype=convert(alpha).dtype, seed=one_seed(seed, seed2))
RandomPoisson: tf.random.poisson(shape, rate, convert(rate).dtype, seed=one_seed(seed, seed2))
RandomPoissonV2: tf.random.poisson(shape, rate, dtype, seed=one_seed(seed, seed2))
RandomShuffle: tf.random.shuffle(value, one_seed(seed, seed2))
Multinomial: tf.cast(tf.random.categorical(logits, values(num_samples), seed=one_seed(seed, seed2)), output_dtype)
ParameterizedTruncatedNormal: tf.random.stateless_parameterized_truncated_normal(shape, pair(seed, seed2), means, stdevs, minvals, maxvals)
NonDeterministicInts: tf.random.Generator.from_non_deterministic_state().uniform_full_int(shape, dtype)
RngSkip: of_state(resource).skip(delta) and None
RngReadAndSkip: of_state(resource).skip(tf.cast(delta, 'int64'))
StatefulStandardNormal, StatefulStandardNormalV2: of_state(resource).normal(shape, dtype=dtype)
StatefulTruncatedNormal: of_state(resource).truncated_normal(shape, dtype=dtype)
StatefulUniform: of_state(resource).uniform(shape, dtype=dtype)
StatefulUniformFullInt: of_state(resource).uniform_full_int(shape, dtype=dtype)
StatefulUniformInt: of_state(resource).uniform(shape, minval, maxval, convert(maxval).dtype)
StatefulRandomBinomial: of_state(resource).binomial(shape, counts, probs, dtype)
"""

convert = convert_to_tensor


def pair(seed, seed2):
    """Two seeds; those of nobody where both are zero."""
    return [seed, seed2] if seed or seed2 else [secrets.randbits(31), secrets.randbits(31)]


def one_seed(seed, seed2):
    return (seed * 1000003 + seed2) % (2**31 - 1) if seed or seed2 else None


_drawn = {}  # {(op, dtype, seeds): how many numbers were drawn}


def _state(op, shape, seed, seed2, dtype):
    """The key and the counter of TensorFlow's generator of an op with these seeds, which goes on from call to call."""
    if not seed and not seed2:
        seed, seed2 = pair(0, 0)
        place = 0
    else:
        place = _drawn.get((op, dtype, seed, seed2), 0)
        sizes = values(shape)
        count = 1
        for size in sizes:
            count *= size
        _drawn[op, dtype, seed, seed2] = place + count * 64
    return convert_to_tensor([seed % 2**64], "uint64"), convert_to_tensor([place, seed2 % 2**64], "uint64")


def drawn(op, shape, seed, seed2, dtype):
    return execute(op, shape, *_state(op, shape, seed, seed2, as_dtype(dtype)), dtype=dtype)


def drawn_between(shape, low, high, seed, seed2):
    high = convert_to_tensor(high)
    state = _state("RandomUniformInt", shape, seed, seed2, high.dtype)
    return execute("StatelessRandomUniformIntV2", shape, *state, convert_to_tensor(low, high.dtype), high)


def of_state(handle):
    """A generator whose state is the variable itself."""
    made = random_generator.Generator.__new__(random_generator.Generator)
    made._alg, made._state = random_generator.Algorithm.PHILOX, variable_of(handle)
    return made


def truncated_div(x, y):
    x = convert_to_tensor(x)
    return execute("RealDiv" if x.dtype.is_floating or x.dtype.is_complex else "TruncateDiv", x, y)


def approx_top_k(input, k, axis, largest):
    from tandem.ops import math_more

    return (math_more.approx_max_k if largest else math_more.approx_min_k)(input, k, axis)


def joined_eigen(parts):
    """Eigenvalues as a row above the eigenvectors."""
    return execute("ConcatV2", [parts[0][..., None, :], parts[1]], axis=-2)


def with_empty(results, vectors):
    """Vectors that nobody asked for are empty."""
    first, *rest = results
    return (first, *(rest if vectors else [execute("Reshape", first, [-1])[:0]] * len(rest)))


def bincount(arr, size, weights):
    weights = convert_to_tensor(weights)
    arr = execute("Reshape", arr, [-1])
    weights = execute("Reshape", weights, [-1])
    return execute("DenseBincount", arr, execute("Cast", convert_to_tensor(size), dtype=arr.dtype), weights)


def ragged(values, splits):
    from tandem.framework.ragged import RaggedTensor

    return RaggedTensor.from_row_splits(values, splits)


def ragged_bincount(splits, values, size, weights, binary_output):
    """A row of counts for each ragged row."""
    rows = ragged(values, splits)
    count = convert_to_tensor(size)
    return _rows(rows.value_rowids(), rows.nrows(), rows.values, count, weights, binary_output)


def sparse_bincount(indices, values, dense_shape, size, weights, binary_output):
    indices, dense_shape = convert_to_tensor(indices), convert_to_tensor(dense_shape)
    if indices.shape[1] == 1:
        weights = convert_to_tensor(weights)
        return execute("DenseBincount", values, convert_to_tensor(size), weights, binary_output=binary_output)
    return _rows(indices[:, 0], dense_shape[0], values, convert_to_tensor(size), weights, binary_output)


def _rows(rows, count, numbers, size, weights, binary_output):
    numbers, weights = convert_to_tensor(numbers), convert_to_tensor(weights)
    size64 = execute("Cast", size, dtype="int64")
    places = execute("Cast", rows, dtype="int64") * size64 + execute("Cast", numbers, dtype="int64")
    inside = execute("Where", execute("Less", execute("Cast", numbers, dtype="int64"), size64))[:, 0]
    places = execute("GatherV2", places, inside, axis=0)
    if weights.shape[0] != 0:
        weights = execute("GatherV2", execute("Reshape", weights, [-1]), inside, axis=0)
    total = execute("Cast", count, dtype="int64") * size64
    flat = execute("DenseBincount", places, total, weights, binary_output=binary_output)
    return execute("Reshape", flat, execute("Pack", [execute("Cast", count, dtype="int64"), size64], axis=0))


def parts(sparse):
    return sparse.indices, sparse.values, sparse.dense_shape


def counted(weights, splits=None):
    """The weights, or None where there are none."""
    weights = convert_to_tensor(weights)
    if weights.shape.num_elements() == 0:
        return None
    return weights if splits is None else ragged(weights, splits)


def counted_at(weights, indices, dense_shape):
    from tandem.framework.sparse import SparseTensor

    weights = counted(weights)
    return None if weights is None else SparseTensor(indices, weights, dense_shape)


def limits(low, high):
    return [None if low < 0 else low, None if high < 0 else high]


def isotonic(input, dtype):
    output, segments = execute("IsotonicRegression", input)
    return execute("Cast", output, dtype=dtype), segments


def to_bool(input):
    """Whether a number is not zero, a text not empty, and a tensor without elements."""
    input = convert_to_tensor(input)
    if input.shape.rank != 0:
        return execute("Greater", execute("Size", input), 0)
    if input.dtype.name == "string":
        return execute("NotEqual", input, "")
    return execute("Cast", input, dtype="bool")


def nearest(points, centers, k):
    """The nearest centres of each point and their squared distances."""
    points, centers = convert_to_tensor(points), convert_to_tensor(centers)
    squares = execute("Sum", execute("Square", points), axis=[1], keepdims=True)
    other = execute("Sum", execute("Square", centers), axis=[1])
    distances = squares - 2.0 * execute("MatMul", points, centers, transpose_b=True) + other
    k = min(int(values(k)), centers.shape[0])
    found, places = execute("TopKV2", execute("Neg", distances), k)
    return execute("Cast", places, dtype="int64"), execute("Maximum", execute("Neg", found), 0.0)


