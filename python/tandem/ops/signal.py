"""tf.signal: Fourier transforms, frames of signals, windows and mel scales."""

import functools
import math

import numpy as np

from tandem._core import as_dtype, convert_sizes, convert_to_tensor, execute
from tandem.framework.dtypes import float32, int32
from tandem.ops.check import as_rows, axis_of, is_tensor, outer_sizes, require, size_of, with_rank, with_sizes
from tandem.ops.math import matmul
from tandem.ops.ranks import by_rank, least_rank
from tandem.ops.sizes import as_int32, made_on_host, of_pieces, places_of, whole, whole_or_later


def _lengths(x, fft_length, dims):
    if fft_length is None:
        return execute("Shape", x)[-dims:]
    return as_int32(fft_length, "fft_length")


def _real(op, dims):
    def rfft(input_tensor, fft_length=None, name=None):
        x = convert_to_tensor(input_tensor, None, float32)
        return execute(op, x, _lengths(x, fft_length, dims))

    rfft.__doc__ = "Fourier transform of real numbers: the half that says all."
    rfft.__name__ = op.lower()
    return rfft


def _back(op, dims):
    def irfft(input_tensor, fft_length=None, name=None):
        x = convert_to_tensor(input_tensor, None, as_dtype("complex64"))
        if fft_length is None:
            sizes = execute("Shape", x)[-dims:]
            last = execute("Maximum", (sizes[-1:] - 1) * 2, 0)
            fft_length = last if dims == 1 else execute("ConcatV2", [sizes[:-1], last], axis=0)
        return execute(op, x, as_int32(fft_length, "fft_length"))

    irfft.__doc__ = "Real numbers from half of their Fourier transform."
    irfft.__name__ = op.lower()
    return irfft


rfft, rfft2d, rfft3d = _real("RFFT", 1), _real("RFFT2D", 2), _real("RFFT3D", 3)
irfft, irfft2d, irfft3d = _back("IRFFT", 1), _back("IRFFT2D", 2), _back("IRFFT3D", 3)


def _scale_of(norm, count, inverse):
    """What a transform is multiplied with; its inverse divides by the number of elements by itself."""
    if norm in (None, "backward"):
        return None
    if norm == "ortho":
        return count**0.5 if inverse else count**-0.5
    if norm == "forward":
        return count if inverse else 1 / count
    raise ValueError(f"norm must be None, 'backward', 'ortho' or 'forward', not {norm!r}.")


def _resized(x, axis, length):
    """Cut or filled with zeros to a length."""
    size = size_of(x, axis)
    later = is_tensor(size) or is_tensor(length)
    if later or length < size:
        x = x[tuple(slice(None) for _ in range(axis)) + (slice(0, length),)]
    if not later and length <= size:
        return x
    paddings = [[0, length - size_of(x, axis) if a == axis else 0] for a in range(x.shape.rank)]
    return execute("Pad", x, convert_sizes(paddings))


def _along(op, x, axis, *length):
    """A transform of the last axis, along another one."""
    rank = x.shape.rank
    if axis == rank - 1:
        return execute(op, x, *length)
    order = [a for a in range(rank) if a != axis] + [axis]
    back = [order.index(a) for a in range(rank)]
    return execute("Transpose", execute(op, execute("Transpose", x, perm=order), *length), perm=back)


