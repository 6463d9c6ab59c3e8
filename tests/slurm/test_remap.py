# SPDX-License-Identifier: Apache-2.0
"""Ranks that change their partners half-way are brought together again while they run.

Four ranks on two NUMA nodes of one CPU each. What crosses the nodes is computed from the program's own counters and from
where its threads may run, which it reads in /proc; the report of ondeloc is compared with both.
"""
import re

import harness

OPTION = "online,interval=250ms,max-interval=1s,report=r.json,transport="
PROGRESS = re.compile(r"partners: rank (\d+) at (\S+) half (\d) sent to rank (\d+): (\d+) bytes so far")
THREAD = re.compile(r"partners: rank (\d+) at (\S+) thread (\d+) may run on CPUs (\S+)")
FIRST = re.compile(r"partners: rank (\d+) half (\d) first on CPUs (\S+) last on CPUs (\S+)")


class Rank:
    """What one rank printed of one half: (bytes so far, CPUs of all its threads), in order."""

    def __init__(self):
        self.peer = None
        self.points = []


def read_half(output, half):
    ranks = {rank: Rank() for rank in range(4)}
    current = {}
    for line in output.splitlines():
        if match := PROGRESS.match(line):
            rank = int(match[1])
            current[rank] = int(match[3]) == half
            if current[rank]:
                ranks[rank].peer = int(match[4])
                ranks[rank].points.append((int(match[5]), set()))
        elif (match := THREAD.match(line)) and current.get(int(match[1])):
            ranks[int(match[1])].points[-1][1].add(match[4])
    return ranks


def at_ends(output, half):
    """{rank: (CPUs at the start of the half, at its end)}"""
    return {int(m[1]): (m[3], m[4]) for m in FIRST.finditer(output) if int(m[2]) == half}


def remote_share(ranks, place):
    """Of the bytes that ranks sent while all their threads stood where `place` ({rank: CPUs}) says: what left the node."""
    sent = remote = 0
    for number, rank in ranks.items():
        for (before, cpus_before), (after, cpus_after) in zip(rank.points, rank.points[1:]):
            if cpus_before == cpus_after == {place[number]}:
                sent += after - before
                remote += (after - before) * (place[number] != place[rank.peer])
    return remote / sent if sent else None


class Remap(harness.Case):
    def check(self, transport):
        result = self.srun("-n4", "--cpu-bind=map_cpu:0,0,1,1", f"{harness.APPS}/partners", "-s", "4",
                           "-i", "0.1", "-w", ondeloc=OPTION + transport)
        self.assert_ran(result)
        start, end = at_ends(result.stdout, 1), at_ends(result.stdout, 2)
        # The start: pairs of the first half together, so the second half's are apart.
        old = {0: "0", 1: "0", 2: "1", 3: "1"}
        self.assertEqual({rank: cpus[0] for rank, cpus in start.items()}, old)
        self.assertEqual({rank: cpus[0] for rank, cpus in end.items()}, old, "moved without a reason")
        new = {rank: cpus[1] for rank, cpus in end.items()}
        self.assertEqual(new[0], new[2])
        self.assertEqual(new[1], new[3])
        self.assertNotEqual(new[0], new[1])
        moved = sorted(rank for rank in range(4) if old[rank] != new[rank])
        self.assertEqual(len(moved), 2)
        ranks = read_half(result.stdout, 2)
        self.assertGreaterEqual(remote_share(ranks, old), 0.9)
        self.assertLessEqual(remote_share({rank: ranks[rank] for rank in moved}, new), 0.1)
        for number in moved:
            self.assertEqual(ranks[number].points[-1][1], {new[number]}, "a thread stayed behind")
        self.check_report(self.report("r.json"), moved, new)

    def check_report(self, report, moved, new):
        remaps = [turn for turn in report["intervals"] if turn["remapped"]]
        self.assertEqual(len(remaps), 1)
        self.assertEqual(sorted(remaps[0]["moved"]), moved)
        # The interval in which the change falls holds traffic of both halves.
        self.assertGreaterEqual(remaps[0]["remote_share_before"], 0.5)
        self.assertLess(remaps[0]["remote_share_after"], remaps[0]["remote_share_before"])
        self.assertLessEqual(report["intervals"][-1]["remote_share_before"], 0.1)
        self.assertEqual({rank["rank"]: rank["final_cpus"] for rank in report["ranks"]}, new)
        self.assertEqual({rank["rank"]: rank["migrations"] for rank in report["ranks"]},
                         {rank: int(rank in moved) for rank in range(4)})
        self.check_intervals(report["intervals"])

    def check_intervals(self, turns):
        """Equations 1 and 2: nothing applied, times 2 up to the cap; applied, divided by 2 down to the floor."""
        self.assertEqual(turns[0]["interval_ms"], 250)
        for turn, following in zip(turns, turns[1:]):
            length = turn["interval_ms"]
            expected = max(length / 2, 250) if turn["remapped"] else min(length * 2, 1000)
            self.assertEqual(following["interval_ms"], expected)
        lengths = [turn["interval_ms"] for turn in turns]
        self.assertIn(1000, lengths)
        self.assertTrue(any(a > b for a, b in zip(lengths, lengths[1:])), "it never shrank")

    def test_shared_memory(self):
        self.check("shm")

    def test_pmix_events(self):
        self.check("pmix")


if __name__ == "__main__":
    harness.main()
