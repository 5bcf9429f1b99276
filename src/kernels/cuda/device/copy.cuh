// A copy of bytes, 16 at a time where both ends allow it.
extern "C" __global__ void __launch_bounds__(256)
    copy(char* to, const char* from, u64 n) {
  const u64 at = (u64)global_thread(), by = (u64)global_threads();
  u64 done = 0;
  if ((((u64)to | (u64)from) & 15) == 0) {
    for (u64 i = at; i < n / 16; i += by) ((bytes16*)to)[i] = ((const bytes16*)from)[i];
    done = n / 16 * 16;
  } else if ((((u64)to | (u64)from) & 3) == 0) {
    for (u64 i = at; i < n / 4; i += by) ((u32*)to)[i] = ((const u32*)from)[i];
    done = n / 4 * 4;
  }
  for (u64 i = done + at; i < n; i += by) to[i] = from[i];
}

// The four bytes of a pattern over and over, from the beginning of every row of `width`
// bytes; rows are `pitch` apart.
extern "C" __global__ void __launch_bounds__(256)
    fill(char* to, u64 pitch, u32 pattern, u64 width, u64 rows) {
  const u64 at = (u64)global_thread(), by = (u64)global_threads();
  u64 done = 0;
  if (rows == 1 && ((u64)to & 15) == 0) {
    const u64 twice = pattern | (u64)pattern << 32;
    const bytes16 wide = {twice, twice};
    for (u64 i = at; i < width / 16; i += by) ((bytes16*)to)[i] = wide;
    done = width / 16 * 16;
  }
  for (u64 i = done + at; i < width * rows; i += by) {
    const u64 row = i / width, column = i % width;
    to[row * pitch + column] = (char)(pattern >> (column % 4 * 8));
  }
}
