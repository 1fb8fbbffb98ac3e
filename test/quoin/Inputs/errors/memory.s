.config qn-t1
.core 0
  ld.fill f32 L1[65520], e=(8)
  halt
