// SPDX-License-Identifier: Apache-2.0
#include "mapcore/mapper/run.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>

#include "mapcore/mapper/channel.h"
#include "mapcore/mapper/collect.h"
#include "mapcore/mapper/file_of_node.h"
#include "mapcore/mapper/interval.h"
#include "mapcore/mapper/interval_log.h"
#include "mapcore/mapper/preliminary.h"
#include "mapcore/mapper/stopped_time.h"
#include "mapcore/mapper/turn.h"
#include "mapcore/report/report_json.h"
#include "mapcore/topology/load.h"

namespace ondeloc {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

// A rank that attaches has no event to wake us without PMIx: slots are looked at this often at
// first.
constexpr auto kAttachPoll = std::chrono::milliseconds(20);
constexpr auto kAttachPeriod = std::chrono::seconds(10);
// Every rank sends a SAMPLE in an interval, and none is urgent: they are taken together, and slots
// are not looked at for each of them. ROWs are long and must not fill the pipe.
constexpr auto kEventPause = std::chrono::milliseconds(5);
constexpr auto kRefreshEvery = kAttachPoll;
constexpr auto kDetachWait = std::chrono::milliseconds(50);

class Mapper {
 public:
  Mapper(const MapperConfig& config, SegmentView view)
      : config_(config),
        view_(std::move(view)),
        channel_(config.channel_fd),
        ranks_(view_.local_ranks()),
        counters_(view_.local_ranks()),
        told_(static_cast<std::size_t>(view_.local_ranks())),
        sampled_(static_cast<std::size_t>(view_.local_ranks())),
        interval_(std::max(config.options.interval_ms, config.min_interval_ms),
                  std::max({config.options.max_interval_ms, config.options.interval_ms,
                            config.min_interval_ms}),
                  config.options.slope) {}

  std::vector<std::string> run() {
    // One that is named may be no topology at all: said whatever the ranks do.
    const bool named = !config_.topology.empty() && config_.topology != "host";
    if (Status good = named ? need_machine() : Status(); !good)
      return {std::move(good).error().within("the step is not mapped").message()};
    view_.set_mapper_pid(getpid());
    started_ = turn_started_ = Clock::now();
    while (!over_) {
      wait(next_wake());
      refresh_ranks();
      plan_when_ready();
      if (placement_) placement_->meet_newcomers(ranks_);
      over_ = over_ || ranks_.all_done() || (!channel_.open() && ranks_.nobody_left());
      if (over_ || Clock::now() >= turn_ends()) take_turn();
    }
    return finish();
  }

 private:
  Clock::time_point turn_ends() const {
    return turn_started_ + std::chrono::milliseconds(interval_.milliseconds());
  }

  // Tasks start one after the other and ranks attach when MPI_Init is done: look often at first.
  Clock::time_point next_wake() const {
    const auto now = Clock::now();
    const bool waiting =
        (!placement_ || placement_->slots().shared) && now < started_ + kAttachPeriod;
    return waiting ? std::min(turn_ends(), now + kAttachPoll) : turn_ends();
  }

  void wait(Clock::time_point until) {
    std::vector<pollfd> fds;
    const bool listens = events_.row > 0 || Clock::now() >= heard_ + kEventPause;
    if (channel_.open() && listens) fds.push_back({channel_.fd(), POLLIN, 0});
    if (channel_.open() && !listens) until = std::min(until, heard_ + kEventPause);
    ranks_.add_to_poll(fds);
    const auto now = Clock::now();
    const auto left = std::clamp(std::chrono::ceil<std::chrono::milliseconds>(until - now),
                                 std::chrono::milliseconds(0), std::chrono::milliseconds(60000));
    const int woken = poll(fds.data(), fds.size(), static_cast<int>(left.count()));
    turn_started_ += stopped_.woke(now + left);  // no interval has that time
    if (woken > 0 && ranks_.note_ended(fds)) refreshed_ = {};
    channel_.drain([this](const Record& record) { on_record(record); });
  }

  void refresh_ranks() {
    const auto now = Clock::now();
    if (now < refreshed_ + kRefreshEvery && now < turn_ends()) return;
    refreshed_ = now;
    ranks_.refresh(view_);
  }

