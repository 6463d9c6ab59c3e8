// SPDX-License-Identifier: MIT
// Many mappings in one launch: the launch of a step takes the host far longer than the program's
// simulated part. LAB_BATCH names a file with a line "LABEL CPU CPU ..." for each mapping, one CPU
// a rank. The program's main is called once for each; before, each rank goes to its CPU and takes
// all its memory, and its part of the memory that ranks share, along: as if it had started there.
#pragma once
#include <stdbool.h>

bool batch_take(int rank);  // goes to the next mapping of the batch; true for the first
bool batch_is_last(void);   // also without a batch
void batch_label(void);     // tells the lab the label
