// SPDX-License-Identifier: Apache-2.0
// A program without MPI that uses such a library: linked with it, or as Python loads what it
// imports.
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
