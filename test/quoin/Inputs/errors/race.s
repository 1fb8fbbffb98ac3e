.config qn-t1
.core 0
  ld.fill f32 L1[0], e=(16) set LD>VX:0
.loc "node 'relu'"
  relu f32 L1[64], L1[0], e=(16) wait LD>VX:0
  ld.fill f32 L1[0], e=(16)
  halt
