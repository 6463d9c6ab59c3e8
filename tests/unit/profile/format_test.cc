// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <atomic>
#include <csignal>
#include <random>
#include <thread>

#include "tests/unit/other_user.h"
#include "tests/unit/profile/profile_fixture.h"

using namespace ondeloc;

namespace {

std::vector<ProfileEvent> many_events(std::size_t count, std::uint32_t ranks) {
  std::mt19937_64 random(7);
  std::vector<ProfileEvent> events;
  std::uint64_t now = 5;
  for (std::size_t i = 0; i < count; ++i) {
    now += random() % 1000;
    events.push_back({now, static_cast<std::uint32_t>(random() % ranks),
                      static_cast<std::uint32_t>(random() % ranks), random() >> (random() % 64)});
  }
  return events;
}

}  // namespace

TEST_CASE("crc32 is the one of IEEE 802.3") {
  const std::string text = "123456789";
  CHECK(profile_format::crc32({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}) ==
        0xCBF43926U);
}

TEST_CASE("headers stand in the file as documented, byte by byte") {
  profile_format::FileHeader header = small_header(0x01020304U >> 8);
  header.job = 0x11223344;
  header.realtime_ns = -2;
  const auto octets = encode(header);
  REQUIRE(octets.size() == 256);
  CHECK(std::string(octets.begin(), octets.begin() + 8) == "ODLPROF1");
  CHECK(octets[8] == 1);
  CHECK(octets[13] == 1);  // 256, little-endian
  CHECK(octets[16] == 0x03);
  CHECK(octets[24] == 0x44);
  CHECK(octets[32] == 0xFE);
  CHECK(octets[39] == 0xFF);
  CHECK(octets[48] == 'n');
  profile_format::BlockHeader block{.type = 1, .stored = 2, .raw = 300, .count = 4, .ranks = 5};
  block.last_ns = 0x0102;
  const auto head = encode(block);
  REQUIRE(head.size() == 64);
  CHECK(std::string(head.begin(), head.begin() + 4) == "ODBK");
  CHECK(head[12] == 0x2C);
  CHECK(head[13] == 1);
  CHECK(head[32] == 2);
  CHECK(head[33] == 1);
  CHECK(profile_format::decode_block_header(head)->raw == 300);
  for (std::size_t i = 0; i < head.size(); ++i) {
    auto bent = head;
    bent[i] ^= 0x10;
    CHECK(!profile_format::decode_block_header(bent));
  }
}

TEST_CASE("labels of threads are read as they were written, and only for threads that exist") {
  TempDir dir;
  const std::string path = dir.file("p.prof");
  auto writer = ProfileWriter::create(path, small_header(3));
  REQUIRE(writer.ok());
  const std::vector<ThreadLabel> labels = {{0, "", "main"}, {1, "io", ""}, {2, "w", "run"}};
  REQUIRE(writer->add_threads(labels).ok());
  REQUIRE(writer->finish().ok());
  const auto reader = ProfileReader::open(path);
  REQUIRE(reader.ok());
  CHECK(reader->threads() == labels);
  CHECK(labels[2].text() == "w (run)");
  CHECK(labels[1].text() == "io");

  auto wrong = ProfileWriter::create(path, small_header(2));
  REQUIRE(wrong.ok());
  REQUIRE(wrong->add_threads(labels).ok());
  REQUIRE(wrong->finish().ok());
  const auto damaged = ProfileReader::open(path);
  REQUIRE(damaged.ok());
  CHECK_FALSE(damaged->damage().empty());
}

TEST_CASE("varints: every width, cut and overlong ones") {
  for (unsigned bit = 0; bit < 64; ++bit) {
    profile_format::Octets out;
    profile_format::put_varint(out, 1ULL << bit);
    std::size_t at = 0;
    CHECK(profile_format::get_varint(out, at) == 1ULL << bit);
    CHECK(at == out.size());
    at = 0;
    CHECK(!profile_format::get_varint(std::span(out).first(out.size() - 1), at));
  }
  const profile_format::Octets endless(12, 0x80);
  std::size_t at = 0;
  CHECK(!profile_format::get_varint(endless, at));
}

