#!/usr/bin/env python3
"""Finds the steps of an engine in the streams of its clients: how long they take, by what is in them.

    python3 steps.py H200_serving/streams.jsonl.gz --runs "graphs-(c|long|open)" -o H200_serving/graphs_steps.csv

Tokens that reach clients within 6 ms of each other are those of one step, which takes the time since the step before. Steps that
only decode are put together by their sequences and by 4096 keys, others by the prompts that they end; a row has the
median of at least four steps. Prompts that a step holds a part of count where they end. A prompt that comes alone takes the
time to its first token.
"""

import argparse
import csv
import gzip
import json
import re
import statistics
from collections import defaultdict
from itertools import accumulate, groupby

NEAR, KEYS, LEAST, IDLE = 6e-3, 4096, 4, 0.4  # seconds, keys, steps, seconds after which an engine had nothing to do


def steps(requests):
    """Yields lists of (time, number of the token, input tokens, arrival)."""
    tokens = sorted((r["arrival"] + 1e-5 * at, i, r["input"], r["arrival"]) for r in requests for i, at in enumerate(accumulate(r["chunks"])))
    step = [tokens[0]]
    for token in tokens[1:]:
        if token[0] - step[-1][0] >= NEAR:
            yield step
            step = []
        step.append(token)
    yield step


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("streams")
    parser.add_argument("--runs", default="", help="runs whose names begin like this, as a regular expression")
    parser.add_argument("-o", "--output", required=True)
    args = parser.parse_args()
    with gzip.open(args.streams, "rt") as lines:
        requests = [r for r in map(json.loads, lines) if re.match(args.runs, r["run"])]
    groups = defaultdict(list)
    for _, run in groupby(requests, key=lambda r: r["run"]):
        found = list(steps(list(run)))
        for before, step in zip([None] + found, found):
            alone = len(step) == 1 and step[0][1] == 0 and (before is None or before[0][0] < step[0][3])
            if before is None and not alone:
                continue
            seconds = step[0][0] - (step[0][3] if alone else before[0][0])
            decodes, prompts = [t for t in step if t[1] > 0], [t[2] for t in step if t[1] == 0]
            keys = sum(t[1] + t[2] for t in decodes)
            if seconds < IDLE:
                where = (0, len(decodes), keys // KEYS) if not prompts else (len(prompts), sum(prompts) // 512, min(1, len(decodes)))
                groups[where].append((len(decodes), keys, sum(prompts), len(prompts), 1e3 * seconds))
    with open(args.output, "w", newline="") as f:
        out = csv.writer(f, lineterminator="\n")
        out.writerow(["n_decode", "sum_ctx", "prefill_tokens", "prefill_seqs", "wall_ms", "steps"])
        for _, rows in sorted(groups.items()):
            if len(rows) >= LEAST:
                n, keys, tokens, prompts, ms = (statistics.median(column) for column in zip(*rows))
                out.writerow([round(n), round(keys), round(tokens), round(prompts), round(ms, 2), len(rows)])


if __name__ == "__main__":
    main()
