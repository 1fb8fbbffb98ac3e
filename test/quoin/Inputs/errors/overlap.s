.config qn-t1
.core 0
  neg f32 L1[32], L1[0], e=(16)
  halt
