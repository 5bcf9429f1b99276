"""The large models of `make bench-gpu` for the peers: parameters, inputs and labels, equal to those of
models.cc. step/cases.py says how they are written; torch_models.py and jax_gpu.py have the mathematics.
"""

from dataclasses import dataclass

import cases
from cases import Case, Sequences, conv_norm, dense

GPT_NORM_EPSILON = 1e-5


@dataclass
class Images:
    """The size of ResNet-50."""

    width: int = 64
    blocks: tuple = (3, 4, 6, 3)

    def residual_blocks(self):
        """(inputs, width, stride) of each."""
        channels = self.width
        for stage, count in enumerate(self.blocks):
            width = self.width << stage
            for i in range(count):
                yield channels, width, 2 if stage and i == 0 else 1
                channels = 4 * width


def bottleneck(inputs, width, stride):
    shortcut = conv_norm(inputs, 4 * width, 1) if stride != 1 or inputs != 4 * width else []
    return conv_norm(inputs, width, 1) + conv_norm(width, width, 3) + conv_norm(width, 4 * width, 1) + shortcut


def resnet50(shape, size, classes, bf16):
    blocks = sum((bottleneck(*b) for b in size.residual_blocks()), [])
    last = dense(4 * (size.width << (len(size.blocks) - 1)), classes)
    parameters = conv_norm(3, size.width, 7) + blocks + last
    return Case("resnet50", parameters, shape, check_rate=1e-5, classes=classes, bf16=bf16, size=size)


def gpt2(batch, size):
    parameters = cases.tables(size) + cases.block(size) * size.blocks + cases.norm(size.features)
    return Case(
        "gpt2",
        parameters,
        (batch, size.time),
        size.vocabulary,
        classes=size.vocabulary,
        label_per_token=True,
        bf16=True,
        size=size,
    )


def large_cases(small):
    if small:
        images, shape, classes = Images(16, (1, 2, 1, 1)), (8, 64, 64, 3), 10
        transformer = Sequences(64, 8, 256, 2, 16)
        gpt = Sequences(64, 4, 256, 2, 32, 512)
    else:
        images, shape, classes = Images(), (128, 224, 224, 3), 1000
        transformer = Sequences(512, 8, 2048, 8)
        gpt = Sequences(768, 12, 3072, 12, 1024, 50304)
    batch = 2 if small else 8
    return {
        "transformer_512_b8": cases.transformer(batch, transformer),
        "gpt2_b8_bf16": gpt2(batch, gpt),
        "resnet50_b128_tf32": resnet50(shape, images, classes, False),
        "resnet50_b128_bf16": resnet50(shape, images, classes, True),
    }


def all_cases(small):
    return cases.CASES | large_cases(small)
