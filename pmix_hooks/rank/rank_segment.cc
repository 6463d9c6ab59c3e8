// SPDX-License-Identifier: Apache-2.0
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "pmix_hooks/rank/rank_segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "mapcore/segment/header_check.h"
#include "mapcore/segment/peer_cells.h"
#include "mapcore/segment/used_cells.h"

namespace ondeloc {
namespace {

bool sealed(int fd) {
  const int wanted = F_SEAL_SHRINK | F_SEAL_GROW;
  const int seals = fcntl(fd, F_GET_SEALS);
  return seals >= 0 && (seals & wanted) == wanted;
}

bool read_header(int fd, ondeloc_header& header) {
  if (fd < 0 || !sealed(fd)) return false;
  const off_t size = lseek(fd, 0, SEEK_END);  // fstat would need a C library of 2.33
  if (size < 0) return false;
  if (pread(fd, &header, sizeof(header), 0) != static_cast<ssize_t>(sizeof(header))) return false;
  return ondeloc_header_fault(&header, static_cast<std::uint64_t>(size)) == nullptr;
}

}  // namespace

bool RankSegment::open(const StepEnv& step) {
  if (!read_header(step.fd, header_)) return false;
  if (header_.world_ranks != step.world_ranks || header_.local_ranks != step.local_ranks)
    return false;
  void* memory =
      mmap(nullptr, header_.segment_size, PROT_READ | PROT_WRITE, MAP_SHARED, step.fd, 0);
  if (memory == MAP_FAILED) return false;
  base_ = static_cast<char*>(memory);
  return true;
}

LocalTable RankSegment::table() const {
  const auto* table =
      reinterpret_cast<const std::atomic<std::uint32_t>*>(base_ + header_.table_offset);
  return {table, header_.world_ranks, header_.local_ranks};
}

int RankSegment::local_of(std::uint32_t world) const {
  if (world >= header_.world_ranks) return -1;
  const std::uint32_t local = table().local_of_world[world].load(std::memory_order_relaxed);
  return local == 0 || local > header_.local_ranks ? -1 : static_cast<int>(local) - 1;
}

ondeloc_slot& RankSegment::slot(int local) const {
  return reinterpret_cast<ondeloc_slot*>(base_ + header_.slots_offset)[local];
}

ondeloc_cell* RankSegment::row(int local) const {
  const std::uint64_t offset = static_cast<std::uint64_t>(local) * header_.row_stride;
  return reinterpret_cast<ondeloc_cell*>(base_ + header_.rows_offset + offset);
}

const std::uint64_t* RankSegment::tick() const {
  return &reinterpret_cast<const ondeloc_header*>(base_)->tick;
}

void RankSegment::tell_start() const {
  __atomic_store_n(&reinterpret_cast<ondeloc_header*>(base_)->mpi_starts, 1U, __ATOMIC_RELAXED);
}

bool RankSegment::start_recording(int local, ChannelWriter& writer) const {
  if (base_ == nullptr || header_.record_cells == 0) return false;
  const std::uint64_t offset =
      ondeloc_places_of(header_.local_ranks, header_.world_ranks).segment_size;
  writer.start(base_ + offset, header_.local_ranks, header_.record_cells,
               static_cast<std::uint32_t>(local));
  return true;
}

bool RankSegment::claim(int local) const {
  std::int32_t nobody = 0;
  return __atomic_compare_exchange_n(&slot(local).owner_pid, &nobody, getpid(), false,
                                     __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

void RankSegment::note(int local, std::uint32_t bits) const {
  __atomic_fetch_or(&slot(local).notes, bits, __ATOMIC_RELAXED);
}

void RankSegment::touch_row(int local) const {
  auto* memory = reinterpret_cast<char*>(row(local));
  for (std::uint64_t at = 0; at < header_.row_cells * sizeof(ondeloc_cell); at += ONDELOC_PAGE)
    __atomic_store_n(reinterpret_cast<std::uint64_t*>(memory + at), 0, __ATOMIC_RELAXED);
  const PeerCells peers = peer_cells_of(row(local), header_.local_ranks, header_.world_ranks);
  for (std::uint32_t i = 0; i < peers.count; i += ONDELOC_PAGE / sizeof(*peers.keys))
    __atomic_store_n(&peers.keys[i], 0, __ATOMIC_RELAXED);
  // These lie on two pages at most.
  const UsedCells used = used_cells_of(row(local), header_.local_ranks, header_.world_ranks);
  __atomic_store_n(&used.words[0], 0, __ATOMIC_RELAXED);
  __atomic_store_n(&used.words[used.count - 1], 0, __ATOMIC_RELAXED);
}

}  // namespace ondeloc
