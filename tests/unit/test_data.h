// SPDX-License-Identifier: Apache-2.0
// The folder tests/data of the source tree. One function knows its path, so that the compiler's
// output for every test is the same in all checkouts and ccache can share it.
#pragma once

#include <string>

const std::string& test_data();
