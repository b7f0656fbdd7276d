#!/usr/bin/env python3
"""Measures the small kernels between the products of a model, fused as serving engines fuse them:
kind,dtype,params,flops,bytes,time_us.

    python3 small.py -o small.csv

Needs PyTorch with CUDA and Triton. Every kernel is measured in a CUDA graph, and launched one by one ("eager" in the
parameters: 1): then the host decides, one launch after the other. See README.md for the method.
"""

import argparse
import csv
import itertools
import sys
import time

import torch
import triton
import triton.language as tl

from measure import Bench, DEVICE, Deadline, rand
import experts

F8 = torch.float8_e4m3fn
ROWS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384]


@triton.jit
def rope_cache(qkv, angles, cache, slots, H: tl.constexpr, KV: tl.constexpr, D: tl.constexpr, B: tl.constexpr):
    """Rotates queries and keys in place, and writes keys and values to their slots of the cache; B heads at a time."""
    row = tl.program_id(0).to(tl.int64)
    head = (tl.program_id(1) * B + tl.arange(0, B))[:, None]
    half = tl.arange(0, D // 2)[None, :]
    there = (head < H + 2 * KV) & (half >= 0)
    at = qkv + row * (H + 2 * KV) * D + head * D + half
    x, y = tl.load(at, mask=there).to(tl.float32), tl.load(at + D // 2, mask=there).to(tl.float32)
    c, s = tl.load(angles + row * D + half), tl.load(angles + row * D + D // 2 + half)
    turned = (head < H + KV) & (half >= 0)
    u, v = tl.where(turned, x * c - y * s, x), tl.where(turned, y * c + x * s, y)
    tl.store(at, u.to(tl.bfloat16), mask=turned)
    tl.store(at + D // 2, v.to(tl.bfloat16), mask=turned)
    to = cache + tl.load(slots + row).to(tl.int64) * 2 * KV * D + (head - H) * D + half
    tl.store(to, u.to(tl.bfloat16), mask=there & (head >= H))
    tl.store(to + D // 2, v.to(tl.bfloat16), mask=there & (head >= H))


@triton.jit
def latent_cache(q, latent, key, angles, cache, slots, out, H: tl.constexpr, RANK: tl.constexpr, ROPE: tl.constexpr, B: tl.constexpr):
    """Rotates the rotary part of the queries into place behind their absorbed part; the first program of a token also
    writes its latent vector and its key to the cache."""
    row, first = tl.program_id(0).to(tl.int64), tl.program_id(1) * B
    head = (first + tl.arange(0, B))[:, None]
    half = tl.arange(0, ROPE // 2)
    c, s = tl.load(angles + row * ROPE + half), tl.load(angles + row * ROPE + ROPE // 2 + half)
    at = q + (row * H + head) * ROPE + half[None, :]
    there = (head < H) & (half[None, :] >= 0)
    x, y = tl.load(at, mask=there).to(tl.float32), tl.load(at + ROPE // 2, mask=there).to(tl.float32)
    to = out + (row * H + head) * (RANK + ROPE) + RANK + half[None, :]
    tl.store(to, (x * c[None, :] - y * s[None, :]).to(tl.bfloat16), mask=there)
    tl.store(to + ROPE // 2, (y * c[None, :] + x * s[None, :]).to(tl.bfloat16), mask=there)
    if first == 0:
        slot = cache + tl.load(slots + row).to(tl.int64) * (RANK + ROPE)
        r = tl.arange(0, RANK)
        tl.store(slot + r, tl.load(latent + row * RANK + r))
        k, l = tl.load(key + row * ROPE + half).to(tl.float32), tl.load(key + row * ROPE + ROPE // 2 + half).to(tl.float32)
        tl.store(slot + RANK + half, (k * c - l * s).to(tl.bfloat16))
        tl.store(slot + RANK + ROPE // 2 + half, (l * c + k * s).to(tl.bfloat16))


@triton.jit
def topk_softmax(x, weights, chosen, rows, E, K: tl.constexpr, EP: tl.constexpr, R: tl.constexpr):
    row = tl.program_id(0) * R + tl.arange(0, R)
    e = tl.arange(0, EP)
    v = tl.load(x + row[:, None] * E + e[None, :], mask=(row[:, None] < rows) & (e[None, :] < E), other=float("-inf")).to(tl.float32)
    v = tl.exp(v - tl.max(v, 1)[:, None])
    v = v / tl.sum(v, 1)[:, None]
    for i in range(K):
        top = tl.argmax(v, 1)
        tl.store(weights + row * K + i, tl.max(v, 1), mask=row < rows)
        tl.store(chosen + row * K + i, top, mask=row < rows)
        v = tl.where(e[None, :] == top[:, None], -1.0, v)


@triton.jit
def silu_quant(x, y, scale, I, B: tl.constexpr):
    """SiLU, the gate and quantisation in one kernel, as engines have it between grouped products."""
    row, g = tl.program_id(0).to(tl.int64), tl.program_id(1) * (B // 128) + tl.arange(0, B // 128)
    at = g[:, None] * 128 + tl.arange(0, 128)[None, :]
    gate = tl.load(x + row * 2 * I + at, mask=at < I, other=0.0).to(tl.float32)
    up = tl.load(x + row * 2 * I + I + at, mask=at < I, other=0.0).to(tl.float32)
    v = gate * tl.sigmoid(gate) * up
    s = tl.maximum(tl.max(tl.abs(v), 1), 1e-10) / 448.0
    tl.store(scale + row * (I // 128) + g, s, mask=g * 128 < I)
    tl.store(y + row * I + at, (v / s[:, None]).to(tl.float8e4nv), mask=at < I)


@triton.jit
def permute(x, scale, places, y, scales, H, K: tl.constexpr, B: tl.constexpr):
    """Copies each token, of one byte an element, and its scales to the rows of its experts."""
    row = tl.program_id(0).to(tl.int64)
    for start in range(0, H, B):
        at = start + tl.arange(0, B)
        v = tl.load(x + row * H + at, mask=at < H)
        g = start // 128 + tl.arange(0, B // 128)
        s = tl.load(scale + row * (H // 128) + g, mask=g < H // 128)
        for i in range(K):
            to = tl.load(places + row * K + i).to(tl.int64)
            tl.store(y + to * H + at, v, mask=at < H)
            tl.store(scales + to * (H // 128) + g, s, mask=g < H // 128)


@triton.jit
def unpermute(x, places, weights, y, H, K: tl.constexpr, B: tl.constexpr):
    """Adds up the results of the experts of a token, each times its weight."""
    row, at = tl.program_id(0).to(tl.int64), tl.program_id(1) * B + tl.arange(0, B)
    acc = tl.zeros((B,), tl.float32)
    for i in range(K):
        p = tl.load(places + row * K + i).to(tl.int64)
        acc += tl.load(weights + row * K + i) * tl.load(x + p * H + at, mask=at < H).to(tl.float32)
    tl.store(y + row * H + at, acc.to(tl.bfloat16), mask=at < H)


@triton.jit
def delta_gates(ab, bias, decay, g, beta, rows, H: tl.constexpr, HP: tl.constexpr):
    """Decay and strength of every head of the gated delta rule: -exp(A)·softplus(a + bias), sigmoid(b)."""
    row, h = tl.program_id(0), tl.arange(0, HP)
    on = h < H
    a = tl.load(ab + row * 2 * H + h, mask=on).to(tl.float32) + tl.load(bias + h, mask=on)
    b = tl.load(ab + row * 2 * H + H + h, mask=on).to(tl.float32)
    soft = tl.where(a > 20, a, tl.log(1 + tl.exp(a)))
    tl.store(g + row * H + h, -tl.exp(tl.load(decay + h, mask=on)) * soft, mask=on)
    tl.store(beta + row * H + h, tl.sigmoid(b), mask=on)


def ints(high, *shape):
    return torch.randint(0, high, shape, device=DEVICE, dtype=torch.int32)


class Small:
    def __init__(self, args):
        self.b = Bench(args)
        self.rows = ROWS[::3] if args.quick else ROWS

    def add(self, kind, params, size, make, dtype="bf16"):
        """In a graph, and launched one by one. Activations of small batches stay in the cache, as in a model."""
        b = self.b
        try:
            calls = [make() for _ in range(1 if size < 1 << 23 else b.copies(size))]
            seconds = b.time(calls)
            n = 300 if seconds < 50e-6 else 30
            times = []
            for _ in range(3):
                torch.cuda.synchronize()
                begin = time.perf_counter()
                for i in range(n):
                    calls[i % len(calls)]()
                torch.cuda.synchronize()
                times.append((time.perf_counter() - begin) / n)
        except Deadline:
            raise
        except Exception as e:
            b.fail(kind, dtype, e)
            torch.cuda.empty_cache()
            return
        for eager, t in ((0, seconds), (1, min(times))):
            text = ";".join(f"{k}={v}" for k, v in dict(params, eager=eager).items())
            b.rows.append([kind, dtype, text, 0, int(size), f"{t * 1e6:.3f}"])

    def quantise(self):
        for k, m in itertools.product([1536, 2048, 4096, 7168, 16384], self.rows):
            def make():
                x, y, s = rand(m, k), experts.empty(m, k, dtype=F8), experts.empty(m, k // 128, dtype=torch.float32)
                return lambda: experts.quantised(x, y, s)

            self.add("quantise", dict(m=m, k=k), m * k * (2 + 1 + 4 / 128), make)

    def silu_quant(self):
        for i, m in itertools.product([256, 2048, 14336], self.rows):
            b = min(2048, triton.next_power_of_2(i))

            def make():
                x, y, s = rand(m, 2 * i), experts.empty(m, i, dtype=F8), experts.empty(m, i // 128, dtype=torch.float32)
                return lambda: silu_quant[(m, triton.cdiv(i, b))](x, y, s, i, B=b)

            self.add("silu_quant", dict(m=m, i=i), m * i * (4 + 1 + 4 / 128), make)

    def rope(self):
        for (h, kv, d), m in itertools.product([(32, 8, 128), (64, 8, 128), (8, 1, 128), (32, 4, 128), (16, 2, 256), (64, 8, 64)], self.rows):
            def make():
                qkv, angles, slots = rand(m, (h + 2 * kv) * d), torch.rand(m, d, device=DEVICE), torch.randperm(m, device=DEVICE)
                cache = experts.empty(m, 2 * kv * d)
                b = 16
                return lambda: rope_cache[(m, triton.cdiv(h + 2 * kv, b))](qkv, angles, cache, slots, H=h, KV=kv, D=d, B=b, num_warps=4)

            # Queries and keys are read and written, keys and values written to the cache, values read.
            self.add("rope_cache", dict(m=m, h=h, hk=kv, d=d), 2 * m * d * (2 * h + 4 * kv), make)

    def latent(self):
        for h, m in itertools.product([128, 16], self.rows):
            def make():
                q, latent, key = rand(m, h, 64), rand(m, 512), rand(m, 64)
                angles, slots = torch.rand(m, 64, device=DEVICE), torch.randperm(m, device=DEVICE)
                cache, out = experts.empty(m, 576), experts.empty(m, h, 576)
                b = 16
                return lambda: latent_cache[(m, triton.cdiv(h, b))](q, latent, key, angles, cache, slots, out, H=h, RANK=512, ROPE=64, B=b, num_warps=4)

            self.add("rope_cache", dict(m=m, h=h, hk=1, d=576), 2 * m * (2 * 64 * h + 2 * 576), make)

    def topk(self):
        for (e, k), m in itertools.product([(8, 2), (128, 8), (256, 8), (512, 10)], self.rows):
            r = max(1, 512 // triton.next_power_of_2(e))

            def make():
                x, w, c = rand(m, e), experts.empty(m, k, dtype=torch.float32), ints(e, m, k)
                return lambda: topk_softmax[(triton.cdiv(m, r),)](x, w, c, m, e, K=k, EP=triton.next_power_of_2(e), R=r, num_warps=4)

            self.add("topk", dict(m=m, experts=e, topk=k), m * (2 * e + 8 * k), make)

    def align(self):
        for (e, k), m in itertools.product([(8, 2), (128, 8), (256, 8), (512, 10)], self.rows):
            def make():
                w = type("W", (), dict(e=e, h=128, i=128, dtype="bf16"))
                block = experts.Block(w, m, k)
                return lambda: block.align(64)

            self.add("align", dict(m=m, experts=e, topk=k), 4 * m * k * 3, make)

    def permute(self):
        for (h, k), m in itertools.product([(2048, 8), (4096, 8), (7168, 8)], self.rows):
            def make():
                x, s = rand(m, h).to(F8).view(torch.uint8), torch.rand(m, h // 128, device=DEVICE)
                y, t = experts.empty(m * k, h, dtype=torch.uint8), experts.empty(m * k, h // 128, dtype=torch.float32)
                places = torch.randperm(m * k, device=DEVICE).to(torch.int32)
                return lambda: permute[(m,)](x, s, places, y, t, h, K=k, B=1024)

            self.add("permute", dict(m=m, h=h, topk=k), m * (1 + k) * (h + 4 * h // 128), make, "fp8")

            def back():
                x, y = rand(m * k, h), experts.empty(m, h)
                places, w = torch.randperm(m * k, device=DEVICE).to(torch.int32), torch.rand(m, k, device=DEVICE)
                return lambda: unpermute[(m, triton.cdiv(h, 1024))](x, places, w, y, h, K=k, B=1024)

            self.add("unpermute", dict(m=m, h=h, topk=k), 2 * m * (1 + k) * h, back)

    def sample(self):
        for v, m in itertools.product([32000, 128256, 151936], [r for r in self.rows if r <= 1024]):
            def make():
                x = rand(m, v)
                return lambda: x.argmax(-1)

            self.add("argmax", dict(m=m, n=v), 2 * m * v, make)

            def draw():
                x = rand(m, v)

                def call():  # at a temperature: probabilities over exponential noise, of which the largest wins
                    p = torch.softmax(x.float() * 0.9, -1)
                    return p.div_(torch.empty_like(p).exponential_()).argmax(-1)

                return call

            self.add("sample", dict(m=m, n=v), 2 * m * v, draw)

    def gates(self):
        for h, m in itertools.product([32, 16, 4], self.rows):
            def make():
                ab, bias, decay = rand(m, 2 * h), torch.rand(h, device=DEVICE), torch.rand(h, device=DEVICE)
                g, beta = experts.empty(m, h, dtype=torch.float32), experts.empty(m, h, dtype=torch.float32)
                return lambda: delta_gates[(m,)](ab, bias, decay, g, beta, m, H=h, HP=h, num_warps=1)

            self.add("delta_gates", dict(m=m, h=h), m * h * (4 + 8), make)


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("-o", "--output", default="small.csv")
    p.add_argument("--quick", action="store_true", help="fewer shapes and repeats")
    p.add_argument("--limit", type=float, default=240, help="stop measuring after so many seconds")
    args = p.parse_args()
    if not torch.cuda.is_available():
        sys.exit("no GPU that this PyTorch can use")
    torch.manual_seed(0)
    torch.set_grad_enabled(False)
    s = Small(args)
    for part in (s.quantise, s.silu_quant, s.rope, s.latent, s.topk, s.align, s.permute, s.sample, s.gates):
        begin, before = time.monotonic(), len(s.b.rows)
        try:
            part()
        except Deadline:
            print("out of time", file=sys.stderr)
        print(f"{part.__name__}: {len(s.b.rows) - before} rows in {time.monotonic() - begin:.0f} s", file=sys.stderr)
        torch.cuda.empty_cache()
    with open(args.output, "w", newline="") as f:
        out = csv.writer(f, lineterminator="\n")
        out.writerow(["kind", "dtype", "params", "flops", "bytes", "time_us"])
        out.writerows(s.b.rows)
    for (kind, dtype), n in s.b.failed.items():
        print(f"left out: {n} of {kind} {dtype}", file=sys.stderr)


if __name__ == "__main__":
    main()
