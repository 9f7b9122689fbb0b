"""A pool of processes whose queues are those of this package."""

import gc
import multiprocessing.pool

from .queue import SimpleQueue


def clean_worker(*args, **kwargs):
    """Run a worker, and collect what it leaves so that destructors run."""
    multiprocessing.pool.worker(*args, **kwargs)
    gc.collect()


class Pool(multiprocessing.pool.Pool):
    """multiprocessing.Pool over SimpleQueue of this package."""

    def _setup_queues(self):
        self._inqueue, self._outqueue = SimpleQueue(ctx=self._ctx), SimpleQueue(ctx=self._ctx)
        self._quick_put, self._quick_get = self._inqueue._writer.send, self._outqueue._reader.recv

    @staticmethod
    def Process(ctx, *args, target=None, **kwargs):  # noqa: N802  the name that multiprocessing calls
        target = clean_worker if target is multiprocessing.pool.worker else target
        return ctx.Process(*args, target=target, **kwargs)
