#!/usr/bin/env python3
"""Measures what stands around the choice of experts where no fused kernel does it: rows,what,experts,groups,time_us.

    python3 selection.py -o selection.csv

`native` chooses 8 experts by operators of PyTorch that its compiler fuses as far as it can, as SGLang does for numbers of experts
that its own kernel does not take; `copies` picks one of the copies of each of them; `sum` adds what shared experts made. `indices`,
`scaling`, `heads` and `scales` are the kernels around the exchange of SGLang 0.4.6: the numbers of experts made 64 bits wide, what comes
back multiplied, 128 heads of 128 turned around, and the scales of 4 experts of 2048, with room for 128 rows (or as many as there are, if these are more) of 72 ranks.
Each is measured in a CUDA graph. Needs PyTorch with CUDA and Triton.
"""

import argparse
import csv
import statistics

import torch

TOP = 8
REPEAT = 20  # in a graph


def native(logits, bias, groups, kept):
    scores = logits.float().sigmoid()
    biased = scores + bias
    rows, experts = biased.shape
    best = biased.view(rows, groups, -1).topk(2, dim=-1)[0].sum(dim=-1)
    among = best.topk(kept, dim=-1, sorted=False)[1]
    open_groups = torch.zeros_like(best).scatter_(1, among, 1)
    open_experts = open_groups.unsqueeze(-1).expand(rows, groups, experts // groups).reshape(rows, -1)
    chosen = biased.masked_fill(~open_experts.bool(), float("-inf")).topk(TOP, dim=-1, sorted=False)[1]
    weights = scores.gather(1, chosen)
    weights = weights / weights.sum(dim=-1, keepdim=True)
    return weights, chosen.to(torch.int32)


def copies(chosen, places, valid):
    flat = chosen.flatten()
    which = torch.randint(0, 65536, flat.shape, dtype=torch.int32, device=flat.device) % valid[flat]
    return places[flat, which].view(chosen.shape)


def graph_us(run, sets):
    for s in sets:
        run(*s)
    torch.cuda.synchronize()
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g):
        for i in range(REPEAT):
            run(*sets[i % len(sets)])
    times = []
    for i in range(13):
        a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        a.record()
        g.replay()
        b.record()
        torch.cuda.synchronize()
        times.append(1000 * a.elapsed_time(b) / REPEAT)
    return statistics.median(times[3:])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", default="selection.csv")
    out = parser.parse_args().o
    torch.manual_seed(1)
    compiled = torch.compile(native, dynamic=True)
    lines = []
    for rows in [1, 8, 32, 128, 240, 480, 1024, 4096, 8192]:
        for experts, groups, kept in [(384, 1, 1), (160, 1, 1), (256, 8, 4)]:
            sets = [(torch.randn(rows, experts, device="cuda"), torch.randn(experts, device="cuda"), groups, kept) for _ in range(4)]
            lines.append((rows, "native", experts, groups, graph_us(compiled, sets)))
        spread = torch.randint(0, 480, (384, 4), dtype=torch.int32, device="cuda")
        valid = torch.randint(1, 4, (384,), dtype=torch.int32, device="cuda")
        sets = [(torch.randint(0, 384, (rows, TOP), dtype=torch.int32, device="cuda"), spread, valid) for _ in range(4)]
        lines.append((rows, "copies", 384, 1, graph_us(copies, sets)))
        sets = [(torch.randn(rows, 7168, device="cuda", dtype=torch.bfloat16), torch.randn(rows, 7168, device="cuda", dtype=torch.bfloat16)) for _ in range(4)]
        lines.append((rows, "sum", 0, 0, graph_us(lambda x, y: x.add_(y, alpha=2.5), sets)))
    for rows in [1, 8, 32, 128, 256, 1024, 8192]:
        sets = [(torch.randint(0, 256, (rows, TOP), dtype=torch.int32, device="cuda"),) for _ in range(4)]
        lines.append((rows, "indices", 256, 1, graph_us(lambda x: x.to(torch.int64), sets)))
        sets = [(torch.randn(rows, 7168, device="cuda", dtype=torch.bfloat16),) for _ in range(4)]
        lines.append((rows, "scaling", 0, 0, graph_us(lambda x: x.mul_(1.0), sets)))
        sets = [(torch.randn(128, rows, 128, device="cuda", dtype=torch.bfloat16),) for _ in range(4)]
        lines.append((rows, "heads", 0, 0, graph_us(lambda x: x.transpose(0, 1).flatten(1, 2), sets)))
        if rows <= 256:
            sets = [(torch.randn(4, 72 * max(rows, 128), 16, device="cuda"),) for _ in range(4)]
            lines.append((rows, "scales", 4, 1, graph_us(lambda x: x.transpose(1, 2).contiguous(), sets)))
    with open(out, "w", newline="") as f:
        w = csv.writer(f)
        w.writerow(["rows", "what", "experts", "groups", "time_us"])
        for *key, t in lines:
            w.writerow([*key, f"{t:.2f}"])
            print(*key, f"{t:.2f}")


main()
