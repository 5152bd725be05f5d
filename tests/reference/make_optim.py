"""Writes tests/reference/optim.h: six steps of torch's AdamW and SGD on 19 numbers in
float32, and the rates of transformers' schedules.  Run: python make_optim.py > optim.h"""
import textwrap

import torch
from transformers import get_cosine_schedule_with_warmup, get_linear_schedule_with_warmup
from transformers import get_constant_schedule_with_warmup

N, STEPS = 19, 6


def start():
    i = torch.arange(N, dtype=torch.float32)
    return (i - 9) / 8


def gradient(step):
    i = torch.arange(N, dtype=torch.float32)
    return ((i * 7 + step * 5) % 11 - 5) / 16


def train(make):
    p = torch.nn.Parameter(start())
    o = make([p])
    for step in range(STEPS):
        p.grad = gradient(step)
        o.step()
    return p.detach().tolist()


def array(name, values, kind="double"):
    body = ", ".join(f"{v:.9g}" for v in values)
    print(textwrap.fill(f"static const {kind} {name}[] = {{ {body} }};", 100))


def rates(make):
    p = torch.nn.Parameter(torch.zeros(1))
    o = torch.optim.SGD([p], lr=1.0)
    s = make(o)
    out = []
    for _ in range(10):
        out.append(s.get_last_lr()[0])
        o.step()
        s.step()
    return out


print("/* Made by make_optim.py. */")
array("adamw_expected", train(lambda p: torch.optim.AdamW(p, lr=0.01, weight_decay=0.1)))
array("adamw_plain_expected", train(lambda p: torch.optim.AdamW(p, lr=0.02, weight_decay=0)))
array("sgd_expected", train(lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.1)))
array("linear_expected", rates(lambda o: get_linear_schedule_with_warmup(o, 0, 10)))
array("linear_warm_expected", rates(lambda o: get_linear_schedule_with_warmup(o, 4, 10)))
array("cosine_expected", rates(lambda o: get_cosine_schedule_with_warmup(o, 3, 10)))
array("constant_expected", rates(lambda o: get_constant_schedule_with_warmup(o, 3)))
