# SPDX-License-Identifier: Apache-2.0
"""ondeloc top beside a running step: once for a script, live in a terminal (tmux), and for another user, who sees nothing."""
import json
import os
import re
import subprocess

import harness

ONDELOC = f"{harness.STAGE}/bin/ondeloc"
OPTION = "online,interval=250ms,max-interval=500ms"
NOBODY = 65534


class Top(harness.Case):
    def setUp(self):
        super().setUp()
        self.step = self.start_srun("-n4", f"{harness.APPS}/partners", "-s", "20", ondeloc=OPTION)
        self.assertTrue(harness.wait_for(lambda: any(len(step["decisions"]) > 1 for step in self.once()), 60), self.once())

    def tearDown(self):
        self.step.terminate()
        self.step.communicate(timeout=harness.LONG)
        super().tearDown()

    def once(self, *words):
        result = self.run_user(ONDELOC, "top", *words, "--once", "-f", "json")
        self.assert_ran(result)
        return json.loads(result.stdout)

    def test_once(self):
        def bytes_of(step):
            return sum(level["bytes_after"] for level in step["domains"])

        self.assertTrue(harness.wait_for(lambda: bytes_of(self.once()[0]) > 0, 10), self.once())
        step, = self.once()
        self.assertEqual([rank["rank"] for rank in step["ranks"]], [0, 1, 2, 3])
        self.assertEqual(sorted({rank for node in step["numa"] for rank in node["ranks"]}), [0, 1, 2, 3])
        self.assertEqual(step["program"], "partners")
        self.assertTrue(all(node["busy"] is None or 0 <= node["busy"] <= 1 for node in step["numa"]))
        name = f"{step['job']}.{step['step']}"
        self.assertEqual(len(self.once(name)), 1)
        unknown = self.run_user(ONDELOC, "top", str(step["job"] + 1), "--once", "-f", "json")
        self.assertEqual((unknown.returncode, unknown.stdout), (1, ""), unknown.stderr)
        self.assertIn(f"no step of job {step['job'] + 1} runs here", unknown.stderr)

    def test_another_user_sees_nothing(self):
        result = subprocess.run([ONDELOC, "top", "--once", "-f", "json"], user=NOBODY, group=NOBODY, extra_groups=[],
                                env={"PATH": "/usr/bin:/bin"}, cwd="/", capture_output=True, text=True, timeout=harness.LONG, check=True)
        self.assertEqual(json.loads(result.stdout), [])

    def test_in_a_terminal(self):
        for key in "q", "C-c":
            with self.subTest(key=key):
                self.check_terminal(key)

    def check_terminal(self, key):
        socket = os.path.join(self.dir, "tmux-" + key)

        def tmux(*words):
            result = self.run_user("tmux", "-f", "/dev/null", "-S", socket, *words, env={"LC_ALL": "C.UTF-8", "TERM": "xterm"})
            self.assert_ran(result)
            return result.stdout

        def shows(pattern):
            return re.search(pattern, tmux("capture-pane", "-p"), re.MULTILINE)

        tmux("new-session", "-d", "-x", "100", "-y", "40", f"{ONDELOC} top -d 500ms; echo ended with $?; read line")
        try:
            self.assertTrue(harness.wait_for(lambda: shows(r"^job \d+ step \d+ on .*4 ranks"), 30), tmux("capture-pane", "-p"))
            self.assertTrue(harness.wait_for(lambda: shows(r"^NUMA node +CPUs +busy +ranks"), 30), tmux("capture-pane", "-p"))
            tmux("resize-window", "-x", "60", "-y", "8")
            self.assertTrue(harness.wait_for(lambda: len(tmux("capture-pane", "-p").splitlines()) == 8 and shows(r"^q: end"), 30),
                            tmux("capture-pane", "-p"))
            tmux("send-keys", "NPage")
            self.assertTrue(harness.wait_for(lambda: not shows(r"^job "), 30), tmux("capture-pane", "-p"))
            tmux("send-keys", key)
            self.assertTrue(harness.wait_for(lambda: shows(r"^ended with 0"), 30), tmux("capture-pane", "-p"))
        finally:
            tmux("kill-server")


if __name__ == "__main__":
    harness.main()
