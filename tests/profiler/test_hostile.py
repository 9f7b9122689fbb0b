"""Python code that runs while a recording starts, names what is called, or ends."""

import gc
import sys

import rushlight as torch
from helpers.process import python
from rushlight import _C


def test_a_recording_ended_from_within_its_end():
    class Last:
        def __call__(self, *args):
            pass

        def __del__(self):
            ended.append(_C._profile_stop(session))

    ended, x = [], torch.ones(4, 4)
    session = _C._profile_start(python=True)
    sys.setprofile(Last())
    assert _C._profile_stop(session) is not None
    assert ended == [None]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert (x @ x).dtype is torch.bfloat16
    again = _C._profile_start()
    x + x
    assert len(_C._profile_stop(again)[0]) == 1


def test_a_code_whose_constants_run_python():
    class Constant:
        armed = False

        def __hash__(self):
            if Constant.armed:
                _C._profile_stop(session)
            return 1

    def f():
        return None

    f.__code__ = f.__code__.replace(co_consts=(*f.__code__.co_consts, Constant()))
    for _ in range(5):
        session = _C._profile_start(python=True)
        Constant.armed = True
        f()
        f()
        Constant.armed = False
        _C._profile_stop(session)


def test_a_stack_deeper_than_c_has_room_for():
    code = """
import sys
from rushlight import _C
sys.setrecursionlimit(200_000)

def deep(n):
    if n:
        return deep(n - 1)
    return len(_C._profile_stop(_C._profile_start(python=True))[0])

print(deep(100_000) >= 100_000)
"""
    assert python(code) == "True\n"


def test_the_collector_sees_whole_lists_of_events():
    def look(phase, info):
        for each in gc.get_objects(0) if phase == "start" else ():
            if type(each) is list and len(each) >= 2000:
                seen.append(each[-1])

    seen, x, threshold = [], torch.ones(2), gc.get_threshold()
    session = _C._profile_start()
    for _ in range(2000):
        x + 1
    gc.callbacks.append(look)
    gc.set_threshold(100)
    try:
        events = _C._profile_stop(session)[0]
    finally:
        gc.set_threshold(*threshold)
        gc.callbacks.remove(look)
    assert len(events) == 2000
