# SPDX-License-Identifier: MIT
"""Boots a guest on a simulated machine and follows what it says."""
import json
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

from . import threads

TREE = pathlib.Path(__file__).resolve().parents[3]
VM = TREE / "tests/vm"
STARTS = 3  # of a guest whose QEMU fails


class Failed(Exception):
    pass


def must(*words, **how):
    done = subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **how)
    if done.returncode != 0:
        raise Failed(f"{' '.join(map(str, words[:3]))}: {(done.stderr or done.stdout).strip()[-800:]}")
    return done.stdout.strip()


def stage(build, plan, payload, user_files):
    """The directory that becomes the guest's /usr/local."""
    must(VM / "stage_payload", build, payload)
    here = TREE / "tests/lab"
    shutil.copy(here / "guest/run_plan.py", payload / "vm")
    shutil.copytree(build / "tests/lab/guest", payload / "vm/lab")
    for name in ("in.melt", "hpcc.sh", "hpccinf.txt"):
        shutil.copy(here / "guest" / name, payload / "vm/lab")
    for name in ("thread_kernels", "hybrid"):
        shutil.copy(build / "tests/apps" / name, payload / "vm/lab")
    threads.record(build, plan, payload / "vm/lab/profiles")
    if user_files:
        shutil.copytree(user_files, payload / "user")
    (payload / "vm/plan.json").write_text(json.dumps(plan))
    for conf in (payload / "etc/plugstack.conf.d").glob("*.conf"):  # simulated seconds are dear
        conf.write_text(conf.read_text().replace("default=off", "default=off min-interval=1ms"))


def make_image(payload, image):
    """A file system of the directory, with room for inodes and bitmaps, whether the files are few and large or many and small."""
    must("chmod", "-R", "a+rX", payload)  # steps do not run as root
    size = int(must("du", "-sm", payload).split()[0])
    must("mke2fs", "-q", "-t", "ext4", "-O", "^has_journal", "-i", "4096", "-d", payload, image, f"{size + size // 8 + 32}M")


