# SPDX-License-Identifier: Apache-2.0
"""Ranks that change their partners half-way are brought together again while they run.

Four ranks run on two NUMA nodes of one CPU each. The traffic between the nodes is computed from the program's own counters and
from the CPUs of its threads, which it reads in /proc. The report of ondeloc is compared with both.
"""
import json
import re

import harness

OPTION = "online,interval=250ms,max-interval=1s,report=r.json,transport="
PROGRESS = re.compile(r"partners: rank (\d+) at (\S+) half (\d) sent to rank (\d+): (\d+) bytes so far")
THREAD = re.compile(r"partners: rank (\d+) at (\S+) thread (\d+) may run on CPUs (\S+)")
FIRST = re.compile(r"partners: rank (\d+) half (\d) first on CPUs (\S+) last on CPUs (\S+)")


class Point:
    """One line of a rank: bytes sent so far in this half, and the CPUs of each of its threads."""

    def __init__(self, time, sent):
        self.time, self.sent, self.cpus = time, sent, {}

    def place(self):
        """The CPU that all threads are bound to; None if they differ."""
        places = set(self.cpus.values())
        return places.pop() if len(places) == 1 else None


class Rank:
    """The lines that one rank printed in one half, in order."""

    def __init__(self):
        self.peer = None
        self.points = []

    def place_at(self, time):
        """The bytes in the last line."""
        return [point for point in self.points if point.time <= time][-1].place()

    def changes(self):
        """Returns (time of the last line before, time of the first line after) every change of CPU."""
        return [(a.time, b.time) for a, b in zip(self.points, self.points[1:]) if a.place() != b.place()]


def read_half(output, half):
    ranks = {rank: Rank() for rank in range(4)}
    current = {}
    for line in output.splitlines():
        if match := PROGRESS.match(line):
            rank = int(match[1])
            current[rank] = int(match[3]) == half
            if current[rank]:
                ranks[rank].peer = int(match[4])
                ranks[rank].points.append(Point(float(match[2]), int(match[5])))
        elif (match := THREAD.match(line)) and current.get(int(match[1])):
            ranks[int(match[1])].points[-1].cpus[match[3]] = match[4]
    return ranks


def at_ends(output, half):
    """{rank: (CPUs at the start of the half, at its end)}"""
    return {int(m[1]): (m[3], m[4]) for m in FIRST.finditer(output) if int(m[2]) == half}


def before_and_after(ranks):
    """Returns two windows of time: until a rank was seen to move, and from then to the end."""
    changes = [change for rank in ranks.values() for change in rank.changes()]
    if not changes:
        raise AssertionError("no rank was seen to move")
    start = max(rank.points[0].time for rank in ranks.values())
    end = min(rank.points[-1].time for rank in ranks.values())
    return (start, min(last for last, _ in changes)), (min(first for _, first in changes), end)


def remote_share(ranks, window):
    """Returns the share of all bytes in the window that left a NUMA node, by the CPUs at which both ends were seen."""
    sent = remote = 0
    for rank in ranks.values():
        for a, b in zip(rank.points, rank.points[1:]):
            if window[0] <= a.time and b.time <= window[1]:
                sent += b.sent - a.sent
                remote += (b.sent - a.sent) * (a.place() != ranks[rank.peer].place_at(a.time))
    if sent == 0:
        raise AssertionError(f"nothing was sent in {window}")
    return remote / sent


