#!/usr/bin/env python3
"""A small history: tests/reference/history/.

    tests/reference/make_history.py PETRI

PETRI is the program.  Tests open a copy (tests/support/history.h): what it holds must stay readable, so the
fixture is made again only to hold more, or when the database begins anew.

It is made at a place of its own, PLACE, which the runs remember as an absolute path and which is gone when
a test reads them, as that of any history that was moved.
"""
import json
import pathlib
import shutil
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).parent.resolve()
OUT = HERE / "history"
PLACE = pathlib.Path("/tmp/petri-history")
PETRI = pathlib.Path(sys.argv[1]).resolve()
TOY = "--train task/toy.tsv --dev task/dev.tsv --text text --label label --batch 4 --shards 2 --workers 1"


def command(line):
    return [PETRI, *line.split(), "--db", "petri.db"]


def petri(line):
    print("petri", line, flush=True)
    return subprocess.run(command(line), cwd=PLACE, check=True, capture_output=True, text=True).stdout


def write_models():
    for name, source in ("bert-tiny", HERE / "bert-tiny"), ("t5-tiny", HERE / "families/t5-tiny"):
        folder = PLACE / "models" / name
        folder.mkdir(parents=True)
        for file in "config.json", "model.safetensors":
            shutil.copy(source / file, folder)
        for file in "vocab.txt", "tokenizer_config.json":
            shutil.copy(HERE / "bert-tiny" / file, folder)


def write_task():
    words = (HERE / "bert-tiny/vocab.txt").read_text().split()
    words = [w for w in words if w.isascii() and w.isalpha() and len(w) > 1]
    (PLACE / "task").mkdir()
    for name, rows, step in ("toy", 24, 1), ("dev", 8, 5):
        lines = ["text\tlabel"]
        for i in range(rows):
            text = " ".join(words[(i * step + j * (1 + i % 2)) % len(words)] for j in range(2 + i % 4))
            lines.append(text + ("\tneg" if i % 2 else "\tpos"))
        (PLACE / f"task/{name}.tsv").write_text("\n".join(lines) + "\n")


def wait_for(run, step):
    for _ in range(500):
        shown = subprocess.run(command(f"show {run} --json"), cwd=PLACE, capture_output=True, text=True)
        if not shown.returncode and json.loads(shown.stdout)["step"] >= step:
            return
        time.sleep(0.001)
    sys.exit(f"run {run} has not come to step {step}")


def cut_short(run, line, how):
    """Trains until there is a checkpoint and some steps more."""
    print("petri", line, flush=True)
    with subprocess.Popen(command(line), cwd=PLACE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as p:
        wait_for(run, 25)
        if how == "stop":
            petri(f"stop {run}")
        else:
            p.send_signal(signal.SIGKILL)


def main():
    shutil.rmtree(PLACE, ignore_errors=True)
    PLACE.mkdir()
    write_models()
    write_task()
    bert, t5 = f"--model models/bert-tiny {TOY}", f"--model models/t5-tiny {TOY}"
    petri(f"train {bert} --method lora(r=2) --lr 1e-2 --steps 30 --eval-steps 10 --embed-every 15 --embed-rows 8")
    cut_short(2, f"train {bert} --method lora(r=2) --lr 1e-3 --steps 3000 --eval-steps 20", "stop")
    cut_short(3, f"train {bert} --method bitfit --lr 1e-3 --steps 2000 --eval-steps 20", "kill")
    petri(f"train {bert} --method adapter-pfeiffer(r=4) --lr 1e-2 --epochs 2 --seeds 5,6 --optimizer sgd --momentum 0.9"
          " --schedule cosine --warmup 3 --gradient-accumulation-steps 2 --dropout 0 --clip 0.5 --eval-rows 6 --early-stop 3"
          " --metric f1 --positive pos --max-length 12 --note moved")
    petri(f"train {t5} --method lora(r=2) --lr 1e-2 --steps 20 --eval-steps 10 --max-target 4 --samples 3 --beams 2")
    petri(f"train {bert} --method head --steps 5")
    petri("trash 7")
    petri("embed --run 1 --rows 6")
    petri("similarity 1 --of layers --rows 6")
    print(petri("runs"))
    print(petri("doctor"))
    shutil.rmtree(OUT, ignore_errors=True)
    shutil.copytree(PLACE, OUT, ignore=shutil.ignore_patterns("*-wal", "*-shm", "*lock"))
    shutil.rmtree(PLACE)


if __name__ == "__main__":
    main()
