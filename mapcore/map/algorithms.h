// SPDX-License-Identifier: Apache-2.0
// The functions behind the table in algorithm.cc. Contracts: MapFunction and CheckFunction in
// algorithm.h; what each does and where it comes from stands at the head of its own file.
#pragma once

#include "mapcore/map/algorithm.h"

namespace ondeloc {

Status check_no_argument(std::string_view argument);
Status check_seed(std::string_view argument);
Status check_ondeloc(std::string_view argument);

Result<Mapping> map_identity(const MapRequest& request, std::string_view argument);
Result<Mapping> map_packed(const MapRequest& request, std::string_view argument);
Result<Mapping> map_scatter(const MapRequest& request, std::string_view argument);
Result<Mapping> map_random(const MapRequest& request, std::string_view argument);
Result<Mapping> map_ondeloc(const MapRequest& request, std::string_view argument);

}  // namespace ondeloc
