// SPDX-License-Identifier: Apache-2.0
// A vector whose positions have a strong id (ids.h): slots[mapping[rank]] needs no cast, and an id
// of another kind does not compile. Thread safety: as std::vector.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace ondeloc {

// The ids 0, 1, ..., count - 1, for range-based loops.
template <class Id>
class Ids {
 public:
  explicit Ids(std::size_t count) : end_(static_cast<int>(count)) {}
  struct Iterator {
    int at;
    Id operator*() const { return Id(at); }
    Iterator& operator++() { return ++at, *this; }
    bool operator==(const Iterator&) const = default;
  };
  Iterator begin() const { return {0}; }
  Iterator end() const { return {end_}; }

 private:
  int end_;
};

template <class Id, class T>
class IndexedVector : public std::vector<T> {
  using Base = std::vector<T>;

 public:
  using Base::Base;
  using Base::operator[];  // for code that counts positions
  IndexedVector(Base items) : Base(std::move(items)) {}

  typename Base::reference operator[](Id id) { return (*this)[static_cast<std::size_t>(id.value)]; }
  typename Base::const_reference operator[](Id id) const {
    return (*this)[static_cast<std::size_t>(id.value)];
  }
  bool has(Id id) const {
    return id.value >= 0 && static_cast<std::size_t>(id.value) < this->size();
  }
  Ids<Id> ids() const { return Ids<Id>(this->size()); }
};

}  // namespace ondeloc
