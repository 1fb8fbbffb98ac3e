// Transposition of 1024 x 512 elements, f16, one core: tiles of 256 x 256 are transposed as they are loaded. Bound: DDR, 65536
// cycles.
.config qn-c8
.input x, DDR, 1M
.output y, DDR, 1M
.core 0
  setf ST>LD:0, 4
  loop l0, 4 {            // 256 rows
    loop l1, 2 {          // 256 columns
      ld.tr f16 L1[l0%2*256K+l1*128K], DDR[x+l0*256K+l1*512], e=(256,256), s=512 wait ST>LD:0 set LD>ST:0
      st.2d f16 DDR[y+l0*512+l1*512K], L1[l0%2*256K+l1*128K], e=(256,256), s=1024 wait LD>ST:0 set ST>LD:0
    }
  }
  waitf ST>LD:0, 4
  halt
