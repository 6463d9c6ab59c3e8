// SPDX-License-Identifier: MIT
// lab_control label N | distance 0|1 | on | off | mark | dump TAG: one trigger from the command
// line.
#include <stdio.h>
#include <stdlib.h>

#include "trigger.h"

static int usage(void) {
  fputs("usage: lab_control label N | distance 0|1 | on | off | mark | dump TAG\n", stderr);
  return 2;
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  const unsigned value = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
  if (!strcmp(what, "label") && argc == 3) {
    for (int shift = 16; shift >= 0; shift -= 8) lab_trigger(LAB_LABEL, value >> shift & 0xff);
    return 0;
  }
  if (!strcmp(what, "distance") && argc == 3) return lab_trigger(LAB_DISTANCE, value != 0);
  if (!strcmp(what, "dump") && argc == 3) return lab_trigger(LAB_DUMP, value & 0xff);
  if (!strcmp(what, "on")) return lab_trigger(LAB_ON, 0);
  if (!strcmp(what, "off")) return lab_trigger(LAB_OFF, 0);
  if (!strcmp(what, "mark")) return lab_trigger(LAB_MARK, 0);
  return usage();
}
