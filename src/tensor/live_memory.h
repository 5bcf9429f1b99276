// What the memory of each device is used for, so that running out of it can be explained.
// Who allocates says what for (allocate_for). Large buffers are entered into one table
// when they are made and leave it when they end; small ones cost one comparison. Text is
// made of it only when an allocation fails. Any thread.
#pragma once

#include <memory>
#include <string>

#include "tandem/dtype.h"
#include "tandem/ref.h"
#include "tandem/shape.h"

namespace tandem {

class Buffer;
class Device;
class Stream;
class Tensor;
struct VariableImpl;

/// A name that is made at run time. The list keeps it as long as the memory is there.
using KeptText = std::shared_ptr<const std::string>;

/// What a piece of memory is for. `role` and `name` live as long as the process
/// (constants, names of ops), or `keeps` says who owns the name.
struct MemoryNote {
  const char* role = nullptr;  // "result of"
  const char* name = nullptr;  // "MatMul"
  DType dtype = DType::kInvalid;
  const Shape* shape = nullptr;
  const KeptText* keeps = nullptr;
};

/// Buffer::allocate for what `note` says.
Ref<Buffer> allocate_for(const MemoryNote& note, Device& device, size_t bytes);
Ref<Buffer> allocate_for(const MemoryNote& note, Device& device, size_t bytes,
                         Stream* stream);

/// make_tensor, for what `note` says of it besides dtype and shape.
Tensor make_tensor_for(MemoryNote note, Device& device, DType dtype, const Shape& shape);

/// From now on the variable's memory is listed under its name. The caller holds its lock.
void note_variable(const VariableImpl& variable);

/// The line of the user's program that made a buffer, turned into text when it is listed.
/// Null: nobody knows.
struct MemoryLine {
  std::shared_ptr<const void> place;
  std::string (*text)(const void* place) = nullptr;
};
/// Finding a line takes microseconds, so that only those of buffers that take longer to
/// fill are asked for.
bool is_line_noted(const Buffer& buffer);
void note_line(const Buffer& buffer, MemoryLine line);
/// Asked when such a buffer is made; null: somebody else says it afterwards.
void set_memory_line_provider(MemoryLine (*provider)());

// For Buffer:

/// Whether buffers of this size are in the table.
bool is_noted(const Device& device, size_t bytes);
void note_buffer(const Buffer& buffer);
void forget_buffer(const Buffer& buffer);
/// What this thread wanted memory for and the largest buffers that are alive on `device`,
/// as lines to follow the message of an allocation that failed.
std::string explain_memory(const Device& device);

}  // namespace tandem
