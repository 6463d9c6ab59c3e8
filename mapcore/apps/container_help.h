// SPDX-License-Identifier: Apache-2.0
// ondeloc site --containers: the parts of a task that a container has to pass on, with the paths of
// this installation, and a command line for each container runtime.
// Thread safety: a pure function, but for the environment. Errors: none; an unknown path is named
// in words.
#pragma once

#include <string>

namespace ondeloc::cli {

struct ContainerPaths {
  std::string library;  // of the rank library, on the node
  std::string spool;    // of slurmd; empty: unknown
};

// Inside a step these are the paths that the step uses, elsewhere those of the installation.
ContainerPaths container_paths();

std::string container_help(const ContainerPaths& paths);

}  // namespace ondeloc::cli
