// Saved models from C++: a folder as the Python package writes it, loaded and run.
#include "tandem/saved_model.h"

#include <fstream>

#include <gtest/gtest.h>

#include "base/file.h"
#include "io/stored_function.h"
#include "support/temporary_folder.h"
#include "support/traced.h"
#include "tandem/checkpoint.h"
#include "tandem/gradient.h"
#include "tandem/ops.h"

namespace tandem {
namespace {

/// y = w * x + b, {"sum": y, "twice": 2y}, with x of any length.
class SavedModelTest : public ::testing::Test {
 protected:
  SavedModelTest() {
    const Variable w(constant(3.f), {.name = "w"});
    const Variable b(constant(1.f), {.name = "b", .trainable = false});
    const auto graph = testing::trace(
        [&](const std::vector<Tensor>& in) {
          const Tensor product = multiply(w.read(), in[0]);
          const Tensor y = add(product, b.read());
          return std::vector<Tensor>{y, add(y, y)};
        },
        {constant({1.f, 2.f})}, true);
    std::filesystem::create_directories(folder_ / "functions");
    store_function(folder_ / "functions/0.graph", *graph);
    handles_ = stored_variables(*graph);
    save_checkpoint(folder_ / "variables/variables", {{"w", w.read()}, {"b", b.read()}});
    write(R"({"format": "tandem-saved-model", "version": 1,
      "variables": [{"name": "w", "key": "w", "dtype": "float32", "shape": [], "trainable": true},
                    {"name": "b", "key": "b", "dtype": "float32", "shape": [], "trainable": false}],
      "functions": [{"file": "functions/0.graph", "variables": [0, 1],
                     "inputs": [{"shape": [null], "dtype": "float32", "name": "x"}]}],
      "signatures": [{"name": "serving_default", "function": 0, "inputs": ["x"],
                      "outputs": [["sum", 0], ["twice", 1]]}]})");
  }
  void write(const std::string& text) {
    std::ofstream(folder_ / "saved_model.json") << text;
  }

  TemporaryFolder folder_;
  std::vector<Tensor> handles_;
};

TEST_F(SavedModelTest, RunsBySignature) {
  ASSERT_EQ(handles_.size(), 2u);
  const SavedModel model(folder_.path().string());
  EXPECT_EQ(model.signatures(), std::vector<std::string>{"serving_default"});
  const SavedFunction f = model.signature();
  EXPECT_EQ(f.inputs()[0].name, "x");
  EXPECT_EQ(f.outputs(), (std::vector<std::string>{"sum", "twice"}));
  EXPECT_EQ(f({constant({1.f, 2.f})})[0].to_vector<float>(), (std::vector<float>{4, 7}));
  const auto named = f.call({{"x", constant({1.f, 2.f, 3.f})}});
  EXPECT_EQ(named.at("twice").to_vector<float>(), (std::vector<float>{8, 14, 20}));
}

TEST_F(SavedModelTest, VariablesCanBeChangedAndDifferentiated) {
  const SavedModel model(folder_.path().string());
  const SavedFunction f = model.signature();
  Variable w = model.variables()[0];
  EXPECT_TRUE(w.trainable() && !model.variables()[1].trainable());
  w.assign(constant(10.f));
  GradientTape tape;
  const Tensor y = f({constant({2.f, 5.f})})[0];
  EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{21, 51}));
  EXPECT_EQ(tape.gradient({y}, {w})[0].dense().item<float>(), 7.f);
}

TEST_F(SavedModelTest, WrongArgumentsAreRefused) {
  const SavedModel model(folder_.path().string());
  const SavedFunction f = model.signature();
  EXPECT_THROW(f({}), InvalidArgumentError);
  EXPECT_THROW(f({constant(1.f)}), InvalidArgumentError);
  EXPECT_THROW(f({constant({1, 2})}), InvalidArgumentError);
  EXPECT_THROW(f.call({{"y", constant({1.f})}}), InvalidArgumentError);
  EXPECT_THROW(f.call({{"x", constant({1.f})}, {"y", constant({1.f})}}),
               InvalidArgumentError);
  EXPECT_THROW(model.signature("other"), NotFoundError);
}

TEST_F(SavedModelTest, DamageIsSeen) {
  EXPECT_THROW(SavedModel(folder_ / "nowhere"), NotFoundError);
  const std::string path = folder_ / "functions/0.graph";
  const std::string good = read_whole_file(path);
  for (size_t n : {size_t{0}, size_t{10}, good.size() / 2, good.size() - 1}) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << good.substr(0, n);
    EXPECT_THROW(SavedModel(folder_.path().string()), DataLossError) << n;
  }
  std::filesystem::remove(path);
  EXPECT_THROW(SavedModel(folder_.path().string()), NotFoundError);
  for (const char* text : {"", "{", "[]", R"({"format": "other"})",
                           R"({"format": "tandem-saved-model", "version": 1})"}) {
    write(text);
    EXPECT_THROW(SavedModel(folder_.path().string()), DataLossError) << text;
  }
  write(R"({"format": "tandem-saved-model", "version": 99})");
  EXPECT_THROW(SavedModel(folder_.path().string()), InvalidArgumentError);
}

// Names in the description lead nowhere outside the folder, and what it says of a
// function is what the function has.
TEST_F(SavedModelTest, NamesThatLeadOutAndLiesAreRefused) {
  const std::string good = read_whole_file(folder_ / "saved_model.json");
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    write(text.replace(at, from.size(), to));
  };
  std::filesystem::copy_file(folder_ / "functions/0.graph", folder_ / "../outside.graph",
                             std::filesystem::copy_options::overwrite_existing);
  std::filesystem::create_symlink("../outside.graph", folder_ / "link");
  for (const char* name :
       {"/etc/passwd", "../outside.graph", "functions/../../x", "link", ""}) {
    with("functions/0.graph", name);
    EXPECT_THROW(SavedModel(folder_.path().string()), InvalidArgumentError) << name;
  }
  std::filesystem::remove(folder_ / "../outside.graph");
  with(R"(["twice", 1])", R"(["twice", 2])");
  EXPECT_THROW(SavedModel(folder_.path().string()), DataLossError);
  with(R"("dtype": "float32", "name": "x")", R"("dtype": "int32", "name": "x")");
  EXPECT_THROW(SavedModel(folder_.path().string()), DataLossError);
  with(R"("version": 1)", R"("version": 1, "data": "../x")");
  EXPECT_THROW(SavedModel(folder_.path().string()), DataLossError);
  std::filesystem::create_symlink("/tmp", folder_ / "b");
  with(R"("version": 1)", R"("version": 1, "data": "b")");
  EXPECT_THROW(SavedModel(folder_.path().string()), InvalidArgumentError);
}

}  // namespace
}  // namespace tandem
