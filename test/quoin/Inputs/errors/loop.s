.config qn-t1
.core 0
  loop l0, 4 {
