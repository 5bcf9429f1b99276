// Every device text compiles: NVRTC needs no GPU. Instructions are compiled many to a
// program, since most of the time goes into the text that all programs start with; texts
// that come in many dtypes go as far as PTX, since the assembler takes longer than the
// compiler and has nothing to say about types.
#include <cstdlib>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "gpu/host/compiles.h"
#include "kernels/cuda/attention.h"
#include "kernels/cuda/batch_norm.h"
#include "kernels/cuda/compiler.h"
#include "kernels/cuda/conv.h"
#include "kernels/cuda/elementwise_text.h"
#include "kernels/cuda/expression.h"
#include "kernels/cuda/families.h"
#include "kernels/cuda/layer_norm.h"
#include "kernels/cuda/norm.h"
#include "kernels/cuda/pool_text.h"
#include "kernels/cuda/program.h"
#include "kernels/cuda/reduce.h"
#include "kernels/cuda/row_form.h"
#include "kernels/cuda/scatter.h"
#include "kernels/cuda/shared_memory.h"
#include "kernels/cuda/small_product.h"
#include "kernels/cuda/softmax.h"
#include "kernels/cuda/strided_copy.h"
#include "op/emitter.h"
#include "tandem/ops/attrs.h"

namespace tandem::cuda {

std::string gather_text(size_t element, DType index);
std::string copy_text();
std::string cross_text(DType dtype);
std::string linalg_text(DType dtype);
std::string make_text(DType dtype);
std::string random_text(DType dtype);
std::string small_cholesky_text(DType dtype);
std::string small_qr_text(DType dtype);
std::string state_text(DType dtype);

namespace {

constexpr int kArch = 90;

const std::vector<DType>& plain_dtypes() {
  static const std::vector<DType> all = [] {
    std::vector<DType> list;
    for (int i = 1; i < kDTypeCount; ++i) {
      const auto t = static_cast<DType>(i);
      if (kPlain & mask(t)) list.push_back(t);
    }
    return list;
  }();
  return all;
}

// dtypes of the inputs and the output of an elementwise op whose T is `t`.
struct Call {
  std::vector<DType> inputs;
  DType output;
};
Call call_of(const OpDef& op, DType t, AttrsRef attrs) {
  std::vector<TensorInfo> infos;
  for (const InputDef& in : op.inputs) {
    TensorInfo info;
    info.dtype = in.type == 'T' ? t : DType::kBool;
    info.shape = Shape{4};
    infos.push_back(info);
  }
  InferContext context(op, attrs, infos);
  infer_call(context);
  Call call;
  for (const TensorInfo& info : infos) call.inputs.push_back(info.dtype);
  call.output = context.outputs().at(0).dtype;
  return call;
}

/// One device function per op for dtype `t`, kept alive by a kernel.
std::string all_instructions(DType t, bool special, int* count) {
  std::string text = text_prefix(special), uses;
  for (const OpDef* op : OpTable::get().all()) {
    if (op->expression.empty() || op->variadic() || op->inputs.size() > 3) continue;
    if (needs_special_functions(*op) != special) continue;
    if (!(expression_dtypes(*op) & mask(t))) continue;
    const AttrsRef attrs = default_attrs(*op);
    const Call call = call_of(*op, t, attrs);
    std::vector<Operand> operands;
    std::string parameters, arguments;
    for (size_t i = 0; i < call.inputs.size(); ++i) {
      const std::string type =
          fmt::format("compute_of<{}>::type", type_text(call.inputs[i]));
      operands.push_back({fmt::format("v{}", i), call.inputs[i]});
      parameters += fmt::format("{} v{}, ", type, i);
      arguments += fmt::format("get((({0}*)p)[i + {1}]), ", type_text(call.inputs[i]), i);
    }
    text +=
        fmt::format("__device__ {} op{}({}int& fail) {{ return put<{}>({}); }}\n",
                    type_text(call.output), *count, parameters, type_text(call.output),
                    instruction_text(*op, attrs, operands, call.output));
    uses += fmt::format("  if (which == {0}) (({1}*)q)[i] = op{0}({2}fail);\n", *count,
                        type_text(call.output), arguments);
    ++*count;
  }
  return text +
         "extern \"C\" __global__ void all(void* p, void* q, int which, int i) {\n"
         "  int fail = 0;\n" +
         uses + "  if (fail) *(int*)q = fail;\n}\n";
}

class Text : public ::testing::TestWithParam<DType> {};

TEST_P(Text, InstructionsCompile) {
  int count = 0;
  const std::string text = all_instructions(GetParam(), false, &count);
  EXPECT_GT(count, 3);
  expect_compiles("instructions", text, GetParam() == DType::kFloat32 ? kArch : kPtxOnly);
}

TEST_P(Text, SpecialFunctionsCompile) {
  int count = 0;
  const std::string text = all_instructions(GetParam(), true, &count);
  if (count > 0) expect_compiles("special", text);
  EXPECT_EQ(count > 0, is_floating(GetParam()));
}

TEST_P(Text, CastsCompile) {
  std::string text =
      text_prefix(false) +
      "extern \"C\" __global__ void all(const void* p, void* q, int w) {\n";
  const char* from = type_text(GetParam());
  int which = 0;
  for (DType to : plain_dtypes()) {
    for (const char* f : {"f_cast", "f_cast_truncate"}) {
      text +=
          fmt::format("  if (w == {0}) *({1}*)q = {2}<{3}, {1}>(get(*(const {3}*)p));\n",
                      which++, type_text(to), f, from);
    }
  }
  expect_compiles("casts", text + "}\n");
}

TEST_P(Text, FamiliesCompile) {
  const DType t = GetParam();
  expect_compiles("make", make_text(t));
  if (t != DType::kBool) expect_compiles("state", state_text(t));
  if (t != DType::kBool)
    expect_compiles("scatter", scatter_text("ADD", t, DType::kInt32));
  if (is_floating(t)) expect_compiles("norm", norm_text(t));  // with rows.cuh
  if (is_floating(t) || (is_integer(t) && dtype_size(t) >= 4)) {
    expect_compiles("random", random_text(t));
  }
  if (!is_complex(t)) expect_compiles("arg", arg_text(true, t, DType::kInt32));
  if (t == DType::kBool) {
    expect_compiles("any", reduce_text("Any", t, 1, 1, false));
    expect_compiles("all", reduce_text("All", t, 2, 1, false));
  } else {
    expect_compiles("mean", reduce_text("Mean", t, 1, 2, false));
    expect_compiles("prod", reduce_text("Prod", t, 2, 2, true));
  }
}

INSTANTIATE_TEST_SUITE_P(Dtypes, Text, ::testing::ValuesIn(plain_dtypes()),
                         [](const auto& tested) {
                           return std::string(dtype_name(tested.param));
                         });

TEST(Reductions, EveryReducerCompiles) {
  for (const char* op :
       {"Sum", "Max", "Min", "EuclideanNorm", "LogSumExp", "Moments", "L2Loss"}) {
    expect_compiles(op, reduce_text(op, DType::kFloat32, 1, 1, false), kArch);
    expect_compiles(op, reduce_text(op, DType::kBFloat16, 2, 1, false));
  }
  for (const char* op : {"Max", "Min"}) {
    for (DType t : {DType::kInt8, DType::kInt64, DType::kUInt8, DType::kUInt64}) {
      expect_compiles(op, reduce_text(op, t, 1, 1, false));
    }
  }
  expect_compiles("norm", reduce_text("EuclideanNorm", DType::kComplex64, 1, 1, false));
}

TEST(Scatters, EveryCombinationCompiles) {
  for (const char* op : {"SUB", "MUL", "DIV", "MIN", "MAX"}) {
    expect_compiles(op, scatter_text(op, DType::kFloat16, DType::kInt64));
    expect_compiles(op, scatter_text(op, DType::kInt8, DType::kInt32));
  }
  for (DType t : {DType::kBool, DType::kInt16, DType::kFloat32, DType::kComplex128}) {
    expect_compiles("UPDATE", scatter_text("UPDATE", t, DType::kInt32));
  }
}

TEST(Moves, EverySizeCompiles) {
  for (size_t element : {1, 2, 4, 8, 16}) {
    expect_compiles("move", move_text(element, 3, element == 8));
    expect_compiles("gather", gather_text(element, DType::kInt32));
  }
  expect_compiles("gather", gather_text(4, DType::kUInt8));
}

FusedProgram gelu_of_sum(DType t) {
  FusedProgram p = single_program(OpTable::get().at("AddV2"), {}, {t, t}, t);
  FusedInstruction gelu;
  gelu.op = "Gelu";
  gelu.attrs = Attrs(default_attrs(OpTable::get().at("Gelu")));
  gelu.dtype = t;
  gelu.arguments = {2};
  p.instructions.push_back(gelu);
  p.outputs = {2, 3};
  return p;
}

TEST(Elementwise, BothFormsCompile) {
  for (DType t : {DType::kFloat16, DType::kFloat32, DType::kFloat64}) {
    const FusedProgram p = gelu_of_sum(t);
    expect_compiles("flat", elementwise_text(p, {}), kArch);
    expect_compiles("scalar", elementwise_text(p, {.scalars = 2}));
    expect_compiles("strided", elementwise_text(p, {.strided = true, .rank = 3}));
    expect_compiles(
        "wide", elementwise_text(p, {.strided = true, .rank = 2, .wide_index = true}));
  }
}

TEST(Elementwise, VectorsAreSixteenBytesOfTheWidestElement) {
  EXPECT_EQ(vector_elements(gelu_of_sum(DType::kFloat32), {}), 4);
  EXPECT_EQ(vector_elements(gelu_of_sum(DType::kFloat16), {}), 8);
  const FusedProgram less = single_program(
      OpTable::get().at("Less"), {}, {DType::kFloat64, DType::kFloat64}, DType::kBool);
  EXPECT_EQ(vector_elements(less, {}), 2);
}

TEST(SmallProduct, EveryFormCompiles) {
  const ProductEnd gelu{.bias = true, .activation = "GeluTanh"};
  const ProductEnd leaky{.activation = "LeakyRelu", .alpha = 0.3};
  for (DType t : {DType::kFloat16, DType::kBFloat16, DType::kFloat32}) {
    expect_compiles("plain", small_product_text(t, {}, {}), kArch);
    expect_compiles("bias",
                    small_product_text(t, {.tiles = 4, .warps = 8}, {.bias = true}));
    expect_compiles("gelu", small_product_text(t, {.transpose_a = true}, gelu));
    expect_compiles("split", split_product_text(t, {.tiles = 2, .warps = 8}, gelu));
    // Without TF32, as on the first GPUs that are supported.
    expect_compiles(
        "leaky",
        small_product_text(t, {.transpose_b = true, .tensor_cores = false}, leaky), 75);
  }
}

TEST(Convolution, EveryDtypeCompiles) {
  nn::ConvShape conv;
  conv.batch = 2;
  conv.in_channels = 6;
  conv.out_channels = 9;
  conv.groups = 3;
  conv.dims[0] = {.in = 9, .out = 4, .size = 3, .stride = 2};
  conv.dims[1] = {.in = 8, .out = 8, .size = 3, .before = 1, .after = 1};
  for (DType t : {DType::kFloat16, DType::kBFloat16, DType::kFloat32}) {
    expect_compiles("conv", conv_text(conv, t, {}, {.bias = true, .activation = "Elu"}));
  }
  conv.channels_first = true;
  expect_compiles("conv", conv_text(conv, DType::kFloat32, {.tiles = 1}, {}), kArch);
  expect_compiles("conv", conv_text(conv, DType::kFloat64, {.tensor_cores = false}, {}),
                  75);
}

TEST(BatchNorm, EveryDtypeCompiles) {
  for (DType t : {DType::kFloat16, DType::kBFloat16, DType::kFloat64}) {
    expect_compiles("batch norm", batch_norm_text(t));
    expect_compiles("batch norm's gradient", batch_norm_grad_text(t, {}));
    expect_compiles("batch norm's gradient",
                    batch_norm_grad_text(t, {.mask = NormMask::kByX}));
    expect_compiles(
        "batch norm's gradient",
        batch_norm_grad_text(t, {.mask = NormMask::kByY, .two = true, .kept = true}));
  }
  for (const int arch : {75, 80, 90}) {
    expect_compiles("batch norm", batch_norm_text(DType::kFloat32), arch);
    for (const NormGradForm& form :
         {NormGradForm{}, NormGradForm{.mask = NormMask::kByX},
          NormGradForm{.mask = NormMask::kByX, .kept = true},
          NormGradForm{.mask = NormMask::kByX, .two = true, .kept = true},
          NormGradForm{.mask = NormMask::kByY},
          NormGradForm{.mask = NormMask::kByY, .kept = true},
          NormGradForm{.mask = NormMask::kByY, .two = true, .kept = true}}) {
      expect_compiles("batch norm's gradient",
                      batch_norm_grad_text(DType::kFloat32, form), arch);
    }
  }
}

TEST(LayerNorm, EveryDtypeCompiles) {
  for (DType t : {DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64}) {
    expect_compiles("layer_norm", layer_norm_text(t, 768, 2));
    expect_compiles("layer_norm", layer_norm_text(t, 5, 1));
  }
  expect_compiles("layer_norm", layer_norm_text(DType::kFloat32, 8192, 8), kArch);
  EXPECT_EQ(layer_norm_warps(768, 16), 2);
  EXPECT_EQ(layer_norm_warps(8192, 32), 8);
  EXPECT_EQ(layer_norm_warps(8193, 32), 0);
}

TEST(KeptRows, EveryFormCompiles) {
  const char* const kernels[] = {"row_softmax.cuh", "row_entropy.cuh"};
  for (DType t : {DType::kFloat16, DType::kFloat64}) {
    for (const int64_t n : {10, 9000}) {
      for (const char* k : kernels) {
        expect_compiles(k, kept_rows_text(t, row_form(t, n, 1, kArch), k));
      }
    }
  }
  for (const int arch : {75, 80, 90}) {
    for (const char* k : kernels) {
      expect_compiles(
          k,
          kept_rows_text(DType::kBFloat16, row_form(DType::kBFloat16, 1000, 1, arch), k),
          arch);
      expect_compiles(
          k, kept_rows_text(DType::kFloat32, row_form(DType::kFloat32, 9000, 1, arch), k),
          arch);
    }
  }
}

TEST(KeptRows, FormsHoldTheirRows) {
  for (DType t : {DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64}) {
    const auto size = static_cast<int64_t>(dtype_size(t));
    for (const int arch : {75, 80, 86, 90}) {
      for (int64_t n = 0; n < 120000; n += n < 300 ? 1 : 311) {
        for (const int tensors : {1, 2}) {
          const RowForm form = row_form(t, n, tensors, arch);
          if (form.team > 0) {
            EXPECT_GE(16 * form.team * form.chunks, n * size) << n;
            EXPECT_EQ(256 % form.team, 0) << n;
          } else if (form.shared > 0) {
            const auto turn = static_cast<size_t>(16 * tensors) * form.threads;
            EXPECT_EQ(form.shared % turn, 0) << n;
            EXPECT_GE(form.shared, static_cast<size_t>(n * size * tensors)) << n;
            EXPECT_LT(form.shared, shared_memory_limit(arch)) << n;
          } else {
            EXPECT_GT(n, 4096) << arch;
          }
        }
      }
    }
  }
}

TEST(KeptRows, LongRowsLieInSharedMemory) {
  const RowForm gpt2 = row_form(DType::kFloat32, 50304, 1, 90);
  EXPECT_EQ(gpt2.team, 0);
  EXPECT_EQ(gpt2.threads, 1024u);
  EXPECT_EQ(gpt2.resident, 1);
  EXPECT_EQ(row_form(DType::kBFloat16, 50304, 1, 90).resident, 2);
  EXPECT_FALSE(row_form(DType::kFloat32, 50304, 1, 80).is_kept());
  EXPECT_EQ(row_form(DType::kFloat32, 8192, 1, 75).team, 256);
  EXPECT_EQ(row_form(DType::kFloat32, 8193, 1, 75).threads, 1024u);
  EXPECT_FALSE(row_form(DType::kFloat32, 20000, 1, 75).is_kept());
}

TEST(Pools, EveryDtypeCompiles) {
  nn::PoolShape pool;
  pool.batch = 2;
  pool.channels = 5;
  pool.dims[0] = {.in = 9, .out = 4, .size = 3, .stride = 2};
  pool.dims[1] = {.in = 8, .out = 8, .size = 3, .before = 1, .after = 1};
  for (DType t : {DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64}) {
    expect_compiles("pool", pool_text(pool, t));
  }
  pool.channels = 24;
  for (DType t : {DType::kFloat16, DType::kBFloat16, DType::kFloat64}) {
    expect_compiles("max pool", max_pool_text(pool, t));
  }
  for (const int arch : {75, 80, 90}) {
    expect_compiles("max pool", max_pool_text(pool, DType::kFloat32), arch);
  }
  expect_compiles("copy", copy_text(), kArch);
}

TEST(LinearAlgebra, EveryDtypeCompiles) {
  for (DType t :
       {DType::kFloat32, DType::kFloat64, DType::kComplex64, DType::kComplex128}) {
    expect_compiles("linalg", small_cholesky_text(t));
    expect_compiles("qr", small_qr_text(t));
  }
  for (int arch : {75, 80, kArch}) {
    expect_compiles("linalg", small_cholesky_text(DType::kComplex128), arch);
    expect_compiles("qr", small_qr_text(DType::kComplex64), arch);
  }
  for (DType t : plain_dtypes()) {
    if (kReals & mask(t)) expect_compiles("cross", cross_text(t));
  }
}

TEST(Attention, EveryDtypeCompiles) {
  for (DType t : {DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64}) {
    expect_compiles("attention", attention_text(t, 24, 40, t == DType::kFloat16));
  }
}

TEST(Attention, EveryFormOnTensorCoresCompiles) {
  const auto expect_both = [](DType t, const AttentionForm& form, int arch) {
    expect_compiles("forward", attention_tiles_text(t, form, false), arch);
    expect_compiles("backward", attention_tiles_text(t, form, true), arch);
  };
  const AttentionForm odd{
      .size = 24, .value_size = 7, .heads_first = true, .causal = true, .tile = 32};
  const AttentionForm wide{.size = 128,
                           .value_size = 128,
                           .mask = true,
                           .bias = true,
                           .scores = true,
                           .warps = 2,
                           .tile = 16};
  for (DType t : {DType::kFloat16, DType::kBFloat16, DType::kFloat32}) {
    expect_both(t, odd, kPtxOnly);
    expect_both(t, wide, kPtxOnly);
  }
  expect_both(DType::kFloat32, {}, kArch);
  expect_both(DType::kBFloat16, odd, 80);
}

TEST(Attention, FormsFitIntoSharedMemory) {
  AttentionCall call;
  call.shape = {.batch = 8,
                .queries = 1024,
                .keys = 1024,
                .heads = 12,
                .key_heads = 12,
                .size = 64,
                .value_size = 64};
  const auto form = [&](DType t, bool gradient, int arch, int multiprocessors = 132) {
    return attention_form(call, t, gradient, arch, multiprocessors);
  };
  EXPECT_EQ(form(DType::kBFloat16, false, 90).warps, 8);
  EXPECT_EQ(form(DType::kFloat32, false, 90).warps, 4);
  EXPECT_EQ(form(DType::kFloat32, true, 90).tile, 64);
  for (int64_t size : {8, 64, 128}) {
    call.shape.size = call.shape.value_size = size;
    for (DType t : {DType::kFloat16, DType::kFloat32}) {
      for (const bool gradient : {false, true}) {
        const AttentionForm small = form(t, gradient, 86);
        EXPECT_GT(small.warps, 0) << size;
        EXPECT_LE(attention_tiles_shared(t, small, gradient), size_t{99} * 1024) << size;
      }
    }
  }
  // Few rows: more and smaller blocks.
  call.shape.batch = 1;
  call.shape.queries = 128;
  EXPECT_EQ(form(DType::kBFloat16, false, 90).warps, 2);
}

TEST(Compile, ABadProgramNamesItselfAndTheLine) {
  try {
    compile("wrong", "void f() { undeclared(); }", kArch);
    FAIL() << "it compiled";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("wrong does not compile"), std::string::npos);
    EXPECT_NE(std::string(e.what()).find("undeclared"), std::string::npos);
  }
}

}  // namespace
}  // namespace tandem::cuda
