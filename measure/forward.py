#!/usr/bin/env python3
"""Measures whole forward passes of decoder models on one GPU: kind,model,params,time_ms.

    python3 forward.py -o forward.csv                         # the models of MODELS below
    python3 forward.py -o forward.csv --model llama3-8b       # one of them
    python3 forward.py -o forward.csv --config config.json    # any dense model by its Hugging Face file

Needs PyTorch with CUDA, and Triton for expert models and --rope. Weights are random. See README.md for the method.
"""

import argparse
import csv
import json
import os
import statistics
import sys
import time
from types import SimpleNamespace

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

DEVICE, TYPE = "cuda", torch.bfloat16

# Published shapes: layers, hidden, heads, KV heads, width of a head, inner width, vocabulary; qk_norm: queries and keys
# are normalised; experts, of them topk per token.
MODELS = {
    "llama3-8b": dict(layers=32, hidden=4096, heads=32, kv=8, dim=128, inner=14336, vocab=128256),
    "Qwen3-8B": dict(layers=36, hidden=4096, heads=32, kv=8, dim=128, inner=12288, vocab=151936, qk_norm=True),
    "Qwen3-32B": dict(layers=64, hidden=5120, heads=64, kv=8, dim=128, inner=25600, vocab=151936, qk_norm=True),
    "Llama-3.1-70B": dict(layers=80, hidden=8192, heads=64, kv=8, dim=128, inner=28672, vocab=128256),
    "Llama-2-7B": dict(layers=32, hidden=4096, heads=32, kv=32, dim=128, inner=11008, vocab=32000),
    "Qwen3-30B-A3B": dict(layers=48, hidden=2048, heads=32, kv=4, dim=128, inner=768, vocab=151936, qk_norm=True,
                          experts=128, topk=8),
    "Mixtral-8x7B": dict(layers=32, hidden=4096, heads=32, kv=8, dim=128, inner=14336, vocab=32000, experts=8, topk=2),
}
# (kind, sequences, tokens or context, ranks of the tensor-parallel group)
PASSES = {
    "prefill": [(1, 512), (1, 1024), (1, 2048), (1, 4096), (1, 8192), (4, 1024), (4, 4096)],
    "decode": [(1, 1024), (4, 1024), (16, 1024), (64, 1024), (128, 1024), (256, 1024), (1, 8192), (16, 8192), (32, 8192)],
}
GROUPS = {"Llama-3.1-70B": [8, 4], "Qwen3-32B": [1, 4], "Mixtral-8x7B": [2]}  # others whole


def from_config(name):
    with open(name) as f:
        c = json.load(f)
    c = c.get("text_config", c)
    if any(k in c for k in ("num_experts", "num_local_experts", "n_routed_experts", "kv_lora_rank")):
        sys.exit(f"{name}: only dense models with grouped heads are measured from a file")
    heads = c["num_attention_heads"]
    return dict(layers=c["num_hidden_layers"], hidden=c["hidden_size"], heads=heads, kv=c.get("num_key_value_heads", heads),
                dim=c.get("head_dim") or c["hidden_size"] // heads, inner=c["intermediate_size"], vocab=c["vocab_size"],
                qk_norm=c.get("model_type", "").startswith("qwen3"))


def rand(*shape):
    return torch.empty(*shape, device=DEVICE, dtype=TYPE).normal_(0, 0.02)


