// SPDX-License-Identifier: Apache-2.0
// The sources of the value of --ondeloc: srun, the environment, plugstack.conf.
#include "spank/option.h"

#include <cstdlib>

#include "tests/unit/catch.h"
#include "tests/unit/spank/fake_spank.h"

using namespace ondeloc;

namespace {

constexpr const char* kSlurmsVariable = "SLURM_SPANK__SLURM_SPANK_OPTION_ondeloc_ondeloc";

FakeSpank in_srun() {
  FakeSpank fake;
  fake.context = S_CTX_LOCAL;
  return fake;
}

}  // namespace

TEST_CASE("slurmstepd keeps an option without judging it") {
  FakeSpank& fake = use_fake();
  REQUIRE(fake.option);
  CHECK_FALSE(given_option());
  fake.give_option("nonsense");
  CHECK(given_option() == "nonsense");
  CHECK_FALSE(env_default());
  fake.give_option(nullptr);
  CHECK(given_option() == "");
}

TEST_CASE("a value that srun has copied from ONDELOC is told from the option") {
  FakeSpank& fake = use_fake();
  fake.give_option(" online");
  CHECK_FALSE(given_option());
  CHECK(env_default() == "online");
  fake.give_option("off");
  CHECK(given_option() == "off");
  CHECK_FALSE(env_default());
}

TEST_CASE("srun exports ONDELOC for Slurm to find, and withdraws it") {
  use_fake(in_srun());
  setenv(kDefaultVariable, "online", 1);
  export_env_default();
  REQUIRE(std::getenv(kSlurmsVariable) != nullptr);
  CHECK(std::string(std::getenv(kSlurmsVariable)) == " online");
  withdraw_env_default();
  CHECK(std::getenv(kSlurmsVariable) == nullptr);
  unsetenv(kDefaultVariable);
}

TEST_CASE("nothing is exported over an option of sbatch, without a variable or outside of srun") {
  use_fake(in_srun());
  setenv(kSlurmsVariable, "off", 1);
  setenv(kDefaultVariable, "online", 1);
  export_env_default();
  withdraw_env_default();
  CHECK(std::string(std::getenv(kSlurmsVariable)) == "off");
  unsetenv(kSlurmsVariable);
  use_fake();
  export_env_default();
  CHECK(std::getenv(kSlurmsVariable) == nullptr);
  unsetenv(kDefaultVariable);
  use_fake(in_srun());
  export_env_default();
  CHECK(std::getenv(kSlurmsVariable) == nullptr);
}
