// What events are called in TensorBoard's profile plugin, which sorts them by their names
// and the texts of a few values: ops "node:Type", stages of pipelines
// "Iterator::Root::…", copies "MemcpyHToD", what it tells of kernels and copies. Any
// thread.
#pragma once

#include <string>

#include "base/recorder.h"

namespace tandem::profile {

/// The type of an op and its node as "node:Type": "train_step/dense/MatMul:MatMul". Empty
/// for what is no op.
std::string op_name(const recorder::Event& event);

/// "MatMul" of "train_step/dense/MatMul:MatMul".
std::string op_type(const std::string& op_name);

/// Of a thread of the host.
std::string host_name(const recorder::Event& event);

/// Of a stream's work: a kernel's name, "MemcpyHToD", "Memset".
std::string device_name(const recorder::Event& event);
/// Whether that is a copy (or a fill), not a kernel.
bool moves_bytes(const recorder::Event& event);
/// "regs:32 static_shared:0 dynamic_shared:0 grid:8,1,1 block:128,1,1".
std::string kernel_details(const recorder::Event& event);
/// "num_bytes:4096\n…".
std::string copy_details(const recorder::Event& event);

/// "Stream #1(Compute)" for the first row of the lane "compute".
std::string stream_name(int64_t number, const std::string& lane);

}  // namespace tandem::profile
