// SPDX-License-Identifier: Apache-2.0
#include "mapcore/mapper/recorder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <optional>

#include "mapcore/mapper/channel.h"
#include "mapcore/mapper/counters.h"
#include "mapcore/mapper/event_pools.h"
#include "mapcore/mapper/memory_counters.h"
#include "mapcore/mapper/ranks.h"
#include "mapcore/profile/writer.h"
#include "mapcore/report/report_json.h"
#include "mapcore/segment/segment_view.h"

namespace ondeloc {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kBusyPoll{1};
constexpr milliseconds kIdlePoll{20};
// How stale a crash of the node may leave the file: events that wait are written this often.
constexpr auto kFlushEvery = std::chrono::seconds(1);
constexpr auto kRefreshEvery = milliseconds(50);

std::int64_t clock_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

class Recorder {
 public:
  Recorder(const MapperConfig& config, SegmentView view)
      : config_(config),
        view_(std::move(view)),
        channel_(config.channel_fd),
        ranks_(view_.local_ranks()),
        pools_(view_.channel(), view_.header().local_ranks, view_.header().record_cells),
        world_of_(static_cast<std::size_t>(view_.local_ranks())) {}

  std::vector<std::string> run() {
    view_.set_mapper_pid(getpid());
    open_file();
    find_world_ranks();
    while (!over_) {
      wait();
      look_after_ranks();
      count_memory();
      over_ = over_ || ranks_.all_done() || (!channel_.open() && nobody_left());
      drain();
    }
    return finish();
  }

 private:
  void open_file() {
    const ondeloc_header& segment = view_.header();
    profile_format::FileHeader header;
    header.ranks = segment.world_ranks;
    header.local_ranks = segment.local_ranks;
    header.job = segment.job_id;
    header.step = segment.step_id;
    header.realtime_ns = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC);
    header.node = config_.node;
    header.origin = "recorded by ondeloc";
    auto writer = ProfileWriter::create(profile_path(config_, segment), header);
    if (writer) {
      writer_ = *std::move(writer);
    } else {
      lines_.push_back(writer.error().message() + "; nothing is recorded");
    }
  }

  void find_world_ranks() {
    for (int world = 0; world < view_.world_ranks(); ++world) {
      const int local = view_.local_of_world(static_cast<std::uint32_t>(world));
      if (local >= 0)
        world_of_[static_cast<std::size_t>(local)] = static_cast<std::uint32_t>(world);
    }
  }

  void wait() {
    std::vector<pollfd> fds;
    if (channel_.open()) fds.push_back({channel_.fd(), POLLIN, 0});
    ranks_.add_to_poll(fds);
    if (poll(fds.data(), fds.size(), static_cast<int>(pause_.count())) <= 0) return;
    ranks_.note_ended(fds);
    channel_.drain([this](const Record& record) { on_record(record); });
  }

  void on_record(const Record& record) {
    const ondeloc_record_head& head = head_of(record);
    const WorldRank world(static_cast<int>(head.world_rank));
    if (const auto* attach = std::get_if<ondeloc_record_attach>(&record))
      ranks_.attach(view_, *attach);
    if (std::holds_alternative<ondeloc_record_detach>(record)) ranks_.detach(view_, world);
    over_ = over_ || std::holds_alternative<ondeloc_record_end>(record);
  }

  void look_after_ranks() {
    const auto now = Clock::now();
    if (now < next_refresh_) return;
    next_refresh_ = now + kRefreshEvery;
    ranks_.refresh(view_);
  }

  void count_memory() {
    counting_.resize(ranks_.all().size());
    for (std::size_t i = 0; i < counting_.size(); ++i) {
      const RankState& rank = ranks_.all()[i];
      if (counting_[i] || !rank.movable()) continue;
      counting_[i] = true;
      memory_.start(world_of_[i], rank.process);
    }
  }

  bool nobody_left() const {
    return std::all_of(ranks_.all().begin(), ranks_.all().end(),
                       [](const RankState& state) { return !state.ready || state.done(); });
  }