TEST_CASE("written events are read again, in windows and in time order") {
  const TempDir dir;
  std::vector<ProfileEvent> events = many_events(5000, 300);
  std::vector<ProfileEvent> shuffled = events;
  for (std::size_t i = 0; i + 700 < shuffled.size(); i += 900)
    std::swap_ranges(shuffled.begin() + static_cast<long>(i),
                     shuffled.begin() + static_cast<long>(i) + 300,
                     shuffled.begin() + static_cast<long>(i) + 400);
  auto reader = ProfileReader::open(write_profile(dir, 300, shuffled, 250));
  REQUIRE(reader.ok());
  CHECK(reader->complete());
  CHECK(reader->damage().empty());
  CHECK(reader->header().node == "n1");
  CHECK(reader->blocks().size() == 20);
  CHECK(reader->events() == events.size());
  CHECK(reader->span().from_ns == events.front().time_ns);
  CHECK(reader->span().to_ns == events.back().time_ns + 1);
  auto by_time = [](const ProfileEvent& a, const ProfileEvent& b) {
    return std::tie(a.time_ns, a.src, a.dst, a.bytes) < std::tie(b.time_ns, b.src, b.dst, b.bytes);
  };
  std::vector<ProfileEvent> read = all_events(*reader);
  std::sort(read.begin(), read.end(), by_time);
  std::sort(events.begin(), events.end(), by_time);
  CHECK(read == events);
  const TimeWindow window{events[1000].time_ns, events[3000].time_ns};
  std::uint64_t inside = 0, last = 0;
  bool ordered = true;
  reader->for_each_in_order(window, [&](std::span<const ProfileEvent> part) {
    for (const ProfileEvent& event : part) {
      ordered &= event.time_ns >= last && window.contains(event.time_ns);
      last = event.time_ns;
      ++inside;
    }
  });
  CHECK(ordered);
  CHECK(inside == static_cast<std::uint64_t>(std::count_if(
                      events.begin(), events.end(),
                      [&](const ProfileEvent& e) { return window.contains(e.time_ns); })));
}

TEST_CASE("small blocks: totals, drops, memory, nodes and notes; the last record counts") {
  const TempDir dir;
  const std::string path = dir.file("small.prof");
  auto writer = ProfileWriter::create(path, small_header(4));
  REQUIRE(writer.ok());
  const std::vector<PairTotal> early{{0, 1, 5, 1}}, late{{0, 1, 50, 10}, {3, 0, 7, 2}};
  CHECK(writer->add_totals(early).ok());
  CHECK(writer->add_totals(late).ok());
  CHECK(writer->add_drops(std::vector<RankDrops>{{2, 9, 900}}).ok());
  CHECK(writer->add_memory(std::vector<RankMemory>{{1, 1000, true, 0}, {2, 5, false, 0}}).ok());
  CHECK(writer->add_nodes(std::vector<NodeShift>{{"a", 0, 2}, {"b", -1234567, 2}}).ok());
  const std::string longest(2000, 'x');
  CHECK(writer->add_notes(std::vector<std::string>{"memory: caf\xe9\n", longest}).ok());
  CHECK(writer->finish().ok());
  const auto reader = ProfileReader::open(path);
  REQUIRE(reader.ok());
  REQUIRE(reader->totals().size() == 2);
  CHECK(reader->totals()[0].bytes == 50);
  CHECK(reader->totals()[1].messages == 2);
  CHECK(reader->drops()[0].events == 9);
  CHECK(reader->memory()[0].dram_known);
  CHECK(!reader->memory()[1].dram_known);
  REQUIRE(reader->nodes().size() == 2);
  CHECK(reader->nodes()[1].shift_ns == -1234567);
  REQUIRE(reader->notes().size() == 2);
  CHECK(reader->notes()[0] == "memory: caf??");
  CHECK(reader->notes()[1] == longest.substr(0, profile_format::kMaxNote));
  CHECK(reader->events() == 0);
}

TEST_CASE("a cut file keeps every complete block, wherever it is cut") {
  const TempDir dir;
  const std::string whole = read_text(write_profile(dir, 8, many_events(400, 8), 100));
  auto sound = ProfileReader::open(dir.file("p.prof"));
  REQUIRE(sound->blocks().size() == 4);
  for (std::size_t length = 0; length < whole.size(); length += 37) {
    write_text(dir.file("cut"), whole.substr(0, length));
    auto reader = ProfileReader::open(dir.file("cut"));
    std::size_t complete = 0;
    for (const auto& block : sound->blocks())
      complete += block.offset + block.header.stored <= length ? 1 : 0;
    if (length < profile_format::kFileHeaderSize) {
      CHECK(!reader.ok());
      continue;
    }
    REQUIRE(reader.ok());
    CHECK(reader->blocks().size() == complete);
    CHECK(all_events(*reader).size() == complete * 100);
    CHECK(!reader->complete());
    CHECK(!reader->damage().empty());
  }
}

