// Softmax of 256 rows of 1024 elements, f16, one core: blocks of 16 rows stream through 2 slots. Bound: the vector unit.
.config qn-c8
.input x, DDR, 512K
.output y, DDR, 512K
.equ in, 0                // L1: 2 slots of 16 rows
.equ out, 64K             // 2 slots
.equ wide, 128K           // 16 rows of f32
.equ column, 256K         // 16 maxima, then 16 sums, f32
.core 0
  setf VX>LD:0, 2
  setf ST>VX:0, 2
  loop l0, 16 {
    ld.1d f16 L1[in+l0%2*32K], DDR[x+l0*32K], e0=16384 wait VX>LD:0 set LD>VX:0
    rmax f16->f32 L1[column], L1[in+l0%2*32K], e=(1024,16), axis=0 wait LD>VX:0
    sub.mc f16,f32->f32 L1[wide], L1[in+l0%2*32K], L1[column], e=(1024,16) set VX>LD:0
    exp f32 L1[wide], L1[wide], e=(1024,16)
    rsum f32 L1[column+64], L1[wide], e=(1024,16), axis=0
    recip f32 L1[column+64], L1[column+64], e=(16)
    mul.mc f32->f16 L1[out+l0%2*32K], L1[wide], L1[column+64], e=(1024,16) wait ST>VX:0 set VX>ST:0
    st.1d f16 DDR[y+l0*32K], L1[out+l0%2*32K], e0=16384 wait VX>ST:0 set ST>VX:0
  }
  waitf VX>LD:0, 2
  waitf ST>VX:0, 2
  halt
