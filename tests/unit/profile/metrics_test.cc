// SPDX-License-Identifier: Apache-2.0
// Golden values by the direct formula: the events of a CSV file in plain dense loops, nothing
// shared with the library.
#include "mapcore/profile/metrics.h"

#include <fmt/format.h>

#include <map>
#include <numeric>
#include <set>

#include "mapcore/profile/classify.h"
#include "mapcore/profile/window_matrix.h"
#include "tests/unit/profile/csv_rows.h"
#include "tests/unit/profile/profile_fixture.h"
#include "tests/unit/test_data.h"

using namespace ondeloc;

namespace {

using Dense = std::vector<std::vector<double>>;

Dense symmetric(const std::vector<Row>& rows) {
  Dense s(32, std::vector<double>(32));
  for (const Row& r : rows) {
    if (r.src == r.dst) continue;
    s[static_cast<std::size_t>(r.src)][static_cast<std::size_t>(r.dst)] +=
        static_cast<double>(r.bytes);
    s[static_cast<std::size_t>(r.dst)][static_cast<std::size_t>(r.src)] +=
        static_cast<double>(r.bytes);
  }
  return s;
}

double golden_lcomm(const Dense& s) {
  double sum = 0;
  for (const auto& row : s) sum = std::accumulate(row.begin(), row.end(), sum);
  return sum;
}

double golden_locality(Dense s) {
  double most = 0, sum = 0;
  for (const auto& row : s) most = std::max(most, *std::max_element(row.begin(), row.end()));
  for (auto& row : s) {
    for (double& cell : row) cell /= most;
    const double mean = std::accumulate(row.begin(), row.end(), 0.0) / 32;
    double variance = 0;
    for (const double cell : row) variance += (cell - mean) * (cell - mean) / 32;
    sum += variance;
  }
  return sum / 32;
}

// {changes, comparisons}
std::pair<std::uint64_t, std::uint64_t> golden_dynamic(const std::vector<Row>& rows,
                                                       long interval_us) {
  std::map<long, Dense> parts;
  const long last = rows.back().time / interval_us;
  for (long i = 0; i <= last; ++i) {
    std::vector<Row> part;
    for (const Row& r : rows)
      if (r.time / interval_us == i) part.push_back(r);
    parts[i] = symmetric(part);
  }
  std::vector<std::vector<int>> order;
  for (const auto& [i, s] : parts) {
    if (golden_lcomm(s) == 0) continue;  // silent: it has no order
    std::vector<std::pair<double, int>> amount;
    for (int t = 0; t < 32; ++t) {
      const auto& row = s[static_cast<std::size_t>(t)];
      amount.emplace_back(-std::accumulate(row.begin(), row.end(), 0.0), t);
    }
    std::sort(amount.begin(), amount.end());
    order.emplace_back();
    for (const auto& [bytes, task] : amount) order.back().push_back(task);
  }
  std::uint64_t changes = 0;
  for (std::size_t i = 0; i + 1 < order.size(); ++i) changes += order[i] != order[i + 1] ? 1 : 0;
  return {changes, order.size() - 1};
}

// TaskN from the rows whose time lies in a cluster.
double golden_concurrency(const std::vector<Row>& rows, const Clusters& clusters) {
  double tasks = 0;
  for (const Cluster& cluster : clusters.clusters) {
    std::set<long> seen;
    for (const Row& r : rows) {
      if (r.src != r.dst && cluster.time.contains(static_cast<std::uint64_t>(r.time) * 1000))
        seen.insert({r.src, r.dst});
    }
    tasks += static_cast<double>(seen.size());
  }
  return tasks / (32.0 * static_cast<double>(clusters.clusters.size()));
}

struct Measured {
  Metrics metrics;
  Clusters clusters;
};

Measured measure(ProfileReader& reader, const MetricOptions& options = {}) {
  auto clusters = find_clusters(reader, options.clusters);
  REQUIRE(clusters.ok());
  const auto metrics = compute_metrics(reader, *clusters, options);
  REQUIRE(metrics.ok());
  return {*metrics, std::move(*clusters)};
}

}  // namespace