class Guest:
    """with Guest(...) as guest: for line in guest.lines(): ..."""

    def __init__(self, machine, build, plan, out, window_ns, user_files=None):
        self.machine, self.build, self.plan, self.out = machine, pathlib.Path(build).resolve(), plan, pathlib.Path(out)
        self.window_ns, self.user_files, self.process, self.image = window_ns, user_files, None, None

    def __enter__(self):
        payload = self.out / "payload"
        try:
            stage(self.build, self.plan, payload, self.user_files)
            make_image(payload, self.out / "payload.img")
            shutil.rmtree(payload)
            must("truncate", "-s", "256M", self.out / "results.img")
            self.image = pathlib.Path(must(VM / "build_root", "bookworm", "guest"))
            must(VM / "build_root", "trixie", "qemu")  # made the first time: not within the guest's time
            self.start()
        except BaseException:  # __exit__ is not called then
            self.remove_images()
            raise
        return self

    def remove_images(self):
        shutil.rmtree(self.out / "payload", ignore_errors=True)
        for image in self.out.glob("*.img"):
            image.unlink()

    def start(self):
        (self.out / "console").unlink(missing_ok=True)
        quoted = lambda path: str(path).replace(",", ",,")  # a comma ends a value of QEMU's lists
        drive = lambda file, more: ["-drive", f"file={quoted(file)},if=virtio,format=raw{more}"]
        plugin = (f"{quoted(self.build)}/tests/lab/numalab.so,machine={quoted(self.machine.path.resolve())},output={quoted(self.out)}/counters.jsonl,"
                  f"node-mib={self.machine.node_mib},window-ns={self.window_ns},quantum-ns={max(1, self.window_ns // 2)}")
        words = [VM / "qemu", "-accel", "tcg,thread=multi,tb-size=512", "-plugin", plugin,
                 # Intel: else Linux sees neither threads nor dies. level: an early reader of leaf 0x1f ends QEMU 10.0 where there are dies.
                 # Without fast string moves: QEMU runs them byte by byte.
                 "-cpu", "max,vendor=GenuineIntel,level=13,-erms,-fsrm", *self.machine.qemu_words(),
                 "-display", "none", "-monitor", "none", "-nodefaults", "-no-reboot", "-serial", f"file:{self.out}/console",
                 *drive(self.image / "disk.img", ",snapshot=on"), *drive(self.out / "payload.img", ",readonly=on"), *drive(self.out / "results.img", ""),
                 "-kernel", self.image / "vmlinuz", "-initrd", self.image / "initrd",
                 "-append", "console=ttyS0 panic=-1 nokaslr mitigations=off no_timer_check rcupdate.rcu_cpu_stall_suppress=1 nowatchdog "
                            "tsc=reliable quiet vm.main=run_plan.py"]
        with open(self.out / "qemu.err", "w", encoding="utf-8") as errors:
            self.process = subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL, stderr=errors, stdout=errors,
                                            preexec_fn=end_with_parent)

    def lines(self, timeout, patience):
        """Yields the lines that run_plan.py prints, until the guest has powered off. Starts the guest again if QEMU fails before the first line.
        The guest cannot tell that a run hangs, since its clock is simulated: one that says nothing for longer than `patience` is given up."""
        end, heard, doing = time.monotonic() + timeout, time.monotonic(), "its boot"
        console, read, starts, has_said = self.out / "console", 0, 1, False
        while True:
            running = self.process.poll() is None
            text = console.read_text(errors="replace")[read:] if console.exists() else ""
            whole = text[:text.rfind("\n") + 1]
            read += len(whole)
            for line in whole.splitlines():
                if line.startswith("LAB {"):
                    has_said, heard = True, time.monotonic()
                    said = json.loads(line[4:])
                    doing = said.get("begins", doing)
                    yield said
            if not running:
                failure = self.failure_of_qemu()
                if has_said or not failure or starts == STARTS:
                    return
                print(f"run-lab: QEMU failed before the guest of {self.machine.name} was up (start {starts} of {STARTS}): {failure}", file=sys.stderr)
                starts, read = starts + 1, 0
                self.start()
            if time.monotonic() > end:
                raise Failed(f"the guest was not done after {timeout:.0f} s; what it said is in {console}")
            if time.monotonic() > heard + patience:
                raise Failed(f"the guest has said nothing for {patience:.0f} s; it hangs in {doing}, or needs a longer --patience; "
                             f"what it said is in {console}")
            time.sleep(0.2)

    def __exit__(self, *_):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        results = self.out / "results"
        results.mkdir(exist_ok=True)
        subprocess.run(["tar", "-C", results, "-xf", self.out / "results.img"], stderr=subprocess.DEVNULL, check=False)
        self.remove_images()

    def failure_of_qemu(self):
        """The assertion of its own by which QEMU ended, as QEMU 10 does now and then at the start of a guest; else None."""
        if self.process.returncode != -signal.SIGABRT:
            return None
        found = re.search(r".*Assertion .* failed.*", (self.out / "qemu.err").read_text(errors="replace"))
        return found and found[0]

    def counters(self):
        """Lines of the plugin, {label: [line...]}."""
        found = {}
        place = self.out / "counters.jsonl"
        text = place.read_text(errors="replace") if place.exists() else ""
        for line in text[:text.rfind("\n") + 1].splitlines():  # a QEMU that is killed can leave a part of a line
            entry = json.loads(line)
            found.setdefault(entry["label"], []).append(entry)
        return found

    def why(self):
        """The last words of QEMU and of the guest."""
        words = [(self.out / name).read_text(errors="replace")[-1500:] for name in ("qemu.err", "console") if (self.out / name).exists()]
        return "\n".join(word for word in words if word.strip())


def end_with_parent():
    import ctypes
    ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG, SIGKILL