def _many(name, op, real, inverse):
    def transform(input_tensor, fft_length=None, axes=None, norm=None, name=None):
        hint = float32 if real and not inverse else as_dtype("complex64")
        x = convert_to_tensor(input_tensor, None, hint)
        rank = x.shape.rank
        if rank is None:
            least = max(least_rank(axes), 1 if fft_length is None else len(np.asarray(fft_length)))
            return by_rank(lambda known: transform(known, fft_length, axes, norm), x, least)
        if fft_length is not None and len(np.asarray(fft_length)) > rank:
            raise ValueError(f"fft_length {fft_length} names more axes than the {rank} of the input.")
        if axes is None:
            axes = range(rank) if fft_length is None else range(rank - len(fft_length), rank)
        axes = [axis_of(a, x) for a in axes]
        if not axes:
            raise ValueError("fft_length or axes must name at least one axis.")
        halves = real and inverse
        if fft_length is None:
            lengths = [size_of(x, a) for a in axes]
            if halves:
                last = 2 * (lengths[-1] - 1)
                lengths[-1] = execute("Maximum", last, 0) if is_tensor(last) else max(last, 0)
        else:
            lengths = [whole(n, "fft_length") for n in np.asarray(fft_length)]
            as_int32(lengths, "fft_length")  # whether they fit
            require(min(lengths, default=0) >= 0, f"Sizes in fft_length must be >= 0, got {lengths}.")
        if len(axes) != len(lengths):
            raise ValueError(f"fft_length has {len(lengths)} elements for {len(axes)} axes.")
        for axis, length in list(zip(axes, lengths))[: -1 if halves else None]:
            x = _resized(x, axis, length)
        plain = "IFFT" if inverse else "FFT"
        if real and not inverse:  # real numbers first: their half is of the last axis
            x = _along("RFFT", x, axes[-1], as_int32([lengths[-1]], "fft_length"))
        for axis in axes if not real else axes[:-1]:
            x = _along(plain, x, axis)
        if halves:
            x = _along("IRFFT", x, axes[-1], as_int32([lengths[-1]], "fft_length"))
        count = 1.0
        for n in lengths:
            count = count * (execute("Cast", n, dtype="float64") if is_tensor(n) else float(n))
        scale = _scale_of(norm, count, inverse)
        return x if scale is None else x * execute("Cast", scale, dtype=x.dtype)

    transform.__doc__ = f"{op} over any axes."
    transform.__name__ = transform.__qualname__ = name
    return transform


fftnd, ifftnd = _many("fftnd", "Fourier transform", False, False), _many("ifftnd", "Inverse transform", False, True)
rfftnd = _many("rfftnd", "Fourier transform of real numbers", True, False)
irfftnd = _many("irfftnd", "Real numbers from half of their Fourier transform,", True, True)


def _axes(x, axes):
    if axes is None:
        return list(range(x.shape.rank))
    return [axis_of(a, x) for a in (axes if isinstance(axes, (list, tuple)) else [axes])]


def _shifted(x, axes, by):
    """Rolled along axes, each as far as `by` says of its size."""
    x = convert_to_tensor(x)
    if x.shape.rank is None:
        return by_rank(lambda known: _shifted(known, axes, by), x, max(1, least_rank(axes)))
    axes = _axes(x, axes)
    shifts = [by(size_of(x, a)) for a in axes]
    if not any(map(is_tensor, shifts)):
        return execute("Roll", x, shift=shifts, axis=axes)
    for axis, shift in zip(axes, shifts):
        before = (slice(None),) * axis
        start = execute("FloorMod", -shift, execute("Maximum", size_of(x, axis), 1))
        x = execute("ConcatV2", [x[(*before, slice(start, None))], x[(*before, slice(None, start))]], axis=axis)
    return x


