// Where values lie: inside of the memory that their places say.
#include <algorithm>

#include "plan/plan_checker.h"
#include "tensor/variable_impl.h"

namespace tandem {

void PlanChecker::check_place(const Place& p, const ValueInfo& info) const {
  if (p.space >= 0) expect_index(p.space, plan_.spaces, "a value is on no device");
  if (p.storage == Place::Storage::kNone) return;
  expect(p.offset >= 0, "a value lies nowhere");
  expect(p.bytes == bytes_of(info), "a value has another size than its place");
  if (info.dtype == DType::kVariant) {
    check_list(p);
    return;
  }
  expect(p.storage != Place::Storage::kHandle, "a value is in the place of a list");
  const auto element = static_cast<int64_t>(std::max<size_t>(dtype_size(info.dtype), 1));
  expect(p.offset % element == 0, "a value lies across its elements");
  const int64_t room = room_at(p);
  expect(p.bytes <= room && p.offset <= room - p.bytes,
         "a value lies outside of its memory");
}

// Lists are objects of the host: handles, and arguments and constants that are lists.
void PlanChecker::check_list(const Place& p) const {
  const auto is_list = [&](ValueRef v) { return g_.info(v).dtype == DType::kVariant; };
  bool good = false;
  if (p.storage == Place::Storage::kHandle) {
    good = p.index >= 0 && p.index < plan_.num_handles;
  } else if (p.storage == Place::Storage::kParameter) {
    expect_index(p.index, g_.parameters(), "a value is in no argument");
    good = is_list({g_.parameters()[at(p.index)], 0});
  } else if (p.storage == Place::Storage::kConstant) {
    expect_index(p.index, g_.nodes(), "a value is in no constant");
    good = g_.node(p.index).kind == Node::Kind::kConstant && is_list({p.index, 0});
  }
  expect(good, "a list has no place");
}

// What is handed out is whole.
void PlanChecker::check_result(ValueRef v) const {
  if (!v.defined() || g_.info(v).state) return;
  const Place& p = place(v);
  const ValueInfo& info = g_.info(v);
  if (p.storage == Place::Storage::kResult || p.storage == Place::Storage::kHandle)
    return;
  const bool argument = p.storage == Place::Storage::kParameter;
  expect(argument || p.storage == Place::Storage::kConstant, "a result has no memory");
  const ValueRef source{argument ? g_.parameters()[at(p.index)] : p.index, 0};
  const ValueInfo& given = g_.info(source);
  expect(p.offset == 0 && given.dtype == info.dtype && given.shape == info.shape,
         "a result is a part of something");
}

// Bytes of what a place is a part of.
int64_t PlanChecker::room_at(const Place& p) const {
  switch (p.storage) {
    case Place::Storage::kArena:
      expect_index(p.space, plan_.spaces, "a value is on no device");
      return plan_.spaces[at(p.space)].bytes;
    case Place::Storage::kParameter: {
      expect_index(p.index, g_.parameters(), "a value is in no argument");
      const ValueRef parameter{g_.parameters()[at(p.index)], 0};
      expect(p.space == place(parameter).space, "an argument is on two devices");
      return bytes_of(g_.info(parameter));
    }
    case Place::Storage::kConstant:
      expect_index(p.index, g_.nodes(), "a value is in no constant");
      expect(g_.node(p.index).kind == Node::Kind::kConstant, "a value is in no constant");
      return bytes_of(g_.node(p.index).outputs[0]);
    case Place::Storage::kVariable: {
      expect_index(p.index, p_.variables, "a value is in no variable");
      const VariableImpl& v = variable_of(p_.variables[at(p.index)]);
      // How much an unknown one has is seen when it is bound.
      return v.shape.is_known() ? checked_bytes(v.dtype, v.shape) : p.offset + p.bytes;
    }
    case Place::Storage::kResult: {
      expect_index(p.index, g_.results(), "a value is in no result");
      const ValueRef result = g_.results()[at(p.index)];
      expect(result.defined() && p.space >= 0, "a value is in no result");
      const Place& there = place(result);
      expect(
          there.storage == p.storage && there.index == p.index && there.space == p.space,
          "a result is in two places");
      return bytes_of(g_.info(result));
    }
    default:
      return 0;
  }
}

std::string PlanChecker::device_of(ValueRef v) const {
  const Place& p = place(v);
  if (p.storage == Place::Storage::kVariable) {
    return variable_of(p_.variables[at(p.index)]).device->full_name();
  }
  if (p.storage == Place::Storage::kConstant) return "device:CPU:0";
  expect(p.space >= 0, "a value is on no device");
  return plan_.spaces[at(p.space)].device;
}

}  // namespace tandem
