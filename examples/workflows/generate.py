#!/usr/bin/env python3
"""Writes the example workflows beside this file.

    generate.py             rewrite the JSON files
    generate.py --check     exit 1 if a file differs, is malformed, or the main workflow misses its totals
    generate.py --summary   print what the workflows add up to

A workflow is tensor tables (order of listing is order of use in a pass) and the steps that run them.

How the main workflow's numbers are counted. They come from the line that ComfyUI prints when it prepares a model,
"<N>MB Staged ... Force pre-loaded <n> weights: <k> KB", so its rules are used: N and k are truncated.
- A *module* is a tensor's name up to its last dot. More than 16 KiB in a module: its tensors are *staged*.
- Else its .weight and .bias are *small*: pre-loaded, counted in n and k. Here these are exactly the norms' weights.
- A buffer is pre-loaded too and counted in k, not in n. Lumina2's 205 norm weights are 1,042 KB; the sampler's 1,000
  float32 sigmas are the rest of the 1,045.
- Z-Image's two pad tokens lie directly on the outermost module: moved at load and counted nowhere.
  By the same rule the scale-shift tables of LTXAV's blocks (6.2 MiB) would be counted nowhere; they are far over
  16 KiB and are paged like any weight here, so they are staged here.
- A tied tensor has no bytes of its own and is counted nowhere.
"""

import argparse
import json
import math
import sys
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
MIB = 1 << 20
SMALL_MODULE_BYTES = 16 * 1024
DTYPE_BYTES = {"f32": 4, "f16": 2, "bf16": 2, "f8_e4m3": 1, "f8_e5m2": 1, "i8": 1, "u8": 1, "i32": 4, "i64": 8}
OPS = ("linear", "embedding", "elementwise")

# model: (staged MiB, small weights and their KB; None where the issue gives none)
MAIN_TOTALS = {"ltxav": (20484, None), "zimage-te": (7671, (145, 383)), "lumina2": (11738, (205, 1045))}


# ---- tensors ---------------------------------------------------------------------------------------------------------

def tensor(name, shape, dtype, op, tokens=None, tied_to=None):
    entry = {"name": name, "shape": list(shape), "dtype": dtype, "op": op}
    if tokens:
        entry["tokens"] = tokens
    if tied_to:
        entry["tied_to"] = tied_to
    return entry


def linear(name, n_in, n_out, tokens, dtype="bf16", bias=False):
    yield tensor(f"{name}.weight", (n_out, n_in), dtype, "linear", tokens)
    if bias:
        yield vector(f"{name}.bias", n_out)


def vector(name, n, dtype="bf16"):
    return tensor(name, (n,), dtype, "elementwise")


def table(name, rows, n, dtype="bf16"):
    return tensor(name, (rows, n), dtype, "elementwise")


def group(tensors, repeat=1, first=0):
    head = {"repeat": repeat}
    if first:
        head["first"] = first
    return {**head, "tensors": list(tensors)}


# ---- LTX-2, audio and video ------------------------------------------------------------------------------------------

def ltx_adaln(name, dim, outputs, embedder_dtype):
    embedder = f"{name}.emb.timestep_embedder"
    yield from linear(f"{embedder}.linear_1", 256, dim, "timestep", bias=True)
    yield from linear(f"{embedder}.linear_2", dim, dim, "timestep", embedder_dtype, bias=True)
    yield from linear(f"{name}.linear", dim, outputs * dim, "timestep", bias=True)


def ltx_attention(name, query, context, inner, query_tokens, context_tokens, dtype):
    yield from linear(f"{name}.to_q", query, inner, query_tokens, dtype, bias=True)
    yield from linear(f"{name}.to_k", context, inner, context_tokens, dtype, bias=True)
    yield from linear(f"{name}.to_v", context, inner, context_tokens, dtype, bias=True)
    yield vector(f"{name}.q_norm.weight", inner)
    yield vector(f"{name}.k_norm.weight", inner)
    yield from linear(f"{name}.to_out.0", inner, query, query_tokens, dtype, bias=True)


