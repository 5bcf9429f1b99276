// CTC beam search over prefixes, float32 and float64, computed in float64. A prefix is a
// node of a tree in scratch memory; a beam is a prefix that is still followed, with the
// probabilities of its alignments that end in a blank and in its last label.
#include "base/parallel.h"
#include "kernels/cpu/nn_ctc.h"
#include "kernels/cpu/nn_register.h"
#include "tandem/ops/nn_ctc.h"

namespace tandem::cpu {

namespace {

struct Node {
  int32_t parent, label;
};

struct Beam {
  double blank, label, total;
  int32_t node;  // -1: to be made, below beam `from` with `label_index`
  int32_t from;
  int32_t label_index;
  int32_t child = -1, sibling = -1;  // other beams of this step, by parent
};

struct BeamPlan {
  CtcSizes sizes;
  int64_t width = 0, paths = 0;
  size_t node_bytes = 0, beam_bytes = 0, place_bytes = 0, row_bytes = 0,
         example_bytes = 0;
  size_t workspace_bytes = 0;
};

size_t padded(size_t bytes) { return (bytes + 15) / 16 * 16; }

BeamPlan prepare_beam(const Signature& s) {
  const auto& attrs = s.attrs.as<nn::CtcBeamAttrs>();
  BeamPlan p{
      .sizes = ctc_sizes(s, -1), .width = attrs.beam_width, .paths = attrs.top_paths};
  const auto w = static_cast<size_t>(p.width);
  const size_t nodes = 1 + static_cast<size_t>(p.sizes.time) * w;
  p.node_bytes = padded(nodes * sizeof(Node));
  p.place_bytes = padded(nodes * sizeof(int32_t));
  p.beam_bytes = padded(w * sizeof(Beam));
  p.row_bytes = padded(static_cast<size_t>(p.sizes.classes) * (sizeof(double) + 1));
  p.example_bytes = p.node_bytes + p.place_bytes + 2 * p.beam_bytes + p.row_bytes;
  p.workspace_bytes = static_cast<size_t>(p.sizes.batch) * p.example_bytes;
  return p;
}

// The search of one example. The `width` best beams are a heap with the worst on top.
class Search {
 public:
  Search(const BeamPlan& p, std::byte* scratch)
      : width_(p.width), classes_(p.sizes.classes), blank_(p.sizes.blank) {
    nodes_ = reinterpret_cast<Node*>(scratch);
    place_ = reinterpret_cast<int32_t*>(scratch += p.node_bytes);
    old_ = reinterpret_cast<Beam*>(scratch += p.place_bytes);
    now_ = reinterpret_cast<Beam*>(scratch += p.beam_bytes);
    logp_ = reinterpret_cast<double*>(scratch + p.beam_bytes);
    taken_ = reinterpret_cast<unsigned char*>(logp_ + classes_);
    nodes_[0] = {-1, -1};
    node_count_ = 1;
    now_[0] = {0, kNever, 0, 0, -1, -1};
    count_ = 1;
  }

  template <class T>
  void step(const T* row) {
    log_probabilities(row, classes_, logp_);
    std::swap(old_, now_);
    old_count_ = count_;
    count_ = 0;
    link_children();
    for (int64_t i = 0; i < old_count_; ++i) stay(old_[i]);
    for (int64_t i = 0; i < old_count_; ++i) grow(static_cast<int32_t>(i));
    for (int64_t i = 0; i < old_count_; ++i) place_[old_[i].node] = -1;
    for (int64_t i = 0; i < count_; ++i) {
      Beam& b = now_[i];
      if (b.node >= 0) continue;
      nodes_[node_count_] = {old_[b.from].node, b.label_index};
      b.node = node_count_++;
    }
  }

  // Best first; -1 and minus infinity where there are fewer beams than paths.
  template <class T>
  void write(int64_t paths, int64_t* labels, int64_t path_step, int64_t time, T* scores) {
    std::sort(now_, now_ + count_,
              [](const Beam& a, const Beam& b) { return a.total > b.total; });
    for (int64_t k = 0; k < paths; ++k) {
      int64_t* out = labels + k * path_step;
      std::fill_n(out, time, -1);
      scores[k] = static_cast<T>(k < count_ ? now_[k].total : kNever);
      if (k >= count_) continue;
      int64_t n = 0;
      for (int32_t i = now_[k].node; i > 0; i = nodes_[i].parent) ++n;
      for (int32_t i = now_[k].node; i > 0; i = nodes_[i].parent) {
        out[--n] = nodes_[i].label;
      }
    }
  }