  void on_record(const Record& record) {
    const ondeloc_record_head& head = head_of(record);
    const WorldRank world(static_cast<int>(head.world_rank));
    if (const auto* attach = std::get_if<ondeloc_record_attach>(&record)) {
      ++events_.attach;
      ranks_.attach(view_, *attach);
    } else if (const auto* sample = std::get_if<ondeloc_record_sample>(&record)) {
      ++events_.sample;
      ++samples_;
      heard_ = Clock::now();
      note_sample(head.world_rank, sample->sequence, 1);
      sample_bytes_ += static_cast<double>(sample->local.bytes);
    } else if (const auto* row = std::get_if<RowRecord>(&record)) {
      ++events_.row;
      counters_.add_row_event(view_, *row);
    } else if (const auto* detach = std::get_if<ondeloc_record_detach>(&record)) {
      ++events_.detach;
      const int local = view_.local_of_world(head.world_rank);
      note_sample(head.world_rank, detach->samples, 0);
      if (local >= 0)
        told_[static_cast<std::size_t>(local)] = detach->local.messages + detach->off_node.messages;
      ranks_.detach(view_, world);
    } else if (const auto* end = std::get_if<ondeloc_record_end>(&record)) {
      events_.dropped = end->dropped;
      over_ = true;
    }
  }

  // SAMPLEs are numbered from 1, and DETACH says how many were sent: what is missing was lost.
  void note_sample(std::uint32_t world_rank, std::uint32_t sent, std::uint64_t came) {
    const int local = view_.local_of_world(world_rank);
    if (local < 0) return;
    SampleCount& count = sampled_[static_cast<std::size_t>(local)];
    count.sent = std::max<std::uint64_t>(count.sent, sent);
    count.came += came;
  }

  std::uint64_t missing_samples() const {
    std::uint64_t missing = 0;
    for (const SampleCount& count : sampled_)
      missing += count.sent - std::min(count.sent, count.came);
    return missing;
  }

  // Only where it is needed: on a large node it takes longer than a step of a program without MPI.
  Status need_machine() {
    if (machine_) return {};
    auto machine = load_machine(config_.topology);
    if (!machine) return std::move(machine).error();
    machine_ = *std::move(machine);
    return {};
  }

  Status plan() {
    if (Status good = need_machine(); !good) return good;
    const bool real = config_.topology.empty() || config_.topology == "host";
    auto plan = Placement::plan(*machine_, ranks_, static_cast<int>(view_.header().cpus_per_task),
                                config_.options.memory, real);
    if (!plan) return std::move(plan).error();
    placement_ = std::make_unique<Placement>(*std::move(plan));
    return {};
  }

  void plan_when_ready() {
    if (placement_ || plan_failed_ || !ranks_.all_ready() || !ranks_.any_attached()) return;
    if (Status good = plan(); !good) {
      plan_failed_ = true;
      lines_.push_back(good.error().message() + "; ranks stay where Slurm put them");
      return;
    }
    turn_ = std::make_unique<Turn>(config_.options, *machine_, *placement_, ranks_);
    if (config_.options.decide == Decide::kNever) placement_->keep_bindings();
  }

  void take_turn() {
    const auto now = Clock::now();
    const double seconds = std::max(0.001, seconds_between(turn_started_, now));
    const bool last = over_;
    turn_started_ = now;
    if (!ranks_.any_attached() || !placement_) return;
    if (config_.read_rows) counters_.read_rows(view_);
    // Planning may have taken seconds: whoever has counts by now is attached, and its move counts.
    ranks_.refresh(view_);
    const CounterDelta delta = counters_.take_delta();
    ReportInterval line = last ? turn_->look(delta) : map(delta, seconds);
    line.t = seconds_between(started_, now);
    line.interval_ms = interval_.milliseconds();
    line.samples = std::exchange(samples_, 0);
    line.sample_bytes = std::exchange(sample_bytes_, 0);
    if (!last) interval_.step(line.remapped);
    log_.keep(std::move(line));
    view_.raise_tick();
    if (!last) write_preliminary();
  }

  // Only where a report takes the place of the one before.
  void write_preliminary() {
    const std::chrono::duration<double> since = Clock::now() - started_;
    if (config_.options.report.empty() || !preliminary_.is_due(since)) return;
    const std::string path = report_path();
    std::error_code unknown;
    const auto kind = std::filesystem::status(path, unknown).type();
    const bool replaces = kind == std::filesystem::file_type::not_found ||
                          kind == std::filesystem::file_type::regular;
    const std::string note =
        fmt::format("preliminary: the step was still running after {:.0f} s", since.count());
    if (!replaces || !write_file(path, to_json(complete_report({note})))) preliminary_.give_up();
    preliminary_.written(since, Clock::now() - started_ - since);
  }

