"""Part 3's peers in Python: the same layers, tokens and resident share, by what people use today.

    python3 bench/gpu/peers.py [--tokens 4096] [--share 75] [--layers 40] [--out FILE]

Needs a GPU and PyTorch; a peer that is not installed gets a row that says so. Every figure is measured on the device:
seconds a pass, median, minimum and maximum of seven after two that are not counted.
"""

import argparse
import json
import statistics
import sys
import time

import torch
from torch import nn

WIDTH, COLUMNS, PASSES = 8192, 18432, 7


class Layer(nn.Module):
    def __init__(self, pattern):
        super().__init__()
        weight = torch.empty(WIDTH, COLUMNS, dtype=torch.bfloat16)
        weight.view(-1).view(-1, pattern.numel()).copy_(pattern)
        self.weight = nn.Parameter(weight, requires_grad=False)

    def forward(self, x):
        torch.matmul(x, self.weight)
        return x


class Net(nn.Module):
    def __init__(self, layers):
        super().__init__()
        pattern = torch.empty(1 << 16, dtype=torch.bfloat16).normal_(0, 0.01)
        self.layers = nn.ModuleList(Layer(pattern) for _ in range(layers))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def timed(forward):
    seconds = []
    for round in range(2 + PASSES):
        torch.cuda.synchronize()
        start = time.perf_counter()
        forward()
        torch.cuda.synchronize()
        if round >= 2:
            seconds.append(time.perf_counter() - start)
    return {"median": statistics.median(seconds), "min": min(seconds), "max": max(seconds), "n": len(seconds)}


def accelerate_dispatch(net, resident):
    """The first layers on the card, the others copied in by hooks, from pageable memory."""
    import accelerate
    from accelerate.hooks import remove_hook_from_submodules

    places = {f"layers.{i}": 0 if i < resident else "cpu" for i in range(len(net.layers))}
    placed = accelerate.dispatch_model(net, device_map=places, main_device=0)
    return placed, lambda: remove_hook_from_submodules(placed), accelerate.__version__


def diffusers_groups(net, resident):
    """Every layer copied in ahead on a stream, from pinned memory; no part of the model stays (it has no such option)."""
    import diffusers
    from diffusers.hooks import apply_group_offloading

    apply_group_offloading(
        net,
        onload_device=torch.device("cuda"),
        offload_device=torch.device("cpu"),
        offload_type="block_level",
        num_blocks_per_group=1,
        use_stream=True,
    )
    return net, lambda: None, diffusers.__version__


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, default=4096)
    parser.add_argument("--share", type=int, default=75, help="layers that stay, percent")
    parser.add_argument("--layers", type=int, default=40)
    parser.add_argument("--out", default="")
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("peers: no GPU that PyTorch can use")

    resident = arguments.layers * arguments.share // 100
    x = torch.randn(arguments.tokens, WIDTH, device="cuda", dtype=torch.bfloat16)
    result = {
        "part": "3: peers",
        "figures": "measured on the device",
        "card": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "tokens": arguments.tokens,
        "share_percent": arguments.share,
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "rows": [],
    }

    def note(name, row):
        print(name, json.dumps(row), flush=True)
        result["rows"].append({"by": name, **row})

    for name, peer in (("accelerate", accelerate_dispatch), ("diffusers", diffusers_groups)):
        net = Net(arguments.layers)
        torch.cuda.reset_peak_memory_stats()
        try:
            with torch.no_grad():
                placed, undo, version = peer(net, resident)
                seconds = timed(lambda: placed(x))
                undo()
            note(name, {"version": version, "pass_seconds": seconds, "peak_bytes": torch.cuda.max_memory_allocated()})
        except ImportError as missing:
            note(name, {"missing": str(missing)})
        del net
        torch.cuda.empty_cache()

    net = Net(arguments.layers).to("cuda")
    with torch.no_grad():
        note("all resident", {"version": torch.__version__, "pass_seconds": timed(lambda: net(x))})
    if arguments.out:
        with open(arguments.out, "w", encoding="utf-8") as out:
            json.dump(result, out, indent=2)


if __name__ == "__main__":
    main()
