// SPDX-License-Identifier: Apache-2.0
// Every fact about Open MPI's inside that the rank library depends on. Only the rank library uses
// them. open_mpi_table.cc checks each fact at attach as far as possible; a library that does not
// pass is left alone.
//
// Source: ompi/mca/pml/pml.h and ompi/include/mpi.h.in at v4.1.4, v4.1.8, v5.0.9 and branch v6.0.x.
//   - `mca_pml` is an exported global struct; every point-to-point message and every collective
//     that is made of messages is sent by a call through one of its entries (MCA_PML_CALL).
//   - It begins with function pointers in the order below; revoke_comm came with 5.0.
//   - Handles are pointers to objects; predefined objects are exported under the names below.
#pragma once

#include <cstddef>

namespace ondeloc::open_mpi {

using Handle = void*;  // MPI_Comm, MPI_Datatype, MPI_Group, MPI_Request

inline constexpr char kLibraryName[] = "libmpi.so.40";  // 4.0 to 6.0
inline constexpr char kVersionPrefix[] = "Open MPI v";  // of MPI_Get_library_version
inline constexpr char kPmlTable[] = "mca_pml";
inline constexpr char kCommWorld[] = "ompi_mpi_comm_world";

inline constexpr char kNoOp[] = "ompi_mpi_op_no_op";

inline constexpr int kSuccess = 0;         // MPI_SUCCESS, OMPI_SUCCESS
inline constexpr int kErrOther = 16;       // MPI_ERR_OTHER
inline constexpr int kThreadMultiple = 3;  // MPI_THREAD_MULTIPLE
// An error code apart, MPI_UNDEFINED (-32766) and MPI_PROC_NULL (-2) need no name here: whatever
// is not a rank of this node is off the node.

// Positions in the table.
struct PmlIndexes {
  int del_comm;
  int irecv_init;
  int isend_init;
  int isend;
  int send;
  int start;
  int functions;          // leading entries that are code or empty: up to and including start
  std::size_t min_bytes;  // the symbol is at least this long: all pointers and the limits behind
  std::size_t max_bytes;
};

// 4.x: add_procs del_procs enable progress add_comm del_comm irecv_init irecv recv isend_init isend
// send iprobe probe start improbe mprobe imrecv mrecv dump ft_event | max_contextid max_tag flags.
inline constexpr PmlIndexes kSeries4{5, 6, 9, 10, 11, 14, 15, 21 * 8 + 12, 21 * 8 + 24};
// 5.x and 6.x: revoke_comm after del_comm, no ft_event, get_transports at the end.
inline constexpr PmlIndexes kSeries5{5, 7, 10, 11, 12, 15, 16, 21 * 8 + 12, 22 * 8 + 32};

// Signatures of the entries.
using PmlSend = int (*)(const void* buffer, std::size_t count, Handle type, int destination,
                        int tag, int mode, Handle comm);
using PmlIsend = int (*)(const void* buffer, std::size_t count, Handle type, int destination,
                         int tag, int mode, Handle comm, Handle* request);
using PmlIrecvInit = int (*)(void* buffer, std::size_t count, Handle type, int source, int tag,
                             Handle comm, Handle* request);
using PmlStart = int (*)(std::size_t count, Handle* requests);
using PmlDelComm = int (*)(Handle comm);

// A request (ompi_request_t) has at least kRequestWords words. After the words of the list that it
// stands in, one of them, req_start, is the function that MPI_Start calls: the table's start,
// unless a component wraps the table (pml/monitoring). Source: ompi/request/request.h, the sources
// above.
inline constexpr int kRequestFirstWord = 7;
inline constexpr int kRequestWords = 20;
// The functions in which a program makes persistent sends; each may have an alias MPI_*.
inline constexpr const char* kMakersOfSends[] = {
    "PMPI_Send_init",   "PMPI_Bsend_init",   "PMPI_Ssend_init",   "PMPI_Rsend_init",
    "PMPI_Send_init_c", "PMPI_Bsend_init_c", "PMPI_Ssend_init_c", "PMPI_Rsend_init_c",
    "MPI_Send_init",    "MPI_Bsend_init",    "MPI_Ssend_init",    "MPI_Rsend_init",
    "MPI_Send_init_c",  "MPI_Bsend_init_c",  "MPI_Ssend_init_c",  "MPI_Rsend_init_c"};

// Predefined datatypes, by symbol. One that a build does not have is skipped.
inline constexpr const char* kPredefinedTypes[] = {"char",
                                                   "signed_char",
                                                   "unsigned_char",
                                                   "byte",
                                                   "packed",
                                                   "wchar",
                                                   "short",
                                                   "unsigned_short",
                                                   "int",
                                                   "unsigned",
                                                   "long",
                                                   "unsigned_long",
                                                   "long_long_int",
                                                   "unsigned_long_long",
                                                   "int8_t",
                                                   "uint8_t",
                                                   "int16_t",
                                                   "uint16_t",
                                                   "int32_t",
                                                   "uint32_t",
                                                   "int64_t",
                                                   "uint64_t",
                                                   "aint",
                                                   "offset",
                                                   "count",
                                                   "float",
                                                   "double",
                                                   "long_double",
                                                   "c_bool",
                                                   "cxx_bool",
                                                   "c_complex",
                                                   "c_float_complex",
                                                   "c_double_complex",
                                                   "c_long_double_complex",
                                                   "cxx_cplex",
                                                   "cxx_dblcplex",
                                                   "cxx_ldblcplex",
                                                   "float_int",
                                                   "double_int",
                                                   "longdbl_int",
                                                   "long_int",
                                                   "short_int",
                                                   "2int",
                                                   "character",
                                                   "logical",
                                                   "logical1",
                                                   "logical2",
                                                   "logical4",
                                                   "logical8",
                                                   "integer",
                                                   "integer1",
                                                   "integer2",
                                                   "integer4",
                                                   "integer8",
                                                   "integer16",
                                                   "real",
                                                   "real2",
                                                   "real4",
                                                   "real8",
                                                   "real16",
                                                   "dblprec",
                                                   "cplex",
                                                   "complex4",
                                                   "complex8",
                                                   "complex16",
                                                   "complex32",
                                                   "dblcplex",
                                                   "ldblcplex",
                                                   "2integer",
                                                   "2real",
                                                   "2dblprec",
                                                   "2cplex",
                                                   "2dblcplex"};
inline constexpr char kTypePrefix[] = "ompi_mpi_";

}  // namespace ondeloc::open_mpi
