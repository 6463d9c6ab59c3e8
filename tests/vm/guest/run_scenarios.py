# SPDX-License-Identifier: Apache-2.0
"""run_scenarios.py RESULTS SHAPE [NAME...]: runs the scenarios that are for this machine shape (or those named) and writes
PASS or FAIL lines and at last END to RESULTS/summary."""
import importlib
import pathlib
import sys
import time
import traceback

import harness


def main():
    results, shape, *names = sys.argv[1:]
    for module in sorted(pathlib.Path(__file__).parent.glob("scenarios/*.py")):
        importlib.import_module(f"scenarios.{module.stem}")
    harness.numa_of_cpus()
    unknown = set(names) - {name for name, _, _ in harness.SCENARIOS}
    with open(f"{results}/summary", "w") as summary:
        def tell(line):
            for out in (summary, sys.stdout):
                print(line, file=out, flush=True)
        for name in unknown:
            tell(f"FAIL {name}: no such scenario")
        for name, shapes, function in harness.SCENARIOS:
            if name not in names if names else not {shape, "all"} & set(shapes):
                continue
            begin = time.monotonic()
            try:
                said = function()
                harness.step_clean()
                tell(f"PASS {name} ({time.monotonic() - begin:.1f} s){': ' + said if said else ''}")
            except Exception as error:  # if one scenario fails, the others still run
                known = isinstance(error, harness.Failed)
                tell(f"FAIL {name} ({time.monotonic() - begin:.1f} s): {error if known else traceback.format_exc()}")
        tell("END")


main()
