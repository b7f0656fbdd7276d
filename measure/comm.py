#!/usr/bin/env python3
"""Measures communication on the GPUs of a cluster and writes it as a table: kind,dtype,params,flops,bytes,time_us,max_us,spread_us.

    torchrun --nproc-per-node 8 comm.py -o comm.csv
    torchrun --nnodes 2 --nproc-per-node 8 --rdzv-backend c10d --rdzv-endpoint HOST:29500 comm.py -o comm.csv

Needs PyTorch; DeepEP or UCCL only for --library deepep or uccl. A pattern that this machine cannot run is reported on
standard error and left out; the others are measured. See README.md for the method.
"""

import argparse
import csv
import importlib
import os
import statistics
import sys
import time

import torch
import torch.distributed as dist

# An exchange runs in one of two ways: for throughput, as in prefill, and for low latency, as in decode.
KINDS = {"throughput": ("expert_dispatch", "expert_combine"),
         "latency": ("expert_dispatch_low_latency", "expert_combine_low_latency")}
PATTERNS = ["all_reduce", "all_gather", "reduce_scatter", "all_to_all", "exchange"]
MODULES = {"deepep": ["deep_ep"], "uccl": ["uccl_ep", "deep_ep"]}  # UCCL's wrapper goes by the name of DeepEP
DELAY = 500_000  # clock cycles for which the GPU waits, so that the host is ahead of what is timed


