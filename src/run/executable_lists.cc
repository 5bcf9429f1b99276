// Lists in an Executable: steps of the host lane that work on handles. What loops do in
// every turn (push, pop, get, set, add to one) with elements in host memory moves bytes
// between the plan's memory and the rows of a list; everything else, and whatever is out
// of the ordinary (errors, elements that are not set, lists that share their rows), goes
// through the eager dispatcher.
#include <cstring>

#include <fmt/format.h>

#include "base/recorder.h"
#include "device/runtime.h"
#include "ops/tensor_list.h"
#include "plan/list_devices.h"
#include "run/eager.h"
#include "run/executable_frame.h"
#include "tandem/device.h"
#include "tensor/live_memory.h"
#include "tensor/tensor_list.h"
#include "tensor/transfer.h"

namespace tandem {

namespace {

// A value that becomes an element where it is: the plan's memory is used again.
Tensor take_element(Device& device, const ValueInfo& info, const void* from) {
  Tensor made = make_tensor_for({"element of a list"}, device, info.dtype, info.shape);
  LeaseSet leases;
  if (const size_t bytes = made.impl()->bytes()) {
    device.copy(device.compute(), made.impl()->address(leases), from, bytes).host_wait();
  }
  return made;
}

// An element that becomes a value of the plan; copied across only where the plan was
// wrong about its device.
void give_element(const Tensor& element, Device& device, void* to) {
  const Tensor here = copy_to_device(element, device);
  const TensorImpl& t = *here.impl();
  device.compute().wait(t.buffer->ready());
  LeaseSet leases;
  if (const size_t bytes = t.bytes()) {
    device.copy(device.compute(), to, t.address(leases), bytes).host_wait();
  }
  if (auto e = t.buffer->error()) std::rethrow_exception(e);
}

// Where an op on lists does its work: with the elements, if they are on a device.
Device& device_of_elements(const std::vector<Tensor>& inputs) {
  for (const Tensor& t : inputs) {
    if (!t.defined() || t.dtype() != DType::kVariant) continue;
    if (Device* d = list_of(t).element_device()) return *d;
  }
  return Runtime::get().cpu();
}

// Whether a scatter adds one row to one element, which is then its row.
bool adds_one_row(const Graph& graph, const Node& n) {
  const ValueInfo& row = graph.info(n.inputs[1]);
  const ValueInfo& index = graph.info(n.inputs[2]);
  return n.attrs.ref().as<TensorListScatterAttrs>().accumulate &&
         index.dtype == DType::kInt32 && index.shape.is_known() &&
         index.shape.num_elements() == 1 && row.shape.is_known() && row.shape[0] == 1 &&
         (row.dtype == DType::kFloat32 || row.dtype == DType::kFloat64);
}

template <class T>
void add_to(void* sum, const void* row, size_t bytes) {
  auto* to = static_cast<T*>(sum);
  const auto* from = static_cast<const T*>(row);
  for (size_t i = 0; i < bytes / sizeof(T); ++i) to[i] += from[i];
}

}  // namespace

// Which of the forms a step has, if its element is plain memory of the host or a list.
void Executable::find_list_form(Step& step) const {
  const Node& n = graph_.node(step.node);
  if (!is_list_op(*n.op)) return;
  const std::string& name = n.op->name;
  Step::List form = Step::List::kOther;
  ValueRef element;
  if (name == "TensorListPushBack") {
    form = Step::List::kPush;
    element = n.inputs[1];
  } else if (name == "TensorListPopBack") {
    form = Step::List::kPop;
    element = {step.node, 1};
  } else if (name == "TensorListGetItem") {
    form = Step::List::kGet;
    element = {step.node, 0};
  } else if (name == "TensorListSetItem") {
    form = Step::List::kSet;
    element = n.inputs[2];
  }
  if (name == "EmptyTensorList") {
    const auto& a = n.attrs.ref().as<TensorListAttrs>();
    step.empty_list = make_list_tensor(TensorList(a.element_dtype, a.known_shape, 0));
    return;
  }
  if (name == "TensorListScatterIntoExistingList") {
    if (!adds_one_row(graph_, n)) return;
    form = Step::List::kAdd;
    element = n.inputs[1];
  }
  if (!element.defined()) return;
  const ValueInfo& info = graph_.info(element);
  const bool indexed = form == Step::List::kGet || form == Step::List::kSet;
  if (info.dtype == DType::kVariant
          ? indexed
          : info.dtype == DType::kString || !info.shape.is_known()) {
    return;
  }
  // The host looks at what it counts with.
  const auto on_host = [&](ValueRef v) {
    const Device* d =
        graph_.node(v.node).kind == Node::Kind::kConstant ? nullptr : device_of(v);
    return !d || d->is_host();
  };
  if (indexed && !on_host(n.inputs[1])) return;
  if (form == Step::List::kAdd && !on_host(n.inputs[2])) return;
  Device* const device = device_of(element);
  if (info.dtype != DType::kVariant && device && !device->is_host()) return;
  step.list_from = &place(n.inputs[0]);
  if (step.list_from->storage == Place::Storage::kConstant) return;
  if (form != Step::List::kGet) step.list_to = &place({step.node, 0});
  step.list = form;
  step.element = &info;
  if (info.dtype == DType::kVariant) return;
  step.element_bytes = static_cast<size_t>(checked_bytes(info.dtype, info.shape));
  step.element_shape = info.shape;
  if (form == Step::List::kAdd) {
    step.element_shape = info.shape.slice(1, info.shape.rank());
  }
}

// True: done. False: nothing has happened.
bool Executable::run_on_rows(Frame& f, const Step& step) {
  Tensor& from = handle(f, *step.list_from);
  if (!from.defined()) return false;
  const TensorList& now = list_of(from);
  const DType dtype = step.element->dtype;
  const Shape& shape = step.element_shape;
  const bool reads = step.list == Step::List::kPop || step.list == Step::List::kGet;
  const bool sum = step.list == Step::List::kAdd;
  const bool indexed =
      sum || step.list == Step::List::kGet || step.list == Step::List::kSet;
  int64_t i = now.size() - (step.list == Step::List::kPop);
  if (indexed) i = *static_cast<const int32_t*>(f.table[step.in + (sum ? 2 : 1)]);
  if (i < 0 || i > now.size() - (step.list != Step::List::kPush)) return false;
  if (reads) {
    const void* row = now.row(i, dtype, shape);
    if (!row) return false;
    void* to = f.table[step.out + (step.list == Step::List::kPop)];
    if (step.element_bytes) std::memcpy(to, row, step.element_bytes);
    if (step.list == Step::List::kGet) return true;
  }
  const bool adds = sum && now.row(i, dtype, shape);  // else the first one there
  // Who has the only handle changes the list where it is, others get one of their own
  // that shares the elements.
  Tensor made;
  TensorList* list = last_use_[step.in] ? sole_list(from) : nullptr;
  if (!list) {
    made = make_list_tensor(now);
    list = sole_list(made);
  }
  if (step.list == Step::List::kPop) {
    list->pop_row();
  } else {
    void* to = step.list == Step::List::kPush ? list->push_row(dtype, shape)
                                              : list->set_row(i, dtype, shape);
    if (!to) return false;
    const void* value = f.table[step.in + (step.list == Step::List::kSet ? 2 : 1)];
    if (!adds) {
      if (step.element_bytes) std::memcpy(to, value, step.element_bytes);
    } else if (dtype == DType::kFloat32) {
      add_to<float>(to, value, step.element_bytes);
    } else {
      add_to<double>(to, value, step.element_bytes);
    }
  }
  handle(f, *step.list_to) = made.defined() ? std::move(made) : std::move(from);
  return true;
}

// The same for lists of lists, which nested loops collect.
bool Executable::run_on_handles(Frame& f, const Step& step) {
  Tensor& from = handle(f, *step.list_from);
  TensorList* list = from.defined() && last_use_[step.in] ? sole_list(from) : nullptr;
  if (!list) return false;
  if (step.list == Step::List::kPop) {
    Tensor element;
    if (!list->pop_tensor(element)) return false;
    handle(f, place({step.node, 1})) = std::move(element);
  } else {
    const ValueRef v = graph_.node(step.node).inputs[1];
    if (!list->push_tensor(Executable::list(f, v))) return false;
  }
  handle(f, *step.list_to) = std::move(from);
  return true;
}

// What neither form above takes goes through the eager dispatcher.
void Executable::run_list_op(Frame& f, const Step& step) {
  if (step.empty_list.defined()) {
    handle(f, place({step.node, 0})) = step.empty_list;
    return;
  }
  if (step.list != Step::List::kOther) {
    const int64_t begin = recorder::enabled() ? recorder::now_ns() : 0;
    const bool nested = step.element->dtype == DType::kVariant;
    if (nested ? run_on_handles(f, step) : run_on_rows(f, step)) {
      if (!begin) return;
      recorder::record(recorder::Kind::kOp, step.name,
                       step.device->compute().lane().c_str(), begin, recorder::now_ns(),
                       0, site_of(step), {.node = node_of(step)});
      return;
    }
  }
  const Node& n = graph_.node(step.node);
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < n.inputs.size(); ++i) {
    const ValueRef v = n.inputs[i];
    if (!v.defined()) {
      inputs.emplace_back();
      continue;
    }
    const ValueInfo& info = graph_.info(v);
    if (info.dtype == DType::kVariant) {
      const Place& p = place(v);
      if (p.storage == Place::Storage::kConstant) {
        inputs.push_back(graph_.node(p.index).constant);
      } else if (last_use_[step.in + i]) {
        // Nobody else wants it: the op may change it in place.
        inputs.push_back(std::move(handle(f, p)));
      } else {
        inputs.push_back(handle(f, p));
      }
    } else if (graph_.node(v.node).kind == Node::Kind::kConstant) {
      inputs.push_back(graph_.node(v.node).constant);
    } else if (Device* d = device_of(v); d && !d->is_host()) {
      inputs.push_back(take_element(*d, info, f.table[step.in + i]));
    } else {
      inputs.push_back(make_host_copy(Runtime::get().cpu(), info.dtype, info.shape,
                                      f.table[step.in + i]));
    }
  }
  // What a branch that did not run would have made is absent, and so is what depends on
  // it (graph.h).
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].defined() || !n.inputs[i].defined()) continue;
    if (n.op->input_def(static_cast<int>(i)).optional) continue;
    for (size_t o = 0; o < n.outputs.size(); ++o) {
      const Place& p = place({step.node, static_cast<int32_t>(o)});
      if (p.storage == Place::Storage::kHandle) f.handles[idx(p.index)] = Tensor();
    }
    return;
  }
  std::vector<Tensor> outputs;
  {
    const std::vector<TensorArg> args(inputs.begin(), inputs.end());
    const DeviceScope scope(is_list_op(*n.op) ? device_of_elements(inputs).full_name()
                                              : "/CPU:0");
    eager_emitter().emit(*n.op, n.attrs.ref(), args, outputs);
  }
  for (size_t o = 0; o < outputs.size(); ++o) {
    const ValueRef v{step.node, static_cast<int32_t>(o)};
    // What a branch did not make may be an element of a list, and a list itself.
    if (n.outputs[o].dtype == DType::kVariant) {
      handle(f, place(v)) = std::move(outputs[o]);
      continue;
    }
    if (!(outputs[o].shape() == n.outputs[o].shape)) {
      throw InvalidArgumentError(fmt::format(
          "{}: an element of the list has shape {}, not {} as the function was traced "
          "with. Give the list a fixed element shape.",
          n.op->name, outputs[o].shape().str(), n.outputs[o].shape.str()));
    }
    if (Device* d = device_of(v); d && !d->is_host()) {
      give_element(outputs[o], *d, f.table[step.out + o]);
      continue;
    }
    const Tensor host = outputs[o].to_host();
    if (const size_t bytes = host.impl()->bytes()) {
      std::memcpy(f.table[step.out + o], host.host_data(), bytes);
    }
  }
}

}  // namespace tandem
