// Files and messages: what is read back is what was written, and what is refused.
#include "tandem/ops/files.h"

#include <cstdio>
#include <filesystem>

#include <gtest/gtest.h>

#include "base/wire.h"
#include "op/emitter.h"
#include "tandem/ops/image.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

class FilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() /
              ("tandem_files_" +
               std::to_string(::testing::UnitTest::GetInstance()->random_seed()) + "_" +
               ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string path(const char* name) const { return (folder_ / name).string(); }
  fs::path folder_;
};

TEST_F(FilesTest, WriteMakesFoldersAndReadGivesAllBytes) {
  const std::string bytes("a\0b\xff\n", 5);
  io::write_file(constant(path("x/y/z.bin")), constant(bytes));
  EXPECT_EQ(io::read_file(constant(path("x/y/z.bin"))).item<std::string>(), bytes);
  io::write_file(constant(path("x/y/z.bin")), constant(""));
  EXPECT_EQ(io::read_file(constant(path("x/y/z.bin"))).item<std::string>(), "");
}

TEST_F(FilesTest, MissingFileAndFolder) {
  EXPECT_THROW(io::read_file(constant(path("none"))), NotFoundError);
  EXPECT_THROW(io::read_file(constant(folder_.string())), FailedPreconditionError);
}

TEST_F(FilesTest, MatchingFilesAreSortedAndOnce) {
  for (const char* name : {"b.txt", "a.txt", "c.bin"}) {
    io::write_file(constant(path(name)), constant(name));
  }
  const Tensor patterns = constant({path("*.txt").c_str(), path("a.*").c_str()});
  EXPECT_EQ(io::matching_files(patterns).to_vector<std::string>(),
            (std::vector<std::string>{path("a.txt"), path("b.txt")}));
  EXPECT_EQ(io::matching_files(constant(path("*.none"))).num_elements(), 0);
}

TEST(TensorMessageTest, RoundTrip) {
  const Tensor numbers = constant({{1.5f, -2.0f, 3.0f}, {4.0f, 5.0f, 6.0f}});
  const Tensor back = io::parse_tensor(io::serialize_tensor(numbers), {DType::kFloat32});
  EXPECT_EQ(back.shape(), numbers.shape());
  EXPECT_EQ(back.to_vector<float>(), numbers.to_vector<float>());
  const Tensor words = constant({"a", "", "long word"});
  EXPECT_EQ(io::parse_tensor(io::serialize_tensor(words), {DType::kString})
                .to_vector<std::string>(),
            words.to_vector<std::string>());
}

TEST(TensorMessageTest, WrongTypeAndWrongBytes) {
  const Tensor message = io::serialize_tensor(constant(1.0f));
  EXPECT_THROW(io::parse_tensor(message, {DType::kInt32}), InvalidArgumentError);
  EXPECT_THROW(io::parse_tensor(constant("\xff\xff"), {DType::kInt32}),
               InvalidArgumentError);
  const std::string cut = message.item<std::string>().substr(0, 6);
  EXPECT_THROW(io::parse_tensor(constant(cut), {DType::kFloat32}), InvalidArgumentError);
}

// An Example with one feature of each kind.
std::string example(std::vector<int64_t> integers, std::vector<float> floats,
                    const std::string& bytes) {
  const auto entry = [](const char* key, int list, const WireMessage& values) {
    WireMessage feature, e;
    feature.message(list, values);
    e.text(1, key);
    e.message(2, feature);
    return e;
  };
  WireMessage i, f, b, features, message;
  for (const int64_t v : integers) i.integer(1, v);
  for (const float v : floats) f.number(1, v);
  b.text(1, bytes);
  features.message(1, entry("i", 3, i));
  features.message(1, entry("f", 2, f));
  features.message(1, entry("b", 1, b));
  message.message(1, features);
  return message.bytes();
}

TEST(ExampleTest, DenseSequenceAndVariableLength) {
  const Tensor serialized = constant(std::vector<std::string>{
      example({1, 2}, {0.5f}, "x"), example({-3, 4}, {1, 2}, "y")});
  const io::ParseExampleAttrs attrs{.keys = {"i", "f", "b", "none"},
                                    .kinds = {"dense", "varlen", "dense", "dense"},
                                    .types = {"int64", "float32", "string", "float32"},
                                    .shapes = {1, 2, 0, 0, 0}};
  const Tensor none_int = constant(std::vector<int64_t>{}),
               none_text = tensor_from_strings({}, {0});
  const Tensor none_float = constant(std::vector<float>{});
  const std::vector<Tensor> out = io::parse_example(
      serialized, {none_int, none_float, none_text, constant(7.0f)}, attrs);
  ASSERT_EQ(out.size(), 5u);
  EXPECT_EQ(out[0].to_vector<int64_t>(), (std::vector<int64_t>{1, 2, -3, 4}));
  EXPECT_EQ(out[0].shape(), (Shape{2, 2}));
  EXPECT_EQ(out[1].to_vector<float>(), (std::vector<float>{0.5f, 1, 2}));
  EXPECT_EQ(out[2].to_vector<int64_t>(), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(out[3].to_vector<std::string>(), (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(out[4].to_vector<float>(), (std::vector<float>{7, 7}));

  const io::ParseExampleAttrs padded{
      .keys = {"f"}, .kinds = {"sequence"}, .types = {"float32"}, .shapes = {0}};
  const Tensor rows = io::parse_example(serialized, {none_float}, padded)[0];
  EXPECT_EQ(rows.shape(), (Shape{2, 2}));
  EXPECT_EQ(rows.to_vector<float>(), (std::vector<float>{0.5f, 0, 1, 2}));
}

TEST(ExampleTest, MissingWrongTypeWrongSize) {
  const Tensor serialized =
      constant(std::vector<std::string>{example({1, 2}, {0.5f}, "x")});
  const auto parse = [&](const char* key, const char* type, Ints shapes,
                         const Tensor& none) {
    return io::parse_example(
        serialized, {none},
        {.keys = {key}, .kinds = {"dense"}, .types = {type}, .shapes = shapes});
  };
  const Tensor none = constant(std::vector<int64_t>{});
  EXPECT_THROW(parse("none", "int64", {0}, none), InvalidArgumentError);
  EXPECT_THROW(parse("i", "int64", {1, 3}, none), InvalidArgumentError);
  EXPECT_THROW(parse("i", "float32", {1, 2}, constant(std::vector<float>{})),
               InvalidArgumentError);
}

TEST(WavTest, RoundTripAndWishes) {
  static const OpHandle encode("EncodeWav");
  const Tensor sound = constant({{0.0f, 0.5f}, {-0.5f, 0.25f}, {1.0f, -1.0f}});
  const Tensor file = emit(encode, {sound, constant(int32_t{8000})});
  const std::vector<Tensor> out = io::decode_wav(file);
  EXPECT_EQ(out[0].shape(), (Shape{3, 2}));
  EXPECT_EQ(out[1].item<int32_t>(), 8000);
  const auto values = out[0].to_vector<float>(), wanted = sound.to_vector<float>();
  for (size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], wanted[i], 1e-4);
  const Tensor fitted =
      io::decode_wav(file, {.desired_channels = 1, .desired_samples = 4})[0];
  EXPECT_EQ(fitted.shape(), (Shape{4, 1}));
  EXPECT_EQ(fitted.to_vector<float>()[3], 0.0f);
  EXPECT_THROW(io::decode_wav(constant("RIFFxxxxWAVE")), InvalidArgumentError);
}

}  // namespace
}  // namespace tandem
