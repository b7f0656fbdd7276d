#!/usr/bin/env python3
"""Measures watts, joules and clocks of one GPU under load:
kind,dtype,params,flops,bytes,time_us,joules,watts,memory_watts,sm_mhz,temperature_c,limit_w.

    python3 power.py -o power.csv                            # kernels and the passes of a Llama-3.1-8B, three minutes
    python3 power.py -o power.csv --model Qwen3-8B           # passes of another model of forward.py
    sudo python3 power.py -o power.csv --limits 600,500,400  # once more under each limit, in watts

Needs PyTorch with CUDA and the driver's NVML library. Limits are set only where they are asked for, and reset in the
end. See README.md for the method.
"""

import argparse
import collections
import csv
import ctypes
import statistics
import sys
import threading
import time

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

import forward
import measure

WARM, LONG = 0.5, 1.6  # seconds of load before and during a measurement
COLUMNS = "kind,dtype,params,flops,bytes,time_us,joules,watts,memory_watts,sm_mhz,temperature_c,limit_w".split(",")


class GPU:
    """Counters of the first visible GPU, by NVML, which every driver brings."""

    def __init__(self):
        self.nvml = ctypes.CDLL("libnvidia-ml.so.1")
        self.call("nvmlInit_v2")
        self.handle = ctypes.c_void_p()
        bus = torch.cuda.get_device_properties(0)
        name = f"{bus.pci_domain_id:08x}:{bus.pci_bus_id:02x}:{bus.pci_device_id:02x}.0".encode()
        self.call("nvmlDeviceGetHandleByPciBusId_v2", name, ctypes.byref(self.handle))

    def call(self, name, *args):
        code = getattr(self.nvml, name)(*args)
        if code != 0:
            self.nvml.nvmlErrorString.restype = ctypes.c_char_p
            raise RuntimeError(f"{name}: {self.nvml.nvmlErrorString(code).decode()}")

    def get(self, name, *args, kind=ctypes.c_uint):
        value = kind()
        self.call(name, self.handle, *args, ctypes.byref(value))
        return value.value

    def joules(self):
        return self.get("nvmlDeviceGetTotalEnergyConsumption", kind=ctypes.c_ulonglong) / 1e3

    def clock(self):
        return self.get("nvmlDeviceGetClockInfo", 1)  # of the SMs, MHz

    def temperature(self):
        return self.get("nvmlDeviceGetTemperature", 0)

    def limit(self):
        return self.get("nvmlDeviceGetPowerManagementLimit") / 1e3

    def set_limit(self, watts):
        self.call("nvmlDeviceSetPowerManagementLimit", self.handle, ctypes.c_uint(int(watts * 1e3)))


class Bench(measure.Bench):
    def __init__(self, args, gpu):
        super().__init__(argparse.Namespace(quick=True, limit=args.limit))
        self.gpu = gpu

    def watch(self, step, seconds):
        """Calls step for so many seconds after a warm-up: watts between the first and the last step of the counter, MHz, °C.

        NVML takes milliseconds to answer: a thread asks it, so that the GPU does not wait for what comes next."""
        samples, done = [], threading.Event()

        def sample():
            while not done.is_set():
                samples.append((time.perf_counter(), self.gpu.joules(), self.gpu.clock(), self.gpu.temperature()))

        watcher = threading.Thread(target=sample)
        begin = time.perf_counter()
        watcher.start()
        try:
            while time.perf_counter() < begin + WARM + seconds:
                step()
        finally:
            done.set()
            watcher.join()
        late = [x for x in samples if x[0] > begin + WARM]
        steps = [x for before, x in zip(late, late[1:]) if x[1] != before[1]]
        if len(steps) < 2:
            raise RuntimeError("the energy counter stands still")
        (t0, j0, *_), (t1, j1, *_) = steps[0], steps[-1]
        return (j1 - j0) / (t1 - t0), statistics.mean(x[2] for x in late), statistics.mean(x[3] for x in late)

    def replay(self, graph, calls, duty=1.0):
        """Runs a graph of so many calls, so that it works for a share of the time: seconds per call with its rests, watts, MHz, °C."""
        ahead, times, ends = collections.deque(), [], []

        def step():
            start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            start.record()
            graph.replay()
            stop.record()
            ahead.append((start, stop))
            if len(ahead) > (2 if duty == 1 else 0):  # one runs, one waits: the GPU never rests
                start, stop = ahead.popleft()
                stop.synchronize()
                worked = start.elapsed_time(stop) * 1e-3
                times.append(worked)
                if duty < 1:
                    time.sleep(worked * (1 / duty - 1))
                    ends.append(time.perf_counter())

        watts, mhz, celsius = self.watch(step, LONG)
        torch.cuda.synchronize()
        half = len(times) // 4  # clocks settle while it warms up
        seconds = statistics.mean(times[half:])
        if duty < 1:
            seconds = (ends[-1] - ends[half]) / (len(ends) - 1 - half)
        return seconds / calls, watts, mhz, celsius

    def write(self, kind, dtype, params, flops, size, seconds, watts, mhz, celsius):
        text = ";".join(f"{k}={v}" for k, v in params.items())
        self.rows.append([kind, dtype, text, int(flops), int(size), f"{seconds * 1e6:.3f}", f"{watts * seconds:.6g}", f"{watts:.1f}", "nan",
                          round(mhz), round(celsius), round(self.gpu.limit())])
        print(f"{kind} {dtype} {text}: {seconds * 1e6:.1f} us, {watts:.0f} W, {mhz:.0f} MHz", file=sys.stderr)

    def add(self, kind, dtype, params, flops, size, make, duty=1.0, copies=None):
        """Measures one load. make returns one call on buffers of its own."""
        if time.monotonic() > self.end:
            raise measure.Deadline
        try:
            calls = [make() for _ in range(copies or self.copies(size))]
            for c in calls[:3]:
                c()
            torch.cuda.synchronize()
            begin = time.perf_counter()
            calls[0]()
            torch.cuda.synchronize()
            rounds = max(1, min(2000, int(20e-3 / (time.perf_counter() - begin) / len(calls))))
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                for _ in range(rounds):
                    for c in calls:
                        c()
            self.write(kind, dtype, params, flops, size, *self.replay(graph, rounds * len(calls), duty))
        except Exception as e:  # what this GPU cannot do must not stop the rest
            self.fail(kind, dtype, e)
        finally:
            calls = graph = None
            torch.cuda.empty_cache()

    def idle(self, state):
        watts, mhz, celsius = self.watch(lambda: time.sleep(0.01), 3)
        self.write("idle", "", dict(state=state), 0, 0, 3, watts, mhz, celsius)


