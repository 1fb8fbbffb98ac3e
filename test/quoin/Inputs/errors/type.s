.config qn-t1
.core 0
  mm i8->f32 L0C[0], L0A[0], L0B[0], 16x16x16
  halt
