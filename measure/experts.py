#!/usr/bin/env python3
"""Measures whole expert blocks on one GPU as serving engines fuse them: kind,dtype,params,flops,bytes,time_us.

    python3 experts.py -o experts.csv

Needs PyTorch with CUDA and Triton. A block is what vLLM and SGLang run on a rank that holds slices of all experts: rows
are sorted by expert and padded to tiles; one Triton kernel multiplies all experts by gate and up, one applies SiLU and the
gate, a second product multiplies by down and the weights of the router, one adds up the experts of a token. In fp8 the
activations are quantised in groups of 128 before each product and weights have a scale for every 128 × 128 block. Tiles are
tuned for every shape and number of tokens, as the engines ship them for the shapes that are in use. See README.md.
"""

import argparse
import csv
import itertools
import multiprocessing
import statistics
import sys
import time

import torch
import triton
import triton.language as tl

from measure import Bench, DEVICE, Deadline

F8 = torch.float8_e4m3fn

# experts, of them for a token, hidden width, inner width on a rank, number types
SHAPES = [
    (8, 2, 4096, 14336, "bf16"), (8, 2, 4096, 7168, "bf16 fp8"), (8, 2, 6144, 2048, "bf16 fp8"),  # Mixtral
    (8, 2, 4096, 1792, "bf16 fp8"), (16, 1, 5120, 1024, "bf16 fp8"),  # Mixtral and Llama 4 Scout, a rank of 8
    (128, 8, 2048, 768, "bf16 fp8"), (128, 8, 2048, 384, "bf16 fp8"),  # Qwen3-30B-A3B
    (128, 8, 4096, 1536, "bf16 fp8"), (128, 8, 4096, 384, "bf16 fp8"), (128, 8, 4096, 192, "bf16"),  # Qwen3-235B-A22B
    (160, 8, 5120, 192, "bf16"), (384, 8, 7168, 256, "fp8"),  # GLM-4.5 and Kimi-K2, a rank of 8
    (512, 10, 2048, 512, "bf16 fp8"), (512, 10, 4096, 128, "bf16 fp8"),  # Qwen3-Next, Qwen3.5-397B-A17B
    (256, 8, 3072, 384, "bf16 fp8"),  # MiniMax-M2
    (256, 8, 7168, 2048, "fp8"), (256, 8, 7168, 512, "fp8"), (256, 8, 7168, 256, "bf16 fp8"),  # DeepSeek-V3
    (128, 4, 3072, 3072, "bf16"), (128, 4, 3072, 768, "bf16"),  # gpt-oss-120b, filled up to whole tiles
]
TOKENS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384]

# Tiles to choose from, by rows that an expert sees: BLOCK_M, BLOCK_N, BLOCK_K, GROUP_M, warps, stages.
TILES = {
    "bf16": {
        8: [(16, 64, 128, 1, 4, 4), (16, 128, 128, 1, 4, 3), (16, 64, 256, 1, 4, 3), (16, 128, 64, 1, 4, 5), (16, 32, 256, 1, 4, 4)],
        48: [(16, 128, 128, 1, 4, 3), (32, 128, 128, 8, 4, 3), (64, 128, 64, 8, 4, 4), (64, 64, 128, 8, 4, 3)],
        128: [(64, 128, 64, 8, 4, 4), (64, 128, 128, 8, 4, 3), (64, 256, 64, 8, 4, 4), (128, 128, 64, 8, 8, 4)],
        1 << 30: [(64, 256, 64, 8, 4, 4), (128, 128, 64, 8, 8, 4), (128, 256, 64, 8, 8, 3), (128, 256, 64, 16, 8, 4)],
    },
    "fp8": {
        8: [(16, 128, 128, 1, 4, 3), (16, 64, 128, 1, 4, 4), (16, 64, 128, 1, 4, 6), (16, 32, 128, 1, 4, 5), (16, 128, 128, 1, 4, 5)],
        48: [(16, 128, 128, 1, 4, 4), (32, 128, 128, 8, 4, 4), (64, 64, 128, 8, 4, 4), (64, 128, 128, 8, 4, 3)],
        128: [(64, 128, 128, 8, 4, 3), (64, 128, 128, 16, 4, 4), (128, 64, 128, 8, 4, 4), (128, 128, 128, 8, 8, 3)],
        1 << 30: [(64, 128, 128, 16, 4, 4), (128, 64, 128, 8, 4, 4), (128, 128, 128, 8, 8, 3), (128, 128, 128, 16, 4, 3)],
    },
}
BLOCK_MS = (16, 32, 64, 128)


