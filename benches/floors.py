#!/usr/bin/env python3
"""What the bulk rows cost a program that does nothing else: the least that they can take on this machine.

    floors.py [--rounds 9]

Each row is a child process in C or shell that does only the work that no server can avoid, with the same pipes and sizes as
the bench. Prints medians of wall and processor time. Needs Linux, Python 3.9 or later, a C compiler as `cc`.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

# Start, read a line, answer it, end: what a start costs at least, with the libraries of the server.
ANSWER = r"""
#include <stdio.h>
#include <math.h>
int main(void) {
    char line[4096];
    if (!fgets(line, sizeof line, stdin)) return 1;
    puts("{\"id\":1,\"result\":{}}");
    return 0;
}
"""

# Reads a file, writes it as base64 to a pipe. The table look-up is the plain one; vectors are faster.
ENCODE = r"""
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static char pairs[4096][2];
int main(int count, char **names) {
    size_t size = atol(names[2]) / 3 * 3, done = 0;
    unsigned char *in = malloc(size + 8);
    char *out = malloc(size / 3 * 4);
    int file = open(names[1], O_RDONLY);
    for (int pair = 0; pair < 4096; pair++) { pairs[pair][0] = digits[pair >> 6]; pairs[pair][1] = digits[pair & 63]; }
    while (done < size) { ssize_t got = read(file, in + done, size - done); if (got <= 0) return 1; done += got; }
    for (size_t at = 0, to = 0; at < size; at += 3, to += 4) {
        unsigned bits = in[at] << 16 | in[at + 1] << 8 | in[at + 2];
        __builtin_memcpy(out + to, pairs[bits >> 12], 2);
        __builtin_memcpy(out + to + 2, pairs[bits & 4095], 2);
    }
    for (size_t at = 0; at < size / 3 * 4;) { ssize_t put = write(1, out + at, size / 3 * 4 - at); if (put <= 0) return 1; at += put; }
    return 0;
}
"""

# Reads all of a pipe, in pieces of 64 KiB, which is what a pipe holds.
DRAIN = r"""
#include <unistd.h>
int main(void) { static char buffer[65536]; while (read(0, buffer, sizeof buffer) > 0) {} return 0; }
"""

# Reads a pipe and writes as many bytes as its base64 has, without making it.
FORWARD = r"""
#include <unistd.h>
int main(void) {
    static char buffer[87384];
    ssize_t got;
    while ((got = read(0, buffer, 65536)) > 0)
        for (ssize_t at = 0, all = (got + 2) / 3 * 4; at < all;) { ssize_t put = write(1, buffer + at, all - at); if (put <= 0) return 1; at += put; }
    return 0;
}
"""

# Starts a program and waits for it.
SPAWN = r"""
#include <spawn.h>
#include <sys/wait.h>
extern char **environ;
int main(void) {
    char *names[] = {"true", 0};
    for (int turn = 0; turn < 100; turn++) { pid_t child; int status; if (posix_spawnp(&child, "true", 0, 0, names, environ)) return 1; waitpid(child, &status, 0); }
    return 0;
}
"""


def build(folder, name, source):
    path = os.path.join(folder, name)
    subprocess.run(["cc", "-O2", "-x", "c", "-o", path, "-", "-lm"], input=source.encode(), check=True)
    return path


def drain(stream):
    while stream.read(1 << 20):
        pass


def run(command, source=None, feed=None):
    """Wall and processor time of one run, in seconds. Its output is read and dropped."""
    began = time.perf_counter()
    child = subprocess.Popen(command, stdin=source or subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    if source is None:
        child.stdin.write(feed or b"")
        child.stdin.close()
    drain(child.stdout)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = status
    if status:
        raise RuntimeError(command)
    return time.perf_counter() - began, used.ru_utime + used.ru_stime


def piped(source, command):
    feeder = subprocess.Popen(source, stdout=subprocess.PIPE)
    try:
        return run(command, feeder.stdout)
    finally:
        feeder.stdout.close()
        feeder.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        answer, encode, forward, spawn, drained = (
            build(folder, name, source) for name, source in (
                ("answer", ANSWER), ("encode", ENCODE), ("forward", FORWARD), ("spawn", SPAWN), ("drain", DRAIN)))
        data = os.path.join(folder, "data")
        with open(data, "wb") as f:
            f.write(os.urandom(10_485_760))
        zeros = ["head", "-c", str(50 << 20), "/dev/zero"]
        rows = [
            ("start, one line, end", 1, lambda: run([answer], feed=b"{}\n")),
            ("spawn and wait, each", 100, lambda: run([spawn])),
            ("50 MiB of a command, read", 1, lambda: piped(zeros, [drained])),
            ("50 MiB of a command, forwarded at the size of base64", 1, lambda: piped(zeros, [forward])),
            ("10 MiB file to a pipe as base64", 1, lambda: run([encode, data, "10485760"])),
        ]
        print("| row | wall | CPU |\n|---|---|---|")
        for name, share, measure in rows:
            measured = [measure() for _ in range(options.rounds)]
            wall, cpu = (statistics.median(column) * 1000 / share for column in zip(*measured))
            print(f"| {name} | {wall:.2f} ms | {cpu:.2f} ms |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
