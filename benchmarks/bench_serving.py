"""Serving a model: requests a second, memory and cold start, in processes of their own.

    python benchmarks/bench_serving.py [--quick] [--json]

A request is a call with one image; no server counts. Both libraries run in turns, after their answers were
compared. The cases of a model, one image at a time:

    one thread      a process, one thread
    four threads    four Python threads call one model, on two CPUs, one thread for each operator
    prefork         two children of a process that has loaded and called the model, one thread each
    small           one CPU, and RLIMIT_DATA of 512 MB in place of a container's limit

Memory is what the processes have for themselves and their share of the rest (PSS), all processes of a case
summed, at the end; beside it the peak of one of them (VmHWM). Cold start is from the start of the
interpreter to the first answer: import, checkpoint, forward.
"""

import json
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time

SMALL = 512 << 20


# ---- what runs in a process: bench_serving.py --run LIBRARY MODEL CASE SECONDS CHECKPOINT ----
def network(torch, model):
    if model == "resnet18":
        from nets import resnet18

        return resnet18(torch, classes=1000), (1, 3, 224, 224)
    nn = torch.nn  # CivilNet's layers
    layers = [nn.Conv2d(3, 6, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2)]
    layers += [nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10)]
    return nn.Sequential(*layers), (1, 3, 32, 32)


def memory(pid):
    """(PSS, VmHWM) of a process in bytes."""
    folder = pathlib.Path("/proc", str(pid))
    texts = (folder / "smaps_rollup").read_text(), (folder / "status").read_text()
    wanted = r"^Pss:\s+(\d+) kB$", r"^VmHWM:\s+(\d+) kB$"
    return tuple(int(re.search(*pair, re.MULTILINE)[1]) * 1024 for pair in zip(wanted, texts))


def calls_until(answer, end):
    calls = 0
    while time.perf_counter() < end:
        answer()
        calls += 1
    return calls


def serve_alone(answer, seconds):
    start = time.perf_counter()
    calls = calls_until(answer, start + seconds)
    taken = time.perf_counter() - start
    pss, peak = memory("self")
    return calls / taken, pss, peak


def serve_threads(answer, seconds):
    counts, start = [], time.perf_counter()

    def work():
        counts.append(calls_until(answer, start + seconds))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    taken = time.perf_counter() - start
    pss, peak = memory("self")
    return sum(counts) / taken, pss, peak


def serve_prefork(answer, seconds):
    """The children wait until the parent has looked at the memory of all."""
    answers, tell = os.pipe()
    go_on, stop = os.pipe()
    pids = []
    for _ in range(2):
        pid = os.fork()
        if pid == 0:
            os.close(stop)
            rate, _, _ = serve_alone(answer, seconds)
            os.write(tell, f"{rate}\n".encode())
            os.read(go_on, 1)  # ends when the parent closes it
            os._exit(0)
        pids.append(pid)
    os.close(tell)
    with os.fdopen(answers) as file:
        rates = [float(file.readline()) for _ in pids]
    found = [memory(pid) for pid in (os.getpid(), *pids)]
    os.close(stop)
    for pid in pids:
        os.waitpid(pid, 0)
    return sum(rates), sum(pss for pss, _ in found), max(peak for _, peak in found)


SERVE = {
    "one thread": serve_alone,
    "four threads": serve_threads,
    "prefork": serve_prefork,
    "small": serve_alone,
}


def run(library, model, case, seconds, checkpoint):
    torch = __import__(library)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    net, shape = network(torch, model)
    net.load_state_dict(torch.load(checkpoint))
    net.eval()
    image = torch.linspace(0, 1, shape[1] * shape[2] * shape[3]).reshape(shape)

    def answer():
        with torch.inference_mode():
            return net(image)

    first = answer().reshape(-1)[:10].tolist()
    print(json.dumps(first), flush=True)
    if float(seconds):
        answer()
        print(json.dumps(SERVE[case](answer, float(seconds))), flush=True)


# ---- what measures ----
def small():
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    resource.setrlimit(resource.RLIMIT_DATA, (SMALL, SMALL))


def started(library, model, case, seconds, checkpoint):
    """(first answer, seconds until it came, what the case found); the text of an error if there is one."""
    command = [
        sys.executable,
        "-W",
        "ignore",
        __file__,
        "--run",
        library,
        model,
        case,
        str(seconds),
        checkpoint,
    ]
    prepare = small if case == "small" else None
    start = time.perf_counter()
    with subprocess.Popen(
        command, preexec_fn=prepare, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        first = process.stdout.readline()
        cold = time.perf_counter() - start
        rest, errors = process.communicate(timeout=300)
    if process.returncode or not first:
        return (errors.strip().splitlines() or [f"ended with {process.returncode}"])[-1]
    return json.loads(first), cold, json.loads(rest or "null")


def differ(a, b):
    return max(abs(x - y) for x, y in zip(a, b)) > 1e-3 * max(map(abs, a))


def best(rounds):
    """Of the rounds of one side: most requests a second, least memory, the quickest start; or the error."""
    if errors := [each for each in rounds if isinstance(each, str)]:
        return {"error": errors[0]}
    rate, pss, peak = zip(*(found for _, _, found in rounds))
    return {
        "requests a second": max(rate),
        "pss": min(pss),
        "peak": min(peak),
        "cold start": min(cold for _, cold, _ in rounds),
    }


def side(found):
    if "error" in found:
        return f"does not run: {found['error']}"
    megabytes = "{:5.0f} MB, peak {:5.0f} MB".format(*(found[key] / 1e6 for key in ("pss", "peak")))
    return f"{found['requests a second']:8.1f}/s {megabytes}, cold {found['cold start'] * 1e3:5.0f} ms"


def main():
    import rushlight
    from harness import Bench

    bench = Bench(__doc__)
    rounds, seconds = (1, 0.5) if bench.quick else (3, 3)
    libraries = "torch", "rushlight"
    with tempfile.TemporaryDirectory() as folder:
        for model in ("resnet18", "civilnet"):
            rushlight.manual_seed(0)
            checkpoint = f"{folder}/{model}.pth"
            rushlight.save(network(rushlight, model)[0].state_dict(), checkpoint)
            first = [started(library, model, "one thread", 0, checkpoint) for library in libraries]
            if any(isinstance(each, str) for each in first) or differ(first[0][0], first[1][0]):
                raise SystemExit(f"{model}: the results differ; nothing is timed: {first}")
            for case in SERVE:
                found = {library: [] for library in libraries}
                for _ in range(rounds):
                    for library in libraries:
                        found[library].append(started(library, model, case, seconds, checkpoint))
                sides = {library: best(each) for library, each in found.items()}
                bench.record(case=f"{model}, {case}", **sides)
                for library in libraries:
                    bench.say(f"{model:9s} {case:12s} {library:9s} {side(sides[library])}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        run(*sys.argv[2:])
    else:
        main()
