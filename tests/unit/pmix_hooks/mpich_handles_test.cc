// SPDX-License-Identifier: Apache-2.0
#include "pmix_hooks/rank/mpich_handles.h"

#include "tests/unit/catch.h"

using namespace ondeloc;

namespace {

struct Predefined {
  std::uintptr_t type;  // the values of MPI 5.0, appendix A
  std::uint64_t bytes;
};

// Puts the handles of MPICH back at its end.
struct InStandardForm {
  InStandardForm() { mpich_handles_start(true); }
  ~InStandardForm() { mpich_handles_start(false); }
};

}  // namespace

TEST_CASE("handles of the standard tell the size of C's types") {
  const Predefined types[] = {{0x201, sizeof(void*)},            // MPI_AINT
                              {0x202, 8},                        // MPI_COUNT
                              {0x203, 8},                        // MPI_OFFSET
                              {0x207, 1},                        // MPI_PACKED
                              {0x208, sizeof(short)},            // MPI_SHORT
                              {0x209, sizeof(int)},              // MPI_INT
                              {0x20a, sizeof(long)},             // MPI_LONG
                              {0x20b, sizeof(long long)},        // MPI_LONG_LONG
                              {0x20c, sizeof(short)},            // MPI_UNSIGNED_SHORT
                              {0x20d, sizeof(int)},              // MPI_UNSIGNED
                              {0x20e, sizeof(long)},             // MPI_UNSIGNED_LONG
                              {0x20f, sizeof(long long)},        // MPI_UNSIGNED_LONG_LONG
                              {0x210, sizeof(float)},            // MPI_FLOAT
                              {0x212, 2 * sizeof(float)},        // MPI_C_FLOAT_COMPLEX
                              {0x214, sizeof(double)},           // MPI_DOUBLE
                              {0x216, 2 * sizeof(double)},       // MPI_C_DOUBLE_COMPLEX
                              {0x220, sizeof(long double)},      // MPI_LONG_DOUBLE
                              {0x224, 2 * sizeof(long double)},  // MPI_C_LONG_DOUBLE_COMPLEX
                              {0x238, sizeof(bool)},             // MPI_C_BOOL
                              {0x23c, sizeof(wchar_t)}};         // MPI_WCHAR
  for (const Predefined& one : types) CHECK(standard_abi::predefined_bytes(one.type) == one.bytes);
}

TEST_CASE("handles of the standard tell the size of types of fixed size") {
  const Predefined types[] = {{0x240, 1},  {0x243, 1},    // MPI_INT8_T MPI_CHAR
                              {0x247, 1},  {0x248, 2},    // MPI_BYTE MPI_INT16_T
                              {0x250, 4},  {0x259, 8},    // MPI_INT32_T MPI_UINT64_T
                              {0x2c0, 1},  {0x2ca, 2},    // MPI_LOGICAL1 MPI_REAL2
                              {0x2d2, 4},  {0x2da, 8},    // MPI_REAL4 MPI_REAL8
                              {0x2db, 8},  {0x2e2, 16},   // MPI_COMPLEX8 MPI_REAL16
                              {0x2e3, 16}, {0x2eb, 32}};  // MPI_COMPLEX16 MPI_COMPLEX32
  for (const Predefined& one : types) CHECK(standard_abi::predefined_bytes(one.type) == one.bytes);
}

TEST_CASE("the library is asked for types that depend on it and for derived types") {
  for (const std::uintptr_t type : {0x218, 0x219, 0x21a, 0x21d, 0x230, 0x228, 0x1ff, 0x300, 0})
    CHECK(standard_abi::predefined_bytes(type) == 0);
  CHECK(standard_abi::predefined_bytes(0x7f0000000209) == 0);
}

TEST_CASE("the levels of threads of the standard are the usual ones") {
  CHECK(standard_abi::thread_level(0) == 0);
  CHECK(standard_abi::thread_level(1024) == 1);
  CHECK(standard_abi::thread_level(2048) == 2);
  CHECK(standard_abi::thread_level(4096) == 3);
  CHECK(standard_abi::thread_level(3) == 3);
}

TEST_CASE("MPICH's own handles have 32 bits, in words and in arrays") {
  const std::uint32_t array[] = {0x44000000, 0x84000001};
  CHECK(mpich_bits(word_of_bits(0xdead00004c00080b)) == 0x4c00080b);
  CHECK(mpich_handle_in(array, 1) == word_of_bits(0x84000001));
  CHECK(mpich_predefined_bytes<false>(word_of_bits(0xdead00004c00080b)) == 8);
  CHECK(mpich_predefined_bytes<false>(word_of_bits(0x8c000001)) == 0);
  CHECK(mpich_is_predefined_op(word_of_bits(0x58000003)));
  CHECK_FALSE(mpich_is_predefined_op(word_of_bits(0x98000000)));
}

TEST_CASE("handles of the standard have 64 bits, in words and in arrays") {
  const InStandardForm form;
  const std::uint64_t array[] = {0x101, 0x7f0000000010};
  CHECK(mpich_bits(word_of_bits(0x7f0000000010)) == 0x7f0000000010);
  CHECK(mpich_handle_in(array, 1) == word_of_bits(0x7f0000000010));
  CHECK(mpich_handle_at(array) == word_of_bits(mpich_handles.comm_world));
  CHECK(mpich_is_predefined_op(word_of_bits(0x21)));
  CHECK_FALSE(mpich_is_predefined_op(word_of_bits(0x7f0000000010)));
  CHECK(mpich_handles.root == -4);
  CHECK(mpich_handles.proc_null == -3);
}
