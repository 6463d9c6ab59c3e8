// SPDX-License-Identifier: Apache-2.0
#include "mapcore/recorder/recorder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <optional>
#include <utility>

#include "mapcore/base/quantity.h"
#include "mapcore/base/saturating.h"
#include "mapcore/base/text.h"
#include "mapcore/binding/affinity.h"
#include "mapcore/options/mapper_messages.h"
#include "mapcore/profile/writer.h"
#include "mapcore/recorder/event_pools.h"
#include "mapcore/recorder/memory_counters.h"
#include "mapcore/recorder/running_sums.h"
#include "mapcore/segment/segment_view.h"
#include "mapcore/step/container_watch.h"
#include "mapcore/step/file_of_node.h"
#include "mapcore/step/rank_notes.h"
#include "mapcore/step/step_follower.h"

namespace ondeloc {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kBusyPoll{1};
constexpr milliseconds kIdlePoll{20};
// Waiting events are handed to the kernel this often, so a killed recorder loses no more than that.
// A crash of the node may lose more, because fsync comes only at the end.
constexpr auto kFlushEvery = std::chrono::seconds(1);
constexpr auto kReadSlotsEvery = milliseconds(50);

std::int64_t clock_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

class Recorder {
 public:
  Recorder(const MapperConfig& config, SegmentView view)
      : config_(config),
        step_(std::move(view), config.channel_fd),
        pools_(view_.channel(), view_.header().local_ranks, view_.header().record_cells),
        world_of_(static_cast<std::size_t>(view_.local_ranks()), kWorldRankUnknown) {}