class Model:
    """One rank of a tensor-parallel group, without its collectives."""

    def __init__(self, c, tp, rope):
        self.c, self.tp = c, tp
        self.heads, self.kv = c["heads"] // tp, max(1, c["kv"] // tp)
        h, d = c["hidden"], c["dim"]
        inner = c["inner"] // tp
        e = c.get("experts")
        self.rope, self.blocks, self.places, self.scratch = rope, {}, {}, {}

        def layer():
            w = dict(qkv=rand((self.heads + 2 * self.kv) * d, h), o=rand(h, self.heads * d), n1=rand(h), n2=rand(h))
            if c.get("qk_norm"):
                w.update(qn=rand(d), kn=rand(d))
            if e:
                w.update(router=rand(e, h), experts=SimpleNamespace(
                    e=e, h=h, i=inner, dtype="bf16", up=rand(e, 2 * inner, h), down=rand(e, h, inner), up_scale=w["n1"], down_scale=w["n1"]))
            else:
                w.update(up=rand(2 * inner, h), down=rand(h, inner))
            return w

        self.layers = [layer() for _ in range(c["layers"])]
        self.norm, self.head, self.embed = rand(h), rand(c["vocab"] // tp, h), rand(c["vocab"], h)

    def attention(self, w, x, b, s, cache):
        d = self.c["dim"]
        qkv = F.linear(x, w["qkv"])
        if self.rope:
            self.rotate(qkv)
        q, k, v = qkv.view(b, s, self.heads + 2 * self.kv, d).split([self.heads, self.kv, self.kv], dim=2)
        if "qn" in w:
            q, k = head_norm(q, w["qn"]), head_norm(k, w["kn"])
        if cache is not None:
            k, v = cache
        else:
            k, v = k.transpose(1, 2), v.transpose(1, 2)
        y = F.scaled_dot_product_attention(q.transpose(1, 2), k, v, is_causal=cache is None, enable_gqa=self.heads != self.kv)
        return F.linear(y.transpose(1, 2).reshape(b * s, self.heads * d), w["o"])

    def rotate(self, qkv):
        """Rotary positions, and keys and values to a cache, in one kernel."""
        import small

        m, h, kv, d = qkv.shape[0], self.heads, self.kv, self.c["dim"]
        if m not in self.places:
            self.places = {m: (torch.rand(m, d, device=DEVICE), rand(m, 2 * kv * d), torch.randperm(m, device=DEVICE))}
        angles, cache, slots = self.places[m]
        small.rope_cache[(m, -(-(h + 2 * kv) // 16))](qkv, angles, cache, slots, H=h, KV=kv, D=d, B=16, num_warps=4)

    def mlp(self, w, x):
        if "router" in w:
            return self.experts(w, x)
        return F.linear(gated(F.linear(x, w["up"])), w["down"])

    def experts(self, w, x):
        """Routing and experts as experts.py and small.py measure them, with tiles tuned for the shape."""
        import experts
        import small

        m, e, k = x.shape[0], self.c["experts"], self.c["topk"]
        if m not in self.blocks:
            self.blocks = {}
            bench, block = experts.Bench(SimpleNamespace(quick=True, limit=1e9)), experts.Block(w["experts"], m, k)
            tiles = next(ts for most, ts in experts.TILES["bf16"].items() if m * k / block.touched <= most)
            up = experts.tune(bench, [block], tiles, experts.Block.first)[1]
            self.blocks = {m: (block, up, experts.tune(bench, [block], [t for t in tiles if t[0] == up[0]], experts.Block.second)[1])}
        block, up, down = self.blocks[m]
        # Prompts of random tokens come to look alike from layer to layer, and a random router sends them to few experts: they
        # go where chance, drawn once, sends them. Decoding tokens go where the router says.
        weights, chosen = (block.weights, block.chosen) if m <= 256 else self.unused(m * k)
        power = 1 << (e - 1).bit_length()
        rows = max(1, 512 // power)
        small.topk_softmax[(-(-m // rows),)](F.linear(x, w["router"]), weights, chosen, m, e, K=k, EP=power, R=rows, num_warps=4)
        block.w, block.x = w["experts"], x
        block.run(up, down)
        return block.y

    def unused(self, n):
        if n not in self.scratch:
            self.scratch = {n: (torch.empty(n, device=DEVICE), torch.empty(n, device=DEVICE, dtype=torch.int32))}
        return self.scratch[n]

    def forward(self, tokens, caches):
        b, s = tokens.shape
        h = self.c["hidden"]
        residual = F.embedding(tokens, self.embed).view(b * s, h)
        x = F.rms_norm(residual, (h,), self.layers[0]["n1"])
        for i, w in enumerate(self.layers):
            residual, x = add_norm(self.attention(w, x, b, s, caches[i] if caches else None), residual, w["n2"])
            last = i + 1 == len(self.layers)
            residual, x = add_norm(self.mlp(w, x), residual, self.norm if last else self.layers[i + 1]["n1"])
        return F.linear(x.view(b, s, h)[:, -1], self.head).argmax(-1)


# Element-wise kernels are compiled, as serving engines fuse them and as measure.py measures them.
def compiled(f):
    return torch.compile(f, dynamic=False)


@compiled
def add_norm(x, r, w):
    y = x + r
    z = y.float()
    return y, (z * torch.rsqrt(z.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype) * w


@compiled
def head_norm(x, w):
    z = x.float()
    return (z * torch.rsqrt(z.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype) * w


@compiled
def gated(x):
    gate, up = x.chunk(2, dim=-1)
    return F.silu(gate) * up


def timed(call, budget):
    """Median seconds of a call in a CUDA graph."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(2):
            call()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    times, end = [], time.monotonic() + budget
    while len(times) < 5 or time.monotonic() < end:
        start.record()
        graph.replay()
        stop.record()
        stop.synchronize()
        times.append(start.elapsed_time(stop))
    return statistics.median(times[len(times) // 3:])  # the first ones run at clocks from before


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("-o", "--output", default="forward.csv")
    p.add_argument("--model", action="append", help="one of " + ", ".join(MODELS))
    p.add_argument("--config", help="Hugging Face config.json of a dense model")
    p.add_argument("--tp", type=int, help="one rank of a group of so many")
    p.add_argument("--rope", action="store_true", help="with rotary positions and cache writes")
    p.add_argument("--seconds", type=float, default=0.5, help="time to spend on each pass")
    args = p.parse_args()
    if not torch.cuda.is_available():
        sys.exit("no GPU that this PyTorch can use")
    unknown = [m for m in args.model or [] if m not in MODELS]
    if unknown:
        sys.exit(f"unknown {', '.join(unknown)}; there are {', '.join(MODELS)}")
    models = {m: MODELS[m] for m in args.model or MODELS}
    if args.config:
        models = {os.path.abspath(args.config): from_config(args.config)}
    torch.manual_seed(0)
    torch.set_grad_enabled(False)
    torch._dynamo.config.cache_size_limit = 1024
    print(f"{torch.cuda.get_device_name(0)}, PyTorch {torch.__version__}, CUDA {torch.version.cuda}", file=sys.stderr)
    rows = []
    for name, c in models.items():
        for tp in [args.tp] if args.tp else GROUPS.get(name, [1]):
            begin = time.monotonic()
            try:
                m = Model(c, tp, args.rope)
            except torch.OutOfMemoryError:
                print(f"{name} tp={tp} does not fit", file=sys.stderr)
                continue
            for kind, passes in PASSES.items():
                for b, s in passes:
                    params = f"b={b};s={s}" + (f";tp={tp}" if tp > 1 else "")
                    try:
                        tokens = torch.randint(0, c["vocab"], (b, s if kind == "prefill" else 1), device=DEVICE)
                        caches = None
                        if kind == "decode":
                            caches = [(rand(b, m.kv, s, c["dim"]), rand(b, m.kv, s, c["dim"])) for _ in range(c["layers"])]
                        best = None
                        for backend in (SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION):
                            with sdpa_kernel(backend):
                                t = timed(lambda: m.forward(tokens, caches), args.seconds)
                            best = t if best is None else min(best, t)
                        rows.append([kind, name, params, f"{best:.4f}"])
                    except (torch.OutOfMemoryError, RuntimeError) as e:
                        print(f"{kind} {name} {params}: {str(e).splitlines()[0]}", file=sys.stderr)
                    caches = tokens = None
                    torch.cuda.empty_cache()
            m = None
            torch.cuda.empty_cache()
            print(f"{name} tp={tp}: {time.monotonic() - begin:.0f} s", file=sys.stderr)
            with open(args.output, "w", newline="") as f:
                w = csv.writer(f, lineterminator="\n")
                w.writerow(["kind", "model", "params", "time_ms"])
                w.writerows(rows)


if __name__ == "__main__":
    main()
