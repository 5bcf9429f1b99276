// TensorList: the contents of a tensor of dtype kVariant, a list of tensors that all have
// one dtype. A plain value that never changes: every change gives a new list. Only who
// holds the one handle of a list may change it where it is, which plans do (sole_list).
// Elements lie in rows of host memory (list_rows.h) where plans put them there one by
// one. Otherwise they are tensors in versions that share an array: the newest
// version of a list holds the elements in an array, older ones hold only how they differ
// from their successor, so that pushing, popping and setting are O(1) for whoever goes on
// from the newest version, whether or not older ones are kept (Baker's trick). Using an
// older version again moves the array there, or copies it where it is far away: versions
// that part and are used in turns, as the lists of a loop that begin as one, do so once.
// Any thread; versions of one list share a lock.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "tandem/tensor.h"
#include "tensor/list_rows.h"

namespace tandem {

class Device;

class TensorList {
 public:
  /// `count` elements that have not been set: they read as zeros.
  TensorList(DType element_dtype, const Shape& element_shape, int64_t count);
  TensorList(DType element_dtype, const Shape& element_shape, std::vector<Tensor> items);
  /// The rows of a tensor on the host, of a dtype of plain numbers.
  explicit TensorList(const Tensor& rows);

  DType element_dtype() const { return dtype_; }
  /// What holds for all elements; dimensions may be unknown.
  const Shape& element_shape() const { return shape_; }
  int64_t size() const { return size_; }
  /// Undefined when it has not been set.
  Tensor at(int64_t i) const;
  std::vector<Tensor> items() const;
  /// Where its elements are, going by the last ones that were set; null: none is, or they
  /// are handles themselves.
  Device* element_device() const;

  /// The same elements, none of which is set or has another dtype.
  TensorList with_element_dtype(DType dtype) const {
    TensorList made = *this;
    made.dtype_ = dtype;
    return made;
  }
  TensorList set(int64_t i, const Tensor& value) const;
  TensorList push_back(const Tensor& value) const;
  TensorList pop_back() const;
  /// Cut, or with more elements that have not been set.
  TensorList resize(int64_t count) const;

  // ---- Rows, for plans and for ops on all elements
  /// The memory of an element that lies in rows of this dtype and shape; null otherwise.
  const void* row(int64_t i, DType dtype, const Shape& shape) const;
  /// Copies all elements to `to`, one after the other; false, and nothing happens, unless
  /// all of them are set and lie in rows of this dtype and shape.
  bool copy_rows(DType dtype, const Shape& shape, void* to) const;
  /// Memory for one more element, or for another one at `i`, for the caller to fill. Null
  /// where it cannot be a row: the list holds tensors, shares its rows, or takes nothing
  /// of this kind.
  void* push_row(DType dtype, const Shape& shape);
  void* set_row(int64_t i, DType dtype, const Shape& shape);
  /// Leaves out the last element; false: the list holds tensors.
  bool pop_row();
  /// The same for lists that hold lists; false, and nothing happens, where the element is
  /// none, or other versions share the array.
  bool push_tensor(Tensor value);
  bool pop_tensor(Tensor& value);

  /// Elements that were copied so far because a version was far from its array; for
  /// tests.
  static int64_t copied_elements();

 private:
  struct Version;
  struct Family {
    std::mutex mutex;
  };
  TensorList next(std::shared_ptr<Version> version, int64_t size) const;
  /// Elements as tensors in versions.
  TensorList as_versions() const;
  void hold(std::vector<Tensor> items);
  bool has_own_array() const;
  bool accepts_row(DType dtype, const Shape& shape) const;
  /// Moves the array to this version; the family is locked.
  std::vector<Tensor>& array() const;

  DType dtype_;
  Shape shape_;
  int64_t size_ = 0;
  // One of the two, or neither: no element is set. There may be more rows than elements.
  Ref<ListRows> rows_;
  std::shared_ptr<Version> version_;
  std::shared_ptr<Family> family_;  // with version_
};

/// A scalar tensor of dtype kVariant in host memory that holds a list.
Tensor make_list_tensor(TensorList list);
/// Its list; throws InvalidArgumentError for any other tensor.
const TensorList& list_of(const Tensor& tensor);
/// The list of a tensor to which this is the only handle; null: there are others, or it
/// is no list.
TensorList* sole_list(const Tensor& tensor);

}  // namespace tandem
