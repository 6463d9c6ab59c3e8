// SPDX-License-Identifier: Apache-2.0
#include "mapcore/options/options.h"

#include <fmt/format.h>

#include <tuple>

#include "mapcore/base/text.h"
#include "mapcore/options/allowed.h"
#include "mapcore/options/option_table.h"
#include "tests/unit/catch.h"

using namespace ondeloc;

namespace {

std::string error_of(std::string_view text) {
  auto options = parse_options(text);
  return options.ok() ? "" : options.error().message();
}

}  // namespace

TEST_CASE("every key reads back what it writes, and says which modes it goes with") {
  for (const KeyRow& row : key_rows()) {
    CAPTURE(row.name);
    const std::string standard = default_of(row);
    CHECK(standard.empty() == (row.is_flag() || row.value == "FILE"));
    for (const auto& [mode, text] : {std::pair{Mode::kOnline, "online"},
                                     {Mode::kStatic, "static:f"},
                                     {Mode::kProfile, "profile:f"}}) {
      const std::string value = row.is_flag() ? "" : "=" + (standard.empty() ? "f" : standard);
      const auto read = parse_options(fmt::format("{},{}{}", text, row.name, value));
      CHECK(read.ok() == row.modes.has(mode));
      if (!read.ok()) {
        CHECK(read.error().message().starts_with(fmt::format("{} goes with ", row.name)));
      } else if (row.name == "decide" && mode == Mode::kStatic) {
        CHECK(row.get(*read) == "never");
      } else {
        CHECK(row.get(*read) == (row.is_flag() ? "yes" : value.substr(1)));
      }
      for (const KeyRow& other : key_rows())
        if (read.ok() && other.name != row.name && other.name != "decide")
          CHECK(other.get(*read) == other.get(Options()));
    }
  }
}

TEST_CASE("every value of a key with fixed values is read and written") {
  for (const KeyRow& row : key_rows()) {
    if (row.value.find('|') == row.value.npos) continue;
    for (const std::string_view value : split(row.value, '|')) {
      CAPTURE(row.name, value);
      Options options;
      REQUIRE(row.set(options, value).ok());
      CHECK(row.get(options) == value);
    }
  }
  CHECK(enum_names<Transport>() == "auto|shm|pmix");
  CHECK(enum_name(Decide::kNever) == "never");
  CHECK(parse_enum<Memory>("stay") == Memory::kStay);
  CHECK_FALSE(parse_enum<OnError>("stop"));
}

TEST_CASE("every word of plugstack.conf reads back what it writes") {
  for (const SiteRow& row : site_rows()) {
    const std::string standard = row.get(SiteOptions());
    CAPTURE(row.name, standard);
    CHECK_FALSE(default_of(row).empty());
    if (standard.empty()) continue;
    SiteOptions site;
    REQUIRE(row.set(site, standard).ok());
    CHECK(row.get(site) == standard);
  }
}

