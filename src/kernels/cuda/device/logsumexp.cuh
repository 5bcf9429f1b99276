// Sums of exponentials that do not overflow: what reductions and scans accumulate.
template <class C>
struct LogSum {
  C top, sum;  // sum of exp(x - top)
};
template <class C>
inline LogSum<C> no_logs() {
  return {-(C)kInfinity, 0};
}
template <class C>
inline LogSum<C> combine_logs(LogSum<C> a, LogSum<C> b) {
  if (b.top == -(C)kInfinity && b.sum == 0) return a;
  if (a.top == -(C)kInfinity && a.sum == 0) return b;
  const C top = a.top > b.top || a.top != a.top ? a.top : b.top;
  if (f_isinf(top) || top != top) return {top, 1};
  return {top, a.sum * f_exp(a.top - top) + b.sum * f_exp(b.top - top)};
}
/// The logarithm; of nothing it is -infinity.
template <class C>
inline C log_of(LogSum<C> a) {
  return a.sum == 0 || f_isinf(a.top) || a.top != a.top ? a.top : a.top + f_log(a.sum);
}
