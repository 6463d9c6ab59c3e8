// SPDX-License-Identifier: Apache-2.0
// Replaces libFuzzer if the compiler has none: runs every seed of the corpus, then mutations of the
// seeds, the same ones each time. Fails if the corpus has no seed.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

constexpr int kMutationsPerSeed = 2000;

using Bytes = std::vector<std::uint8_t>;

Bytes read_seed(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Changes a byte, cuts out or doubles a piece, or inserts a piece of another seed.
Bytes mutate(Bytes bytes, const Bytes& other, std::mt19937_64& random) {
  for (std::uint64_t steps = 1 + random() % 4; steps > 0; --steps) {
    const std::size_t at = bytes.empty() ? 0 : random() % bytes.size();
    const std::size_t length = bytes.empty() ? 0 : random() % (bytes.size() - at) % 64;
    const auto from = bytes.begin() + static_cast<std::ptrdiff_t>(at);
    const Bytes piece(from, from + static_cast<std::ptrdiff_t>(length));
    switch (random() % 4) {
      case 0:
        if (!bytes.empty()) bytes[at] = static_cast<std::uint8_t>(random());
        break;
      case 1:
        bytes.erase(from, from + static_cast<std::ptrdiff_t>(length));
        break;
      case 2:
        bytes.insert(from, piece.begin(), piece.end());
        break;
      default:
        bytes.insert(from, other.begin(),
                     other.begin() +
                         static_cast<std::ptrdiff_t>(other.empty() ? 0 : random() % other.size()));
    }
  }
  return bytes;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<Bytes> seeds;
  for (int i = 1; i < argc; ++i) {
    for (const auto& file : std::filesystem::directory_iterator(argv[i]))
      seeds.push_back(read_seed(file.path()));
  }
  if (seeds.empty()) {
    std::fprintf(stderr, "no seeds in the corpus\n");
    return 1;
  }
  std::mt19937_64 random(1);
  std::size_t runs = 0;
  for (const Bytes& seed : seeds) {
    LLVMFuzzerTestOneInput(seed.data(), seed.size());
    for (int k = 0; k < kMutationsPerSeed; ++k, ++runs) {
      const Bytes bytes = mutate(seed, seeds[random() % seeds.size()], random);
      LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
    }
  }
  std::printf("%zu seeds, %zu mutations\n", seeds.size(), runs);
  return 0;
}