TEST_CASE("a flipped bit costs one block and is reported") {
  const TempDir dir;
  const std::string whole = read_text(write_profile(dir, 8, many_events(400, 8), 100));
  std::size_t told = 0, flips = 0;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string bent = whole;
    bent[at] = static_cast<char>(bent[at] ^ (1 << (at % 8)));
    write_text(dir.file("bent"), bent);
    auto reader = ProfileReader::open(dir.file("bent"));
    REQUIRE(reader.ok());
    const std::size_t got = all_events(*reader).size();
    CHECK(got >= 300);
    ++flips;
    told += reader->damage().empty() ? 0 : 1;
  }
  CHECK(told == flips);
}

TEST_CASE("the error for an undamaged header of another version names the version") {
  const TempDir dir;
  std::string whole = read_text(write_profile(dir, 8, many_events(10, 8)));
  whole[9] = 7;
  write_text(dir.file("new"), whole);
  CHECK(ProfileReader::open(dir.file("new")).ok());  // the checksum says that the header is damaged
  const std::span<const std::uint8_t> head(reinterpret_cast<const std::uint8_t*>(whole.data()),
                                           252);
  for (std::uint32_t i = 0, crc = profile_format::crc32(head); i < 4; ++i, crc >>= 8)
    whole[252 + i] = static_cast<char>(crc);
  write_text(dir.file("new"), whole);
  const auto reader = ProfileReader::open(dir.file("new"));
  REQUIRE(!reader.ok());
  CHECK(reader.error().message().find("of version 1793,") != std::string::npos);
}

TEST_CASE("foreign and odd files are one sentence") {
  const TempDir dir;
  write_text(dir.file("text"), std::string(5000, 'x'));
  write_text(dir.file("empty"), "");
  for (const std::string& name :
       {dir.file("text"), dir.file("empty"), dir.file(""), dir.file("no")}) {
    const auto reader = ProfileReader::open(name);
    REQUIRE(!reader.ok());
    CHECK(reader.error().message().find('\n') == std::string::npos);
    CHECK(!reader.error().message().empty());
  }
}

TEST_CASE("a named pipe is refused at once, with a reader and without") {
  const TempDir dir;
  const std::string path = dir.file("pipe");
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  for (const bool read : {false, true}) {
    const UniqueFd reader(read ? open(path.c_str(), O_RDONLY | O_NONBLOCK) : -1);
    auto writer = ProfileWriter::create(path, small_header(4));
    REQUIRE(!writer.ok());
    CHECK(writer.error().message() == "profile '" + path + "' is a pipe; name a file instead");
  }
}

TEST_CASE("a file that is not a profile stays as it is, also an empty one") {
  const TempDir dir;
  const std::string path = dir.file("notes");
  for (const char* content : {"do not lose this\n", "", "ODL"}) {
    write_text(path, content);
    const auto writer = ProfileWriter::create(path, small_header(4));
    REQUIRE(!writer.ok());
    CHECK(writer.error().message() ==
          "profile '" + path +
              "' exists and is not a profile; name another file, or remove this one");
    CHECK(read_text(path) == content);
  }
  write_text(path, "ODLPROF1 of another release");
  CHECK(ProfileWriter::create(path, small_header(4)).ok());
  CHECK(read_text(path).size() == profile_format::kFileHeaderSize);
  CHECK(dir.files() == 1);
}

TEST_CASE("a device never takes a recording") {
  for (const char* path : {"/dev/null", "/dev/full", "/dev/stderr"}) {
    const auto writer = ProfileWriter::create(path, small_header(4));
    REQUIRE(!writer.ok());
    CHECK(writer.error().message().find("; name a file instead") != std::string::npos);
  }
}

