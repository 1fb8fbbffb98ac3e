// Convolution 3x3, stride 1, padding 1: image 56 x 56 x 32, 64 filters, channels innermost, f16, one core. The image lies in
// L1 with a border of zeros; two rows of 56 pixels are tiles of 32, 32, 32 and 16 rows that the feeder makes. Bound: 28224 cycles of
// the matrix unit.
.config qn-c8
.input x, DDR, 56*56*32*2
.input w, DDR, 64*288*2    // [filter][row][column][channel]
.output y, DDR, 56*56*64*2
.equ image, 0              // L1: 58 x 58 pixels of 64 bytes
.equ row, 58*64
.equ weights, 224K
.equ out, 320K             // 2 slots of 112 pixels of 64 filters
.core 0
  setf MX>FD:0, 1          // the tiles in L0A are free
  setf MX>FD:1, 1
  setf MX>FD:2, 1
  setf MX>FD:3, 1
  setf VX>MX:0, 2          // free halves of L0C
  setf ST>VX:0, 2          // free slots of out
  ld.fill f16 L1[image], e=(32,58)
  ld.fill f16 L1[image+row], e=(32,1,57), s2=58*32
  ld.fill f16 L1[image+row+57*64], e=(32,1,57), s2=58*32
  ld.fill f16 L1[image+57*row], e=(32,58)
  ld.1d f16 L1[weights], DDR[w], e0=18432
  loop l0, 14 {            // 4 rows of the image
    ld.3d f16 L1[image+row+64+l0*14848], DDR[x+l0*14336], e=(32,56,4), s2=(58*32,56*32) set LD>FD:0
  }
  setf LD>FD:0, 1          // the last rows need no others
  fd.b.tr f16 L0B[0], L1[weights], n=64, k=288 wait LD>FD:0
  loop l0, 14 {            // 4 rows of the result need those of the image and the next
    waitf LD>FD:0, 1
    loop l1, 2 {
      fd.a.im2col f16 L0A[0], L1[image+l0*14848+l1*7424], k=288, m=32, width=56, kernel=3, in=(4,58), channels=32, s1=(0,32), s2=(0,58*32) wait MX>FD:0 set FD>MX:0
      mm f16->f32 L0C[l1*128K+0], L0A[0], L0B[0], 32x64x288 wait FD>MX:0, VX>MX:0 set MX>FD:0, MX>VX:0
      fd.a.im2col f16 L0A[18432], L1[image+l0*14848+l1*7424], k=288, m=32, width=56, kernel=3, in=(4,58), channels=32, start=32, s1=(0,32), s2=(0,58*32) wait MX>FD:1 set FD>MX:1
      mm f16->f32 L0C[l1*128K+8192], L0A[18432], L0B[0], 32x64x288 wait FD>MX:1 set MX>FD:1, MX>VX:1
      fd.a.im2col f16 L0A[36864], L1[image+l0*14848+l1*7424], k=288, m=32, width=56, kernel=3, in=(4,58), channels=32, start=64, s1=(0,32), s2=(0,58*32) wait MX>FD:2 set FD>MX:2
      mm f16->f32 L0C[l1*128K+16384], L0A[36864], L0B[0], 32x64x288 wait FD>MX:2 set MX>FD:2, MX>VX:2
      fd.a.im2col f16 L0A[55296], L1[image+l0*14848+l1*7424], k=288, m=16, width=56, kernel=3, in=(4,58), channels=32, start=96, s1=(0,32), s2=(0,58*32) wait MX>FD:3 set FD>MX:3
      mm f16->f32 L0C[l1*128K+24576], L0A[55296], L0B[0], 16x64x288 wait FD>MX:3 set MX>FD:3, MX>VX:3
      drain.mf f32->f16 L1[out+0+l1*14336], L0C[l1*128K+0], n=64, m=32 wait MX>VX:0, ST>VX:0
      drain.mf f32->f16 L1[out+4096+l1*14336], L0C[l1*128K+8192], n=64, m=32 wait MX>VX:1
      drain.mf f32->f16 L1[out+8192+l1*14336], L0C[l1*128K+16384], n=64, m=32 wait MX>VX:2
      drain.mf f32->f16 L1[out+12288+l1*14336], L0C[l1*128K+24576], n=64, m=16 wait MX>VX:3 set VX>MX:0, VX>ST:0
      st.1d f16 DDR[y+l0*28672+l1*14336], L1[out+l1*14336], e0=7168 wait VX>ST:0 set ST>VX:0
    }
  }
  waitf MX>FD:0, 1
  waitf MX>FD:1, 1
  waitf MX>FD:2, 1
  waitf MX>FD:3, 1
  waitf VX>MX:0, 2
  waitf ST>VX:0, 2
  halt
