# Finds the JDKs that Vouch can be tried on: those that scripts/jdks fetched, and those of this
# machine.
# To be sourced. It must never fetch, change or write anything, and never list a JDK that does not
# start.
# shellcheck shell=bash

jdks_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)/jdks

# Runs a command without the environment that would change which JVM starts, or what it prints.
jdks_clean() {
  env -u JAVA_TOOL_OPTIONS -u _JAVA_OPTIONS -u JDK_JAVA_OPTIONS -u LD_LIBRARY_PATH -u LD_PRELOAD "$@"
}

# jdks_describe HOME: prints "major<TAB>home<TAB>version<TAB>jdk|jre", or fails if no JVM starts
# there. It asks the JVM and not the `release` file, which stays readable when the JVM no longer
# runs.
jdks_describe() {
  local home=$1 settings major version kind=jre
  [[ -x $home/bin/java ]] || return 1
  settings=$(jdks_clean "$home/bin/java" -XshowSettings:properties -version 2>&1) || return 1
  major=$(sed -n 's/^ *java\.specification\.version = \(1\.\)\{0,1\}//p' <<<"$settings")
  version=$(sed -n 's/^ *java\.runtime\.version = //p' <<<"$settings")
  [[ $major =~ ^[0-9]+$ ]] || return 1
  if [[ -x $home/bin/javac && -f $home/include/jvmti.h ]]; then kind=jdk; fi
  printf '%s\t%s\t%s\t%s\n' "$major" "$home" "$version" "$kind"
}

# Prints the folders that may be JDK homes, the preferred first: one that the caller chose, then
# what was fetched.
jdks_candidates() {
  local home
  for home in "${JAVA_HOME:-}" "$jdks_dir"/[0-9]* /usr/lib/jvm/*; do
    if [[ -n $home && -x $home/bin/java ]]; then (cd "$home" && pwd -P); fi
  done | awk '!seen[$0]++'
}

# Prints one line per JDK, as jdks_describe does, by rising version.
jdks_list() {
  local home
  jdks_candidates | while IFS= read -r home; do jdks_describe "$home" || true; done | sort -s -n -k1,1
}

# Prints "major<TAB>home", one line per version: where there are several homes, the preferred one
# that is a full JDK.
jdks_homes() {
  jdks_list | awk -F '\t' -v OFS='\t' '
    !($1 in home) || (kind[$1] == "jre" && $4 == "jdk") { home[$1] = $2; kind[$1] = $4 }
    !seen[$1]++ { order[++count] = $1 }
    END { for (i = 1; i <= count; i++) print order[i], home[order[i]] }'
}

# jdks_home MAJOR: the home of that one.
jdks_home() {
  jdks_homes | awk -F '\t' -v major="$1" '$1 == major { print $2; found = 1 } END { exit !found }' \
    || { echo "there is no JDK $1 here: scripts/jdks fetches one" >&2; return 1; }
}