def ltx_ff(name, dim, tokens, dtype):
    yield from linear(f"{name}.net.0.proj", dim, 4 * dim, tokens, dtype, bias=True)
    yield from linear(f"{name}.net.2", 4 * dim, dim, tokens, dtype, bias=True)


def ltx_block(video, audio, dtype):
    block = "transformer_blocks.{}"
    yield table(f"{block}.scale_shift_table", 6, video)
    yield from ltx_attention(f"{block}.attn1", video, video, video, "video", "video", dtype)
    yield from ltx_attention(f"{block}.attn2", video, video, video, "video", "text", dtype)
    yield table(f"{block}.audio_scale_shift_table", 6, audio)
    yield from ltx_attention(f"{block}.audio_attn1", audio, audio, audio, "audio", "audio", dtype)
    yield from ltx_attention(f"{block}.audio_attn2", audio, audio, audio, "audio", "text", dtype)
    yield table(f"{block}.scale_shift_table_a2v_ca_audio", 5, audio)
    yield table(f"{block}.scale_shift_table_a2v_ca_video", 5, video)
    yield from ltx_attention(f"{block}.audio_to_video_attn", video, audio, audio, "video", "audio", dtype)
    yield from ltx_attention(f"{block}.video_to_audio_attn", audio, video, audio, "audio", "video", dtype)
    yield from ltx_ff(f"{block}.ff", video, "video", dtype)
    yield from ltx_ff(f"{block}.audio_ff", audio, "audio", dtype)


def ltx_ends(video, audio, caption, channels, embedder_dtype):
    before = [
        *linear("patchify_proj", channels, video, "video", bias=True),
        *linear("audio_patchify_proj", channels, audio, "audio", bias=True),
        *ltx_adaln("adaln_single", video, 6, embedder_dtype),
        *ltx_adaln("av_ca_audio_scale_shift_adaln_single", audio, 4, embedder_dtype),
        *ltx_adaln("av_ca_video_scale_shift_adaln_single", video, 4, embedder_dtype),
        *ltx_adaln("av_ca_a2v_gate_adaln_single", video, 1, embedder_dtype),
        *ltx_adaln("av_ca_v2a_gate_adaln_single", audio, 1, embedder_dtype),
        *ltx_adaln("audio_adaln_single", audio, 6, embedder_dtype),
        *linear("caption_projection.linear_1", caption, video, "text", bias=True),
        *linear("caption_projection.linear_2", video, video, "text", bias=True),
        *linear("audio_caption_projection.linear_1", caption, audio, "text", bias=True),
        *linear("audio_caption_projection.linear_2", audio, audio, "text", bias=True),
    ]
    after = [
        table("scale_shift_table", 2, video),
        *linear("proj_out", video, channels, "video", bias=True),
        table("audio_scale_shift_table", 2, audio),
        *linear("audio_proj_out", audio, channels, "audio", bias=True),
    ]
    return before, after


def ltxav(video, audio, caption, channels, blocks, bf16_each_end, embedder_dtype):
    before, after = ltx_ends(video, audio, caption, channels, embedder_dtype)
    tail = blocks - bf16_each_end
    return [
        group(before),
        group(ltx_block(video, audio, "bf16"), bf16_each_end),
        group(ltx_block(video, audio, "f8_e4m3"), blocks - 2 * bf16_each_end, bf16_each_end),
        group(ltx_block(video, audio, "bf16"), bf16_each_end, tail),
        group(after),
    ]


# ---- Qwen3 as a text encoder -----------------------------------------------------------------------------------------