TEST_CASE("every key sets its field") {
  auto options = parse_options(
      "online,algorithm=random:7,interval=2s,max-interval=1.5m,slope=4,threshold=0.5,decide=always,"
      "transport=pmix,memory=stay,report=out-%j.%s.%N.json,on-error=warn,verbose");
  REQUIRE(options.ok());
  CHECK(options->mode == Mode::kOnline);
  CHECK(options->algorithm == "random:7");
  CHECK(options->interval_ms == 2000);
  CHECK(options->max_interval_ms == 90'000);
  CHECK(options->slope == 4);
  CHECK(options->threshold == 0.5);
  CHECK(options->decide == Decide::kAlways);
  CHECK(options->transport == Transport::kPmix);
  CHECK(options->memory == Memory::kStay);
  CHECK(options->report == "out-%j.%s.%N.json");
  CHECK(options->on_error == OnError::kWarn);
  CHECK(options->verbose);
  CHECK_FALSE(options->relative);
}

TEST_CASE("modes") {
  CHECK(parse_options("off")->mode == Mode::kOff);
  CHECK(parse_options("help")->mode == Mode::kHelp);
  auto options = parse_options("static:dir/a:b.txt,relative");
  REQUIRE(options.ok());
  CHECK(options->mode == Mode::kStatic);
  CHECK(options->file == "dir/a:b.txt");
  CHECK(options->relative);
  CHECK(options->decide == Decide::kNever);
  CHECK(mode_name(Mode::kStatic) == "static");
  CHECK(error_of("static") == "mode 'static' needs a file; use static:FILE");
  CHECK(error_of("static:") == "mode 'static' needs a file; use static:FILE");
  CHECK(error_of("online:x") == "mode 'online' takes no argument, but 'x' follows it");
  CHECK(error_of("bogus") == "mode 'bogus' is not known; use off, online, static, profile or help");
  CHECK(error_of("") == "mode '' is not known; use off, online, static, profile or help");
  CHECK(error_of("profile:f,transport=pmix") ==
        "transport=pmix goes with online: its events carry sums, not single messages");
  CHECK(error_of("online,cells=8") == "cells goes with profile:FILE only");
  CHECK(error_of("profile:f,cells=0") == "cells: '0' is not a number of cells; use 1 to 256");
  CHECK(error_of("profile:f,cells=257") == "cells: '257' is not a number of cells; use 1 to 256");
  CHECK(error_of("profile:f,cells=many") == "cells: 'many' is not a number of cells; use 1 to 256");
  CHECK(parse_options("profile:f")->cells == 128);
  CHECK(parse_options("profile:f,cells=256")->cells == 256);
  for (const char* mode : {"static:f", "profile:f"}) {
    CHECK(error_of(std::string(mode) + ",algorithm=packed") == "algorithm goes with online only");
    CHECK(error_of(std::string(mode) + ",threshold=0.1") == "threshold goes with online only");
    CHECK(error_of(std::string(mode) + ",decide=always") == "decide goes with online only");
    CHECK(error_of(std::string(mode) + ",memory=stay") == "memory goes with online only");
  }
  CHECK(error_of("online,relative") == "relative goes with static:FILE only");
}

TEST_CASE("static takes a layout of lama in the place of a file") {
  const auto options = parse_options("static:lama:scbnh/bind=1c,verbose");
  REQUIRE(options.ok());
  CHECK(options->mode == Mode::kStatic);
  CHECK(is_layout(options->file));
  CHECK_FALSE(is_layout("./lama:scbnh"));
  CHECK(parse_options("static:./lama:x").ok());
  CHECK(error_of("static:lama:scb").starts_with("static: "));
  CHECK(error_of("static:lama:scb").find("needs the level 'n'") != std::string::npos);
  CHECK(error_of("static:lama:core,relative") ==
        "relative goes with a rankfile: a layout of lama has no numbers of CPUs");
}

TEST_CASE("each wrong value is one short sentence that names the key") {
  const char* wrong[] = {"interval=0",
                         "interval=1y",
                         "interval=",
                         "interval=-1",
                         "interval=2h",
                         "interval=nan",
                         "interval=1e3",
                         "interval=500",
                         "slope=1",
                         "slope=x",
                         "threshold=2",
                         "decide=maybe",
                         "transport=tcp",
                         "memory=move",
                         "report=",
                         "report=%q",
                         "report=a%",
                         "report=-",
                         "report=/dev/stdout",
                         "on-error=stop",
                         "algorithm=magic",
                         "verbose=1",
                         "algorithm=random:x",
                         "interval",
                         "algorithm=ondeloc:x",
                         "algorithm=coordinated:0",
                         "algorithm=coordinated:101",
                         "algorithm=coordinated:-2",
                         "algorithm=coordinated:x"};
  for (const std::string piece : wrong) {
    CAPTURE(piece);
    const std::string error = error_of("online," + piece);
    CHECK(error.find(piece.substr(0, piece.find('='))) == 0);
    CHECK(error.size() < 150);
    CHECK(error.find('\n') == std::string::npos);
  }
}

TEST_CASE("the effort of coordinated") {
  for (const char* good : {"coordinated", "coordinated:1", "coordinated:100"})
    CHECK(parse_options(fmt::format("online,algorithm={}", good))->algorithm == good);
  CHECK(error_of("online,algorithm=coordinated:0") ==
        "algorithm 'coordinated': '0' is not an effort; use a whole number from 1 to "
        "100");
}

TEST_CASE("unknown keys, empty pieces and repetitions are refused") {
  CHECK(error_of("online,speed=3").find("key 'speed' is not known; use algorithm, ") == 0);
  CHECK(error_of("online,").find("key '' is not known") == 0);
  CHECK(error_of("online,interval=1s,interval=2s") == "interval is given twice");
  CHECK(error_of("online,verbose,verbose") == "verbose is given twice");
}

TEST_CASE("long and binary values are refused without being repeated") {
  CHECK(error_of(std::string(100'000, 'x')) == "the value has 100000 characters: 4096 is the most");
  CHECK(error_of("online,report=a\nb") == "the value holds a control character");
  CHECK(error_of("online,transport=" + std::string(3000, 'x')).size() < 150);
}

TEST_CASE("a name that can only be a directory is refused") {
  for (const std::string name : {".", "..", "/", "dir/", "dir/.", "/a/..", "%j/"}) {
    CAPTURE(name);
    const std::string told = "'" + name + "' is a directory; name a file in it";
    CHECK(error_of("online,report=" + name) == "report: " + told);
    CHECK(error_of("online,repeat=" + name) == "repeat: " + told);
    CHECK(error_of("profile:" + name) == "profile: " + told);
  }
  for (const std::string name : {".r", "r.", "...", "a/.r", "../r"})
    CHECK(parse_options("online,report=" + name).ok());
}

TEST_CASE("max-interval follows an interval above it, unless it is given") {
  CHECK(parse_options("online,interval=1m")->max_interval_ms == 60'000);
  CHECK(error_of("online,interval=2s,max-interval=1s") ==
        "max-interval: 1s is below the interval of 2s");
}

TEST_CASE("times") {
  CHECK(*parse_interval("500ms") == 500);
  CHECK(*parse_interval("1.5s") == 1500);
  CHECK(*parse_interval("1h") == 3'600'000);
  for (const char* wrong :
       {"", "s", "0", "0.1ms", "1S", "61m", "1..2s", "99999999999999999999s", "-1s"})
    CHECK_FALSE(parse_interval(wrong).ok());
  for (const std::uint32_t ms : {1u, 500u, 999u, 1000u, 1500u, 90'000u, 3'600'000u}) {
    CAPTURE(interval_text(ms));
    CHECK(*parse_interval(interval_text(ms)) == ms);
  }
}

TEST_CASE("a time without a unit is asked back") {
  CHECK(error_of("online,interval=1") == "interval: '1' has no unit; write for example 1ms or 1s");
}

TEST_CASE("weight= takes the three measures and auto") {
  CHECK_FALSE(parse_options("online")->weight);
  CHECK_FALSE(parse_options("online,weight=auto")->weight);
  CHECK(parse_options("online,weight=messages")->weight == Weight::kMessages);
  CHECK(parse_options("online,machine=m.json")->machine == "m.json");
  CHECK(error_of("online,weight=calls") ==
        "weight: 'calls' is not known; use auto, bytes, messages or time");
  CHECK(error_of("profile:f,weight=time") == "weight goes with online and static:FILE only");
}

TEST_CASE("an interval below the site's minimum is told, not refused") {
  const Options options = *parse_options("online,interval=10ms");
  CHECK(raised_interval(options, 100) ==
        "interval: 10ms is below this site's minimum; 100ms is used instead");
  CHECK(raised_interval(options, 10).empty());
  CHECK(raised_interval(Options(), 1000).empty());  // nobody asked for the default
}

TEST_CASE("no interval in force is below the site's minimum or above the longest one") {
  for (const auto& [words, shortest, longest] :
       {std::tuple("online,interval=10ms,max-interval=50ms", 100, 100),
        {"online,interval=200ms,max-interval=2s", 200, 2000},
        {"online,interval=1m", 60000, 60000}}) {
    CAPTURE(words);
    const Options in_force = with_least_interval(*parse_options(words), 100);
    CHECK(in_force.interval_ms == static_cast<std::uint32_t>(shortest));
    CHECK(in_force.max_interval_ms == static_cast<std::uint32_t>(longest));
  }
}

TEST_CASE("plugstack.conf words") {
  auto site = parse_site_options(
      {"default=online,decide=never", "log=verbose",
       "allow=online,profile,coordinated,lama,ranks:64", "min-interval=1s",
       "libexec=/opt/o/libexec", "rank-lib=/opt/o/lib/r.so", "topology=numa:2+core:1+pu:1",
       "test-switch=no-rows", "test-switch=no-events", "test-switch=powercap:/t", "min-uid=1000",
       "oom=fair", "machine=/etc/epyc.json", "report-dir=/var/spool/o"});
  REQUIRE(site.ok());
  CHECK(site->default_options == "online,decide=never");
  CHECK(site->log == SiteLog::kVerbose);
  CHECK(allowed_text(site->allow) == "online,profile,coordinated,lama,ranks:64");
  CHECK(site->min_interval_ms == 1000);
  CHECK(site->min_uid == 1000);
  CHECK(site->oom == OomPolicy::kFair);
  CHECK(site->machine == "/etc/epyc.json");
  CHECK(site->report_dir == "/var/spool/o");
  CHECK(site->libexec == "/opt/o/libexec");
  CHECK(site->rank_lib == "/opt/o/lib/r.so");
  CHECK(site->topology == "numa:2 core:1 pu:1");
  CHECK(site->test_switches == std::vector<std::string>{"no-rows", "no-events", "powercap:/t"});
  CHECK(parse_site_options({})->default_options == "off");
  CHECK(parse_site_options({})->min_uid == 0);
  CHECK(parse_site_options({"oom=first"})->oom == OomPolicy::kFirst);
  for (const char* wrong : {"default=on",
                            "libexec=opt",
                            "speed=1",
                            "default",
                            "default=",
                            "min-interval=0",
                            "test-switch=x",
                            "test-switch=powercap:",
                            "test-switch=powercap:a",
                            "min-uid=root",
                            "min-uid=-1",
                            "oom=never",
                            "machine=epyc.json",
                            "report-dir=spool",
                            "default=profile:p",
                            "default=static:f",
                            "default=online,decide=maybe",
                            "default=help",
                            "log=all",
                            "allow=magic",
                            "allow=online,",
                            "allow=ranks:0",
                            "allow=ranks:x"}) {
    CAPTURE(wrong);
    CHECK_FALSE(parse_site_options({wrong}).ok());
  }
}

TEST_CASE("words of plugstack.conf that contradict each other are refused") {
  const auto fault = [](const std::vector<std::string_view>& words) {
    const auto site = parse_site_options(words);
    return site ? std::string() : site.error().message();
  };
  CHECK(fault({"min-uid=1000", "min-uid=1"}) == "min-uid is given twice");
  CHECK(fault({"allow=online", "allow=static"}) == "allow is given twice");
  CHECK(fault({"allow=online,deloc,online"}) == "allow: 'online' is given twice");
  CHECK(fault({"allow=ranks:64,ranks:4096"}) == "allow: 'ranks:' is given twice");
  CHECK(fault({"default=online", "allow=static"}) ==
        "default: mode 'online' is not allowed here; use static (allow= in plugstack.conf)");
  CHECK(fault({"allow=coordinated", "default=online,algorithm=balance"})
            .starts_with("default: algorithm 'balance' is not allowed here"));
  CHECK(fault({"default=online", "allow=online,coordinated,ranks:2"}).empty());
  CHECK(fault({"allow=static"}).empty());
}

TEST_CASE("a site allows modes, algorithms and a number of ranks") {
  const auto told = [](const char* option, std::uint32_t ranks, const char* allow) {
    const auto site = parse_site_options({allow});
    REQUIRE(site.ok());
    const Status good = check_allowed(*parse_options(option), ranks, site->allow);
    return good ? std::string() : good.error().message();
  };
  CHECK(told("profile:p", 4, "allow=ranks:8").empty());
  CHECK(told("profile:p", 4, "allow=online,static") ==
        "mode 'profile' is not allowed here; use online or static (allow= in plugstack.conf)");
  CHECK(told("off", 99, "allow=static,ranks:8").empty());
  for (const char* option : {"online", "static:ranks.txt", "profile:p"})
    CHECK(told(option, 4, "allow=off").ends_with("here; use off (allow= in plugstack.conf)"));
  CHECK(told("online", 4, "allow=coordinated").empty());
  CHECK(told("online,algorithm=random:7", 4, "allow=coordinated,deloc") ==
        "algorithm 'random' is not allowed here; use coordinated or deloc (allow= in "
        "plugstack.conf)");
  CHECK(told("online,algorithm=random:7", 4, "allow=random").empty());
  CHECK(told("static:lama:scbnh", 4, "allow=coordinated").starts_with("algorithm 'lama' is not"));
  CHECK(told("static:ranks.txt", 4, "allow=coordinated").empty());
  CHECK(told("online", 8, "allow=ranks:8").empty());
  CHECK(told("online", 9, "allow=ranks:8") ==
        "off for a step of 9 ranks: a step may have 8 here (allow= in plugstack.conf)");
}

TEST_CASE("help names every mode and key in lines that fit") {
  const std::string help = options_help({});
  CHECK(help.find("\nThis is ondeloc ") != std::string::npos);
  for (const ModeRow& row : mode_rows())
    CHECK(help.find("  " + std::string(row.name)) != help.npos);
  for (const KeyRow& row : key_rows())
    CHECK(help.find("\n  " + std::string(row.name)) != help.npos);
  for (const std::string_view line : split(help, '\n')) {
    CAPTURE(line);
    CHECK(line.size() <= 80);
  }
}

TEST_CASE("help shows the settings of the site") {
  const auto has = [](const std::vector<std::string_view>& words, const std::string& line) {
    return options_help(words).find("\n  " + line) != std::string::npos;
  };
  CHECK(has({}, "default=off "));
  CHECK_FALSE(has({}, "min-interval=100ms"));
  const std::vector<std::string_view> words = {"default=online,decide=never", "min-interval=2s"};
  CHECK(has(words, "default=online,decide=never"));
  CHECK(has(words, "min-interval=2s "));
  CHECK(has({"default=fast"}, "a wrong word: ondeloc is off (default: mode 'fast' is not known"));
}

TEST_CASE("nic= takes words and names, and nothing that could be a path or another option") {
  for (const char* good : {"auto", "off", "site", "rail", "rail:node", "mlx5_0", "hfi1_0+hfi1_1"})
    CHECK(parse_options("online,nic=" + std::string(good))->nic == good);
  for (const char* bad : {"mlx5_0:1", "a+", "+a", "a++b", "../x", "rail:numa", "a b", "$x", "a+a",
                          "a+b+a", "auto+mlx5_0", "off+off"})
    CHECK_FALSE(parse_options("online,nic=" + std::string(bad)).ok());
  CHECK(parse_site_options({"nic=auto"})->nic == "auto");
  CHECK_FALSE(parse_site_options({"nic=site"}).ok());
}
