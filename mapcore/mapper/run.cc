// SPDX-License-Identifier: Apache-2.0
#include "mapcore/mapper/run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>

#include "mapcore/base/quantity.h"
#include "mapcore/base/read_file.h"
#include "mapcore/binding/affinity.h"
#include "mapcore/decide/interval.h"
#include "mapcore/mapper/background_load.h"
#include "mapcore/mapper/collect.h"
#include "mapcore/mapper/cpu_seconds.h"
#include "mapcore/mapper/event_counts.h"
#include "mapcore/mapper/gpu_watch.h"
#include "mapcore/mapper/interval_log.h"
#include "mapcore/mapper/live_report.h"
#include "mapcore/mapper/mapping_round.h"
#include "mapcore/mapper/node_energy.h"
#include "mapcore/mapper/page_watch.h"
#include "mapcore/mapper/perf_counters.h"
#include "mapcore/mapper/preliminary.h"
#include "mapcore/mapper/report_levels.h"
#include "mapcore/mapper/report_place.h"
#include "mapcore/mapper/thread_arranger.h"
#include "mapcore/mapper/thread_counts.h"
#include "mapcore/options/mapper_messages.h"
#include "mapcore/report/report_json.h"
#include "mapcore/step/container_watch.h"
#include "mapcore/step/file_of_node.h"
#include "mapcore/step/origin.h"
#include "mapcore/step/step_follower.h"
#include "mapcore/topology/load.h"
#include "mapcore/topology/machine_file.h"

namespace ondeloc {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

// Without PMIx no event says that a rank attaches: the slots are read this often at first.
constexpr auto kAttachPoll = std::chrono::milliseconds(20);
constexpr auto kAttachPeriod = std::chrono::seconds(10);
// Every rank sends a SAMPLE in an interval, and no SAMPLE is urgent: after one has come, the others
// are awaited and read together. ROWs are long and must not fill the pipe.
constexpr auto kEventPause = std::chrono::milliseconds(5);
constexpr auto kRefreshEvery = kAttachPoll;
// To read the cgroup's files and the masks of many ranks takes longer than all the rest of an
// interval: both are spread over short intervals.
constexpr auto kReadCpusetEvery = std::chrono::seconds(1);
constexpr auto kRestoreEvery = std::chrono::milliseconds(100);
constexpr std::size_t kMostRestored = 32;
constexpr double kRestoreAllAfter = 2;  // seconds
constexpr double kLongestSeries = 1e8;  // seconds
constexpr const char* kOnlyAtEnd = "read when the step ends";
constexpr auto kDetachWait = std::chrono::milliseconds(50);
constexpr auto kEndWait = std::chrono::milliseconds(500);

class OnlineMapper {
 public:
  OnlineMapper(const MapperConfig& config, SegmentView view)
      : config_(config),
        step_(std::move(view), config.channel_fd),
        report_place_(config, step_.view().header()),
        counters_(step_.ranks().count()),
        events_(step_.ranks().count()),
        threads_(config.options),
        pages_(step_.ranks().count()),
        memory_(config.devices_root),
        perf_(config.options.counters, config.devices_root),
        containers_(config.rank_library),
        interval_(config.options.interval_ms, config.options.max_interval_ms,
                  config.options.slope) {}

  std::vector<std::string> run() {
    // A topology that was named may be unreadable: the user is told whatever the ranks do.
    const bool named = !config_.topology.empty() && config_.topology != "host";
    if (Status good = named ? need_machine() : Status(); !good)
      return {std::move(good).error().within("the step is not mapped").message()};
    step_.view().set_mapper_pid(getpid());
    started_ = interval_started_ = Clock::now();
    while (!over_) {
      wait(next_wake());
      step_.refresh(Clock::now() < interval_end() ? kRefreshEvery : Clock::duration::zero());
      threads_.look(ranks());
      containers_.look(ranks());
      perf_.look(ranks());
      // Planning may have taken seconds: a rank that has counts by now has attached and may be
      // moved.
      if (plan_when_ready()) step_.refresh(Clock::duration::zero());
      if (placement_) placement_->bind_attached_ranks(ranks());
      over_ = step_.is_over();
      if (arranger_ && !over_)
        arranger_->look(Clock::now(), *placement_, ranks(), counters_, round_->model());
      if (over_ || Clock::now() >= interval_end()) end_interval();
    }
    return finish();
  }

