# Device texts for the host's compiler: kernels become plain functions, and shared memory is
# the caller's. -DIN (files with a + between them), -DOUT.
string(REPLACE "+" ";" files "${IN}")
set(all "")
foreach(file ${files})
  get_filename_component(file "${file}" ABSOLUTE)
  file(READ "${file}" text)
  string(REPLACE "extern \"C\" __global__ void" "inline void" text "${text}")
  string(REPLACE "extern __shared__ __align__(16) unsigned char block_space[];" "" text "${text}")
  string(REGEX REPLACE "\n *asm[^\n]*" "" text "${text}")
  string(APPEND all "${text}")
endforeach()
file(WRITE "${OUT}" "${all}")
