#!/usr/bin/env python3
"""Serves Hugging Face transformers' continuous batching over the OpenAI protocol, with random weights.

    python3 serve.py --config Llama-3.1-8B.json --port 8000
    throughline bench --backend vllm --base-url http://127.0.0.1:8000 ...

A real engine to measure against: scheduling, paged cache and kernels are those of transformers, the weights are drawn,
so that nothing has to be fetched. Prompts are lists of token ids, or words (each becomes one token). Every generated
token is a chunk of the stream with its number as text. Needs PyTorch and transformers 5; the server is the standard
library's. See README.md for what was measured with it.
"""

import argparse
import json
import queue
import signal
import sys
import threading
import time
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Engine:
    """Requests in, tokens out: one thread hands the outputs of the manager to the requests they belong to."""

    def __init__(self, manager, vocab):
        self.manager, self.vocab = manager, vocab
        self.waiting, self.lock, self.count = {}, threading.Lock(), 0
        threading.Thread(target=self.deliver, daemon=True).start()

    def submit(self, prompt, max_tokens):
        outputs = queue.SimpleQueue()
        with self.lock:
            self.count += 1
            name = f"cmpl-{self.count}"
            self.waiting[name] = outputs
        self.manager.add_request(prompt, request_id=name, max_new_tokens=max_tokens, streaming=True, eos_token_id=-1)
        return name, outputs

    def deliver(self):
        while True:
            result = self.manager.get_result(timeout=1.0)
            if result is None:
                continue
            done = result.is_finished()
            with self.lock:
                outputs = self.waiting.pop(result.request_id, None) if done else self.waiting.get(result.request_id)
            if outputs is not None:
                outputs.put((time.time(), list(result.generated_tokens), done, getattr(result, "error", None)))

    def tokens(self, outputs):
        """Yields (time, new tokens) until the request has ended."""
        sent = 0
        while True:
            at, tokens, done, error = outputs.get()
            if error:
                raise RuntimeError(error)
            fresh = tokens[sent:]
            if fresh:
                sent += len(fresh)
                yield at, fresh
            if done:
                return


def ids(prompt, vocab):
    """Token ids as given; of text one token per word, the same for the same word."""
    if isinstance(prompt, list) and prompt and isinstance(prompt[0], list):
        prompt = prompt[0]
    if isinstance(prompt, list) and all(isinstance(t, int) for t in prompt):
        return [t % vocab for t in prompt]
    return [zlib.crc32(word.encode()) % vocab for word in str(prompt).split()]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    engine, model = None, "random"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def answer(self, code, value):
        body = json.dumps(value).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if self.path == "/health":
            return self.answer(200, {})
        if self.path == "/v1/models":
            return self.answer(200, {"object": "list", "data": [{"id": self.model, "object": "model"}]})
        self.answer(404, {"error": {"message": f"no {self.path}", "type": "invalid_request_error"}})

    def do_POST(self):
        try:
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
            if self.path == "/v1/completions":
                prompt = body["prompt"]
            elif self.path == "/v1/chat/completions":
                prompt = " ".join(str(m["content"]) for m in body["messages"])
            else:
                return self.answer(404, {"error": {"message": f"no {self.path}", "type": "invalid_request_error"}})
            prompt = ids(prompt, self.engine.vocab)
            most = int(body.get("max_completion_tokens") or body.get("max_tokens") or 16)
            if not prompt or most < 1:
                raise ValueError("prompt and max_tokens must not be empty")
        except (ValueError, KeyError, TypeError) as e:
            return self.answer(400, {"error": {"message": repr(e), "type": "invalid_request_error"}})
        name, outputs = self.engine.submit(prompt, most)
        if body.get("stream"):
            self.stream(name, outputs, len(prompt), body)
        else:
            text = [f" t{t}" for _, fresh in self.engine.tokens(outputs) for t in fresh]
            whole = self.chunk(name, "".join(text), "length")
            if "delta" in whole["choices"][0]:
                whole["choices"][0]["message"] = {"role": "assistant"} | whole["choices"][0].pop("delta")
            self.answer(200, whole | {"usage": usage(len(prompt), len(text))})

    def chunk(self, name, text, finish=None):
        choice = {"index": 0, "finish_reason": finish}
        if self.path.endswith("/chat/completions"):
            choice["delta"] = {"content": text}
        else:
            choice["text"] = text
        return {"id": name, "object": "text_completion", "created": int(time.time()), "model": self.model, "choices": [choice]}

    def stream(self, name, outputs, prompt, body):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        count = 0
        for at, fresh in self.engine.tokens(outputs):
            count += len(fresh)
            # produced_s: when the engine handed the token over, to tell the network and the client from the engine.
            self.event(self.chunk(name, "".join(f" t{t}" for t in fresh)) | {"produced_s": at})
        self.event(self.chunk(name, "", "length"))
        if (body.get("stream_options") or {}).get("include_usage"):
            self.event({"id": name, "object": "text_completion", "model": self.model, "choices": [], "usage": usage(prompt, count)})
        self.write(b"data: [DONE]\n\n")
        self.wfile.write(b"0\r\n\r\n")

    def event(self, value):
        self.write(b"data: " + json.dumps(value).encode() + b"\n\n")

    def write(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))