 private:
  Ranks& ranks() { return step_.ranks(); }
  const Ranks& ranks() const { return step_.ranks(); }

  // Moves of a recorded series are due at their own time.
  Clock::time_point interval_end() const {
    const auto end = interval_started_ + std::chrono::milliseconds(interval_.milliseconds());
    return repeated_.empty() ? end : std::min(end, time_of(repeated_.front()));
  }

  Clock::time_point time_of(const RecordedTurn& turn) const {
    return started_ + std::chrono::duration_cast<Clock::duration>(
                          std::chrono::duration<double>(std::min(turn.seconds, kLongestSeries)));
  }

  // Tasks start one after the other, and a rank attaches at the end of MPI_Init: look often at
  // first.
  Clock::time_point next_wake() const {
    const auto now = Clock::now();
    const bool waiting =
        (!placement_ || placement_->awaits_ranks()) && now < started_ + kAttachPeriod;
    const auto end = arranger_ ? std::min(interval_end(), arranger_->next_look()) : interval_end();
    return waiting ? std::min(end, now + kAttachPoll) : end;
  }

  void wait(Clock::time_point until) {
    const bool listens = events_.rows_came() || Clock::now() >= heard_ + kEventPause;
    if (step_.channel_is_open() && !listens) until = std::min(until, heard_ + kEventPause);
    // The time for which the step was stopped belongs to no interval, and not to the run.
    const auto stopped =
        step_.wait(until, listens, [this](const Record& record) { on_record(record); });
    born_ += stopped;
    started_ += stopped;
    interval_started_ += stopped;
  }

  void on_record(const Record& record) {
    events_.note(step_.view(), record);
    if (std::holds_alternative<ondeloc_record_sample>(record)) heard_ = Clock::now();
    if (const auto* end = std::get_if<ondeloc_record_end>(&record)) {
      energy_ = energy_of(*end);
      end_came_ = true;
    }
    if (const auto* row = std::get_if<RowRecord>(&record))
      counters_.add_row_event(step_.view(), *row);
  }

  // Loaded only when it is needed: on a large node this takes longer than a step of a program
  // without MPI.
  Status need_machine() {
    if (machine_) return {};
    auto machine = load_.is_started() ? load_.take() : load_machine(config_.topology);
    if (!machine) return std::move(machine).error();
    machine_ = *std::move(machine);
    return {};
  }

  AllowedCpus allowed_by_gpus() const {
    return gpus_->allowed(placement_->slots(), placement_->current());
  }

  Status plan() {
    if (Status good = need_machine(); !good) return good;
    const bool real = config_.topology.empty() || config_.topology == "host";
    auto plan =
        Placement::plan(*machine_, ranks(), static_cast<int>(step_.view().header().cpus_per_task),
                        config_.options.memory, real);
    if (!plan) return std::move(plan).error();
    placement_ = std::make_unique<Placement>(*std::move(plan));
    gpus_.emplace(machine_->devices, config_.devices_root,
                  config_.nvml.empty() ? kNvmlLibrary : config_.nvml);
    gpus_->look(ranks());
    placement_->start_allowed(allowed_by_gpus(), gpus_->has_unknown());
    return {};
  }

  // Without the file the mapper goes on with the numbers of hwloc and the defaults.
  void read_machine_file_once() {
    if (config_.machine_file.empty()) return;
    auto file = read_machine_file(config_.machine_file, ReadFrom::kFile);
    Status fits =
        file ? check_machine_file(*file, *machine_, config_.machine_file) : Status(file.error());
    if (fits) {
      measured_ = *std::move(file);
    } else {
      placement_->notes().add(fits.error().message() + "; predictions use the defaults");
    }
  }

  // If the file cannot be read, no rank moves: other moves than the recorded ones would be another
  // run than the one that the user wants to repeat.
  void read_series_once() {
    if (config_.options.repeat.empty()) return;
    auto turns = read_recorded_moves(
        file_of_node(config_.options.repeat, step_.view().header(), config_.node));
    if (turns) {
      repeated_ = *std::move(turns);
    } else {
      lines_.push_back(std::move(turns).error().within("no moves are repeated").message());
    }
  }

