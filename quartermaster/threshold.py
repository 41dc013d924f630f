"""Thresholds: the floors of the signals that hold where a configuration says no other, each with its reason.

A floor is permille of the signal, for `power` deciwatts with a CUDA context on the GPU.
"""

HOUSE_FLOORS: tuple[tuple[str, str, str, int], ...] = (
    # signal, workload kind, model, floor
    ("gr_engine", "*", "*", 20),  # its noise on an idle GPU reaches 0.01
    ("gpu_util", "*", "*", 20),  # whole per cent, as the driver saw it in less than a second
    ("sm", "*", "*", 20),
    ("tensor", "*", "*", 10),
    ("dram", "*", "*", 20),
    ("mem_copy", "*", "*", 20),
    # An idle GPU's power and what a context adds to it (26–50 W, on the L40S 66 W), rounded up;
    # for a model that is not here power confirms nothing.
    ("power", "*", "*H100*", 1300),
    ("power", "*", "*A100*", 1100),
    ("power", "*", "*L40S*", 1100),
)
