// One head of attention: softmax(Q K^T / 8) V for 256 queries, 256 keys, 64 channels, f16, one core. Blocks of 64 queries: the
// scores of a block are fed while the vector unit works on the block before. Bound: the vector unit.
.config qn-c8
.input q, DDR, 32K
.input k, DDR, 32K
.input v, DDR, 32K
.output y, DDR, 32K
.equ q1, 0                // L1
.equ k1, 32K
.equ v1, 64K
.equ scores, 128K         // 2 slots of 64 x 256 f32
.equ weights, 256K        // 2 slots of 64 x 256 f16
.equ out, 320K            // 2 slots of 64 x 64 f16
.equ column, 400K         // 64 f32, twice
.core 0
  setf MX>FD:0, 1         // L0A[0..8K): queries
  setf MX>FD:1, 1         // L0A[32K..64K): weights
  setf VX>MX:0, 2         // the scores of L0C
  setf VX>MX:1, 2         // its results
  setf ST>VX:0, 2
  setf FD>VX:0, 2         // slots of weights
  ld.1d f16 L1[k1], DDR[k], e0=16384 set LD>FD:0
  ld.1d f16 L1[q1], DDR[q], e0=4096 set LD>FD:1
  ld.1d f16 L1[q1+8K], DDR[q+8K], e0=12288 set LD>FD:1
  ld.1d f16 L1[v1], DDR[v], e0=16384 set LD>FD:2
  fd.b.tr f16 L0B[0], L1[k1], n=256, k=64 wait LD>FD:0
  fd.a f16 L0A[0], L1[q1+0], k=64, m=64 wait MX>FD:0, LD>FD:1 set FD>MX:0
  mm f16->f32 L0C[0], L0A[0], L0B[0], 64x256x64 wait FD>MX:0, VX>MX:0 set MX>FD:0, MX>VX:0
  fd.a f16 L0A[0], L1[q1+8K], k=64, m=64 wait MX>FD:0, LD>FD:1 set FD>MX:0
  mm f16->f32 L0C[128K], L0A[0], L0B[0], 64x256x64 wait FD>MX:0, VX>MX:0 set MX>FD:0, MX>VX:0
  fd.b f16 L0B[32K], L1[v1], n=64, k=256 wait LD>FD:2
  drain.mf f32 L1[scores+0*64K], L0C[0*128K], n=256, m=64, imm=0.125 wait MX>VX:0 set VX>MX:0
  rmax f32 L1[column], L1[scores+0*64K], e=(256,64), axis=0
  sub.mc f32 L1[scores+0*64K], L1[scores+0*64K], L1[column], e=(256,64)
  exp f32 L1[scores+0*64K], L1[scores+0*64K], e=(256,64)
  rsum f32 L1[column+256], L1[scores+0*64K], e=(256,64), axis=0
  recip f32 L1[column+256], L1[column+256], e=(64)
  mul.mc f32->f16 L1[weights+0*32K], L1[scores+0*64K], L1[column+256], e=(256,64) wait FD>VX:0 set VX>FD:0
  fd.a f16 L0A[32K], L1[weights+0*32K], k=256, m=64 wait VX>FD:0, MX>FD:1 set FD>MX:1, FD>VX:0
  mm f16->f32 L0C[64K+0*128K], L0A[32K], L0B[32K], 64x64x256 wait FD>MX:1, VX>MX:1 set MX>FD:1, MX>VX:1
  loop l0, 2 {            // the weights of block l0 + 1, then the result of block l0
    fd.a f16 L0A[0], L1[q1+16K+l0*8K], k=64, m=64 wait MX>FD:0 set FD>MX:0
    mm f16->f32 L0C[l0%2*128K], L0A[0], L0B[0], 64x256x64 wait FD>MX:0, VX>MX:0 set MX>FD:0, MX>VX:0
    drain.mf f32 L1[scores+64K-l0%2*64K], L0C[128K-l0%2*128K], n=256, m=64, imm=0.125 wait MX>VX:0 set VX>MX:0
    rmax f32 L1[column], L1[scores+64K-l0%2*64K], e=(256,64), axis=0
    sub.mc f32 L1[scores+64K-l0%2*64K], L1[scores+64K-l0%2*64K], L1[column], e=(256,64)
    exp f32 L1[scores+64K-l0%2*64K], L1[scores+64K-l0%2*64K], e=(256,64)
    rsum f32 L1[column+256], L1[scores+64K-l0%2*64K], e=(256,64), axis=0
    recip f32 L1[column+256], L1[column+256], e=(64)
    mul.mc f32->f16 L1[weights+32K-l0%2*32K], L1[scores+64K-l0%2*64K], L1[column+256], e=(256,64) wait FD>VX:0 set VX>FD:0
    fd.a f16 L0A[32K], L1[weights+32K-l0%2*32K], k=256, m=64 wait VX>FD:0, MX>FD:1 set FD>MX:1, FD>VX:0
    mm f16->f32 L0C[192K-l0%2*128K], L0A[32K], L0B[32K], 64x64x256 wait FD>MX:1, VX>MX:1 set MX>FD:1, MX>VX:1
    drain.mf f32->f16 L1[out+l0%2*8K], L0C[64K+l0%2*128K], n=64, m=64 wait MX>VX:1, ST>VX:0 set VX>MX:1, VX>ST:0
    st.1d f16 DDR[y+l0*8K], L1[out+l0%2*8K], e0=4096 wait VX>ST:0 set ST>VX:0
  }
  drain.mf f32 L1[scores+64K], L0C[128K], n=256, m=64, imm=0.125 wait MX>VX:0 set VX>MX:0
  rmax f32 L1[column], L1[scores+64K], e=(256,64), axis=0
  sub.mc f32 L1[scores+64K], L1[scores+64K], L1[column], e=(256,64)
  exp f32 L1[scores+64K], L1[scores+64K], e=(256,64)
  rsum f32 L1[column+256], L1[scores+64K], e=(256,64), axis=0
  recip f32 L1[column+256], L1[column+256], e=(64)
  mul.mc f32->f16 L1[weights+32K], L1[scores+64K], L1[column+256], e=(256,64) wait FD>VX:0 set VX>FD:0
  fd.a f16 L0A[32K], L1[weights+32K], k=256, m=64 wait VX>FD:0, MX>FD:1 set FD>MX:1, FD>VX:0
  mm f16->f32 L0C[64K+128K], L0A[32K], L0B[32K], 64x64x256 wait FD>MX:1, VX>MX:1 set MX>FD:1, MX>VX:1
  drain.mf f32->f16 L1[out], L0C[64K], n=64, m=64 wait MX>VX:1, ST>VX:0 set VX>MX:1, VX>ST:0
  st.1d f16 DDR[y+16K], L1[out], e0=4096 wait VX>ST:0 set ST>VX:0
  drain.mf f32->f16 L1[out+8K], L0C[64K+128K], n=64, m=64 wait MX>VX:1, ST>VX:0 set VX>MX:1, VX>ST:0
  st.1d f16 DDR[y+24K], L1[out+8K], e0=4096 wait VX>ST:0 set ST>VX:0
  waitf MX>FD:0, 1
  waitf MX>FD:1, 1
  waitf VX>MX:0, 2
  waitf VX>MX:1, 2
  waitf ST>VX:0, 2
  waitf FD>VX:0, 2
  halt
