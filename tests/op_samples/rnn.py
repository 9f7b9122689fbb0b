"""Samples: recurrent layers, cells and packed sequences."""

import numpy as np

from op_samples.sample import WHOLE, S, but, index, x

_GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}


def _small(*shape):
    """Weights under which a few steps stay where functions bend."""
    return x(*shape, low=-0.6, high=0.6)


def _params(gates, size, units, biases=True, out=None):
    """The parameters of one layer in one direction."""
    shapes = [(gates * units, size), (gates * units, out or units)]
    shapes += [(gates * units,)] * (2 * biases) + ([(out, units)] if out else [])
    return [_small(*shape) for shape in shapes]


def _states(kind, rows, batch, units, out=None):
    state = _small(rows, batch, out or units)
    return [state, _small(rows, batch, units)] if kind == "lstm" else state


def _layers(kind, batch_sizes=None):
    """Calls with one layer, with two of both directions without biases, and what only some kinds have."""
    gates = _GATES[kind]
    packed = batch_sizes is not None

    def call(batch, params, biases, layers, both_ways, batch_first, units=3, out=None):
        ways = layers * (1 + both_ways)
        dims = (sum(batch_sizes.values),) if packed else (batch, 3) if batch_first else (3, batch)
        sizes = [batch_sizes] if packed else []
        last = [] if packed else [batch_first]
        states = _states(kind, ways, batch, units, out)
        return S(x(*dims, 2), *sizes, states, params, biases, layers, 0.0, False, both_ways, *last)

    both = [p for _ in range(2) for p in _params(gates, 2, 3, False)]
    both += [p for _ in range(2) for p in _params(gates, 6, 3, False)]
    calls = [
        call(2, _params(gates, 2, 3), True, 1, False, False),
        call(2, both, False, 2, True, not packed),
    ]
    if kind == "lstm":
        calls.append(call(2, _params(4, 2, 3, True, 2), True, 1, False, False, out=2))
    if not packed:
        calls.append(call(9, _params(gates, 2, 5), True, 1, False, False, units=5))
    return but(("bool",) if kind == "rnn_relu" else WHOLE, calls)


_SIZES = index(2, 2, 1)
_CELLS = {
    kind: but(
        ("bool",) if kind in ("rnn_tanh", "rnn_relu") else WHOLE,
        [
            S(x(2, 3), [_small(2, 4)] * 2 if kind == "lstm" else _small(2, 4), *_params(gates, 3, 4)),
            S(x(2, 3), [_small(2, 4)] * 2 if kind == "lstm" else _small(2, 4), *_params(gates, 3, 4, False)),
        ],
    )
    for kind, gates in _GATES.items()
}
SAMPLES = {
    **{kind: _layers(kind) for kind in _GATES},
    **{f"{kind}_packed": _layers(kind, _SIZES) for kind in _GATES},
    **{f"{kind}_cell": samples for kind, samples in _CELLS.items()},
    "_pack_padded_sequence": [
        S(x(4, 3, 2), index(4, 4, 2), False),
        S(x(2, 5), index(3, 1), True),
        S(x(3, 1, 2, 2), index(2), False),
    ],
    "_pad_packed_sequence": [
        S(x(6, 2), index(3, 2, 1), False, 0.0, 3),
        S(x(6), index(3, 3), True, 1.0, 4),
        S(x(2, 1, 2), index(1, 1), False, 0.0, 2),
    ],
}


def _sigmoid(a):
    return 1 / (1 + np.exp(-a))


def _step(kind, a, b, state):
    """The next state (and cell) from what the input and the state give to the gates."""
    if kind == "lstm":
        i, f, g, o = np.split(a + b, 4, -1)
        cell = _sigmoid(f) * state[1] + _sigmoid(i) * np.tanh(g)
        return _sigmoid(o) * np.tanh(cell), cell
    if kind == "gru":
        (ar, az, an), (br, bz, bn) = np.split(a, 3, -1), np.split(b, 3, -1)
        new, update = np.tanh(an + _sigmoid(ar + br) * bn), _sigmoid(az + bz)
        return ((1 - update) * new + update * state[0],)
    return (np.tanh(a + b) if kind == "rnn_tanh" else np.maximum(a + b, 0),)


