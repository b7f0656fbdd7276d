"""Predicts how large language models run on hardware, plans deployments, explains them.

    import throughline
    throughline.plan(model="DeepSeek-V3", system="H200", gpus=32, tpot="50ms")

Each function is the command of the same name, with its settings as keywords. Answers show
themselves in notebooks; .rows are dictionaries, .frame() is a DataFrame, .data is the JSON.
"""

from ._ask import Answer, ThroughlineError, diff, models, systems
from ._questions import compare, estimate, explain, plan, simulate

__all__ = ["Answer", "ThroughlineError", "compare", "diff", "estimate", "explain", "models", "plan", "simulate", "systems"]
