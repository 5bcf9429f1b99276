"""The PyTorch worker of `make bench-gpu`: the modules of step/torch_step.py on the GPU, eagerly, as
one captured CUDA graph, and under torch.compile. common/worker.h has the protocol.
"""

import os
import sys
from pathlib import Path

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "0")
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "step"))

import cases
import torch
import torch.nn.functional as F
import torch_step
from common import worker

# As TensorFlow does by default, and Tandem.
torch.backends.cuda.matmul.allow_tf32 = True
torch.backends.cudnn.allow_tf32 = True
torch.backends.cudnn.benchmark = True


def make_case(case, form):
    model = torch_step.MODELS[case.model](torch_step.Weights(case)).cuda()
    x, y = (torch.from_numpy(t).cuda() for t in case.batch())
    if x.dim() == 4:
        x = x.permute(0, 3, 1, 2)
        model = model.to(memory_format=torch.channels_last)
    trained = [p for p in model.parameters() if p.requires_grad]
    rate = torch.tensor(case.check_rate, device="cuda")
    adam = torch.optim.Adam(
        trained,
        rate,
        (cases.ADAM["beta_1"], cases.ADAM["beta_2"]),
        cases.ADAM["epsilon"],
        fused=True,
        capturable=form == "graph",
    )

    def loss_of(x, y):
        return F.cross_entropy(model(x), y)

    if form == "compile":
        loss_of = torch.compile(loss_of)

    def step():
        adam.zero_grad(set_to_none=form != "graph")
        loss = loss_of(x, y)
        loss.backward()
        adam.step()
        return loss

    losses = [float(step()) for _ in range(cases.CHECK_STEPS)]
    rate.fill_(cases.TIMING_RATE)
    once = step
    if form == "graph":
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                step()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            step()
        once = graph.replay

    def body(n):
        for _ in range(n):
            once()
        torch.cuda.synchronize()

    return {"body": body, "digest": lambda: {"losses": losses}}


def main():
    threads = worker.threads_argument()
    setups = {}
    for name, case in cases.CASES.items():
        for form in ("eager", "graph", "compile"):
            setups[f"{name}@{form}"] = lambda c=case, f=form: make_case(c, f)
    library = f"PyTorch {torch.__version__} on {torch.cuda.get_device_name()}"
    worker.serve("torch", library, threads, setups)


if __name__ == "__main__":
    main()
