.config qn-t1
.constant x, DDR, 20
.output y, DDR, 20
.data x, f32, 1.0, -2.0, -3.0, 4.0, -5.0
.core 0
  ld.1d f32 L1[0], DDR[x], e0=5 set LD>VX:0
  neg f32 L1[64], L1[0], e0=5 wait LD>VX:0 set VX>SC:0
  sc.call scale, L1[128], L1[64], imm=(5) wait VX>SC:0 set SC>ST:0
  st.1d f32 DDR[y], L1[128], e0=5 wait SC>ST:0
  halt
