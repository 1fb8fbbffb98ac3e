.config qn-t1
.core 0
  ld.4d f32 L1[0], DDR[0]
  halt
