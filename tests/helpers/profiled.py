"""What a profiler recorded, as tests look at it."""


def names(prof):
    return [event.name for event in prof.function_events]


def outermost(prof):
    return [event.name for event in prof.function_events if event.cpu_parent is None]


def parents(prof):
    return {event.name: event.cpu_parent and event.cpu_parent.name for event in prof.function_events}
