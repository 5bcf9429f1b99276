// The best boxes that overlap little: one block of 1024 threads chooses the best that is
// left, and lets go of, or lowers, what overlaps it, until there are enough.
constexpr int kThreads = 1024;

/// The layout is known to image_suppress.cc.
struct Suppression {
  const float* overlaps;  // boxes [n, 4], or a matrix [n, n]
  const float* scores;
  const i32* most;
  const float *threshold, *least, *sigma;
  float* left;  // [n]: scores so far, no number for what is gone
  i32* chosen;  // [n]
  float* chosen_scores;
  i64* count;
  i64 n;
  i32 matrix;
};

inline float lower(float a, float b) { return b < a ? b : a; }
inline float higher(float a, float b) { return a < b ? b : a; }
/// The shared part of two boxes' areas, whose corners may come in any order.
inline float shared_part(const float* a, const float* b) {
  const float a0 = lower(a[0], a[2]), a2 = higher(a[0], a[2]);
  const float a1 = lower(a[1], a[3]), a3 = higher(a[1], a[3]);
  const float b0 = lower(b[0], b[2]), b2 = higher(b[0], b[2]);
  const float b1 = lower(b[1], b[3]), b3 = higher(b[1], b[3]);
  const float area_a = (a2 - a0) * (a3 - a1), area_b = (b2 - b0) * (b3 - b1);
  if (area_a <= 0 || area_b <= 0) return 0;
  const float height = higher(lower(a2, b2) - higher(a0, b0), 0.0f);
  const float width = higher(lower(a3, b3) - higher(a1, b1), 0.0f);
  const float shared = height * width;
  return shared / (area_a + area_b - shared);
}

extern "C" __global__ void choose_boxes(const Suppression p, ReportFlags* flags,
                                        i32 site) {
  __shared__ float best_score[kThreads];
  __shared__ i64 best_place[kThreads];
  const int thread = threadIdx.x;
  const float threshold = *p.threshold, least = *p.least, sigma = *p.sigma;
  const i32 wanted = *p.most;
  const bool soft = sigma > 0;
  i32 bad = 0;
  if (!(threshold >= 0 && threshold <= 1)) {
    bad = 1;
  } else if (wanted < 0) {
    bad = 2;
  } else if (!(sigma >= 0)) {
    bad = 3;
  }
  if (bad && thread == 0) {
    const float value = bad == 1 ? threshold : sigma;
    report_bad(flags, bad, site, bad == 2 ? (i64)wanted : (i64)__float_as_uint(value), 0,
               0);
  }
  const i64 most = bad ? 0 : wanted;
  for (i64 i = thread; i < p.n; i += kThreads) {
    p.left[i] = p.scores[i] > least ? p.scores[i] : (float)kNotANumber;
  }
  i64 count = 0;
  for (; count < most; ++count) {
    float score = 0;
    i64 place = -1;
    for (i64 i = thread; i < p.n; i += kThreads) {
      const float v = p.left[i];
      if (v == v && (place < 0 || v > score)) {
        score = v;
        place = i;
      }
    }
    best_score[thread] = score;
    best_place[thread] = place;
    __syncthreads();
    for (int width = kThreads / 2; width > 0; width /= 2) {
      if (thread < width) {
        const float v = best_score[thread + width];
        const i64 other = best_place[thread + width], own = best_place[thread];
        if (other >= 0 && (own < 0 || v > best_score[thread] ||
                           (v == best_score[thread] && other < own))) {
          best_score[thread] = v;
          best_place[thread] = other;
        }
      }
      __syncthreads();
    }
    score = best_score[0];
    place = best_place[0];
    __syncthreads();
    if (place < 0) break;
    if (thread == 0) {
      p.chosen[count] = (i32)place;
      p.chosen_scores[count] = score;
    }
    for (i64 i = thread; i < p.n; i += kThreads) {
      const float v = p.left[i];
      if (v != v) continue;
      const float shared = p.matrix
                               ? p.overlaps[i * p.n + place]
                               : shared_part(p.overlaps + 4 * i, p.overlaps + 4 * place);
      float kept = v;
      if (soft) kept *= shared <= threshold ? expf(-0.5f / sigma * shared * shared) : 0;
      const bool gone = i == place || (soft ? kept <= least : shared > threshold);
      p.left[i] = gone ? (float)kNotANumber : kept;
    }
  }
  if (thread == 0) *p.count = count;
}
