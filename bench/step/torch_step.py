"""The PyTorch worker of `make bench-step`: the models of models.cc as modules, eagerly with the
default Adam and with the fused one, and under torch.compile. common/worker.h has the protocol.
"""

import os
import sys
from pathlib import Path

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import cases
from common import worker


class Weights:
    """Values in the order of the case, for modules that are made in that order."""

    def __init__(self, case):
        self.left = iter(case.weights())
        self.size = case.size

    def __call__(self):
        return torch.from_numpy(next(self.left).copy())


def set_to(parameter, value):
    with torch.no_grad():
        parameter.copy_(value.reshape(parameter.shape))


def linear(w):
    kernel, bias = w(), w()
    module = nn.Linear(*kernel.shape)
    set_to(module.weight, kernel.t())
    set_to(module.bias, bias)
    return module


def convolution(w, stride=1, pad=0, bias=False):
    kernel = w()
    height, width, inputs, filters = kernel.shape
    module = nn.Conv2d(inputs, filters, (height, width), stride, pad, bias=bias)
    set_to(module.weight, kernel.permute(3, 2, 0, 1))
    if bias:
        set_to(module.bias, w())
    return module


class Mlp(nn.Module):
    def __init__(self, w):
        super().__init__()
        self.first, self.last = linear(w), linear(w)

    def forward(self, x):
        return self.last(F.relu(self.first(x)))


class Cnn(nn.Module):
    def __init__(self, w):
        super().__init__()
        self.conv, self.last = convolution(w, bias=True), linear(w)

    def forward(self, x):
        x = F.relu(self.conv(x))
        return self.last(x.permute(0, 2, 3, 1).reshape(x.shape[0], -1))


class Lstm(nn.Module):
    def __init__(self, w):
        super().__init__()
        self.lstm = nn.LSTM(32, 128, num_layers=2, batch_first=True)
        for layer in range(2):
            set_to(getattr(self.lstm, f"weight_ih_l{layer}"), w().t())
            set_to(getattr(self.lstm, f"weight_hh_l{layer}"), w().t())
            set_to(getattr(self.lstm, f"bias_ih_l{layer}"), w())
            # PyTorch has two biases where one is enough; the second stays zero.
            second = getattr(self.lstm, f"bias_hh_l{layer}")
            second.requires_grad_(False).zero_()
        self.last = linear(w)

    def forward(self, x):
        return self.last(self.lstm(x)[0][:, -1])


class Block(nn.Module):
    def __init__(self, w):
        super().__init__()
        self.count = w.size.heads
        self.norm_1 = norm(w)
        self.q, self.k, self.v = (self.projection(w) for _ in range(3))
        self.out = self.projection(w)
        self.norm_2 = norm(w)
        self.wide, self.narrow = linear(w), linear(w)

    @staticmethod
    def projection(w):
        """Of features to heads, or back."""
        kernel, bias = w(), w()
        features = w.size.features
        module = nn.Linear(features, features)
        set_to(module.weight, kernel.reshape(features, features).t())
        set_to(module.bias, bias)
        return module

    def forward(self, x):
        b, t, f = x.shape
        y = self.norm_1(x)
        q, k, v = (m(y).view(b, t, self.count, -1).transpose(1, 2) for m in (self.q, self.k, self.v))
        x = x + self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, t, f))
        return x + self.narrow(F.relu(self.wide(self.norm_2(x))))


def norm(w, epsilon=cases.NORM_EPSILON):
    gamma, beta = w(), w()
    module = nn.LayerNorm(gamma.shape, eps=epsilon)
    set_to(module.weight, gamma)
    set_to(module.bias, beta)
    return module


class Transformer(nn.Module):
    def __init__(self, w):
        super().__init__()
        self.table = nn.Parameter(w())
        self.positions = nn.Parameter(w())
        self.blocks = nn.Sequential(*(Block(w) for _ in range(w.size.blocks)))
        self.norm, self.last = norm(w), linear(w)

    def forward(self, ids):
        x = F.embedding(ids, self.table) + self.positions
        return self.last(self.norm(self.blocks(x)).mean(1))


class ConvNorm(nn.Module):
    def __init__(self, w, size, stride):
        super().__init__()
        self.conv = convolution(w, stride, size // 2)
        gamma, beta = w(), w()
        self.norm = nn.BatchNorm2d(len(gamma), eps=cases.NORM_EPSILON, momentum=1 - cases.NORM_MOMENTUM)
        set_to(self.norm.weight, gamma)
        set_to(self.norm.bias, beta)

    def forward(self, x):
        return self.norm(self.conv(x))


class Residual(nn.Module):
    def __init__(self, w, inputs, filters, stride):
        super().__init__()
        self.first, self.second = ConvNorm(w, 3, stride), ConvNorm(w, 3, 1)
        self.shortcut = ConvNorm(w, 1, stride) if stride != 1 or inputs != filters else nn.Identity()

    def forward(self, x):
        return F.relu(self.second(F.relu(self.first(x))) + self.shortcut(x))


class Resnet18(nn.Module):
    def __init__(self, w):
        super().__init__()
        self.stem = ConvNorm(w, 7, 2)
        self.blocks = nn.Sequential(*(Residual(w, *b) for b in cases.residual_blocks()))
        self.last = linear(w)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.stem(x)), 3, 2, 1)
        return self.last(self.blocks(x).mean((2, 3)))


MODELS = {"mlp": Mlp, "cnn": Cnn, "lstm": Lstm, "transformer": Transformer, "resnet18": Resnet18}


def make_case(case, compiled, fused):
    model = MODELS[case.model](Weights(case))
    x, y = (torch.from_numpy(t) for t in case.batch())
    if x.dim() == 4:
        # The same memory as everybody else's: channels last.
        x = x.permute(0, 3, 1, 2)
        model = model.to(memory_format=torch.channels_last)
    trained = [p for p in model.parameters() if p.requires_grad]
    adam = torch.optim.Adam(
        trained,
        case.check_rate,
        (cases.ADAM["beta_1"], cases.ADAM["beta_2"]),
        cases.ADAM["epsilon"],
        fused=True if fused else None,
    )

    def loss_of(x, y):
        return F.cross_entropy(model(x), y)

    if compiled:
        loss_of = torch.compile(loss_of)

    def step():
        adam.zero_grad(set_to_none=True)
        loss = loss_of(x, y)
        loss.backward()
        adam.step()
        return loss

    losses = [float(step()) for _ in range(cases.CHECK_STEPS)]
    for group in adam.param_groups:
        group["lr"] = cases.TIMING_RATE

    def body(n):
        for _ in range(n):
            step()

    return {"body": body, "digest": lambda: {"losses": losses}}


def main():
    threads = worker.threads_argument()
    torch.set_num_threads(threads)
    setups = {}
    for name, case in cases.CASES.items():
        setups[f"{name}@eager"] = lambda c=case: make_case(c, compiled=False, fused=False)
        setups[f"{name}@eager_fused"] = lambda c=case: make_case(c, compiled=False, fused=True)
        setups[f"{name}@compile"] = lambda c=case: make_case(c, compiled=True, fused=True)
    worker.serve("torch", f"PyTorch {torch.__version__} (eager, and torch.compile)", threads, setups)


if __name__ == "__main__":
    main()
