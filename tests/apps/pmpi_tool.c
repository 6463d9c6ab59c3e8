/* SPDX-License-Identifier: Apache-2.0
 * A user's own profiling tool, preloaded beside ours: counts calls of the program and writes them
 * to PMPI_TOOL_OUT.<rank> as "sends starts startalls requests finalizes". Prints the variables that
 * PMPI_TOOL_SHOW names, separated by commas, as MPI_Init finds them. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long sends, starts, startalls, requests;

static void show(void) {
  char names[256] = "";
  const char* wanted = getenv("PMPI_TOOL_SHOW");
  if (wanted != NULL) snprintf(names, sizeof(names), "%s", wanted);
  for (char* name = strtok(names, ","); name != NULL; name = strtok(NULL, ",")) {
    const char* value = getenv(name);
    fprintf(stderr, "pmpi_tool: %s is %s\n", name, value == NULL ? "unset" : value);
  }
}

int MPI_Init(int* argc, char*** argv) {
  show();
  return PMPI_Init(argc, argv);
}

int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  show();
  return PMPI_Init_thread(argc, argv, required, provided);
}

int MPI_Send(const void* b, int n, MPI_Datatype t, int d, int tag, MPI_Comm c) {
  ++sends;
  return PMPI_Send(b, n, t, d, tag, c);
}

int MPI_Start(MPI_Request* r) {
  ++starts;
  return PMPI_Start(r);
}

int MPI_Startall(int n, MPI_Request* r) {
  ++startalls;
  requests += n;
  return PMPI_Startall(n, r);
}

int MPI_Finalize(void) {
  const char* prefix = getenv("PMPI_TOOL_OUT");
  char path[4096];
  int rank;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (prefix != NULL) {
    snprintf(path, sizeof(path), "%s.%d", prefix, rank);
    FILE* out = fopen(path, "w");
    if (out != NULL) {
      fprintf(out, "%ld %ld %ld %ld 1\n", sends, starts, startalls, requests);
      fclose(out);
    }
  }
  return PMPI_Finalize();
}
