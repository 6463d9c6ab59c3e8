// SPDX-License-Identifier: Apache-2.0
// The only file that includes spank.h. spank.h declares the callbacks before its own extern "C"
// block, so without this wrapping their definitions in C++ would conflict or be mangled.
#pragma once

extern "C" {
#include <slurm/slurm.h>
#include <slurm/spank.h>
}
