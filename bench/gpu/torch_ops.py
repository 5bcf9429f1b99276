"""The ops of roofline.cc in PyTorch: the same inputs and the same work, eagerly. What is a compiled function
there is one under torch.compile here, where there is a GPU.
"""

import torch
import torch.nn.functional as F
from common import worker

RANDOM = 1 << 20


def random(seed, shape, dtype, device):
    n = 1
    for size in shape:
        n *= size
    base = torch.from_numpy(worker.random_values(seed, (min(n, RANDOM),))).to(device)
    if n > RANDOM:
        base = base.repeat(-(-n // RANDOM))[:n]
    return base.reshape(shape).to(dtype)


class Ops:
    """(inputs of call number `set`, call, sets) by name."""

    def __init__(self, small, device):
        self.small, self.device = small, device
        self.table = {}
        self.compiled = torch.compile if device == "cuda" else lambda f: f
        self.elementwise(1 << 16 if small else 1 << 26)
        self.elementwise(1 << 14 if small else 16_000_000, "_64mb")
        self.rows(*((64, 256) if small else (16384, 4096)))
        self.rows(*((32, 128) if small else (4000, 4000)), "_64mb")
        self.products(128 if small else 8192)
        self.convolutions(*((2, 8, 16, 16, 3) if small else (128, 56, 64, 64, 3)))
        self.convolutions(*((2, 8, 16, 64, 1) if small else (128, 28, 512, 128, 1)))
        self.attention(*((1, 32, 2, 16) if small else (8, 1024, 12, 64)))
        self.links(1 << 16 if small else 1 << 26)

    def add(self, name, inputs, call, sets=3):
        self.table[name] = (inputs, call, sets)

    def random(self, seed, shape, dtype=torch.float32):
        return random(seed, shape, dtype, self.device)

    def elementwise(self, n, size=""):
        def inputs(count, dtype=torch.float32):
            return lambda s: [self.random(10 * s + i + 1, (n,), dtype) for i in range(count)]

        self.add(f"copy{size}", inputs(1), lambda x: x.clone())
        self.add(f"add{size}", inputs(2), torch.add)
        self.add(f"add_bf16{size}", inputs(2, torch.bfloat16), torch.add)
        self.add(f"exp{size}", inputs(1), torch.exp)
        self.add(f"fused_chain{size}", inputs(2), self.compiled(lambda a, b: torch.tanh(a * b + 0.5) * a - b))
        self.add(f"reduce_sum{size}", inputs(1), torch.sum)
        self.add(f"reduce_max{size}", inputs(1), torch.amax)

    def rows(self, rows, columns, size=""):
        def inputs(s):
            return [self.random(s + 1, (rows, columns))]

        def norm_inputs(s):
            return inputs(s) + [self.random(91, (columns,)), self.random(92, (columns,))]

        def gather_inputs(s):
            indices = torch.from_numpy(worker.random_indices(93, (rows,), rows))
            return inputs(s) + [indices.to(self.device)]

        self.add(f"reduce_sum_rows{size}", inputs, lambda x: x.sum(1))
        self.add(f"reduce_sum_columns{size}", inputs, lambda x: x.sum(0))
        self.add(f"softmax{size}", inputs, lambda x: F.softmax(x, -1))
        self.add(f"layer_norm{size}", norm_inputs, lambda x, g, b: F.layer_norm(x, g.shape, g, b, 1e-3))
        self.add(f"transpose{size}", inputs, lambda x: x.t().contiguous())
        self.add(f"gather_rows{size}", gather_inputs, lambda x, i: x.index_select(0, i))

    def products(self, n):
        for name, dtype in (("tf32", torch.float32), ("bf16", torch.bfloat16)):

            def inputs(s, dtype=dtype):
                return [self.random(2 * s + i, (n, n), dtype) for i in (1, 2)]

            self.add(f"matmul_{name}", inputs, torch.matmul, sets=2)

    def convolutions(self, batch, side, channels, filters, kernel):
        def convolve(x, f):
            return F.conv2d(x, f, padding=kernel // 2)

        def step(x, f, w):
            x, f = x.detach().requires_grad_(), f.detach().requires_grad_()
            y = convolve(x, f)
            return y.detach(), *torch.autograd.grad(y, (x, f), w)

        for name, dtype in (("tf32", torch.float32), ("bf16", torch.bfloat16)):

            def inputs(s, dtype=dtype):
                x = self.random(s + 1, (batch, side, side, channels), dtype).permute(0, 3, 1, 2)
                f = self.random(94, (kernel, kernel, channels, filters), dtype).permute(3, 2, 0, 1)
                w = self.random(95, (batch, side, side, filters), dtype).permute(0, 3, 1, 2)
                return [x, f.contiguous(memory_format=torch.channels_last), w]

            what = f"conv{kernel}x{kernel}"
            self.add(f"{what}_{name}", inputs, lambda x, f, w: convolve(x, f))
            self.add(f"{what}_step_{name}", inputs, step)

    def attention(self, batch, time, heads, size):
        def attend(q, k, v):
            q, k, v = (t.transpose(1, 2) for t in (q, k, v))
            return F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2)

        def step(q, k, v, w):
            q, k, v = (t.detach().requires_grad_() for t in (q, k, v))
            y = attend(q, k, v)
            return y.detach(), *torch.autograd.grad(y, (q, k, v), w)

        def inputs(s):
            return [self.random(4 * s + i, (batch, time, heads, size), torch.bfloat16) for i in (1, 2, 3, 4)]

        self.add("attention_bf16", inputs, lambda q, k, v, w: attend(q, k, v))
        self.add("attention_step_bf16", inputs, step)

    def links(self, n):
        def pinned(x):
            return x.pin_memory() if self.device == "cuda" else x

        def host(s):
            return [random(s + 1, (n,), torch.float32, "cpu")]

        def gpu(s):
            return [self.random(s + 1, (n,))]

        def gpu_and_pinned(s):
            return [*gpu(s), pinned(torch.empty(n))]

        def fetch(x, out):
            return out.copy_(x, non_blocking=True)

        self.add("copy_to_device", host, lambda x: x.to(self.device))
        self.add("copy_to_host", gpu, lambda x: x.to("cpu"))
        # The best that can be had: memory that the GPU reads and writes itself.
        self.add("copy_to_device_pinned", lambda s: [pinned(*host(s))], lambda x: x.to(self.device, non_blocking=True))
        self.add("copy_to_host_pinned", gpu_and_pinned, fetch)


def make_case(inputs, call, sets, device):
    all_inputs = [inputs(s) for s in range(sets)]

    def body(n):
        for i in range(n):
            call(*all_inputs[i % sets])
        if device == "cuda":
            torch.cuda.synchronize()

    results = call(*all_inputs[0])
    if device == "cuda":
        torch.cuda.synchronize()
    results = results if isinstance(results, tuple) else (results,)
    digest = sum(float(r.detach().float().square().mean()) for r in results)
    return {"body": body, "digest": lambda: {"digest": digest}}


def setups(small, device):
    ops = Ops(small, device)
    return {
        f"op_{name}": lambda entry=entry: make_case(*entry, device) for name, entry in ops.table.items()
    }
