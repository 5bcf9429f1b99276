#include "tensor/variable_arena.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "tandem/error.h"
#include "tensor/live_memory.h"

namespace tandem {

namespace {
bool plain(DType t) { return t != DType::kString && t != DType::kVariant; }

size_t aligned(size_t bytes) {
  return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
}

/// The largest few by name, for the list of what takes memory.
KeptText names_of(std::vector<VariableImpl*> members) {
  constexpr size_t kNamed = 3;
  const size_t named = std::min(members.size(), kNamed);
  std::partial_sort(members.begin(), members.begin() + static_cast<std::ptrdiff_t>(named),
                    members.end(), [](const VariableImpl* a, const VariableImpl* b) {
                      return a->value.impl()->bytes() > b->value.impl()->bytes();
                    });
  std::string text;
  for (size_t i = 0; i < named; ++i) {
    text += fmt::format("{}'{}'", i ? ", " : "", members[i]->name);
  }
  if (members.size() > named) text += fmt::format(" and {} more", members.size() - named);
  return std::make_shared<const std::string>(std::move(text));
}
}  // namespace

VariableArena::VariableArena(Ref<Buffer> memory, size_t slots)
    : memory_(std::move(memory)), slots_(slots) {
  lease_.address(memory_);
}

std::shared_ptr<VariableArena> VariableArena::gather(
    std::span<VariableImpl* const> variables) {
  std::vector<VariableImpl*> members;
  size_t bytes = 0;
  for (VariableImpl* v : variables) {
    if (v->arena || !plain(v->dtype) || !v->value.defined()) continue;
    if (v->value.impl()->bytes() == 0) continue;
    members.push_back(v);
    bytes += aligned(v->value.impl()->bytes());
  }
  if (members.size() < 2) return nullptr;
  Ref<Buffer> memory;
  const KeptText names = names_of(members);
  try {
    memory = allocate_for(
        {.role = "values of variables", .name = names->c_str(), .keeps = &names},
        *members[0]->device, bytes);
  } catch (const ResourceExhaustedError&) {
    return nullptr;
  }
  const std::shared_ptr<VariableArena> arena(
      new VariableArena(std::move(memory), members.size()));
  size_t at = 0;
  for (size_t i = 0; i < members.size(); ++i) {
    VariableImpl& v = *members[i];
    arena->slots_[i].offset = at;
    arena->slots_[i].shape = v.value.shape();
    at += aligned(v.value.impl()->bytes());
    arena->move_in(v, i);
    v.arena = arena;
    v.arena_slot = i;
  }
  return arena;
}

void VariableArena::move_in(VariableImpl& v, size_t number) {
  Slot& slot = slots_[number];
  const TensorImpl& from = *v.value.impl();
  const size_t bytes = from.bytes();
  Device& device = *v.device;
  if (device.is_host()) from.buffer->host_wait();
  LeaseSet leases;
  void* address = static_cast<std::byte*>(leases.address(memory_)) + slot.offset;
  // A buffer of its own, over memory of the arena: it says who still looks at the place,
  // waits for them when it ends, and keeps the arena alive until then.
  const Ref<Buffer> place =
      Buffer::foreign(device, address, bytes, [self = shared_from_this(), &slot] {
        slot.taken.store(nullptr, std::memory_order_release);
      });
  slot.taken.store(place.get(), std::memory_order_release);
  if (device.is_host()) {
    std::memcpy(address, from.data(), bytes);
  } else {
    device.compute().wait(from.buffer->ready());
    const TimePoint done =
        device.copy(device.compute(), address, from.address(leases), bytes);
    from.buffer->add_use(done);
    place->set_ready(done);
  }
  v.value = make_tensor(from.dtype, from.shape, device, place, 0);
}

bool VariableArena::at_home(const VariableImpl& v) {
  const TensorImpl& t = *v.value.impl();
  return t.byte_offset == 0 && v.arena->slots_[v.arena_slot].taken.load(
                                   std::memory_order_acquire) == t.buffer.get();
}

bool VariableArena::bring_home(VariableImpl& v) {
  const std::shared_ptr<VariableArena> arena = v.arena;
  Slot& slot = arena->slots_[v.arena_slot];
  if (!(v.value.shape() == slot.shape)) {
    v.arena.reset();
    return false;
  }
  if (slot.taken.load(std::memory_order_acquire)) return false;
  arena->move_in(v, v.arena_slot);
  return true;
}

std::optional<VariableSpan> one_piece(std::span<VariableImpl* const> variables) {
  if (variables.empty() || !variables[0]->arena) return std::nullopt;
  const VariableArena& arena = *variables[0]->arena;
  for (size_t i = 0; i < variables.size(); ++i) {
    const VariableImpl& v = *variables[i];
    if (v.arena.get() != &arena || !VariableArena::at_home(v) ||
        v.arena_slot != variables[0]->arena_slot + i) {
      return std::nullopt;
    }
  }
  const VariableImpl& last = *variables.back();
  const size_t begin = arena.offset(variables[0]->arena_slot);
  const size_t end = arena.offset(last.arena_slot) + last.value.impl()->bytes();
  return VariableSpan{arena.memory(), begin, end - begin};
}

}  // namespace tandem