def _cell(kind):
    def answer(data, hx, w_ih, w_hh, b_ih=0, b_hh=0):
        state = hx if kind == "lstm" else [hx]
        made = _step(kind, data @ w_ih.T + b_ih, state[0] @ w_hh.T + b_hh, state)
        return made if kind == "lstm" else made[0]

    return answer


def _direction(kind, rows, sizes, state, params, biases, reverse):
    """One layer in one direction over packed rows: outputs and last states."""
    w_ih, w_hh, *rest = params
    b_ih, b_hh = rest[:2] if biases else (0, 0)
    project = rest[-1].T if len(rest) % 2 else None
    state = [s.copy() for s in state]
    starts = np.cumsum([0, *sizes])
    out = np.zeros((len(rows), state[0].shape[-1]))
    for t in reversed(range(len(sizes))) if reverse else range(len(sizes)):
        n, at = sizes[t], slice(starts[t], starts[t + 1])
        now = [s[:n] for s in state]
        made = _step(kind, rows[at] @ w_ih.T + b_ih, now[0] @ w_hh.T + b_hh, now)
        made = (made[0] if project is None else made[0] @ project, *made[1:])
        for whole, part in zip(state, made):
            whole[:n] = part
        out[at] = made[0]
    return out, state


def _stack(kind, rows, sizes, hx, params, biases, layers, both_ways):
    hx = hx if kind == "lstm" else [hx]
    ways = 1 + both_ways
    each = len(params) // (layers * ways)
    last = []
    for layer in range(layers):
        outputs = []
        for way in range(ways):
            n = layer * ways + way
            own = params[n * each : (n + 1) * each]
            out, state = _direction(kind, rows, sizes, [h[n] for h in hx], own, biases, way)
            outputs.append(out)
            last.append(state)
        rows = np.concatenate(outputs, -1)
    return rows, *(np.stack(s) for s in zip(*last))


def _padded(kind):
    def answer(data, hx, params, biases, layers, dropout, train, both_ways, batch_first):
        data = data.swapaxes(0, 1) if batch_first else data
        steps, batch, _ = data.shape
        rows = data.reshape(steps * batch, -1)
        rows, *last = _stack(kind, rows, [batch] * steps, hx, params, biases, layers, both_ways)
        out = rows.reshape(steps, batch, -1)
        return (out.swapaxes(0, 1) if batch_first else out), *last

    return answer


def _packed(kind):
    def answer(data, sizes, hx, params, biases, layers, dropout, train, both_ways):
        return _stack(kind, data, [int(n) for n in sizes], hx, params, biases, layers, both_ways)

    return answer


def _pack(data, lengths, batch_first):
    data = data.swapaxes(0, 1) if batch_first else data
    counts = [int((lengths > t).sum()) for t in range(max(lengths))]
    return np.concatenate([data[t, :n] for t, n in enumerate(counts)]), np.array(counts)


def _pad(data, sizes, batch_first, value, total):
    out = np.full((total, sizes[0], *data.shape[1:]), value, dtype=data.dtype)
    at = np.cumsum([0, *sizes])
    for t, n in enumerate(sizes):
        out[t, :n] = data[at[t] : at[t + 1]]
    lengths = np.array([(sizes > b).sum() for b in range(sizes[0])])
    return (out.swapaxes(0, 1) if batch_first else out), lengths


NUMPY = {
    **{kind: _padded(kind) for kind in _GATES},
    **{f"{kind}_packed": _packed(kind) for kind in _GATES},
    **{f"{kind}_cell": _cell(kind) for kind in _GATES},
    "_pack_padded_sequence": _pack,
    "_pad_packed_sequence": _pad,
}


def _dense_sizes(name):
    """Theirs reads strided batch_sizes as if they were dense."""

    def find(torch):
        return lambda data, sizes, *more: getattr(torch, name)(data, sizes.contiguous(), *more)

    return find


PYTORCH = {f"{kind}_packed": _dense_sizes(kind) for kind in _GATES}
