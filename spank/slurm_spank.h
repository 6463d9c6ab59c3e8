// SPDX-License-Identifier: Apache-2.0
// The one place that includes spank.h. It declares the callbacks before its own extern "C" block,
// so without this wrapping C++ definitions of them would conflict or be mangled.
#pragma once

extern "C" {
#include <slurm/slurm.h>
#include <slurm/spank.h>
}
