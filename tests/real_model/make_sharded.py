#!/usr/bin/env python3
"""make_sharded.py FOLDER BYTES SHARDS: writes a sharded safetensors model of about BYTES bytes of seeded random content:
transformer-like layers (large matrices, small norms), model-00001-of-0000N.safetensors and model.safetensors.index.json."""

import json
import os
import random
import struct
import sys


def tensors(total):
    """(name, shape) of bf16 tensors, until the bytes are used up."""
    side = max(64, int((total / 64 / 24) ** 0.5) // 32 * 32)
    layer = 0
    while total > 0:
        for name, shape in (
            ("attn.qkv", [3 * side, side]),
            ("attn.out", [side, side]),
            ("mlp.up", [4 * side, side]),
            ("mlp.down", [side, 4 * side]),
            ("norm", [side]),
        ):
            size = 2 * shape[0] * (shape[1] if len(shape) > 1 else 1)
            yield f"layers.{layer}.{name}.weight", shape, size
            total -= size
        layer += 1


def main():
    folder, total, shards = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    os.makedirs(folder, exist_ok=True)
    everything = list(tensors(total))
    per_shard = (len(everything) + shards - 1) // shards
    weight_map = {}
    content = random.Random(1)
    for shard in range(shards):
        part = everything[shard * per_shard : (shard + 1) * per_shard]
        name = f"model-{shard + 1:05}-of-{shards:05}.safetensors"
        header, at = {}, 0
        for tensor, shape, size in part:
            header[tensor] = {"dtype": "BF16", "shape": shape, "data_offsets": [at, at + size]}
            weight_map[tensor] = name
            at += size
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        with open(os.path.join(folder, name), "wb") as file:
            file.write(struct.pack("<Q", len(text)) + text)
            while at > 0:
                piece = content.randbytes(min(at, 1 << 24))
                file.write(piece)
                at -= len(piece)
    with open(os.path.join(folder, "model.safetensors.index.json"), "w") as file:
        json.dump({"metadata": {"total_size": sum(size for _, _, size in everything)}, "weight_map": weight_map}, file)


if __name__ == "__main__":
    main()
