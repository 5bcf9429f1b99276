"""The JAX worker of `make bench-gpu`: the models of step/jax_step.py, GPT-2 and ResNet-50 under jit.
common/worker.h has the protocol; the device is that of JAX_PLATFORMS.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "step"))

# The first of these settles the threads and the device before JAX is there.
import jax_step
from jax_step import attention, conv_norm, dense, jax, jnp, layer_norm, stem_pool

import large
from common import worker


def gpt2(take, ids):
    table = take.exact()
    x = (table[ids] + take.exact()).astype(take.dtype)
    for _ in range(take.size.blocks):
        x = x + attention(take, layer_norm(take, x, large.GPT_NORM_EPSILON), causal=True)
        y = dense(take, layer_norm(take, x, large.GPT_NORM_EPSILON))
        x = x + dense(take, jax.nn.gelu(y, approximate=True))
    x = layer_norm(take, x, large.GPT_NORM_EPSILON)
    return (x.reshape(-1, x.shape[-1]) @ table.astype(take.dtype).T).astype(jnp.float32)


def resnet50(take, x):
    x = stem_pool(jax.nn.relu(conv_norm(take, x.astype(take.dtype), 2)))
    for inputs, width, stride in take.size.residual_blocks():
        y = jax.nn.relu(conv_norm(take, x, 1))
        y = conv_norm(take, jax.nn.relu(conv_norm(take, y, stride)), 1)
        x = jax.nn.relu(y + (x if stride == 1 and inputs == 4 * width else conv_norm(take, x, stride)))
    return x.astype(jnp.float32).mean((1, 2)) @ take.exact() + take.exact()


MODELS = jax_step.MODELS | {"gpt2": gpt2, "resnet50": resnet50}


def main():
    arguments = worker.arguments()
    jnp.zeros(1).block_until_ready()
    jax_step.allow_all_cores()
    setups = {}
    for name, case in large.all_cases(arguments.small).items():
        setups[f"{name}@jit"] = lambda c=case: jax_step.make_case(c, MODELS[c.model])
    library = f"JAX {jax.__version__} on {jax.devices()[0].device_kind}"
    worker.serve("jax", library, arguments.threads, setups)


if __name__ == "__main__":
    main()
