"""The PyTorch worker of `make bench-gpu`: the modules of step/torch_step.py and torch_models.py on the GPU,
eagerly, as one captured CUDA graph, and under torch.compile (with its own CUDA graphs too); and the ops of
torch_ops.py. With --device cpu: eagerly, to check the models. common/worker.h has the protocol.
"""

import os
import sys
from pathlib import Path

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "0")
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "step"))

import cases
import large
import torch
import torch.nn.functional as F
import torch_models
import torch_ops
import torch_step
from common import worker

# As TensorFlow does by default, and Tandem.
torch.backends.cuda.matmul.allow_tf32 = True
torch.backends.cudnn.allow_tf32 = True
torch.backends.cudnn.benchmark = True

# All, or those that TANDEM_TORCH_FORMS names (gpu/workers.py).
FORMS = tuple(os.environ.get("TANDEM_TORCH_FORMS", "eager,graph,compile,compile_graphs").split(","))


def capture(step):
    """A function that replays the step as one CUDA graph."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()

    def replay(step=step):  # the graph reads and writes what the step holds
        graph.replay()

    return replay


def make_case(case, form, device):
    model = torch_models.MODELS[case.model](torch_step.Weights(case)).to(device)
    x, y = (torch.from_numpy(t).to(device) for t in case.batch())
    if x.dim() == 4:
        x = x.permute(0, 3, 1, 2)
        model = model.to(memory_format=torch.channels_last)
    trained = [p for p in model.parameters() if p.requires_grad]
    rate = torch.tensor(case.check_rate, device=device)
    adam = torch.optim.Adam(
        trained,
        rate,
        (cases.ADAM["beta_1"], cases.ADAM["beta_2"]),
        cases.ADAM["epsilon"],
        fused=True,
        capturable=form == "graph",
    )

    def loss_of(x, y):
        with torch.autocast(device, torch.bfloat16, enabled=case.bf16):
            logits = model(x)
        return F.cross_entropy(logits.float(), y)

    if form.startswith("compile"):
        loss_of = torch.compile(loss_of, mode="reduce-overhead" if form == "compile_graphs" else None)

    def step():
        adam.zero_grad(set_to_none=form != "graph")
        loss = loss_of(x, y)
        loss.backward()
        adam.step()
        return loss

    losses = [float(step()) for _ in range(cases.CHECK_STEPS)]
    rate.fill_(cases.TIMING_RATE)
    once = capture(step) if form == "graph" else step

    def body(n):
        for _ in range(n):
            once()
        if device == "cuda":
            torch.cuda.synchronize()

    return {"body": body, "digest": lambda: {"losses": losses}}


def main():
    arguments = worker.arguments()
    device = arguments.device
    torch.set_num_threads(arguments.threads)
    if device == "cpu":
        # Only losses are compared there, and some virtual machines announce bfloat16 instructions that
        # they do not have.
        torch.backends.mkldnn.enabled = False
    setups = {}
    for name, case in large.all_cases(arguments.small).items():
        # CUDA graphs hide launches, which models of many milliseconds hide themselves; they keep memory, though.
        forms = [f for f in FORMS if f != "compile_graphs" or case.model not in ("gpt2", "resnet50")]
        for form in forms if device == "cuda" else ("eager",):
            setups[f"{name}@{form}"] = lambda c=case, f=form: make_case(c, f, device)
    if "eager" in FORMS:
        setups |= torch_ops.setups(arguments.small, device)
    where = torch.cuda.get_device_name() if device == "cuda" else "the CPU"
    worker.serve("torch", f"PyTorch {torch.__version__} on {where}", arguments.threads, setups)


if __name__ == "__main__":
    main()
