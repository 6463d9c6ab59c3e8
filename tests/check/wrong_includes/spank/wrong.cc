// SPDX-License-Identifier: Apache-2.0
// Not compiled: what tests/check/includes has to refuse.
#include <hwloc.h>
#include "mapcore/map/algorithm.h"
