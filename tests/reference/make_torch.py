#!/usr/bin/env python3
"""Files of torch.save, and the same values as safetensors.

    make_torch.py               writes tests/reference/torch/

zip.bin and old.bin: a module's state in both containers (with views of one storage, transposed and single elements,
all types of numbers, a parameter); expected.safetensors: the values as float64; system.bin: a zip whose pickle would
run a command.
"""
import collections
import os
import pathlib
import pickle

import torch
from safetensors.torch import save_file

OUT = pathlib.Path(__file__).resolve().parent / "torch"


def state():
    torch.manual_seed(2)
    big = torch.randn(6, 5)
    d = collections.OrderedDict(
        plain=torch.randn(3, 4), shared=big, transposed=big.t(), part=big[2:4, 1:], column=big[:, 3],
        scalar=torch.tensor(1.5), empty=torch.zeros(0, 3), half=torch.randn(4).half(), brain=torch.randn(4).bfloat16(),
        double=torch.randn(2, 2).double(), parameter=torch.nn.Parameter(torch.randn(2)), long=torch.tensor([[1, -2]]),
        int=torch.tensor([3], dtype=torch.int32), short=torch.tensor([4], dtype=torch.int16),
        char=torch.tensor([-5], dtype=torch.int8), byte=torch.tensor([200], dtype=torch.uint8),
        bool=torch.tensor([True, False]))
    d._metadata = collections.OrderedDict([("", dict(version=1)), ("layer", dict(version=2))])
    return d


class Command:
    def __reduce__(self):
        return os.system, ("touch it-was-run",)


def main():
    OUT.mkdir(exist_ok=True)
    d = state()
    torch.save(d, OUT / "zip.bin")
    torch.save(d, OUT / "old.bin", _use_new_zipfile_serialization=False)
    torch.save({"weight": torch.zeros(2), "code": Command()}, OUT / "system.bin", pickle_module=pickle)
    floats = {k: v.detach().double().contiguous().clone() for k, v in d.items() if v.is_floating_point()}
    save_file(floats, OUT / "expected.safetensors")


if __name__ == "__main__":
    main()
