// What the stages share that make batches of elements: how many elements belong to one,
// and how many batches there are. Any thread.
#pragma once

#include <vector>

#include "data/stage.h"

namespace tandem::data {

/// The batches that n elements make; kUnknown or kInfinite as n is.
int64_t batches_of(int64_t n, const Size& size, bool drop_remainder);

/// Takes as many elements as a batch has, fewer at the end. False: there is no batch.
bool collect(Cursor& input, int64_t size, bool drop_remainder, std::vector<Element>& to);

/// A stage whose elements are made of `size` elements of its input each.
class BatchingStage : public Stage {
 public:
  int64_t cardinality() const override {
    return batches_of(input_->cardinality(), size_, drop_);
  }

 protected:
  BatchingStage(const char* name, std::vector<Component> components, StagePtr input,
                Size size, bool drop)
      : Stage(name, std::move(components)),
        input_(std::move(input)),
        size_(std::move(size)),
        drop_(drop) {}
  const StagePtr input_;
  const Size size_;
  const bool drop_;
};

/// The rows of a batch as far as they are known before it is made.
inline int64_t known_rows(const Size& size, bool drop_remainder) {
  return drop_remainder ? size.value_or(kUnknownDim) : kUnknownDim;
}

}  // namespace tandem::data
