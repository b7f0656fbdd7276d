#!/usr/bin/env python3
"""Measures what eager PyTorch takes on a host and on its GPU: kernels on the CPU, the host's time for a launch, memory that
is new, and a model that Hugging Face transformers runs, prefilled and decoded on either.

    python3 eager.py -o DIR            # about five minutes on 16 cores and one GPU
    python3 eager.py -o DIR --tiny     # seconds: whether all of it runs

Writes cpu.csv and gpu.csv (kind,dtype,params,flops,bytes,time_us, as measure.py does, which `throughline calibrate` reads),
eager.csv (kind,model,params,time_ms: launches, memory, whole runs) and machine.txt. A part that this machine cannot run is
named on standard error and left out. See README.md for the method.
"""

import argparse
import csv
import math
import os
import statistics
import subprocess
import sys
import time

import torch
import torch.nn.functional as F

COLD = 512 << 20  # operands rotate through so many bytes: more than the caches of a socket
GPU = torch.cuda.is_available()


class Table:
    """Rows of one file, written after every part, so that an interrupted run leaves something."""

    def __init__(self, path, head):
        self.path, self.head, self.rows = path, head, []

    def add(self, *row):
        self.rows.append(row)

    def write(self):
        with open(self.path, "w", newline="") as f:
            w = csv.writer(f, lineterminator="\n")
            w.writerow(self.head)
            w.writerows(self.rows)


def words(params):
    return ";".join(f"{k}={v}" for k, v in params.items())


def wait(device):
    if device == "cuda":
        torch.cuda.synchronize()


class Bench:
    def __init__(self, args):
        head = ["kind", "dtype", "params", "flops", "bytes", "time_us"]
        self.tables = {d: Table(os.path.join(args.output, n), head) for d, n in (("cpu", "cpu.csv"), ("cuda", "gpu.csv"))}
        self.whole = Table(os.path.join(args.output, "eager.csv"), ["kind", "model", "params", "time_ms"])
        self.tiny = args.tiny
        self.end = time.monotonic() + args.limit
        self.least = 0.01 if args.tiny else 0.15  # seconds that a shape is measured at least
        self.said = set()

    def late(self, share=1.0):
        return time.monotonic() > self.end - (1 - share) * 60

    def time(self, calls, device):
        """Median seconds of a call; calls do the same on other operands. Calls that are short against the clock go together."""
        for c in calls[:2]:
            c()
        wait(device)
        begin = time.perf_counter()
        calls[0]()
        wait(device)
        rough = time.perf_counter() - begin
        together = max(1, min(200, math.ceil(1e-3 / max(rough, 1e-7))))
        times, used, i = [], 0.0, 0
        while len(times) < 3 or used < self.least and len(times) < 50:
            begin = time.perf_counter()
            for _ in range(together):
                calls[i % len(calls)]()
                i += 1
            wait(device)
            took = time.perf_counter() - begin
            used += took
            times.append(took / together)
        return statistics.median(times)

    def kernel(self, device, kind, dtype, params, flops, size, make):
        if self.late():
            return None
        try:
            n = max(1, min(64, math.ceil(COLD / max(size, 1)))) if not self.tiny else 2
            seconds = self.time([make() for _ in range(n)], device)
        except Exception as e:  # what this machine cannot do must not stop the rest
            self.fail(f"{kind} {dtype} on {device}", e)
            return None
        self.tables[device].add(kind, dtype, words(params), int(flops), int(size), f"{seconds * 1e6:.3f}")
        return seconds

    def fail(self, what, error):
        if what not in self.said:
            self.said.add(what)
            print(f"{what}: {type(error).__name__}: {(str(error).splitlines() or [''])[0]}", file=sys.stderr, flush=True)

    def ran(self, kind, model, params, seconds):
        self.whole.add(kind, model, words(params), f"{seconds * 1e3:.6f}")
        print(f"  {kind} {model} {words(params)}: {seconds * 1e3:.4f} ms", flush=True)


DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}
WIDTH = {"fp32": 4, "bf16": 2}


NORMAL = torch.randn(1 << 20)