TEST_CASE("a profile is never visible without its header") {
  const TempDir dir;
  const std::string path = dir.file("p");
  std::atomic<bool> over{false};
  std::atomic<int> seen{0}, empty{0};
  std::thread reader([&] {
    while (!over) {
      struct stat info {};
      if (stat(path.c_str(), &info) != 0) continue;
      ++seen;
      if (info.st_size < static_cast<off_t>(profile_format::kFileHeaderSize)) ++empty;
    }
  });
  for (int i = 0; i < 500 || (seen == 0 && i < 100'000); ++i) {
    CHECK(ProfileWriter::create(path, small_header(4)).ok());
    if (i % 2 == 0) std::filesystem::remove(path);
  }
  over = true;
  reader.join();
  CHECK(seen > 0);
  CHECK(empty == 0);
}

TEST_CASE("another user's link or file in a folder like /tmp never takes a profile", "[root]") {
  if (!can_change_user()) ONDELOC_SKIP("needs root, to act as two users");
  const SharedDir dir;
  const std::string path = dir.file("app.prof");
  const auto recorded = [&] { return ProfileWriter::create(path, small_header(4)).ok(); };
  SECTION("a link to nowhere") {
    REQUIRE(
        as_user(kAttacker, [&] { return symlink(dir.own("planted").c_str(), path.c_str()) == 0; }));
    CHECK(!as_user(kVictim, recorded));
    CHECK(!std::filesystem::exists(dir.own("planted")));
    CHECK(!recorded());  // nor does root
    CHECK(!std::filesystem::exists(dir.own("planted")));
  }
  SECTION("a link to a profile of the victim") {
    const std::string target = dir.own("good.prof");
    REQUIRE(as_user(kVictim, [&] {
      write_text(target, "ODLPROF1 precious");
      return true;
    }));
    REQUIRE(as_user(kAttacker, [&] { return symlink(target.c_str(), path.c_str()) == 0; }));
    CHECK(!as_user(kVictim, recorded));
    CHECK(read_text(target) == "ODLPROF1 precious");
  }
  SECTION("a profile that everybody may write") {
    REQUIRE(as_user(kAttacker, [&] {
      write_text(path, "ODLPROF1 mine");
      return chmod(path.c_str(), 0666) == 0;
    }));
    CHECK(!as_user(kVictim, recorded));
    CHECK(read_text(path) == "ODLPROF1 mine");
  }
  SECTION("a link on the way") {
    REQUIRE(as_user(kAttacker,
                    [&] { return symlink(dir.own("").c_str(), dir.file("d").c_str()) == 0; }));
    CHECK(!as_user(kVictim, [&] {
      return ProfileWriter::create(dir.file("d/app.prof"), small_header(4)).ok();
    }));
    CHECK(!std::filesystem::exists(dir.own("app.prof")));
  }
  SECTION("one's own links and files are used") {
    CHECK(as_user(kVictim, [&] {
      return symlink(dir.own("mine").c_str(), path.c_str()) == 0 && recorded() && recorded();
    }));
    CHECK(std::filesystem::exists(dir.own("mine")));
  }
}

TEST_CASE("a check of a target on a full disk says so, and leaves nothing") {
  const TempDir dir;
  struct rlimit before {};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  std::signal(SIGXFSZ, SIG_IGN);
  const struct rlimit none { 0, before.rlim_max };
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &none) == 0);
  const Status checked = ProfileWriter::check(dir.file("new"));
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
  REQUIRE(!checked.ok());
  CHECK(checked.error().message().find("cannot be written: File too large") != std::string::npos);
  CHECK(dir.files() == 0);
}

TEST_CASE("a full disk leaves the complete blocks and one error") {
  const TempDir dir;
  struct rlimit before {};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  std::signal(SIGXFSZ, SIG_IGN);  // as the programs do (tests/unit/apps, tests/slurm)
  const struct rlimit small { 6000, before.rlim_max };
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  auto writer = ProfileWriter::create(dir.file("full"), small_header(64));
  REQUIRE(writer.ok());
  bool failed = false;
  for (const ProfileEvent& event : many_events(5000, 64)) {
    failed = failed || !writer->add(event).ok();
    if (writer->events() % 200 == 0) failed = failed || !writer->flush().ok();
  }
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
  CHECK(failed);
  CHECK(!writer->ok());
  auto reader = ProfileReader::open(dir.file("full"));
  REQUIRE(reader.ok());
  CHECK(reader->blocks().size() >= 2);
  CHECK(all_events(*reader).size() == reader->blocks().size() * 200);
}

TEST_CASE("the CPUs of ranks and step are in the file, the last record of a rank counts") {
  const TempDir dir;
  const auto set = [](const char* list) { return *CpuSet::parse_list(list); };
  auto writer = ProfileWriter::create(dir.file("cpus"), small_header(4));
  REQUIRE(writer.ok());
  REQUIRE(writer->add_cpus({}, {}).ok());  // nothing known: no block
  CHECK(writer->octets() == profile_format::kFileHeaderSize);
  const std::vector<RankCpuSet> first{{0, set("0-7")}, {3, set("2-3")}}, then{{0, set("0-1")}};
  REQUIRE(writer->add_cpus(first, set("0-3,8")).ok());
  REQUIRE(writer->add_cpus(then, {}).ok());
  REQUIRE(writer->finish().ok());
  const auto profile = ProfileReader::open(dir.file("cpus"));
  REQUIRE(profile.ok());
  CHECK(profile->damage().empty());
  CHECK(profile->step_cpus() == set("0-3,8"));
  const auto cpus = profile->cpus();
  REQUIRE(cpus.size() == 2);
  CHECK((cpus[0].rank == 0 && cpus[0].cpus == set("0-1")));
  CHECK((cpus[1].rank == 3 && cpus[1].cpus == set("2-3")));
}

