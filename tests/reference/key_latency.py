#!/usr/bin/env python3
"""key_latency.py DATABASE: how long a key takes on Map, and whether Map slows training.

Starts petri in a pseudo-terminal of 80x24 on a database whose newest run is finished.  A key's time
is from its write to the moment its letter (none that ends a terminal's sequence) stands in what petri
has written: the command line is drawn with the whole screen, as every key is.  Then a run trains on all cores, and its points are
counted in turns with the Train screen and with Map, whose layout is begun anew all the time.
"""
import fcntl
import os
import pathlib
import pty
import select
import statistics
import struct
import subprocess
import sys
import termios
import time

ROOT = pathlib.Path(__file__).parents[2]
KEYS, ROUNDS, WINDOW = 100, 3, 30


class Screen:
    def __init__(self, database):
        self.pid, self.fd = pty.fork()
        if not self.pid:
            os.environ["TERM"] = "xterm-256color"
            os.chdir(ROOT)
            os.execv("./petri", ["petri", "--db", database])
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))

    def read(self, seconds):
        """What petri writes within so many seconds."""
        out, end = b"", time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if select.select([self.fd], [], [], left)[0]:
                out += os.read(self.fd, 1 << 16)
        return out

    def press(self, keys, wait=0.3):
        os.write(self.fd, keys.encode())
        return self.read(wait)

    def latency(self, letter):
        """Milliseconds until the letter is there."""
        start = time.monotonic()
        os.write(self.fd, letter.encode())
        while True:
            if letter.encode() in os.read(self.fd, 1 << 16):
                return 1e3 * (time.monotonic() - start)

    def keys(self, again):
        """KEYS times on the command line; `again` is pressed now and then, off it."""
        times = []
        for i in range(KEYS):
            if i % 20 == 0:
                self.press("\x1b", 0.6)
                self.press(again + ":", 0.3)
            times.append(self.latency("QUVW"[i % 4]))
            self.read(0.02)
        self.press("\x1b", 0.6)
        return times


def points(database):
    """Training points kept so far."""
    out = subprocess.run([ROOT / "petri", "sql", "SELECT count(*) FROM v_points WHERE key='loss'", "--db", database],
                         check=True, capture_output=True, text=True).stdout
    return int(out.split()[-1].strip('"'))


def report(name, times):
    times.sort()
    print(f"{name:34} median {statistics.median(times):6.1f} ms  95 % {times[int(.95 * len(times))]:6.1f}  "
          f"most {times[-1]:6.1f}")


def main():
    database = sys.argv[1]
    s = Screen(database)
    s.read(3)
    s.press("3", 1)
    s.press("g7", 15)
    report("layout stands", s.keys(""))
    report("layout runs", s.keys("z"))
    s.press("1", 0.5)
    s.press(":train\r", 8)
    rate, times = {"Train": [], "Map": []}, []
    for _ in range(ROUNDS):
        for name in rate:
            s.press("27"[name == "Map"], 1)
            first, start = points(database), time.monotonic()
            while time.monotonic() - start < WINDOW:
                if name == "Map":
                    times += s.keys("z")
                else:
                    s.read(1)
            rate[name].append((points(database) - first) / (time.monotonic() - start))
    report("layout runs, a run trains", times)
    for name, r in rate.items():
        print(f"points a second with the {name} screen: {statistics.median(r):.3f} of {[round(x, 3) for x in r]}")
    s.press("2", 0.5)
    s.press("K", 1)
    s.press("y", 5)
    os.write(s.fd, b"qqq")


main()
