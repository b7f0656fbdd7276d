"""Questions as functions. Written from the table of settings; do not edit."""

from ._ask import ask


def plan(*, model=None, system=None, gpus=None, decode_system=None, prefill_gpus=None, pool=None, gpus_per_node=None, engine=None, mode=None, isl=None, osl=None, rate=None, lengths=None, random_range_ratio=None, prefix=None, prefix_hit=None, arrival=None, trace=None, turns=None, think_time=None, gsp_num_groups=None, gsp_system_prompt_len=None, seed=None, ttft=None, tpot=None, objective=None, chance=None, part_nodes=None, top=None, pools=None, redundant=None, drafts=None, overlap=None, popularity=None, routing=None, weights=None, activations=None, cache=None, attention=None, comm=None, dispatch=None, combine=None, vector=None, memory_share=None, prefix_cache=None, offload_weights=None, offload_cache=None, gpu_layers=None, max_running_requests=None, step_tokens=None, attention_backend=None, prefill_attention_backend=None, decode_attention_backend=None, captured_batch=None, poll_steps=None, wait_steps=None, balance_steps=None, price=None, power=None, power_limit=None, energy_price=None, pue=None, carbon=None, assume=None, set=None, fitted=None, vary=None, link=None, where=None, design=None, samples=None, optimise=None, sensitivity=None, jobs=None, numbers=None, url=None, key=None, program=None):
    """Find the best deployments of a model on a number of GPUs.

    A list asks for each of its values, where the command does. What is None is left to the default.

    Args:

        Deployment
        model: model: a built-in name, a model file, a Hugging Face config.json or its folder (required)
        system: system: a built-in name or a system file (required)
        gpus: GPUs to use; the most of them for objective min-gpus (required, but for rate: up to 1024)
        decode_system: system of the decode pool, if it differs
        prefill_gpus: GPUs of the prefill pool of disaggregated deployments; the others decode (default: searched)
        pool: GPUs of one kind, SYSTEM:GPUS, in place of system and gpus; may be repeated. What each does is searched, unless it is said: prefill=SYSTEM:GPUS, decode=SYSTEM:GPUS
        gpus_per_node: GPUs of one node; an instance fills whole nodes or divides one, and a first network of up to 8 joins no more than these
        engine: serving engine: sglang, vllm, trtllm or, on a desk, llamacpp; any: the best one that can run each deployment; each: rows of every one that can; none: a generic engine that runs everything
        mode: agg: prefill and decode share GPUs; disagg: a pool of GPUs for each; both: try both

        Requests
        isl: input tokens of a request (default 1024)
        osl: output tokens of a request (default 1024)
        rate: request rate to serve, in requests per second: for objective min-gpus, which it stands for without gpus, and limits of percentiles (default, of a trace: its own)
        lengths: distribution of the lengths: fixed, uniform:R, lognormal:S, sharegpt or trace:FILE (default fixed)
        random_range_ratio: lengths are spread evenly from this share of isl and osl to all of them, as in sglang.bench_serving; 1: fixed
        prefix: leading input tokens that are in the prefix cache
        prefix_hit: share of the input tokens that are in the prefix cache, in place of prefix
        arrival: how requests come: poisson, gamma:CV, constant or bursts:N
        trace: file of requests in place of drawn ones: Mooncake (JSON lines), Azure or Vidur (CSV); plain or .gz. Arrivals and shared prefixes count in simulate and, with limits of percentiles, in plan; lengths everywhere
        turns: turns of a conversation, each prompt being all that was said before and isl tokens more
        think_time: time from an answer to the next turn, like 2s; a bare number is seconds
        gsp_num_groups: groups of requests that share a prefix
        gsp_system_prompt_len: tokens of the prefix that a group shares, besides isl
        seed: of the random numbers

        Limits and goal
        ttft: limit on the time to first token: 2s, 500ms or a number of ms, of the mean in closed form; p99:2s: of a percentile, simulated at rate (default: none)
        tpot: limit on the time per output token, likewise: 50ms, p95:50ms (default: none)
        objective: what to optimise: throughput, cost (dollars per token), energy (tokens per joule), latency or min-gpus
        chance: least chance that all limits hold, such as 90%, by the bands of the predictions and how far runs differ (default: the prediction itself holds)
        part_nodes: let the fewest GPUs be any number, in place of whole nodes or an even part of one
        top: number of deployments to rank
        pools: number of pools of prefill and of decode to rank by themselves

        Parallelism
        redundant: redundant experts: tries up to this many, as far as they even out the load or the ranks
        drafts: draft tokens per decode step (multi-token prediction): tries up to this many
        overlap: overlap of the exchange between experts with computation: off, two-batch, single-batch; any: the best of them
        popularity: how often experts are visited: uniform, served (as those of DeepSeek-V3 in service), alike (all tokens the same, as one token repeated), zipf:EXPONENT, lognormal:SPREAD or counts:FILE (default: as served, by all ranks alike)
        routing: which replica gets a request: round-robin, least-loaded or prefix-aware

        Number formats
        weights: number format of the weights: nvfp4, mxfp4_a4, mxfp4, int4, int4_g32, w4a8, fp8, fp8_block, mxfp8, w8a8, int8, fp16, bf16, fp32, q2_k, q3_k_s, q3_k_m, q3_k_l, iq4_xs, iq4_nl, q4_0, q4_1, q4_k, q4_k_s, q4_k_m, q5_0, q5_k_s, q5_k_m, q6_k, q8_0, mxfp4_moe (default: as published, where the system computes it; else bf16)
        activations: number format of the activations (default: that of the weights, if the system has a rate for it)
        cache: number format of the KV cache (default: what the engine uses)
        attention: number format of attention (default bf16)
        comm: number format of communication, except expert dispatch and combine (default bf16)
        dispatch: number format of expert dispatch (default fp8 with scales, as the libraries send it)
        combine: number format of expert combine (default bf16)
        vector: number format of the vector unit (default bf16)

        Memory
        memory_share: share of the memory that servers are told to take, in what the engine counts (default: as assumed)
        prefix_cache: blocks of prompts are kept for others that begin alike
        offload_weights: share of the weights in the second memory tier
        offload_cache: share of the KV cache of running requests in the second memory tier, read over the link in every step; engines keep idle blocks there instead: host-cache
        gpu_layers: layers on GPUs, counting the output head as one, with engine llamacpp; the host runs the others (default: all)

        Engine options
        max_running_requests: requests of a rank at a time, at most (default: as many as fill the batch)
        step_tokens: tokens that a step may hold (default: the engine's)
        attention_backend: kernels of attention, by the engine's own name or what all engines call them: fa3, flashinfer, triton, trtllm-gen (default: the engine's)
        prefill_attention_backend: those of prefill (default: attention-backend)
        decode_attention_backend: those of decode (default: attention-backend)
        captured_batch: sequences (vLLM: tokens) of the largest decode step of a rank that is captured as a graph; the host launches the operators of longer ones (default: all are captured)
        poll_steps: steps between two looks for new requests (default: the engine's)
        wait_steps: steps for which prompts wait for others to fill a step, while others decode
        balance_steps: steps for which the data-parallel ranks of experts wait until each of them has a prompt

        Power and cost
        price: price of a GPU in dollars per hour: a number, or SYSTEM=NUMBER for each kind (default: that of the system, where it has one)
        power: power of a GPU in watts: a number, or SYSTEM=NUMBER for each kind
        power_limit: power limit of a GPU in watts, such as 500W, under which clocks fall, where the system has a block power; several, with commas between them, are compared; auto: the one with the least energy per token
        energy_price: price of energy in dollars per kWh
        pue: energy of the building per energy of its GPUs, which price and carbon of energy then are of
        carbon: CO₂ of energy in grams per kWh

        Assumptions
        assume: modelling assumptions: physical or reference, and changes such as physical,causal=false
        set: numbers of the files of the system, the model or the engine to change, as PATH=VALUE: sys.mem1.GBps=6000, sys.networks[0].bandwidth=x2 (twice what the file has), model.num_blocks=40; may be repeated
        fitted: file that throughline calibrate serving wrote: what measured runs of the deployment correct

        Several questions
        vary: ask at several values of a setting or of a number of a file: gpus=8,16,32, sys.mem1.GBps=3000:12500:20, sys.mem1.GBps=x0.5:x4:log8; may be repeated
        link: axes that move together, value by value: isl,osl
        where: keep points that meet a condition on an axis or a figure: tpot <= 20ms, gpus < 64; may be repeated
        design: how points are spread over the axes: grid (every combination), latin, sobol or halton (default grid)
        samples: number of points of a design other than grid
        optimise: look for the points that no other beats in two or three figures, max:tokens_per_s_per_gpu and min:usd_per_m_tokens; with samples by zoom, in rounds around those found; may be repeated
        sensitivity: say how much each axis matters for the best figure, or those of optimise: morris (effects of one axis at a time) or sobol (shares of the variance); needs samples

        Processes
        jobs: CPU cores to use (default: all)

        Besides
        numbers: numbers of files to change, like {"sys.mem1.GBps": 6000}
        url: address of "throughline web", which is asked in place of the program
        key: its key (default: THROUGHLINE_KEY of the environment)
        program: the program to run (default: THROUGHLINE_PROGRAM of the environment, the one of this package, or throughline on the PATH)

    Returns:
        Answer
    """
    return ask("plan", {"model": model, "system": system, "gpus": gpus, "decode-system": decode_system, "prefill-gpus": prefill_gpus, "pool": pool, "gpus-per-node": gpus_per_node, "engine": engine, "mode": mode, "isl": isl, "osl": osl, "rate": rate, "lengths": lengths, "random-range-ratio": random_range_ratio, "prefix": prefix, "prefix-hit": prefix_hit, "arrival": arrival, "trace": trace, "turns": turns, "think-time": think_time, "gsp-num-groups": gsp_num_groups, "gsp-system-prompt-len": gsp_system_prompt_len, "seed": seed, "ttft": ttft, "tpot": tpot, "objective": objective, "chance": chance, "part-nodes": part_nodes, "top": top, "pools": pools, "redundant": redundant, "drafts": drafts, "overlap": overlap, "popularity": popularity, "routing": routing, "weights": weights, "activations": activations, "cache": cache, "attention": attention, "comm": comm, "dispatch": dispatch, "combine": combine, "vector": vector, "memory-share": memory_share, "prefix-cache": prefix_cache, "offload-weights": offload_weights, "offload-cache": offload_cache, "gpu-layers": gpu_layers, "max-running-requests": max_running_requests, "step-tokens": step_tokens, "attention-backend": attention_backend, "prefill-attention-backend": prefill_attention_backend, "decode-attention-backend": decode_attention_backend, "captured-batch": captured_batch, "poll-steps": poll_steps, "wait-steps": wait_steps, "balance-steps": balance_steps, "price": price, "power": power, "power-limit": power_limit, "energy-price": energy_price, "pue": pue, "carbon": carbon, "assume": assume, "set": set, "fitted": fitted, "vary": vary, "link": link, "where": where, "design": design, "samples": samples, "optimise": optimise, "sensitivity": sensitivity, "jobs": jobs}, numbers, url, key, program)