  // CPUs of the step that no rank may use; empty if there is none or a rank's CPUs are not known
  // yet.
  CpuSet idle_cpus_of_step() const {
    auto idle = get_affinity(0);
    if (!idle || !ranks().all_ready()) return {};
    for (const RankState& state : ranks().all()) *idle -= state.initial;
    return *idle;
  }

  // While ranks start MPI they wait for each other, so the topology is read then.
  bool is_topology_needed() const { return ranks().any_attached() || step_.view().mpi_starts(); }

  // True if the ranks were planned now.
  bool plan_when_ready() {
    if (placement_ || plan_failed_ || !is_topology_needed()) return false;
    if (!machine_ && !load_.is_started()) load_.start(config_.topology, idle_cpus_of_step());
    if (!ranks().any_attached() || !ranks().all_ready() || (!machine_ && !load_.is_ready()))
      return false;
    if (Status good = plan(); !good) {
      plan_failed_ = true;
      lines_.push_back(good.error().message() + "; ranks stay where Slurm put them");
      return false;
    }
    read_machine_file_once();
    read_series_once();
    origin_ = origin_of(ranks(), config_.partition, config_.restarts);
    round_ = std::make_unique<MappingRound>(config_.options, *machine_, *placement_, ranks(),
                                            measured_ ? &*measured_ : nullptr);
    round_->use_adapters(gpus_->adapters());
    round_->try_moves();
    if (config_.options.decide == Decide::kNever) placement_->keep_bindings();
    if (config_.options.threads != ThreadBinding::kSlot)
      arranger_.emplace(config_.options.threads, ranks().count(), machine_->nodes.size());
    return true;
  }

  void end_interval() {
    const auto now = Clock::now();
    const double seconds = std::max(0.001, seconds_between(interval_started_, now));
    interval_started_ = now;
    if (!ranks().any_attached() || !placement_) return;
    const auto read_from = Clock::now();
    if (config_.read_rows) counters_.read_rows(step_.view());
    const CounterDelta& delta = counters_.take_delta();
    const double read_us = 1e6 * seconds_between(read_from, Clock::now());
    ReportInterval line = over_ ? round_->measure(delta) : map(delta, seconds);
    line.t = seconds_between(started_, now);
    line.interval_ms = interval_.milliseconds();
    line.read_us = read_us;
    events_.take_samples(line);
    if (!over_) interval_.step(round_->next_look(), line.bytes + line.off_node_bytes > 0);
    if (arranger_ && line.remapped) arranger_->look_soon();
    log_.keep(std::move(line));
    if (is_sample_due()) step_.view().raise_tick();
    if (over_) return;
    look_at_pages();
    write_preliminary();
    publish();
  }

  // The pages that memory=follow brings to a rank move with those of moved ranks.
  void look_at_pages() {
    if (!report_place_.is_wanted() && !config_.options.verbose) return;
    const bool brings = config_.options.memory == Memory::kFollow && !placement_->keeps_bindings();
    pages_.look(*placement_, ranks(), brings);
  }

  // Counts that do not come by rows come with the events.
  bool is_sample_due() {
    const auto& all = ranks().all();
    const bool by_rows = config_.read_rows && std::none_of(all.begin(), all.end(), [](auto& state) {
                           return (state.notes & ONDELOC_NOTE_TRANSPORT_PMIX) != 0;
                         });
    const auto now = Clock::now();
    if (by_rows && !over_ && now < sampled_ + config_.sample_every) return false;
    sampled_ = now;
    return true;
  }

  // Only if the final report will replace it: not into a pipe or a device.
  void write_preliminary() {
    const std::chrono::duration<double> since = Clock::now() - started_;
    if (!report_place_.is_wanted() || !preliminary_.is_due(since)) return;
    if (!report_place_.can_be_replaced()) return preliminary_.give_up();
    const std::string note = fmt::format("preliminary: the step was still running after {}",
                                         seconds_text(since.count()));
    Report report = complete_report({note});
    add_use_of_node(report);
    report.is_complete = false;
    if (!report_place_.write(report)) preliminary_.give_up();
    preliminary_.written(since, Clock::now() - started_ - since);
  }

