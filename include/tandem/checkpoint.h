// Checkpoints: named tensors on disk. A save is atomic: a crash leaves the old checkpoint
// or the whole new one. Every tensor has a checksum, and can be read alone. Any thread;
// several may read one CheckpointReader. docs/checkpoints.md describes the files.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tandem/tensor.h"
#include "tandem/variable.h"

namespace tandem {

struct NamedTensor {
  std::string name;
  Tensor value;
};

/// Writes `prefix`.index and `prefix`.data-00000-of-00001, in that folder, which is made
/// when it is not there. Tensors are snapshots: variables may go on changing.
void save_checkpoint(const std::string& prefix, const std::vector<NamedTensor>& tensors);

/// What a checkpoint says about one of its tensors.
struct StoredTensor {
  std::string name;
  DType dtype = DType::kInvalid;
  Shape shape;
  uint64_t offset = 0;  // in the data file
  uint64_t bytes = 0;
  uint32_t checksum = 0;  // CRC-32C
};

class CheckpointReader {
 public:
  /// Reads the index. Throws NotFoundError when there is no such checkpoint, and
  /// DataLossError when it is damaged.
  explicit CheckpointReader(const std::string& prefix);

  const std::string& prefix() const;
  /// Ordered by name.
  const std::vector<StoredTensor>& tensors() const;
  /// Null: there is none of that name.
  const StoredTensor* find(const std::string& name) const;
  /// Reads one tensor, to the host. Throws NotFoundError for an unknown name and
  /// DataLossError when its bytes are not those that were written.
  Tensor read(const std::string& name) const;
  /// Reads the tensor and assigns it; dtype and shape must fit.
  void restore(const std::string& name, Variable variable) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

}  // namespace tandem
