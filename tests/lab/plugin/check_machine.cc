// SPDX-License-Identifier: MIT
// check_machine FILE: says in one sentence why FILE describes no machine that the plugin accepts.
// run-lab asks it before it boots a guest.
#include <cstdio>
#include <exception>

#include "tests/lab/plugin/machine.h"
#include "tests/lab/plugin/routes.h"

int main(int count, char** words) {
  if (count != 2) {
    std::fputs("usage: check_machine FILE\n", stderr);
    return 2;
  }
  try {
    numalab::Routes{numalab::read_machine(words[1])};
    return 0;
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "%s\n", problem.what());
    return 1;
  }
}
