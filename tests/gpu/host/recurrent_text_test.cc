// The texts of recurrent layers compile in every form, and forms are chosen by size.
#include <gtest/gtest.h>

#include "gpu/host/compiles.h"
#include "kernels/cuda/recurrent.h"

namespace tandem::cuda {
namespace {

constexpr int kProcessors = 132;

void expect_recurrent_compiles(const std::string& text, int arch) {
  expect_compiles("recurrent", text, arch);
}

RecurrentShape layer(bool lstm, DType dtype, int64_t batch, int64_t units) {
  RecurrentShape r;
  r.lstm = lstm;
  r.dtype = dtype;
  r.batch = batch;
  r.time = 7;
  r.in = 3;
  r.units = units;
  return r;
}

TEST(RecurrentTexts, StepsCompile) {
  for (const bool lstm : {true, false}) {
    for (const bool forward : {true, false}) {
      const auto text = [&](DType t, bool tensor_cores) {
        return step_text(layer(lstm, t, 4, 20),
                         {.tensor_cores = tensor_cores, .warps = 4}, forward);
      };
      expect_recurrent_compiles(text(DType::kFloat32, false), 75);
      expect_recurrent_compiles(text(DType::kFloat64, false), 75);
      expect_recurrent_compiles(text(DType::kFloat16, true), 80);
      expect_recurrent_compiles(text(DType::kBFloat16, true), 80);
      expect_recurrent_compiles(text(DType::kFloat32, true), 90);
    }
  }
}

TEST(RecurrentTexts, ClustersCompile) {
  for (const bool lstm : {true, false}) {
    for (const bool forward : {true, false}) {
      const auto text = [&](DType t, int64_t batch, int64_t units) {
        const RecurrentShape r = layer(lstm, t, batch, units);
        return cluster_text(r, cluster_form(r, kProcessors), forward);
      };
      expect_recurrent_compiles(text(DType::kFloat32, 32, 128), 90);
      // The most that registers and shared memory have to hold.
      expect_recurrent_compiles(text(DType::kFloat32, 1000, 256), 90);
      for (int64_t units : {1, 9, 65, 150, 200}) {
        expect_recurrent_compiles(text(DType::kBFloat16, 3, units), kPtxOnly);
        expect_recurrent_compiles(text(DType::kFloat16, 2000, units), kPtxOnly);
      }
    }
  }
}

TEST(RecurrentForms, AClusterHoldsAllUnits) {
  for (int64_t units = 1; units <= kLargestCluster; ++units) {
    for (const bool lstm : {true, false}) {
      const RecurrentShape r = layer(lstm, DType::kFloat32, 32, units);
      const ClusterForm form = cluster_form(r, kProcessors);
      EXPECT_GE(form.blocks * form.own, units);
      EXPECT_LE(form.blocks, 8);
      EXPECT_EQ(form.own % 8, 0);
      // A warp makes one tile of 16 gates.
      EXPECT_LE((r.gates() * form.own + 15) / 16, form.warps) << units;
    }
  }
}

TEST(RecurrentForms, SequencesAreSharedOut) {
  const RecurrentShape few = layer(true, DType::kFloat32, 32, 128);
  const ClusterForm small = cluster_form(few, kProcessors);
  EXPECT_EQ(small.batch_tiles, 1);
  EXPECT_EQ(cluster_grid(few, small).x, 4u * 8);
  const RecurrentShape many = layer(true, DType::kFloat32, 1000, 128);
  const ClusterForm large = cluster_form(many, kProcessors);
  EXPECT_EQ(large.batch_tiles, 2);
  EXPECT_EQ(cluster_grid(many, large).x, 63u * 8);
  EXPECT_EQ(step_grid(few, {.warps = 4}).x, 2u);
  EXPECT_EQ(step_grid(few, {.warps = 4}).y, 16u);
}

}  // namespace
}  // namespace tandem::cuda
