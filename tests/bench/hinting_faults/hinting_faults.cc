// SPDX-License-Identifier: Apache-2.0
// Do the kernel's NUMA hinting faults tell which threads of a running program share pages?
//   hinting_faults pairs|cross|readers SECONDS
// Four threads of a child process use 2 MiB each alone and share 2 MiB with a partner: threads 0
// and 1 (2 and 3), or with `cross` threads 0 and 2 (1 and 3). With `readers` the second of each
// pair only reads. The parent, a process of the same user, watches the page faults of each thread
// through perf_event_open(2). Prints for each pair of threads the sum over the pages of the smaller
// number of faults: of a page that both use, each thread has some.
//
// Faults come only on a machine with several NUMA nodes and kernel.numa_balancing=1, and perf needs
// kernel.perf_event_paranoid of 2 or less. etc/doc/threads.md has the outcome.
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t kThreads = 4, kPage = 4096, kBytes = 2 << 20, kRingPages = 16;
using Clock = std::chrono::steady_clock;
using Pages = std::map<std::uint64_t, std::array<unsigned, kThreads>>;  // faults of each thread

char* memory() {
  void* const at =
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) std::exit(1);
  madvise(at, kBytes, MADV_NOHUGEPAGE);
  std::memset(at, 1, kBytes);
  return static_cast<char*>(at);
}

// Each thread runs on one of two CPUs, its partner of `pairs` on the other.
void work(std::size_t self, const std::string& how, volatile char* own, volatile char* shared) {
  cpu_set_t cpu;
  CPU_ZERO(&cpu);
  CPU_SET(self % 2, &cpu);
  sched_setaffinity(0, sizeof cpu, &cpu);
  const bool second = how == "cross" ? self / 2 == 1 : self % 2 == 1;
  char sum = 0;
  for (;;) {
    for (std::size_t i = 0; i < kBytes; i += 256) {
      own[i] = static_cast<char>(own[i] + 1);
      if (second && how == "readers")
        sum = static_cast<char>(sum + shared[i]);
      else
        shared[i + 64 * second] = static_cast<char>(shared[i + 64 * second] + 1);
    }
  }
}

[[noreturn]] void run_threads(const std::string& how) {
  char* const shared[] = {memory(), memory()};
  for (std::size_t self = 0; self < kThreads; ++self) {
    char* const with_partner = shared[how == "cross" ? self % 2 : self / 2];
    std::thread(work, self, how, memory(), with_partner).detach();
  }
  for (;;) pause();
}

// The threads that the main thread of `pid` has created, as soon as all are there.
std::vector<pid_t> threads_of(pid_t pid) {
  std::vector<pid_t> threads;
  while (threads.size() < kThreads) {
    usleep(20000);
    threads.clear();
    for (const auto& entry :
         std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task")) {
      const pid_t tid = std::stoi(entry.path().filename());
      if (tid != pid) threads.push_back(tid);
    }
  }
  std::sort(threads.begin(), threads.end());
  return threads;
}

// The page faults of one thread.
class Faults {
 public:
  explicit Faults(pid_t tid) {
    perf_event_attr wanted{};
    wanted.type = PERF_TYPE_SOFTWARE;
    wanted.size = sizeof wanted;
    wanted.config = PERF_COUNT_SW_PAGE_FAULTS;
    wanted.sample_period = 1;
    wanted.sample_type = PERF_SAMPLE_ADDR;
    wanted.exclude_kernel = wanted.exclude_hv = 1;
    const long fd = syscall(SYS_perf_event_open, &wanted, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0) return;
    void* const at = mmap(nullptr, (1 + kRingPages) * kPage, PROT_READ | PROT_WRITE, MAP_SHARED,
                          static_cast<int>(fd), 0);
    if (at != MAP_FAILED) ring_ = static_cast<perf_event_mmap_page*>(at);
  }
  bool valid() const { return ring_ != nullptr; }

  void take(std::size_t thread, Pages& pages) {
    const std::uint64_t head = __atomic_load_n(&ring_->data_head, __ATOMIC_ACQUIRE);
    std::uint64_t tail = ring_->data_tail;
    while (tail < head) {
      const auto header = at<perf_event_header>(tail);
      const auto address = at<std::uint64_t>(tail + sizeof header);
      if (header.type == PERF_RECORD_SAMPLE) ++pages[address / kPage][thread];
      tail += header.size;
    }
    __atomic_store_n(&ring_->data_tail, tail, __ATOMIC_RELEASE);
  }

 private:
  // Records are multiples of eight bytes, so none of these values wraps round.
  template <class Value>
  Value at(std::uint64_t place) const {
    Value value;
    const char* const data = reinterpret_cast<const char*>(ring_) + kPage;
    std::memcpy(&value, data + place % (kRingPages * kPage), sizeof value);
    return value;
  }
  perf_event_mmap_page* ring_ = nullptr;
};

void print(const Pages& pages, double seconds) {
  double sum[kThreads][kThreads] = {};
  for (const auto& [page, faults] : pages)
    for (std::size_t i = 0; i < kThreads; ++i)
      for (std::size_t j = 0; j < kThreads; ++j) sum[i][j] += std::min(faults[i], faults[j]);
  std::printf("%zu pages; the watcher used %.1f ms of CPU in %.0f s\n", pages.size(),
              1e3 * static_cast<double>(std::clock()) / CLOCKS_PER_SEC, seconds);
  for (std::size_t i = 0; i < kThreads; ++i) {
    std::printf("thread %zu:", i);
    for (std::size_t j = 0; j < kThreads; ++j) std::printf(" %6.0f", i == j ? 0 : sum[i][j]);
    std::printf("\n");
  }
}

int watch(pid_t child, double seconds) {
  std::vector<Faults> threads;
  for (const pid_t tid : threads_of(child)) threads.emplace_back(tid);
  if (!std::all_of(threads.begin(), threads.end(), [](const Faults& f) { return f.valid(); })) {
    std::printf("perf_event_open: %s (kernel.perf_event_paranoid)\n", std::strerror(errno));
    return 0;
  }
  Pages pages;
  for (const auto end = Clock::now() + std::chrono::duration<double>(seconds);
       Clock::now() < end;) {
    usleep(50000);
    for (std::size_t thread = 0; thread < kThreads; ++thread) threads[thread].take(thread, pages);
  }
  print(pages, seconds);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::string how = argv[1];
  const double seconds = std::atof(argv[2]);
  const pid_t child = fork();
  if (child == 0) run_threads(how);
  const int status = watch(child, seconds);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return status;
}
