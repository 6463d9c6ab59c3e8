// SPDX-License-Identifier: Apache-2.0
// Calls of neighbourhood collectives, read from their arguments: MPICH sends one message to each
// neighbour.
#pragma once

#include "pmix_hooks/rank/mpich_call.h"
#include "pmix_hooks/rank/mpich_neighbours.h"

namespace ondeloc {

// `Bytes` has `to(words, index)`: the bytes for the neighbour with this index.
template <class Bytes, int kCommunicator>
struct Neighbourhood {
  static constexpr int kComm = kCommunicator;
  struct Visit {
    const Word* words;
    const Shape* shape;
  };
  static void read(const Word* words, Form, const Shape& shape) {
    Visit visit{words, &shape};
    each_neighbour(
        comm_at(words[kComm]), shape.communicator.rank,
        [](void* context, int index, int neighbour) {
          const auto* here = static_cast<const Visit*>(context);
          if (neighbour < 0 || neighbour >= here->shape->communicator.size) return;
          send_one_modelled(*here->shape, false, neighbour, Bytes::to(here->words, index));
        },
        &visit);
  }
};

// (send, count, type, ...): the same for all.
template <bool kLarge>
struct SameForAll {
  static std::uint64_t to(const Word* words, int) {
    return count_of<kLarge>(words[1]) * mpich_type_size(words[2]);
  }
};

// (send, counts, displacements, type(s), ...)
template <bool kTypes, bool kLarge>
struct OneForEach {
  static std::uint64_t to(const Word* words, int index) {
    return Alltoallv<kTypes, kLarge>::bytes_to(words, 1, index);
  }
};

template <bool kLarge>
using NeighbourAllgather = Neighbourhood<SameForAll<kLarge>, 6>;
template <bool kLarge>
using NeighbourAllgatherv = Neighbourhood<SameForAll<kLarge>, 7>;
template <bool kLarge>
using NeighbourAlltoall = Neighbourhood<SameForAll<kLarge>, 6>;
template <bool kTypes, bool kLarge>
using NeighbourAlltoallv = Neighbourhood<OneForEach<kTypes, kLarge>, 8>;

}  // namespace ondeloc
