// Transposition of 1024 x 512 elements, f16, one core: tiles of 128 x 128 are transposed as they are loaded. Bound: DDR, 65536
// cycles.
.config qn-c8
.input x, DDR, 1M
.output y, DDR, 1M
.core 0
  setf ST>LD:0, 4
  loop l0, 8 {            // 128 rows
    loop l1, 4 {          // 128 columns
      ld.tr f16 L1[l1*32K], DDR[x+l0*128K+l1*256], e=(128,128), s=512 wait ST>LD:0 set LD>ST:0
      st.2d f16 DDR[y+l0*256+l1*256K], L1[l1*32K], e=(128,128), s=1024 wait LD>ST:0 set ST>LD:0
    }
  }
  waitf ST>LD:0, 4
  halt