TEST_CASE("metrics of NPB are those of the direct formulas") {
  const TempDir dir;
  for (const char* app : {"ep", "ft", "is", "mg"}) {
    ProfileReader reader = open_npb(dir, app);
    const std::vector<Row> rows = csv_rows(app);
    const Dense s = symmetric(rows);
    const Measured m = measure(reader);
    CHECK(m.metrics.lcomm == golden_lcomm(s));
    CHECK(m.metrics.comm_loc == Approx(golden_locality(s)).epsilon(1e-12));
    CHECK(std::pair(m.metrics.comm_dyn, m.metrics.compared) == golden_dynamic(rows, 1'000'000));
    CHECK(m.metrics.comm_c == Approx(golden_concurrency(rows, m.clusters)).epsilon(1e-12));
    CHECK(!m.metrics.comm_r);
    CHECK(!m.metrics.dram_r);
    MetricOptions half;
    half.interval_ns = 500'000'000;
    const Metrics finer = measure(reader, half).metrics;
    CHECK(std::pair(finer.comm_dyn, finer.compared) == golden_dynamic(rows, 500'000));
  }
}

TEST_CASE("metrics order the applications as published") {
  const TempDir dir;
  std::map<std::string, Metrics> of;
  for (const char* app : {"ep", "ft", "is", "mg"}) {
    ProfileReader reader = open_npb(dir, app);
    of[app] = measure(reader).metrics;
  }
  CHECK(of["is"].comm_dyn < of["ft"].comm_dyn);
  CHECK(of["mg"].comm_dyn < of["ft"].comm_dyn);
  for (const char* app :
       {"bt.A.25", "cg.A.32", "ft.A.32", "is.A.32", "lu.A.32", "mg.A.32", "sp.A.25"}) {
    std::ifstream in(test_data() + "/npb/" + app + "/bytes.mat");
    const double total = std::accumulate(std::istream_iterator<double>(in), {}, 0.0);
    CHECK(total > 0);
    CHECK(of["ep"].lcomm < 2 * total);
  }
  CHECK(classify(of["ep"]).kind == MappingClass::kNonMapping);
  CHECK(classify(of["ft"]).published == MappingClass::kDynamic);
  CHECK(classify(of["ft"]).kind == MappingClass::kStatic);  // the same all-to-all all the time
  CHECK(classify(of["is"]).kind == MappingClass::kStatic);
  CHECK(classify(of["mg"]).kind == MappingClass::kStatic);
  // One second holds all of IS: no intervals were compared, and the answer says so.
  CHECK(of["is"].compared < 2);
  CHECK(classify(of["is"]).dynamics_unknown);
  CHECK(classify(of["is"]).reason.find("use shorter intervals (-i)") != std::string::npos);
  CHECK(!classify(of["ft"]).dynamics_unknown);
  CHECK(classify(of["ft"]).reason.find(
            fmt::format("changed in {} of {} comparisons", of["ft"].comm_dyn, of["ft"].compared)) !=
        std::string::npos);
}

TEST_CASE("EP talks at its start and end, IS in separate bursts") {
  const TempDir dir;
  ProfileReader ep = open_npb(dir, "ep");
  const Clusters two = *find_clusters(ep);
  REQUIRE(two.clusters.size() == 2);
  CHECK(two.clusters[0].time.from_ns == 0);
  CHECK(two.clusters[0].time.to_ns < 200'000'000);
  CHECK(two.clusters[1].time.from_ns > 2'800'000'000);
  CHECK(two.clusters[0].messages + two.clusters[1].messages == ep.events());
  ProfileReader is = open_npb(dir, "is");
  const Clusters bursts = *find_clusters(is);
  CHECK(bursts.clusters.size() >= 11);  // one full-sized burst per iteration, 10 of them and more
  CHECK(std::count_if(bursts.clusters.begin(), bursts.clusters.end(), [](const Cluster& c) {
          return c.messages > 1400 && c.messages < 1550;
        }) >= 10);
}

TEST_CASE("memory volumes give CommR and DramR, and the decision tree its first question") {
  const TempDir dir;
  ProfileReader reader = open_npb(dir, "ft");
  MetricOptions options;
  double accessed = 0, dram = 0;
  for (std::uint32_t r = 0; r < 32; ++r) {
    options.memory.push_back({r, 1'000'000'000 + 7'000'000ULL * r, true, 500'000ULL * r * r});
    accessed += static_cast<double>(options.memory.back().accessed);
    dram += static_cast<double>(options.memory.back().dram);
  }
  const Metrics m = measure(reader, options).metrics;
  CHECK(m.comm_r.value() == Approx(m.lcomm / accessed));
  CHECK(m.dram_r.value() == Approx(dram / accessed));
  CHECK(!classify(m).from_load);
  Thresholds high;
  high.comm_r = 1;
  CHECK(classify(m, high).kind != MappingClass::kNonMapping);  // DramR alone is reason enough
  high.dram_r = 1;
  CHECK(classify(m, high).kind == MappingClass::kNonMapping);
  options.memory.pop_back();  // one rank unknown: nothing is claimed
  CHECK(!measure(reader, options).metrics.comm_r);
}

TEST_CASE("the load of a run is by its own length, not by the interval of CommDyn") {
  const TempDir dir;
  const auto load_of = [&](std::uint64_t length_ns, std::uint64_t bytes,
                           std::uint64_t interval_ns) {
    auto reader = ProfileReader::open(
        write_profile(dir, 2, {{0, 0, 1, bytes}, {length_ns - 1, 1, 0, bytes}}));
    MetricOptions options;
    options.interval_ns = interval_ns;
    return classify(measure(*reader, options).metrics);
  };
  for (const std::uint64_t interval : {1'000'000ULL, 1'000'000'000ULL, 100'000'000'000ULL}) {
    const Classification busy = load_of(80'000'000, 80'000, interval);  // 2 MB/s of each rank
    CAPTURE(interval, busy.reason);
    CHECK(busy.kind == MappingClass::kStatic);
    CHECK(busy.reason.find("Lcomm is 2 MB/s per task") != std::string::npos);
  }
  const Classification moment = load_of(1000, 100, 1'000'000'000);  // 100 MB/s for 1 us
  CAPTURE(moment.reason);
  CHECK(moment.kind == MappingClass::kNonMapping);
  CHECK(moment.reason.find("Lcomm is 200 kB/s per task") != std::string::npos);
}

TEST_CASE("a steady program is static, one that changes partners is dynamic") {
  const TempDir dir;
  std::vector<ProfileEvent> events;
  for (std::uint64_t t = 0; t < 8'000; ++t) {
    const std::uint32_t heavy = static_cast<std::uint32_t>(t / 1000 % 2) * 2;
    events.push_back({t * 1'000'000, heavy, heavy + 1, 1'000'000});
    events.push_back({t * 1'000'000 + 1, 3 - heavy, 2 - heavy, 10});
  }
  auto reader = ProfileReader::open(write_profile(dir, 4, events));
  const Metrics m = measure(*reader).metrics;
  CHECK(m.comm_dyn == 7);
  CHECK(classify(m).kind == MappingClass::kDynamic);
  CHECK(classify(m).advice.find("online") != std::string::npos);
  for (ProfileEvent& e : events) {
    e.src &= 1U;
    e.dst = 1 - e.src;
  }
  auto steady = ProfileReader::open(write_profile(dir, 4, events));
  CHECK(measure(*steady).metrics.comm_dyn == 0);
}

TEST_CASE("ranks that send about the same change places, and one mapping fits all the same") {
  const TempDir dir;
  // Each rank of a ring sends 99 to 101 messages a second, or its partners are others every second.
  for (const bool partners_change : {false, true}) {
    std::vector<ProfileEvent> events;
    std::uint64_t random = 7;
    for (std::uint32_t second = 0; second < 20; ++second) {
      for (std::uint32_t rank = 0; rank < 16; ++rank) {
        random = random * 6364136223846793005ULL + 1442695040888963407ULL;
        const std::uint32_t step = partners_change ? 1 + 3 * (second % 2) : 1;
        for (std::uint64_t n = 0; n < 99 + (random >> 33) % 3; ++n)
          events.push_back({second * 1'000'000'000ULL + n * 9'000'000ULL + rank, rank,
                            (rank + step) % 16, 65536});
      }
    }
    std::stable_sort(events.begin(), events.end(),
                     [](const auto& a, const auto& b) { return a.time_ns < b.time_ns; });
    auto reader = ProfileReader::open(write_profile(dir, 16, events));
    const Classification found = classify(measure(*reader).metrics);
    CAPTURE(partners_change, found.reason);
    CHECK(found.published == MappingClass::kDynamic);
    CHECK(found.kind == (partners_change ? MappingClass::kDynamic : MappingClass::kStatic));
    CHECK((found.advice.find("static") != std::string::npos) == !partners_change);
    CHECK((found.reason.find("one mapping fits") != std::string::npos) == !partners_change);
  }
}

TEST_CASE("shorter intervals cut a program's iteration to pieces, and make no phases of them") {
  const TempDir dir;
  for (const char* app : {"ft", "is", "mg"}) {
    ProfileReader reader = open_npb(dir, app);
    for (const std::uint64_t ms : {50, 100, 200}) {
      MetricOptions options;
      options.interval_ns = ms * 1'000'000;
      const Classification found = classify(measure(reader, options).metrics);
      CAPTURE(app, ms, found.reason);
      CHECK(found.published == MappingClass::kDynamic);
      CHECK(found.kind == MappingClass::kStatic);
    }
  }
}

TEST_CASE("a pause is not a change: intervals without traffic are skipped") {
  const TempDir dir;
  std::vector<ProfileEvent> events;
  for (const std::uint64_t second : {0, 3, 4, 9})
    events.push_back({second * 1'000'000'000, 2, 3, 50});
  auto steady = ProfileReader::open(write_profile(dir, 4, events));
  const Metrics m = measure(*steady).metrics;
  CHECK(m.comm_dyn == 0);
  CHECK(m.compared == 3);
  CHECK(m.intervals == 10);
  events.back().dst = 0;
  auto changed = ProfileReader::open(write_profile(dir, 4, events));
  CHECK(measure(*changed).metrics.comm_dyn == 1);
}

TEST_CASE("memory volumes of the profile are those of the whole run, so a window has none") {
  const TempDir dir;
  auto writer = ProfileWriter::create(dir.file("m"), small_header(2));
  for (std::uint64_t t = 0; t < 100; ++t) REQUIRE(writer->add({t * 1'000'000, 0, 1, 5}).ok());
  REQUIRE(writer->add_memory(std::vector<RankMemory>{{0, 100, true, 10}, {1, 300, true, 30}}).ok());
  REQUIRE(writer->finish().ok());
  auto reader = ProfileReader::open(dir.file("m"));
  CHECK(measure(*reader).metrics.comm_r.value() == Approx(1000.0 / 400));
  MetricOptions part;
  part.clusters.window = {0, 50'000'000};
  CHECK(!measure(*reader, part).metrics.comm_r);
  CHECK(!measure(*reader, part).metrics.dram_r);
  part.memory = reader->memory();
  CHECK(measure(*reader, part).metrics.comm_r.value() == Approx(500.0 / 400));
}

TEST_CASE("too many intervals are refused with a sentence") {
  const TempDir dir;
  auto reader =
      ProfileReader::open(write_profile(dir, 4, {{0, 0, 1, 5}, {UINT64_MAX / 2, 1, 0, 5}}));
  const auto loads = rank_loads(*reader, {}, 1000);
  REQUIRE(!loads.ok());
  CHECK(loads.error().message().find("--interval") != std::string::npos);
}
