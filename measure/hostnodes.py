#!/usr/bin/env python3
"""Measures what a captured graph takes longer when its kernels wait for calls of the host, as those of a collective between
nodes do: NCCL hands the network's part to a thread of the host by a call in the graph (NVIDIA/nccl issue 1805), which it chains
on a stream of its own and joins before its kernel (src/enqueue.cc, ncclLaunchPrepare).

    python3 hostnodes.py -o hostnodes.csv      # half a minute on one GPU

Writes kind,params,time_us. `graph` is a replay over its kernels that wait, of `kernels` kernels of `busy` microseconds each between two
waits: `calls=none`, `beside` (chained on another stream, as NCCL does) and `within` (on the stream of the kernels). What a wait
costs is the difference to `none`. The call itself does nothing.
"""

import argparse
import csv
import ctypes
import statistics
import sys

import torch

WAITS = 122  # of a decode step of DeepSeek-V3, two for each layer

DRIVER = ctypes.CDLL("libcuda.so.1")
DRIVER.cuLaunchHostFunc.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
NOTHING = ctypes.cast(ctypes.CDLL(None).free, ctypes.c_void_p)  # of no memory: no call of CUDA, no Python


def call_host(stream):
    status = DRIVER.cuLaunchHostFunc(ctypes.c_void_p(stream.cuda_stream), NOTHING, None)
    if status != 0:
        sys.exit(f"cuLaunchHostFunc: error {status}")


def capture(calls, kernels, cycles):
    """A graph of WAITS groups of kernels, each of which waits for a call of the host."""
    graph, beside = torch.cuda.CUDAGraph(), torch.cuda.Stream()
    with torch.cuda.graph(graph):
        main = torch.cuda.current_stream()
        beside.wait_stream(main)
        for _ in range(WAITS):
            if calls == "beside":
                call_host(beside)
                main.wait_stream(beside)
            elif calls == "within":
                call_host(main)
            for _ in range(kernels):
                torch.cuda._sleep(cycles)
        main.wait_stream(beside)
    return graph


def replays(graph, count):
    times = []
    for i in range(count + 3):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        if i >= 3:
            times.append(start.elapsed_time(end) * 1e3 / WAITS)
    return statistics.median(times)


def cycles_of(microseconds):
    """Cycles that a kernel sleeps for so long, at the clock of now."""
    n = 1_000_000
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    torch.cuda._sleep(n)
    start.record()
    torch.cuda._sleep(n)
    end.record()
    torch.cuda.synchronize()
    return max(1, int(n / (start.elapsed_time(end) * 1e3) * microseconds))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", default="hostnodes.csv")
    args = parser.parse_args()
    rows = []
    for kernels, busy in ((1, 5), (1, 50), (10, 5), (10, 10), (20, 5)):
        cycles = cycles_of(busy)
        for calls in ("none", "beside", "within"):
            graph = capture(calls, kernels, cycles)
            rows.append(("graph", f"calls={calls};kernels={kernels};busy={busy};waits={WAITS}", f"{replays(graph, 30):.3f}"))
            print(*rows[-1])
    with open(args.output, "w", newline="") as f:
        w = csv.writer(f, lineterminator="\n")
        w.writerow(["kind", "params", "time_us"])
        w.writerows(rows)


if __name__ == "__main__":
    main()
