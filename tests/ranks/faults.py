"""What becomes of a run in several processes when something goes wrong, at random moments of it.

    python faults.py SHARDC DIR [--count N] [--ranks N] [--kinds kill,stop,...] [--seed N]

One process meets a fault: it is killed (kill), stopped for a minute (stop), asked to end (term), or has another program
(program), inputs of another shape (shape), no room for its results (disk). Or all do: Ctrl-C (ctrl-c) and SIGTERM (launcher)
reach mpirun, standard input is closed (stdin). What would come after the end isn't counted. Of each it says how many of the
others named the process and the reason, how many seconds it took until the last of them had ended, and mpirun; and whether
any result was there that is only half written. What processes say is read from files of their own, since an mpirun that is
interrupted passes nothing on. The exit code is 1 if anything hung, or was half written, or ended as if nothing had happened.
"""
import argparse
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import zipfile

ROWS, COLUMNS = 2048, 512

# A sum over all devices, and a result of 4 MiB.
PROGRAM = f"""module @m attributes {{mhlo.num_partitions = 8 : i32}} {{
  sdy.mesh @mesh = <["x"=8]>
  func.func public @main(%a: tensor<ROWSx{COLUMNS}xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{}}]>}}) ->
      (tensor<ROWSx{COLUMNS}xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{}}]>}}) {{
    %0 = stablehlo.constant dense<0.0> : tensor<f32>
    %1 = stablehlo.reduce(%a init: %0) applies stablehlo.add across dimensions = [0] : (tensor<ROWSx{COLUMNS}xf32>, tensor<f32>) -> tensor<{COLUMNS}xf32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [1] : (tensor<{COLUMNS}xf32>) -> tensor<ROWSx{COLUMNS}xf32>
    %3 = stablehlo.add %a, %2 : tensor<ROWSx{COLUMNS}xf32>
    return %3 : tensor<ROWSx{COLUMNS}xf32>
  }}
}}
"""
PATIENCE = 4.0
# How long nothing may take.
HANG = 150.0
FAULTY = 2
LATER = ["kill", "stop", "term", "ctrl-c", "launcher"]
KINDS = [*LATER, "stdin", "program", "shape", "disk"]


