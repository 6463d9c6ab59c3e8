// SPDX-License-Identifier: Apache-2.0
#include "mapcore/options/options.h"
