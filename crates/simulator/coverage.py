#!/usr/bin/env python3
"""Lists the lines of session, turn, gate, queue and stores that no seed has reached.

The arguments are those of codex-simulator, such as `--seeds 300 --two-engines`, and further sets of them after a comma. LLVM names the
folder with llvm-profdata and llvm-cov, of release 19 or later. `--keep` does not remove what earlier runs have reached.
"""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "coverage"
SOURCES = [
    "app-server/src/thread",
    "core/src/session",
    "core/src/turn",
    "core/src/launch",
    "gate/src",
    "rollout/src",
    "session-base/src/gate",
    "session-base/src/input",
    "session-base/src/events",
    "thread-state/src",
    "thread-store/src",
]


def tool(name):
    folder = os.environ.get("LLVM")
    return str(Path(folder) / name) if folder else name


def build():
    # The counters are in a file from the begin: simulated processes end without a last word.
    flags = "-C instrument-coverage -C llvm-args=-runtime-counter-relocation"
    # Build scripts and macros have counters too.
    profile = str(TARGET / "build-%p.profraw")
    environment = dict(os.environ, RUSTFLAGS=flags, CARGO_TARGET_DIR=str(TARGET), LLVM_PROFILE_FILE=profile)
    command = ["cargo", "build", "--quiet", "-p", "codex-simulator"]
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    return TARGET / "debug/codex-simulator"


def unreached(program, profiles):
    """The lines of each file that were not reached, and the number of all lines that have code."""
    merged = TARGET / "seeds.profdata"
    raw = [str(profile) for profile in profiles]
    subprocess.run([tool("llvm-profdata"), "merge", *raw, "-o", str(merged)], check=True)
    command = [tool("llvm-cov"), "export", "-format=lcov", "-instr-profile", str(merged), str(program)]
    report = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    lines, path = {}, None
    for line in report.splitlines():
        kind, _, rest = line.partition(":")
        if kind == "SF":
            path = rest
        elif kind == "DA":
            number, count = rest.split(",")[:2]
            counts = lines.setdefault(path, {})
            counts[int(number)] = counts.get(int(number), 0) + int(count)
    return lines


def ranges(numbers):
    found = []
    for number in numbers:
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in found)


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--keep"]
    program = build()
    if "--keep" not in sys.argv:
        for profile in TARGET.glob("seeds-*.profraw"):
            profile.unlink()
    runs = " ".join(arguments or ["--seeds", "300"]).split(",")
    for run in runs:
        number = len(list(TARGET.glob("seeds-*.profraw")))
        profile = TARGET / f"seeds-{number}-%c.profraw"
        environment = dict(os.environ, LLVM_PROFILE_FILE=str(profile))
        subprocess.run([str(program), "--no-shrink", *run.split()], env=environment, check=False)
    lines = unreached(program, TARGET.glob("seeds-*.profraw"))
    for source in SOURCES:
        folder = str(ROOT / "crates" / source)
        for path in sorted(path for path in lines if path.startswith(folder)):
            missing = sorted(number for number, count in lines[path].items() if count == 0)
            reached = len(lines[path]) - len(missing)
            name = Path(path).relative_to(ROOT / "crates")
            print(f"{name}: {reached} of {len(lines[path])}; not {ranges(missing)}" if missing else f"{name}: all")


main()
