#!/usr/bin/env python3
"""Measures kernels on one GPU and writes them as a table: kind,dtype,params,flops,bytes,time_us.

    python3 measure.py -o ops.csv            # about four minutes
    python3 measure.py -o ops.csv --quick    # a coarse pass of under a minute

Needs PyTorch with CUDA and nothing else. A kernel that this GPU or this PyTorch cannot run is reported on standard
error and left out; the others are measured. See README.md for the method.
"""

import argparse
import csv
import itertools
import math
import statistics
import sys
import time

import torch
import torch.nn.functional as F

DEVICE = "cuda"
COLD = 4  # buffers that rotate hold so many times the L2 cache


class Deadline(Exception):
    pass


class Bench:
    def __init__(self, args):
        props = torch.cuda.get_device_properties(0)
        self.cache = getattr(props, "L2_cache_size", 0) or 64 << 20
        self.memory = props.total_memory
        self.repeats = 5 if args.quick else 9
        self.target = (0.5e-3 if args.quick else 1.5e-3)  # seconds that one replay should last at least
        self.end = time.monotonic() + args.limit
        self.rows = []
        self.failed = {}

    def copies(self, size):
        """How many buffers of so many bytes make the cache cold."""
        n = max(1, math.ceil(COLD * self.cache / max(size, 1)))
        return min(n, 64, max(1, int(self.memory * 0.3 / max(size, 1))))

    def time(self, calls):
        """Median seconds of one call; calls do the same on different buffers. They run in a CUDA graph."""
        if time.monotonic() > self.end:
            raise Deadline
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for c in calls[:3]:
                c()  # compile, choose algorithms, fill the allocator
            torch.cuda.synchronize()
            begin = time.perf_counter()
            for c in calls[:3]:
                c()
            torch.cuda.synchronize()
            rough = (time.perf_counter() - begin) / len(calls[:3])
        torch.cuda.current_stream().wait_stream(stream)
        # Every buffer comes once in a round; rounds until a replay is long against the resolution of events.
        rounds = max(1, min(math.ceil(self.target / max(rough * len(calls), 1e-7)), math.ceil(400 / len(calls))))
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(rounds):
                for c in calls:
                    c()
        graph.replay()
        torch.cuda.synchronize()
        times = []
        start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        for _ in range(self.repeats):
            start.record()
            graph.replay()
            stop.record()
            stop.synchronize()
            times.append(start.elapsed_time(stop) * 1e-3)
        del graph
        return statistics.median(times) / (rounds * len(calls))

    def add(self, kind, dtype, params, flops, size, make):
        """Measures one shape. make returns one call on buffers of its own."""
        try:
            calls = [make() for _ in range(self.copies(size))]
            seconds = self.time(calls)
        except Deadline:
            raise
        except Exception as e:  # what this GPU cannot do must not stop the rest
            self.fail(kind, dtype, e)
            torch.cuda.empty_cache()
            return
        finally:
            calls = None
        text = ";".join(f"{k}={v}" for k, v in params.items())
        self.rows.append([kind, dtype, text, int(flops), int(size), f"{seconds * 1e6:.3f}"])

    def fail(self, kind, dtype, error):
        key = (kind, dtype)
        if key not in self.failed:
            print(f"{kind} {dtype}: {type(error).__name__}: {str(error).splitlines()[0]}", file=sys.stderr)
        self.failed[key] = self.failed.get(key, 0) + 1


def rand(*shape, dtype=torch.bfloat16):
    return torch.randn(*shape, device=DEVICE, dtype=torch.bfloat16).to(dtype)


# Shapes n, k of projections: of small to large models, whole and split over ranks, so that the grid of n and k is
# covered from 512 to 65536.
SHAPES = [
    (768, 768), (2304, 768), (3072, 768), (768, 3072), (2112, 7168), (24576, 1536), (32768, 512), (7168, 16384),
    (4096, 7168), (7168, 2048), (36864, 7168), (7168, 18432), (6144, 4096), (4096, 4096), (28672, 4096), (4096, 14336),
    (10240, 8192), (8192, 8192), (57344, 8192), (8192, 28672), (1280, 8192), (8192, 1024), (8192, 3584), (5120, 25600),
    (1024, 4096), (512, 512), (16384, 16384), (2048, 2048), (65536, 4096), (1024, 16384),
]
ROWS = [1, 2, 4, 8, 16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 1024, 2048, 4096, 8192, 16384]


def gemm_bf16(b, args):
    rows = ROWS[::3] if args.quick else ROWS
    for (n, k), m in itertools.product(SHAPES, rows):
        size = 2 * (m * k + k * n + m * n)

        def make():
            x, w = rand(m, k), rand(n, k)
            out = torch.empty(m, n, device=DEVICE, dtype=torch.bfloat16)
            return lambda: torch.mm(x, w.t(), out=out)

        b.add("gemm", "bf16", dict(m=m, n=n, k=k), 2 * m * n * k, size, make)


