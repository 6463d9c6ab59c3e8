// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "mapcore/report/report_json.h"

namespace ondeloc {
namespace {

constexpr auto kKeys = std::to_array<ReportKey>({
    {"version", "", "1"},
    {"job", "", "Slurm job id"},
    {"step", "", "Slurm step id"},
    {"node", "", "node name as Slurm has it"},
    {"mode", "", "online or static"},
    {"algorithm", "", "mapping algorithm; a static step uses none"},
    {"options", "", "every key of the option with the value that was in force"},
    {"topology.numa[].os", "", "NUMA node the step may use, kernel's number"},
    {"topology.numa[].pus", "", "its CPUs that the step may use"},
    {"topology.cpus", "", "all CPUs that the step may use"},
    {"ranks[].rank", "", "rank in MPI_COMM_WORLD, -1 where its task was never started"},
    {"ranks[].local", "", "rank on the node, from 0"},
    {"ranks[].pid", "", "process that came through MPI_Init, 0 if none did"},
    {"ranks[].initial_cpus", "", "CPUs as Slurm bound the task"},
    {"ranks[].final_cpus", "",
     "CPUs it was given last; where it bound itself and was left alone, those"},
    {"ranks[].migrations", "", "times its NUMA node changed"},
    {"matrix[].src", "", "sending rank"},
    {"matrix[].dst", "", "receiving rank, on the same node"},
    {"matrix[].bytes", "bytes", "sent between MPI_Init and MPI_Finalize"},
    {"matrix[].messages", "messages", "the same, counted"},
    {"off_node[].src", "", "sending rank"},
    {"off_node[].bytes", "bytes", "sent to ranks on other nodes"},
    {"off_node[].messages", "messages", "the same, counted"},
    {"intervals[].t", "seconds", "end of the interval, since the mapper started"},
    {"intervals[].interval_ms", "ms", "length that was asked for"},
    {"intervals[].bytes", "bytes", "between different ranks of the node"},
    {"intervals[].messages", "messages", "the same, counted"},
    {"intervals[].off_node_bytes", "bytes", "to other nodes"},
    {"intervals[].samples", "", "SAMPLE events that came in"},
    {"intervals[].sample_bytes", "bytes",
     "what they reported as sent to other ranks of the node since the one before"},
    {"intervals[].remote_share_before", "share",
     "bytes between NUMA nodes / all, mapping at its start; null without traffic"},
    {"intervals[].remote_share_after", "share", "the same traffic under the mapping at its end"},
    {"intervals[].peak_load_before", "ratio", "heaviest NUMA node / mean, mapping at its start"},
    {"intervals[].peak_load_after", "ratio", "the same under the mapping at its end"},
    {"intervals[].cost_before", "seconds", "predicted memory and link time, mapping at its start"},
    {"intervals[].cost_after", "seconds", "the same under the mapping at its end"},
    {"intervals[].remapped", "", "true when ranks were moved"},
    {"intervals[].moved", "", "ranks whose CPUs changed"},
    {"intervals[].compute_us", "us", "computing the mapping and deciding, counters read before"},
    {"events.attach", "", "PMIx events received"},
    {"events.sample", "", "PMIx events received"},
    {"events.row", "", "PMIx events received"},
    {"events.detach", "", "PMIx events received"},
    {"events.dropped", "",
     "events known to be lost: gaps in a rank's SAMPLE numbers, or a full channel"},
    {"totals.remaps", "", "intervals in which ranks were moved"},
    {"totals.migrations", "", "ranks that changed their NUMA node, summed over remaps"},
    {"totals.mapper_cpu_ms", "ms", "CPU time of the mapper"},
    {"totals.wall_ms", "ms", "life of the mapper"},
    {"notes", "", "what a user needs to know, one sentence each"},
});

}  // namespace

std::span<const ReportKey> report_keys() { return kKeys; }

}  // namespace ondeloc