  std::vector<std::string> run() {
    view_.set_mapper_pid(getpid());
    open_file();
    find_world_ranks();
    sums_.emplace(view_, pools_, world_of_);
    while (!over_) {
      (void)step_.wait(Clock::now() + pause_, true, [](const Record&) {});
      step_.refresh(kReadSlotsEvery);
      containers_.look(ranks_);
      if (ranks_.all_ready()) write_cpus();
      count_memory();
      over_ = step_.is_over();
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
    const std::string path = file_of_node(config_.options.file, segment, config_.node);
    auto writer = ProfileWriter::create(path, header);
    if (!writer && writer.error().code() == EWOULDBLOCK) {
      const std::string more = fmt::format(".{}.{}.{}", segment.job_id, segment.step_id, getpid());
      lines_.push_back(
          fmt::format("profile '{}' is locked by another step, or by a process of any user who can "
                      "read the file; "
                      "this step adds '{}' to the name",
                      shorten_path(path), more));
      writer = ProfileWriter::create(path + more, header);
    }
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

  void learn_world_ranks() {
    for (std::uint32_t local = 0; local < world_of_.size(); ++local) (void)world_of(local);
  }

  // In a heterogeneous step the tasks write their world ranks after the recorder has started, but
  // before the first message of their rank.
  std::uint32_t world_of(std::uint32_t local) {
    std::uint32_t& known = world_of_[local];
    if (known != kWorldRankUnknown) return known;
    const ondeloc_slot slot = view_.slot(static_cast<int>(local));
    if (slot.task_state == ONDELOC_TASK_READY && slot.world_rank < view_.header().world_ranks)
      known = slot.world_rank;
    return known;
  }

  // Written once and early, so that the file of a killed recorder has the CPUs too.
  void write_cpus() {
    if (!writer_ || std::exchange(cpus_written_, true)) return;
    std::vector<RankCpuSet> cpus;
    CpuSet step;
    if (const auto own = get_affinity(0)) step = *own;  // with those of the step that Slurm lists
    for (const RankState& rank : ranks_.all()) {
      step |= rank.initial;
      if (rank.ready && rank.world.value >= 0)
        cpus.push_back({static_cast<std::uint32_t>(rank.world.value), rank.initial});
    }
    (void)writer_->add_cpus(cpus, step);
  }

  void count_memory() {
    counting_.resize(ranks_.all().size());
    for (std::size_t i = 0; i < counting_.size(); ++i) {
      const RankState& rank = ranks_.all()[i];
      if (counting_[i] || !rank.movable()) continue;
      counting_[i] = true;
      memory_.start(static_cast<std::uint32_t>(rank.world.value), rank.process);
    }
  }

  void drain() {
    pause_ = std::min(pause_ * 2, kIdlePoll);
    if (!writer_ || !writer_->ok()) return;
    const auto take = [this](std::uint32_t local, std::uint64_t base,
                             std::span<const ondeloc_event> events) { add(local, base, events); };
    const std::uint64_t got = pools_.drain(take);
    const auto now = Clock::now();
    if (over_ || now >= next_flush_) {
      next_flush_ = now + kFlushEvery;
      pools_.drain_unfinished(take);
      learn_world_ranks();
      sums_->write(*writer_);
      (void)writer_->flush();
    }
    if (got > 0) pause_ = kBusyPoll;
    if (!writer_->ok()) lines_.push_back(writer_->flush().error().message());
  }

  void add(std::uint32_t local, std::uint64_t base, std::span<const ondeloc_event> events) {
    const std::uint32_t rank = world_of(local);
    for (const ondeloc_event& event : events) {
      const std::uint32_t peer = event.world & ~ONDELOC_EVENT_FETCHED;
      const bool fetched = peer != event.world;
      if (rank != kWorldRankUnknown && peer < view_.header().world_ranks) {
        (void)writer_->add(
            {base + event.after_ns, fetched ? peer : rank, fetched ? rank : peer, event.bytes});
      } else {
        ++outside_;
      }
    }
  }

  std::vector<std::string> finish() {
    drain();
    if (!writer_) return lines_;
    ranks_.refresh(view_);  // what a rank noted since the last look
    const std::vector<std::string> notes = tell_what_is_missing();
    if (writer_->ok()) close_file(notes);
    return lines_;
  }

  // Returns all notes for the file. The user is told of messages that are not recorded.
  std::vector<std::string> tell_what_is_missing() {
    std::vector<RankNote> told = notes_of_ranks(ranks_);
    for (const RankState& rank : ranks_.all()) {
      if ((rank.notes & ONDELOC_NOTE_TRANSPORT_PMIX) != 0)
        told.push_back(
            {fmt::format("rank {} cannot open ondeloc's shared memory: its messages are not "
                         "recorded",
                         rank.world.value),
             true});
    }
    if (auto hidden = containers_.sentence(ranks_)) told.push_back({*std::move(hidden), true});
    if (outside_ > 0)
      told.push_back(
          {fmt::format("{} messages to processes outside the step are not recorded", outside_),
           true});
    std::vector<std::string> notes;
    for (const RankNote& note : told) {
      notes.push_back(note.text);
      if (note.uncounted) lines_.push_back(note.text);
    }
    return notes;
  }

  std::string sums_text() const {
    return fmt::format(
        "{} messages recorded, {} between the ranks of the node and {} to other nodes, in a "
        "file of {}; the event channel: at most {} of shared memory",
        writer_->events(), bytes_text(static_cast<double>(sums_->bytes_here())),
        bytes_text(static_cast<double>(sums_->bytes_off_node())),
        bytes_text(static_cast<double>(writer_->octets())),
        capacity_text(static_cast<double>(
            ondeloc_channel_size(view_.header().local_ranks, view_.header().record_cells))));
  }

  // If no message was recorded, the user is told every note: one of them says why.
  void tell_summary(const std::vector<std::string>& missing) {
    const std::vector<std::string> told = lines_;
    lines_.push_back(config_.node + ": " + sums_text());
    for (const std::string& note : missing) {
      if (writer_->events() == 0 && std::find(told.begin(), told.end(), note) == told.end())
        lines_.push_back(fmt::format("{}: {}", config_.node, note));
    }
  }

  // `missing` are notes that follow those on memory volumes.
  void close_file(const std::vector<std::string>& missing) {
    learn_world_ranks();
    write_cpus();
    sums_->write_last(*writer_);
    (void)writer_->add_memory(memory_.read());
    std::vector<std::string> notes = memory_.notes();
    const std::vector<std::string> lost = drop_sentences();
    if (const std::string note = step_.stopped_note(); !note.empty())
      notes.push_back(note + ": rates over the whole run count that time too");
    for (const auto& more : {missing, lost}) notes.insert(notes.end(), more.begin(), more.end());
    lines_.insert(lines_.end(), lost.begin(), lost.end());
    (void)writer_->add_notes(notes);
    if (Status closed = writer_->finish(); !closed) lines_.push_back(closed.error().message());
    if (config_.options.verbose) tell_summary(missing);
    if (config_.log != SiteLog::kNone)
      lines_.insert(lines_.begin(), kForLog + ("profile, " + sums_text()));
  }

  std::vector<std::string> drop_sentences() const {
    const EventPools::Drops& lost = sums_->dropped();
    const std::uint64_t all = saturating_sum(lost.events, writer_->events());
    std::vector<std::string> told;
    if (lost.events > lost.crowded)
      told.push_back(fmt::format("{} of {} messages were dropped because the recorder was behind",
                                 lost.events - lost.crowded, all));
    if (lost.crowded > 0)
      told.push_back(fmt::format(
          "{} of {} messages were dropped because threads of a rank sent at the same time",
          lost.crowded, all));
    return told;
  }

  const MapperConfig& config_;
  StepFollower step_;
  SegmentView& view_ = step_.view();
  Ranks& ranks_ = step_.ranks();
  EventPools pools_;
  MemoryCounters memory_;
  ContainerWatch containers_{config_.rank_library};
  std::vector<bool> counting_;  // by local rank
  std::vector<std::uint32_t> world_of_;
  std::optional<ProfileWriter> writer_;
  std::optional<RunningSums> sums_;
  std::vector<std::string> lines_;
  milliseconds pause_ = kBusyPoll;
  Clock::time_point next_flush_ = Clock::now() + kFlushEvery;
  std::uint64_t outside_ = 0;
  bool cpus_written_ = false;
  bool over_ = false;
};

}  // namespace

Status check_recording(const MapperConfig& config) {
  auto view = SegmentView::open(config.segment_fd);
  if (!view) return std::move(view).error();
  return ProfileWriter::check(file_of_node(config.options.file, view->header(), config.node));
}

std::vector<std::string> run_recorder(const MapperConfig& config) {
  auto view = SegmentView::open(config.segment_fd);
  if (!view) return {std::move(view).error().within("the step is not recorded").message()};
  if (view->channel() == nullptr)
    return {"the step is not recorded: the segment has no event channel"};
  return Recorder(config, *std::move(view)).run();
}

}  // namespace ondeloc