def rand(device, dtype, *shape):
    """Normal numbers. A CPU draws them slowly: there they repeat."""
    if device != "cpu":
        return torch.randn(*shape, device=device).to(DTYPES[dtype])
    n = math.prod(shape)
    return NORMAL.repeat(-(-n // len(NORMAL)))[:n].reshape(shape).to(DTYPES[dtype]).clone()


# ---- kernels -------------------------------------------------------------------------------------------------------------

GPT2 = [(2304, 768), (768, 768), (3072, 768), (768, 3072), (50257, 768)]  # n, k: with biases; the head without


def products(b, device):
    shapes = [("fp32", n, k, m) for n, k in GPT2 for m in (1, 16, 100, 400, 1600, 6400)]
    shapes += [("fp32", 4096, 4096, m) for m in (1, 100, 1024)] + [("bf16", n, k, m) for n, k in GPT2[:4] + [(4096, 4096)] for m in (1, 100, 1600)]
    for dtype, n, k, m in shapes if not b.tiny else [("fp32", 64, 32, 8), ("bf16", 64, 32, 8)]:
        def make():
            x, w, bias = rand(device, dtype, m, k), rand(device, dtype, k, n), rand(device, dtype, n)
            if n > 4 * k:  # the head, stored the other way round
                w = w.t().contiguous()
                return lambda: F.linear(x, w)
            return lambda: torch.addmm(bias, x, w)

        b.kernel(device, "gemm", dtype, dict(m=m, n=n, k=k), 2 * m * n * k, WIDTH[dtype] * (m * k + k * n + m * n), make)


def attention(b, device):
    h, d = 12, 64
    for n, s in [(100, 64), (16, 512)] if not b.tiny else [(2, 8)]:
        def make():
            q, k, v = (rand(device, "fp32", n, h, s, d) for _ in range(3))
            return lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True)

        b.kernel(device, "attn_prefill", "fp32", dict(b=n, s=s, h=h, hk=h, dq=d, dv=d), n * h * s * s * 2 * d, 16 * n * s * h * d, make)
    for n, s in [(1, 512), (16, 512), (100, 65), (100, 192), (100, 320), (100, 448), (100, 576)] if not b.tiny else [(2, 8)]:
        def make():
            q, k, v = rand(device, "fp32", n, h, 1, d), rand(device, "fp32", n, h, s, d), rand(device, "fp32", n, h, s, d)
            return lambda: F.scaled_dot_product_attention(q, k, v)

        b.kernel(device, "attn_decode", "fp32", dict(b=n, s=s, h=h, hk=h, d=d), 4 * n * h * s * d, 8 * n * d * h * (s + 1), make)


def elementwise(b, device):
    """One kernel over rows of a width, as eager mode runs them: the result is allocated each time."""
    for m, width in [(100, 768), (100, 3072), (6400, 768), (6400, 3072)] if not b.tiny else [(4, 8)]:
        n = m * width
        ops = {
            "layer_norm": lambda x, y, w: F.layer_norm(x, (width,), w, w), "add": lambda x, y, w: x + y, "mul": lambda x, y, w: 0.5 * x,
            "pow": lambda x, y, w: torch.pow(x, 3.0), "tanh": lambda x, y, w: torch.tanh(x), "contiguous": lambda x, y, w: x.view(m, 4, -1).transpose(0, 1).contiguous(),
        }
        for name, f in ops.items():
            def make():
                x, y, w = rand(device, "fp32", m, width), rand(device, "fp32", m, width), rand(device, "fp32", width)
                return lambda: f(x, y, w)

            # Tables of kernels know norms, and products with a gate, which move what an addition moves.
            if name == "layer_norm":
                b.kernel(device, "add_rmsnorm", "fp32", dict(m=m, h=width, backend=name), n, 8 * n, make)
            elif name == "add":
                b.kernel(device, "silu_mul", "fp32", dict(m=m, i=width, backend=name), n, 12 * n, make)
            else:
                b.ran("pass_" + device, "-", dict(op=name, m=m, n=width), b.time([make() for _ in range(8)], device))


def copies(b, device):
    for e in (16, 20, 22, 24, 26, 28, 29) if not b.tiny else (10,):
        n = 1 << e

        def make():
            x, y = torch.ones(n // 4, device=device), torch.ones(n // 4, device=device)
            return lambda: y.copy_(x)

        b.kernel(device, "d2d_copy", "u8", dict(n=n), 0, 2 * n, make)


# ---- memory --------------------------------------------------------------------------------------------------------------

def memory(b):
    """New memory on the host: what touching it for the first time adds, by one thread and by all."""
    threads = torch.get_num_threads()
    for used in (1, threads):
        torch.set_num_threads(used)
        for e in (20, 22, 24, 25, 26, 27, 28) if not b.tiny else (12,):
            n = 1 << e
            old = torch.ones(n // 4)
            b.ran("fill_known", "-", dict(n=n, threads=used), b.time([lambda: old.fill_(1.0)], "cpu"))
            b.ran("fill_new", "-", dict(n=n, threads=used), b.time([lambda: torch.empty(n // 4).fill_(1.0)], "cpu"))
    torch.set_num_threads(threads)
    if not GPU:
        return
    for e in (20, 22, 24, 26, 28):
        n = 1 << e
        x, known = torch.ones(n // 4, device="cuda"), torch.ones(n // 4)
        b.ran("d2h_known", "-", dict(n=n), b.time([lambda: known.copy_(x)], "cuda"))
        b.ran("d2h_new", "-", dict(n=n), b.time([lambda: x.to("cpu")], "cuda"))
    layers = [torch.ones(100, 12, 64, 64, device="cuda") for _ in range(24)]
    b.ran("d2h_cache", "gpt2", dict(b=100, s=64), b.time([lambda: [x.to("cpu") for x in layers]], "cuda"))


def growing(b, device):
    """A cache of one layer that grows by a token: keys or values of all requests are copied into new memory."""
    batch, h, d = (100, 12, 64) if not b.tiny else (2, 2, 4)
    for s in (64, 100, 128, 192, 320, 448, 575) if not b.tiny else (8,):
        def make():
            x, one = torch.ones(batch, h, s, d, device=device), torch.ones(batch, h, 1, d, device=device)
            return lambda: torch.cat([x, one], dim=-2)

        n = 24 if device == "cpu" and not b.tiny else 4
        b.ran("cat_" + device, "gpt2", dict(b=batch, s=s, n=batch * h * s * d * 4), b.time([make() for _ in range(n)], device))


# ---- launches ------------------------------------------------------------------------------------------------------------

def launches(b, device):
    """Host time of one operator that is too small to matter itself. On the GPU the queue must not fill: short bursts."""
    x, y = torch.ones(4, 64, device=device), torch.ones(4, 64, device=device)
    w, v = torch.ones(64, 64, device=device), torch.ones(64, device=device)
    c, one = torch.ones(1, 2, 3, 4, device=device), torch.ones(1, 2, 1, 4, device=device)
    norm, lin = torch.nn.LayerNorm(64, device=device), torch.nn.Linear(64, 64, device=device)
    ops = {
        "add": lambda: x + y, "mul": lambda: 0.5 * x, "tanh": lambda: torch.tanh(x), "addmm": lambda: torch.addmm(v, x, w),
        "layer_norm": lambda: F.layer_norm(x, (64,), v, v), "cat": lambda: torch.cat([c, one], dim=-2),
        "sdpa": lambda: F.scaled_dot_product_attention(c, c, c), "norm_module": lambda: norm(x), "linear_module": lambda: lin(x),
        "view": lambda: x.view(2, -1), "split": lambda: x.split(16, dim=1),
    }
    for name, f in ops.items():
        try:
            for _ in range(20):
                f()
        except Exception as e:
            b.fail(f"launch of {name}", e)
            continue
        times = []
        for _ in range(20):
            wait(device)
            begin = time.perf_counter()
            for _ in range(200):
                f()
            times.append((time.perf_counter() - begin) / 200)
        wait(device)
        b.ran("launch_" + device, "-", dict(op=name), statistics.median(times))


# ---- a model ------------------------------------------------------------------------------------------------------------

def gpt2(device, tiny):
    from transformers import GPT2Config, GPT2LMHeadModel
    config = GPT2Config(n_layer=2, n_embd=64, n_head=2, vocab_size=256) if tiny else GPT2Config()
    torch.manual_seed(0)
    return GPT2LMHeadModel(config).eval().to(device)


def tensors(cache):
    """The places of keys and values in a cache, whatever the version of transformers keeps them in."""
    if hasattr(cache, "layers"):
        return [(l, n) for l in cache.layers for n in ("keys", "values")]
    return [(c, i) for c in (cache.key_cache, cache.value_cache) for i in range(len(c))]


def move(cache, device):
    for where, name in tensors(cache):
        if isinstance(where, list):
            where[name] = where[name].to(device)
        else:
            setattr(where, name, getattr(where, name).to(device))
            if hasattr(where, "device"):
                where.device = torch.device(device)
    return cache


def timed(device, f):
    wait("cuda" if GPU else "cpu")
    begin = time.perf_counter()
    out = f()
    wait("cuda" if GPU else "cpu")
    return time.perf_counter() - begin, out


def decode(model, token, cache, steps):
    for _ in range(steps):
        out = model(token, past_key_values=cache, use_cache=True)
        cache = out.past_key_values
        token = out.logits[:, -1].argmax(-1, keepdim=True)
    return token


def profile(b, name, device, f):
    """Kernels of one call: how many the host launches, and the operators that take the most time."""
    from torch.profiler import ProfilerActivity, profile as record
    kinds = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if device == "cuda" else [])
    with record(activities=kinds) as p:
        f()
        wait(device)
    launched = sum(e.count for e in p.key_averages() if "LaunchKernel" in e.key or "cuLaunch" in e.key)
    b.whole.add("launches", "gpt2", words(dict(part=name)), launched)
    sort = "self_cuda_time_total" if device == "cuda" else "self_cpu_time_total"
    with open(os.path.join(os.path.dirname(b.whole.path), "machine.txt"), "a") as out:
        out.write(f"\n## {name}: {launched} launches\n{p.key_averages().table(sort_by=sort, row_limit=30, max_name_column_width=48)}\n")


def scenarios(b, batch=100, prompt=64, steps=512):
    if b.tiny:
        batch, prompt, steps = 2, 8, 4
    models = {d: gpt2(d, b.tiny) for d in (["cuda"] if GPU else []) + ["cpu"]}
    vocabulary = models["cpu"].config.vocab_size
    said = dict(b=batch, s=prompt, g=steps)

    def first(device, n=prompt, rows=batch, **more):
        ids = torch.randint(vocabulary, (rows, n), device=device)
        seconds, out = timed(device, lambda: models[device](ids, use_cache=True, **more))
        return seconds, out.past_key_values, out.logits[:, -1].argmax(-1, keepdim=True)

    for device in models:  # warm
        _, cache, token = first(device)
        decode(models[device], token, cache, 3)
    if GPU:
        prefill, cache, token = first("cuda")
        b.ran("gpt2_all_gpu", "gpt2", dict(said, phase="prefill"), prefill)
        b.ran("gpt2_all_gpu", "gpt2", dict(said, phase="decode"), timed("cuda", lambda: decode(models["cuda"], token, cache, steps))[0])
        for rows in (1, 100):  # with one short sequence the host decides
            _, cache, token = first("cuda", 4, rows)
            seconds = timed("cuda", lambda: decode(models["cuda"], token, cache, 50))[0] / 50
            b.ran("gpt2_step_gpu", "gpt2", dict(b=rows, s=29), seconds)
            profile(b, f"decode step of {rows} on the GPU", "cuda", lambda: decode(models["cuda"], token, cache, 1))
        prefill, cache, token = first("cuda")
        profile(b, "prefill on the GPU", "cuda", lambda: first("cuda"))
        b.ran("gpt2_pd_split", "gpt2", dict(said, phase="prefill"), prefill)
        b.ran("gpt2_pd_split", "gpt2", dict(said, phase="kv_transfer"), timed("cuda", lambda: move(cache, "cpu"))[0])
    for again in range(2):
        b.ran("gpt2_all_cpu", "gpt2", dict(said, phase="prefill", again=again), first("cpu")[0])
    profile(b, "prefill on the CPU", "cpu", lambda: first("cpu"))
    _, cache, token = first("cpu", 4, 1)
    b.ran("gpt2_step_cpu", "gpt2", dict(b=1, s=14), timed("cpu", lambda: decode(models["cpu"], token, cache, 20))[0] / 20)
    # Steps of the CPU at contexts all along the output: their mean is that of the whole decode, in a tenth of its time.
    means = []
    for context in (64, 128, 192, 256, 320, 384, 448, 512, 568) if not b.tiny else (8, 10):
        if b.late(0.5):
            break
        source = "cuda" if GPU else "cpu"
        try:
            _, cache, token = first(source, context, logits_to_keep=1)
        except TypeError:
            _, cache, token = first(source, context)
        cache, token = move(cache, "cpu"), token.to("cpu")
        decode(models["cpu"], token, cache, 1)
        seconds = timed("cpu", lambda: decode(models["cpu"], token, cache, 4))[0] / 4
        means.append((context, seconds))
        b.ran("gpt2_step_cpu", "gpt2", dict(b=batch, s=context + 3), seconds)
        if context == 320:
            profile(b, "decode step at 325 tokens on the CPU", "cpu", lambda: decode(models["cpu"], token, cache, 1))
    if len(means) > 1:
        area = sum((y + z) / 2 * (q - p) for (p, y), (q, z) in zip(means, means[1:])) / (means[-1][0] - means[0][0])
        b.ran("gpt2_all_cpu", "gpt2", dict(said, phase="decode", sampled=len(means)), area * steps)


def summary(b):
    """The numbers that a system file and the file of a framework want, of the largest shapes."""
    def kernels(device, kind, dtype, place):
        rows = [r for r in b.tables[device].rows if r[0] == kind and r[1] == dtype]
        return [int(r[place]) / float(r[5]) for r in sorted(rows, key=lambda r: int(r[place]))[-5:]]  # per microsecond

    def whole(kind, **params):
        want = words(params).split(";")
        rows = [r for r in b.whole.rows if r[0] == kind and all(w in r[2].split(";") for w in want)]
        return [float(r[3]) for r in rows]

    def say(name, values, scale, unit):
        if values:
            print(f"{name}: {statistics.median(values) * scale:.4g} {unit}")

    print("\nfor system files and for engine/data/eager")
    for device in ("cpu", "cuda"):
        say(f"matrix.float32 on {device}, reached", kernels(device, "gemm", "fp32", 3), 1e-6, "T/s")
        say(f"mem1 on {device}, reached", kernels(device, "d2d_copy", "u8", 4)[-2:], 1e-3, "GB/s")
    for key, threads in (("thread_GBps", 1), ("GBps", torch.get_num_threads())):
        n = 1 << 28
        say(f"mem1.new.{key}", [n / 1e6 / (t - k) for t, k in zip(whole("fill_new", n=n, threads=threads), whole("fill_known", n=n, threads=threads)) if t > k], 1, "GB/s")
    for rows in (1, 100):
        counts = whole("launches", part=f"decode step of {rows} on the GPU")
        say(f"launch_seconds, step of {rows}", [t / n for t, n in zip(whole("gpt2_step_gpu", b=rows), counts) if n], 1e-3, "s")
        say(f"kernels of a step of {rows}", counts, 1, "")


def machine(b, path):
    lines = [f"PyTorch {torch.__version__}, {torch.get_num_threads()} threads, {torch.get_num_interop_threads()} interop"]
    try:
        import transformers
        lines.append(f"transformers {transformers.__version__}")
    except Exception as e:
        lines.append(f"no transformers: {type(e).__name__}")
    if GPU:
        lines.append(torch.cuda.get_device_name(0))
    for command in (["lscpu"], ["uname", "-r"], ["free", "-g"], ["cat", "/sys/kernel/mm/transparent_hugepage/enabled"]):
        try:
            lines.append(subprocess.run(command, capture_output=True, text=True, timeout=20).stdout.strip())
        except Exception as e:
            lines.append(f"{command[0]}: {type(e).__name__}")
    lines.append(f"tf32 {torch.backends.cuda.matmul.allow_tf32}\n{torch.__config__.parallel_info()}")
    with open(path, "w") as f:
        f.write("\n".join(lines) + "\n")
    print("\n".join(l for l in "\n".join(lines).splitlines() if any(w in l for w in ("PyTorch", "transf", "Model name", "CPU(s):", "per core", "L3", "MHz", "NVIDIA"))), flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("-o", "--output", default=".")
    p.add_argument("--tiny", action="store_true", help="tiny shapes: whether all of it runs")
    p.add_argument("--limit", type=float, default=300, help="stop measuring after so many seconds")
    p.add_argument("--only", help="comma-separated parts")
    args = p.parse_args()
    os.makedirs(args.output, exist_ok=True)
    torch.manual_seed(0)
    torch.set_grad_enabled(False)
    b = Bench(args)
    machine(b, os.path.join(args.output, "machine.txt"))
    devices = ["cpu"] + (["cuda"] if GPU else [])
    parts = {"scenarios": lambda: scenarios(b), "memory": lambda: memory(b)}
    for f in (launches, growing, copies, elementwise, attention, products):
        for d in devices:
            parts[f"{f.__name__}_{d}"] = lambda f=f, d=d: f(b, d)
    wanted = args.only.split(",") if args.only else list(parts)
    unknown = [x for x in wanted if x not in parts]
    if unknown:
        sys.exit(f"unknown parts {', '.join(unknown)}; there are {', '.join(parts)}")
    for name in wanted:
        if b.late():
            print(f"out of time before {name}", file=sys.stderr)
            continue
        begin = time.monotonic()
        try:
            parts[name]()
        except Exception as e:
            b.fail(name, e)
        print(f"{name}: {time.monotonic() - begin:.1f} s", file=sys.stderr, flush=True)
        for t in [*b.tables.values(), b.whole]:
            t.write()
    summary(b)


if __name__ == "__main__":
    main()