def estimate(*, model=None, system=None, gpus=None, decode_system=None, gpus_per_node=None, engine=None, isl=None, osl=None, concurrency=None, batch=None, lengths=None, random_range_ratio=None, prefix=None, prefix_hit=None, arrival=None, trace=None, turns=None, gsp_num_groups=None, gsp_system_prompt_len=None, phase=None, context=None, cold=None, tp=None, pp=None, dp=None, ep=None, cp=None, sp=None, moe_tp=None, moe_dp=None, dense_tp=None, head_tp=None, prefill_plan=None, decode_plan=None, redundant=None, drafts=None, overlap=None, popularity=None, weights=None, activations=None, cache=None, attention=None, comm=None, dispatch=None, combine=None, vector=None, memory_share=None, prefix_cache=None, offload_weights=None, offload_cache=None, gpu_layers=None, max_running_requests=None, step_tokens=None, attention_backend=None, prefill_attention_backend=None, decode_attention_backend=None, captured_batch=None, captured_prompts=None, chunked_prefill=None, poll_steps=None, wait_steps=None, balance_steps=None, price=None, power_limit=None, energy_price=None, pue=None, carbon=None, assume=None, set=None, fitted=None, vary=None, link=None, where=None, design=None, samples=None, optimise=None, sensitivity=None, from_=None, numbers=None, url=None, key=None, program=None):
    """Predict one deployment: what clients see, memory, power.

    A list asks for each of its values, where the command does. What is None is left to the default.

    Args:

        Deployment
        model: model: a built-in name, a model file, a Hugging Face config.json or its folder (required)
        system: system: a built-in name or a system file (required)
        gpus: GPUs of one instance, in place of tp and pp: layers are split over them with llamacpp, tensors with other engines (default: what tp, pp and dp take)
        decode_system: system of the decode pool, if it differs
        gpus_per_node: GPUs of one node; a first network of up to 8 joins no more than these
        engine: serving engine: sglang, vllm, trtllm or, on a desk, llamacpp; any: the best one that can run the deployment; none: a generic engine that runs everything

        Requests
        isl: input tokens of a request (default 1024)
        osl: output tokens of a request (default 1024)
        concurrency: concurrent clients (default: as many as fill the batches of all ranks)
        batch: batch: sequences per data-parallel rank; with reference assumptions and an expert model, per GPU (default: what the concurrency takes, or 1)
        lengths: distribution of the lengths: fixed, uniform:R, lognormal:S, sharegpt or trace:FILE (default fixed)
        random_range_ratio: lengths are spread evenly from this share of isl and osl to all of them, as in sglang.bench_serving; 1: fixed
        prefix: leading input tokens that are in the prefix cache
        prefix_hit: share of the input tokens that are in the prefix cache, in place of prefix
        arrival: how requests come: poisson, gamma:CV, constant or bursts:N
        trace: file of requests in place of drawn ones: Mooncake (JSON lines), Azure or Vidur (CSV); plain or .gz. Arrivals and shared prefixes count in simulate and, with limits of percentiles, in plan; lengths everywhere
        turns: turns of a conversation, each prompt being all that was said before and isl tokens more
        gsp_num_groups: groups of requests that share a prefix
        gsp_system_prompt_len: tokens of the prefix that a group shares, besides isl

        Limits and goal
        phase: show bare steps: prefill, decode or both (default: what clients see)
        context: context length of a decode step, in place of isl and osl
        cold: add the TTFT of a benchmark whose clients all start at once on servers that have just started

        Parallelism
        tp: tensor parallel size
        pp: pipeline parallel size
        dp: data parallel size of attention
        ep: expert parallel size (default: 1 where nothing is said of experts and dp is 1, as engines start; else it fills the GPUs of a pipeline stage)
        cp: context parallel size, in prefill
        sp: sequence parallelism between tensor-parallel ranks
        moe_tp: tensor parallel size of each expert (default: tp where nothing is said of experts and dp is 1, as engines start; else 1)
        moe_dp: copies of all experts (default: what ep leaves, else 1)
        dense_tp: dense layers of an expert model split over all GPUs of a stage, in place of a copy in every attention replica
        head_tp: output projection of an expert model split likewise
        prefill_plan: plan of a separate prefill pool, such as 2x tp4
        decode_plan: plan of a separate decode pool, such as dp8·tp1 ep8
        redundant: redundant experts: extra copies of routed experts
        drafts: draft tokens per decode step (multi-token prediction)
        overlap: overlap of the exchange between experts with computation: off, two-batch, single-batch (default off)
        popularity: how often experts are visited: uniform, served (as those of DeepSeek-V3 in service), alike (all tokens the same, as one token repeated), zipf:EXPONENT, lognormal:SPREAD or counts:FILE (default: as served, by all ranks alike)

        Number formats
        weights: number format of the weights: nvfp4, mxfp4_a4, mxfp4, int4, int4_g32, w4a8, fp8, fp8_block, mxfp8, w8a8, int8, fp16, bf16, fp32, q2_k, q3_k_s, q3_k_m, q3_k_l, iq4_xs, iq4_nl, q4_0, q4_1, q4_k, q4_k_s, q4_k_m, q5_0, q5_k_s, q5_k_m, q6_k, q8_0, mxfp4_moe (default: as published, where the system computes it; else bf16)
        activations: number format of the activations (default: that of the weights, if the system has a rate for it)
        cache: number format of the KV cache (default: what the engine uses)
        attention: number format of attention (default bf16)
        comm: number format of communication, except expert dispatch and combine (default bf16)
        dispatch: number format of expert dispatch (default fp8 with scales, as the libraries send it)
        combine: number format of expert combine (default bf16)
        vector: number format of the vector unit (default bf16)

        Memory
        memory_share: share of the memory that servers take, in what the engine counts (default: what it takes by itself; of two pools, as assumed)
        prefix_cache: blocks of prompts are kept for others that begin alike
        offload_weights: share of the weights in the second memory tier
        offload_cache: share of the KV cache of running requests in the second memory tier, read over the link in every step; engines keep idle blocks there instead: host-cache
        gpu_layers: layers on GPUs, counting the output head as one, with engine llamacpp; the host runs the others (default: all)

        Engine options
        max_running_requests: requests of a rank at a time (default: the engine's, which may be fewer with drafts)
        step_tokens: tokens that a step may hold (default: the engine's)
        attention_backend: kernels of attention, by the engine's own name or what all engines call them: fa3, flashinfer, triton, trtllm-gen (default: the engine's)
        prefill_attention_backend: those of prefill (default: attention-backend)
        decode_attention_backend: those of decode (default: attention-backend)
        captured_batch: sequences (vLLM: tokens) of the largest decode step of a rank that is captured as a graph; the host launches the operators of longer ones (default: all are captured)
        captured_prompts: tokens of the largest step with prompts of a rank that is captured as a graph; the host launches the operators of longer ones (default: the engine's)
        chunked_prefill: 1: TensorRT-LLM cuts prompts to fill a step, and SGLang lets them share steps with decodes, as vLLM does unasked
        poll_steps: steps between two looks for new requests (default: the engine's)
        wait_steps: steps for which prompts wait for others to fill a step, while others decode
        balance_steps: steps for which the data-parallel ranks of experts wait until each of them has a prompt

        Power and cost
        price: price of a GPU in dollars per hour: a number, or SYSTEM=NUMBER for each kind (default: that of the system, where it has one)
        power_limit: power limit of a GPU in watts, such as 500W, under which clocks fall, where the system has a block power; several, with commas between them, are compared (default: as delivered)
        energy_price: price of energy in dollars per kWh
        pue: energy of the building per energy of its GPUs, which price and carbon of energy then are of
        carbon: CO₂ of energy in grams per kWh

        Assumptions
        assume: modelling assumptions: physical or reference, and changes such as physical,causal=false
        set: numbers of the files of the system, the model or the engine to change, as PATH=VALUE: sys.mem1.GBps=6000, sys.networks[0].bandwidth=x2 (twice what the file has), model.num_blocks=40; may be repeated
        fitted: file that throughline calibrate serving wrote: what measured runs of the deployment correct

        Several questions
        vary: ask at several values of a setting or of a number of a file: gpus=8,16,32, sys.mem1.GBps=3000:12500:20, sys.mem1.GBps=x0.5:x4:log8; may be repeated
        link: axes that move together, value by value: isl,osl
        where: keep points that meet a condition on an axis or a figure: tpot <= 20ms, gpus < 64; may be repeated
        design: how points are spread over the axes: grid (every combination), latin, sobol or halton (default grid)
        samples: number of points of a design other than grid
        optimise: look for the points that no other beats in two or three figures, max:tokens_per_s_per_gpu and min:usd_per_m_tokens; with samples by zoom, in rounds around those found; may be repeated
        sensitivity: say how much each axis matters for the best figure, or those of optimise: morris (effects of one axis at a time) or sobol (shares of the variance); needs samples

        Input and output
        from_: take the deployment from a row of the JSON that throughline plan wrote: plan.json#1, or plan.json#f2 for the frontier

        Besides
        numbers: numbers of files to change, like {"sys.mem1.GBps": 6000}
        url: address of "throughline web", which is asked in place of the program
        key: its key (default: THROUGHLINE_KEY of the environment)
        program: the program to run (default: THROUGHLINE_PROGRAM of the environment, the one of this package, or throughline on the PATH)

    Returns:
        Answer
    """
    return ask("estimate", {"model": model, "system": system, "gpus": gpus, "decode-system": decode_system, "gpus-per-node": gpus_per_node, "engine": engine, "isl": isl, "osl": osl, "concurrency": concurrency, "batch": batch, "lengths": lengths, "random-range-ratio": random_range_ratio, "prefix": prefix, "prefix-hit": prefix_hit, "arrival": arrival, "trace": trace, "turns": turns, "gsp-num-groups": gsp_num_groups, "gsp-system-prompt-len": gsp_system_prompt_len, "phase": phase, "context": context, "cold": cold, "tp": tp, "pp": pp, "dp": dp, "ep": ep, "cp": cp, "sp": sp, "moe-tp": moe_tp, "moe-dp": moe_dp, "dense-tp": dense_tp, "head-tp": head_tp, "prefill-plan": prefill_plan, "decode-plan": decode_plan, "redundant": redundant, "drafts": drafts, "overlap": overlap, "popularity": popularity, "weights": weights, "activations": activations, "cache": cache, "attention": attention, "comm": comm, "dispatch": dispatch, "combine": combine, "vector": vector, "memory-share": memory_share, "prefix-cache": prefix_cache, "offload-weights": offload_weights, "offload-cache": offload_cache, "gpu-layers": gpu_layers, "max-running-requests": max_running_requests, "step-tokens": step_tokens, "attention-backend": attention_backend, "prefill-attention-backend": prefill_attention_backend, "decode-attention-backend": decode_attention_backend, "captured-batch": captured_batch, "captured-prompts": captured_prompts, "chunked-prefill": chunked_prefill, "poll-steps": poll_steps, "wait-steps": wait_steps, "balance-steps": balance_steps, "price": price, "power-limit": power_limit, "energy-price": energy_price, "pue": pue, "carbon": carbon, "assume": assume, "set": set, "fitted": fitted, "vary": vary, "link": link, "where": where, "design": design, "samples": samples, "optimise": optimise, "sensitivity": sensitivity, "from": from_}, numbers, url, key, program)


