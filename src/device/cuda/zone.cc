#include "device/cuda/zone.h"

#include <algorithm>

#include "tandem/error.h"

namespace tandem::cuda {

Zone::Zone(PhysicalMemory& memory, size_t bytes, size_t granule)
    : memory_(memory), page_(memory.page_bytes()), granule_(granule) {
  bytes_ = (bytes + page_ - 1) / page_ * page_;
  base_ = memory.reserve(bytes_);
  blocks_[0] = {.bytes = bytes_};
  holes_.insert({bytes_, 0});
}

Zone::Blocks::iterator Zone::split(Blocks::iterator block, size_t bytes) {
  const size_t rest = block->second.bytes - bytes;
  block->second.bytes = bytes;
  return blocks_.emplace_hint(std::next(block), block->first + bytes,
                              Block{.bytes = rest});
}

void Zone::forget(Blocks::iterator block) {
  const std::pair<size_t, size_t> key{block->second.bytes, block->first};
  switch (block->second.state) {
    case State::kFree:
      free_.erase(key);
      break;
    case State::kHole:
      holes_.erase(key);
      break;
    case State::kPending:
      if (Stream* stream = only_stream(block->second)) pending_of_[stream].erase(key);
      pending_.erase(block->second.order);
      block->second.uses.clear();
      break;
    case State::kUsed:
      break;
  }
}

void Zone::make(Blocks::iterator block, State state) {
  block->second.state = state;
  const auto next = std::next(block);
  if (next != blocks_.end() && next->second.state == state) {
    forget(next);
    block->second.bytes += next->second.bytes;
    blocks_.erase(next);
  }
  if (block != blocks_.begin()) {
    const auto before = std::prev(block);
    if (before->second.state == state) {
      forget(before);
      before->second.bytes += block->second.bytes;
      blocks_.erase(block);
      block = before;
    }
  }
  (state == State::kFree ? free_ : holes_).insert({block->second.bytes, block->first});
}

void Zone::make_pending(Blocks::iterator block, std::vector<TimePoint> uses) {
  block->second.state = State::kPending;
  block->second.uses = std::move(uses);
  block->second.order = pending_.insert(pending_.end(), block->first);
  if (Stream* stream = only_stream(block->second)) {
    pending_of_[stream].insert({block->second.bytes, block->first});
  }
}

void Zone::use(Blocks::iterator block, size_t bytes) {
  const State was = block->second.state;
  std::vector<TimePoint> uses = block->second.uses;
  forget(block);
  if (block->second.bytes > bytes) {
    const auto rest = split(block, bytes);
    if (was == State::kPending) {
      make_pending(rest, std::move(uses));
    } else {
      block->second.state = State::kUsed;  // before the rest looks at its neighbours
      make(rest, State::kFree);
    }
  }
  block->second.state = State::kUsed;
}

std::byte* Zone::take(size_t bytes, Stream* stream) {
  const std::pair<size_t, size_t> wanted{bytes, 0};
  auto found = blocks_.end();
  if (const auto free = free_.lower_bound(wanted); free != free_.end()) {
    found = blocks_.find(free->second);
  }
  if (const auto mine = pending_of_.find(stream); stream && mine != pending_of_.end()) {
    const auto pending = mine->second.lower_bound(wanted);
    if (pending != mine->second.end() &&
        (found == blocks_.end() || pending->first <= found->second.bytes)) {
      found = blocks_.find(pending->second);
    }
  }
  if (found == blocks_.end()) return nullptr;
  std::byte* const address = base_ + found->first;
  use(found, bytes);
  return address;
}

void Zone::give(std::byte* address, std::vector<TimePoint> uses) {
  const auto block = blocks_.find(static_cast<size_t>(address - base_));
  if (block == blocks_.end() || block->second.state != State::kUsed) {
    throw InternalError("GPU memory is given back that was not taken");
  }
  if (uses.empty()) {
    make(block, State::kFree);
  } else {
    make_pending(block, std::move(uses));
  }
}

void Zone::grow(std::span<const Page> pages) {
  const size_t bytes = pages.size() * page_;
  // Holes lie on page boundaries: they are made of whole pages.
  const auto hole = holes_.lower_bound({bytes, 0});
  if (hole == holes_.end()) {
    throw ResourceExhaustedError("the GPU's address range is used up");
  }
  const size_t offset = hole->second;
  for (size_t i = 0; i < pages.size(); ++i) {
    memory_.map(base_ + offset + i * page_, pages[i]);
    pages_[offset + i * page_] = pages[i];
  }
  memory_.allow_access(base_ + offset, bytes);
  const auto block = blocks_.find(offset);
  forget(block);
  if (block->second.bytes > bytes) {
    const auto rest = split(block, bytes);
    block->second.state = State::kUsed;
    make(rest, State::kHole);
  }
  make(block, State::kFree);
}

size_t Zone::strippable() const {
  size_t pages = 0;
  for (const auto& [bytes, offset] : free_) {
    const size_t first = (offset + page_ - 1) / page_, last = (offset + bytes) / page_;
    if (last > first) pages += last - first;
  }
  return pages;
}

std::vector<Zone::Page> Zone::strip(size_t wanted) {
  std::vector<Page> taken;
  // Smallest blocks first: large ones stay whole for the next request.
  std::vector<size_t> offsets;
  for (const auto& [bytes, offset] : free_) offsets.push_back(offset);
  for (size_t start : offsets) {
    if (taken.size() == wanted) break;
    auto block = blocks_.find(start);
    const size_t end = start + block->second.bytes;
    const size_t first = (start + page_ - 1) / page_ * page_;
    size_t last = end / page_ * page_;
    if (last <= first) continue;
    last = std::min(last, first + (wanted - taken.size()) * page_);
    forget(block);
    block->second.state = State::kUsed;  // until its parts have found their lists
    for (size_t at = first; at < last; at += page_) {
      memory_.unmap(base_ + at);
      taken.push_back(pages_.at(at));
      pages_.erase(at);
    }
    if (end > last) {
      const auto tail = split(block, last - start);
      make(tail, State::kFree);
    }
    auto middle = block;
    if (first > start) {
      middle = split(block, first - start);
      middle->second.state = State::kUsed;
      make(block, State::kFree);
    }
    make(middle, State::kHole);
  }
  return taken;
}

void Zone::sweep() {
  for (auto it = pending_.begin(); it != pending_.end();) {
    const auto block = blocks_.find(*it++);
    auto& uses = block->second.uses;
    if (!std::all_of(uses.begin(), uses.end(),
                     [](const TimePoint& use) { return use.passed(); })) {
      continue;
    }
    forget(block);
    make(block, State::kFree);
  }
}

std::vector<TimePoint> Zone::oldest_pending() const {
  if (pending_.empty()) return {};
  return blocks_.at(pending_.front()).uses;
}

}  // namespace tandem::cuda
