// y[i] = table[index[i]] + position[i] for 512 rows of 256 elements of a table of 1000, f16, one core: blocks of 64 rows.
// Bound: DDR, 24640 cycles.
.config qn-c8
.input table, DDR, 512000
.input index, DDR, 2K
.input position, DDR, 256K
.output y, DDR, 256K
.equ rows, 0          // L1: 2 slots of 64 rows
.equ shift, 64K       // 2 slots
.equ out, 128K        // 2 slots
.equ numbers, 192K
.core 0
  setf VX>LD:0, 2
  setf ST>VX:0, 2
  ld.1d i32 L1[numbers], DDR[index], e0=512
  loop l0, 8 {
    ld.gather f16,i32->f16 L1[rows+l0%2*32K], DDR[table], L1[numbers+l0*256], e=(256,64), imm=1000, s1=(256,256) wait VX>LD:0
    ld.1d f16 L1[shift+l0%2*32K], DDR[position+l0*32K], e0=16384 set LD>VX:0
    add f16 L1[out+l0%2*32K], L1[rows+l0%2*32K], L1[shift+l0%2*32K], e=(16384) wait LD>VX:0, ST>VX:0 set VX>LD:0, VX>ST:0
    st.1d f16 DDR[y+l0*32K], L1[out+l0%2*32K], e0=16384 wait VX>ST:0 set ST>VX:0
  }
  waitf VX>LD:0, 2
  waitf ST>VX:0, 2
  halt