GEMMS = [(1, 8192, 8192), (16, 8192, 8192), (64, 8192, 8192), (128, 8192, 8192), (256, 8192, 8192), (512, 8192, 8192), (1024, 8192, 8192),
         (4096, 8192, 8192), (16384, 8192, 8192), (4096, 28672, 4096), (64, 28672, 4096), (2048, 1024, 8192)]
FEW = [(16384, 8192, 8192), (64, 8192, 8192)]


def gemms(b, shapes):
    one = torch.ones((), device=measure.DEVICE)
    for m, n, k in shapes:
        def bf16():
            x, w = measure.rand(m, k), measure.rand(n, k)
            out = torch.empty(m, n, device=measure.DEVICE, dtype=torch.bfloat16)
            return lambda: torch.mm(x, w.t(), out=out)

        def fp8():
            x, w = measure.rand(max(m, 16), k, dtype=torch.float8_e4m3fn)[:m], measure.rand(n, k, dtype=torch.float8_e4m3fn)
            return lambda: torch._scaled_mm(x, w.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16)

        b.add("gemm", "bf16", dict(m=m, n=n, k=k), 2 * m * n * k, 2 * (m * k + k * n + m * n), bf16)
        b.add("gemm", "fp8", dict(m=m, n=n, k=k), 2 * m * n * k, m * k + k * n + 2 * m * n, fp8)


def passes_over_memory(b):
    n = 1 << 30

    def copy():
        x, y = measure.rand(n), torch.empty(n, device=measure.DEVICE, dtype=torch.bfloat16)
        return lambda: y.copy_(x)

    def read():
        x = measure.rand(n)
        return lambda: x.view(torch.int16).max()

    def silu():
        x = measure.rand(16384, 2 * 14336)
        return lambda: forward.gated(x)

    b.add("copy", "bf16", dict(n=n), 0, 4 * n, copy, copies=1)
    b.add("read", "bf16", dict(n=n), 0, 2 * n, read, copies=1)
    b.add("silu_mul", "bf16", dict(t=16384, i=14336), 0, 3 * 2 * 16384 * 14336, silu, copies=1)


def attention(b):
    h, hk, d = 32, 8, 128
    for s in (4096, 16384):
        def make():
            q, k, v = measure.rand(1, h, s, d), measure.rand(1, hk, s, d), measure.rand(1, hk, s, d)
            return lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)

        with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
            b.add("attn_prefill", "bf16", dict(b=1, s=s, hq=h, hk=hk, d=d), 2 * h * s * s * d, 4 * s * (h + hk) * d, make)
    for n in (16, 256):
        def make():
            q, k, v = measure.rand(n, h, 1, d), measure.rand(n, hk, 4096, d), measure.rand(n, hk, 4096, d)
            return lambda: F.scaled_dot_product_attention(q, k, v, enable_gqa=True)

        with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
            b.add("attn_decode", "bf16", dict(b=n, s=4096, hq=h, hk=hk, d=d), 4 * n * h * 4096 * d, 4 * n * 4096 * hk * d, make)


