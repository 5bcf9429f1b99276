#include "plan/list_devices.h"

#include <string_view>

namespace tandem {

namespace {
struct ListOp {
  std::string_view name;
  int from;  // input that becomes elements
  int to;    // output that is made of them
};
constexpr ListOp kListOps[] = {
    {"EmptyTensorList", -1, -1},     {"TensorListReserve", -1, -1},
    {"TensorListPushBack", 1, -1},   {"TensorListPopBack", -1, 1},
    {"TensorListSetItem", 2, -1},    {"TensorListGetItem", -1, 0},
    {"TensorListLength", -1, -1},    {"TensorListStack", -1, 0},
    {"TensorListFromTensor", 0, -1}, {"TensorListConcat", -1, 0},
    {"TensorListSplit", 0, -1},      {"TensorListGather", -1, 0},
    {"TensorListScatter", 0, -1},    {"TensorListScatterIntoExistingList", 1, -1},
    {"TensorListResize", -1, -1},    {"TensorListAdd", -1, -1},
    {"TensorListZerosLike", -1, -1},
};
const ListOp* find(const OpDef& op) {
  for (const ListOp& l : kListOps) {
    if (l.name == op.name) return &l;
  }
  return nullptr;
}
}  // namespace

bool is_list_op(const OpDef& op) { return find(op) != nullptr; }
int element_input(const OpDef& op) {
  const ListOp* l = find(op);
  return l ? l->from : -1;
}
int element_output(const OpDef& op) {
  const ListOp* l = find(op);
  return l ? l->to : -1;
}

}  // namespace tandem
