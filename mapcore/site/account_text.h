// SPDX-License-Identifier: Apache-2.0
// The account of a site for people, and for other programs: JSON, the text file of Prometheus'
// node_exporter, and Influx's line protocol as ClusterCockpit reads it (metric "value", tags
// hostname, type and type-id, seconds since 1970; cc-specifications, interfaces/lineprotocol). All
// show the numbers of site_metrics() under their names there. Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "mapcore/site/account.h"
#include "mapcore/site/read_directory.h"

namespace ondeloc {

using UserName = std::function<std::string(uid_t)>;  // the number as text if there is no name

struct SiteView {
  const SiteFiles& files;
  const SiteAccount& account;
  UserName user;
  std::string cluster;         // tag of Influx; empty: none
  std::size_t most_rows = 20;  // of each table
};

std::string site_text(const SiteView& view);
std::string site_json(const SiteView& view);
std::string site_prometheus(const SiteView& view);
std::string site_influx(const SiteView& view);

}  // namespace ondeloc
