// C[512 x 512] = A[512 x 512] * B[512 x 512], f16, one core. B stays in L1, transposed, so that its fractals are fed at the
// full rate; blocks of 64 rows of A stream. Bound: 65536 cycles of the matrix unit.
.config qn-c8
.input A, DDR, 512K
.input B, DDR, 512K
.output C, DDR, 512K
.equ bt, 0            // L1: 8 tiles of 64 columns of 512 elements
.equ a0, 512K         // 2 slots of 64 rows of A
.equ c0, 640K         // 2 slots of 64 rows of C
.core 0
  setf FD>LD:0, 2     // free slots of A in L1
  setf MX>FD:0, 2     // free halves of L0B
  setf MX>FD:1, 2     // free halves of L0A
  setf VX>MX:0, 2     // free halves of L0C
  setf ST>VX:0, 2     // free slots of C in L1
  ld.1d f16 L1[a0], DDR[A], e0=32768 wait FD>LD:0 set LD>FD:0
  loop l0, 8 {
    ld.tr f16 L1[bt+l0*64K], DDR[B+l0*128], e=(64,512), s=512 set LD>FD:1
  }
  loop l0, 7 {          // all loads are in the queue before the first product
    ld.1d f16 L1[a0+64K-l0%2*64K], DDR[A+64K+l0*64K], e0=32768 wait FD>LD:0 set LD>FD:0
  }
  loop l0, 8 {
    waitf LD>FD:0, 1
    waitf VX>MX:0, 1
    loop l1, 2 {
      fd.a f16 L0A[l1*32K], L1[a0+l0%2*64K+l1*512], k=256, m=64, s1=(0,512) wait MX>FD:1
      loop l2, 8 {
        fd.b.tr f16 L0B[l2%2*32K], L1[bt+l2*64K+l1*512], n=64, k=256, s1=(0,512) wait MX>FD:0, LD>FD:1@first, loops=3 set FD>MX:0
        mm.acc f16->f32 L0C[l0%2*128K+l2*16K], L0A[l1*32K], L0B[l2%2*32K], 64x64x256, zero, loops=2 wait FD>MX:0 set MX>FD:0
      }
      setf MX>FD:1, 1
    }
    setf FD>LD:0, 1
    setf MX>VX:0, 1
    waitf MX>VX:0, 1
    waitf ST>VX:0, 1
    loop l1, 8 {
      drain.mf f32->f16 L1[c0+l0%2*64K+l1*128], L0C[l0%2*128K+l1*16K], n=64, m=64, s1=512
    }
    setf VX>MX:0, 1
    setf VX>ST:0, 1
    st.2d f16 DDR[C+l0*64K], L1[c0+l0%2*64K], e=(512,64) wait VX>ST:0 set ST>VX:0
  }
  waitf FD>LD:0, 2
  waitf MX>FD:0, 2
  waitf MX>FD:1, 2
  waitf VX>MX:0, 2
  waitf ST>VX:0, 2
  halt
