// SPDX-License-Identifier: Apache-2.0
// two_mpis first|last: a program that loads, as Python does, a module with MPI and a solver with
// the MPI of a sequential build. The solver works first, or while MPI is in use.
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static int call(void *library, const char *name) {
  int (*function)(void) = (int (*)(void))dlsym(library, name);
  if (function == NULL) return fprintf(stderr, "no %s\n", name), 1;
  const int rc = function();
  fflush(stdout);
  return rc;
}

int main(int argc, char **argv) {
  void *module = dlopen(MODULE, RTLD_NOW | RTLD_LOCAL),
       *solver = dlopen(SOLVER, RTLD_NOW | RTLD_LOCAL);
  if (argc != 2 || module == NULL || solver == NULL) return fprintf(stderr, "%s\n", dlerror()), 1;
  const int first = strcmp(argv[1], "first") == 0;
  return (first && call(solver, "solve")) || call(module, "begin") ||
         (!first && call(solver, "solve")) || call(module, "use") || call(module, "end");
}
