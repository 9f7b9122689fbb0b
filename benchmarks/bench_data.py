"""The DataLoader against torch's: both run in turns in this process, after their batches were found equal.

python benchmarks/bench_data.py [--quick] [--json]
"""

import warnings

import torch as other

import rushlight as mine
from harness import Bench, repeated

N, BATCH = 1797, 64  # the digits

# name, options of the loader, what stands in for the dataset, rounds, goal
CASES = [
    ("TensorDataset", {}, "rows", 40, 3),
    ("TensorDataset, shuffled", {"shuffle": True}, "rows", 40, 3),
    ("a Subset of it, shuffled", {"shuffle": True}, "part", 40, 3),
    ("with a collate_fn", {"collate_fn": "own"}, "rows", 20, None),
    ("a Dataset of one's own", {}, "own", 20, None),
    ("2 workers", {"num_workers": 2}, "rows", 5, 1),
    ("2 workers that stay", {"num_workers": 2, "persistent_workers": True}, "rows", 10, 1),
]


class Own:
    def __init__(self, tensors):
        self.tensors = tensors

    def __len__(self):
        return N

    def __getitem__(self, i):
        return {"image": self.tensors[0][i], "label": int(self.tensors[1][i])}


def loader(torch, options, kind):
    data = torch.utils.data
    tensors = torch.arange(N * 64.0).reshape(N, 1, 8, 8), torch.arange(N)
    rows = data.TensorDataset(*tensors)
    dataset = {"rows": rows, "part": data.Subset(rows, range(N)), "own": Own(tensors)}[kind]
    if "collate_fn" in options:
        options = {**options, "collate_fn": lambda batch: data.default_collate(batch)}
    return data.DataLoader(dataset, BATCH, **options)


def epoch(batches):
    def run():
        for _ in batches:
            pass

    return run


def plain(batch):
    parts = batch.values() if isinstance(batch, dict) else batch
    return [(str(x.dtype), tuple(x.shape), x.stride(), x.tolist()) for x in parts]


def equal(theirs, ours):
    """Whether one seed gives the same batches."""
    answers = []
    for library, batches in ((other, theirs), (mine, ours)):
        library.manual_seed(0)
        answers.append([plain(batch) for batch in batches])
    return answers[0] == answers[1]


def main():
    bench = Bench(__doc__)
    warnings.filterwarnings("ignore", message="This DataLoader will create")
    batches = -(-N // BATCH)
    bench.say(f"{'an epoch of the digits, a batch':32}{'rushlight':>12}{'torch':>12}{'ratio':>9}  goal")
    for name, options, kind, rounds, goal in CASES:
        theirs, ours = loader(other, options, kind), loader(mine, options, kind)
        case = bench.compare(
            name,
            repeated(epoch(theirs)),
            repeated(epoch(ours)),
            lambda theirs=theirs, ours=ours: equal(theirs, ours),
            1,
            3 if bench.quick else rounds,
            goal=goal,
        )
        mark = "" if goal is None else f"  {goal}x {'met' if case.ratio >= goal else 'missed'}"
        best = f"{case.min('ours') / batches * 1e6:>9.1f} us{case.min('theirs') / batches * 1e6:>9.1f} us"
        bench.say(f"{name:32}{best}{case.ratio:>8.1f}x{mark}")


if __name__ == "__main__":
    main()
