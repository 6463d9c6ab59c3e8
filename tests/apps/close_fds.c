/* SPDX-License-Identifier: Apache-2.0
 * close_fds PROGRAM [ARGUMENT...]: closes every descriptor but 0, 1 and 2 and becomes PROGRAM, as
 * some wrappers and container runtimes do. Descriptors that PMIx or the launcher need by number
 * are not spared either; Slurm's PMIx connects by address. */
#define _GNU_SOURCE
#include <stdio.h>
#include <unistd.h>

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  for (int fd = 3; fd < 4096; ++fd) close(fd);
  execvp(argv[1], argv + 1);
  perror(argv[1]);
  return 127;
}