  // For `ondeloc top`: the last intervals, no matrix, which grows with the square of the ranks, and
  // no counters of the kernel, which take a file or more for each cache and rank.
  void publish() {
    const std::chrono::duration<double> since = Clock::now() - started_;
    if (!live_.is_due(since)) return;
    Report report = complete_report({}, true);
    report.memory.why = kOnlyAtEnd;
    if (config_.options.counters)
      report.counters.why_no_misses = report.counters.why_no_bytes = kOnlyAtEnd;
    report.is_complete = false;
    live_.publish(to_json(report));
    live_.published(since, Clock::now() - started_ - since);
  }

  // True if so much time has passed since `last`, which then becomes the present time.
  static bool is_due(Clock::time_point& last, Clock::duration every) {
    const auto now = Clock::now();
    if (now < last + every) return false;
    last = now;
    return true;
  }

  ReportInterval map(const CounterDelta& delta, double seconds) {
    if (is_due(cpuset_read_, kReadCpusetEvery) && placement_->cpuset_changed(ranks())) {
      if (auto line = round_->follow_cpuset(delta)) return *std::move(line);
    }
    if (gpus_->look(ranks())) {
      placement_->allow(allowed_by_gpus());
      if (auto line = round_->follow_gpus(delta)) return *std::move(line);
    }
    // Ranks that attached after the others were planned.
    if (gpus_->take_newcomers()) round_->use_adapters(gpus_->adapters());
    if (is_due(restored_, kRestoreEvery))
      placement_->restore_bindings(
          ranks(), seconds < kRestoreAllAfter ? kMostRestored : ranks().all().size());
    placement_->follow_with_pages(ranks());
    if (!config_.options.repeat.empty()) return repeat_due_moves(delta);
    return round_->run(delta, seconds);
  }

  ReportInterval repeat_due_moves(const CounterDelta& delta) {
    const auto now = Clock::now();
    const auto is_due = [&](const RecordedTurn& turn) { return time_of(turn) <= now; };
    const auto end = std::find_if_not(repeated_.begin(), repeated_.end(), is_due);
    const std::vector<RecordedTurn> due(repeated_.begin(), end);
    repeated_.erase(repeated_.begin(), end);
    return round_->repeat(delta, due);
  }

  // With PMIx every rank that detached has sent DETACH. The last DETACH may still be on its way,
  // and so may the DETACH of a rank whose process was seen to end.
  void await_detach_events() {
    const auto deadline = Clock::now() + kDetachWait;
    while (step_.channel_is_open() && misses_detach_events() && Clock::now() < deadline)
      wait(deadline);
  }

  // END comes when the last task has ended, which may be soon after its DETACH. It has the energy.
  void await_end() {
    const auto deadline = Clock::now() + kEndWait;
    while (step_.channel_is_open() && !end_came_ && Clock::now() < deadline) wait(deadline);
  }

  bool misses_detach_events() const {
    const auto& all = ranks().all();
    const auto detached = std::count_if(all.begin(), all.end(),
                                        [](const RankState& state) { return state.detached; });
    return events_.misses_detach(static_cast<std::uint64_t>(detached)) ||
           std::any_of(all.begin(), all.end(),
                       [](const RankState& state) { return state.lost_its_counts(); });
  }

  // The report of the present moment, without add_use_of_node(). `notes` come first in its notes.
  Report complete_report(std::vector<std::string> notes, bool live = false) {
    Report report;
    report.origin =
        origin_.empty() ? origin_of(ranks(), config_.partition, config_.restarts) : origin_;
    const auto& kept = log_.kept();
    const std::size_t count = live ? std::min(kept.size(), IntervalLog::kFresh) : kept.size();
    report.intervals.assign(kept.end() - static_cast<std::ptrdiff_t>(count), kept.end());
    report.remaps = log_.remaps();
    report.notes = std::move(notes);
    for (const std::string& note : {step_.stopped_note(), log_.note()})
      if (!note.empty()) report.notes.push_back(note);
    for (std::string& note : threads_.notes()) report.notes.push_back(std::move(note));
    report.events = events_.totals();
    report.energy = energy_;
    report.mapper_cpu_ms = 1000 * cpu_seconds();
    report.wall_ms = 1000 * seconds_between(born_, Clock::now());
    collect_report({config_, step_.view(), machine_ ? *machine_ : Machine{}, ranks(), counters_,
                    placement_.get(), round_.get(), gpus_ ? &*gpus_ : nullptr,
                    arranger_ ? &*arranger_ : nullptr, &pages_, live},
                   report);
    return report;
  }

