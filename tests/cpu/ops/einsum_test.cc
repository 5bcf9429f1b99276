// einsum and tensordot against a loop over all indices.
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "op/emitter.h"
#include "ops/case.h"
#include "ops/values.h"
#include "tandem/tandem.h"
#include "tensor/tensor_impl.h"

namespace tandem {
namespace {

using testing::Ref;

struct Operand {
  std::string labels;
  Ref value;
};

// Sum over all index values of the product of the operands; labels are plain letters.
Ref naive(const std::vector<Operand>& in, const std::string& out) {
  std::map<char, int64_t> size, at;
  for (const Operand& o : in) {
    for (size_t i = 0; i < o.labels.size(); ++i) {
      const int64_t d = o.value.shape[static_cast<int>(i)];
      int64_t& s = size.emplace(o.labels[i], d).first->second;
      s = std::max(s, d);
      at[o.labels[i]] = 0;
    }
  }
  const auto index = [&](const std::string& labels, const Shape& shape) {
    int64_t i = 0;
    for (size_t k = 0; k < labels.size(); ++k) {
      const int64_t d = shape[static_cast<int>(k)];
      i = i * d + (d == 1 ? 0 : at[labels[k]]);
    }
    return static_cast<size_t>(i);
  };
  Ref result;
  int64_t total = 1;
  for (char c : out) result.shape.push_back(size[c]);
  for (const auto& [c, d] : size) total *= d;
  result.values.resize(static_cast<size_t>(result.shape.num_elements()));
  for (int64_t n = 0; n < total; ++n) {
    int64_t rest = n;
    for (auto& [c, d] : size) {
      at[c] = rest % d;
      rest /= d;
    }
    std::complex<double> product = 1;
    for (const Operand& o : in) product *= o.value.values[index(o.labels, o.value.shape)];
    result.values[index(out, result.shape)] += product;
  }
  return result;
}

// `labels` and `out` spell the equation with letters in place of "...".
void expect_einsum(const std::string& equation, const std::vector<std::string>& labels,
                   const std::string& out, const std::vector<Shape>& shapes,
                   DType dtype = DType::kFloat64) {
  SCOPED_TRACE(equation);
  std::mt19937_64 random(7);
  std::vector<Operand> operands;
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < shapes.size(); ++i) {
    operands.push_back(
        {labels[i], testing::make_values({.shape = shapes[i]}, dtype, random)});
    inputs.push_back(testing::to_tensor(operands.back().value, dtype));
  }
  const Tensor got = einsum(equation, inputs);
  EXPECT_EQ(testing::difference(testing::to_ref(got), naive(operands, out), dtype, 1e-5),
            "");
}

TEST(Einsum, Products) {
  expect_einsum("ij,jk->ik", {"ij", "jk"}, "ik", {{2, 3}, {3, 4}});
  expect_einsum("ij,jk->ki", {"ij", "jk"}, "ki", {{2, 3}, {3, 4}});
  expect_einsum("ji,kj->ik", {"ji", "kj"}, "ik", {{3, 2}, {4, 3}});
  expect_einsum("ij,kj", {"ij", "kj"}, "ik", {{2, 3}, {4, 3}});
  expect_einsum("bij,bjk->bik", {"bij", "bjk"}, "bik", {{5, 2, 3}, {5, 3, 4}});
  expect_einsum("bij,bkj->bki", {"bij", "bkj"}, "bki", {{5, 2, 3}, {5, 4, 3}});
  expect_einsum("ibj,jbk->ikb", {"ibj", "jbk"}, "ikb", {{2, 5, 3}, {3, 5, 4}});
  expect_einsum("i,j->ij", {"i", "j"}, "ij", {{3}, {4}});
  expect_einsum("i,i->", {"i", "i"}, "", {{4}, {4}});
  expect_einsum("bi,bi->b", {"bi", "bi"}, "b", {{3, 4}, {3, 4}});
  expect_einsum("bi,bi->bi", {"bi", "bi"}, "bi", {{3, 4}, {3, 4}});
  expect_einsum("abcd,cbe->ade", {"abcd", "cbe"}, "ade", {{2, 3, 4, 5}, {4, 3, 2}});
  expect_einsum("bqhd,bkhd->bhqk", {"bqhd", "bkhd"}, "bhqk",
                {{2, 3, 2, 4}, {2, 5, 2, 4}});
  expect_einsum("bhqk,bkhd->bqhd", {"bhqk", "bkhd"}, "bqhd",
                {{2, 2, 3, 5}, {2, 5, 2, 4}});
  expect_einsum("ab,->ba", {"ab", ""}, "ba", {{2, 3}, {}});
  expect_einsum(" i j , j k -> i k ", {"ij", "jk"}, "ik", {{2, 3}, {3, 4}});
}

TEST(Einsum, OneOperand) {
  expect_einsum("ij->ji", {"ij"}, "ji", {{2, 3}});
  expect_einsum("ij->", {"ij"}, "", {{2, 3}});
  expect_einsum("ijk->kj", {"ijk"}, "kj", {{2, 3, 4}});
  expect_einsum("ii->i", {"ii"}, "i", {{3, 3}});
  expect_einsum("ii", {"ii"}, "", {{3, 3}});
  expect_einsum("iijj->j", {"iijj"}, "j", {{3, 3, 2, 2}});
  expect_einsum("iii->i", {"iii"}, "i", {{3, 3, 3}});
  expect_einsum("abca->cb", {"abca"}, "cb", {{2, 3, 4, 2}});
}

TEST(Einsum, Ellipsis) {
  expect_einsum("...ij,jk->...ik", {"abij", "jk"}, "abik", {{5, 2, 2, 3}, {3, 4}});
  expect_einsum("...ij,...jk->...ik", {"aij", "ajk"}, "aik", {{5, 2, 3}, {1, 3, 4}});
  expect_einsum("...ij,...jk->...ik", {"abij", "bjk"}, "abik", {{2, 1, 2, 3}, {5, 3, 4}});
  expect_einsum("...ij,...jk", {"aij", "ajk"}, "aik", {{5, 2, 3}, {5, 3, 4}});
  expect_einsum("i...->...", {"iab"}, "ab", {{2, 3, 4}});
  expect_einsum("i...j->j...i", {"iabj"}, "jabi", {{2, 3, 4, 5}});
  expect_einsum("...,...->...", {"ab", "b"}, "ab", {{2, 3}, {3}});
}

TEST(Einsum, ManyOperands) {
  expect_einsum("ij,jk,kl->il", {"ij", "jk", "kl"}, "il", {{2, 3}, {3, 4}, {4, 5}});
  expect_einsum("i,ij,j->", {"i", "ij", "j"}, "", {{3}, {3, 4}, {4}});
  expect_einsum("ab,bc,ac,d->d", {"ab", "bc", "ac", "d"}, "d",
                {{2, 3}, {3, 4}, {2, 4}, {5}});
  expect_einsum("bi,bj,bk->bijk", {"bi", "bj", "bk"}, "bijk", {{2, 2}, {2, 3}, {2, 4}});
}

TEST(Einsum, DTypes) {
  for (DType t : {DType::kFloat32, DType::kFloat16, DType::kBFloat16, DType::kInt32,
                  DType::kInt64, DType::kComplex64, DType::kComplex128}) {
    expect_einsum("bij,bjk->bki", {"bij", "bjk"}, "bki", {{2, 2, 3}, {2, 3, 4}}, t);
    expect_einsum("bi,bi->b", {"bi", "bi"}, "b", {{2, 3}, {2, 3}}, t);
  }
}

TEST(Einsum, EmptyDimensions) {
  expect_einsum("ij,jk->ik", {"ij", "jk"}, "ik", {{2, 0}, {0, 4}});
  expect_einsum("bij,bjk->bik", {"bij", "bjk"}, "bik", {{0, 2, 3}, {0, 3, 4}});
}

TEST(Einsum, Gradient) {
  const Tensor a = constant<double>({{1, 2}, {3, 4}}),
               b = constant<double>({{5, 6}, {7, 8}});
  GradientTape tape;
  tape.watch(a);
  tape.watch(b);
  const Tensor loss = einsum("ij,jj->", {a, b});  // sum_ij a[i][j] · b[j][j]
  const auto [da, db] = tape.gradient(loss, {Source(a), Source(b)});
  EXPECT_EQ(da.dense().to_vector<double>(), (std::vector<double>{5, 8, 5, 8}));
  EXPECT_EQ(db.dense().to_vector<double>(), (std::vector<double>{4, 0, 0, 6}));
}

template <class E>
void expect_einsum_error(const std::string& equation, const std::vector<Shape>& shapes,
                         const std::string& phrase) {
  std::vector<Tensor> inputs;
  for (const Shape& s : shapes) inputs.push_back(zeros(s));
  try {
    einsum(equation, inputs);
    ADD_FAILURE() << equation << " should have failed";
  } catch (const E& e) {
    EXPECT_NE(std::string(e.what()).find(phrase), std::string::npos) << e.what();
  }
}

TEST(Einsum, Errors) {
  expect_einsum_error<InvalidArgumentError>("ij,jk->ik", {{2, 3}, {4, 5}},
                                            "Expected dimension 3");
  expect_einsum_error<InvalidArgumentError>("ij,jk->ik", {{5, 1}, {2, 4}},
                                            "Expected dimension 1");
  expect_einsum_error<ValueError>("ij,jk->il", {{2, 3}, {3, 5}}, "label l not present");
  expect_einsum_error<ValueError>("ij,jk->ik", {{2, 3}}, "expecting 2");
  expect_einsum_error<InvalidArgumentError>("ijk->ik", {{2, 3}}, "rank 3 but got: 2");
  expect_einsum_error<ValueError>("ij->ii", {{2, 3}}, "appearing more than once");
  expect_einsum_error<InvalidArgumentError>("...ij->ij", {{5, 2, 3}}, "no ellipsis");
  expect_einsum_error<ValueError>("i1->i", {{2, 3}}, "incorrect format");
  expect_einsum_error<InvalidArgumentError>("ii->i", {{2, 3}}, "Expected dimension 2");
}

// Runs inference alone, as tracing does, on tensors that have no contents.
class InferenceOnly final : public Emitter {
 public:
  void emit(const OpDef& op, AttrsRef attrs, std::span<const TensorArg> inputs,
            std::vector<Tensor>& outputs) override {
    std::vector<TensorInfo> infos;
    for (const TensorArg& t : inputs) infos.push_back(describe(t.impl()));
    InferContext context(op, attrs, infos);
    infer_call(context);
    for (const TensorInfo& info : context.outputs()) {
      Tensor t = symbolic(info.dtype, info.shape);
      if (info.has_value)
        t.impl()->host_value = std::make_unique<PartialValue>(info.value);
      outputs.push_back(t);
    }
  }
  Tensor emit_one(const OpDef& op, AttrsRef attrs,
                  std::span<const TensorArg> inputs) override {
    std::vector<Tensor> outputs;
    emit(op, attrs, inputs, outputs);
    return outputs[0];
  }
  static TensorInfo describe(const TensorImpl* t) {
    TensorInfo info;
    if (!t) return info;
    info.dtype = t->dtype;
    info.shape = t->shape;
    if (t->buffer && is_integer(t->dtype) && t->shape.rank() <= 1) {
      info.data = t->data();
      info.value = read_ints(t->dtype, t->data(), t->shape.num_elements());
      info.has_value = true;
    } else if (t->host_value) {
      info.value = *t->host_value;
      info.has_value = true;
    }
    return info;
  }
  static Tensor symbolic(DType dtype, const Shape& shape) {
    return make_symbolic(dtype, shape, make_ref<SymbolicValue>());
  }
};

TEST(Einsum, UnknownDimensions) {
  InferenceOnly emitter;
  EmitterScope scope(&emitter);
  const auto infer = [](const std::string& equation, const std::vector<Shape>& shapes) {
    std::vector<Tensor> inputs;
    for (const Shape& s : shapes) {
      inputs.push_back(InferenceOnly::symbolic(DType::kFloat32, s));
    }
    return einsum(equation, inputs).shape().str();
  };
  EXPECT_EQ(infer("bqhd,bkhd->bhqk", {{-1, -1, 2, 4}, {-1, 5, 2, 4}}),
            "(None, 2, None, 5)");
  EXPECT_EQ(infer("bij,bjk->bik", {{-1, -1, -1}, {-1, -1, -1}}), "(None, None, None)");
  EXPECT_EQ(infer("ij,jk->ik", {{-1, 3}, {-1, 4}}), "(None, 4)");
  EXPECT_EQ(infer("...ij,jk->...ik", {{-1, 7, -1, 3}, {3, -1}}), "(None, 7, None, None)");
  EXPECT_EQ(infer("abc,abd->cd", {{-1, -1, 3}, {-1, -1, 4}}), "(3, 4)");
  EXPECT_EQ(infer("ii->i", {{-1, -1}}), "(None,)");
  EXPECT_EQ(infer("i,j->ij", {{-1}, {3}}), "(None, 3)");
}

TEST(TensorDot, Axes) {
  std::mt19937_64 random(3);
  const Ref a = testing::make_values({.shape = {2, 3, 4}}, DType::kFloat64, random);
  const Ref b = testing::make_values({.shape = {4, 3, 5}}, DType::kFloat64, random);
  const Tensor x = testing::to_tensor(a, DType::kFloat64);
  const Tensor y = testing::to_tensor(b, DType::kFloat64);
  const auto expect = [&](const Tensor& got, const std::string& bl,
                          const std::string& out) {
    EXPECT_EQ(testing::difference(testing::to_ref(got), naive({{"ijk", a}, {bl, b}}, out),
                                  DType::kFloat64, 1e-5),
              "");
  };
  expect(tensordot(x, y, {1, 2}, {1, 0}), "kjm", "im");
  expect(tensordot(x, y, {2}, {0}), "klm", "ijlm");
  expect(tensordot(x, y, 1), "klm", "ijlm");
  expect(tensordot(x, y, {-2}, {1}), "ljm", "iklm");
  EXPECT_EQ(tensordot(x, y, 0).shape(), (Shape{2, 3, 4, 4, 3, 5}));
  EXPECT_THROW(tensordot(x, y, {0}, {0}), InvalidArgumentError);
  EXPECT_THROW(tensordot(x, y, {0, 1}, {0}), ValueError);
}

}  // namespace
}  // namespace tandem