def explain(*, model=None, system=None, gpus=None, decode_system=None, gpus_per_node=None, engine=None, isl=None, osl=None, concurrency=None, batch=None, lengths=None, random_range_ratio=None, prefix=None, prefix_hit=None, arrival=None, trace=None, turns=None, gsp_num_groups=None, gsp_system_prompt_len=None, ttft=None, tpot=None, seek=None, until=None, replan=None, phase=None, context=None, tp=None, pp=None, dp=None, ep=None, cp=None, sp=None, moe_tp=None, moe_dp=None, dense_tp=None, head_tp=None, prefill_plan=None, decode_plan=None, redundant=None, drafts=None, overlap=None, popularity=None, weights=None, activations=None, cache=None, attention=None, comm=None, dispatch=None, combine=None, vector=None, memory_share=None, prefix_cache=None, offload_weights=None, offload_cache=None, gpu_layers=None, max_running_requests=None, step_tokens=None, attention_backend=None, prefill_attention_backend=None, decode_attention_backend=None, captured_batch=None, captured_prompts=None, chunked_prefill=None, poll_steps=None, wait_steps=None, balance_steps=None, price=None, power_limit=None, energy_price=None, pue=None, carbon=None, assume=None, set=None, fitted=None, from_=None, numbers=None, url=None, key=None, program=None):
    """Explain where the time of one deployment goes.

    A list asks for each of its values, where the command does. What is None is left to the default.

    Args:

        Deployment
        model: model: a built-in name, a model file, a Hugging Face config.json or its folder (required)
        system: system: a built-in name or a system file (required)
        gpus: GPUs of one instance, in place of tp and pp: layers are split over them with llamacpp, tensors with other engines (default: what tp, pp and dp take)
        decode_system: system of the decode pool, if it differs
        gpus_per_node: GPUs of one node; a first network of up to 8 joins no more than these
        engine: serving engine: sglang, vllm, trtllm or, on a desk, llamacpp; any: the best one that can run the deployment; none: a generic engine that runs everything

        Requests
        isl: input tokens of a request (default 1024)
        osl: output tokens of a request (default 1024)
        concurrency: concurrent clients (default: as many as fill the batches of all ranks)
        batch: batch: sequences per data-parallel rank; with reference assumptions and an expert model, per GPU (default: what the concurrency takes, or 1)
        lengths: distribution of the lengths: fixed, uniform:R, lognormal:S, sharegpt or trace:FILE (default fixed)
        random_range_ratio: lengths are spread evenly from this share of isl and osl to all of them, as in sglang.bench_serving; 1: fixed
        prefix: leading input tokens that are in the prefix cache
        prefix_hit: share of the input tokens that are in the prefix cache, in place of prefix
        arrival: how requests come: poisson, gamma:CV, constant or bursts:N
        trace: file of requests in place of drawn ones: Mooncake (JSON lines), Azure or Vidur (CSV); plain or .gz. Arrivals and shared prefixes count in simulate and, with limits of percentiles, in plan; lengths everywhere
        turns: turns of a conversation, each prompt being all that was said before and isl tokens more
        gsp_num_groups: groups of requests that share a prefix
        gsp_system_prompt_len: tokens of the prefix that a group shares, besides isl

        Limits and goal
        ttft: limit on the time to first token: 2s, 500ms, or a number of ms (default: none)
        tpot: limit on the time per output token: 50ms, or a number of ms (default: none)
        seek: hardware number to change until the goal is reached
        until: the goal: tpot, ttft, step, throughput, memory, batch = a value
        replan: search the best deployment on as many GPUs at each value that seek tries; for the goals tpot and throughput
        phase: show bare steps: prefill, decode or both (default: what clients see)
        context: context length of a decode step, in place of isl and osl

        Parallelism
        tp: tensor parallel size
        pp: pipeline parallel size
        dp: data parallel size of attention
        ep: expert parallel size (default: 1 where nothing is said of experts and dp is 1, as engines start; else it fills the GPUs of a pipeline stage)
        cp: context parallel size, in prefill
        sp: sequence parallelism between tensor-parallel ranks
        moe_tp: tensor parallel size of each expert (default: tp where nothing is said of experts and dp is 1, as engines start; else 1)
        moe_dp: copies of all experts (default: what ep leaves, else 1)
        dense_tp: dense layers of an expert model split over all GPUs of a stage, in place of a copy in every attention replica
        head_tp: output projection of an expert model split likewise
        prefill_plan: plan of a separate prefill pool, such as 2x tp4
        decode_plan: plan of a separate decode pool, such as dp8·tp1 ep8
        redundant: redundant experts: extra copies of routed experts
        drafts: draft tokens per decode step (multi-token prediction)
        overlap: overlap of the exchange between experts with computation: off, two-batch, single-batch (default off)
        popularity: how often experts are visited: uniform, served (as those of DeepSeek-V3 in service), alike (all tokens the same, as one token repeated), zipf:EXPONENT, lognormal:SPREAD or counts:FILE (default: as served, by all ranks alike)

        Number formats
        weights: number format of the weights: nvfp4, mxfp4_a4, mxfp4, int4, int4_g32, w4a8, fp8, fp8_block, mxfp8, w8a8, int8, fp16, bf16, fp32, q2_k, q3_k_s, q3_k_m, q3_k_l, iq4_xs, iq4_nl, q4_0, q4_1, q4_k, q4_k_s, q4_k_m, q5_0, q5_k_s, q5_k_m, q6_k, q8_0, mxfp4_moe (default: as published, where the system computes it; else bf16)
        activations: number format of the activations (default: that of the weights, if the system has a rate for it)
        cache: number format of the KV cache (default: what the engine uses)
        attention: number format of attention (default bf16)
        comm: number format of communication, except expert dispatch and combine (default bf16)
        dispatch: number format of expert dispatch (default fp8 with scales, as the libraries send it)
        combine: number format of expert combine (default bf16)
        vector: number format of the vector unit (default bf16)

        Memory
        memory_share: share of the memory that servers take, in what the engine counts (default: what it takes by itself; of two pools, as assumed)
        prefix_cache: blocks of prompts are kept for others that begin alike
        offload_weights: share of the weights in the second memory tier
        offload_cache: share of the KV cache of running requests in the second memory tier, read over the link in every step; engines keep idle blocks there instead: host-cache
        gpu_layers: layers on GPUs, counting the output head as one, with engine llamacpp; the host runs the others (default: all)

        Engine options
        max_running_requests: requests of a rank at a time (default: the engine's, which may be fewer with drafts)
        step_tokens: tokens that a step may hold (default: the engine's)
        attention_backend: kernels of attention, by the engine's own name or what all engines call them: fa3, flashinfer, triton, trtllm-gen (default: the engine's)
        prefill_attention_backend: those of prefill (default: attention-backend)
        decode_attention_backend: those of decode (default: attention-backend)
        captured_batch: sequences (vLLM: tokens) of the largest decode step of a rank that is captured as a graph; the host launches the operators of longer ones (default: all are captured)
        captured_prompts: tokens of the largest step with prompts of a rank that is captured as a graph; the host launches the operators of longer ones (default: the engine's)
        chunked_prefill: 1: TensorRT-LLM cuts prompts to fill a step, and SGLang lets them share steps with decodes, as vLLM does unasked
        poll_steps: steps between two looks for new requests (default: the engine's)
        wait_steps: steps for which prompts wait for others to fill a step, while others decode
        balance_steps: steps for which the data-parallel ranks of experts wait until each of them has a prompt

        Power and cost
        price: price of a GPU in dollars per hour: a number, or SYSTEM=NUMBER for each kind (default: that of the system, where it has one)
        power_limit: power limit of a GPU in watts, such as 500W, under which clocks fall, where the system has a block power; several, with commas between them, are compared (default: as delivered)
        energy_price: price of energy in dollars per kWh
        pue: energy of the building per energy of its GPUs, which price and carbon of energy then are of
        carbon: CO₂ of energy in grams per kWh

        Assumptions
        assume: modelling assumptions: physical or reference, and changes such as physical,causal=false
        set: numbers of the files of the system, the model or the engine to change, as PATH=VALUE: sys.mem1.GBps=6000, sys.networks[0].bandwidth=x2 (twice what the file has), model.num_blocks=40; may be repeated
        fitted: file that throughline calibrate serving wrote: what measured runs of the deployment correct

        Input and output
        from_: take the deployment from a row of the JSON that throughline plan wrote: plan.json#1, or plan.json#f2 for the frontier

        Besides
        numbers: numbers of files to change, like {"sys.mem1.GBps": 6000}
        url: address of "throughline web", which is asked in place of the program
        key: its key (default: THROUGHLINE_KEY of the environment)
        program: the program to run (default: THROUGHLINE_PROGRAM of the environment, the one of this package, or throughline on the PATH)

    Returns:
        Answer
    """
    return ask("explain", {"model": model, "system": system, "gpus": gpus, "decode-system": decode_system, "gpus-per-node": gpus_per_node, "engine": engine, "isl": isl, "osl": osl, "concurrency": concurrency, "batch": batch, "lengths": lengths, "random-range-ratio": random_range_ratio, "prefix": prefix, "prefix-hit": prefix_hit, "arrival": arrival, "trace": trace, "turns": turns, "gsp-num-groups": gsp_num_groups, "gsp-system-prompt-len": gsp_system_prompt_len, "ttft": ttft, "tpot": tpot, "seek": seek, "until": until, "replan": replan, "phase": phase, "context": context, "tp": tp, "pp": pp, "dp": dp, "ep": ep, "cp": cp, "sp": sp, "moe-tp": moe_tp, "moe-dp": moe_dp, "dense-tp": dense_tp, "head-tp": head_tp, "prefill-plan": prefill_plan, "decode-plan": decode_plan, "redundant": redundant, "drafts": drafts, "overlap": overlap, "popularity": popularity, "weights": weights, "activations": activations, "cache": cache, "attention": attention, "comm": comm, "dispatch": dispatch, "combine": combine, "vector": vector, "memory-share": memory_share, "prefix-cache": prefix_cache, "offload-weights": offload_weights, "offload-cache": offload_cache, "gpu-layers": gpu_layers, "max-running-requests": max_running_requests, "step-tokens": step_tokens, "attention-backend": attention_backend, "prefill-attention-backend": prefill_attention_backend, "decode-attention-backend": decode_attention_backend, "captured-batch": captured_batch, "captured-prompts": captured_prompts, "chunked-prefill": chunked_prefill, "poll-steps": poll_steps, "wait-steps": wait_steps, "balance-steps": balance_steps, "price": price, "power-limit": power_limit, "energy-price": energy_price, "pue": pue, "carbon": carbon, "assume": assume, "set": set, "fitted": fitted, "from": from_}, numbers, url, key, program)


