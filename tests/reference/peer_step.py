"""What the measured steps of peer_*.py share: their clock and their precision."""
import time

import torch


class Clock:
    """Wall and processor seconds since it was made."""

    def __init__(self):
        self.start = time.perf_counter(), time.process_time()

    def read(self):
        return time.perf_counter() - self.start[0], time.process_time() - self.start[1]


def precise(precision):
    """The context of a forward pass: f32, or bf16 as PyTorch's users get it."""
    return torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16")
