"""GPT-2 and ResNet-50 of models.cc as PyTorch modules, in the manner of step/torch_step.py. Under
autocast, products and convolutions are in bfloat16 as in Tandem's models.
"""

import large
import torch
import torch.nn.functional as F
import torch_step
from torch import nn
from torch_step import ConvNorm, linear, norm, set_to


class GptBlock(nn.Module):
    """One product for queries, keys and values, as GPT-2 has it."""

    def __init__(self, w):
        super().__init__()
        features = w.size.features
        self.count = w.size.heads
        self.norm_1 = norm(w, large.GPT_NORM_EPSILON)
        parts = [(w().reshape(features, features), w().reshape(features)) for _ in range(3)]
        self.qkv = nn.Linear(features, 3 * features)
        set_to(self.qkv.weight, torch.cat([kernel for kernel, _ in parts], 1).t())
        set_to(self.qkv.bias, torch.cat([bias for _, bias in parts]))
        self.out = torch_step.Block.projection(w)
        self.norm_2 = norm(w, large.GPT_NORM_EPSILON)
        self.wide, self.narrow = linear(w), linear(w)

    def forward(self, x):
        b, t, f = x.shape
        q, k, v = (h.view(b, t, self.count, -1).transpose(1, 2) for h in self.qkv(self.norm_1(x)).split(f, 2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, f))
        return x + self.narrow(F.gelu(self.wide(self.norm_2(x)), approximate="tanh"))


class Gpt2(nn.Module):
    def __init__(self, w):
        super().__init__()
        self.table = nn.Parameter(w())
        self.positions = nn.Parameter(w())
        self.blocks = nn.Sequential(*(GptBlock(w) for _ in range(w.size.blocks)))
        self.norm = norm(w, large.GPT_NORM_EPSILON)

    def forward(self, ids):
        x = (F.embedding(ids, self.table) + self.positions).to(torch.bfloat16)
        x = self.norm(self.blocks(x))
        return F.linear(x.view(-1, x.shape[-1]), self.table)


class Bottleneck(nn.Module):
    def __init__(self, w, inputs, width, stride):
        super().__init__()
        self.first, self.second, self.third = ConvNorm(w, 1, 1), ConvNorm(w, 3, stride), ConvNorm(w, 1, 1)
        self.shortcut = ConvNorm(w, 1, stride) if stride != 1 or inputs != 4 * width else nn.Identity()

    def forward(self, x):
        return F.relu(self.third(F.relu(self.second(F.relu(self.first(x))))) + self.shortcut(x))


class Resnet50(nn.Module):
    def __init__(self, w):
        super().__init__()
        self.stem = ConvNorm(w, 7, 2)
        self.blocks = nn.Sequential(*(Bottleneck(w, *b) for b in w.size.residual_blocks()))
        self.last = linear(w)

    def forward(self, x):
        x = self.blocks(F.max_pool2d(F.relu(self.stem(x)), 3, 2, 1)).float().mean((2, 3))
        # As in models.cc: the last product is in float32.
        with torch.autocast(x.device.type, enabled=False):
            return self.last(x)


MODELS = torch_step.MODELS | {"gpt2": Gpt2, "resnet50": Resnet50}
