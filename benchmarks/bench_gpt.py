"""Tokens one by one from a GPT with a cache of keys and values, beside PyTorch: one process, in turns.

    python benchmarks/bench_gpt.py [--quick] [--json]

The model has nanoGPT's shape, a vocabulary of bytes and weights tied at both ends; the most likely token is
taken. Prints tokens a second of each side, from the minimum, and the ratio beside the goal. Needs torch.
"""

import torch as other

import rushlight as mine
import rushlight.nn  # noqa: F401
from harness import Bench, repeated

VOCABULARY, LONGEST = 256, 256


def gpt(t, layers, width, heads, joined):
    """A GPT; with joined its cache is made longer by cat for each token, else it is written to."""
    nn, F = t.nn, t.nn.functional

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.c_attn = nn.Linear(width, 3 * width)
            self.c_proj = nn.Linear(width, width)

        def forward(self, x, cache, at):
            batch, length, _ = x.shape
            parts = self.c_attn(x).split(width, dim=2)
            q, k, v = (p.view(batch, length, heads, width // heads).transpose(1, 2) for p in parts)
            if not joined:
                keys, values = cache
                keys[:, :, at : at + length] = k
                values[:, :, at : at + length] = v
                k, v = keys[:, :, : at + length], values[:, :, : at + length]
            elif cache is not None:
                k, v = t.cat((cache[0], k), dim=2), t.cat((cache[1], v), dim=2)
            y = F.scaled_dot_product_attention(q, k, v, is_causal=length > 1)
            y = y.transpose(1, 2).contiguous().view(batch, length, width)
            return self.c_proj(y), (k, v) if joined else cache

    class MLP(nn.Module):
        def __init__(self):
            super().__init__()
            self.c_fc = nn.Linear(width, 4 * width)
            self.gelu = nn.GELU()
            self.c_proj = nn.Linear(4 * width, width)

        def forward(self, x):
            return self.c_proj(self.gelu(self.c_fc(x)))

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.ln_1, self.attn = nn.LayerNorm(width), Attention()
            self.ln_2, self.mlp = nn.LayerNorm(width), MLP()

        def forward(self, x, cache, at):
            y, cache = self.attn(self.ln_1(x), cache, at)
            x = x + y
            return x + self.mlp(self.ln_2(x)), cache

    class GPT(nn.Module):
        def __init__(self):
            super().__init__()
            self.wte = nn.Embedding(VOCABULARY, width)
            self.wpe = nn.Embedding(LONGEST, width)
            self.h = nn.ModuleList([Block() for _ in range(layers)])
            self.ln_f = nn.LayerNorm(width)
            self.lm_head = nn.Linear(width, VOCABULARY, bias=False)
            self.wte.weight = self.lm_head.weight

        def forward(self, tokens, caches, at):
            places = t.arange(at, at + tokens.size(1))
            x = self.wte(tokens) + self.wpe(places)
            kept = []
            for block, cache in zip(self.h, caches):
                x, cache = block(x, cache, at)
                kept.append(cache)
            return self.lm_head(self.ln_f(x[:, [-1]])), kept

        def empty_caches(self):
            shape = (1, heads, LONGEST, width // heads)
            return [None if joined else (t.zeros(shape), t.zeros(shape)) for _ in self.h]

        @t.no_grad()
        def generate(self, prompt, count):
            """The tokens that follow the prompt, and the logits of the last of them."""
            caches, at, tokens, found = self.empty_caches(), 0, prompt, []
            for _ in range(count):
                logits, caches = self(tokens, caches, at)
                at += tokens.size(1)
                tokens = logits[:, -1].argmax(-1, keepdim=True)
                found.append(tokens)
            return t.cat(found, 1), logits

    t.manual_seed(0)
    return GPT().eval()


# name, arguments, goal
MODELS = [
    ("6 layers of 256, cat", (6, 256, 8, True), 2.0),
    ("6 layers of 256, written", (6, 256, 8, False), 2.0),
    ("8 layers of 512, cat", (8, 512, 8, True), 1.2),
    ("8 layers of 512, written", (8, 512, 8, False), 1.2),
]


def compare(bench, name, shape, goal, count, rounds):
    models = [gpt(t, *shape) for t in (other, mine)]
    prompts = [t.arange(16).view(1, 16) * 7 % VOCABULARY for t in (other, mine)]
    theirs, ours = (lambda m=m, p=p: m.generate(p, count) for m, p in zip(models, prompts))

    def check():
        (a, x), (b, y) = theirs(), ours()
        if a.tolist() != b.tolist():
            return "other tokens"
        worst = max(abs(p - q) for p, q in zip(x.flatten().tolist(), y.flatten().tolist()))
        return worst < 1e-3 or f"by {worst}"

    case = bench.compare(name, repeated(theirs), repeated(ours), check, 1, rounds, goal=goal, tokens=count)
    parameters = sum(p.numel() for p in models[0].parameters()) / 1e6
    theirs, ours = (count / case.min(side) for side in ("theirs", "ours"))
    bench.say(
        f"{name:<26}{parameters:5.1f} M   torch {theirs:8.1f}   rushlight {ours:8.1f} tokens/s   "
        f"{case.ratio:5.2f}x   goal {goal}x"
    )


def main():
    bench = Bench(__doc__)
    for name, shape, goal in MODELS:
        compare(bench, name, shape, goal, 50 if bench.quick else 200, 3 if bench.quick else 10)


if __name__ == "__main__":
    main()
