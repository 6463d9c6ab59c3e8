// SPDX-License-Identifier: MIT
// The plugin of `ondeloc threads record`, loaded into QEMU's emulation of one program. Words:
//   fd=N      an open memory file of the size of SharedCounts, which the plugin maps and closes
//   table=B llc=B sample=N   FollowerSettings
#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "mapcore/threads/plugin/follower.h"
#include "mapcore/threads/plugin/instruction.h"
#include "mapcore/threads/plugin/qemu_plugin.h"

#define ONDELOC_EXPORT __attribute__((visibility("default")))

extern "C" ONDELOC_EXPORT int qemu_plugin_version;
int qemu_plugin_version = 1;

namespace ondeloc_threads {
namespace {

// QEMU's callbacks carry no object, so the process has one of each. Never freed: threads of QEMU
// outlive the plugin's end.
SharedCounts* counts = nullptr;
Follower* follower = nullptr;
unsigned thread_of_vcpu[kMostThreads];  // QEMU uses the number of a vCPU again after its thread
char first_name[kNameBytes];            // threads without a name of their own have it
bool following = false;                 // false in children after fork()
// The plugin learns the number of a thread first and its function later.
enum class Known { kNothing, kNumber, kFunction };
thread_local Known known = Known::kNothing;

// QEMU reads the version before it calls the plugin. QEMU 9 and later refuse version 1, earlier
// ones version 2; the function came with version 2.
__attribute__((constructor)) void choose_version() {
  if (dlsym(RTLD_DEFAULT, "qemu_plugin_num_vcpus") != nullptr) qemu_plugin_version = 2;
}

Code code_of(const qemu_plugin_insn* instruction) {
  using Pointer = const void* (*)(const qemu_plugin_insn*);
  Code code{};
  if (qemu_plugin_version == 1) {
    const auto data = reinterpret_cast<Pointer>(reinterpret_cast<void*>(&qemu_plugin_insn_data));
    const std::size_t size = qemu_plugin_insn_size(instruction);
    if (const void* bytes = data(instruction))
      std::memcpy(code.data(), bytes, size < code.size() ? size : code.size());
  } else {
    qemu_plugin_insn_data(instruction, code.data(), code.size());
  }
  return code;
}

void put_text(char* place, std::size_t size, const char* text) {
  std::memcpy(place, text, strnlen(text, size - 1));
}

// The first instruction of the program's own code that touches memory is in the function with which
// the thread began: the code before it belongs to libraries, of which QEMU knows no symbols.
void meet(ThreadCounts& mine, const void* function) {
  if (known == Known::kNothing)
    mine.tid.store(static_cast<std::int32_t>(syscall(SYS_gettid)), std::memory_order_relaxed);
  known = function == nullptr ? Known::kNumber : Known::kFunction;
  if (function != nullptr)
    put_text(mine.function, sizeof mine.function, static_cast<const char*>(function));
}

template <bool kIsAtomic>
void on_access(unsigned vcpu, qemu_plugin_meminfo_t info, std::uint64_t address, void* function) {
  if (!following || vcpu >= kMostThreads) return;
  const unsigned thread = thread_of_vcpu[vcpu];
  if (thread >= kMostThreads) return;
  if (known == Known::kNothing || (known == Known::kNumber && function != nullptr))
    meet(counts->thread[thread], function);
  const Access kind = !qemu_plugin_mem_is_store(info) ? Access::kRead
                      : kIsAtomic                     ? Access::kExchange
                                                      : Access::kWrite;
  follower->access(thread, address, 1U << qemu_plugin_mem_size_shift(info), kind);
}

void on_translation(qemu_plugin_id_t, qemu_plugin_tb* block) {
  const std::size_t count = qemu_plugin_tb_n_insns(block);
  for (std::size_t i = 0; i < count; ++i) {
    qemu_plugin_insn* instruction = qemu_plugin_tb_get_insn(block, i);
    const char* symbol = qemu_plugin_insn_symbol(instruction);
    if (symbol != nullptr && *symbol == 0) symbol = nullptr;
    qemu_plugin_register_vcpu_mem_cb(
        instruction, is_atomic(code_of(instruction)) ? on_access<true> : on_access<false>,
        QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW, const_cast<char*>(symbol));
  }
}

// Called in the order in which the program creates threads.
void on_thread(qemu_plugin_id_t, unsigned vcpu) {
  if (!following) return;
  const unsigned thread = counts->threads.fetch_add(1, std::memory_order_relaxed);
  if (vcpu < kMostThreads) thread_of_vcpu[vcpu] = thread;
}

void take_name(ThreadCounts& thread, const char* name) {
  if (std::strcmp(name, first_name) != 0) put_text(thread.name, sizeof thread.name, name);
}

void on_thread_end(qemu_plugin_id_t, unsigned vcpu) {
  char name[kNameBytes] = "";
  if (!following || vcpu >= kMostThreads || thread_of_vcpu[vcpu] >= kMostThreads) return;
  ThreadCounts& thread = counts->thread[thread_of_vcpu[vcpu]];
  if (thread.tid.load(std::memory_order_relaxed) == syscall(SYS_gettid) &&
      prctl(PR_GET_NAME, name) == 0)
    take_name(thread, name);
}

// Takes the names of the threads that live until the program ends.
void on_end(qemu_plugin_id_t, void*) {
  if (!following) return;
  const unsigned threads = counts->threads.load(std::memory_order_relaxed);
  for (unsigned t = 0; t < threads && t < kMostThreads; ++t) {
    char path[64], name[kNameBytes + 1] = "";
    std::snprintf(path, sizeof path, "/proc/self/task/%d/comm",
                  counts->thread[t].tid.load(std::memory_order_relaxed));
    std::FILE* file = std::fopen(path, "re");
    if (file == nullptr) continue;
    if (std::fgets(name, sizeof name, file) != nullptr) {
      name[std::strcspn(name, "\n")] = 0;
      take_name(counts->thread[t], name);
    }
    std::fclose(file);
  }
  counts->ended.store(1, std::memory_order_relaxed);
}

struct Words {
  FollowerSettings settings;
  int fd = -1;
};

bool parse(std::string_view word, Words& words) {
  const std::size_t sign = word.find('=');
  if (sign == word.npos) return false;
  const std::string_view key = word.substr(0, sign);
  const std::uint64_t value = std::strtoull(word.data() + sign + 1, nullptr, 10);
  if (key == "fd")
    words.fd = static_cast<int>(value);
  else if (key == "table")
    words.settings.table_bytes = value;
  else if (key == "llc")
    words.settings.llc_bytes = value;
  else if (key == "sample")
    words.settings.sample = static_cast<std::uint32_t>(value);
  else
    return false;
  return true;
}

const char* install(qemu_plugin_id_t id, const qemu_info_t& info, int count, char** texts) {
  Words words;
  for (int i = 0; i < count; ++i)
    if (!parse(texts[i], words)) return "a word is not known; start it by 'ondeloc threads record'";
  if (info.system_emulation) return "this is not QEMU's emulation of programs; start qemu-x86_64";
  void* memory =
      ::mmap(nullptr, sizeof(SharedCounts), PROT_READ | PROT_WRITE, MAP_SHARED, words.fd, 0);
  if (memory == MAP_FAILED) return "the counts cannot be mapped";
  ::close(words.fd);
  counts = static_cast<SharedCounts*>(memory);
  follower = new Follower(words.settings, *counts);
  if (!follower->valid()) {
    counts->magic.store(kRefused, std::memory_order_release);
    return "there is no memory for the table of lines; make it smaller with --table";
  }
  prctl(PR_GET_NAME, first_name);
  pthread_atfork(nullptr, nullptr, [] { following = false; });
  qemu_plugin_register_vcpu_init_cb(id, on_thread);
  qemu_plugin_register_vcpu_exit_cb(id, on_thread_end);
  qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
  qemu_plugin_register_atexit_cb(id, on_end, nullptr);
  following = true;
  counts->magic.store(kMagic, std::memory_order_release);
  return nullptr;
}

}  // namespace
}  // namespace ondeloc_threads

extern "C" ONDELOC_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t* info,
                                                  int argc, char** argv) {
  const char* problem = ondeloc_threads::install(id, *info, argc, argv);
  if (problem == nullptr) return 0;
  std::fprintf(stderr, "ondeloc: the plugin for QEMU cannot follow the program: %s\n", problem);
  return -1;
}