TEST_CASE("CPU lists of many ranks go into several blocks") {
  const TempDir dir;
  CpuSet scattered;
  for (int cpu = 0; cpu < CpuSet::kMaxCpu; cpu += 2) scattered.set(PuOs(cpu));
  std::vector<RankCpuSet> ranks;
  for (std::uint32_t rank = 0; rank < 300; ++rank) ranks.push_back({rank, scattered});
  auto writer = ProfileWriter::create(dir.file("wide"), small_header(300));
  REQUIRE(writer.ok());
  REQUIRE(writer->add_cpus(ranks, scattered).ok());
  REQUIRE(writer->finish().ok());
  const auto profile = ProfileReader::open(dir.file("wide"));
  REQUIRE(profile.ok());
  CHECK(profile->damage().empty());
  CHECK(profile->cpus().size() == ranks.size());
  CHECK(profile->cpus().back().cpus == scattered);
}

TEST_CASE("many long notes go into several blocks") {
  const TempDir dir;
  auto writer = ProfileWriter::create(dir.file("n"), small_header(4));
  REQUIRE(writer->add_notes(std::vector<std::string>(5000, std::string(1000, 'x'))).ok());
  REQUIRE(writer->finish().ok());
  const auto reader = ProfileReader::open(dir.file("n"));
  CHECK(reader->notes().size() == 5000);
  CHECK(reader->damage().empty());
}

TEST_CASE("a small file that claims many nodes or CPUs does not fill the memory") {
  const TempDir dir;
  auto nodes = ProfileWriter::create(dir.file("n"), small_header(4));
  REQUIRE(nodes->add_nodes(std::vector<NodeShift>(70000)).ok());
  REQUIRE(nodes->finish().ok());
  const auto many = ProfileReader::open(dir.file("n"));
  CHECK(many->nodes().size() == 1U << 16);
  CHECK(many->damage().find("1 blocks are damaged") != std::string::npos);
  auto cpus = ProfileWriter::create(dir.file("c"), small_header(140000));
  for (std::uint32_t first = 0; first < 140000; first += 1000) {
    std::vector<RankCpuSet> ranks;
    for (std::uint32_t i = 0; i < 1000; ++i)
      ranks.push_back({first + i, *CpuSet::parse_list("8191")});
    REQUIRE(cpus->add_cpus(ranks, {}).ok());
  }
  REQUIRE(cpus->finish().ok());
  const auto wide = ProfileReader::open(dir.file("c"));
  CHECK(wide->cpus().size() == 1U << 17);  // 1 KiB each
  CHECK(wide->damage().find("blocks are damaged") != std::string::npos);
}

TEST_CASE("the share of a rank is its own CPUs, or an equal part of common ones") {
  const auto share = [](const std::vector<const char*>& lists) {
    std::vector<RankCpuSet> ranks;
    for (const char* list : lists) ranks.push_back({0, *CpuSet::parse_list(list)});
    return recorded_share(ranks);
  };
  CHECK(share({}) == 0);
  CHECK(share({"0-1"}) == 2);
  CHECK(share({"0-1", "2-3"}) == 2);
  CHECK(share({"0-7", "0-7", "0-7"}) == 2);  // not bound
  CHECK(share({"0-1", "0-1", "0-1"}) == 1);  // more ranks than CPUs
  CHECK(share({"0-3", "4"}) == 1);
  CHECK(share({"0-3", ""}) == 0);
}

TEST_CASE("a check of a target refuses what create refuses, and changes nothing") {
  const TempDir dir;
  CHECK(ProfileWriter::check(dir.file("new")).ok());
  CHECK(dir.files() == 0);
  auto writer = ProfileWriter::create(dir.file("mine"), small_header(4));
  REQUIRE(writer->add({1, 0, 1, 5}).ok());
  REQUIRE(writer->flush().ok());
  const std::string before = read_text(dir.file("mine"));
  CHECK(ProfileWriter::check(dir.file("mine")).ok());  // locked: another name will do
  CHECK(read_text(dir.file("mine")) == before);
  write_text(dir.file("empty"), "");
  for (const std::string& path : {dir.file("none/p"), dir.path(), std::string("/dev/null"),
                                  dir.file("empty"), std::string()}) {
    const Status checked = ProfileWriter::check(path);
    const auto created = ProfileWriter::create(path, small_header(4));
    REQUIRE(!checked.ok());
    REQUIRE(!created.ok());
    CHECK(checked.error().message() == created.error().message());
  }
}