def usage(prompt, output):
    return {"prompt_tokens": prompt, "completion_tokens": output, "total_tokens": prompt + output}


class Server(ThreadingHTTPServer):
    request_queue_size, daemon_threads = 1024, True


def load(args):
    import torch
    import transformers
    from transformers.generation import ContinuousBatchingConfig, GenerationConfig

    with open(args.config) as f:
        shape = json.load(f)
    config = transformers.AutoConfig.for_model(shape.pop("model_type"), **shape)
    began = time.time()
    with torch.device(args.device):
        model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16, attn_implementation=args.attention)
    model.eval()
    # Outputs run to their length: no end of text is ever drawn. Greedy, as benchmarks with temperature 0.
    generation = GenerationConfig(do_sample=False, eos_token_id=-1, pad_token_id=0, max_new_tokens=16)
    batching = ContinuousBatchingConfig(
        max_batch_tokens=args.max_batch_tokens, num_blocks=args.num_blocks, use_cuda_graph=args.cuda_graphs,
        # The asynchronous loop of 5.17 ends with an error if no request is there when it starts.
        use_async_batching=False, allow_block_sharing=args.prefix_cache, block_size=args.block_size)
    manager = model.init_continuous_batching(generation_config=generation, continuous_batching_config=batching)
    if args.cuda_graphs and hasattr(manager, "warmup"):
        manager.warmup()
    manager.start()
    settled = getattr(manager, "continuous_batching_config", batching)
    print(f"torch {torch.__version__}, transformers {transformers.__version__}, attention {model.config._attn_implementation}, "
          f"{sum(p.numel() for p in model.parameters()) / 1e9:.2f} billion weights, loaded in {time.time() - began:.0f} s; "
          f"{settled}", file=sys.stderr, flush=True)
    return manager, config.get_text_config().vocab_size


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--config", required=True, help="config.json of the model")
    p.add_argument("--host", default="127.0.0.1")
    p.add_argument("--port", type=int, default=8000)
    p.add_argument("--device", default="cuda")
    p.add_argument("--attention", default="sdpa", help="attention of transformers: sdpa, flash_attention_2, eager")
    p.add_argument("--max-batch-tokens", type=int, default=2048, help="tokens of a step")
    p.add_argument("--num-blocks", type=int, default=None, help="blocks of the cache (default: what memory has room for)")
    p.add_argument("--block-size", type=int, default=32, help="tokens of a block")
    p.add_argument("--cuda-graphs", action="store_true")
    p.add_argument("--prefix-cache", action="store_true")
    args = p.parse_args()
    manager, vocab = load(args)
    Handler.engine = Engine(manager, vocab)
    server = Server((args.host, args.port), Handler)
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
    print(f"listening on http://{args.host}:{server.server_address[1]}", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    manager.stop(block=False)


if __name__ == "__main__":
    main()