def qwen3(hidden, layers, heads, kv_heads, head_dim, ffn, vocab):
    layer = "model.layers.{}"
    embedding = "model.embed_tokens.weight"
    return [
        group([tensor(embedding, (vocab, hidden), "bf16", "embedding", "text")]),
        group([
            vector(f"{layer}.input_layernorm.weight", hidden),
            *linear(f"{layer}.self_attn.q_proj", hidden, heads * head_dim, "text"),
            *linear(f"{layer}.self_attn.k_proj", hidden, kv_heads * head_dim, "text"),
            *linear(f"{layer}.self_attn.v_proj", hidden, kv_heads * head_dim, "text"),
            vector(f"{layer}.self_attn.q_norm.weight", head_dim),
            vector(f"{layer}.self_attn.k_norm.weight", head_dim),
            *linear(f"{layer}.self_attn.o_proj", heads * head_dim, hidden, "text"),
            vector(f"{layer}.post_attention_layernorm.weight", hidden),
            *linear(f"{layer}.mlp.gate_proj", hidden, ffn, "text"),
            *linear(f"{layer}.mlp.up_proj", hidden, ffn, "text"),
            *linear(f"{layer}.mlp.down_proj", ffn, hidden, "text"),
        ], layers),
        group([
            vector("model.norm.weight", hidden),
            tensor("lm_head.weight", (vocab, hidden), "bf16", "linear", "logits", tied_to=embedding),
        ]),
    ]


# ---- Lumina2 / Z-Image -----------------------------------------------------------------------------------------------

def lumina_block(name, dim, head_dim, ffn, modulation, tokens):
    block = name + ".{}"
    if modulation:
        yield from linear(f"{block}.adaLN_modulation.0", modulation, 4 * dim, "timestep", bias=True)
    yield vector(f"{block}.attention_norm1.weight", dim)
    yield from linear(f"{block}.attention.qkv", dim, 3 * dim, tokens)
    yield vector(f"{block}.attention.q_norm.weight", head_dim)
    yield vector(f"{block}.attention.k_norm.weight", head_dim)
    yield from linear(f"{block}.attention.out", dim, dim, tokens)
    yield vector(f"{block}.attention_norm2.weight", dim)
    yield vector(f"{block}.ffn_norm1.weight", dim)
    yield from linear(f"{block}.feed_forward.w1", dim, ffn, tokens)
    yield from linear(f"{block}.feed_forward.w3", dim, ffn, tokens)
    yield from linear(f"{block}.feed_forward.w2", ffn, dim, tokens)
    yield vector(f"{block}.ffn_norm2.weight", dim)


def lumina2(dim, head_dim, ffn, layers, refiners, caption, modulation, embedder, patch):
    return [
        group([
            vector("model_sampling.sigmas", 1000, "f32"),
            *linear("t_embedder.mlp.0", 256, embedder, "timestep", bias=True),
            *linear("t_embedder.mlp.2", embedder, modulation, "timestep", bias=True),
            vector("cap_embedder.0.weight", caption),
            *linear("cap_embedder.1", caption, dim, "text", bias=True),
            table("cap_pad_token", 1, dim),
            *linear("x_embedder", patch, dim, "image", bias=True),
            table("x_pad_token", 1, dim),
        ]),
        group(lumina_block("context_refiner", dim, head_dim, ffn, None, "text"), refiners),
        group(lumina_block("noise_refiner", dim, head_dim, ffn, modulation, "image"), refiners),
        group(lumina_block("layers", dim, head_dim, ffn, modulation, "joint"), layers),
        group([
            *linear("final_layer.adaLN_modulation.1", modulation, dim, "timestep", bias=True),
            *linear("final_layer.linear", dim, patch, "joint", bias=True),
        ]),
    ]


# ---- workflows -------------------------------------------------------------------------------------------------------

def model(name, title, assumed, groups):
    return {"name": name, "title": title, "assumed": assumed, "groups": groups}


def step(label, model_name, passes, **tokens):
    return {"label": label, "model": model_name, "passes": passes, "tokens": tokens}