  void drain() {
    if (!writer_ || !writer_->ok()) return;
    const auto take = [this](std::uint32_t local, std::uint64_t base,
                             std::span<const ondeloc_event> events) { add(local, base, events); };
    const std::uint64_t got = pools_.drain(take);
    const auto now = Clock::now();
    if (over_ || now >= next_flush_) {
      next_flush_ = now + kFlushEvery;
      pools_.drain_unfinished(take);
      (void)writer_->flush();
    }
    pause_ = got > 0 ? kBusyPoll : std::min(pause_ * 2, kIdlePoll);
    if (!writer_->ok()) lines_.push_back(writer_->flush().error().message());
  }

  void add(std::uint32_t local, std::uint64_t base, std::span<const ondeloc_event> events) {
    const std::uint32_t src = world_of_[local];
    for (const ondeloc_event& event : events) {
      if (event.world < view_.header().world_ranks) {
        (void)writer_->add({base + event.after_ns, src, event.world, event.bytes});
      } else {
        ++outside_;
      }
    }
  }

  std::vector<std::string> finish() {
    drain();
    for (const RankState& rank : ranks_.all()) {
      if ((rank.notes & ONDELOC_NOTE_TRANSPORT_PMIX) != 0)
        lines_.push_back(fmt::format(
            "rank {} does not reach the segment: its messages are not recorded", rank.world.value));
    }
    if (outside_ > 0)
      lines_.push_back(
          fmt::format("{} messages to processes outside the step are not recorded", outside_));
    if (writer_ && writer_->ok()) close_file();
    return lines_;
  }

  void close_file() {
    std::vector<RankDrops> drops;
    std::uint64_t dropped = 0;
    for (std::uint32_t local = 0; local < world_of_.size(); ++local) {
      const EventPools::Drops lost = pools_.drops(local);
      if (lost.events > 0) drops.push_back({world_of_[local], lost.events, lost.bytes});
      dropped += lost.events;
    }
    (void)writer_->add_drops(drops);
    (void)writer_->add_totals(totals());
    (void)writer_->add_memory(memory_.read());
    (void)writer_->add_notes(memory_.notes());
    if (Status closed = writer_->finish(); !closed) lines_.push_back(closed.error().message());
    if (dropped > 0)
      lines_.push_back(fmt::format("{} of {} messages were dropped because the recorder was behind",
                                   dropped, dropped + writer_->events()));
    if (config_.options.verbose)
      lines_.push_back(
          fmt::format("{} messages recorded in {} bytes", writer_->events(), writer_->octets()));
  }

  // The rows count every message, recorded or dropped. src = dst: what left the node.
  std::vector<PairTotal> totals() const {
    std::vector<PairTotal> totals;
    std::vector<ondeloc_cell> row(world_of_.size() + 1);
    for (std::size_t i = 0; i < world_of_.size(); ++i) {
      view_.read_row(static_cast<int>(i), row);
      for (std::size_t j = 0; j < row.size(); ++j) {
        const std::size_t to = j < world_of_.size() ? j : i;
        if (i == j || (row[j].messages == 0 && row[j].bytes == 0)) continue;
        totals.push_back({world_of_[i], world_of_[to], row[j].bytes, row[j].messages});
      }
    }
    return totals;
  }

  const MapperConfig& config_;
  SegmentView view_;
  Channel channel_;
  Ranks ranks_;
  EventPools pools_;
  MemoryCounters memory_;
  std::vector<bool> counting_;  // by local rank
  std::vector<std::uint32_t> world_of_;
  std::optional<ProfileWriter> writer_;
  std::vector<std::string> lines_;
  milliseconds pause_ = kBusyPoll;
  Clock::time_point next_refresh_{}, next_flush_ = Clock::now() + kFlushEvery;
  std::uint64_t outside_ = 0;
  bool over_ = false;
};

}  // namespace

std::string profile_path(const MapperConfig& config, const ondeloc_header& header) {
  const std::string& pattern = config.options.file;
  std::string path = expand_pattern(pattern, header.job_id, header.step_id, config.node);
  if (header.world_ranks > header.local_ranks && pattern.find("%N") == std::string::npos)
    path += "." + config.node;
  return path;
}

std::vector<std::string> run_recorder(const MapperConfig& config) {
  auto view = SegmentView::open(config.segment_fd);
  if (!view) return {std::move(view).error().within("the step is not recorded").message()};
  if (view->channel() == nullptr)
    return {"the step is not recorded: the segment has no event channel"};
  return Recorder(config, *std::move(view)).run();
}

}  // namespace ondeloc