 private:
  void link_children() {
    for (int64_t i = 0; i < old_count_; ++i) {
      place_[old_[i].node] = static_cast<int32_t>(i);
      old_[i].child = -1;
    }
    for (int64_t i = 0; i < old_count_; ++i) {
      Beam& b = old_[i];
      const int32_t parent = nodes_[b.node].parent;
      b.from = parent >= 0 ? place_[parent] : -1;
      if (b.from < 0) continue;
      b.sibling = old_[b.from].child;
      old_[b.from].child = static_cast<int32_t>(i);
    }
  }

  // What comes to a prefix from its parent by one more label.
  double from_parent(const Beam& parent, int64_t label) const {
    const bool again = nodes_[parent.node].label == label;
    return (again ? parent.blank : parent.total) + logp_[label];
  }

  void stay(const Beam& b) {
    Beam next{b.total + logp_[blank_], kNever, 0, b.node, -1, -1};
    const int32_t label = nodes_[b.node].label;
    if (label >= 0) {
      next.label = b.label + logp_[label];
      if (b.from >= 0) next.label = log_add(next.label, from_parent(old_[b.from], label));
    }
    next.total = log_add(next.blank, next.label);
    offer(next);
  }

  void grow(int32_t i) {
    const Beam& b = old_[i];
    std::fill_n(taken_, classes_, static_cast<unsigned char>(0));
    for (int32_t c = b.child; c >= 0; c = old_[c].sibling) {
      taken_[nodes_[old_[c].node].label] = 1;
    }
    for (int64_t k = 0; k < classes_; ++k) {
      if (k == blank_ || taken_[k]) continue;
      const double label = from_parent(b, k);
      offer({kNever, label, label, -1, i, static_cast<int32_t>(k)});
    }
  }

  void offer(const Beam& b) {
    const auto worse = [](const Beam& x, const Beam& y) { return x.total > y.total; };
    if (count_ == width_) {
      if (!(b.total > now_[0].total)) return;
      std::pop_heap(now_, now_ + count_, worse);
      --count_;
    }
    now_[count_++] = b;
    std::push_heap(now_, now_ + count_, worse);
  }

  int64_t width_, classes_, blank_;
  Node* nodes_;
  int32_t* place_;  // of a node among the old beams
  Beam *old_, *now_;
  double* logp_;
  unsigned char* taken_;
  int32_t node_count_ = 0;
  int64_t count_ = 0, old_count_ = 0;
};

template <class T>
void launch_beam(const BeamPlan& p, const LaunchArgs& a) {
  const CtcSizes& n = p.sizes;
  const int32_t* lengths = a.in<int32_t>(1);
  check_lengths("CTCBeamDecode", lengths, n.batch, n.time, "sequence_length");
  parallel_for(n.batch, 1, [&](int64_t first, int64_t end) {
    for (int64_t b = first; b < end; ++b) {
      auto* scratch = static_cast<std::byte*>(a.workspace);
      Search search(p, scratch + static_cast<size_t>(b) * p.example_bytes);
      for (int64_t t = 0; t < lengths[b]; ++t) {
        search.step(a.in<T>(0) + (t * n.batch + b) * n.classes);
      }
      search.write(p.paths, a.out<int64_t>(0) + b * n.time, n.batch * n.time, n.time,
                   a.out<T>(1) + b * p.paths);
    }
  });
}

}  // namespace

void register_nn_ctc_beam_kernels(KernelRegistry& registry) {
  registry.add(make_kernel<prepare_beam, launch_beam<float>>(
      "CTCBeamDecode", "cpu.CTCBeamDecode.f32", mask(DType::kFloat32)));
  registry.add(make_kernel<prepare_beam, launch_beam<double>>(
      "CTCBeamDecode", "cpu.CTCBeamDecode.f64", mask(DType::kFloat64)));
}

}  // namespace tandem::cpu
