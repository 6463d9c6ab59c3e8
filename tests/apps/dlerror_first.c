/* SPDX-License-Identifier: Apache-2.0
 * A program without MPI that asks for the dynamic loader's last error before it has caused one. */
#include <dlfcn.h>
#include <stdio.h>

int main(void) {
  const char* error = dlerror();
  printf("%s\n", error == NULL ? "no error" : error);
  return 0;
}
