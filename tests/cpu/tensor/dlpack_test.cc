#include <memory>
#include <numeric>

#include <gtest/gtest.h>

#include "device/runtime.h"
#include "support/alone.h"
#include "tensor/dlpack_abi.h"
#include "tensor/tensor_impl.h"

namespace tandem {
namespace {

/// Another library's tensor: six int32 as [2,3], with a count of the calls of its
/// deleter.
struct Foreign {
  Foreign() {
    std::iota(std::begin(values), std::end(values), 0);
    managed.dl_tensor = {.data = values,
                         .device = {dlpack::kCpu, 0},
                         .ndim = 2,
                         .dtype = {dlpack::kInt, 32, 1},
                         .shape = shape,
                         .strides = nullptr,
                         .byte_offset = 0};
    managed.manager_ctx = this;
    managed.deleter = [](DLManagedTensor* self) {
      ++static_cast<Foreign*>(self->manager_ctx)->deleted;
    };
  }
  void set_layout(std::array<int64_t, 2> sizes, std::array<int64_t, 2> steps) {
    std::copy(sizes.begin(), sizes.end(), shape);
    std::copy(steps.begin(), steps.end(), strides);
    managed.dl_tensor.strides = strides;
  }

  alignas(16) int32_t values[6];
  int64_t shape[2] = {2, 3};
  int64_t strides[2] = {3, 1};
  int deleted = 0;
  DLManagedTensor managed{};
};

Tensor host_tensor(DType dtype, const Shape& shape, const void* data) {
  return make_host_copy(Runtime::get().cpu(), dtype, shape, data);
}

TEST(FromDlpack, TakesOverWithoutACopy) {
  Foreign f;
  {
    const Tensor t = from_dlpack(&f.managed);
    EXPECT_EQ(t.dtype(), DType::kInt32);
    EXPECT_EQ(t.shape(), Shape({2, 3}));
    EXPECT_EQ(t.host_data(), f.values);
    const Tensor second = t;
    EXPECT_EQ(f.deleted, 0);
  }
  EXPECT_EQ(f.deleted, 1);
}

TEST(FromDlpack, ViewsKeepTheMemory) {
  Foreign f;
  Tensor row;
  {
    const Tensor t = from_dlpack(&f.managed);
    row = make_tensor(DType::kInt32, {3}, Runtime::get().cpu(), t.impl()->buffer, 12);
  }
  EXPECT_EQ(f.deleted, 0);
  EXPECT_EQ(row.to_vector<int32_t>(), std::vector<int32_t>({3, 4, 5}));
  row = Tensor();
  EXPECT_EQ(f.deleted, 1);
}

TEST(FromDlpack, HonoursTheOffset) {
  Foreign f;
  f.shape[0] = 1;
  f.managed.dl_tensor.byte_offset = 12;
  const Tensor t = from_dlpack(&f.managed);
  EXPECT_EQ(t.to_vector<int32_t>(), std::vector<int32_t>({3, 4, 5}));
}

TEST(FromDlpack, ContiguousStridesNeedNoCopy) {
  for (const auto& [sizes, strides] :
       {std::pair<std::array<int64_t, 2>, std::array<int64_t, 2>>{{2, 3}, {3, 1}},
        {{1, 3}, {77, 1}},
        {{3, 1}, {1, 77}}}) {
    Foreign f;
    f.set_layout(sizes, strides);
    EXPECT_EQ(from_dlpack(&f.managed).host_data(), f.values);
    EXPECT_EQ(f.deleted, 1);
  }
}

TEST(FromDlpack, OtherStridesAreCopied) {
  struct Layout {
    std::array<int64_t, 2> sizes, strides;
    uint64_t offset;
    std::vector<int32_t> expected;
  };
  for (const Layout& layout : {Layout{{3, 2}, {1, 3}, 0, {0, 3, 1, 4, 2, 5}},
                               Layout{{2, 3}, {0, 1}, 0, {0, 1, 2, 0, 1, 2}},
                               Layout{{2, 2}, {3, 2}, 0, {0, 2, 3, 5}},
                               Layout{{2, 3}, {-3, -1}, 20, {5, 4, 3, 2, 1, 0}}}) {
    Foreign f;
    f.set_layout(layout.sizes, layout.strides);
    f.managed.dl_tensor.byte_offset = layout.offset;
    const Tensor t = from_dlpack(&f.managed);
    EXPECT_EQ(f.deleted, 1);
    std::fill(std::begin(f.values), std::end(f.values), -1);
    EXPECT_EQ(t.to_vector<int32_t>(), layout.expected);
  }
}

TEST(FromDlpack, CopiesElementsOfEverySize) {
  for (const DType dtype : {DType::kUInt8, DType::kFloat16, DType::kFloat32,
                            DType::kComplex64, DType::kComplex128}) {
    std::vector<std::byte> bytes(4 * dtype_size(dtype));
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i);
    const Tensor source = host_tensor(dtype, {2, 2}, bytes.data());
    DLManagedTensor* managed = to_dlpack(source);
    std::swap(managed->dl_tensor.strides[0], managed->dl_tensor.strides[1]);
    const Tensor t = from_dlpack(managed);
    std::vector<std::byte> transposed(bytes.size());
    t.copy_to(transposed.data(), transposed.size());
    const size_t size = dtype_size(dtype);
    EXPECT_TRUE(std::equal(bytes.begin() + static_cast<ptrdiff_t>(size),
                           bytes.begin() + static_cast<ptrdiff_t>(2 * size),
                           transposed.begin() + static_cast<ptrdiff_t>(2 * size)));
  }
}

TEST(FromDlpack, ScalarsAndEmptyTensors) {
  Foreign f;
  f.managed.dl_tensor.ndim = 0;
  f.managed.dl_tensor.shape = nullptr;
  EXPECT_EQ(from_dlpack(&f.managed).item<int32_t>(), 0);
  EXPECT_EQ(f.deleted, 1);

  Foreign empty;
  empty.set_layout({0, 3}, {99, -7});
  empty.managed.dl_tensor.data = nullptr;
  EXPECT_EQ(from_dlpack(&empty.managed).shape(), Shape({0, 3}));
  EXPECT_EQ(empty.deleted, 1);
}

TEST(FromDlpack, NoDeleterIsFine) {
  Foreign f;
  f.managed.deleter = nullptr;
  EXPECT_EQ(from_dlpack(&f.managed).num_elements(), 6);
  f.set_layout({3, 2}, {1, 3});
  EXPECT_EQ(from_dlpack(&f.managed).num_elements(), 6);
}

TEST(FromDlpack, WhatIsRefusedStaysTheCallers) {
  EXPECT_ERROR(from_dlpack(nullptr), InvalidArgumentError, "null");
  const auto refused = [](void (*spoil)(Foreign&), const char* text) {
    Foreign f;
    spoil(f);
    EXPECT_ERROR(from_dlpack(&f.managed), InvalidArgumentError, text);
    EXPECT_EQ(f.deleted, 0);
  };
  refused([](Foreign& f) { f.managed.dl_tensor.device = {dlpack::kCuda, 1}; },
          "Copy it to the CPU");
  refused([](Foreign& f) { f.managed.dl_tensor.dtype = {dlpack::kInt, 32, 4}; },
          "4 lanes");
  refused([](Foreign& f) { f.managed.dl_tensor.dtype = {dlpack::kFloat, 8, 1}; },
          "8 bits");
  refused([](Foreign& f) { f.managed.dl_tensor.dtype = {3, 64, 1}; }, "type code 3");
  refused([](Foreign& f) { f.managed.dl_tensor.byte_offset = 2; }, "multiple of 4 bytes");
  refused([](Foreign& f) { f.managed.dl_tensor.data = nullptr; }, "null pointer");
  refused([](Foreign& f) { f.managed.dl_tensor.ndim = kMaxRank + 1; }, "13 dimensions");
  refused([](Foreign& f) { f.managed.dl_tensor.ndim = -1; }, "-1 dimensions");
  refused([](Foreign& f) { f.managed.dl_tensor.shape = nullptr; }, "without sizes");
  refused([](Foreign& f) { f.shape[1] = -1; }, "size -1");
  refused([](Foreign& f) { f.shape[0] = f.shape[1] = int64_t{1} << 40; }, "64 bits");
}

TEST(ToDlpack, SharesTheMemory) {
  const float values[] = {1, 2, 3, 4, 5, 6};
  Tensor t = host_tensor(DType::kFloat32, {2, 3}, values);
  const void* address = t.host_data();
  DLManagedTensor* managed = to_dlpack(t);
  const DLTensor& d = managed->dl_tensor;
  EXPECT_EQ(d.data, address);
  EXPECT_EQ(d.byte_offset, 0u);
  EXPECT_EQ(d.device.device_type, dlpack::kCpu);
  EXPECT_EQ(d.dtype.code, dlpack::kFloat);
  EXPECT_EQ(d.dtype.bits, 32);
  EXPECT_EQ(d.dtype.lanes, 1);
  ASSERT_EQ(d.ndim, 2);
  EXPECT_EQ(std::vector<int64_t>(d.shape, d.shape + 2), std::vector<int64_t>({2, 3}));
  EXPECT_EQ(std::vector<int64_t>(d.strides, d.strides + 2), std::vector<int64_t>({3, 1}));

  // The receiver's hold outlives ours.
  Ref<Buffer> buffer = t.impl()->buffer;
  t = Tensor();
  EXPECT_EQ(buffer.use_count(), 2);
  EXPECT_EQ(static_cast<const float*>(d.data)[5], 6);
  managed->deleter(managed);
  EXPECT_EQ(buffer.use_count(), 1);
}

TEST(ToDlpack, ViewsStartAtTheirFirstElement) {
  const int32_t values[] = {1, 2, 3, 4};
  const Tensor t = host_tensor(DType::kInt32, {4}, values);
  const Tensor tail =
      make_tensor(DType::kInt32, {2}, Runtime::get().cpu(), t.impl()->buffer, 8);
  const Tensor back = from_dlpack(to_dlpack(tail));
  EXPECT_EQ(back.host_data(), tail.host_data());
  EXPECT_EQ(back.to_vector<int32_t>(), std::vector<int32_t>({3, 4}));
}

TEST(ToDlpack, EveryDtypeComesBack) {
  const std::vector<std::byte> zeros(3 * 16);
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (dtype != DType::kBool && !is_numeric(dtype)) continue;
    for (const Shape& shape : {Shape{}, Shape{3}, Shape{0, 3}, Shape{3, 1, 1}}) {
      const Tensor t = host_tensor(dtype, shape, zeros.data());
      const Tensor back = from_dlpack(to_dlpack(t));
      EXPECT_EQ(back.dtype(), dtype);
      EXPECT_EQ(back.shape(), shape);
      if (shape.num_elements() > 0) {
        EXPECT_EQ(back.host_data(), t.host_data());
      }
    }
  }
  const auto code = [&](DType dtype) {
    DLManagedTensor* managed = to_dlpack(host_tensor(dtype, {1}, zeros.data()));
    const DLDataType type = managed->dl_tensor.dtype;
    managed->deleter(managed);
    return std::pair<int, int>(type.code, type.bits);
  };
  EXPECT_EQ(code(DType::kBool), std::pair(6, 8));
  EXPECT_EQ(code(DType::kBFloat16), std::pair(4, 16));
  EXPECT_EQ(code(DType::kComplex128), std::pair(5, 128));
  EXPECT_EQ(code(DType::kUInt16), std::pair(1, 16));
}

TEST(ToDlpack, RefusesWhatHasNoForm) {
  const Tensor words = make_tensor(Runtime::get().cpu(), DType::kString, {2});
  EXPECT_ERROR(to_dlpack(words), InvalidArgumentError, "dtype string");
  EXPECT_ERROR(to_dlpack(Tensor()), InvalidArgumentError, "not defined");
}

ALONE_TEST(ToDlpack, CopiesFromOtherDevices, {{"TANDEM_EMULATE_GPUS", "1"}}) {
  const float values[] = {1, 2, 3};
  const Tensor t = host_tensor(DType::kFloat32, {3}, values).to("GPU:0");
  DLManagedTensor* managed = to_dlpack(t);
  EXPECT_EQ(managed->dl_tensor.device.device_type, dlpack::kCpu);
  EXPECT_EQ(static_cast<const float*>(managed->dl_tensor.data)[2], 3);
  managed->deleter(managed);
}

}  // namespace
}  // namespace tandem
