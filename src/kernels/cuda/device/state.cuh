// Whole-value updates of variables: T (storage) comes before this text. Nothing is
// written once a kernel before has reported bad contents.
extern "C" __global__ void assign(T* variable, const T* value, i64 n,
                                  const ReportFlags* flags) {
  if (failed(flags)) return;
  for (i64 i = global_thread(); i < n; i += global_threads()) variable[i] = value[i];
}
extern "C" __global__ void assign_add(T* variable, const T* delta, i64 n,
                                      const ReportFlags* flags) {
  if (failed(flags)) return;
  for (i64 i = global_thread(); i < n; i += global_threads()) {
    variable[i] = put<T>(f_add(get(variable[i]), get(delta[i])));
  }
}
extern "C" __global__ void assign_sub(T* variable, const T* delta, i64 n,
                                      const ReportFlags* flags) {
  if (failed(flags)) return;
  for (i64 i = global_thread(); i < n; i += global_threads()) {
    variable[i] = put<T>(f_sub(get(variable[i]), get(delta[i])));
  }
}