@triton.jit(do_not_specialize=["pairs", "padded"])
def product(a, b, c, a_scale, b_scale, ids, owner, used, weights, pairs, padded, N, K,
            TOPK: tl.constexpr, WEIGHTED: tl.constexpr, FP8: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
            BK: tl.constexpr, GROUP: tl.constexpr):
    pid = tl.program_id(0)
    across, down = tl.cdiv(N, BN), tl.cdiv(padded, BM)
    group = pid // (GROUP * across)
    first = group * GROUP
    size = min(down - first, GROUP)
    pm = first + (pid % (GROUP * across)) % size
    pn = (pid % (GROUP * across)) // size
    if pm * BM >= tl.load(used):
        return
    rows = tl.load(ids + pm * BM + tl.arange(0, BM)).to(tl.int64)
    valid = rows < pairs
    e = tl.load(owner + pm).to(tl.int64)
    cols = (pn * BN + tl.arange(0, BN)) % N
    ks = tl.arange(0, BK)
    ap = a + (rows // TOPK)[:, None] * K + ks[None, :]
    bp = b + e * N * K + cols[None, :].to(tl.int64) * K + ks[:, None]
    acc = tl.zeros((BM, BN), tl.float32)
    if FP8:
        asp = a_scale + (rows // TOPK) * (K // 128)
        bsp = b_scale + e * tl.cdiv(N, 128) * (K // 128) + (cols // 128) * (K // 128)
    for k in range(0, tl.cdiv(K, BK)):
        x = tl.load(ap, mask=valid[:, None] & (ks[None, :] < K - k * BK), other=0.0)
        w = tl.load(bp, mask=ks[:, None] < K - k * BK, other=0.0)
        if FP8:
            sa = tl.load(asp + k * BK // 128, mask=valid, other=0.0)
            sb = tl.load(bsp + k * BK // 128)
            acc += tl.dot(x, w) * sa[:, None] * sb[None, :]
        else:
            acc = tl.dot(x, w, acc)
        ap += BK
        bp += BK
    if WEIGHTED:
        acc *= tl.load(weights + rows, mask=valid, other=0.0)[:, None]
    out = pn * BN + tl.arange(0, BN)
    tl.store(c + rows[:, None] * N + out[None, :], acc.to(tl.bfloat16), mask=valid[:, None] & (out[None, :] < N))


@triton.jit
def align_few(chosen, cursor, ids, owner, used, pairs, padded, E: tl.constexpr, T: tl.constexpr, P: tl.constexpr, BM: tl.constexpr):
    """Sorts few rows by expert in one program: count, fill up to whole tiles, say which expert each tile is of, place."""
    at = tl.arange(0, P)
    e = tl.load(chosen + at, mask=at < pairs, other=E - 1)
    n = tl.histogram(e, E) - tl.where(tl.arange(0, E) == E - 1, P - pairs, 0)
    tiles = (n + BM - 1) // BM
    end = tl.cumsum(tiles, 0)
    tl.store(cursor + tl.arange(0, E), (end - tiles) * BM)
    tl.store(used, tl.sum(tiles, 0) * BM)
    tl.store(owner + tl.arange(0, T), tl.cumsum(tl.histogram(tl.minimum(end, T - 1), T), 0))
    for start in range(0, padded, P):
        tl.store(ids + start + at, pairs, mask=start + at < padded)
    tl.debug_barrier()
    slot = tl.atomic_add(cursor + e, 1, mask=at < pairs)
    tl.store(ids + slot, at, mask=at < pairs)


@triton.jit
def count(chosen, counts, pairs, E: tl.constexpr, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    e = tl.load(chosen + at, mask=at < pairs, other=E - 1)
    h = tl.histogram(e, E)
    left = min(pairs - tl.program_id(0) * B, B)
    h -= tl.where(tl.arange(0, E) == E - 1, B - left, 0)
    tl.atomic_add(counts + tl.arange(0, E), h)


@triton.jit
def place(counts, cursor, used, owner, E: tl.constexpr, BM: tl.constexpr, B: tl.constexpr):
    """Where the rows of each expert begin, filled up to whole tiles; which expert each tile is of."""
    n = tl.load(counts + tl.arange(0, E))
    tiles = (n + BM - 1) // BM
    end = tl.cumsum(tiles, 0)
    tl.store(cursor + tl.arange(0, E), (end - tiles) * BM)
    tl.store(used, tl.sum(tiles, 0) * BM)
    tile = tl.program_id(0) * B + tl.arange(0, B)
    e = tl.sum((end[None, :] <= tile[:, None]).to(tl.int32), 1)
    tl.store(owner + tile, e, mask=tile < tl.sum(tiles, 0))


@triton.jit
def sort(chosen, cursor, ids, pairs, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    e = tl.load(chosen + at, mask=at < pairs, other=0)
    slot = tl.atomic_add(cursor + e, 1, mask=at < pairs)
    tl.store(ids + slot, at, mask=at < pairs)


@triton.jit
def silu_mul(x, y, I, B: tl.constexpr):
    row, at = tl.program_id(0).to(tl.int64), tl.program_id(1) * B + tl.arange(0, B)
    gate = tl.load(x + row * 2 * I + at, mask=at < I).to(tl.float32)
    up = tl.load(x + row * 2 * I + I + at, mask=at < I).to(tl.float32)
    tl.store(y + row * I + at, (gate * tl.sigmoid(gate) * up).to(tl.bfloat16), mask=at < I)


@triton.jit
def quantise(x, y, scale, groups, R: tl.constexpr):
    """R groups of 128 elements, each with a scale of its own."""
    g = tl.program_id(0).to(tl.int64) * R + tl.arange(0, R)
    at = g[:, None] * 128 + tl.arange(0, 128)[None, :]
    v = tl.load(x + at, mask=g[:, None] < groups, other=0.0).to(tl.float32)
    s = tl.maximum(tl.max(tl.abs(v), 1), 1e-10) / 448.0
    tl.store(scale + g, s, mask=g < groups)
    tl.store(y + at, (v / s[:, None]).to(tl.float8e4nv), mask=g[:, None] < groups)


@triton.jit
def add_up(x, y, H, TOPK: tl.constexpr, B: tl.constexpr):
    row, at = tl.program_id(0).to(tl.int64), tl.program_id(1) * B + tl.arange(0, B)
    acc = tl.zeros((B,), tl.float32)
    for i in range(TOPK):
        acc += tl.load(x + (row * TOPK + i) * H + at, mask=at < H).to(tl.float32)
    tl.store(y + row * H + at, acc.to(tl.bfloat16), mask=at < H)


def empty(*shape, dtype=torch.bfloat16):
    return torch.empty(*shape, device=DEVICE, dtype=dtype)


def quantised(x, y, s):
    groups = x.numel() // 128
    r = 16 if groups >= 1 << 14 else 4
    quantise[(triton.cdiv(groups, r),)](x, y, s, groups, R=r, num_warps=4)


class Weights:
    """The experts of one layer. They are larger than the cache, so that they are cold each time."""

    def __init__(self, e, h, i, dtype):
        self.e, self.h, self.i, self.dtype = e, h, i, dtype
        kind = F8 if dtype == "fp8" else torch.bfloat16

        def matrix(n, k):
            w = empty(e, n, k, dtype=kind)
            for part in w:
                part.copy_(torch.randn(n, k, device=DEVICE))
            return w

        self.up, self.down = matrix(2 * i, h), matrix(h, i)
        self.up_scale = torch.rand(e, -(-2 * i // 128), max(h // 128, 1), device=DEVICE)
        self.down_scale = torch.rand(e, -(-h // 128), max(i // 128, 1), device=DEVICE)


class Block:
    def __init__(self, w, m, topk):
        self.w, self.m, self.topk, self.pairs = w, m, topk, m * topk
        e, h, i, p = w.e, w.h, w.i, m * topk
        self.x = torch.randn(m, h, device=DEVICE).to(torch.bfloat16)
        scores = torch.rand(m, e, device=DEVICE)
        self.weights, chosen = torch.topk(scores, topk)
        self.chosen = chosen.to(torch.int32).flatten()
        self.weights = self.weights.flatten().contiguous()
        self.touched = int(self.chosen.unique().numel())
        self.most = p + min(e, p) * 127
        self.ids, self.owner = empty(self.most + 128, dtype=torch.int32), empty(self.most // 16 + 1100, dtype=torch.int32)
        self.width = triton.next_power_of_2(e + 1)
        self.counts, self.cursor, self.used = (empty(n, dtype=torch.int32) for n in (self.width, self.width, 1))
        self.middle, self.gated, self.wide, self.y = empty(p, 2 * i), empty(p, i), empty(p, h), empty(m, h)
        if w.dtype == "fp8":
            self.xq, self.xs = empty(m, h, dtype=F8), empty(m, h // 128, dtype=torch.float32)
            self.gq, self.gs = empty(p, i, dtype=F8), empty(p, max(i // 128, 1), dtype=torch.float32)

    def padded(self, bm):
        return self.pairs + min(self.w.e, self.pairs) * (bm - 1)

    def align(self, bm):
        """Rows sorted by expert, padded to tiles: in one kernel where they are few."""
        tiles = triton.cdiv(self.padded(bm), bm)
        if self.pairs <= 4096 and tiles < 1024:
            align_few[(1,)](self.chosen, self.cursor, self.ids, self.owner, self.used, self.pairs, self.padded(bm), E=self.width,
                            T=triton.next_power_of_2(tiles + 1), P=max(triton.next_power_of_2(self.pairs), 128), BM=bm, num_warps=8)
            return
        self.ids.fill_(self.pairs)
        self.counts.zero_()
        b = 1024
        count[(triton.cdiv(self.pairs, b),)](self.chosen, self.counts, self.pairs, E=self.width, B=b)
        place[(triton.cdiv(tiles, 16),)](self.counts, self.cursor, self.used, self.owner, E=self.width, BM=bm, B=16, num_warps=8)
        sort[(triton.cdiv(self.pairs, b),)](self.chosen, self.cursor, self.ids, self.pairs, B=b)

    def first(self, t):
        w = self.w
        a, s = (self.xq, self.xs) if w.dtype == "fp8" else (self.x, self.weights)
        self.multiply(a, w.up, self.middle, s, w.up_scale, 2 * w.i, w.h, self.topk, False, t)

    def second(self, t):
        w = self.w
        a, s = (self.gq, self.gs) if w.dtype == "fp8" else (self.gated, self.weights)
        self.multiply(a, w.down, self.wide, s, w.down_scale, w.h, w.i, 1, True, t)

    def multiply(self, a, b, c, sa, sb, n, k, topk, weighted, t):
        bm, bn, bk, group, warps, stages = t
        padded = self.padded(bm)
        grid = (triton.cdiv(padded, bm) * triton.cdiv(n, bn),)
        product[grid](a, b, c, sa, sb, self.ids, self.owner, self.used, self.weights, self.pairs, padded, n, k, TOPK=topk,
                      WEIGHTED=weighted, FP8=self.w.dtype == "fp8", BM=bm, BN=bn, BK=bk, GROUP=group, num_warps=warps,
                      num_stages=stages)

    def gate(self):
        i = self.w.i
        b = min(2048, triton.next_power_of_2(i))
        silu_mul[(self.pairs, triton.cdiv(i, b))](self.middle, self.gated, i, B=b)

    def sum(self):
        b = 1024
        add_up[(self.m, triton.cdiv(self.w.h, b))](self.wide, self.y, self.w.h, TOPK=self.topk, B=b)

    def run(self, up, down):
        self.align(up[0])
        if self.w.dtype == "fp8":
            quantised(self.x, self.xq, self.xs)
        self.first(up)
        self.gate()
        if self.w.dtype == "fp8":
            quantised(self.gated, self.gq, self.gs)
        self.second(down)
        self.sum()

    def error(self, up, down):
        """Against float32, of the first tokens."""
        w = self.w
        self.run(up, down)
        worst = 0.0
        for t in range(min(self.m, 4)):
            x = self.x[t].float()
            y = torch.zeros(w.h, device=DEVICE)
            for j in range(self.topk):
                e = int(self.chosen[t * self.topk + j])

                def dense(m, s):
                    if w.dtype != "fp8":
                        return m[e].float()
                    n, k = m.shape[1:]
                    return m[e].float() * s[e].repeat_interleave(128, 0)[:n].repeat_interleave(128, 1)[:, :k]

                v = dense(w.up, w.up_scale) @ x
                g, u = v[: w.i], v[w.i:]
                y += self.weights[t * self.topk + j] * (dense(w.down, w.down_scale) @ (g * torch.sigmoid(g) * u))
            worst = max(worst, float((self.y[t].float() - y).norm() / y.norm()))
        return worst


def tune(b, blocks, tiles, part):
    best = None
    for t in tiles:
        for block in blocks:
            block.align(t[0])
        try:
            seconds = b.time([lambda block=block: part(block, t) for block in blocks])
        except Deadline:
            raise
        except Exception as e:
            b.fail("tile " + str(t), blocks[0].w.dtype, e)
            continue
        if best is None or seconds < best[0]:
            best = seconds, t
    return best


def compile_some(job):
    """Compiles one tile into Triton's cache."""
    dtype, t = job
    w = Weights(8, 256, 256, dtype)
    block = Block(w, 16, 2)
    try:
        block.align(t[0])
        block.first(t)
        block.second(t)
        for topk in (1, 4, 8, 10):
            block = Block(w if topk < 8 else Weights(16, 256, 256, dtype), 16, topk)
            block.align(t[0])
            block.first(t)
        torch.cuda.synchronize()
    except Exception as e:
        print(dtype, t, str(e).splitlines()[0], file=sys.stderr)


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("-o", "--output", default="experts.csv")
    p.add_argument("--quick", action="store_true", help="fewer tokens and repeats")
    p.add_argument("--limit", type=float, default=420, help="stop measuring after so many seconds")
    args = p.parse_args()
    if not torch.cuda.is_available():
        sys.exit("no GPU that this PyTorch can use")
    torch.manual_seed(0)
    torch.set_grad_enabled(False)
    begin = time.monotonic()
    jobs = sorted({(d, t) for d in TILES for ts in TILES[d].values() for t in ts})
    with multiprocessing.get_context("spawn").Pool(12) as pool:
        pool.map(compile_some, jobs, chunksize=1)
    print(f"compiled {len(jobs)} tiles in {time.monotonic() - begin:.0f} s", file=sys.stderr)
    b = Bench(args)
    tokens = TOKENS[::3] if args.quick else TOKENS
    worst = {}
    try:
        for e, topk, h, i, types in SHAPES:
            for dtype in types.split():
                w = Weights(e, h, i, dtype)
                for m in tokens:
                    measure(b, w, m, topk, worst)
                del w
                torch.cuda.empty_cache()
    except Deadline:
        print("out of time", file=sys.stderr)
    with open(args.output, "w", newline="") as f:
        out = csv.writer(f, lineterminator="\n")
        out.writerow(["kind", "dtype", "params", "flops", "bytes", "time_us"])
        out.writerows(b.rows)
    print(f"{len(b.rows)} rows in {time.monotonic() - begin:.0f} s; largest error {worst}", file=sys.stderr)


def measure(b, w, m, topk, worst):
    blocks = [Block(w, m, topk)]
    size = (1 if w.dtype == "fp8" else 2) * 3 * w.h * w.i
    while len(blocks) < min(16, 4 * b.cache / (blocks[0].touched * size)):  # other experts, so that weights are cold
        blocks.append(Block(w, m, topk))
    touched = statistics.mean(block.touched for block in blocks)
    tiles = next(ts for most, ts in TILES[w.dtype].items() if m * topk / touched <= most)
    up, down = tune(b, blocks, tiles, Block.first), None
    if up is not None:
        down = tune(b, blocks, [t for t in tiles if t[0] == up[1][0]], Block.second)
    if down is None:
        return
    if m <= 64:
        worst[w.dtype] = max(worst.get(w.dtype, 0), blocks[0].error(up[1], down[1]))
    seconds = b.time([lambda block=block: block.run(up[1], down[1]) for block in blocks])
    params = dict(tokens=m, hidden=w.h, inter=w.i, topk=topk, experts=w.e, tp=1, ep=1, touched=round(touched),
                  up_ns=round(up[0] * 1e9), down_ns=round(down[0] * 1e9))
    text = ";".join(f"{k}={v}" for k, v in params.items())
    b.rows.append(["moe", w.dtype, text, 6 * m * topk * w.h * w.i, round(touched * size), f"{seconds * 1e6:.3f}"])


if __name__ == "__main__":
    main()
