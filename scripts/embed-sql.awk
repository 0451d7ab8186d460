# Turns a file of SQL into a C++ raw string literal.
#
# SQLite keeps the text of every table, trigger and view in the database file,
# so comments and blank lines stay out of it. A line that ends in
# `-- layer: NAME` belongs to a protective layer; with -v without=NAME[,NAME]
# such lines go, for the builds that show that a test notices.

BEGIN {
  count = split(without, names, ",")
  for (i = 1; i <= count; i++) removed[names[i]] = 1
  printf "R\"sql("
}

!quoted && match($0, /-- layer: [a-z_]+[ \t]*$/) {
  name = substr($0, RSTART + 10, RLENGTH - 10)
  sub(/[ \t]+$/, "", name)
  if (name in removed) next
}

{
  # `--` begins a comment outside of a string only; a string may go on over lines.
  inside = quoted
  text = ""
  for (i = 1; i <= length($0); i++) {
    c = substr($0, i, 1)
    if (c == "'") quoted = !quoted
    if (!quoted && substr($0, i, 2) == "--") break
    text = text c
  }
  if (!quoted) sub(/[ \t]+$/, "", text)
  if (text != "" || inside) print text
}

END {
  print ")sql\""
  if (quoted) {
    print FILENAME ": a string does not end" > "/dev/stderr"
    exit 1
  }
}
