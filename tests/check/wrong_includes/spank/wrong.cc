// SPDX-License-Identifier: Apache-2.0
// Not compiled: tests/check/includes has to refuse it.
#include <hwloc.h>
#include "mapcore/map/algorithm.h"
