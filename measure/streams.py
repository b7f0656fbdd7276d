#!/usr/bin/env python3
"""Makes one small file of the requests that `throughline bench --requests-out NAME.jsonl` wrote.

    python3 streams.py -o streams.jsonl.gz graphs-c8.jsonl graphs-c16.jsonl ...

A line for each request: run (the name of the file), arrival in seconds from the start of the run, input tokens, and in chunks
the time to the first one and those between the others, in hundredths of a millisecond; finish is the time from the last
chunk to the end of the stream, in the same unit.
"""

import argparse
import gzip
import io
import json
import os


def reduced(name, request):
    times = [request["arrival"]] + [at for at, _ in request["chunks"]]
    ticks = [round(1e5 * (at - request["arrival"])) for at in times]
    finish = round(1e5 * (request["finish"] - request["arrival"])) - ticks[-1]
    return {"run": name, "arrival": round(request["arrival"], 5), "input": request["input"],
            "chunks": [b - a for a, b in zip(ticks, ticks[1:])], "finish": finish}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("-o", "--output", required=True)
    args = parser.parse_args()
    with open(args.output, "wb") as out, gzip.GzipFile("", "wb", 9, out, mtime=0) as packed, io.TextIOWrapper(packed) as text:
        for file in args.files:
            name = os.path.basename(file).removesuffix(".jsonl")
            with open(file) as lines:
                requests = [json.loads(line) for line in lines]
            for request in sorted(requests, key=lambda r: r["arrival"]):
                if request["error"]:
                    raise SystemExit(f"{file}: a request failed: {request['error']}")
                json.dump(reduced(name, request), text, separators=(",", ":"))
                text.write("\n")


if __name__ == "__main__":
    main()
