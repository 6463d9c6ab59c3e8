# SPDX-License-Identifier: Apache-2.0
"""threads=cores and sample: each thread of an OpenMP team gets a CPU of its own inside the CPUs of its rank.

One rank has both CPUs of the private Slurm. The test reads the masks of its threads in /proc while it runs.
"""
import pathlib
import re
import time

import harness

OPTION = "online,interval=100ms,max-interval=1s,report=r.json,threads="
ROUNDS = 6000
LAST = re.compile(r"hybrid: rank (\d+) thread (\d+) last on CPUs (.+)")
SECONDS = re.compile(r"hybrid: rank \d+ of \d+, 2 threads: (\S+) s, sum (\S+)")


def masks_of(pid):
    """{thread: list of CPUs} of a process, as the kernel tells; empty if it has ended."""
    masks = {}
    for status in pathlib.Path(f"/proc/{pid}/task").glob("*/status"):
        try:
            masks[int(status.parent.name)] = re.search(r"Cpus_allowed_list:\s+(\S+)", status.read_text())[1]
        except (OSError, TypeError):
            continue
    return masks


class Hybrid(harness.Case):
    def run_hybrid(self, threads, env=None, rounds=ROUNDS):
        """Returns (output, report, the masks of the process at each look)."""
        step = self.start_srun("-n1", "-c2", f"{harness.APPS}/hybrid", str(rounds), ondeloc=OPTION + threads,
                               env={"OMP_NUM_THREADS": "2", **(env or {})})
        looks = []
        while step.poll() is None:
            looks += [masks for pid in harness.pids_of("hybrid") if (masks := masks_of(pid))]
            time.sleep(0.05)
        out, err = step.communicate(timeout=harness.LONG)
        self.assertEqual(step.returncode, 0, f"stdout: {out}\nstderr: {err}")
        self.assertTrue(looks, "the process was never seen")
        for masks in looks:
            self.assertLessEqual(set(masks.values()), {"0-1", "0", "1"}, "outside the CPUs of the step")
        return out, self.report("r.json"), looks

    def test_threads_get_a_cpu_each(self):
        out, report, looks = self.run_hybrid("cores")
        # The topology of these tests has a NUMA node for each CPU, and a thread stays on the node on which it ran.
        cpus = {match[2]: match[3] for match in LAST.finditer(out)}
        self.assertEqual(sorted(cpus.values()), ["0", "1"])
        rank = report["ranks"][0]
        self.assertEqual(rank["thread_cpus"], [cpus["0"], cpus["1"]])
        self.assertEqual(rank["final_cpus"], "0-1")
        self.assertIn("threads=cores: ranks 0: each thread that computes has CPUs of its own", report["notes"])
        # Open MPI's own threads sleep, and stay free.
        most = max(len(masks) for masks in looks)
        self.assertGreater(most, 2)
        self.assertIn(["0", *["0-1"] * (most - 2), "1"], [sorted(masks.values()) for masks in looks])

    def test_a_binding_of_the_program_stays(self):
        out, report, _ = self.run_hybrid("cores", {"OMP_PROC_BIND": "true", "OMP_PLACES": "{1},{0}"})
        self.assertEqual({match[2]: match[3] for match in LAST.finditer(out)}, {"0": "1", "1": "0"})
        self.assertEqual(report["ranks"][0]["thread_cpus"], [])
        self.assertIn("threads=cores: ranks 0: threads were left alone: the program binds them (OMP_PROC_BIND?)", report["notes"])

    def test_two_threads_on_two_cpus_are_not_sampled(self):
        """threads=sample has no choice there, and without NUMA hinting faults a note says that the kernel makes none."""
        out, report, _ = self.run_hybrid("sample")
        cpus = {match[2]: match[3] for match in LAST.finditer(out)}
        rank = report["ranks"][0]
        self.assertEqual(rank["thread_cpus"], [cpus["0"], cpus["1"]])
        self.assertEqual(rank["thread_faults"], 0)
        self.assertEqual(rank["thread_sharing"], [])
        self.assertIn("threads=sample: ranks 0: each thread that computes has CPUs of its own", report["notes"])
        reasons = [note for note in report["notes"] if "page faults are not sampled" in note or "all seats are equally near" in note]
        self.assertEqual(len(reasons), 1, report["notes"])

    def test_takes_no_longer_than_free_threads(self):
        """Compares the shortest of some runs, taken in turn: other work on the machine makes single runs longer."""
        seconds, sums = {"slot": [], "cores": []}, set()
        for _ in range(3):
            for threads, times in seconds.items():
                match = SECONDS.search(self.run_hybrid(threads)[0])
                times.append(float(match[1]))
                sums.add(match[2])
        print(seconds)
        self.assertEqual(len(sums), 1, "the runs computed different sums")
        self.assertLess(min(seconds["cores"]), 1.5 * min(seconds["slot"]))


if __name__ == "__main__":
    harness.main()
