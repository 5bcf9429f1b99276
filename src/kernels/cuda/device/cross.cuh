// Cross products of vectors of 3. E is the element, C what it is computed in: integers
// wrap around, as unsigned numbers do.
extern "C" __global__ void cross(const E* a, const E* b, E* out, i64 vectors) {
  for (i64 v = global_thread(); v < vectors; v += global_threads()) {
    const E *p = a + v * 3, *q = b + v * 3;
    const C x0 = (C)get(p[0]), x1 = (C)get(p[1]), x2 = (C)get(p[2]);
    const C y0 = (C)get(q[0]), y1 = (C)get(q[1]), y2 = (C)get(q[2]);
    out[v * 3] = put<E>(x1 * y2 - x2 * y1);
    out[v * 3 + 1] = put<E>(x2 * y0 - x0 * y2);
    out[v * 3 + 2] = put<E>(x0 * y1 - x1 * y0);
  }
}