def simulate(*, model=None, system=None, decode_system=None, gpus_per_node=None, engine=None, isl=None, osl=None, concurrency=None, rate=None, num_prompts=None, lengths=None, random_range_ratio=None, arrival=None, trace=None, turns=None, think_time=None, gsp_num_groups=None, gsp_system_prompt_len=None, seed=None, ttft=None, tpot=None, max_rate=None, cold=None, tp=None, pp=None, dp=None, ep=None, cp=None, sp=None, moe_tp=None, moe_dp=None, dense_tp=None, head_tp=None, prefill_plan=None, decode_plan=None, redundant=None, drafts=None, overlap=None, popularity=None, replicas=None, routing=None, weights=None, activations=None, cache=None, attention=None, comm=None, dispatch=None, combine=None, vector=None, memory_share=None, prefix_cache=None, kv_tokens=None, block_size=None, max_context=None, host_cache=None, swap_gbps=None, offload_weights=None, offload_cache=None, gpu_layers=None, max_running_requests=None, step_tokens=None, policy=None, attention_backend=None, prefill_attention_backend=None, decode_attention_backend=None, captured_batch=None, captured_prompts=None, chunked_prefill=None, poll_steps=None, wait_steps=None, balance_steps=None, steps_ahead=None, price=None, power_limit=None, energy_price=None, pue=None, carbon=None, assume=None, set=None, fitted=None, step_times=None, vary=None, link=None, where=None, design=None, samples=None, optimise=None, sensitivity=None, from_=None, timeline_every=None, numbers=None, url=None, key=None, program=None):
    """Send requests through one deployment, event by event.

    A list asks for each of its values, where the command does. What is None is left to the default.

    Args:

        Deployment
        model: model: a built-in name, a model file, a Hugging Face config.json or its folder (required)
        system: system: a built-in name or a system file (required)
        decode_system: system of the decode pool, if it differs
        gpus_per_node: GPUs of one node; a first network of up to 8 joins no more than these
        engine: serving engine: sglang, vllm, trtllm or, on a desk, llamacpp; any: the best one that can run the deployment; none: a generic engine that runs everything

        Requests
        isl: input tokens of a request (default 1024)
        osl: output tokens of a request (default 1024)
        concurrency: clients that wait for their answers; requests above that wait (default: any number)
        rate: requests per second, or inf for all at once; of a trace, the mean rate it is played at
        num_prompts: requests; conversations where these have several turns (of a trace: all, unless given)
        lengths: distribution of the lengths: fixed, uniform:R, lognormal:S, sharegpt or trace:FILE (default fixed)
        random_range_ratio: lengths are spread evenly from this share of isl and osl to all of them, as in sglang.bench_serving; 1: fixed
        arrival: how requests come: poisson, gamma:CV, constant or bursts:N
        trace: file of requests in place of drawn ones: Mooncake (JSON lines), Azure or Vidur (CSV); plain or .gz. Arrivals and shared prefixes count in simulate and, with limits of percentiles, in plan; lengths everywhere
        turns: turns of a conversation, each prompt being all that was said before and isl tokens more
        think_time: time from an answer to the next turn, like 2s; a bare number is seconds
        gsp_num_groups: groups of requests that share a prefix
        gsp_system_prompt_len: tokens of the prefix that a group shares, besides isl
        seed: of the random numbers

        Limits and goal
        ttft: limit on the time to the first token, like p99:2s; a bare number is milliseconds, of p99
        tpot: limit on the time per output token, like p95:50ms
        max_rate: find the highest rate at which the limits hold and the queue does not grow
        cold: as a benchmark: all clients start at once on servers that have just started (default: all have been at it for long)

        Parallelism
        tp: tensor parallel size
        pp: pipeline parallel size
        dp: data parallel size of attention
        ep: expert parallel size (default: 1 where nothing is said of experts and dp is 1, as engines start; else it fills the GPUs of a pipeline stage)
        cp: context parallel size, in prefill
        sp: sequence parallelism between tensor-parallel ranks
        moe_tp: tensor parallel size of each expert (default: tp where nothing is said of experts and dp is 1, as engines start; else 1)
        moe_dp: copies of all experts (default: what ep leaves, else 1)
        dense_tp: dense layers of an expert model split over all GPUs of a stage, in place of a copy in every attention replica
        head_tp: output projection of an expert model split likewise
        prefill_plan: plan of a separate prefill pool, such as 2x tp4
        decode_plan: plan of a separate decode pool, such as dp8·tp1 ep8
        redundant: redundant experts: extra copies of routed experts
        drafts: draft tokens per decode step (multi-token prediction)
        overlap: overlap of the exchange between experts with computation: off, two-batch, single-batch (default off)
        popularity: how often experts are visited: uniform, served (as those of DeepSeek-V3 in service), alike (all tokens the same, as one token repeated), zipf:EXPONENT, lognormal:SPREAD or counts:FILE (default: as served, by all ranks alike)
        replicas: copies of the deployment
        routing: which replica gets a request: round-robin, least-loaded or prefix-aware

        Number formats
        weights: number format of the weights: nvfp4, mxfp4_a4, mxfp4, int4, int4_g32, w4a8, fp8, fp8_block, mxfp8, w8a8, int8, fp16, bf16, fp32, q2_k, q3_k_s, q3_k_m, q3_k_l, iq4_xs, iq4_nl, q4_0, q4_1, q4_k, q4_k_s, q4_k_m, q5_0, q5_k_s, q5_k_m, q6_k, q8_0, mxfp4_moe (default: as published, where the system computes it; else bf16)
        activations: number format of the activations (default: that of the weights, if the system has a rate for it)
        cache: number format of the KV cache (default: what the engine uses)
        attention: number format of attention (default bf16)
        comm: number format of communication, except expert dispatch and combine (default bf16)
        dispatch: number format of expert dispatch (default fp8 with scales, as the libraries send it)
        combine: number format of expert combine (default bf16)
        vector: number format of the vector unit (default bf16)

        Memory
        memory_share: share of the memory that servers take, in what the engine counts (default: what it takes by itself; of two pools, as assumed)
        prefix_cache: blocks of prompts are kept for others that begin alike
        kv_tokens: tokens that the KV cache of a rank holds (default: what memory has room for)
        block_size: tokens of a block of the KV cache
        max_context: tokens of a prompt and its output that the model takes (default: the model's)
        host_cache: memory of the host for each data-parallel rank in which idle blocks of the prefix cache stay, to be loaded on a hit, as LMCache, HiCache and vLLM's connectors do
        swap_gbps: who has to make room in the cache is swapped out over a link of so many GB/s (default: computed again)
        offload_weights: share of the weights in the second memory tier
        offload_cache: share of the KV cache of running requests in the second memory tier, read over the link in every step; engines keep idle blocks there instead: host-cache
        gpu_layers: layers on GPUs, counting the output head as one, with engine llamacpp; the host runs the others (default: all)

        Engine options
        max_running_requests: requests of a rank at a time (default: the engine's, which may be fewer with drafts)
        step_tokens: tokens that a step may hold (default: the engine's)
        policy: prompts and decodes in steps: prefill-first, chunked or whole-prompts (default: the engine's)
        attention_backend: kernels of attention, by the engine's own name or what all engines call them: fa3, flashinfer, triton, trtllm-gen (default: the engine's)
        prefill_attention_backend: those of prefill (default: attention-backend)
        decode_attention_backend: those of decode (default: attention-backend)
        captured_batch: sequences (vLLM: tokens) of the largest decode step of a rank that is captured as a graph; the host launches the operators of longer ones (default: all are captured)
        captured_prompts: tokens of the largest step with prompts of a rank that is captured as a graph; the host launches the operators of longer ones (default: the engine's)
        chunked_prefill: 1: TensorRT-LLM cuts prompts to fill a step, and SGLang lets them share steps with decodes, as vLLM does unasked
        poll_steps: steps between two looks for new requests (default: the engine's)
        wait_steps: steps for which prompts wait for others to fill a step, while others decode
        balance_steps: steps for which the data-parallel ranks of experts wait until each of them has a prompt
        steps_ahead: steps that are scheduled before the one under way has ended; -1: the engine's

        Power and cost
        price: price of a GPU in dollars per hour: a number, or SYSTEM=NUMBER for each kind (default: that of the system, where it has one)
        power_limit: power limit of a GPU in watts, such as 500W, under which clocks fall, where the system has a block power; several, with commas between them, are compared (default: as delivered)
        energy_price: price of energy in dollars per kWh
        pue: energy of the building per energy of its GPUs, which price and carbon of energy then are of
        carbon: CO₂ of energy in grams per kWh

        Assumptions
        assume: modelling assumptions: physical or reference, and changes such as physical,causal=false
        set: numbers of the files of the system, the model or the engine to change, as PATH=VALUE: sys.mem1.GBps=6000, sys.networks[0].bandwidth=x2 (twice what the file has), model.num_blocks=40; may be repeated
        fitted: file that throughline calibrate serving wrote: what measured runs of the deployment correct
        step_times: CSV table of measured steps in place of estimated ones: n_decode, sum_ctx, prefill_tokens, prefill_seqs, past_per_seq, wall_ms

        Several questions
        vary: ask at several values of a setting or of a number of a file: gpus=8,16,32, sys.mem1.GBps=3000:12500:20, sys.mem1.GBps=x0.5:x4:log8; may be repeated
        link: axes that move together, value by value: isl,osl
        where: keep points that meet a condition on an axis or a figure: tpot <= 20ms, gpus < 64; may be repeated
        design: how points are spread over the axes: grid (every combination), latin, sobol or halton (default grid)
        samples: number of points of a design other than grid
        optimise: look for the points that no other beats in two or three figures, max:tokens_per_s_per_gpu and min:usd_per_m_tokens; with samples by zoom, in rounds around those found; may be repeated
        sensitivity: say how much each axis matters for the best figure, or those of optimise: morris (effects of one axis at a time) or sobol (shares of the variance); needs samples

        Input and output
        from_: take the deployment from a row of the JSON that throughline plan wrote: plan.json#1, or plan.json#f2 for the frontier
        timeline_every: an interval of timeline-out, like 500ms; a bare number is seconds

        Besides
        numbers: numbers of files to change, like {"sys.mem1.GBps": 6000}
        url: address of "throughline web", which is asked in place of the program
        key: its key (default: THROUGHLINE_KEY of the environment)
        program: the program to run (default: THROUGHLINE_PROGRAM of the environment, the one of this package, or throughline on the PATH)

    Returns:
        Answer
    """
    return ask("simulate", {"model": model, "system": system, "decode-system": decode_system, "gpus-per-node": gpus_per_node, "engine": engine, "isl": isl, "osl": osl, "concurrency": concurrency, "rate": rate, "num-prompts": num_prompts, "lengths": lengths, "random-range-ratio": random_range_ratio, "arrival": arrival, "trace": trace, "turns": turns, "think-time": think_time, "gsp-num-groups": gsp_num_groups, "gsp-system-prompt-len": gsp_system_prompt_len, "seed": seed, "ttft": ttft, "tpot": tpot, "max-rate": max_rate, "cold": cold, "tp": tp, "pp": pp, "dp": dp, "ep": ep, "cp": cp, "sp": sp, "moe-tp": moe_tp, "moe-dp": moe_dp, "dense-tp": dense_tp, "head-tp": head_tp, "prefill-plan": prefill_plan, "decode-plan": decode_plan, "redundant": redundant, "drafts": drafts, "overlap": overlap, "popularity": popularity, "replicas": replicas, "routing": routing, "weights": weights, "activations": activations, "cache": cache, "attention": attention, "comm": comm, "dispatch": dispatch, "combine": combine, "vector": vector, "memory-share": memory_share, "prefix-cache": prefix_cache, "kv-tokens": kv_tokens, "block-size": block_size, "max-context": max_context, "host-cache": host_cache, "swap-gbps": swap_gbps, "offload-weights": offload_weights, "offload-cache": offload_cache, "gpu-layers": gpu_layers, "max-running-requests": max_running_requests, "step-tokens": step_tokens, "policy": policy, "attention-backend": attention_backend, "prefill-attention-backend": prefill_attention_backend, "decode-attention-backend": decode_attention_backend, "captured-batch": captured_batch, "captured-prompts": captured_prompts, "chunked-prefill": chunked_prefill, "poll-steps": poll_steps, "wait-steps": wait_steps, "balance-steps": balance_steps, "steps-ahead": steps_ahead, "price": price, "power-limit": power_limit, "energy-price": energy_price, "pue": pue, "carbon": carbon, "assume": assume, "set": set, "fitted": fitted, "step-times": step_times, "vary": vary, "link": link, "where": where, "design": design, "samples": samples, "optimise": optimise, "sensitivity": sensitivity, "from": from_, "timeline-every": timeline_every}, numbers, url, key, program)


