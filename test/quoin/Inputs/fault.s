.config qn-c8
.output out, DDR, 16
.core 0
.loc "node 'topk'"
  sc.call NAME, DDR[out]
  halt
