/* SPDX-License-Identifier: Apache-2.0
 * The collectives of collectives_truth. */
#ifndef ONDELOC_TESTS_APPS_MPICH_CASES_H
#define ONDELOC_TESTS_APPS_MPICH_CASES_H

enum truth_kind {
  kBarrier,
  kBcast,
  kReduce,
  kAllreduce,
  kScan,
  kExscan,
  kReduceScatter,
  kReduceScatterBlock,
  kGather,
  kGatherv,
  kScatter,
  kScatterv,
  kAllgather,
  kAllgatherv,
  kAlltoall,
  kAlltoallv,
  kAlltoallw,
  kNeighborAllgather,
  kNeighborAllgatherv,
  kNeighborAlltoall,
  kNeighborAlltoallv,
  kNeighborAlltoallw
};
enum truth_comm { kWorld, kReversedHalf, kRing, kGraph, kBetween };
enum truth_op { kSum, kOwnSum, kOwnInOrder };

struct truth_case {
  const char* name;
  enum truth_kind kind;
  enum truth_comm comm;
  int root; /* counted from the end, if negative */
  enum truth_op op;
  int in_place;
};

extern const char* const truth_forms[3]; /* blocking, started, persistent */
extern const struct truth_case truth_cases[];
extern const int truth_case_count;

void truth_setup(void);
void truth_cleanup(void);
void truth_prepare(const struct truth_case* one, int bytes, int form);
void truth_run(void); /* the call and what completes it */
void truth_finish(void);

#endif
