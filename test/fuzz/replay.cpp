// Gives each file of a directory to the fuzz target, for compilers without a fuzzer.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size);

int main(int argc, char **argv) {
  if (argc != 2) {
    std::fputs("usage: replay DIRECTORY\n", stderr);
    return 2;
  }
  int files = 0;
  for (const auto &entry : std::filesystem::directory_iterator(argv[1])) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
    std::printf("%s, %zu bytes\n", entry.path().filename().c_str(), bytes.size());
    std::fflush(stdout);
    // A copy of exactly this size, so that a sanitizer sees a step beyond it.
    const std::vector<std::uint8_t> input(bytes.begin(), bytes.end());
    LLVMFuzzerTestOneInput(input.data(), input.size());
    files++;
  }
  if (files == 0) std::fputs("the directory is empty\n", stderr);
  return files == 0 ? 1 : 0;
}
