// C[512 x 512] = A[512 x 512] * B[512 x 512], f16, eight cores with 64 rows each. The first core moves B into LLB, tile by
// tile, and tells the others by semaphores. Bound: DDR, 49152 cycles.
.config qn-c8
.input A, DDR, 512K
.input B, DDR, 512K
.output C, DDR, 512K
.scratch bl, LLB, 512K
.equ bt, 0            // L1: 8 tiles of 64 columns of 512 elements
.equ a0, 512K         // 64 rows of A
.equ c0, 640K         // 2 slots of 64 x 64 of C
.core 0
  loop l0, 8 {
    sd.2d f16 LLB[bl+l0*64K], DDR[B+l0*128], e=(64,512), s1=(64,512) set LD>SEQ:0
  }
  loop l0, 8 {
    waitf LD>SEQ:0, 1
    semp 1, 1
    semp 2, 1
    semp 3, 1
    semp 4, 1
    semp 5, 1
    semp 6, 1
    semp 7, 1
  }
  setf MX>FD:0, 2     // free halves of L0B
  setf VX>MX:0, 2     // free tiles of L0C
  setf ST>VX:0, 2     // free slots of C in L1
  ld.1d f16 L1[a0], DDR[A+core*64K], e0=32768 set LD>FD:0
  loop l0, 8 {
    ld.tr f16 L1[bt+l0*64K], LLB[bl+l0*64K], e=(64,512) set LD>FD:1
  }
  waitf LD>FD:0, 1
  loop l0, 2 {
    fd.a f16 L0A[l0*32K], L1[a0+l0*512], k=256, m=64, s1=(0,512)
  }
  loop l0, 8 {
    loop l1, 2 {
      fd.b.tr f16 L0B[l1*32K], L1[bt+l0*64K+l1*512], n=64, k=256, s1=(0,512) wait MX>FD:0, LD>FD:1@first set FD>MX:0
      mm.acc f16->f32 L0C[l0%2*16K], L0A[l1*32K], L0B[l1*32K], 64x64x256, zero@first wait FD>MX:0, VX>MX:0@first set MX>FD:0, MX>VX:0@last
    }
    drain.mf f32->f16 L1[c0+l0%2*8K], L0C[l0%2*16K], n=64, m=64 wait MX>VX:0, ST>VX:0 set VX>MX:0, VX>ST:0
    st.2d f16 DDR[C+core*64K+l0*128], L1[c0+l0%2*8K], e=(64,64), s=512 wait VX>ST:0 set ST>VX:0
  }
  waitf MX>FD:0, 2
  waitf VX>MX:0, 2
  waitf ST>VX:0, 2
  halt
.cores 1, 7
  setf MX>FD:0, 2     // free halves of L0B
  setf VX>MX:0, 2     // free tiles of L0C
  setf ST>VX:0, 2     // free slots of C in L1
  ld.1d f16 L1[a0], DDR[A+core*64K], e0=32768 set LD>FD:0
  loop l0, 8 {
    semw core, 1
    ld.tr f16 L1[bt+l0*64K], LLB[bl+l0*64K], e=(64,512) set LD>FD:1
  }
  waitf LD>FD:0, 1
  loop l0, 2 {
    fd.a f16 L0A[l0*32K], L1[a0+l0*512], k=256, m=64, s1=(0,512)
  }
  loop l0, 8 {
    loop l1, 2 {
      fd.b.tr f16 L0B[l1*32K], L1[bt+l0*64K+l1*512], n=64, k=256, s1=(0,512) wait MX>FD:0, LD>FD:1@first set FD>MX:0
      mm.acc f16->f32 L0C[l0%2*16K], L0A[l1*32K], L0B[l1*32K], 64x64x256, zero@first wait FD>MX:0, VX>MX:0@first set MX>FD:0, MX>VX:0@last
    }
    drain.mf f32->f16 L1[c0+l0%2*8K], L0C[l0%2*16K], n=64, m=64 wait MX>VX:0, ST>VX:0 set VX>MX:0, VX>ST:0
    st.2d f16 DDR[C+core*64K+l0*128], L1[c0+l0%2*8K], e=(64,64), s=512 wait VX>ST:0 set ST>VX:0
  }
  waitf MX>FD:0, 2
  waitf VX>MX:0, 2
  waitf ST>VX:0, 2
  halt
