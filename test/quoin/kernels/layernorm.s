// Layer norm of 256 rows of 768 elements with scale and shift, f16, one core: blocks of 16 rows. Bound: the vector unit.
.config qn-c8
.input x, DDR, 256*768*2
.input gamma, DDR, 768*4
.input beta, DDR, 768*4
.output y, DDR, 256*768*2
.equ in, 0                // L1: 2 slots of 16 rows
.equ out, 64K
.equ wide, 128K           // 16 rows of f32
.equ moments, 256K        // 16 pairs of mean and variance, f32
.equ scale, 260K          // 768 f32, then the shift
.core 0
  setf VX>LD:0, 2
  setf ST>VX:0, 2
  ld.1d f32 L1[scale], DDR[gamma], e0=768
  ld.1d f32 L1[scale+4K], DDR[beta], e0=768
  loop l0, 16 {
    ld.1d f16 L1[in+l0%2*32K], DDR[x+l0*24576], e0=12288 wait VX>LD:0 set LD>VX:0
    welford f16->f32 L1[moments], L1[in+l0%2*32K], e=(768,16), axis=0 wait LD>VX:0
    sub.mc f16,f32->f32 L1[wide], L1[in+l0%2*32K], L1[moments], e=(768,16), s1=(_,_,2) set VX>LD:0
    add.mf f32 L1[moments+128], L1[moments+4], e=(1,16), s1=(1,2), imm=1e-5
    rsqrt f32 L1[moments+128], L1[moments+128], e=(16)
    mul.mc f32 L1[wide], L1[wide], L1[moments+128], e=(768,16)
    fma.mv f32->f16 L1[out+l0%2*32K], L1[wide], L1[scale], L1[scale+4K], e=(768,16), s1=(_,_,0) wait ST>VX:0 set VX>ST:0
    st.1d f16 DDR[y+l0*24576], L1[out+l0%2*32K], e0=12288 wait VX>ST:0 set ST>VX:0
  }
  waitf VX>LD:0, 2
  waitf ST>VX:0, 2
  halt
