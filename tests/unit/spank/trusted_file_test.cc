// SPDX-License-Identifier: Apache-2.0
// Only what root alone can have put there is executed or preloaded.
#include "spank/trusted_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/catch.h"
#include "tests/unit/temp_dir.h"

using namespace ondeloc;

namespace {

constexpr uid_t kSomebody = 12345;

// The error, without the part of the path that is the test's own; "" if the file is trusted.
std::string fault(const TempDir& dir, const std::string& name) {
  const Status good = check_trusted_file(dir.file(name), R_OK);
  if (good) return "";
  std::string text = good.error().message();
  return text.starts_with(dir.path()) ? text.substr(dir.path().size()) : text;
}

struct Tree {
  TempDir dir;
  Tree() {
    std::filesystem::create_directories(dir.file("a/b"));
    write_text(dir.file("a/b/program"), "x");
    chmod(dir.path().c_str(), 0755);
    chmod(dir.file("a").c_str(), 0755);
    chmod(dir.file("a/b").c_str(), 0755);
    chmod(dir.file("a/b/program").c_str(), 0755);
  }
  std::string of_program() const { return fault(dir, "a/b/program"); }
};

}  // namespace

TEST_CASE("programs of the system are trusted, and names that are no such file are not") {
  CHECK(check_trusted_file("/bin/sh", X_OK).ok());
  CHECK(check_trusted_file("//bin/../bin//sh", X_OK).ok());
  CHECK(check_trusted_file("/nonexistent", R_OK).error().code() == ENOENT);
  for (const char* wrong : {"/tmp", "/", "", "bin/sh", "/bin/sh/", "/dev/null", "/bin/sh/x"}) {
    CAPTURE(wrong);
    CHECK_FALSE(check_trusted_file(wrong, R_OK).ok());
  }
}

TEST_CASE("every folder on the way to a trusted file is root's alone") {
  const Tree tree;
  if (geteuid() != 0) {
    CHECK(tree.of_program() == ": not owned by root");
    return;
  }
  CHECK(tree.of_program() == "");
  for (const std::string name : {"a", "a/b", "a/b/program"}) {
    const std::string path = tree.dir.file(name), where = "/" + name;
    CAPTURE(name);
    REQUIRE(chown(path.c_str(), kSomebody, 0) == 0);
    CHECK(tree.of_program() == where + ": not owned by root");
    REQUIRE(chown(path.c_str(), 0, 0) == 0);
    chmod(path.c_str(), 0757);
    CHECK(tree.of_program() == where + ": writable by others than root");
    chmod(path.c_str(), 0775);
    // Root's group may write a folder, but not the file.
    CHECK((tree.of_program() == "") == std::filesystem::is_directory(path));
    REQUIRE(chown(path.c_str(), 0, kSomebody) == 0);
    CHECK(tree.of_program() == where + ": writable by others than root");
    REQUIRE(chown(path.c_str(), 0, 0) == 0);
    chmod(path.c_str(), 0755);
  }
  chmod(tree.dir.file("a").c_str(), 01777);
  CHECK(tree.of_program() == "");  // nobody else can replace root's entry in a sticky folder
  chmod(tree.dir.file("a/b/program").c_str(), 01757);
  CHECK(tree.of_program() == "/a/b/program: writable by others than root");
}

TEST_CASE("links are followed, and count as what they are") {
  const Tree tree;
  const auto link = [&](const std::string& target, const std::string& name) {
    REQUIRE(symlink(target.c_str(), tree.dir.file(name).c_str()) == 0);
  };
  link("a/b", "relative");
  link(tree.dir.file("a/b"), "absolute");
  link("../a/./b/program", "a/up");
  link("loop", "loop");
  if (geteuid() != 0) {
    CHECK(fault(tree.dir, "relative/program") == ": not owned by root");
    return;
  }
  CHECK(fault(tree.dir, "relative/program") == "");
  CHECK(fault(tree.dir, "absolute/program") == "");
  CHECK(fault(tree.dir, "a/up") == "");
  CHECK(fault(tree.dir, "loop").find("oo many") != std::string::npos);
  REQUIRE(lchown(tree.dir.file("relative").c_str(), kSomebody, 0) == 0);
  CHECK(fault(tree.dir, "relative/program") == "/relative: not owned by root");
  // The folder behind the link, not only the one that holds it.
  chmod(tree.dir.file("a/b").c_str(), 0757);
  CHECK(fault(tree.dir, "absolute/program") == "/a/b: writable by others than root");
}
