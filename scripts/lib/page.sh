# Parts of documents that are written from a run: what stands between two comments, `<!-- NAME -->` and `<!-- end of NAME -->`; and what
# stands for many runs in a table.
# To be sourced. It must never touch what stands outside of them.
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

# tell FILE NAME TEXT TABLES: the part anew, with the text before the tables; where no page is wanted the tables alone, to be read here.
tell() {
  [[ -n $page ]] || { printf '%s\n' "$4"; return; }
  { printf '\n%s\n\n%s\n\n' "$3" "$4"; } | put_into "$1" "$2"
  echo "$1 has the tables"
}