class Run:
    """One mpirun."""

    def __init__(self, options, folder, kind, delay=0.0):
        self.folder, self.ranks = folder, options.ranks
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        program, other = (os.path.join(folder, name) for name in ("program.mlir", "other.mlir"))
        with open(program, "w") as file:
            file.write(PROGRAM.replace("ROWS", str(ROWS)))
        with open(other, "w") as file:
            file.write(PROGRAM.replace("ROWS", str(ROWS * 2 if kind == "shape" else ROWS)).replace("add %a", "multiply %a"))
        self.out = os.path.join(folder, "out")
        os.makedirs(self.out)
        outputs = os.path.join(self.out, "out.npz")
        mine = f"{program} --seed 3 --outputs {outputs}"
        theirs = mine
        if kind in ("program", "shape"):
            theirs = mine.replace(program, other)
        if kind == "shape":
            # The same program everywhere, and an archive of another one's inputs here.
            make = [options.shardc, "run", other, "--seed", "3", "--outputs", os.path.join(folder, "other.npz")]
            subprocess.run(make, check=True, capture_output=True)
            make[2], make[-1] = program, os.path.join(folder, "in.npz")
            subprocess.run(make, check=True, capture_output=True)
            for name in ("in", "other"):
                rename(os.path.join(folder, f"{name}.npz"))
            given = lambda name: f"{program} --inputs {os.path.join(folder, name)}.npz --outputs {outputs}"
            mine, theirs = given("in"), given("other")
        if kind == "disk":
            full = os.path.join(folder, "full")
            os.makedirs(full)
            self.mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "none", full], capture_output=True).returncode == 0
            if not self.mounted:
                os.symlink("missing/out.npz", os.path.join(full, f"out.{FAULTY}.npz"))
            theirs = mine.replace(outputs, os.path.join(full, "out.npz"))
        common = f"--repeat {options.repeat} --rank-timeout {PATIENCE:g} --no-cache"
        script = os.path.join(folder, "rank.sh")
        with open(script, "w") as file:
            file.write(
                f"echo $$ > {folder}/pid.$OMPI_COMM_WORLD_RANK\n"
                f"exec 2> {folder}/said.$OMPI_COMM_WORLD_RANK\n"
                f"if [ $OMPI_COMM_WORLD_RANK = {FAULTY} ]; then sleep {delay:.2f}; exec {options.shardc} run {theirs} {common}; fi\n"
                f"exec {options.shardc} run {mine} {common}\n"
            )
        command = ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", str(options.ranks)]
        command += ["--allow-run-as-root"] if os.getuid() == 0 else []
        command += ["sh", script]
        if kind == "stdin":
            command = ["sh", "-c", 'exec "$@" <&-', "sh", *command]
        self.log = open(os.path.join(folder, "log"), "w+")
        self.start = time.monotonic()
        self.mpirun = subprocess.Popen(command, stdout=self.log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)

    def pid(self, rank):
        try:
            return int(open(os.path.join(self.folder, f"pid.{rank}")).read())
        except (OSError, ValueError):
            return None

    def alive(self, rank):
        """Whether a rank's process is there; a number may be another's by now."""
        pid = self.pid(rank)
        try:
            text = open(f"/proc/{pid}/stat").read()
            return text.rsplit(")", 1)[1].split()[0] not in "ZX" and self.folder.encode() in open(f"/proc/{pid}/cmdline", "rb").read()
        except OSError:
            return False

    def wait(self, besides=()):
        """Seconds until the ranks had ended but those `besides`, and mpirun; None for what has not."""
        begin, ranks, launcher = time.monotonic(), None, None
        while time.monotonic() - begin < HANG and (ranks is None or launcher is None):
            now = time.monotonic() - begin
            if ranks is None and not any(self.alive(rank) for rank in range(self.ranks) if rank not in besides):
                # Before mpirun has started them, none is there.
                if all(self.pid(rank) for rank in range(self.ranks)) or self.mpirun.poll() is not None:
                    ranks = now
            if launcher is None and self.mpirun.poll() is not None:
                launcher = now
            time.sleep(0.02)
        return ranks, launcher

    def end(self):
        """Ends what is left, and says what it was."""
        left = []
        for name, pid in [("mpirun", self.mpirun.pid if self.mpirun.poll() is None else None)] + [
            (f"rank {rank}", self.pid(rank) if self.alive(rank) else None) for rank in range(self.ranks)
        ]:
            if pid:
                state = re.search(r"State:\s+(\S+)", open(f"/proc/{pid}/status").read()).group(1)
                left.append(f"{name} ({state})")
                os.kill(pid, signal.SIGKILL)
        self.mpirun.wait()
        self.log.seek(0)
        text = self.log.read()
        for rank in range(self.ranks):
            said = os.path.join(self.folder, f"said.{rank}")
            text += open(said).read() if os.path.exists(said) else ""
        if getattr(self, "mounted", False):
            subprocess.run(["umount", os.path.join(self.folder, "full")])
        return left, text

    def half_written(self):
        """Results that have their names and can't be read."""
        bad = []
        for name in os.listdir(self.out):
            path = os.path.join(self.out, name)
            try:
                if name.endswith(".npz"):
                    assert zipfile.ZipFile(path).testzip() is None
                elif name.endswith(".json"):
                    json.load(open(path))
            except (zipfile.BadZipFile, AssertionError, ValueError):
                bad.append(name)
        return bad


def rename(path):
    """Makes results arguments: out0 becomes arg0."""
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(path + ".new", "w") as new:
        for name in old.namelist():
            new.writestr(name.replace("out", "arg"), old.read(name))
    os.replace(path + ".new", path)