PASSES = {
    "prefill": [(1, 512, 1), (1, 2048, 1), (1, 8192, 1), (16, 1024, 1)],
    "decode": [(1, 1024, 1), (8, 1024, 1), (32, 1024, 1), (128, 1024, 1), (256, 1024, 1), (16, 4096, 1), (64, 4096, 1), (64, 4096, 0.75),
               (64, 4096, 0.5), (64, 4096, 0.25), (64, 4096, 0.1), (8, 16384, 1)],
}
FEW_PASSES = {"prefill": [(1, 8192, 1)], "decode": [(64, 4096, 1)]}


def models(b, names, passes):
    for name in names:
        name, _, tp = name.partition("/")
        tp = int(tp or 1)
        c = forward.MODELS[name]
        m = forward.Model(c, tp, rope=False)
        weights = sum(w.numel() for layer in m.layers for w in layer.values() if torch.is_tensor(w)) + m.head.numel()
        for kind, loads in passes.items():
            for n, s, duty in loads:
                tokens = torch.randint(0, c["vocab"], (n, s if kind == "prefill" else 1), device=measure.DEVICE)
                caches = kind == "decode" and [(forward.rand(n, m.kv, s, c["dim"]), forward.rand(n, m.kv, s, c["dim"])) for _ in m.layers] or None
                best = None
                for backend in (SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION):
                    with sdpa_kernel(backend):
                        t = forward.timed(lambda: m.forward(tokens, caches), 0.2)
                    if best is None or t < best[0]:
                        best = t, backend
                size = 2 * (weights + (2 * n * s * m.kv * c["dim"] * len(m.layers) if caches else 0))
                params = dict(model=name + (f"-tp{tp}-rank" if tp > 1 else ""), b=n, s=s, **({"duty": duty} if duty < 1 else {}))
                with sdpa_kernel(best[1]):
                    b.add(kind, "bf16", params, 2 * weights * tokens.numel(), size, lambda: lambda: m.forward(tokens, caches), duty, copies=1)
                caches = tokens = None
        m = None
        torch.cuda.empty_cache()


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("-o", "--output", default="power.csv")
    p.add_argument("--model", action="append", help="one of " + ", ".join(forward.MODELS) + "; NAME/8 is one rank of eight; llama3-8b unless given")
    p.add_argument("--only", help="comma-separated parts: memory, gemm, attention, models")
    p.add_argument("--shapes", help="products in place of the built-in ones: m,n,k;m,n,k")
    p.add_argument("--limits", help="power limits in watts to measure a few loads under, which takes the rights to set them")
    p.add_argument("--limit", type=float, default=540, help="stop measuring after so many seconds")
    args = p.parse_args()
    if not torch.cuda.is_available():
        sys.exit("no GPU that this PyTorch can use")
    names = args.model or ["llama3-8b"]
    unknown = [n for n in names if n.partition("/")[0] not in forward.MODELS]
    if unknown:
        sys.exit(f"unknown {', '.join(unknown)}; there are {', '.join(forward.MODELS)}")
    parts = (args.only or "memory,gemm,attention,models").split(",")
    shapes = [tuple(int(x) for x in s.split(",")) for s in args.shapes.split(";")] if args.shapes else GEMMS
    torch.manual_seed(0)
    torch.set_grad_enabled(False)
    torch._dynamo.config.cache_size_limit = 1024
    gpu = GPU()
    b, found = Bench(args, gpu), gpu.limit()
    print(f"{torch.cuda.get_device_name(0)}, PyTorch {torch.__version__}, CUDA {torch.version.cuda}, {found:.0f} W", file=sys.stderr)
    try:
        b.idle("before")
        for part, run in {"memory": lambda: passes_over_memory(b), "gemm": lambda: gemms(b, shapes), "attention": lambda: attention(b),
                          "models": lambda: models(b, names, PASSES)}.items():
            if part in parts:
                run()
        b.idle("after")
        for watts in [float(w) for w in args.limits.split(",")] if args.limits else []:
            gpu.set_limit(watts)
            gemms(b, FEW)
            models(b, names, FEW_PASSES)
    except measure.Deadline:
        print("out of time; give --limit or --only", file=sys.stderr)
    finally:
        if gpu.limit() != found:
            gpu.set_limit(found)
        with open(args.output, "w", newline="") as f:
            w = csv.writer(f, lineterminator="\n")
            w.writerow(COLUMNS)
            w.writerows(b.rows)


if __name__ == "__main__":
    main()
