// What is packed comes back, with and without a dictionary; broken bytes are refused.
#include "base/lz.h"

#include <random>
#include <string>

#include <gtest/gtest.h>

namespace tandem {
namespace {

std::vector<char> bytes(const std::string& text) { return {text.begin(), text.end()}; }

size_t round_trip(const std::vector<char>& data, const std::vector<char>& dictionary) {
  const std::vector<char> packed = lz_pack(data, dictionary);
  std::vector<char> back(data.size());
  EXPECT_TRUE(lz_unpack(packed, dictionary, back));
  EXPECT_EQ(back, data);
  return packed.size();
}

TEST(Lz, ComesBack) {
  std::mt19937 random(1);
  const std::vector<char> dictionary =
      bytes("extern \"C\" __global__ void any(float* x)");
  for (const size_t size : {0, 1, 4, 5, 6, 100, 5000, 200'000}) {
    for (const unsigned values : {1u, 2u, 5u, 256u}) {
      std::vector<char> data(size);
      for (char& c : data) c = static_cast<char>(random() % values);
      round_trip(data, {});
      round_trip(data, dictionary);
    }
  }
}
TEST(Lz, WhatRepeatsIsSmall) {
  std::vector<char> data;
  for (int i = 0; i < 1000; ++i) {
    const std::vector<char> more = bytes("section .text." + std::to_string(i % 7));
    data.insert(data.end(), more.begin(), more.end());
  }
  EXPECT_LT(round_trip(data, {}), data.size() / 20);
}
TEST(Lz, WhatTheDictionaryHasCostsNothing) {
  std::mt19937 random(2);
  std::vector<char> data(4000);
  for (char& c : data) c = static_cast<char>(random());
  EXPECT_GT(round_trip(data, {}), 3900u);
  std::vector<char> dictionary = bytes("before");
  dictionary.insert(dictionary.end(), data.begin(), data.end());
  EXPECT_LT(round_trip(data, dictionary), 20u);
}
TEST(Lz, BrokenBytesAreRefused) {
  const std::vector<char> data = bytes("abcabcabcabcabcabcabcxyzabcabcabcabc");
  std::vector<char> packed = lz_pack(data, {});
  std::vector<char> back(data.size()), shorter(data.size() - 1), longer(data.size() + 1);
  EXPECT_FALSE(lz_unpack(packed, {}, shorter));
  EXPECT_FALSE(lz_unpack(packed, {}, longer));
  for (size_t cut = 0; cut < packed.size(); ++cut) {
    EXPECT_FALSE(lz_unpack({packed.data(), cut}, {}, back)) << cut;
  }
  // Whatever a byte becomes, nothing outside is touched (the sanitizers would say so).
  for (size_t at = 0; at < packed.size(); ++at) {
    for (const int value : {0, 1, 127, 128, 255}) {
      std::vector<char> wrong = packed;
      wrong[at] = static_cast<char>(value);
      lz_unpack(wrong, {}, back);
    }
  }
}

}  // namespace
}  // namespace tandem
