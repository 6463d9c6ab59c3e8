// SPDX-License-Identifier: Apache-2.0
#include "mapcore/binding/page_map.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/catch.h"

using namespace ondeloc;

namespace {

// Private memory of 1024 pages, none of them touched.
class Memory {
 public:
  Memory()
      : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))),
        memory_(static_cast<char*>(mmap(nullptr, 1024 * page_, PROT_READ | PROT_WRITE,
                                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    REQUIRE(memory_ != MAP_FAILED);
    madvise(memory_, 1024 * page_, MADV_NOHUGEPAGE);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() { munmap(memory_, 1024 * page_); }
  std::uintptr_t at(int page) const {
    return reinterpret_cast<std::uintptr_t>(memory_) + static_cast<std::size_t>(page) * page_;
  }
  void touch(int page) { memory_[static_cast<std::size_t>(page) * page_] = 1; }

 private:
  std::size_t page_;
  char* memory_;
};

bool tells() { return access("/proc/self/pagemap", R_OK) == 0; }

}  // namespace

TEST_CASE("only addresses with a page of the process alone are found") {
  if (!tells()) ONDELOC_SKIP("this kernel has no /proc/self/pagemap");
  Memory memory;
  for (const int page : {3, 600, 601, 1023}) memory.touch(page);
  const PageMap map(getpid());
  std::vector<std::uintptr_t> pages;
  CHECK(map.append_pages(memory.at(0), memory.at(1024), 4096, pages) == memory.at(1024));
  CHECK(pages == std::vector{memory.at(3), memory.at(600), memory.at(601), memory.at(1023)});
  const pid_t child = fork();  // shares the pages until one of the two writes
  if (child == 0) {
    pause();
    _exit(0);
  }
  memory.touch(600);
  pages.clear();
  CHECK(map.append_pages(memory.at(0), memory.at(1024), 4096, pages) == memory.at(1024));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  CHECK(pages == std::vector{memory.at(600)});
}

TEST_CASE("a search for pages ends when enough are found, and goes on from there") {
  if (!tells()) ONDELOC_SKIP("this kernel has no /proc/self/pagemap");
  Memory memory;
  for (int page = 0; page < 10; ++page) memory.touch(page);
  const PageMap map(getpid());
  std::vector<std::uintptr_t> pages;
  const std::uint64_t next = map.append_pages(memory.at(0), memory.at(1024), 4, pages);
  CHECK(next == memory.at(4));
  CHECK(pages.size() == 4);
  pages.clear();
  map.append_pages(next, memory.at(1024), 4096, pages);
  CHECK(pages.size() == 6);
  CHECK(pages.front() == memory.at(4));
}

TEST_CASE("if the kernel does not tell, every address counts") {
  std::vector<std::uintptr_t> pages;
  const PageMap nobody(-1);
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  CHECK(nobody.append_pages(10 * page, 2000 * page, 1000, pages) == 1010 * page);
  CHECK(pages.size() == 1000);
}
