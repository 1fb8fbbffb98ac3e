# cmake -DFILE=x.mjs -P: drops lines that are comments, and indents. What a page loads is small; the source has the words.
file(READ ${FILE} text)
string(REGEX REPLACE "\n *//[^\n]*" "" text "\n${text}")
string(REGEX REPLACE "\n */[*][*][^\n]*[*]/" "" text "${text}")
string(REGEX REPLACE "\n +" "\n" text "${text}")
string(REGEX REPLACE "\n\n+" "\n" text "${text}")
string(REGEX REPLACE "^\n" "" text "${text}")
file(WRITE ${FILE} "${text}")
