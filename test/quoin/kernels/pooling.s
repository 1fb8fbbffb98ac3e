// Maximum of windows 3x3 with stride 2 and padding 1: image 56 x 56 x 64, f16, one core, 4 rows of the result at a time.
// Bound: the vector unit.
.config qn-c8
.input x, DDR, 56*56*64*2
.output y, DDR, 28*28*64*2
.equ image, 0             // L1: 57 rows of 56 pixels of 128 bytes, the first of -inf
.equ row, 56*128
.equ out, 416K            // 2 slots of 4 rows of 28 pixels
.core 0
  setf ST>VX:0, 2
  ld.fill f16 L1[image], e=(64,56), imm=-inf
  loop l0, 7 {            // 8 rows
    ld.1d f16 L1[image+row+l0*57344], DDR[x+l0*57344], e0=28672 set LD>VX:0
    maxpool f16 L1[out+l0%2*14336], L1[image+l0*57344], channels=64, width=28, height=4, kernel=3, stride=2, pad=(0,1), in=(9,56) wait LD>VX:0, ST>VX:0 set VX>ST:0
    st.1d f16 DDR[y+l0*14336], L1[out+l0%2*14336], e0=7168 wait VX>ST:0 set ST>VX:0
  }
  waitf ST>VX:0, 2
  halt
