"""A prefork web service: the model is loaded once, the workers that fork share its memory.

    python examples/web_service.py [--port 8000] [--workers 2] [--threads 1]
    gunicorn --preload --workers 2 --threads 2 --chdir examples web_service:application

    curl -d '{"image": [0, 0, 5, ...]}' http://127.0.0.1:8000/        (64 numbers, 0 to 16: an 8 x 8 digit)

The answer is {"digit": 3, "probability": 0.998}. Several images at once: {"images": [[...], ...]}.
"""

import argparse
import contextlib
import json
import os
import signal
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from wsgiref.simple_server import WSGIServer, make_server

from civilnet import CivilNet

import rushlight as torch
import rushlight.nn.functional as F

CHECKPOINT = Path(__file__).parent.parent / "tests" / "data" / "civilnet_digits.pth"
MOST_IMAGES = 256  # in one request


def load_model() -> CivilNet:
    """The digits model, warmed up: kernels are chosen and weights packed before workers fork."""
    model = CivilNet()
    model.load_state_dict(torch.load(CHECKPOINT))
    model.eval()
    with torch.inference_mode():
        model(torch.zeros(1, 3, 32, 32))
    return model


MODEL = load_model()


def classify(images: list[list[float]]) -> list[dict[str, Any]]:
    """Digits and their probabilities for images of 64 numbers from 0 to 16."""
    pixels = torch.tensor(images, dtype=torch.float32)
    if pixels.ndim != 2 or pixels.shape[1] != 64:
        raise ValueError(f"an image is a list of 64 numbers, not of shape {tuple(pixels.shape[1:])}")
    batch = F.interpolate(pixels.view(-1, 1, 8, 8) / 16, size=(32, 32), mode="bilinear").expand(-1, 3, -1, -1)
    with torch.inference_mode():
        best = F.softmax(MODEL(batch), dim=1).max(dim=1)
    return [
        {"digit": digit, "probability": round(probability, 4)}
        for digit, probability in zip(best.indices.tolist(), best.values.tolist())
    ]


def answer(body: bytes) -> tuple[str, Any]:
    """Status and answer of a request; what a client sends wrong is told to it."""
    try:
        request = json.loads(body)
        one = "image" in request
        images = [request["image"]] if one else request["images"]
        if not isinstance(images, list) or not 0 < len(images) <= MOST_IMAGES:
            raise ValueError(f"1 to {MOST_IMAGES} images, please")
        found = classify(images)
    except (ValueError, TypeError, KeyError, AttributeError, RuntimeError) as error:
        return "400 Bad Request", {"error": str(error)}
    return "200 OK", found[0] if one else found


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """What WSGI servers call."""
    length = min(int(environ.get("CONTENT_LENGTH") or 0), 1 << 20)
    status, found = answer(environ["wsgi.input"].read(length))
    text = json.dumps(found).encode()
    headers = [("Content-Type", "application/json"), ("Content-Length", str(len(text)))]
    start_response(status, headers)
    return [text]


def start_worker(server: WSGIServer) -> int:
    """Fork a process that answers requests of the shared socket; return its number."""
    pid = os.fork()
    if pid == 0:
        with contextlib.suppress(KeyboardInterrupt):
            server.serve_forever()
        os._exit(0)
    return pid


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--threads", type=int, default=1, help="of one operator")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    with make_server("127.0.0.1", options.port, application) as server:
        workers = [start_worker(server) for _ in range(options.workers)]
        print(f"http://127.0.0.1:{server.server_port}/ with {options.workers} workers", flush=True)
        signal.signal(signal.SIGTERM, lambda *_: sys.exit())
        try:
            for pid in workers:
                os.waitpid(pid, 0)
        except KeyboardInterrupt:
            pass
        finally:
            for pid in workers:
                with contextlib.suppress(ProcessLookupError):  # it may have ended by the same signal
                    os.kill(pid, signal.SIGTERM)


if __name__ == "__main__":
    main()