def fftshift(x, axes=None, name=None):
    """Moves frequency zero to the middle."""
    return _shifted(x, axes, lambda size: size // 2)


def ifftshift(x, axes=None, name=None):
    """Undoes fftshift."""
    return _shifted(x, axes, lambda size: -(size // 2))


# ---- Windows


def _places(count):
    """0, 1, … as numbers that a window is computed from, for a count that is a tensor."""
    return execute("Cast", execute("Range", 0, count, 1), dtype="float64")


def _as_float(value):
    return execute("Cast", value, dtype="float64")


def _raised_cosine(length, periodic, dtype, a, b):
    n = whole_or_later(length, "window_length")
    dtype = as_dtype(dtype)
    if not dtype.is_floating:
        raise ValueError(f"dtype must be a floating point type. Found {dtype!r}")
    if is_tensor(n):
        even = execute("Equal", execute("FloorMod", n, 2), 0)
        over = execute("Maximum", execute("SelectV2", even, n, n - 1) if periodic else n - 1, 1)
        values = a - b * execute("Cos", _places(n) * (2 * np.pi) / _as_float(over))
        one = execute("Equal", n, 1)
        return execute("Cast", execute("SelectV2", one, convert_to_tensor(1.0, "float64"), values), dtype=dtype)
    if n == 1:
        return convert_to_tensor([1.0], dtype)
    # TensorFlow's windows of odd lengths are symmetric whatever is asked for.
    over = n if periodic and n % 2 == 0 else n - 1
    return convert_to_tensor(a - b * np.cos(2 * np.pi * np.arange(n) / over), dtype)


@made_on_host
def hann_window(window_length, periodic=True, dtype=float32, name=None):
    """Hann's window."""
    return _raised_cosine(window_length, periodic, dtype, 0.5, 0.5)


@made_on_host
def hamming_window(window_length, periodic=True, dtype=float32, name=None):
    """Hamming's window."""
    return _raised_cosine(window_length, periodic, dtype, 0.54, 0.46)


@made_on_host
def kaiser_window(window_length, beta=12.0, dtype=float32, name=None):
    """Kaiser's window."""
    n = whole_or_later(window_length, "window_length")
    if is_tensor(n) or is_tensor(beta):
        return execute("Cast", _kaiser(as_int32(n), beta), dtype=as_dtype(dtype))
    return convert_to_tensor(np.kaiser(n, float(beta)), as_dtype(dtype))


def _kaiser(n, beta):
    beta = _as_float(beta)
    ratio = 2.0 * _places(n) / _as_float(execute("Maximum", n - 1, 1)) - 1.0
    inner = execute("Sqrt", execute("Maximum", 1.0 - ratio * ratio, convert_to_tensor(0.0, "float64")))
    values = execute("BesselI0", beta * inner) / execute("BesselI0", beta)
    return execute("SelectV2", execute("Equal", n, 1), convert_to_tensor(1.0, "float64"), values)


@made_on_host
def kaiser_bessel_derived_window(window_length, beta=12.0, dtype=float32, name=None):
    """The window made of sums of Kaiser's."""
    length = whole_or_later(window_length, "window_length")
    if is_tensor(length) or is_tensor(beta):
        half = as_int32(length) // 2
        kaiser = _kaiser(half + 1, beta)
        sums = execute("Cumsum", kaiser, axis=0)
        rising = execute("Sqrt", sums[:half] / sums[half])
        both = execute("ConcatV2", [rising, execute("ReverseV2", rising, axis=[0])], axis=0)
        return execute("Cast", both, dtype=as_dtype(dtype))
    half = length // 2
    kaiser = np.kaiser(half + 1, float(beta))
    rising = np.sqrt(np.cumsum(kaiser[:half]) / np.sum(kaiser))
    return convert_to_tensor(np.concatenate([rising, rising[::-1]]), as_dtype(dtype))


@made_on_host
def vorbis_window(window_length, dtype=float32, name=None):
    """The power-complementary window of Vorbis."""
    n = whole_or_later(window_length, "window_length")
    if is_tensor(n):
        inner = execute("Sin", (_places(n) + 0.5) * np.pi / _as_float(execute("Maximum", n, 1)))
        return execute("Cast", execute("Sin", inner * inner * (np.pi / 2)), dtype=as_dtype(dtype))
    inner = np.sin(np.pi / max(n, 1) * (np.arange(n) + 0.5))
    return convert_to_tensor(np.sin(np.pi / 2 * inner * inner), as_dtype(dtype))


# ---- Frames


def frame(signal, frame_length, frame_step, pad_end=False, pad_value=0, axis=-1, name=None):
    """Overlapping pieces of a signal, in a new dimension."""
    signal, axis = with_rank(signal, 1), whole(axis, "axis")
    if signal.shape.rank is None:
        if axis != -1:
            return by_rank(lambda known: frame(known, frame_length, frame_step, pad_end, pad_value, axis), signal, least_rank([axis]))
        rows = as_rows(signal, 1, [size_of(signal, -1)])
        pieces = frame(rows, frame_length, frame_step, pad_end, pad_value)
        return with_sizes(pieces, outer_sizes(signal, 1), [size_of(pieces, 1), whole_or_later(frame_length, "frame_length")])
    axis = axis_of(axis, signal)
    length, step = whole_or_later(frame_length, "frame_length"), whole_or_later(frame_step, "frame_step")
    size = size_of(signal, axis)
    sizes = "frame_length must not be negative and frame_step be positive, got"
    require(is_tensor(length) or length >= 0, f"{sizes} {length} and {step}.")
    require(step >= 1, f"{sizes} {length} and {step}.")
    if is_tensor(size) or is_tensor(length) or is_tensor(step):
        return _frame_of_any(signal, size, length, step, pad_value if pad_end else None, axis)
    if pad_end:
        count = -(-size // step)
        missing = max(0, length + step * (count - 1) - size)
        paddings = [[0, 0]] * axis + [[0, missing]] + [[0, 0]] * (signal.shape.rank - axis - 1)
        signal = execute("PadV2", signal, paddings, convert_to_tensor(pad_value, signal.dtype))
    else:
        count = max(0, 1 + (size - length) // step)
    return execute("GatherV2", signal, places_of(count, step, length), axis=axis)


def _frame_of_any(signal, size, length, step, pad_value, axis):
    """Of a size that is known when the function runs."""
    length, step = (as_int32(v, "frame_length and frame_step") for v in (length, step))
    if pad_value is None:
        count = execute("Maximum", 1 + (size - length) // step, 0)
    else:
        count = -(-size // step)
        missing = execute("Maximum", length + step * (count - 1) - size, 0)
        paddings = [[0, 0]] * axis + [[0, missing]] + [[0, 0]] * (signal.shape.rank - axis - 1)
        signal = execute("PadV2", signal, convert_sizes(paddings), convert_to_tensor(pad_value, signal.dtype))
    return execute("GatherV2", signal, of_pieces(count, step, length), axis=axis)


def overlap_and_add(signal, frame_step, name=None):
    """The sum of frames, each a step later than the one before."""
    signal = with_rank(signal, 2)
    step = whole_or_later(frame_step, "frame_step")
    require(step >= 1, f"frame_step must be positive, got {step}.")
    frames, length = size_of(signal, -2), size_of(signal, -1)
    known = not any(map(is_tensor, (frames, length, step)))
    if not known:
        step = as_int32(step, "frame_step")
    total = step * (frames - 1) + length
    total = max(total, 0) if known else execute("Maximum", total, 0)
    places = execute("Reshape", of_pieces(frames, step, length), [-1])
    flat = as_rows(signal, 2, [frames * length])
    sums = execute("UnsortedSegmentSum", execute("Transpose", flat, perm=[1, 0]), places, total)
    return with_sizes(execute("Transpose", sums, perm=[1, 0]), outer_sizes(signal, 2), [total])


def _enclosing_power_of_two(value):
    if is_tensor(value):
        log = execute("Log", _as_float(execute("Maximum", value, 1))) / math.log(2.0)
        # What is a power of two within the rounding of the logarithm is one.
        return execute("Cast", execute("Pow", convert_to_tensor(2.0, "float64"), execute("Ceil", log - 1e-12)), dtype=int32)
    return 1 if value < 1 else 2 ** math.ceil(math.log2(value))


def stft(signals, frame_length, frame_step, fft_length=None, window_fn=hann_window, pad_end=False, name=None):
    """Fourier transforms of overlapping pieces of a signal."""
    signals = convert_to_tensor(signals, None, float32)
    length = whole_or_later(frame_length, "frame_length")
    size = _enclosing_power_of_two(length) if fft_length is None else whole_or_later(fft_length, "fft_length")
    pieces = frame(signals, length, frame_step, pad_end=pad_end)
    if window_fn is not None:
        pieces = pieces * window_fn(length, dtype=pieces.dtype)
    return rfft(pieces, [size])


def inverse_stft(stfts, frame_length, frame_step, fft_length=None, window_fn=hann_window, name=None):
    """The signal from the Fourier transforms of its pieces."""
    stfts = convert_to_tensor(stfts)
    length = whole_or_later(frame_length, "frame_length")
    size = _enclosing_power_of_two(length) if fft_length is None else whole_or_later(fft_length, "fft_length")
    pieces = irfft(stfts, [size])[..., :length]
    if is_tensor(size) or is_tensor(length) or size < length:
        pieces = _fit_last(pieces, length)
    if window_fn is not None:
        pieces = pieces * window_fn(length, dtype=pieces.dtype)
    return overlap_and_add(pieces, frame_step)


def inverse_stft_window_fn(frame_step, forward_window_fn=hann_window, name=None):
    """The window that undoes another one when frames are added up."""

    def window(frame_length, dtype=float32):
        length, step = whole_or_later(frame_length, "frame_length"), whole_or_later(frame_step, "frame_step")
        require(step >= 1, f"frame_step must be positive, got {step}.")
        if is_tensor(length) or is_tensor(step):
            return _undoing(forward_window_fn(length, dtype=dtype), length, step)
        if max(length, step) > int32.max:
            raise ValueError(f"Can't convert an out-of-range integer to Tensor: frame_length {length}, frame_step {step}.")
        forward = forward_window_fn(length, dtype=dtype).numpy()
        overlaps = -(-length // step)
        squares = np.pad(np.square(forward), [0, overlaps * step - length]).reshape(overlaps, step)
        total = np.tile(squares.sum(0, keepdims=True), [overlaps, 1]).reshape(-1)[:length]
        return convert_to_tensor(forward / total, as_dtype(dtype))

    return window


def _undoing(forward, length, step):
    overlaps = -(-length // step)
    squares = execute("Pad", execute("Square", forward), convert_sizes([[0, overlaps * step - length]]))
    total = execute("Sum", execute("Reshape", squares, convert_sizes([overlaps, step])), axis=0)
    return forward / execute("Tile", total, convert_sizes([overlaps]))[:length]


# ---- Cosine transforms


def _check_norm(norm):
    if norm not in (None, "ortho"):
        raise ValueError(f"Unknown normalization. Supported normalization: None, 'ortho'. Got {norm}")


@made_on_host
def dct(input, type=2, n=None, axis=-1, norm=None, name=None):  # noqa: A002
    """Discrete cosine transform, types one to four."""
    if axis != -1:
        raise NotImplementedError(f"axis must be -1. Got: {axis}")
    _check_norm(norm)
    x = with_rank(convert_to_tensor(input, None, float32), 1)
    n = None if n is None else whole_or_later(n, "n")
    require(n is None or n >= 1, f"n should be a positive integer or None, got {n}.")
    if n is not None:
        x = _fit_last(x, n)
    size = size_of(x, -1)
    if not is_tensor(size) and size == 0:
        return execute("Identity", x)
    if type == 1:
        require(size != 1, "Type-I DCT requires dimension greater than one.")
    if type == 1 and norm == "ortho":
        raise ValueError("Type-I DCT does not support normalization")
    if type not in (1, 2, 3, 4):
        raise ValueError(f"Types I, II, III and IV (I)DCT are supported, got {type}.")
    return _last_product(x, _cosines(size, type, norm == "ortho"))


def _cosines(size, type, ortho):
    """The matrix of a transform, made by NumPy or, of a size that is known when the function runs, by ops."""
    if is_tensor(size):
        size = execute("Cast", size, dtype="float64")
        places = execute("Range", *(convert_to_tensor(v, "float64") for v in (0.0, size, 1.0)))
        cos, root = (functools.partial(execute, op) for op in ("Cos", "Sqrt"))
        pick = lambda where, a, b: execute("SelectV2", where, *(convert_to_tensor(v, "float64") for v in (a, b)))  # noqa: E731
    else:
        places, cos, root, pick = np.arange(size), np.cos, np.sqrt, np.where
    k, m = places[:, None], places[None, :]  # position, frequency
    if type == 1:
        return pick((k == 0) | (k == size - 1), 1.0, 2.0) * cos(np.pi * k * m / (size - 1))
    if type == 2:
        matrix = 2 * cos(np.pi * (2 * k + 1) * m / (2 * size))
        return matrix * root(0.5 / size) * pick(m == 0, math.sqrt(0.5), 1.0) if ortho else matrix
    if type == 3:
        matrix = cos(np.pi * k * (2 * m + 1) / (2 * size))
        return root(2 / size) * pick(k == 0, math.sqrt(0.5), 1.0) * matrix if ortho else pick(k == 0, 1.0, 2.0) * matrix
    matrix = 2 * cos(np.pi * (2 * k + 1) * (2 * m + 1) / (4 * size))
    return matrix * root(0.5 / size) if ortho else matrix


def idct(input, type=2, n=None, axis=-1, norm=None, name=None):  # noqa: A002
    """Inverse cosine transform, up to TensorFlow's factor."""
    return dct(input, type={1: 1, 2: 3, 3: 2, 4: 4}.get(type, type), n=n, axis=axis, norm=norm)


def _last_product(x, matrix):
    size = size_of(x, -1)
    matrix = execute("Cast", matrix, dtype=x.dtype) if is_tensor(size) else convert_to_tensor(matrix, x.dtype)
    return with_sizes(matmul(as_rows(x, 1, [size]), matrix), outer_sizes(x, 1), [size])


def _last_size(x):
    """The last dimension's, of which matrices are made."""
    size = x.shape[-1] if x.shape.rank is not None else None
    if size is None:
        raise ValueError(f"The size of the last dimension must be known while the function is traced, got shape {x.shape}.")
    return size


def _fit_last(x, n):
    """Cut or filled with zeros to a length."""
    x = x[..., :n]
    there = size_of(x, -1)
    if not is_tensor(there) and not is_tensor(n) and x.shape.rank is not None:
        return execute("Pad", x, [[0, 0]] * (x.shape.rank - 1) + [[0, n - there]]) if n > there else x
    flat = execute("Pad", as_rows(x, 1, [there]), convert_sizes([[0, 0], [0, n - there]]))
    return with_sizes(flat, outer_sizes(x, 1), [n])


def mdct(signals, frame_length, window_fn=vorbis_window, pad_end=False, norm=None, name=None):
    """Modified cosine transform of pieces that overlap by half."""
    _check_norm(norm)
    length = whole(frame_length, "frame_length")
    if length % 4 or length < 4:
        raise ValueError(f"The frame length must be a positive multiple of 4, got {length}.")
    half = length // 2
    pieces = frame(signals, length, half, pad_end=pad_end)
    if window_fn is not None:
        pieces = pieces * window_fn(length, dtype=pieces.dtype)
    else:
        pieces = pieces * (1.0 / math.sqrt(2.0))
    quarter = half // 2
    a, b, c, d = (pieces[..., i * quarter : (i + 1) * quarter] for i in range(4))
    turned = lambda v: execute("ReverseV2", v, axis=[-1])  # noqa: E731
    folded = execute("ConcatV2", [-turned(c) - d, a - turned(b)], axis=-1)
    return dct(folded, type=4, norm=norm)


def inverse_mdct(mdcts, window_fn=vorbis_window, norm=None, name=None):
    """The signal from the modified cosine transforms of its pieces."""
    _check_norm(norm)
    mdcts = with_rank(mdcts, 1)
    half = _last_size(mdcts)
    if half == 0:
        raise ValueError(f"mdcts must not be empty in its last dimension, got shape {mdcts.shape}.")
    back = idct(mdcts, type=4, norm=norm)
    if norm is None:
        back = back * (0.5 / half)
    first, second = back[..., : half // 2], back[..., half // 2 :]
    turned = lambda v: execute("ReverseV2", v, axis=[-1])  # noqa: E731
    pieces = execute("ConcatV2", [second, -turned(second), -turned(first), -first], axis=-1)
    if window_fn is not None:
        pieces = pieces * window_fn(2 * half, dtype=pieces.dtype)
    else:
        pieces = pieces * (1.0 / math.sqrt(2.0))
    return overlap_and_add(pieces, half)


# ---- Mel scale


@functools.lru_cache(maxsize=8)
def _mel_matrix(bins, spectrum, rate, low, high):
    mel = lambda f: 1127.0 * np.log(1.0 + f / 700.0)  # noqa: E731
    centres = mel(np.linspace(0.0, rate / 2.0, spectrum)[1:])[:, None]
    edges = np.linspace(mel(low), mel(high), bins + 2)
    lower, middle, upper = (e[None, :] for e in (edges[:-2], edges[1:-1], edges[2:]))
    rising, falling = (centres - lower) / (middle - lower), (upper - centres) / (upper - middle)
    return np.pad(np.maximum(0.0, np.minimum(rising, falling)), [[1, 0], [0, 0]])


def _mel_matrix_later(bins, spectrum, rate, low, high):
    """The same for a number of frequencies that only a run knows."""
    log = lambda f: execute("Log", 1.0 + f / 700.0) * 1127.0  # noqa: E731
    frequencies = _places(spectrum)[1:] * (rate / 2.0) / _as_float(execute("Maximum", spectrum - 1, 1))
    centres = log(frequencies)[:, None]
    edges = np.linspace(*(1127.0 * math.log(1.0 + f / 700.0) for f in (low, high)), bins + 2)
    lower, middle, upper = (convert_to_tensor(e[None, :]) for e in (edges[:-2], edges[1:-1], edges[2:]))
    rising, falling = (centres - lower) / (middle - lower), (upper - centres) / (upper - middle)
    inside = execute("Maximum", execute("Minimum", rising, falling), convert_to_tensor(0.0, "float64"))
    return execute("Pad", inside, [[1, 0], [0, 0]])


@made_on_host
def linear_to_mel_weight_matrix(
    num_mel_bins=20, num_spectrogram_bins=129, sample_rate=8000, lower_edge_hertz=125.0, upper_edge_hertz=3800.0,
    dtype=float32, name=None,
):  # fmt: skip
    """A matrix from linear frequencies to mel bands."""
    bins = whole_or_later(num_spectrogram_bins, "num_spectrogram_bins")
    if is_tensor(bins) or is_tensor(sample_rate):
        edges = _as_float(sample_rate), float(lower_edge_hertz), float(upper_edge_hertz)
        return execute("Cast", _mel_matrix_later(int(num_mel_bins), as_int32(bins), *edges), dtype=as_dtype(dtype))
    rate = float(sample_rate)
    if int(num_mel_bins) <= 0:
        raise ValueError(f"num_mel_bins must be positive. Got: {num_mel_bins}")
    if max(int(num_mel_bins), int(num_spectrogram_bins)) > 2**31 - 1:
        raise ValueError(f"Numbers of bins must fit int32, got {num_mel_bins} and {num_spectrogram_bins}.")
    if not as_dtype(dtype).is_floating:
        raise ValueError(f"dtype must be a floating point type. Got: {dtype}")
    if lower_edge_hertz < 0.0 or lower_edge_hertz >= upper_edge_hertz or upper_edge_hertz > rate / 2:
        raise ValueError(
            f"Edges must hold 0 <= lower < upper <= sample_rate / 2, got {lower_edge_hertz} and {upper_edge_hertz}."
        )
    matrix = _mel_matrix(int(num_mel_bins), int(num_spectrogram_bins), rate, float(lower_edge_hertz), float(upper_edge_hertz))
    return convert_to_tensor(matrix, as_dtype(dtype))


def mfccs_from_log_mel_spectrograms(log_mel_spectrograms, name=None):
    """Mel-frequency cepstral coefficients."""
    x = with_rank(log_mel_spectrograms, 1)
    size = size_of(x, -1)
    require(size != 0, f"num_mel_bins must be positive. Got: {x}")
    if is_tensor(size):
        return dct(x, type=2) * execute("Rsqrt", execute("Cast", size, dtype=x.dtype) * 2.0)
    return dct(x, type=2) * (1.0 / math.sqrt(size * 2.0))
