.config qn-t1
.core 0
  mm f16->f32 L0C[0], L0A[0], L0B[0], 1025x16x16
  halt
