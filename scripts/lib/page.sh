# Writes parts of documents from runs, between `<!-- NAME -->` and `<!-- end of NAME -->`, and
# computes the median of many runs.
# To be sourced. It must never change the rest of a document.
# shellcheck shell=bash disable=SC2154 # `page` is the sourcing script's

# put_into FILE NAME: replaces the part by stdin.
put_into() {
  local text
  text=$(mktemp)
  cat >"$text"
  grep -q "^<!-- $2 -->$" "$1" || { echo "$1 has no part <!-- $2 -->"; rm -f "$text"; return 1; }
  sed -i -e "/^<!-- $2 -->\$/,/^<!-- end of $2 -->\$/{
    /^<!-- $2 -->\$/{p;r $text
    d};/^<!-- end of $2 -->\$/p;d}" "$1"
  rm -f "$text"
}

# middle FORMAT: of the numbers on stdin the middle one, and the middle half.
middle() {
  LC_ALL=C sort -g | LC_ALL=C awk -v one="$1" '{ all[NR] = $1 } END { cut = int((NR + 3) / 4)
    if (!NR) exit 1
    printf one " (" one " to " one ")", all[int((NR + 1) / 2)], all[cut], all[NR + 1 - cut] }'
}

# put_tables FILE NAME TEXT TABLES: writes the part, with the text before the tables. Without a page
# it prints the tables.
put_tables() {
  [[ -n $page ]] || { printf '%s\n' "$4"; return; }
  { printf '\n%s\n\n%s\n\n' "$3" "$4"; } | put_into "$1" "$2"
  echo "$1 has the tables"
}