def gemm_fp8(b, args):
    rows = ROWS[::3] if args.quick else ROWS
    f8 = torch.float8_e4m3fn
    one = torch.ones((), device=DEVICE)
    for (n, k), m in itertools.product(SHAPES, rows):
        size = m * k + k * n + 2 * m * n
        padded = -(-m // 16) * 16  # rows of the operand; the library wants multiples of 16 there

        def make():
            x, w = rand(padded, k, dtype=f8)[:m] if m < 16 else rand(m, k, dtype=f8), rand(n, k, dtype=f8)
            return lambda: torch._scaled_mm(x, w.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16)

        b.add("gemm", "fp8", dict(m=m, n=n, k=k), 2 * m * n * k, size, make)


def grouped(b, args):
    """One kernel for all experts where PyTorch has it."""
    kernel = getattr(F, "grouped_mm", None) or getattr(torch, "_grouped_mm", None)
    if kernel is None:
        return b.fail("grouped_gemm", "bf16", RuntimeError("this PyTorch has no grouped_mm"))
    shapes = [(8, 4096, 7168), (8, 7168, 2048), (32, 4096, 7168), (32, 7168, 2048), (16, 3072, 4096), (16, 4096, 1536),
              (64, 2048, 2048), (128, 1536, 2048)]
    rows = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]
    for (e, n, k), m in itertools.product(shapes, rows[::2] if args.quick else rows):
        size = 2 * e * (m * k + k * n + m * n)

        def make():
            x, w = rand(e * m, k), rand(e, n, k)
            ends = torch.arange(m, e * m + 1, m, device=DEVICE, dtype=torch.int32)
            return lambda: kernel(x, w.transpose(1, 2), offs=ends)

        b.add("grouped_gemm", "bf16", dict(experts=e, m=m, n=n, k=k), 2 * e * m * n * k, size, make)


def fastest_attention(b, kind, params, flops, size, make):
    """The fastest of the kernels that PyTorch offers for the shape."""
    try:
        from torch.nn.attention import SDPBackend, sdpa_kernel
    except ImportError as e:
        return b.fail(kind, "bf16", e)
    best = None
    for backend in (SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION):
        try:
            calls = [make() for _ in range(b.copies(size))]

            def inside(c):
                def call():
                    with sdpa_kernel(backend):
                        return c()
                return call

            seconds = b.time([inside(c) for c in calls])
        except Deadline:
            raise
        except Exception as e:
            b.fail(f"{kind} {backend.name}", "bf16", e)
            torch.cuda.empty_cache()
            continue
        finally:
            calls = None
        if best is None or seconds < best[0]:
            best = seconds, backend.name
    if best:
        text = ";".join(f"{k}={v}" for k, v in dict(params, backend=best[1]).items())
        b.rows.append([kind, "bf16", text, int(flops), int(size), f"{best[0] * 1e6:.3f}"])


def prefill(b, args):
    heads = [(32, 8, 128, 128), (64, 8, 128, 128), (8, 1, 128, 128), (16, 16, 192, 128), (128, 128, 192, 128),
             (12, 12, 64, 64), (32, 8, 64, 64), (16, 2, 256, 256)]
    lengths = [(1, 512), (1, 1024), (1, 2048), (1, 4096), (1, 8192), (1, 16384), (4, 1024), (4, 4096), (16, 1024),
               (64, 128), (16, 256)]
    for (h, hk, dq, dv), (n, s) in itertools.product(heads, lengths[::2] if args.quick else lengths):
        size = 2 * n * s * (h + hk) * (dq + dv)

        def make():
            q, k, v = rand(n, h, s, dq), rand(n, hk, s, dq), rand(n, hk, s, dv)
            return lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=h != hk)

        fastest_attention(b, "attn_prefill", dict(b=n, s=s, h=h, hk=hk, dq=dq, dv=dv), n * h * s * s * (dq + dv), size, make)


def decode(b, args):
    heads = [(32, 8, 128), (16, 2, 128), (8, 1, 128), (64, 8, 128), (32, 32, 128), (12, 12, 64), (8, 4, 256)]
    batches, contexts = [1, 8, 32, 128, 256], [512, 2048, 8192, 32768]
    for (h, hk, d), n, s in itertools.product(heads, batches, contexts[::2] if args.quick else contexts):
        size = 2 * n * d * (2 * s * hk + 2 * h)
        if size > 0.2 * b.memory:
            continue

        def make():
            q, k, v = rand(n, h, 1, d), rand(n, hk, s, d), rand(n, hk, s, d)
            return lambda: F.scaled_dot_product_attention(q, k, v, enable_gqa=h != hk)

        fastest_attention(b, "attn_decode", dict(b=n, s=s, h=h, hk=hk, d=d), 4 * n * h * s * d, size, make)