class Remap(harness.Case):
    def check(self, transport):
        # Pairs on two shared CPUs were seen to send as few as 48 messages a second and rank. With messages of 1 MiB that is traffic
        # enough to be worth a move; and 6 s are six intervals, of which up to three pass before the mapper trusts a phase.
        result = self.srun("-n4", "--cpu-bind=map_cpu:0,0,1,1", f"{harness.APPS}/partners", "-s", "6", "-b", str(1 << 20),
                           "-i", "0.1", "-w", ondeloc=OPTION + transport)
        self.assert_ran(result)
        report = self.report("r.json")
        try:
            self.check_run(result, report)
        except AssertionError:
            print("intervals:", json.dumps(report["intervals"]))
            raise

    def check_run(self, result, report):
        start, end = at_ends(result.stdout, 1), at_ends(result.stdout, 2)
        # At the start the pairs of the first half are together, so those of the second half are apart.
        old = {0: "0", 1: "0", 2: "1", 3: "1"}
        self.assertEqual({rank: cpus[0] for rank, cpus in start.items()}, old)
        self.assertEqual({rank: cpus[0] for rank, cpus in end.items()}, old, "moved without a reason")
        ranks = read_half(result.stdout, 2)
        before, after = before_and_after(ranks)
        self.assertGreaterEqual(remote_share(ranks, before), 0.9)
        self.assertLessEqual(remote_share(ranks, after), 0.1)
        new = {rank: cpus[1] for rank, cpus in end.items()}
        self.assertEqual(new[0], new[2])
        self.assertEqual(new[1], new[3])
        self.assertNotEqual(new[0], new[1])
        moved = sorted(rank for rank in range(4) if old[rank] != new[rank])
        self.assertEqual(len(moved), 2)
        for number, rank in ranks.items():
            for point, place in (rank.points[0], old), (rank.points[-1], new):
                self.assertGreater(len(point.cpus), 1, "a rank without a second thread shows nothing")
                self.assertEqual(set(point.cpus.values()), {place[number]}, "a thread has another binding")
        self.check_report(report, moved, new)

    def check_report(self, report, moved, new):
        remaps = [turn for turn in report["intervals"] if turn["remapped"]]
        self.assertEqual(len(remaps), 1)
        self.assertEqual(sorted(remaps[0]["moved"]), moved)
        # The interval in which the change falls holds traffic of both halves.
        self.assertGreaterEqual(remaps[0]["remote_share_before"], 0.5)
        self.assertLess(remaps[0]["remote_share_after"], remaps[0]["remote_share_before"])
        # The last interval may be without a message: it may begin after the last rank's last message.
        last = [turn for turn in report["intervals"] if turn["bytes"]][-1]
        self.assertLessEqual(last["remote_share_before"], 0.1)
        self.assertEqual({rank["rank"]: rank["final_cpus"] for rank in report["ranks"]}, new)
        self.assertEqual({rank["rank"]: rank["migrations"] for rank in report["ranks"]},
                         {rank: int(rank in moved) for rank in range(4)})
        self.check_intervals(report["intervals"])

    def check_intervals(self, turns):
        """Equations 1 and 2: nothing applied, times 2 up to the cap; applied, divided by 2 down to the floor. The length stays
        while the pace is not known, and begins anew where the pattern is new: for the first message, for the interval with both
        halves, and for the first one of the second half."""
        self.assertEqual(turns[0]["interval_ms"], 250)
        anew = 0
        for turn, following in zip(turns, turns[1:]):
            length = turn["interval_ms"]
            usual = max(length / 2, 250) if turn["remapped"] else length if turn["decision"] == "early" else min(length * 2, 1000)
            anew += following["interval_ms"] != usual
            self.assertIn(following["interval_ms"], (usual, 250))
        self.assertIn(anew, range(1, 4))
        lengths = [turn["interval_ms"] for turn in turns]
        self.assertIn(1000, lengths)
        self.assertTrue(any(a > b for a, b in zip(lengths, lengths[1:])), "it never shrank")

    def test_shared_memory(self):
        self.check("shm")

    def test_pmix_events(self):
        self.check("pmix")


class Slower(harness.Case):
    """A program that needs longer where the cost model sees a gain: each exchange of a moved rank takes 100 ms more."""

    def test_ranks_move_back(self):
        result = self.srun("-n4", "--cpu-bind=map_cpu:0,1,0,1", f"{harness.APPS}/partners", "-s", "8", "-b", str(1 << 20),
                           "-x", "100000", ondeloc="online,interval=100ms,max-interval=200ms,report=r.json,verbose")
        self.assert_ran(result)
        report = self.report("r.json")
        turns = [(turn["decision"], turn["moved"]) for turn in report["intervals"] if turn["remapped"]]
        decisions = [decision for decision, _ in turns]
        # If something else took the CPUs in the first intervals, the program becomes faster later: the moves then promise more than
        # twice the gain that was missed, so the mapper tries them again. The last trial may be cut short by the program's end.
        self.assertEqual(decisions[:2], ["remaps", "slower"],
                         [(turn["decision"], turn["bytes"], turn["gain"]) for turn in report["intervals"]])
        for (before, away), (decision, back) in zip(turns, turns[1:]):
            if decision == "slower":
                self.assertEqual((before, sorted(away)), ("remaps", sorted(back)))
        if decisions[-1] == "slower":
            for rank in report["ranks"]:
                self.assertEqual(rank["final_cpus"], rank["start_cpus"])
        self.assertIn(f"{decisions.count('slower')} of them back, because the program was slower", result.stderr)


class Wrapped(harness.Case):
    """A script stays the parent of the MPI process, as wrappers without exec do."""

    def test_the_mpi_process_is_moved_not_the_shell(self):
        # The program runs in the background: while it waits, the shell stays on the CPUs that Slurm gave it, unless something moves it.
        script = self.write("wrap.sh", "#!/bin/sh\n\"$@\" &\npid=$!\nwait $pid || exit 1\n"
                            "cpus=$(grep Cpus_allowed_list /proc/$$/status | cut -f2)\n"
                            "echo wrapper: rank $SLURM_PROCID shell $$ on CPUs $cpus started $pid\n")
        result = self.srun("-n4", "--cpu-bind=map_cpu:0,1,0,1", script, f"{harness.APPS}/partners", "-s", "3",
                           ondeloc="online,interval=100ms,max-interval=200ms,decide=always,report=r.json")
        self.assert_ran(result)
        shells = {int(m[1]): m for m in re.finditer(r"wrapper: rank (\d) shell (\d+) on CPUs (\S+) started (\d+)",
                                                    result.stdout)}
        slurms = {rank: str(rank % 2) for rank in range(4)}
        self.assertEqual({rank: m[3] for rank, m in shells.items()}, slurms)
        ranks = {rank["rank"]: rank for rank in self.report("r.json")["ranks"]}
        self.assertEqual({rank: str(line["pid"]) for rank, line in ranks.items()},
                         {rank: m[4] for rank, m in shells.items()})
        ends = {rank: cpus[1] for rank, cpus in at_ends(result.stdout, 1).items()}
        self.assertNotEqual(ends, slurms, "no MPI process was moved")
        self.assertEqual(ends[0], ends[1])
        self.assertEqual(ends[2], ends[3])


if __name__ == "__main__":
    harness.main()
