// What must hold for every row of the op table, whichever family it comes from.
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "op/host_function.h"
#include "op/kernel.h"
#include "op/op_def.h"
#include "support/alone.h"
#include "tandem/error.h"

namespace tandem {
namespace {

const std::vector<const OpDef*>& all() { return OpTable::get().all(); }

/// Differentiable in principle, but TensorFlow has no gradient either (its fused
/// recurrent layers and pooling with argmax have first derivatives only): asking for one
/// throws. Fused programs are made after gradients.
const std::set<std::string>& without_gradient() {
  static const std::set<std::string> names{"Fused",
                                           "FusedBatchNormEx",
                                           "FusedBatchNormGradEx",
                                           "FusedConv2D",
                                           "FusedMatMul",
                                           "FusedMulti",
                                           "FusedSparseCrossEntropy",
                                           "GruGrad",
                                           "IgammaGradA",
                                           "LstmGrad",
                                           "Lu",
                                           "MaxPoolGradWithArgmax"};
  return names;
}

TEST(OpTable, EveryOpHasANameInferenceAndOneLineOfDoc) {
  std::set<std::string> names;
  for (const OpDef* op : all()) {
    EXPECT_TRUE(names.insert(op->name).second) << op->name;
    EXPECT_TRUE(op->infer) << op->name;
    EXPECT_FALSE(op->doc.empty()) << op->name;
    EXPECT_EQ(op->doc.find('\n'), std::string::npos) << op->name;
    EXPECT_FALSE(op->doc.empty() || op->doc.back() != '.') << op->name << ": " << op->doc;
    EXPECT_EQ(OpTable::get().find(op->name), op);
    EXPECT_EQ(all()[static_cast<size_t>(op->id)], op);
  }
}

TEST(OpTable, InputsHaveNamesOfTheirOwn) {
  for (const OpDef* op : all()) {
    std::set<std::string> names;
    for (const InputDef& in : op->inputs) {
      EXPECT_FALSE(in.name.empty()) << op->name;
      EXPECT_TRUE(names.insert(in.name).second) << op->name << ": " << in.name;
    }
    for (const std::string& out : op->outputs) EXPECT_FALSE(out.empty()) << op->name;
    if (!op->attrs) continue;
    for (const AttrField& field : op->attrs->fields) {
      EXPECT_TRUE(names.insert(field.name).second)
          << op->name << ": attribute and input '" << field.name << "'";
    }
  }
}

TEST(OpTable, TypeVariablesThatInputsUseAreDeclaredOnceAndAllowSomething) {
  for (const OpDef* op : all()) {
    std::set<char> declared;
    for (const TypeVar& t : op->types) {
      EXPECT_TRUE(declared.insert(t.name).second) << op->name << ": " << t.name;
      EXPECT_TRUE(t.allowed) << op->name << ": " << t.name;
    }
    for (const InputDef& in : op->inputs) {
      // '*': dtypes of its own, checked by the op's inference.
      EXPECT_TRUE(in.type == '*' || declared.count(in.type))
          << op->name << ": " << in.name << " is " << in.type;
    }
  }
}

TEST(OpTable, OnlyTheLastInputIsAListAndOnlyVariablesAreWritten) {
  for (const OpDef* op : all()) {
    int variables = 0;
    for (size_t i = 0; i < op->inputs.size(); ++i) {
      const InputDef& in = op->inputs[i];
      EXPECT_TRUE(!in.variadic || i + 1 == op->inputs.size()) << op->name;
      EXPECT_TRUE(!in.writes || in.resource) << op->name;
      EXPECT_FALSE(in.host && in.shape_only) << op->name << ": " << in.name;
      variables += in.resource;
      EXPECT_EQ(in.writes, in.resource && (op->effects & kWritesState)) << op->name;
    }
    // Dispatch locks one variable per call.
    EXPECT_LE(variables, 1) << op->name;
    EXPECT_TRUE(!variables || (op->effects & (kReadsState | kWritesState))) << op->name;
    EXPECT_LE(op->inputs.size(), 32u) << op->name;
  }
}

TEST(OpTable, DifferentiableOpsHaveAGradient) {
  for (const OpDef* op : all()) {
    if (op->differentiable && !without_gradient().count(op->name)) {
      EXPECT_TRUE(op->gradient)
          << op->name << " has no gradient: write one, or set differentiable = false";
    }
    EXPECT_TRUE(op->differentiable || !op->gradient) << op->name;
  }
  for (const std::string& name : without_gradient()) {
    EXPECT_TRUE(OpTable::get().find(name)) << name << " is excused but not there";
  }
}

TEST(OpTable, EveryOpRunsOnTheHost) {
  for (const OpDef* op : all()) {
    // A variable's read is a view always; other views run a kernel where they cannot be
    // one.
    const bool only_view = op->view && !op->inputs.empty() && op->inputs[0].resource;
    EXPECT_TRUE(only_view || host_function(*op) ||
                KernelRegistry::get().has(*op, kHostPlatform))
        << op->name;
  }
}

TEST(OpTable, KernelsServeOpsThatExistAndLaunchInOneWay) {
  std::set<std::string> ids;
  for (const Kernel* kernel : KernelRegistry::get().all()) {
    const OpDef* op = OpTable::get().find(kernel->op);
    ASSERT_TRUE(op) << kernel->id;
    EXPECT_TRUE(ids.insert(kernel->id).second) << kernel->id;
    EXPECT_TRUE(kernel->prepare) << kernel->id;
    EXPECT_EQ(kernel->launch_dynamic != nullptr, op->dynamic) << kernel->id;
    EXPECT_EQ(kernel->launch != nullptr, !op->dynamic) << kernel->id;
  }
}

TEST(OpTable, ExpressionsSpeakOfInputsAndAttributesThereAre) {
  for (const OpDef* op : all()) {
    for (size_t at = 0; (at = op->expression.find('{', at)) != std::string::npos; ++at) {
      const std::string name =
          op->expression.substr(at + 1, op->expression.find('}', at) - at - 1);
      bool found = false;
      if (op->attrs) {
        for (const AttrField& field : op->attrs->fields) found |= field.name == name;
      }
      EXPECT_TRUE(found) << op->name << ": " << op->expression;
    }
  }
}

TEST(OpTable, UnknownOpsAreNotFound) {
  EXPECT_EQ(OpTable::get().find("NoSuchOp"), nullptr);
  EXPECT_ERROR(OpTable::get().at("NoSuchOp"), NotFoundError,
               "Op type not registered 'NoSuchOp'");
}

}  // namespace
}  // namespace tandem
