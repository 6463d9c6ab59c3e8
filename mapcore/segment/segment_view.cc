// SPDX-License-Identifier: Apache-2.0
#include "mapcore/segment/segment_view.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace ondeloc {
namespace {

template <class T>
T load(T& shared, std::memory_order order = std::memory_order_relaxed) {
  return std::atomic_ref<T>(shared).load(order);
}

Status check_file(int fd, std::uint64_t& size) {
  struct stat file {};
  if (fstat(fd, &file) != 0) return Error::from_errno("segment: fstat");
  const int seals = fcntl(fd, F_GET_SEALS);
  const int wanted = F_SEAL_SHRINK | F_SEAL_GROW;
  if (seals < 0 || (seals & wanted) != wanted)
    return Error("segment: the file is not sealed against a change of size");
  if (file.st_size < static_cast<off_t>(sizeof(ondeloc_header)))
    return Error("segment: the file is too short for a header");
  size = static_cast<std::uint64_t>(file.st_size);
  return {};
}

void copy_task_part(ondeloc_slot& shared, ondeloc_slot& copy) {
  copy.task_state = load(shared.task_state, std::memory_order_acquire);
  copy.world_rank = load(shared.world_rank);
  copy.task_pid = load(shared.task_pid);
  copy.mask_words = std::min(load(shared.mask_words), ONDELOC_MASK_WORDS);
  copy.task_start = load(shared.task_start);
  for (std::uint32_t w = 0; w < copy.mask_words; ++w) copy.mask[w] = load(shared.mask[w]);
}

void copy_rank_part(ondeloc_slot& shared, ondeloc_slot& copy) {
  copy.rank_state = load(shared.rank_state, std::memory_order_acquire);
  copy.owner_pid = load(shared.owner_pid);
  copy.notes = load(shared.notes);
  copy.modelled_bytes = load(shared.modelled_bytes);
  copy.modelled_messages = load(shared.modelled_messages);
  copy.thread_level = load(shared.thread_level);
  for (std::size_t c = 0; c + 1 < sizeof(copy.library); ++c)
    copy.library[c] = load(shared.library[c]);
}

}  // namespace

Result<SegmentView> SegmentView::open(int fd) {
  std::uint64_t size = 0;
  if (Status good = check_file(fd, size); !good) return std::move(good).error();
  ondeloc_header header{};
  if (pread(fd, &header, sizeof(header), 0) != sizeof(header))
    return Error::from_errno("segment: reading the header");
  if (const char* fault = ondeloc_header_fault(&header, size))
    return Error(std::string("segment: ") + fault);
  void* base = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (base == MAP_FAILED) return Error::from_errno("segment: mmap");
  return SegmentView(static_cast<char*>(base), header);
}

SegmentView::~SegmentView() {
  if (base_ != nullptr) munmap(base_, header_.segment_size);
}

ondeloc_header* SegmentView::shared_header() const {
  return reinterpret_cast<ondeloc_header*>(base_);
}

ondeloc_slot* SegmentView::slot_at(int local) const {
  return reinterpret_cast<ondeloc_slot*>(base_ + header_.slots_offset) + local;
}

ondeloc_slot SegmentView::slot(int local) const {
  ondeloc_slot copy{};
  ondeloc_slot& shared = *slot_at(local);
  copy_task_part(shared, copy);
  copy_rank_part(shared, copy);
  return copy;
}

SegmentView::RankPart SegmentView::rank_part(int local) const {
  ondeloc_slot& shared = *slot_at(local);
  return {load(shared.rank_state, std::memory_order_acquire),
          load(shared.notes),
          {load(shared.modelled_bytes), load(shared.modelled_messages)}};
}

ondeloc_cell* SegmentView::row_of(int local) const {
  const auto index = static_cast<std::uint64_t>(local);
  return reinterpret_cast<ondeloc_cell*>(base_ + header_.rows_offset + index * header_.row_stride);
}

ondeloc_cell* SegmentView::row_at(int local) const {
  const std::uint32_t state = load(slot_at(local)->rank_state, std::memory_order_acquire);
  return state == ONDELOC_RANK_NONE ? nullptr : row_of(local);
}

ondeloc_cell SegmentView::off_node_in(ondeloc_cell* row, bool fetched) const {
  ondeloc_cell sum = read(half_of(row, fetched)[local_ranks()]);
  each_off_node_in(row, fetched, [&](std::uint32_t, const ondeloc_cell& cell) {
    sum.bytes += cell.bytes;
    sum.messages += cell.messages;
  });
  return sum;
}

bool SegmentView::read_row(int local, std::span<ondeloc_cell> cells) const {
  ondeloc_cell* const row = row_at(local);
  std::fill(cells.begin(), cells.end(), ondeloc_cell{});
  if (row == nullptr) return false;
  const auto ranks = static_cast<std::size_t>(local_ranks());
  for (std::size_t j = 0; j < std::min(cells.size(), ranks); ++j) cells[j] = read(row[j]);
  if (cells.size() > ranks) cells[ranks] = off_node_in(row, false);
  return true;
}

bool SegmentView::fetches(int local) const {
  const RankPart rank = rank_part(local);
  return rank.rank_state != ONDELOC_RANK_NONE && (rank.notes & ONDELOC_NOTE_ONE_SIDED) != 0;
}

ondeloc_cell SegmentView::fetched(int local, int from) const {
  ondeloc_cell* const row = row_of(local);
  return from < local_ranks() ? read(half_of(row, true)[from]) : off_node_in(row, true);
}

void SegmentView::prefetch(int local) const {
  const auto marks = [this](int of) {
    return used_cells_of(row_of(of), header_.local_ranks, header_.world_ranks);
  };
  if (local + 1 < local_ranks()) __builtin_prefetch(marks(local + 1).words);
  ondeloc_cell* const row = local < local_ranks() ? row_at(local) : nullptr;
  if (row == nullptr) return;
  constexpr std::uint32_t kCellsOfLine = 64 / sizeof(ondeloc_cell);
  marks(local).each([row, line = ~0U](std::uint32_t at) mutable {
    if (at / kCellsOfLine != std::exchange(line, at / kCellsOfLine)) __builtin_prefetch(row + at);
  });
}

int SegmentView::local_of_world(std::uint32_t world) const {
  if (world >= header_.world_ranks) return -1;
  auto* table = reinterpret_cast<std::uint32_t*>(base_ + header_.table_offset);
  const std::uint32_t entry = load(table[world]);
  return entry == 0 || entry > header_.local_ranks ? -1 : static_cast<int>(entry) - 1;
}

char* SegmentView::channel() const {
  if (header_.record_cells == 0) return nullptr;
  return base_ + ondeloc_places_of(header_.local_ranks, header_.world_ranks).segment_size;
}

bool SegmentView::mpi_starts() const { return load(shared_header()->mpi_starts) != 0; }

std::uint64_t SegmentView::tick() const { return load(shared_header()->tick); }

void SegmentView::raise_tick() {
  std::atomic_ref<std::uint64_t>(shared_header()->tick).fetch_add(1, std::memory_order_relaxed);
}

void SegmentView::set_mapper_pid(std::int32_t pid) {
  std::atomic_ref<std::uint32_t>(shared_header()->mapper_pid)
      .store(static_cast<std::uint32_t>(pid), std::memory_order_relaxed);
}

}  // namespace ondeloc
