// SPDX-License-Identifier: Apache-2.0
// Finds what a recording of threads needs: the program, QEMU and the plugin. Errors: one sentence
// that says what to do. Thread safety: any thread.
#pragma once

#include <string>

#include "mapcore/base/result.h"

namespace ondeloc {

// The path of a program as execvp(3) would find it. Errors: it does not exist, is not executable,
// or is not an ELF program of x86-64, such as a script.
Result<std::string> find_program(const std::string& name);

// QEMU's emulation of x86-64 programs.
Result<std::string> find_emulator();

// The plugin beside this program: ../lib/ondeloc as installed, or the same folder in a build.
Result<std::string> find_threads_plugin();

}  // namespace ondeloc
