/* SPDX-License-Identifier: Apache-2.0
 * A program without MPI that asks for the error of the dynamic loader before it has made one. */
#include <dlfcn.h>
#include <stdio.h>

int main(void) {
  const char* error = dlerror();
  printf("%s\n", error == NULL ? "no error" : error);
  return 0;
}
