// SPDX-License-Identifier: Apache-2.0
// ondeloc-mapper reads the words that the plugin writes, and no others.
#include "mapcore/options/mapper_arguments.h"

#include "tests/unit/catch.h"

using namespace ondeloc;

namespace {

MapperArguments all_of_watch() {
  MapperArguments call;
  call.segment_fd = 500;
  call.channel_fd = 7;
  call.messages_fd = 8;
  call.kill_switch_fd = 9;
  call.oom = OomPolicy::kFair;
  call.node = "node0";
  call.options = "online,report=secret name.json";
  call.topology = "numa:2 core:2 pu:1";
  call.machine = "/etc/ondeloc/epyc.json";
  call.report_dir = "/var/spool/ondeloc";
  call.partition = "batch";
  call.restarts = 2;
  call.log = SiteLog::kLine;
  call.min_interval_ms = 250;
  call.no_events = "events: none, as the site wishes";
  call.test_switches = {"no-rows", "no-events"};
  call.check_only = true;
  return call;
}

BindArguments all_of_bind() {
  BindArguments call;
  call.file = "ranks=1,2.txt";
  call.rank = 3;
  call.ranks = 8;
  call.pid = 4711;
  call.local_rank = 1;
  call.local_ranks = 4;
  call.node = "node0";
  call.node_index = 0;
  call.cpus_per_task = 2;
  call.relative = true;
  call.topology = "/etc/machine.xml";
  call.cpu_bind_type = "mask_cpu:";
  call.cpu_bind_list = "0x3,0xC";
  call.nodes = 4;
  call.nic = "mlx5_0+mlx5_1";
  call.device_variables = "HFI_UNIT=1\nUCX_NET_DEVICES=mlx5_0:1,mlx5_1:1";
  call.kill_switch_fd = 9;
  return call;
}

template <class Call>
std::string error_of(const ProgramWords& words) {
  auto call = Call::parse(words);
  return call ? "" : call.error().message();
}

}  // namespace

TEST_CASE("a watch call survives the way through execve") {
  const MapperArguments sent = all_of_watch();
  ProgramWords words = sent.to_words();
  words.environment.emplace_back("PATH=/usr/bin:/bin");
  const auto got = MapperArguments::parse(words);
  REQUIRE(got.ok());
  CHECK(got->segment_fd == sent.segment_fd);
  CHECK(got->channel_fd == sent.channel_fd);
  CHECK(got->messages_fd == sent.messages_fd);
  CHECK(got->kill_switch_fd == sent.kill_switch_fd);
  CHECK(got->oom == sent.oom);
  CHECK(got->check_only);
  CHECK(got->node == sent.node);
  CHECK(got->options == sent.options);
  CHECK(got->topology == sent.topology);
  CHECK(got->machine == sent.machine);
  CHECK(got->report_dir == sent.report_dir);
  CHECK(got->partition == sent.partition);
  CHECK(got->restarts == sent.restarts);
  CHECK(got->log == sent.log);
  CHECK(got->min_interval_ms == sent.min_interval_ms);
  CHECK(got->no_events == sent.no_events);
  CHECK(got->test_switches == sent.test_switches);
}

TEST_CASE("a bind call survives the way through execve") {
  const BindArguments sent = all_of_bind();
  const auto got = BindArguments::parse(sent.to_words());
  REQUIRE(got.ok());
  CHECK(got->file == sent.file);
  CHECK(got->rank == sent.rank);
  CHECK(got->ranks == sent.ranks);
  CHECK(got->pid == sent.pid);
  CHECK(got->local_rank == 1);
  CHECK(got->local_ranks == 4);
  CHECK(got->node == sent.node);
  CHECK(got->node_index == 0);
  CHECK(got->cpus_per_task == 2);
  CHECK(got->relative);
  CHECK(got->topology == sent.topology);
  CHECK(got->cpu_bind_type == sent.cpu_bind_type);
  CHECK(got->cpu_bind_list == sent.cpu_bind_list);
  CHECK(got->nodes == 4);
  CHECK(got->nic == sent.nic);
  CHECK(got->device_variables == sent.device_variables);
  CHECK(got->kill_switch_fd == 9);
}

TEST_CASE("values that are not set take no word") {
  MapperArguments few;
  few.segment_fd = 3;
  few.options = "online";
  const ProgramWords words = few.to_words();
  CHECK(words.arguments == std::vector<std::string>{"watch", "--segment=3", "--oom=first",
                                                    "--log=none", "--min-interval=100"});
  CHECK(words.environment == std::vector<std::string>{"ONDELOC_MAPPER_OPTIONS=online"});
  CHECK(MapperArguments::parse(words)->channel_fd == -1);
}

TEST_CASE("no text of the user stands on the command line, which all users can read") {
  const ProgramWords watch = all_of_watch().to_words(), bind = all_of_bind().to_words();
  for (const ProgramWords* words : {&watch, &bind}) {
    for (const std::string& word : words->arguments) {
      CAPTURE(word);
      CHECK(word.find("secret") == word.npos);
      CHECK(word.find(".txt") == word.npos);
      CHECK(word.find(".xml") == word.npos);
    }
  }
}

TEST_CASE("a call that the other side would not write is refused") {
  const auto with = [](std::string word) {
    ProgramWords words = all_of_watch().to_words();
    words.arguments.push_back(std::move(word));
    return error_of<MapperArguments>(words);
  };
  CHECK(with("--speed=3") == "'--speed' is not known");
  CHECK(with("--local-rank=0") == "'--local-rank' is not known");
  CHECK(with("--segment=4") == "--segment is given twice");
  CHECK(with("speed") == "'speed' is not an option");
  CHECK(error_of<MapperArguments>({{"watch", "--segment"}, {}}) == "--segment needs a value");
  for (const char* number : {"-1", "x", "", "99999999999"}) {
    const std::string word = std::string("--segment=") + number;
    CHECK(error_of<MapperArguments>({{"watch", word}, {}}).starts_with("--segment: '"));
  }
  CHECK(error_of<MapperArguments>({{"watch", "--segment=3"}, {}}) ==
        "ONDELOC_MAPPER_OPTIONS is missing");
  CHECK(error_of<MapperArguments>({{"watch", "--segment=3"}, {"ONDELOC_MAPPER_FILE=x"}}) ==
        "'ONDELOC_MAPPER_FILE' is not known");
  CHECK(error_of<BindArguments>({{"bind", "--rank=0"}, {}}) == "--ranks is missing");
  CHECK(error_of<BindArguments>({{}, {}}) == "the first word is not 'bind'");
  CHECK(error_of<BindArguments>(all_of_watch().to_words()) == "the first word is not 'bind'");
}
