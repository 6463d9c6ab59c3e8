// SPDX-License-Identifier: Apache-2.0
#include "pmix_hooks/listener.h"

#include <dlfcn.h>
#include <pmix.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>

#include "mapcore/segment/record_check.h"

namespace ondeloc {
namespace {

pmix_status_t codes[] = {
    ONDELOC_EVENT_BASE - ONDELOC_RECORD_ATTACH, ONDELOC_EVENT_BASE - ONDELOC_RECORD_SAMPLE,
    ONDELOC_EVENT_BASE - ONDELOC_RECORD_ROW, ONDELOC_EVENT_BASE - ONDELOC_RECORD_DETACH};

// Static and never destroyed: PMIx may call back after listener_start has given up its wait.
struct State {
  std::atomic<int> channel{-1};
  std::atomic<bool> registered{false};
  std::atomic<std::size_t> id{0};
  std::atomic<std::uint64_t> passed{0}, dropped{0}, rejected{0};
  std::atomic<void (*)()> after_event{nullptr};
  std::atomic<int> answers{-1};  // eventfd: PMIx has answered
};
State state;

template <class Function>
Function find(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

void note_answer() {
  const std::uint64_t one = 1;
  (void)!write(state.answers.load(), &one, sizeof(one));
}

// By the monotonic clock: a wait by the wall clock would last as long as an administrator sets the
// clock back.
bool wait_a_second() {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + std::chrono::seconds(1);
  for (auto now = Clock::now(); now < deadline; now = Clock::now()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - now).count();
    pollfd wanted{state.answers.load(), POLLIN, 0};
    const int ready = poll(&wanted, 1, static_cast<int>(left));
    std::uint64_t answers = 0;
    if (ready == 1) return read(wanted.fd, &answers, sizeof(answers)) == sizeof(answers);
    if (ready < 0 && errno != EINTR) return false;
  }
  return false;
}

// A write without a reader must not send SIGPIPE to slurmstepd: the signal is blocked for the
// write, and one that the write has raised is consumed.
ssize_t write_without_signal(int fd, const void* data, std::size_t size) {
  sigset_t pipe_signal, before, pending;
  sigemptyset(&pipe_signal);
  sigaddset(&pipe_signal, SIGPIPE);
  sigpending(&pending);
  pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
  const ssize_t done = write(fd, data, size);
  if (done < 0 && errno == EPIPE && sigismember(&pending, SIGPIPE) == 0) {
    const timespec at_once{0, 0};
    while (sigtimedwait(&pipe_signal, nullptr, &at_once) < 0 && errno == EINTR) {
    }
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return done;
}

const pmix_byte_object_t* record_of(const pmix_info_t* info, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    if (std::strncmp(info[i].key, ONDELOC_RECORD_KEY, sizeof(info[i].key)) == 0 &&
        info[i].value.type == PMIX_BYTE_OBJECT)
      return &info[i].value.data.bo;
  return nullptr;
}

// True for one whole record of the type that the event's code names. END is not accepted: only
// slurmstepd itself may write it.
bool acceptable(std::span<const std::byte> bytes, pmix_status_t code) {
  std::uint32_t length = 0;
  if (bytes.size() > ONDELOC_RECORD_MAX || check_record(bytes, length) != RecordFault::kNone)
    return false;
  const auto type = std::to_integer<int>(bytes[offsetof(ondeloc_record_head, type)]);
  return length == bytes.size() && type != ONDELOC_RECORD_END && ONDELOC_EVENT_BASE - type == code;
}

void pass(const pmix_proc_t& source, std::span<const std::byte> bytes) {
  alignas(8) unsigned char record[ONDELOC_RECORD_MAX];
  std::memcpy(record, bytes.data(), bytes.size());
  const std::uint32_t rank = source.rank;
  std::memcpy(record + offsetof(ondeloc_record_head, world_rank), &rank, sizeof(rank));
  const int channel = state.channel.load(std::memory_order_acquire);
  const bool sent = channel >= 0 && write_without_signal(channel, record, bytes.size()) ==
                                        static_cast<ssize_t>(bytes.size());
  (sent ? state.passed : state.dropped).fetch_add(1, std::memory_order_relaxed);
}

void on_event(std::size_t, pmix_status_t code, const pmix_proc_t* source, pmix_info_t info[],
              std::size_t count, pmix_info_t*, std::size_t,
              pmix_event_notification_cbfunc_fn_t done, void* data) {
  const pmix_byte_object_t* object = record_of(info, info == nullptr ? 0 : count);
  std::span<const std::byte> bytes;
  if (object != nullptr && object->bytes != nullptr)
    bytes = {reinterpret_cast<const std::byte*>(object->bytes), object->size};
  if (source != nullptr && acceptable(bytes, code))
    pass(*source, bytes);
  else
    state.rejected.fetch_add(1, std::memory_order_relaxed);
  if (done != nullptr) done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, data);
  if (const auto after = state.after_event.load(std::memory_order_acquire)) after();
}

void on_registered(pmix_status_t status, std::size_t id, void*) {
  state.id.store(id, std::memory_order_relaxed);
  state.registered.store(status == PMIX_SUCCESS, std::memory_order_release);
  note_answer();
}

void on_deregistered(pmix_status_t, void*) { note_answer(); }

}  // namespace

Status listener_start(int channel_fd, void (*after_event)()) {
  const auto initialized = find<decltype(&PMIx_Initialized)>("PMIx_Initialized");
  const auto enroll = find<decltype(&PMIx_Register_event_handler)>("PMIx_Register_event_handler");
  const auto leave =
      find<decltype(&PMIx_Deregister_event_handler)>("PMIx_Deregister_event_handler");
  if (initialized == nullptr || enroll == nullptr || leave == nullptr || initialized() == 0)
    return Error("events: this step has no PMIx server (srun --mpi=pmix starts one)", ENOENT);
  // Never closed: PMIx may answer late.
  if (state.answers.load() < 0) state.answers.store(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (state.answers.load() < 0) return Error::from_errno("events: eventfd");
  state.channel.store(channel_fd, std::memory_order_release);
  state.after_event.store(after_event, std::memory_order_release);
  const pmix_status_t rc =
      enroll(codes, sizeof(codes) / sizeof(codes[0]), nullptr, 0, on_event, on_registered, nullptr);
  // Some releases return the handler's id, which is not negative, for success.
  if (rc < 0) return Error("events: PMIx refused the handler, status " + std::to_string(rc));
  if (!wait_a_second()) return Error("events: PMIx did not register the handler within 1 s");
  if (!state.registered.load(std::memory_order_acquire))
    return Error("events: PMIx did not register the handler");
  return {};
}

void listener_stop() {
  if (state.registered.exchange(false, std::memory_order_acq_rel)) {
    const auto leave =
        find<decltype(&PMIx_Deregister_event_handler)>("PMIx_Deregister_event_handler");
    if (leave != nullptr && leave(state.id.load(), on_deregistered, nullptr) == PMIX_SUCCESS)
      wait_a_second();
  }
  state.channel.store(-1, std::memory_order_release);
  state.after_event.store(nullptr, std::memory_order_release);
}

ListenerCounts listener_counts() {
  return {state.passed.load(std::memory_order_relaxed),
          state.dropped.load(std::memory_order_relaxed),
          state.rejected.load(std::memory_order_relaxed)};
}

}  // namespace ondeloc
