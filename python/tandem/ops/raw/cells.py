"""The recurrent cells of TensorFlow's block ops: one step, all steps, and the gradients of one."""

from tandem._core import convert_to_tensor, execute


def _sigmoid(x):
    return execute("Sigmoid", x)


def _tanh(x):
    return execute("Tanh", x)


def lstm_cell(x, cs_prev, h_prev, w, wci, wcf, wco, b, forget_bias, cell_clip, peephole):
    """(i, cs, f, o, ci, co, h) of one step; the four gates lie beside one another in w."""
    inputs = execute("ConcatV2", [convert_to_tensor(x), convert_to_tensor(h_prev)], axis=1)
    gates = execute("AddV2", execute("MatMul", inputs, w), b)
    i, c, f, o = execute("Split", gates, num=4, axis=1)
    if peephole:
        i, f = i + cs_prev * wci, f + cs_prev * wcf
    i, f, ci = _sigmoid(i), _sigmoid(f + forget_bias), _tanh(c)
    cs = ci * i + cs_prev * f
    if cell_clip > 0:
        cs = execute("ClipByValue", cs, -float(cell_clip), float(cell_clip))
    if peephole:
        o = o + cs * wco
    o, co = _sigmoid(o), _tanh(cs)
    return i, cs, f, o, ci, co, co * o


def lstm_block(steps, x, cs_prev, h_prev, w, wci, wcf, wco, b, forget_bias, cell_clip, peephole):
    """The same for every step of x [time, batch, inputs]; steps from `steps` on are zeros."""
    x, cs, h = convert_to_tensor(x), convert_to_tensor(cs_prev), convert_to_tensor(h_prev)
    rows, most = [], min(int(steps), x.shape[0])
    for t in range(most):
        rows.append(lstm_cell(x[t], cs, h, w, wci, wcf, wco, b, forget_bias, cell_clip, peephole))
        cs, h = rows[-1][1], rows[-1][6]
    zero = execute("ZerosLike", cs)
    rows += [(zero,) * 7] * (x.shape[0] - most)
    return [execute("Pack", list(column), axis=0) for column in zip(*rows)]


def lstm_cell_grad(cs_prev, wci, wcf, wco, i, cs, f, o, ci, co, cs_grad, h_grad, peephole):
    """(gradient of the cell before, of the gates, and of the three peepholes)."""
    do = h_grad * co * o * (1 - o)
    dcs = h_grad * o * (1 - co * co) + cs_grad
    if peephole:
        dcs = dcs + do * wco
    dci, di, df = dcs * i * (1 - ci * ci), dcs * ci * i * (1 - i), dcs * cs_prev * f * (1 - f)
    before = dcs * f
    if peephole:
        before = before + di * wci + df * wcf
    gates = execute("ConcatV2", [di, dci, df, do], axis=1)
    if not peephole:
        return before, gates, *(execute("ZerosLike", convert_to_tensor(w)) for w in (wci, wcf, wco))
    return before, gates, *(execute("Sum", p, axis=[0]) for p in (di * cs_prev, df * cs_prev, do * cs))


def gru_cell(x, h_prev, w_ru, w_c, b_ru, b_c):
    """(r, u, c, h) of one step."""
    x, h_prev = convert_to_tensor(x), convert_to_tensor(h_prev)
    r, u = execute("Split", _sigmoid(execute("ConcatV2", [x, h_prev], axis=1) @ w_ru + b_ru), num=2, axis=1)
    c = _tanh(execute("ConcatV2", [x, h_prev * r], axis=1) @ w_c + b_c)
    return r, u, c, u * h_prev + (1 - u) * c


def gru_cell_grad(x, h_prev, w_ru, w_c, r, u, c, d_h):
    """(gradients of x and of the state, of the candidate, and of the two gates)."""
    x, h_prev = convert_to_tensor(x), convert_to_tensor(h_prev)
    dc = d_h * (1 - u) * (1 - c * c)
    du = d_h * (h_prev - c) * u * (1 - u)
    from_c = execute("MatMul", dc, w_c, transpose_b=True)
    dx_c, dhr = from_c[:, : x.shape[1]], from_c[:, x.shape[1] :]
    dr = dhr * h_prev * r * (1 - r)
    gates = execute("ConcatV2", [dr, du], axis=1)
    from_gates = execute("MatMul", gates, w_ru, transpose_b=True)
    dx = dx_c + from_gates[:, : x.shape[1]]
    return dx, from_gates[:, x.shape[1] :] + dhr * r + d_h * u, dc, gates
