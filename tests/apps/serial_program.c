// SPDX-License-Identifier: Apache-2.0
// A program without MPI that uses serial_solver: linked with it, or loaded as Python loads modules.
#ifdef SOLVER
#include <dlfcn.h>
#include <stdio.h>

int main(void) {
  void *library = dlopen(SOLVER, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return fprintf(stderr, "%s\n", dlerror()), 1;
  int (*solve)(void) = (int (*)(void))dlsym(library, "solve");
  return solve == NULL || solve();
}
#else
int solve(void);
int main(void) { return solve(); }
#endif
