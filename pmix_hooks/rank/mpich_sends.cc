// SPDX-License-Identifier: Apache-2.0
// Point-to-point messages of the MPICH family, counted at the names of its functions.
#include "pmix_hooks/rank/interposed.h"
#include "pmix_hooks/rank/mpich_counting.h"
#include "pmix_hooks/rank/mpich_requests.h"
#include "pmix_hooks/rank/mpich_shapes.h"
#include "pmix_hooks/rank/persistent.h"

namespace ondeloc {
namespace {

// Positions of the arguments that say what is sent.
struct SendArguments {
  int count, type, to, comm;
};
constexpr SendArguments kSend{1, 2, 3, 5};
constexpr SendArguments kSendrecv{1, 2, 3, 10};
constexpr SendArguments kReplace{1, 2, 3, 7};

template <const SendArguments& kAt, bool kLarge>
Addition addition_at(const Word* words) {
  return mpich_addition(count_of<kLarge>(words[kAt.count]), words[kAt.type], int_of(words[kAt.to]),
                        words[kAt.comm]);
}

template <const SendArguments& kAt, bool kLarge = false>
struct Send : CountedInMpich {
  using Found = Addition;
  static constexpr bool kFinds = true, kIsQuick = true;
  static Found find(const Word* words) { return addition_at<kAt, kLarge>(words); }
  static void add_found(const Found& found) { add_started(found); }
  template <bool kStandard>
  [[gnu::always_inline]] static KnownAddition quick(const Word* words) {
    return mpich_known_addition<kStandard>(count_of<kLarge>(words[kAt.count]), words[kAt.type],
                                           int_of(words[kAt.to]), words[kAt.comm]);
  }
  [[gnu::always_inline]] static void add(const KnownAddition& known) { mpich_add_known(known); }
};

template <const SendArguments& kAt, int kRequest, bool kLarge = false>
struct SendInit : CountedInMpich {
  static void count(const Word* words) {
    mpich_remember(words[kRequest], addition_at<kAt, kLarge>(words));
  }
};

struct CommFree : CountedInMpich {
  static constexpr bool kActsBefore = true;
  static void before(const Word* words) { mpich_forget_comm(words[0]); }
};

// `kNew`: the position of the address at which MPI stores the new communicator.
template <int kNew>
struct CommMade : CountedInMpich {
  static constexpr bool kActsAfter = true;
  static void after(const Word* words) { mpich_forget_comm(words[kNew]); }
};

}  // namespace
}  // namespace ondeloc

using namespace ondeloc;  // NOLINT: names of this file's classes, in macros

#define ONDELOC_SENDS(NAME) \
  ONDELOC_INTERPOSE(NAME, 6, Send<kSend>) ONDELOC_INTERPOSE(NAME##_c, 6, Send<kSend, true>)
#define ONDELOC_ISENDS(NAME) \
  ONDELOC_INTERPOSE(NAME, 7, Send<kSend>) ONDELOC_INTERPOSE(NAME##_c, 7, Send<kSend, true>)
#define ONDELOC_SEND_INITS(NAME)                 \
  ONDELOC_INTERPOSE(NAME, 7, SendInit<kSend, 6>) \
  ONDELOC_INTERPOSE(NAME##_c, 7, SendInit<kSend, 6, true>)

ONDELOC_SENDS(Send)
ONDELOC_SENDS(Bsend)
ONDELOC_SENDS(Ssend)
ONDELOC_SENDS(Rsend)
ONDELOC_ISENDS(Isend)
ONDELOC_ISENDS(Ibsend)
ONDELOC_ISENDS(Issend)
ONDELOC_ISENDS(Irsend)
ONDELOC_SEND_INITS(Send_init)
ONDELOC_SEND_INITS(Bsend_init)
ONDELOC_SEND_INITS(Ssend_init)
ONDELOC_SEND_INITS(Rsend_init)
ONDELOC_INTERPOSE(Sendrecv, 12, Send<kSendrecv>)
ONDELOC_INTERPOSE(Sendrecv_c, 12, Send<kSendrecv, true>)
ONDELOC_INTERPOSE(Isendrecv, 12, Send<kSendrecv>)
ONDELOC_INTERPOSE(Isendrecv_c, 12, Send<kSendrecv, true>)
ONDELOC_INTERPOSE(Sendrecv_replace, 9, Send<kReplace>)
ONDELOC_INTERPOSE(Sendrecv_replace_c, 9, Send<kReplace, true>)
ONDELOC_INTERPOSE(Isendrecv_replace, 9, Send<kReplace>)
ONDELOC_INTERPOSE(Isendrecv_replace_c, 9, Send<kReplace, true>)
ONDELOC_INTERPOSE(Comm_free, 1, CommFree)
ONDELOC_INTERPOSE(Comm_disconnect, 1, CommFree)
ONDELOC_INTERPOSE(Comm_dup, 2, CommMade<1>)
ONDELOC_INTERPOSE(Comm_dup_with_info, 3, CommMade<2>)
ONDELOC_INTERPOSE(Comm_idup, 3, CommMade<1>)
ONDELOC_INTERPOSE(Comm_idup_with_info, 4, CommMade<2>)
ONDELOC_INTERPOSE(Comm_create, 3, CommMade<2>)
ONDELOC_INTERPOSE(Comm_create_group, 4, CommMade<3>)
ONDELOC_INTERPOSE(Comm_split, 4, CommMade<3>)
ONDELOC_INTERPOSE(Comm_split_type, 5, CommMade<4>)
ONDELOC_INTERPOSE(Comm_accept, 5, CommMade<4>)
ONDELOC_INTERPOSE(Comm_connect, 5, CommMade<4>)
ONDELOC_INTERPOSE(Comm_join, 2, CommMade<1>)
ONDELOC_INTERPOSE(Comm_spawn, 8, CommMade<6>)
ONDELOC_INTERPOSE(Comm_spawn_multiple, 9, CommMade<7>)
ONDELOC_INTERPOSE(Intercomm_create, 6, CommMade<5>)
ONDELOC_INTERPOSE(Intercomm_merge, 3, CommMade<2>)
ONDELOC_INTERPOSE(Cart_create, 6, CommMade<5>)
ONDELOC_INTERPOSE(Cart_sub, 3, CommMade<2>)
ONDELOC_INTERPOSE(Graph_create, 6, CommMade<5>)
ONDELOC_INTERPOSE(Dist_graph_create, 9, CommMade<8>)
ONDELOC_INTERPOSE(Dist_graph_create_adjacent, 10, CommMade<9>)
