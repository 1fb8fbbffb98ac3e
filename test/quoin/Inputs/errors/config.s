.config qn-c9
