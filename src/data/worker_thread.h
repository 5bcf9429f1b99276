// Threads of pipelines: named, on the core set that pipelines claim while any of their
// threads lives, each running kernels alone so that the team of the CPU stays with the
// training step. Joined by whoever made them.
#pragma once

#include <functional>
#include <string>
#include <thread>

namespace tandem::data {

/// `body` must not throw.
std::jthread start_worker(const std::string& name, std::function<void()> body);

}  // namespace tandem::data