def image_tokens(pixels, text):
    # the VAE makes 8 x 8 pixels one latent, the model 2 x 2 latents one token; blocks of layers see image and text
    image = (pixels // 16) ** 2
    return {"image": image, "text": text, "joint": image + text, "timestep": 1}


def workflow(name, description, models, steps):
    return {"tidegate_workflow": 1, "name": name, "description": description, "models": models, "steps": steps}


def main_workflow():
    frames, fps = 97, 25
    video = {
        # the VAE makes 32 x 32 pixels of 8 frames one token, the first frame being alone; audio has 25 tokens a second
        "video": (768 // 32) * (512 // 32) * (1 + (frames - 1) // 8),
        "audio": round(frames / fps * 25),
        "text": 1024,
        "timestep": 1,
    }
    image = image_tokens(1024, 256)
    models = [
        model("ltxav", "LTX-2 19B, audio and video, 48 blocks, fp8 and bf16", [
            "Only the total of 20,484 MiB is given; which tensors are fp8 is chosen to meet it: in bf16 the first three and"
            " the last three blocks, all biases, norms and tables, and all outside the blocks except the second linear of"
            " the six timestep embedders; in fp8 that one and the linear weights of the other 42 blocks.",
            "fp8 weights carry no scale tensors.",
            "The shapes are LTX-2 19B's as ComfyUI's first version of the class has them; the connectors that refine the"
            " text embeddings run once per prompt, not in a sampling pass, and are left out.",
            "The scale-shift tables count as staged.",
            "Tokens: 768 x 512 pixels, 97 frames at 25 a second: 24 x 16 x 13 video tokens and 97 audio tokens; the"
            " text embeddings are padded to 1,024 tokens; the timestep is one for all tokens.",
            "A distilled model: 8 steps without guidance, so one pass a step.",
        ], ltxav(4096, 2048, 3840, 128, blocks=48, bf16_each_end=3, embedder_dtype="f8_e4m3")),
        model("zimage-te", "Qwen3-4B, the text encoder of Z-Image, bf16", [
            "A prompt has 256 tokens; no guidance, so one pass a prompt.",
            "The tied head is listed where a language model uses it, for one position; an encoder that only wants hidden"
            " states would not touch the embedding a second time.",
        ], qwen3(2560, 36, 32, 8, 128, 9728, 151936)),
        model("lumina2", "Z-Image (NextDiT), which ComfyUI loads as Lumina2, bf16", [
            "Tokens: 1,024 x 1,024 pixels are 64 x 64 image tokens; the text has 256.",
            "The turbo model: 8 steps without guidance, so one pass a step.",
            "model_sampling.sigmas, a buffer of the sampler, is listed because the 1,045 KB include it.",
        ], lumina2(3840, 128, 10240, layers=30, refiners=2, caption=2560, modulation=256, embedder=1024, patch=64)),
    ]
    steps = [step(f"video {n}, sampling", "ltxav", 8, **video) for n in (1, 2)]
    for n in (1, 2, 3):
        steps.append(step(f"image {n}, prompt", "zimage-te", 1, text=256, logits=1))
        steps.append(step(f"image {n}, sampling", "lumina2", 8, **image))
    return workflow(
        "ltxav-zimage-lumina2",
        "Two LTXAV video generations, then three Z-Image prompts: each runs the text encoder once and samples with Lumina2."
        " 20,484, 7,671 and 11,738 MiB of staged weights on one card. FLOPs are those of the linear weights; attention's own"
        " products would add about 18 % (LTXAV) and 19 % (Lumina2). The video's text encoder and the VAEs are left out.",
        models, steps)


MADE_UP = ["All sizes are made up; only the kinds of tensors and their order are those of the model it is named after."]


def tiny_workflow():
    video = {"video": 384, "audio": 32, "text": 64, "timestep": 1}
    image = image_tokens(256, 32)
    models = [
        model("tiny-video", "LTX-like, four blocks, fp8 and bf16", MADE_UP,
              ltxav(416, 208, 320, 64, blocks=4, bf16_each_end=1, embedder_dtype="bf16")),
        model("tiny-encoder", "Qwen3-like, half of it the tied embedding", MADE_UP,
              qwen3(256, 4, 4, 2, 64, 768, 14336)),
        model("tiny-image", "Z-Image-like", MADE_UP,
              lumina2(384, 64, 1024, layers=3, refiners=1, caption=256, modulation=64, embedder=128, patch=64)),
    ]
    steps = [step("video, sampling", "tiny-video", 3, **video)]
    for n in (1, 2):
        steps.append(step(f"image {n}, prompt", "tiny-encoder", 1, text=32, logits=1))
        steps.append(step(f"image {n}, sampling", "tiny-image", 4, **image))
    return workflow("tiny", "Three models of about 60 MiB together: the main workflow in small, for quick tests.",
                    models, steps)


def alternating_workflow():
    image = image_tokens(512, 128)
    models = [
        model("encoder", "Qwen3-like text encoder, bf16", MADE_UP, qwen3(1024, 16, 16, 8, 64, 3072, 65536)),
        model("image", "Z-Image-like, bf16", MADE_UP,
              lumina2(1536, 64, 4096, layers=10, refiners=1, caption=1024, modulation=256, embedder=512, patch=64)),
    ]
    steps = []
    for n in range(1, 5):
        steps.append(step(f"image {n}, prompt", "encoder", 1, text=128, logits=1))
        steps.append(step(f"image {n}, sampling", "image", 4, **image))
    return workflow(
        "two-models-alternating",
        "An encoder and an image model, about 1.2 GB together, take turns: what a pager keeps of the one while the"
        " other runs.",
        models, steps)


WORKFLOWS = (main_workflow, tiny_workflow, alternating_workflow)


# ---- JSON, one tensor a line -----------------------------------------------------------------------------------------

def line(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def render_group(entry):
    head = "".join(f'"{key}":{entry[key]},' for key in ("repeat", "first") if key in entry)
    return f"{{{head}\"tensors\":[\n" + ",\n".join(line(t) for t in entry["tensors"]) + "]}"


def render_model(entry):
    head = ",\n".join(f'"{key}":{line(entry[key])}' for key in ("name", "title"))
    assumed = ",\n".join(line(sentence) for sentence in entry["assumed"])
    groups = ",\n".join(render_group(g) for g in entry["groups"])
    return f'{{{head},\n"assumed":[\n{assumed}],\n"groups":[\n{groups}]}}'


def render(entry):
    head = ",\n".join(f'"{key}":{line(entry[key])}' for key in ("tidegate_workflow", "name", "description"))
    models = ",\n".join(render_model(m) for m in entry["models"])
    steps = ",\n".join(line(s) for s in entry["steps"])
    return f'{{{head},\n"models":[\n{models}],\n"steps":[\n{steps}]}}\n'


# ---- what it adds up to ----------------------------------------------------------------------------------------------

def unrolled(entry):
    for g in entry["groups"]:
        first = g.get("first", 0)
        for k in range(first, first + g["repeat"]):
            for t in g["tensors"]:
                yield {**t, "name": t["name"].replace("{}", str(k))}


def own_bytes(t):
    return 0 if "tied_to" in t else math.prod(t["shape"]) * DTYPE_BYTES[t["dtype"]]


def module_of(t):
    return t["name"].rpartition(".")[0]


def totals(entry):
    tensors = [t for t in unrolled(entry) if "tied_to" not in t]
    modules = Counter()
    for t in tensors:
        modules[module_of(t)] += own_bytes(t)
    staged = small = small_bytes = 0
    for t in tensors:
        if modules[module_of(t)] > SMALL_MODULE_BYTES:
            staged += own_bytes(t)
        elif t["name"].endswith((".weight", ".bias")):
            small += 1
            small_bytes += own_bytes(t)
        elif t["name"].startswith("model_sampling."):
            small_bytes += own_bytes(t)
    return {
        "tensors": len(tensors),
        "tied": sum("tied_to" in t for t in unrolled(entry)),
        "small": small,
        "small_bytes": small_bytes,
        "staged": staged,
        "bytes": sum(map(own_bytes, tensors)),
        "largest": max(tensors, key=own_bytes),
    }


def flops(entry, tokens):
    return sum(2 * math.prod(t["shape"]) * tokens[t["tokens"]] for t in unrolled(entry) if t["op"] == "linear")


# ---- checks ----------------------------------------------------------------------------------------------------------

def schema_faults(entry):
    models = {m["name"]: m for m in entry["models"]}
    for m in entry["models"]:
        seen = {}
        for t in unrolled(m):
            where = f"{m['name']}: {t['name']}"
            if t["name"] in seen:
                yield f"{where} is listed twice"
            if t["dtype"] not in DTYPE_BYTES or t["op"] not in OPS:
                yield f"{where} has an unknown dtype or op"
            if t["op"] != "elementwise" and "tokens" not in t:
                yield f"{where} names no tokens"
            tied = t.get("tied_to")
            if tied and (tied not in seen or (seen[tied]["shape"], seen[tied]["dtype"]) != (t["shape"], t["dtype"])):
                yield f"{where} is tied to no earlier tensor of its shape and dtype"
            seen[t["name"]] = t
        if any(g["repeat"] > 1 and "{}" not in t["name"] for g in m["groups"] for t in g["tensors"]):
            yield f"{m['name']}: a repeated name has no {{}}"
    for s in entry["steps"]:
        if s["model"] not in models:
            yield f"step {s['label']}: no model {s['model']}"
            continue
        missing = {t["tokens"] for t in unrolled(models[s["model"]]) if "tokens" in t} - s["tokens"].keys()
        if missing:
            yield f"step {s['label']}: no count of {', '.join(sorted(missing))} tokens"


def total_faults(entry):
    for m in entry["models"]:
        staged_mib, small = MAIN_TOTALS[m["name"]]
        found = totals(m)
        if found["staged"] // MIB != staged_mib:
            yield f"{m['name']}: staged {found['staged'] / MIB:,.2f} MiB, not {staged_mib:,}"
        if small and found["small"] != small[0]:
            yield f"{m['name']}: {found['small']} small weights, not {small[0]}"
        if small and found["small_bytes"] // 1024 != small[1]:
            yield f"{m['name']}: small weights of {found['small_bytes'] / 1024:,.2f} KB, not {small[1]:,}"


def check(entries):
    faults = list(total_faults(entries[0]))
    for entry in entries:
        faults += [f"{entry['name']}: {fault}" for fault in schema_faults(entry)]
        path = path_of(entry)
        if not path.exists() or path.read_bytes() != render(entry).encode():
            faults.append(f"{path.name} differs from what this script writes")
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


# ---- commands --------------------------------------------------------------------------------------------------------

def path_of(entry):
    return HERE / f"{entry['name']}.json"


def summary(entries):
    for entry in entries:
        print(entry["name"])
        print(f"  {'model':<13}{'tensors':>8}{'tied':>5}{'small':>6}{'small KB':>10}{'staged MiB':>12}{'all MiB':>11}  largest")
        for m in entry["models"]:
            t = totals(m)
            big = t["largest"]
            print(f"  {m['name']:<13}{t['tensors']:>8}{t['tied']:>5}{t['small']:>6}{t['small_bytes'] / 1024:>10,.1f}"
                  f"{t['staged'] / MIB:>12,.2f}{t['bytes'] / MIB:>11,.2f}  {big['name']}, {own_bytes(big) / MIB:,.1f} MiB")
        models = {m["name"]: m for m in entry["models"]}
        print(f"  {'step':<24}{'model':<13}{'passes':>7}{'GFLOP a pass':>15}")
        for s in entry["steps"]:
            print(f"  {s['label']:<24}{s['model']:<13}{s['passes']:>7}{flops(models[s['model']], s['tokens']) / 1e9:>15,.1f}")
        print()


def main():
    parser = argparse.ArgumentParser(description="Writes the example workflows.")
    parser.add_argument("--check", action="store_true", help="compare instead of writing; exit 1 if anything is off")
    parser.add_argument("--summary", action="store_true", help="print what the workflows add up to")
    args = parser.parse_args()
    entries = [build() for build in WORKFLOWS]
    if args.summary:
        summary(entries)
    if args.check:
        return check(entries)
    if not args.summary:
        for entry in entries:
            path_of(entry).write_bytes(render(entry).encode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
