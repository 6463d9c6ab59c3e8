// SPDX-License-Identifier: Apache-2.0
// The functions of the algorithm table. MapFunction in algorithm.h states their contract. The head
// of each algorithm's file describes the algorithm and names its source.
#pragma once

#include "mapcore/map/algorithm.h"

namespace ondeloc {

Result<Mapping> map_identity(const MapRequest& request, std::string_view argument);
Result<Mapping> map_packed(const MapRequest& request, std::string_view argument);
Result<Mapping> map_scatter(const MapRequest& request, std::string_view argument);
Result<Mapping> map_random(const MapRequest& request, std::string_view argument);
Result<Mapping> map_ondeloc(const MapRequest& request, std::string_view argument);
Result<Mapping> map_deloc(const MapRequest& request, std::string_view argument);
Result<Mapping> map_balance(const MapRequest& request, std::string_view argument);
Result<Mapping> map_locality(const MapRequest& request, std::string_view argument);
Result<Mapping> map_lama(const MapRequest& request, std::string_view argument);
Result<Mapping> map_coordinated(const MapRequest& request, std::string_view argument);

}  // namespace ondeloc