def elementwise(b, args):
    rows = [1, 16, 64, 256, 1024, 4096, 16384]
    try:
        def norm_of(x, r, w):
            y = x + r
            z = y.float()
            return y, (z * torch.rsqrt(z.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype) * w

        def silu_of(x):
            gate, up = x.chunk(2, dim=-1)
            return F.silu(gate) * up

        norm = torch.compile(norm_of, dynamic=False)
        silu = torch.compile(silu_of, dynamic=False)
    except Exception as e:
        return b.fail("elementwise", "bf16", e)
    torch._dynamo.config.cache_size_limit = 64
    for h, m in itertools.product([4096, 8192] if args.quick else [2048, 4096, 7168, 8192], rows):
        def make():
            x, r, w = rand(m, h), rand(m, h), rand(h)
            return lambda: norm(x, r, w)

        b.add("add_rmsnorm", "bf16", dict(m=m, h=h), 6 * m * h, 4 * 2 * m * h, make)
    for i, m in itertools.product([14336] if args.quick else [2048, 14336, 25600], rows):
        def make():
            x = rand(m, 2 * i)
            return lambda: silu(x)

        b.add("silu_mul", "bf16", dict(m=m, i=i), 5 * m * i, 3 * 2 * m * i, make)


def copies(b, args):
    for e in range(10, 33, 2 if args.quick else 1):
        n = 1 << e
        if 2 * n > 0.3 * b.memory:
            break

        def make():
            x, y = torch.empty(n, device=DEVICE, dtype=torch.uint8).random_(), torch.empty(n, device=DEVICE, dtype=torch.uint8)
            return lambda: y.copy_(x)

        b.add("d2d_copy", "u8", dict(n=n), 0, 2 * n, make)
    # Between host and device: events around several copies, as graphs of pageable copies are not possible.
    for e, pinned in itertools.product(range(12, 31, 2), (True, False)):
        n = 1 << e
        try:
            host = torch.empty(n, dtype=torch.uint8, pin_memory=pinned)
            dev = torch.empty(n, dtype=torch.uint8, device=DEVICE)
            for kind, to, of in (("d2h", host, dev), ("h2d", dev, host)):
                count, times = (20 if n < 1 << 24 else 2), []
                for trial in range(b.repeats + 1):
                    torch.cuda.synchronize()
                    begin = time.perf_counter()
                    for _ in range(count):
                        to.copy_(of, non_blocking=pinned)
                    torch.cuda.synchronize()
                    if trial > 0:
                        times.append((time.perf_counter() - begin) / count)
                b.rows.append([kind, "pinned" if pinned else "pageable", f"n={n}", 0, n, f"{statistics.median(times) * 1e6:.3f}"])
        except Exception as err:
            b.fail("host copy", "pinned" if pinned else "pageable", err)


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("-o", "--output", default="ops.csv")
    p.add_argument("--quick", action="store_true", help="fewer shapes and repeats")
    p.add_argument("--only", help="comma-separated parts: " + ", ".join(PARTS))
    p.add_argument("--limit", type=float, default=285, help="stop measuring after so many seconds")
    args = p.parse_args()
    if not torch.cuda.is_available():
        sys.exit("no GPU that this PyTorch can use")
    parts = args.only.split(",") if args.only else list(PARTS)
    unknown = [x for x in parts if x not in PARTS]
    if unknown:
        sys.exit(f"unknown parts {', '.join(unknown)}; there are {', '.join(PARTS)}")
    torch.manual_seed(0)
    torch.set_grad_enabled(False)
    b = Bench(args)
    print(f"{torch.cuda.get_device_name(0)}, PyTorch {torch.__version__}, CUDA {torch.version.cuda}, "
          f"L2 {b.cache >> 20} MiB", file=sys.stderr)
    warm = rand(8192, 8192)
    until = time.monotonic() + 2
    while time.monotonic() < until:  # clocks up
        warm @ warm
        torch.cuda.synchronize()
    del warm
    left = []
    for name in parts:
        begin, before = time.monotonic(), len(b.rows)
        try:
            PARTS[name](b, args)
        except Deadline:
            left.append(name)
        except Exception as e:
            b.fail(name, "-", e)
        torch.cuda.empty_cache()
        print(f"{name}: {len(b.rows) - before} rows in {time.monotonic() - begin:.0f} s", file=sys.stderr)
        with open(args.output, "w", newline="") as f:  # after every part, so that an interrupted run leaves something
            w = csv.writer(f, lineterminator="\n")
            w.writerow(["kind", "dtype", "params", "flops", "bytes", "time_us"])
            w.writerows(b.rows)
    for (kind, dtype), n in b.failed.items():
        print(f"left out: {n} of {kind} {dtype}", file=sys.stderr)
    if left:
        print(f"out of time in: {', '.join(left)}; give --limit or --only", file=sys.stderr)


PARTS = {
    "copies": copies, "elementwise": elementwise, "decode": decode, "prefill": prefill, "grouped": grouped,
    "gemm_fp8": gemm_fp8, "gemm_bf16": gemm_bf16,
}

if __name__ == "__main__":
    main()