class Bench:
    """The ranks of a run, and what they have measured."""

    def __init__(self, args):
        self.args = args
        self.cuda = torch.cuda.is_available() and not args.cpu
        self.local = int(os.environ.get("LOCAL_RANK", 0))
        if self.cuda:
            torch.cuda.set_device(self.local)
        self.device = torch.device("cuda", self.local) if self.cuda else torch.device("cpu")
        dist.init_process_group("nccl" if self.cuda else "gloo")
        self.rank, self.world = dist.get_rank(), dist.get_world_size()
        self.nodes = -(-self.world // int(os.environ.get("LOCAL_WORLD_SIZE", self.world)))
        self.host = dist.new_group(backend="gloo")  # for what ranks tell each other about times
        self.rows = []
        self.failed = set()

    def say(self, *text):
        if self.rank == 0:
            print(*text, file=sys.stderr, flush=True)

    def rounds(self, call, group):
        """Seconds of every round on this rank. The ranks of a group start a round together."""
        one = torch.zeros(1, device=self.device)
        for _ in range(self.args.warmup):
            call()
        if not self.cuda:
            times = []
            for _ in range(self.args.rounds):
                dist.barrier(group)
                begin = time.perf_counter()
                call()
                times.append(time.perf_counter() - begin)
            return times
        torch.cuda.synchronize()
        events = []
        for _ in range(self.args.rounds):
            start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            torch.cuda._sleep(DELAY)
            dist.all_reduce(one, group=group)
            start.record()
            call()
            stop.record()
            events.append((start, stop))
        torch.cuda.synchronize()
        return [a.elapsed_time(b) * 1e-3 for a, b in events]

    def measure(self, kind, dtype, params, size, group, members, make):
        """Measures one shape on the members of a group; make returns the call, and is itself part of what may fail."""
        times, error = None, None
        if self.rank in members:
            try:
                times = self.rounds(make(), group)
            except Exception as e:  # what this machine cannot do must not stop the rest
                error = f"{type(e).__name__}: {str(e).splitlines()[0]}"
        told = [None] * self.world
        dist.all_gather_object(told, (times, error, size), group=self.host)
        errors = [e for _, e, _ in told if e]
        if errors:
            if (kind, dtype) not in self.failed:
                self.say(f"{kind} {dtype} left out: {errors[0]}")
            self.failed.add((kind, dtype))
            return
        by_rank = [t for t, _, _ in told if t]
        by_round = list(zip(*by_rank))
        means = [statistics.fmean(r) for r in by_round]
        text = ";".join(f"{k}={v}" for k, v in params.items())
        sent = statistics.fmean(told[r][2] for r in members)
        micro = [statistics.fmean(means), statistics.fmean(max(r) for r in by_round), statistics.pstdev(means)]
        self.rows.append([kind, dtype, text, 0, round(sent)] + [f"{1e6 * t:.3f}" for t in micro])
        self.say(f"{kind} {dtype} {text}: {1e6 * micro[0]:.1f} us, slowest rank {1e6 * micro[1]:.1f}, spread {1e6 * micro[2]:.1f}")

    def write(self):
        """Writes the table after every part, so that an interrupted run leaves something."""
        if self.rank != 0:
            return
        with open(self.args.output, "w", newline="") as f:
            w = csv.writer(f, lineterminator="\n")
            w.writerow(["kind", "dtype", "params", "flops", "bytes", "time_us", "max_us", "spread_us"])
            w.writerows(self.rows)


def collective(b, pattern):
    """Messages of all sizes in groups of all sizes. n is the buffer that is reduced, the gathered result, what is
    scattered, what a rank sends to all."""
    for size in b.args.groups:
        members = list(range(size))
        group = dist.new_group(members)
        for n in b.args.sizes:
            count = max(size, n // 2 // size * size)  # elements of 16 bits, equal parts

            def make():
                whole = torch.randn(count, device=b.device, dtype=torch.bfloat16)
                part = torch.empty(count // size, device=b.device, dtype=torch.bfloat16)
                other = torch.empty_like(whole)
                return {
                    "all_reduce": lambda: dist.all_reduce(whole, group=group),
                    "all_gather": lambda: dist.all_gather_into_tensor(whole, part, group=group),
                    "reduce_scatter": lambda: dist.reduce_scatter_tensor(part, whole, group=group),
                    "all_to_all": lambda: dist.all_to_all_single(other, whole, group=group),
                }[pattern]

            nodes = -(-size // int(os.environ.get("LOCAL_WORLD_SIZE", b.world)))
            b.measure(pattern, "bf16", dict(group=size, n=2 * count, nodes=nodes, backend=backend(b)), 2 * count, group, members, make)


def backend(b):
    return "NCCL" if b.cuda else "gloo"


class Routing:
    """Tokens of this rank and the experts they go to, drawn at random: with --skew some experts more often than others,
    with --nodes-of-token only those of some nodes, as DeepSeek-V3 does."""

    def __init__(self, b, tokens):
        a = b.args
        seed = torch.Generator().manual_seed(a.seed + b.rank)
        order = torch.randperm(a.experts, generator=torch.Generator().manual_seed(a.seed))
        weight = (order + 1).float() ** -a.skew
        scores = weight.log() - torch.empty(tokens, a.experts).exponential_(generator=seed).log()  # without putting back
        if 0 < a.nodes_of_token < b.nodes and a.experts % b.nodes == 0:
            by_node = scores.view(tokens, b.nodes, -1)
            kept = torch.zeros(tokens, b.nodes, dtype=torch.bool)
            kept.scatter_(1, by_node.amax(-1).topk(a.nodes_of_token, dim=1).indices, True)
            scores = by_node.masked_fill(~kept.unsqueeze(-1), float("-inf")).view(tokens, -1)
        self.tokens, self.experts = tokens, scores.topk(a.topk, dim=1).indices
        self.rank_of = self.experts // (a.experts // b.world)

    def copies(self, b, direct):
        """Which token goes to which rank, by rank: once to each rank with an expert of its own, or once to each expert."""
        token, rank = [], []
        for r in range(b.world):
            here = (self.rank_of == r)
            here = here if direct else here.any(1, keepdim=True)
            t = here.nonzero()[:, 0]
            token.append(t)
            rank.append(len(t))
        return torch.cat(token).to(b.device), rank


def exchange(b):
    """Tokens to their experts and back."""
    a = b.args
    for mode, sizes in (("throughput", a.tokens), ("latency", a.decode_tokens)):
        for tokens in sizes:
            r = Routing(b, tokens)
            if a.library == "nccl":
                exchange_plain(b, r, mode)
            else:
                exchange_library(b, r, mode)


def shape(b, r):
    a = b.args
    name = backend(b) if a.library == "nccl" else a.library
    return dict(nodes=b.nodes, ranks=b.world, hidden=a.hidden, tokens=r.tokens, topk=a.topk, experts=a.experts, backend=name)


def exchange_plain(b, r, mode):
    """By all-to-all: copies are put in the order of their ranks, sent, and added up on the way back."""
    a = b.args
    token, counts = r.copies(b, mode == "latency")
    theirs = [None] * b.world
    dist.all_gather_object(theirs, counts, group=b.host)
    back = [c[b.rank] for c in theirs]  # copies that come from each rank
    width = a.hidden if a.dispatch == "fp8" else 2 * a.hidden  # bytes of a copy
    if a.dispatch == "fp8":
        width += a.hidden // 128 * 4  # and a scale for every 128 elements
    packed = torch.randint(0, 256, (r.tokens, width), device=b.device, dtype=torch.uint8)
    results = torch.randn(sum(back), a.hidden, device=b.device, dtype=torch.bfloat16)
    sent = torch.empty(sum(counts), width, device=b.device, dtype=torch.uint8)
    received = torch.empty(sum(back), width, device=b.device, dtype=torch.uint8)
    returned = torch.empty(sum(counts), a.hidden, device=b.device, dtype=torch.bfloat16)
    added = torch.zeros(r.tokens, a.hidden, device=b.device, dtype=torch.bfloat16)

    def dispatch():
        torch.index_select(packed, 0, token, out=sent)
        dist.all_to_all_single(received, sent, back, counts)

    def combine():
        dist.all_to_all_single(returned, results, counts, back)
        added.zero_().index_add_(0, token, returned)

    verify(b, r, packed, token, counts, back)
    everyone = list(range(b.world))
    out, home = KINDS[mode]
    b.measure(out, a.dispatch, shape(b, r), sum(counts) * width, dist.group.WORLD, everyone, lambda: dispatch)
    b.measure(home, "bf16", shape(b, r), sum(back) * 2 * a.hidden, dist.group.WORLD, everyone, lambda: combine)


def verify(b, r, packed, token, counts, back):
    """What is sent out and comes back unchanged is the token, as often as it was copied."""
    x = torch.randint(-8, 8, (r.tokens, 16), device=b.device).to(torch.bfloat16)
    there = torch.full((sum(back), 16), float("nan"), device=b.device, dtype=torch.bfloat16)
    here = torch.full((sum(counts), 16), float("nan"), device=b.device, dtype=torch.bfloat16)
    dist.all_to_all_single(there, x[token], back, counts)
    dist.all_to_all_single(here, there, counts, back)
    times = torch.bincount(token, minlength=r.tokens).to(torch.bfloat16).unsqueeze(1)
    got = torch.zeros_like(x).index_add_(0, token, here)
    if not torch.equal(got, x * times):
        sys.exit(f"rank {b.rank}: tokens do not come back as they were sent")


def exchange_library(b, r, mode):
    """By a library with the interface of DeepEP: kernels for throughput with the layout known, and those for low latency."""
    a = b.args
    everyone = list(range(b.world))
    out, home = KINDS[mode]
    topk = r.experts.to(b.device)
    weights = torch.full(topk.shape, 1.0 / a.topk, device=b.device, dtype=torch.float32)
    x = torch.randn(r.tokens, a.hidden, device=b.device, dtype=torch.bfloat16)
    state = {}

    def prepare():
        if "buffer" in state:
            return
        library = load(a.library)
        if mode == "latency":
            size = library.Buffer.get_low_latency_rdma_size_hint(r.tokens, a.hidden, b.world, a.experts)
            state["buffer"] = library.Buffer(dist.group.WORLD, 0, size, low_latency_mode=True, num_qps_per_rank=a.experts // b.world)
            return
        state["buffer"] = library.Buffer(dist.group.WORLD, int(2e9), int(1e9) if b.nodes > 1 else 0)
        per_rank, per_node, per_expert, is_in_rank, _ = state["buffer"].get_dispatch_layout(topk, a.experts)
        state["x"] = narrow(x) if a.dispatch == "fp8" else x
        got = state["buffer"].dispatch(state["x"], num_tokens_per_rank=per_rank, num_tokens_per_rdma_rank=per_node,
                                       is_token_in_rank=is_in_rank, num_tokens_per_expert=per_expert)
        state["handle"] = got[4]
        received = got[0][0] if isinstance(got[0], tuple) else got[0]
        state["results"] = torch.randn(received.shape, device=b.device, dtype=torch.bfloat16)

    def dispatch():
        prepare()
        if mode == "throughput":
            return lambda: state["buffer"].dispatch(state["x"], handle=state["handle"])
        return lambda: state["buffer"].low_latency_dispatch(x, topk, r.tokens, a.experts, use_fp8=a.dispatch == "fp8")

    def combine():
        prepare()
        if mode == "throughput":
            return lambda: state["buffer"].combine(state["results"], handle=state["handle"])
        got = state["buffer"].low_latency_dispatch(x, topk, r.tokens, a.experts, use_fp8=a.dispatch == "fp8")
        received = got[0][0] if isinstance(got[0], tuple) else got[0]
        results = torch.randn(received.shape, device=b.device, dtype=torch.bfloat16)
        return lambda: state["buffer"].low_latency_combine(results, topk, weights, got[2])

    _, counts = r.copies(b, mode == "latency")
    element = 1 + 4 / 128 if a.dispatch == "fp8" else 2
    b.measure(out, a.dispatch, shape(b, r), sum(counts) * a.hidden * element, dist.group.WORLD, everyone, dispatch)
    b.measure(home, "bf16", shape(b, r), sum(counts) * a.hidden * 2, dist.group.WORLD, everyone, combine)


def load(name):
    for module in MODULES[name]:
        try:
            return importlib.import_module(module)
        except ImportError as e:
            missing = e
    raise RuntimeError(f"--library {name}: {missing}")


def narrow(x):
    """Elements of 8 bits with a scale for every 128 of them."""
    parts = x.float().view(x.shape[0], -1, 128)
    scale = parts.abs().amax(-1).clamp(1e-4) / 448
    return (parts / scale.unsqueeze(-1)).to(torch.float8_e4m3fn).view(x.shape), scale


def numbers(text):
    return [int(float(n)) for n in text.split(",") if n]


def arguments():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("-o", "--output", default="comm.csv")
    p.add_argument("--only", help="comma-separated patterns: " + ", ".join(PATTERNS))
    p.add_argument("--library", choices=["nccl"] + list(MODULES), default="nccl", help="of the exchange of tokens and experts")
    p.add_argument("--cpu", action="store_true", help="gloo on CPUs, where there are GPUs too")
    p.add_argument("--rounds", type=int, default=100)
    p.add_argument("--warmup", type=int, default=10)
    p.add_argument("--sizes", type=numbers, default=[4 ** i for i in range(5, 15)], help="bytes of messages (default 1 KiB to 256 MiB)")
    p.add_argument("--groups", type=numbers, help="ranks of a collective (default: powers of two, and all)")
    p.add_argument("--tokens", type=numbers, default=[512, 1024, 2048, 4096, 8192], help="of a rank, in prefill")
    p.add_argument("--decode-tokens", type=numbers, default=[1, 8, 32, 64, 128], help="of a rank, in decode")
    p.add_argument("--hidden", type=int, default=7168)
    p.add_argument("--experts", type=int, default=256)
    p.add_argument("--topk", type=int, default=8)
    p.add_argument("--nodes-of-token", type=int, default=0, help="most nodes that a token goes to (DeepSeek-V3: 4; default: all)")
    p.add_argument("--skew", type=float, default=0, help="0: experts are equally likely; s: the i-th as i^-s")
    p.add_argument("--dispatch", choices=["fp8", "bf16"], default="fp8", help="format of tokens on their way out")
    p.add_argument("--seed", type=int, default=0)
    args = p.parse_args()
    args.only = args.only.split(",") if args.only else PATTERNS
    unknown = [x for x in args.only if x not in PATTERNS]
    if unknown:
        sys.exit(f"unknown patterns {', '.join(unknown)}; there are {', '.join(PATTERNS)}")
    if args.rounds < 1 or args.warmup < 0:
        sys.exit("--rounds must be at least 1, --warmup at least 0")
    return args


def main():
    args = arguments()
    for name, value in (("RANK", 0), ("WORLD_SIZE", 1), ("MASTER_ADDR", "127.0.0.1"), ("MASTER_PORT", 29500)):
        os.environ.setdefault(name, str(value))  # without torchrun: one rank
    torch.set_grad_enabled(False)
    b = Bench(args)
    if not args.groups:
        args.groups = sorted({2 ** i for i in range(1, 20) if 2 ** i <= b.world} | {b.world})
    args.groups = [g for g in args.groups if 1 <= g <= b.world]
    if "exchange" in args.only and args.experts % b.world:
        b.say(f"exchange left out: {args.experts} experts are not equal parts on {b.world} ranks")
        args.only = [x for x in args.only if x != "exchange"]
    where = torch.cuda.get_device_name(b.local) if b.cuda else "CPU"
    b.say(f"{b.world} ranks on {b.nodes} nodes, {where}, PyTorch {torch.__version__}, {backend(b)}")
    if b.world == 1:
        b.say("one rank: what is timed are copies within it, no network")
    for pattern in args.only:
        if pattern == "exchange":
            exchange(b)
        else:
            collective(b, pattern)
        b.write()
    b.say(f"{len(b.rows)} rows in {args.output}")
    dist.barrier(b.host)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
