.config qn-t1
.core 0
  ld.fill f32 L1[0], e=(16) set VX>LD:0
  halt