  // Reads the kernel's counters, which include other jobs on the node.
  void add_use_of_node(Report& report) const {
    report.memory = memory_.since_start();
    report.counters = perf_.since_start();
  }

  std::vector<std::string> finish() {
    await_detach_events();
    step_.refresh(Clock::duration::zero());  // for what a rank noted since the last look
    if (config_.read_rows) counters_.read_rows(step_.view());
    // Without a machine the report has no topology. Nobody asked for one of a program without MPI.
    const bool wanted = !config_.options.report.empty() || ranks().any_attached();
    if (report_place_.is_wanted() && wanted) (void)need_machine();
    std::vector<std::string> notes;
    if (auto missing = events_.note_of_missing(counters_)) notes.push_back(*std::move(missing));
    if (auto hidden = containers_.sentence(ranks())) {
      lines_.push_back(*hidden);
      notes.push_back(*std::move(hidden));
    }
    if (report_place_.is_wanted() || config_.options.verbose) await_end();
    Report report = complete_report(std::move(notes));
    add_use_of_node(report);
    ranks().stop_following();  // the report needs two descriptors, and the ranks may hold all
    if (auto failed = report_place_.write_or_tell(report)) lines_.push_back(*std::move(failed));
    if (config_.options.verbose) tell_summary(report, lines_);
    tell_site(report);
    return lines_;
  }

  // The line for the log comes first: if the user's lines fill the pipe, it is there.
  void tell_site(const Report& report) {
    if (config_.log == SiteLog::kNone) return;
    lines_.insert(lines_.begin(), kForLog + log_line(report));
    std::vector<std::string> more;
    if (config_.log == SiteLog::kVerbose) tell_summary(report, more);
    for (const std::string& line : more) lines_.push_back(kForLog + line);
  }

  // A user who sees that no rank was moved wants to know why, perhaps without a report.
  void tell_summary(const Report& report, std::vector<std::string>& lines) const {
    lines.push_back(summary_line(report));
    if (config_.options.mode == Mode::kOnline)
      lines.push_back(fmt::format("{}: {}", report.node, verdict(run_of(report))));
    for (const std::string& line : level_lines(change_of(report.domains)))
      lines.push_back(fmt::format("{}: {}", report.node, line));
    if (measured_)
      lines.push_back(
          fmt::format("{}: predictions use numbers {}", report.node, measured_->source()));
    if (report.remaps > 0) return;
    for (const std::string& note : report.notes)  // the verdict has told one of them
      if (note != kNobodyCalled || config_.options.mode != Mode::kOnline)
        lines.push_back(fmt::format("{}: {}", report.node, note));
  }

  const MapperConfig& config_;
  StepFollower step_;
  ReportPlace report_place_;
  BackgroundLoad load_;
  std::optional<Machine> machine_;  // once it is needed
  std::optional<MachineFile> measured_;
  std::vector<RecordedTurn> repeated_;  // moves of repeat= that are still to come
  Counters counters_;
  EventCounts events_;
  ThreadCounts threads_;
  PageWatch pages_;
  ReportEnergy energy_;
  NodeMemory memory_;
  PerfCounters perf_;
  ContainerWatch containers_;
  IntervalController interval_;
  std::unique_ptr<Placement> placement_;
  std::optional<GpuWatch> gpus_;  // since the ranks were placed
  std::unique_ptr<MappingRound> round_;
  std::optional<ThreadArranger> arranger_;  // without threads=slot, since the ranks were placed
  IntervalLog log_;
  PreliminaryReports preliminary_;
  LiveReport live_;
  std::vector<std::string> lines_;
  std::vector<std::pair<std::string, std::string>> origin_;  // read while the ranks run
  Clock::time_point born_ = config_.born;
  Clock::time_point started_, interval_started_, heard_, cpuset_read_, restored_, sampled_;
  bool plan_failed_ = false;
  bool over_ = false;
  bool end_came_ = false;
};

}  // namespace

std::vector<std::string> run_mapper(const MapperConfig& config) {
  auto view = SegmentView::open(config.segment_fd);
  if (!view) return {std::move(view).error().within("the step is not mapped").message()};
  return OnlineMapper(config, *std::move(view)).run();
}

}  // namespace ondeloc
