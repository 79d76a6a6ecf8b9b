# Writes parts of documents from runs, between `<!-- NAME -->` and `<!-- end of NAME -->`.
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

# put_tables FILE NAME TEXT TABLES: writes the part, with the text before the tables. Without a page
# it prints the tables.
put_tables() {
  [[ -n $page ]] || { printf '%s\n' "$4"; return; }
  { printf '\n%s\n\n%s\n\n' "$3" "$4"; } | put_into "$1" "$2"
  echo "$1 has the tables"
}