def compare(*, model=None, system=None, gpus=None, decode_system=None, gpus_per_node=None, engine=None, isl=None, osl=None, concurrency=None, batch=None, lengths=None, random_range_ratio=None, prefix=None, prefix_hit=None, arrival=None, trace=None, turns=None, gsp_num_groups=None, gsp_system_prompt_len=None, phase=None, context=None, tp=None, pp=None, dp=None, ep=None, cp=None, sp=None, moe_tp=None, moe_dp=None, dense_tp=None, head_tp=None, prefill_plan=None, decode_plan=None, redundant=None, drafts=None, overlap=None, popularity=None, weights=None, activations=None, cache=None, attention=None, comm=None, dispatch=None, combine=None, vector=None, memory_share=None, prefix_cache=None, offload_weights=None, offload_cache=None, gpu_layers=None, max_running_requests=None, step_tokens=None, attention_backend=None, prefill_attention_backend=None, decode_attention_backend=None, captured_batch=None, captured_prompts=None, chunked_prefill=None, poll_steps=None, wait_steps=None, balance_steps=None, price=None, power_limit=None, energy_price=None, pue=None, carbon=None, assume=None, set=None, fitted=None, from_=None, kernels=None, measured=None, explain=None, numbers=None, url=None, key=None, program=None):
    """Explain what was measured on one deployment.

    A list asks for each of its values, where the command does. What is None is left to the default.

    Args:

        Deployment
        model: model: a built-in name, a model file, a Hugging Face config.json or its folder (required)
        system: system: a built-in name or a system file (required)
        gpus: GPUs of one instance, in place of tp and pp: layers are split over them with llamacpp, tensors with other engines (default: what tp, pp and dp take)
        decode_system: system of the decode pool, if it differs
        gpus_per_node: GPUs of one node; a first network of up to 8 joins no more than these
        engine: serving engine: sglang, vllm, trtllm or, on a desk, llamacpp; any: the best one that can run the deployment; none: a generic engine that runs everything

        Requests
        isl: input tokens of a request (default 1024)
        osl: output tokens of a request (default 1024)
        concurrency: concurrent clients (default: as many as fill the batches of all ranks)
        batch: batch: sequences per data-parallel rank; with reference assumptions and an expert model, per GPU (default: what the concurrency takes, or 1)
        lengths: distribution of the lengths: fixed, uniform:R, lognormal:S, sharegpt or trace:FILE (default fixed)
        random_range_ratio: lengths are spread evenly from this share of isl and osl to all of them, as in sglang.bench_serving; 1: fixed
        prefix: leading input tokens that are in the prefix cache
        prefix_hit: share of the input tokens that are in the prefix cache, in place of prefix
        arrival: how requests come: poisson, gamma:CV, constant or bursts:N
        trace: file of requests in place of drawn ones: Mooncake (JSON lines), Azure or Vidur (CSV); plain or .gz. Arrivals and shared prefixes count in simulate and, with limits of percentiles, in plan; lengths everywhere
        turns: turns of a conversation, each prompt being all that was said before and isl tokens more
        gsp_num_groups: groups of requests that share a prefix
        gsp_system_prompt_len: tokens of the prefix that a group shares, besides isl

        Limits and goal
        phase: show bare steps: prefill, decode or both (default: what clients see)
        context: context length of a decode step, in place of isl and osl

        Parallelism
        tp: tensor parallel size
        pp: pipeline parallel size
        dp: data parallel size of attention
        ep: expert parallel size (default: 1 where nothing is said of experts and dp is 1, as engines start; else it fills the GPUs of a pipeline stage)
        cp: context parallel size, in prefill
        sp: sequence parallelism between tensor-parallel ranks
        moe_tp: tensor parallel size of each expert (default: tp where nothing is said of experts and dp is 1, as engines start; else 1)
        moe_dp: copies of all experts (default: what ep leaves, else 1)
        dense_tp: dense layers of an expert model split over all GPUs of a stage, in place of a copy in every attention replica
        head_tp: output projection of an expert model split likewise
        prefill_plan: plan of a separate prefill pool, such as 2x tp4
        decode_plan: plan of a separate decode pool, such as dp8·tp1 ep8
        redundant: redundant experts: extra copies of routed experts
        drafts: draft tokens per decode step (multi-token prediction)
        overlap: overlap of the exchange between experts with computation: off, two-batch, single-batch (default off)
        popularity: how often experts are visited: uniform, served (as those of DeepSeek-V3 in service), alike (all tokens the same, as one token repeated), zipf:EXPONENT, lognormal:SPREAD or counts:FILE (default: as served, by all ranks alike)

        Number formats
        weights: number format of the weights: nvfp4, mxfp4_a4, mxfp4, int4, int4_g32, w4a8, fp8, fp8_block, mxfp8, w8a8, int8, fp16, bf16, fp32, q2_k, q3_k_s, q3_k_m, q3_k_l, iq4_xs, iq4_nl, q4_0, q4_1, q4_k, q4_k_s, q4_k_m, q5_0, q5_k_s, q5_k_m, q6_k, q8_0, mxfp4_moe (default: as published, where the system computes it; else bf16)
        activations: number format of the activations (default: that of the weights, if the system has a rate for it)
        cache: number format of the KV cache (default: what the engine uses)
        attention: number format of attention (default bf16)
        comm: number format of communication, except expert dispatch and combine (default bf16)
        dispatch: number format of expert dispatch (default fp8 with scales, as the libraries send it)
        combine: number format of expert combine (default bf16)
        vector: number format of the vector unit (default bf16)

        Memory
        memory_share: share of the memory that servers take, in what the engine counts (default: what it takes by itself; of two pools, as assumed)
        prefix_cache: blocks of prompts are kept for others that begin alike
        offload_weights: share of the weights in the second memory tier
        offload_cache: share of the KV cache of running requests in the second memory tier, read over the link in every step; engines keep idle blocks there instead: host-cache
        gpu_layers: layers on GPUs, counting the output head as one, with engine llamacpp; the host runs the others (default: all)

        Engine options
        max_running_requests: requests of a rank at a time (default: the engine's, which may be fewer with drafts)
        step_tokens: tokens that a step may hold (default: the engine's)
        attention_backend: kernels of attention, by the engine's own name or what all engines call them: fa3, flashinfer, triton, trtllm-gen (default: the engine's)
        prefill_attention_backend: those of prefill (default: attention-backend)
        decode_attention_backend: those of decode (default: attention-backend)
        captured_batch: sequences (vLLM: tokens) of the largest decode step of a rank that is captured as a graph; the host launches the operators of longer ones (default: all are captured)
        captured_prompts: tokens of the largest step with prompts of a rank that is captured as a graph; the host launches the operators of longer ones (default: the engine's)
        chunked_prefill: 1: TensorRT-LLM cuts prompts to fill a step, and SGLang lets them share steps with decodes, as vLLM does unasked
        poll_steps: steps between two looks for new requests (default: the engine's)
        wait_steps: steps for which prompts wait for others to fill a step, while others decode
        balance_steps: steps for which the data-parallel ranks of experts wait until each of them has a prompt

        Power and cost
        price: price of a GPU in dollars per hour: a number, or SYSTEM=NUMBER for each kind (default: that of the system, where it has one)
        power_limit: power limit of a GPU in watts, such as 500W, under which clocks fall, where the system has a block power; several, with commas between them, are compared (default: as delivered)
        energy_price: price of energy in dollars per kWh
        pue: energy of the building per energy of its GPUs, which price and carbon of energy then are of
        carbon: CO₂ of energy in grams per kWh

        Assumptions
        assume: modelling assumptions: physical or reference, and changes such as physical,causal=false
        set: numbers of the files of the system, the model or the engine to change, as PATH=VALUE: sys.mem1.GBps=6000, sys.networks[0].bandwidth=x2 (twice what the file has), model.num_blocks=40; may be repeated
        fitted: file that throughline calibrate serving wrote: what measured runs of the deployment correct

        Input and output
        from_: take the deployment from a row of the JSON that throughline plan wrote: plan.json#1, or plan.json#f2 for the frontier
        kernels: summary of kernels
        measured: what was measured: tpot=31ms,ttft=400ms, a result file of bench, sglang.bench_serving, vLLM's bench serve, aiperf, genai-perf or InferenceX, or a row of a table, runs.csv#2
        explain: the measured figure to explain (default: the one furthest from its prediction)

        Besides
        numbers: numbers of files to change, like {"sys.mem1.GBps": 6000}
        url: address of "throughline web", which is asked in place of the program
        key: its key (default: THROUGHLINE_KEY of the environment)
        program: the program to run (default: THROUGHLINE_PROGRAM of the environment, the one of this package, or throughline on the PATH)

    Returns:
        Answer
    """
    return ask("compare", {"model": model, "system": system, "gpus": gpus, "decode-system": decode_system, "gpus-per-node": gpus_per_node, "engine": engine, "isl": isl, "osl": osl, "concurrency": concurrency, "batch": batch, "lengths": lengths, "random-range-ratio": random_range_ratio, "prefix": prefix, "prefix-hit": prefix_hit, "arrival": arrival, "trace": trace, "turns": turns, "gsp-num-groups": gsp_num_groups, "gsp-system-prompt-len": gsp_system_prompt_len, "phase": phase, "context": context, "tp": tp, "pp": pp, "dp": dp, "ep": ep, "cp": cp, "sp": sp, "moe-tp": moe_tp, "moe-dp": moe_dp, "dense-tp": dense_tp, "head-tp": head_tp, "prefill-plan": prefill_plan, "decode-plan": decode_plan, "redundant": redundant, "drafts": drafts, "overlap": overlap, "popularity": popularity, "weights": weights, "activations": activations, "cache": cache, "attention": attention, "comm": comm, "dispatch": dispatch, "combine": combine, "vector": vector, "memory-share": memory_share, "prefix-cache": prefix_cache, "offload-weights": offload_weights, "offload-cache": offload_cache, "gpu-layers": gpu_layers, "max-running-requests": max_running_requests, "step-tokens": step_tokens, "attention-backend": attention_backend, "prefill-attention-backend": prefill_attention_backend, "decode-attention-backend": decode_attention_backend, "captured-batch": captured_batch, "captured-prompts": captured_prompts, "chunked-prefill": chunked_prefill, "poll-steps": poll_steps, "wait-steps": wait_steps, "balance-steps": balance_steps, "price": price, "power-limit": power_limit, "energy-price": energy_price, "pue": pue, "carbon": carbon, "assume": assume, "set": set, "fitted": fitted, "from": from_, "kernels": kernels, "measured": measured, "explain": explain}, numbers, url, key, program)

