// SPDX-License-Identifier: Apache-2.0
#include "mapcore/threads/recording.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <utility>

#include "mapcore/profile/reader.h"

namespace ondeloc {
namespace {

using ondeloc_threads::kMostThreads;
using ondeloc_threads::SharedCounts;
using ondeloc_threads::ThreadCounts;

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr std::uint64_t kShortestPause = 1'000'000;
constexpr std::uint64_t kParts = 10'000;          // of a run
constexpr std::uint64_t kLeastPausePerLook = 20;  // a look costs at most 5 % of one CPU
constexpr const char* kWaiting = "events that wait";
constexpr std::uint32_t kExactReaders = 64;

std::uint64_t clock_now(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

std::uint32_t number_in_environment(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? 0 : static_cast<std::uint32_t>(std::strtoul(text, nullptr, 10));
}

profile_format::FileHeader header_of_run(std::uint32_t threads) {
  char host[profile_format::kNameSize] = "";
  (void)::gethostname(host, sizeof host - 1);
  profile_format::FileHeader header;
  header.ranks = header.local_ranks = threads;
  header.job = number_in_environment("SLURM_JOB_ID");
  header.step = header.job == 0 ? 0 : number_in_environment("SLURM_STEP_ID");
  header.realtime_ns =
      static_cast<std::int64_t>(clock_now(CLOCK_REALTIME) - clock_now(CLOCK_MONOTONIC));
  header.node = host;
  header.origin = "threads recorded by ondeloc";
  return header;
}

// The program may write any octets there.
std::string text_of(const char* place, std::size_t size) {
  return std::string(place, ::strnlen(place, size));
}

}  // namespace

std::uint64_t monotonic_ns() { return clock_now(CLOCK_MONOTONIC); }

Result<ThreadRecording> ThreadRecording::start(const SharedCounts& counts, std::uint32_t sample) {
  UniqueFd file(::memfd_create("ondeloc-events", MFD_CLOEXEC));
  if (!file.valid()) return Error::from_errno("the events have no place to wait");
  UniqueFd copy(::fcntl(file.get(), F_DUPFD_CLOEXEC, 0));  // the program must not inherit it
  auto writer = ProfileWriter::over(std::move(copy), kWaiting, header_of_run(kMostThreads));
  if (!writer) return std::move(writer).error();
  ThreadRecording recording(counts, sample, std::move(file), *std::move(writer));
  recording.first_ns_ = recording.last_ns_ = monotonic_ns();
  return recording;
}

std::uint32_t ThreadRecording::threads() const {
  return std::min(counts_->threads.load(kRelaxed), kMostThreads);
}

void ThreadRecording::grow(std::uint32_t threads) {
  if (seen_.size() >= threads) return;
  seen_.resize(threads);
  for (std::vector<Pair>& row : seen_) row.resize(threads);
}

void ThreadRecording::look(std::uint64_t now_ns) {
  const std::uint32_t count = threads();
  grow(count);
  for (std::uint32_t to = 0; to < count; ++to) {
    for (std::uint32_t from = 0; from < count; ++from) {
      const std::uint64_t lines = counts_->thread[to].lines_from[from].load(kRelaxed);
      Pair& pair = seen_[to][from];
      if (lines <= pair.lines) continue;
      const std::uint64_t bytes = bytes_of(lines - pair.lines);
      pair = {lines, pair.events + 1};
      bytes_ += bytes;
      ++events_;
      (void)waiting_.add({now_ns, from, to, bytes});
    }
  }
  last_ns_ = now_ns;
  cost_ns_ = monotonic_ns() - std::min(monotonic_ns(), now_ns);
}

std::uint64_t ThreadRecording::pause_ns() const {
  return std::max({kShortestPause, (last_ns_ - first_ns_) / kParts, kLeastPausePerLook * cost_ns_});
}

Status ThreadRecording::copy_events(ProfileWriter& writer) {
  if (Status done = waiting_.finish(); !done) return done;
  auto reader = ProfileReader::from_fd(std::move(file_), kWaiting);
  if (!reader) return std::move(reader).error();
  reader->for_each({}, [&](std::span<const ProfileEvent> events) {
    for (const ProfileEvent& event : events) (void)writer.add(event);
  });
  return writer.flush();
}

void ThreadRecording::add_sums(ProfileWriter& writer) const {
  std::vector<PairTotal> totals;
  std::vector<RankMemory> memory;
  for (std::uint32_t to = 0; to < seen_.size(); ++to) {
    for (std::uint32_t from = 0; from < seen_.size(); ++from) {
      const Pair& pair = seen_[to][from];
      if (pair.lines > 0) totals.push_back({from, to, bytes_of(pair.lines), pair.events});
    }
    const ThreadCounts& thread = counts_->thread[to];
    memory.push_back(
        {to, thread.accessed.load(kRelaxed), true, bytes_of(thread.beyond_llc.load(kRelaxed))});
  }
  (void)writer.add_totals(totals);
  (void)writer.add_memory(memory);
}

std::vector<ThreadLabel> ThreadRecording::labels() const {
  std::vector<ThreadLabel> labels;
  for (std::uint32_t t = 0; t < seen_.size(); ++t) {
    const ThreadCounts& thread = counts_->thread[t];
    labels.push_back({t, text_of(thread.name, sizeof thread.name),
                      text_of(thread.function, sizeof thread.function)});
  }
  return labels;
}

std::vector<std::string> ThreadRecording::own_notes() const {
  std::vector<std::string> notes{
      "the ranks are threads of one program under QEMU; a message is what a thread read of lines "
      "of 64 bytes that another thread wrote, summed over about 1 ms; times are those of the slow "
      "run",
      "memory volumes: bytes that the thread accessed, and lines that missed a modelled cache"};
  if (sample_ > 1)
    notes.push_back(
        fmt::format("one line of {} was followed, and counts for {}", sample_, sample_));
  if (const std::uint64_t lost = counts_->forgotten.load(kRelaxed); lost > 0)
    notes.push_back(
        fmt::format("the table of lines was full: {} written lines were forgotten, and "
                    "reads of them are missing; record with a larger --table or with "
                    "--sample",
                    lost));
  const std::uint32_t created = counts_->threads.load(kRelaxed);
  if (created > kMostThreads)
    notes.push_back(fmt::format("the program created {} threads; the first {} are recorded",
                                created, kMostThreads));
  if (created > kExactReaders)
    notes.push_back(
        fmt::format("more than {} threads: if threads whose numbers differ by a "
                    "multiple of {} read the same line, only the first read counts",
                    kExactReaders, kExactReaders));
  return notes;
}

Status ThreadRecording::write(const std::string& path, std::vector<std::string> notes) {
  auto writer = ProfileWriter::create(path, header_of_run(std::max(1U, threads())));
  if (!writer) return std::move(writer).error();
  if (Status copied = copy_events(*writer); !copied) return copied;
  add_sums(*writer);
  (void)writer->add_threads(labels());
  std::vector<std::string> all = own_notes();
  all.insert(all.end(), notes.begin(), notes.end());
  (void)writer->add_notes(all);
  return writer->finish();
}

}  // namespace ondeloc