def fault(run, kind, moment):
    """Lets it happen."""
    time.sleep(max(0.0, run.start + moment - time.monotonic()))
    while kind in ("kill", "stop", "term") and run.pid(FAULTY) is None and run.mpirun.poll() is None:
        time.sleep(0.01)
    if kind in ("ctrl-c", "launcher") and run.mpirun.poll() is None:
        run.mpirun.send_signal(signal.SIGINT if kind == "ctrl-c" else signal.SIGTERM)
    elif kind in ("kill", "stop", "term") and run.alive(FAULTY):
        os.kill(run.pid(FAULTY), {"kill": signal.SIGKILL, "stop": signal.SIGSTOP, "term": signal.SIGTERM}[kind])
    else:
        return False
    return True


def names(text, ranks, kind):
    """How many ranks said who met the fault."""
    who = r"asked to end|has ended|failed" if kind in ("ctrl-c", "launcher") else f"rank {FAULTY} \\(host"
    said = set()
    for line in text.splitlines():
        found = re.match(r"(?:rank (\d+) \(host[^)]*\): |shardc: rank (\d+): )(.*)", line)
        if found and re.search(who, found.group(3)):
            said.add(int(found.group(1) or found.group(2)))
    return len(said - {FAULTY}) if kind not in ("ctrl-c", "launcher") else len(said)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("shardc")
    parser.add_argument("folder")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    options.shardc, options.folder = os.path.abspath(options.shardc), os.path.abspath(options.folder)
    draw = random.Random(options.seed)
    quiet = Run(options, os.path.join(options.folder, "quiet"), "none")
    quiet.wait()
    whole = time.monotonic() - quiet.start
    left, text = quiet.end()
    if left or quiet.mpirun.returncode != 0:
        sys.exit(f"it doesn't even run undisturbed: {left} {text[-2000:]}")
    print(f"undisturbed: {whole:.1f} s; {options.ranks} ranks, others may be silent for {PATIENCE:g} s")
    print(f"{'fault':<9} {'at':>6} {'ranks end':>10} {'mpirun':>8} {'named by':>9} {'code':>5}  what else")
    worst, wrong = {}, 0
    for kind in options.kinds.split(","):
        number = 0
        while number < options.count:
            moment = draw.uniform(0.0, whole if kind in LATER else 2.0)
            run = Run(options, os.path.join(options.folder, f"{kind}{number}"), kind, 0.0 if kind in LATER else moment)
            happened = fault(run, kind, moment) if kind in LATER else True
            ranks, launcher = run.wait([FAULTY] if kind == "stop" else [])
            left, text = run.end()
            code, half = run.mpirun.returncode, run.half_written()
            fine = kind == "stdin" or not happened
            bad = bool(left or half or (code == 0) != fine and not (code == 0 and kind in LATER))
            wrong += bad
            number += happened
            told = [f"left: {', '.join(left)}"] * bool(left) + [f"half written: {half}"] * bool(half)
            told += ["had ended before"] * (not happened)
            show = lambda seconds: f"{seconds:.1f} s" if seconds is not None else "NEVER"
            named = "-" if fine else f"{names(text, options.ranks, kind)} of {options.ranks - (kind not in ('ctrl-c', 'launcher'))}"
            print(f"{kind:<9} {moment:>4.1f} s {show(ranks):>10} {show(launcher):>8} {named:>9} {code:>5}  {'; '.join(told)}", flush=True)
            if bad:
                print("    " + text[-1500:].replace("\n", "\n    "), flush=True)
            else:
                shutil.rmtree(run.folder)
            # Of what begins with its fault, the time counts from there on.
            if not fine and ranks is not None and launcher is not None:
                before = worst.get(kind, (0.0, 0.0))
                worst[kind] = (max(before[0], ranks), max(before[1], launcher))
    for kind, (ranks, launcher) in worst.items():
        print(f"{kind}: at most {ranks:.1f} s until the other ranks had ended, {launcher:.1f} s until mpirun had")
    print(f"{wrong} of {options.count * len(options.kinds.split(','))} wrong")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
