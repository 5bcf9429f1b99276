// One declarative case per op, run in several modes by one harness
// (tests/ops/harness.cc):
//   values      against the naive float64 reference written in the case, for every dtype
//   listed gradients   against finite differences in float64 (differentiable ops,
//   floating dtypes) inference   with unknown dimensions and unknown rank, against the
//   actual shapes emulated    the same call on an emulated GPU gives the same result as
//   on the CPU views       inputs that are views at odd offsets; outputs poisoned before
//   the kernel writes
// An op without a case fails the build of the test. Inputs are random and fresh (seed
// printed).
#pragma once

#include <complex>
#include <functional>
#include <string>
#include <vector>

#include "op/attrs.h"
#include "op/op_def.h"
#include "tandem/dtype.h"
#include "tandem/shape.h"
#include "tandem/tensor.h"

namespace tandem::testing {

/// A tensor for references: every dtype as complex<double> (imaginary part 0 for reals),
/// row-major.
struct Ref {
  Shape shape;
  std::vector<std::complex<double>> values;
  std::vector<std::string> strings;  // for dtype string
  double& re(size_t i) { return reinterpret_cast<double*>(&values[i])[0]; }
  double re(size_t i) const { return values[i].real(); }
  int64_t n() const { return shape.num_elements(); }
};

/// How one input is made.
struct In {
  Shape shape;
  /// Values uniform in [low, high); integers and bools are drawn as whole numbers from
  /// it.
  double low = -2, high = 2;
  /// Fixed values instead of random ones.
  std::vector<double> fixed = {};
  /// Their imaginary parts in complex dtypes.
  std::vector<double> imaginary = {};
  std::vector<std::string> strings = {};
  /// The dtype when it is not the case's T (indices, conditions, shapes).
  DType dtype = DType::kInvalid;
  /// All values differ by at least this much (max, sort, argmax under finite
  /// differences).
  double spread = 0;
  /// An absent optional input.
  bool absent = false;
};

using Reference =
    std::function<std::vector<Ref>(const std::vector<Ref>& inputs, DType dtype)>;

struct OpCase {
  std::string op;         // name in the op table
  std::string name = "";  // tells cases of one op apart
  std::vector<In> inputs;
  Attrs attrs = {};  // Attrs(attrs_ref(MatMulAttrs{…})); empty: the op's defaults
  /// dtypes of type variable T that are tried; values only for all but float32 and
  /// float64.
  std::vector<DType> dtypes = {DType::kFloat32, DType::kFloat64};
  Reference reference = nullptr;
  /// Tolerances for float32 relative to max(1, |expected|); other dtypes scale with their
  /// epsilon.
  double tolerance = 1e-5;
  /// Check gradients of these inputs (finite differences in float64); empty: of all
  /// floating inputs when the op is differentiable.
  std::vector<int> grad_inputs = {};
  bool check_gradient = true;
  double grad_tolerance = 1e-5;
  /// Attributes that depend on the dtype tried (a cast's target).
  std::function<Attrs(DType)> attrs_for = nullptr;
  /// Ops without a deterministic reference (random, uninitialised): checks properties
  /// instead.
  std::function<void(const std::vector<Tensor>& outputs)> check = nullptr;
  /// Results are determined but for signs, which devices choose in their own way: there
  /// `check` is asked, and gradients are taken of what signs do not change.
  bool up_to_signs = false;
};

/// Registers cases: one function per family, `void add_array_cases(CaseList& cases)`.
using CaseList = std::vector<OpCase>;

void add_array_cases(CaseList& cases);
void add_elementwise_cases(CaseList& cases);
void add_fused_cases(CaseList& cases);
void add_image_cases(CaseList& cases);
void add_indexing_cases(CaseList& cases);
void add_linalg_cases(CaseList& cases);
void add_nn_cases(CaseList& cases);
void add_random_cases(CaseList& cases);
void add_reduce_cases(CaseList& cases);
void add_signal_cases(CaseList& cases);
void add_sort_cases(CaseList& cases);
void add_state_cases(CaseList& cases);
void add_string_cases(CaseList& cases);

}  // namespace tandem::testing
