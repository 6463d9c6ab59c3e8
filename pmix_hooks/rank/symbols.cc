// SPDX-License-Identifier: Apache-2.0
#include "pmix_hooks/rank/symbols.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <atomic>
#include <cstring>

#include "pmix_hooks/open_mpi_facts.h"
#include "pmix_hooks/rank/text.h"

// Containers bring C libraries of their own, and one that lacks a version that is asked for ends
// every program. Until 2.34 these five were in libdl.so.2, under versions that libc.so.6 still has;
// weak, since a program without libdl.so.2 is then one without MPI.
#pragma weak dlopen
#pragma weak dlsym
#pragma weak dlclose
#pragma weak dladdr1
#pragma weak dlerror
#if __GLIBC_PREREQ(2, 34) && defined(__x86_64__)
__asm__(".symver dlopen,dlopen@GLIBC_2.2.5\n.symver dlsym,dlsym@GLIBC_2.2.5");
__asm__(".symver dlclose,dlclose@GLIBC_2.2.5\n.symver dladdr1,dladdr1@GLIBC_2.3.3");
__asm__(".symver dlerror,dlerror@GLIBC_2.2.5");
#elif __GLIBC_PREREQ(2, 34) && \
    (defined(__aarch64__) || (defined(__powerpc64__) && defined(__LITTLE_ENDIAN__)))
__asm__(".symver dlopen,dlopen@GLIBC_2.17\n.symver dlsym,dlsym@GLIBC_2.17");
__asm__(".symver dlclose,dlclose@GLIBC_2.17\n.symver dladdr1,dladdr1@GLIBC_2.17");
__asm__(".symver dlerror,dlerror@GLIBC_2.17");
#endif

namespace ondeloc {
namespace {

// The path of the loaded object with this number; empty if the path is too long.
struct ObjectPath {
  int number;
  char path[512];
};

int stop_there(dl_phdr_info* object, std::size_t, void* data) {
  auto* wanted = static_cast<ObjectPath*>(data);
  if (wanted->number-- > 0) return 0;
  const bool fits = std::strlen(object->dlpi_name) < sizeof wanted->path;
  copy_text(wanted->path, fits ? object->dlpi_name : "");
  return 1;
}

// The first loaded library that `is_it(path, handle)` accepts, which stays loaded. dlopen must not
// be called from inside dl_iterate_phdr, hence one call for each object.
template <typename IsIt>
void* find_library(IsIt is_it) {
  ObjectPath object;
  for (int number = 0;; ++number) {
    object.number = number;
    if (dl_iterate_phdr(stop_there, &object) == 0) return nullptr;
    if (object.path[0] == '\0') continue;
    void* handle = dlopen(object.path, RTLD_LAZY | RTLD_NOLOAD);
    if (handle == nullptr) continue;
    if (is_it(object.path, handle)) return handle;
    dlclose(handle);
  }
}

void* open_mpi_library() {
  if (void* handle = dlopen(open_mpi::kLibraryName, RTLD_LAZY | RTLD_NOLOAD)) return handle;
  return find_library([](const char* path, void* handle) {
    return std::strstr(path, "/libmpi") != nullptr && dlsym(handle, "PMPI_Init") != nullptr;
  });
}

void* mpi_library() {
  static std::atomic<void*> cached{nullptr};
  void* handle = cached.load(std::memory_order_acquire);
  if (handle != nullptr) return handle;
  handle = open_mpi_library();
  cached.store(handle, std::memory_order_release);
  return handle;
}

struct CodeQuery {
  ElfW(Addr) address;
  bool found;
};

int look_for_code(dl_phdr_info* object, std::size_t, void* data) {
  auto* query = static_cast<CodeQuery*>(data);
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = object->dlpi_phdr[i];
    const ElfW(Addr) start = object->dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_LOAD && (part.p_flags & PF_X) != 0 && query->address >= start &&
        query->address < start + part.p_memsz)
      query->found = true;
  }
  return query->found ? 1 : 0;
}

// A library that brings its own MPI_Init (the stubs of a sequential MUMPS or LAMMPS) and was loaded
// without RTLD_GLOBAL, as Python does it, is found neither behind this one nor by its name.
void* symbol_of_any_library(const char* name) {
  const void* ours = dlsym(RTLD_DEFAULT, name);
  void* found = nullptr;
  find_library([&](const char*, void* handle) {
    found = dlsym(handle, name);
    if (found == ours) found = nullptr;
    return found != nullptr;
  });
  return found;
}

bool has_mpi_from_start;

// Before the program's own constructors: nothing has been loaded by hand yet.
[[gnu::constructor(101)]] void look_for_mpi() {
  has_mpi_from_start = dlsym != nullptr && dlsym(RTLD_NEXT, "MPI_Init") != nullptr;
  // The program has not failed to find anything yet, and may ask.
  if (!has_mpi_from_start && dlerror != nullptr) dlerror();
}

// The symbol as the object that contains `address` sees it, in itself and in the objects that it
// was linked with. Null for the program itself, which has the global view.
void* symbol_in_reach_of(const void* address, const char* name) {
  Dl_info info;
  link_map* object = nullptr;
  if (dladdr1 == nullptr ||
      dladdr1(address, &info, reinterpret_cast<void**>(&object), RTLD_DL_LINKMAP) == 0)
    return nullptr;
  if (object == nullptr || object->l_name == nullptr || object->l_name[0] == '\0') return nullptr;
  void* handle = dlopen(object->l_name, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return nullptr;
  void* found = dlsym(handle, name);
  if (found != nullptr && found != dlsym(RTLD_DEFAULT, name)) return found;  // and it stays loaded
  dlclose(handle);
  return nullptr;
}

}  // namespace

void* next_symbol(const char* name) {
  return has_mpi_from_start ? dlsym(RTLD_NEXT, name) : nullptr;
}

NextFunction local_symbol(const char* name, const void* caller) {
  if (dlsym == nullptr) return {nullptr, false};
  void* counted = mpi_symbol(name);
  void* next = dlsym(RTLD_NEXT, name);
  if (void* own = symbol_in_reach_of(caller, name)) return {own, own != counted && own != next};
  if (next != nullptr) return {next, false};
  if (counted != nullptr) return {counted, false};
  void* any = symbol_of_any_library(name);
  return {any, any != nullptr};
}

void* mpi_symbol(const char* name) {
  void* library = mpi_library();
  return library == nullptr ? nullptr : dlsym(library, name);
}

void* mpi_object(const char* name) {
  if (void* global = dlsym(RTLD_DEFAULT, name)) return global;
  return mpi_symbol(name);
}

void* pmix_symbol(const char* name) {
  if (void* global = dlsym(RTLD_DEFAULT, name)) return global;
  void* library = dlopen("libpmix.so.2", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  void* local = dlsym(library, name);
  dlclose(library);  // MPI holds it
  return local;
}

bool is_code(const void* address) {
  CodeQuery query{reinterpret_cast<ElfW(Addr)>(address), false};
  dl_iterate_phdr(look_for_code, &query);
  return query.found;
}

unsigned long symbol_size(const void* address) {
  Dl_info info;
  ElfW(Sym)* symbol = nullptr;
  if (dladdr1 == nullptr ||
      dladdr1(address, &info, reinterpret_cast<void**>(&symbol), RTLD_DL_SYMENT) == 0)
    return 0;
  if (symbol == nullptr || info.dli_saddr != address) return 0;
  return symbol->st_size;
}

}  // namespace ondeloc
