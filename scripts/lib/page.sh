# Parts of documents that are written from a run: what stands between two comments, `<!-- NAME -->` and `<!-- end of NAME -->`.
# To be sourced. It must never touch what stands outside of them.
# shellcheck shell=bash

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
