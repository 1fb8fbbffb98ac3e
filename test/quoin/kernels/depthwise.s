// Depthwise convolution 3x3, stride 1, padding 1: image 28 x 28 x 64, channels innermost, f16, one core. Two rows are 56
// pixels: tiles of 16 and of 8 rows that the feeder makes, whose rate is the bound: 16128 cycles.
.config qn-c8
.input x, DDR, 28*28*64*2
.input w, DDR, 9*64*2      // [tap][channel]
.output y, DDR, 28*28*64*2
.equ image, 0              // L1: 30 x 30 pixels of 128 bytes
.equ row, 30*128
.equ weights, 128K
.equ out, 192K             // 2 slots of 56 pixels
.core 0
  setf MX>FD:0, 2
  setf VX>MX:0, 2
  setf ST>VX:0, 2
  ld.fill f16 L1[image], e=(64,30)
  ld.2d f16 L1[weights], DDR[w], e=(64,9)
  ld.fill f16 L1[image+row], e=(64,1,29), s2=30*64
  ld.fill f16 L1[image+row+29*128], e=(64,1,29), s2=30*64
  ld.fill f16 L1[image+29*row], e=(64,30)
  loop l0, 7 {
    ld.3d f16 L1[image+row+128+l0*15360], DDR[x+l0*14336], e=(64,28,4), s2=(30*64,28*64) set LD>FD:0
  }
  setf LD>FD:0, 1          // the last rows need no others
  fd.b f16 L0B[0], L1[weights], n=64, k=9 wait LD>FD:0
  loop l0, 7 {             // 4 rows of the result need those of the image and the next
    waitf LD>FD:0, 1
    loop l1, 2 {           // 2 rows: tiles of 16, 16, 16 and 8 pixels
      fd.a.im2col f16 L0A[0], L1[image+l0*15360+l1*7680], k=576, m=16, width=28, kernel=3, in=(4,30), channels=64, start=0, s1=(0,64), s2=(0,30*64) wait MX>FD:0 set FD>MX:0
      dwconv f16->f32 L0C[l1*128K+0], L0A[0], L0B[0], n=64, m=16, taps=9, zero wait FD>MX:0, VX>MX:0 set MX>FD:0
      fd.a.im2col f16 L0A[18432], L1[image+l0*15360+l1*7680], k=576, m=16, width=28, kernel=3, in=(4,30), channels=64, start=16, s1=(0,64), s2=(0,30*64) wait MX>FD:0 set FD>MX:0
      dwconv f16->f32 L0C[l1*128K+4096], L0A[18432], L0B[0], n=64, m=16, taps=9, zero wait FD>MX:0 set MX>FD:0
      fd.a.im2col f16 L0A[0], L1[image+l0*15360+l1*7680], k=576, m=16, width=28, kernel=3, in=(4,30), channels=64, start=32, s1=(0,64), s2=(0,30*64) wait MX>FD:0 set FD>MX:0
      dwconv f16->f32 L0C[l1*128K+8192], L0A[0], L0B[0], n=64, m=16, taps=9, zero wait FD>MX:0 set MX>FD:0
      fd.a.im2col f16 L0A[18432], L1[image+l0*15360+l1*7680], k=576, m=8, width=28, kernel=3, in=(4,30), channels=64, start=48, s1=(0,64), s2=(0,30*64) wait MX>FD:0 set FD>MX:0
      dwconv f16->f32 L0C[l1*128K+12288], L0A[18432], L0B[0], n=64, m=8, taps=9, zero wait FD>MX:0 set MX>FD:0, MX>VX:0
      drain.mf f32->f16 L1[out+0+l1*7168], L0C[l1*128K+0], n=64, m=16 wait MX>VX:0, ST>VX:0
      drain.mf f32->f16 L1[out+2048+l1*7168], L0C[l1*128K+4096], n=64, m=16
      drain.mf f32->f16 L1[out+4096+l1*7168], L0C[l1*128K+8192], n=64, m=16
      drain.mf f32->f16 L1[out+6144+l1*7168], L0C[l1*128K+12288], n=64, m=8 set VX>MX:0, VX>ST:0
      st.1d f16 DDR[y+l0*14336+l1*7168], L1[out+l1*7168], e0=3584 wait VX>ST:0 set ST>VX:0
    }
  }
  waitf MX>FD:0, 2
  waitf VX>MX:0, 2
  waitf ST>VX:0, 2
  halt
