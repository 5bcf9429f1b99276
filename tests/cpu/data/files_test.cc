// Datasets of files, files of records, and elements in files.
#include <cstdio>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "base/record_file.h"
#include "cpu/data/data_support.h"
#include "data/element_file.h"

namespace tandem::data {
namespace {

class Files : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("tandem_data_test_" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string write(const std::string& name, const std::string& contents) const {
    std::ofstream(path(name), std::ios::binary) << contents;
    return path(name);
  }
  static std::vector<std::string> texts(const Dataset& d) {
    std::vector<std::string> result;
    for (const Element& e : d) result.push_back(e[0].item<std::string>());
    return result;
  }

 private:
  std::filesystem::path folder_;
};

TEST_F(Files, LinesOfText) {
  const std::string a = write("a", "one\ntwo\r\n\nlast");
  const std::string b = write("b", "more\n");
  EXPECT_EQ(texts(text_lines({a, b})),
            std::vector<std::string>({"one", "two", "", "last", "more"}));
  Iterator missing(text_lines({path("none")}));
  Element element;
  EXPECT_THROW(missing.next(element), NotFoundError);
}

TEST_F(Files, RecordsAreChecked) {
  {
    RecordWriter writer(path("r"));
    writer.write("hello");
    writer.write(std::string(1000, 'x'));
    writer.close();
    EXPECT_THROW(writer.write("late"), FailedPreconditionError);
  }
  EXPECT_EQ(texts(tf_records({path("r")})),
            std::vector<std::string>({"hello", std::string(1000, 'x')}));
  std::string contents;
  {
    std::ifstream in(path("r"), std::ios::binary);
    contents.assign(std::istreambuf_iterator<char>(in), {});
  }
  std::string wrong = contents;
  wrong[14] ^= 1;
  for (const std::string& bad : {wrong, contents.substr(0, contents.size() - 1)}) {
    Iterator iterator(tf_records({write("bad", bad)}));
    Element element;
    EXPECT_THROW(
        {
          while (iterator.next(element)) {
          }
        },
        DataLossError);
  }
}

TEST_F(Files, ElementsComeBackAsTheyWere) {
  const Element element = {constant({{1.f, 2.f}, {3.f, 4.f}}), constant(int64_t{7}),
                           constant({"a", "", "ccc"}), constant(std::vector<float>{})};
  const Element back = decode_element(encode_element(element));
  ASSERT_EQ(back.size(), element.size());
  EXPECT_EQ(back[0].to_vector<float>(), element[0].to_vector<float>());
  EXPECT_EQ(back[1].item<int64_t>(), 7);
  EXPECT_EQ(back[2].to_vector<std::string>(), element[2].to_vector<std::string>());
  EXPECT_EQ(back[3].shape(), Shape({0}));
  const std::string bytes = encode_element(element);
  for (size_t n = 0; n < bytes.size(); n += 5) {
    EXPECT_THROW(decode_element(bytes.substr(0, n)), Error) << n;
  }
}

TEST_F(Files, ACacheFileIsReadFromTheSecondPassOn) {
  int64_t calls = 0;
  const Dataset cached = range(0, 4)
                             .map([&](std::span<const Tensor> e) {
                               ++calls;
                               return Element(e.begin(), e.end());
                             })
                             .cache(path("cache"));
  EXPECT_EQ(numbers(cached.take(1)), Numbers({0}));
  EXPECT_EQ(numbers(cached), Numbers({0, 1, 2, 3}));
  EXPECT_EQ(numbers(cached), Numbers({0, 1, 2, 3}));
  EXPECT_EQ(calls, 5);
}

}  // namespace
}  // namespace tandem::data