  ReportInterval map(const CounterDelta& delta, double seconds) {
    if (placement_->cpuset_changed(ranks_)) {
      if (auto line = turn_->follow_cpuset(delta)) return *std::move(line);
    }
    placement_->put_back(ranks_);
    placement_->follow_with_pages(ranks_);
    return turn_->take(delta, seconds);
  }

  // With PMIx every rank that detached has sent DETACH; the last may still be on its way, and so
  // may that of a rank that is seen to have ended.
  void await_detach_events() {
    const auto deadline = Clock::now() + kDetachWait;
    while (channel_.open() && misses_detach_events() && Clock::now() < deadline) wait(deadline);
  }

  bool misses_detach_events() const {
    const auto& all = ranks_.all();
    const auto detached = std::count_if(all.begin(), all.end(),
                                        [](const RankState& state) { return state.detached; });
    return (events_.attach > 0 && events_.detach < static_cast<std::uint64_t>(detached)) ||
           std::any_of(all.begin(), all.end(),
                       [](const RankState& state) { return state.lost_its_counts(); });
  }

  // What a rank said at its end that it had sent is what came in, or the report says what is
  // missing.
  std::vector<std::string> missing_counts() const {
    std::uint64_t missing = 0;
    for (int i = 0; i < counters_.ranks(); ++i) {
      const std::uint64_t told = told_[static_cast<std::size_t>(i)];
      missing += told - std::min(told, counters_.sum_of(i).messages);
    }
    if (missing == 0) return {};
    return {fmt::format(
        "{} messages are missing in the matrix: the events that told of them were lost", missing)};
  }

  // As things are now; its notes begin with these.
  Report complete_report(std::vector<std::string> notes) {
    Report report;
    report.intervals = log_.kept();
    report.remaps = log_.remaps();
    report.notes = std::move(notes);
    if (const std::string note = stopped_.note(); !note.empty()) report.notes.push_back(note);
    report.events = events_;
    report.events.dropped = std::max(events_.dropped, missing_samples());
    report.wall_ms = 1000 * seconds_between(started_, Clock::now());
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    report.mapper_cpu_ms =
        1e3 * static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
        1e-3 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
    if (const std::string note = log_.note(); !note.empty()) report.notes.push_back(note);
    collect_report(
        {config_, view_, machine_ ? *machine_ : Machine{}, ranks_, counters_, placement_.get()},
        report);
    return report;
  }

  std::vector<std::string> finish() {
    await_detach_events();
    ranks_.refresh(view_);  // what a rank noted since the last look
    if (config_.read_rows) counters_.read_rows(view_);
    if (!config_.options.report.empty())
      (void)need_machine();  // without it: no topology in the report
    const Report report = complete_report(missing_counts());
    write_report(report);
    if (config_.options.verbose) tell_summary(report);
    return lines_;
  }

  // Who sees that nobody was moved wants to know why, and has perhaps asked for no report.
  void tell_summary(const Report& report) {
    lines_.push_back(summary_line(report));
    if (report.remaps > 0) return;
    for (const std::string& note : report.notes)
      lines_.push_back(fmt::format("{}: {}", report.node, note));
  }

  std::string report_path() const {
    return file_of_node(config_.options.report, view_.header(), config_.node);
  }

  void write_report(const Report& report) {
    if (config_.options.report.empty()) return;
    if (Status written = write_file(report_path(), to_json(report)); !written) {
      lines_.push_back(std::move(written).error().within("no report").message());
    }
  }

  const MapperConfig& config_;
  SegmentView view_;
  std::optional<Machine> machine_;  // once it is needed
  Channel channel_;
  Ranks ranks_;
  Counters counters_;
  std::vector<std::uint64_t> told_;  // messages, by DETACH
  struct SampleCount {
    std::uint64_t sent = 0, came = 0;
  };
  std::vector<SampleCount> sampled_;
  IntervalController interval_;
  std::unique_ptr<Placement> placement_;
  std::unique_ptr<Turn> turn_;
  IntervalLog log_;
  PreliminaryReports preliminary_;
  ReportEvents events_;
  std::vector<std::string> lines_;
  Clock::time_point started_, turn_started_, refreshed_, heard_;
  StoppedTime stopped_;
  std::uint64_t samples_ = 0;
  double sample_bytes_ = 0;
  bool plan_failed_ = false;
  bool over_ = false;
};

}  // namespace

std::vector<std::string> run_mapper(const MapperConfig& config) {
  auto view = SegmentView::open(config.segment_fd);
  if (!view) return {std::move(view).error().within("the step is not mapped").message()};
  return Mapper(config, *std::move(view)).run();
}

}  // namespace ondeloc
