// SPDX-License-Identifier: Apache-2.0
#include "mapcore/apps/container_help.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "mapcore/apps/say.h"
#include "mapcore/base/printable.h"
#include "mapcore/base/text.h"
#include "mapcore/segment/rank_env.h"

namespace ondeloc::cli {
namespace {

// Below the directory that PMIX_SERVER_TMPDIR names, mpi/pmix has one for each step.
constexpr const char* kSpool = "SlurmdSpoolDir";
constexpr std::size_t kWidth = 80;

// {lib}: folder of the rank library, {spool}: of slurmd.
struct Runtime {
  const char* name;
  const char* command;
  const char* outcome;  // as etc/doc/admin.md says, Containers
};
constexpr Runtime kRuntimes[] = {
    {"bubblewrap",
     "srun --ondeloc=online bwrap --ro-bind ROOT / --dev-bind /dev /dev \\\n"
     "    --bind /proc /proc --bind /sys /sys --bind /tmp /tmp \\\n"
     "    --ro-bind {lib} {lib} \\\n"
     "    --bind {spool} {spool} ./app\n",
     "counted and moved"},
    {"podman (rootless)",
     "srun --ondeloc=online podman run --rm --network host --pid host \\\n"
     "    --userns keep-id --env-host -v /dev/shm:/dev/shm -v /tmp:/tmp \\\n"
     "    -v {lib}:{lib}:ro \\\n"
     "    -v {spool}:{spool} --rootfs ROOT ./app\n",
     "counted by PMIx events, because podman closes descriptors; moved, because --env-host passes on "
     "the environment that tells whose rank it is"},
    {"Apptainer",
     "srun --ondeloc=online apptainer exec --bind {lib}:{lib}:ro \\\n"
     "    --bind {spool} IMAGE ./app\n",
     "not tried; for every container: bind path = {lib} in apptainer.conf"},
    {"enroot, pyxis",
     "{lib} {lib} none x-create=dir,bind,ro\n{spool} {spool} none x-create=dir,bind\n",
     "not tried; these are lines for /etc/enroot/mounts.d"},
};

std::string with_paths(std::string_view text, const std::string& folder, const std::string& spool) {
  std::string out(text);
  for (const auto& [mark, path] :
       {std::pair<std::string_view, const std::string&>("{lib}", folder), {"{spool}", spool}})
    for (std::size_t at = 0; (at = out.find(mark, at)) != out.npos; at += path.size())
      out.replace(at, mark.size(), path);
  return out;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : printable(value);
}

// The rank library as the step's LD_PRELOAD names it; empty outside of a step.
std::string library_of_step() {
  const std::string list = variable("LD_PRELOAD");
  for (const std::string_view path : split(list, ':'))
    if (path.ends_with("/" ONDELOC_RANK_LIBRARY_NAME)) return std::string(path);
  return "";
}

}  // namespace

ContainerPaths container_paths() {
  ContainerPaths paths{library_of_step(), ""};
  if (paths.library.empty()) paths.library = ONDELOC_RANK_LIB_DIR "/" ONDELOC_RANK_LIBRARY_NAME;
  std::string server = variable("PMIX_SERVER_TMPDIR");  // SlurmdSpoolDir/pmix.JOB.STEP/
  while (server.ends_with('/')) server.pop_back();
  paths.spool = std::filesystem::path(server).parent_path().string();
  return paths;
}

std::string container_help(const ContainerPaths& paths) {
  const std::string folder = std::filesystem::path(paths.library).parent_path().string();
  const std::string spool = paths.spool.empty() ? kSpool : paths.spool;
  std::string text = fmt::format(
      "A container passes these parts of its task on to the MPI program:\n"
      "  variables    LD_PRELOAD, ONDELOC_STEP, PMIX_*, SLURM_*\n"
      "  descriptors  the one that fd= of ONDELOC_STEP names; without it the ranks report by PMIx\n"
      "  processes    the PIDs of the node\n"
      "  network      that of the node, for PMIx\n"
      "  user         the same uid inside as outside, for PMIx\n"
      "  folder       {}, read-only, at the same path: {}\n"
      "  folder       {}: PMIx has its files there\n"
      "  folders      /dev/shm and /tmp, for Open MPI\n",
      folder, ONDELOC_RANK_LIBRARY_NAME, spool);
  if (paths.spool.empty())
    text +=
        fmt::format("{} is a word of slurm.conf: scontrol show config | grep {}\n", kSpool, kSpool);
  for (const Runtime& runtime : kRuntimes) {
    const std::string outcome = fmt::format("{}: {}", runtime.name, runtime.outcome);
    text += fmt::format("\n{}\n\n{}", wrapped(with_paths(outcome, folder, spool), kWidth),
                        with_paths(runtime.command, folder, spool));
  }
  return text +
         "\nIn a container without the rank library the loader prints an error for each program "
         "(ERROR: ld.so).\nThe programs run and are not counted. --ondeloc=off, or a container "
         "that "
         "unsets LD_PRELOAD,\nkeeps the loader quiet.\n";
}

}  // namespace ondeloc::cli
