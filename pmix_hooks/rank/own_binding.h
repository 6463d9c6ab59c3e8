// SPDX-License-Identifier: Apache-2.0
// Keeps the MPI library and PSM2 from binding a process that ondeloc moves. Only this process gets
// the setting: a variable in the task's environment would also reach mpirun and its ranks.
// Thread safety: as setenv(3): MPI_Init itself changes the environment.
#pragma once

namespace ondeloc {

// While it lives, the environment forbids the binding, unless the user has set the same variable.
class OwnBindingForbidden {
 public:
  explicit OwnBindingForbidden(bool wanted);
  ~OwnBindingForbidden();
  OwnBindingForbidden(const OwnBindingForbidden&) = delete;
  OwnBindingForbidden& operator=(const OwnBindingForbidden&) = delete;

 private:
  static constexpr int kVariables = 2;
  bool ours_[kVariables];
};

// The memory policy of the calling thread names NUMA nodes that pages are to come from (bind or
// preferred; not interleave).
bool is_bound_to_memory();

}  // namespace ondeloc
