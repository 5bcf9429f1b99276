# A device text for the host's compiler: kernels become plain functions. -DIN, -DOUT.
file(READ "${IN}" text)
string(REPLACE "extern \"C\" __global__ void" "inline void" text "${text}")
file(WRITE "${OUT}" "${text}")
