# Real programs to profile: fetches them from Maven Central, compiles their drivers
# (java-tests/workloads), runs one. To be sourced after jdks.sh and setup.sh. It must never run a
# program with an unchecked result, and never keep anything outside of target/.
# shellcheck shell=bash disable=SC2154,SC2034 # `top`, `logs` and `tools` are the sourcing script's; it uses what is set here

# Only cargo xtask page accuracy runs `known`, which also reports the time of each part of its work.
WORKLOADS=(javac mix database server script dynamic compiler deep maps crowd adverse)

# Each the latest version that runs on JDKs 8 to 27.
workload_sources_package=org.apache.commons:commons-math3:3.6.1:jar:sources
declare -A workload_packages=(
  [database]=com.h2database:h2:2.2.224
  [server]="org.apache.tomcat.embed:tomcat-embed-core:9.0.122 org.apache.tomcat:tomcat-annotations-api:9.0.122
    com.fasterxml.jackson.core:jackson-databind:2.22.4 com.fasterxml.jackson.core:jackson-core:2.22.4
    com.fasterxml.jackson.core:jackson-annotations:2.22"
  [script]=org.mozilla:rhino:1.7.15.1
  [dynamic]=org.apache.groovy:groovy:4.0.33
  [compiler]=org.eclipse.jdt:ecj:3.26.0
)

peer_package=tools.profiler:async-profiler:4.6

workload_drivers=$top/java-tests/workloads
workload_jars=$tools/workloads
workload_classes=$top/target/workload-classes
# An agent beside any of them, under which classes are redefined all the time.
workload_storm=$workload_classes/storm.jar
# And one under which threads come and go, virtual threads park, and there is garbage.
workload_churn=$workload_classes/churn.jar
# One that starts and stops profilers between the rounds of any of them, and measures.
workload_turns=$workload_classes/turns.jar
workload_sources=$top/target/workload-sources
declare -A collector_flags=(
  [serial]=-XX:+UseSerialGC [parallel]=-XX:+UseParallelGC [g1]=-XX:+UseG1GC [cms]=-XX:+UseConcMarkSweepGC [z]=-XX:+UseZGC
  [zgen]='-XX:+UseZGC -XX:+ZGenerational' [shenandoah]=-XX:+UseShenandoahGC
)

# workload_jar PACKAGE: the path of its jar. The version is in the name, so another version is
# fetched.
workload_jar() {
  local artifact version classifier
  IFS=: read -r _ artifact version _ classifier <<<"$1"
  printf '%s/%s-%s%s.jar' "$workload_jars" "$artifact" "$version" "${classifier:+-$classifier}"
}

# workload_path NAME: its class path.
workload_path() {
  local package path=$workload_classes
  for package in ${workload_packages[$1]:-}; do path+=:$(workload_jar "$package"); done
  printf '%s' "$path"
}

# unpack JDK ARCHIVE FOLDER [PART]: the archive, or the folder PART of it, as FOLDER, which appears
# when it is whole.
unpack() {
  local new
  mkdir -p "$workload_sources"
  new=$(mktemp -d "$workload_sources/new.XXXXXX")
  (cd "$new" && jdks_clean "$1/bin/jar" xf "$2" "${@:4}") && mv -T "$new/${4:-}" "$3" && rm -rf "$new" && return
  rm -rf "$new"
  [[ -d $3 ]] # another run may have been quicker
}

# fetch_peer: fetches async-profiler's package, and prints the path of its library.
fetch_peer() {
  local folder=$workload_sources/async-profiler-${peer_package##*:}
  fetch_jars "$peer_package" "$(workload_jar "$peer_package")" >&2 || return 1
  [[ -d $folder ]] || unpack "$newest" "$(workload_jar "$peer_package")" "$folder" linux-x64 >&2 || return 1
  echo "$folder"/libasyncProfiler.so
}

# Everything that workloads need, as far as it is not there.
fetch_workloads() {
  local packages package folder wanted=()
  read -r -d '' -a packages <<<"${workload_packages[*]} $workload_sources_package" || true # they end at no delimiter
  for package in "${packages[@]}"; do wanted+=("$package" "$(workload_jar "$package")"); done
  fetch_jars "${wanted[@]}" || return 1
  need_toolchains || return 1
  folder=$workload_sources/commons-math3
  [[ -d $folder ]] || unpack "$newest" "$(workload_jar "$workload_sources_package")" "$folder" \
    || { echo "the sources of Commons Math cannot be unpacked: remove $workload_jars and try again"; return 1; }
  build_workloads "$newest"
}

# build_workloads JDK: compiles the drivers, if one of them or the list of jars has changed.
build_workloads() {
  local stamp=$workload_classes/.built name path=''
  if [[ -f $stamp && -z $(find "$workload_drivers" "$top/scripts/lib/workloads.sh" -newer "$stamp") ]]; then return; fi
  rm -rf "$workload_classes"
  mkdir -p "$workload_classes"
  for name in "${WORKLOADS[@]}"; do path+=:$(workload_path "$name"); done
  jdks_clean "$1/bin/javac" -J-XX:TieredStopAtLevel=1 -nowarn -Xlint:-options -XDsuppressNotes -g --release 8 -encoding UTF-8 -cp "${path#:}" \
    -d "$workload_classes" "$workload_drivers"/*.java >"$logs/workloads.log" 2>&1 \
    || { echo "the workloads do not compile: see ${logs#"$top"/}/workloads.log"; return 1; }
  weather "$1" Storm "$workload_storm" && weather "$1" Churn "$workload_churn" && weather "$1" Turns "$workload_turns" \
    || return 1
  touch "$stamp"
}

# weather JDK CLASS JAR: that class as an agent.
weather() {
  printf 'Premain-Class: %s\nCan-Retransform-Classes: true\n' "$2" >"$workload_classes/$2.mf"
  (cd "$workload_classes" && jdks_clean "$1/bin/jar" cfm "$3" "$2.mf" "$2"*.class)
}

# java_xml HOME MAJOR VERSION: the folder of this JDK's own java.xml. The JDK has it in its src.zip,
# or scripts/jdks --sources has put it beside the JDKs; JDK 8 has no modules in its src.zip.
java_xml() {
  local folder=$workload_sources/java.xml-$3
  if ((${2} > 8)) && [[ -r $1/lib/src.zip ]]; then
    [[ -d $folder ]] || unpack "$1" "$1/lib/src.zip" "$folder" java.xml || return 1
  else
    folder=$jdks_dir/sources/$2/java.xml
    [[ -d $folder ]] || return 1
  fi
  printf '%s' "$folder"
}

# workload NAME SECONDS JAVA_HOME [JVM OPTION…]: runs it for about so long, to the end of the work
# at hand; prints one line. 0: its results were right; 3: it cannot run on this JDK, and the line
# says why; 2: it was asked for wrongly; else it failed.
workload() (
  name=${1:-} seconds=${2:-} home=${3:-}
  [[ " ${WORKLOADS[*]} known " == *" $name "* ]] || { echo "there is no workload '$name': choose of ${WORKLOADS[*]} known"; exit 2; }
  [[ $seconds =~ ^[0-9]+$ ]] || { echo "workload $name SECONDS JAVA_HOME [JVM OPTION…]: '$seconds' is no number"; exit 2; }
  [[ -f $workload_classes/.built ]] || { echo 'call fetch_workloads first'; exit 2; }
  described=$(jdks_describe "$home") || { echo "no JVM starts in '$home'"; exit 2; }
  shift 3
  IFS=$'\t' read -r major _ version _ <<<"$described"
  input=''
  case $name in
    javac)
      [[ -x $home/bin/javac ]] || { echo "javac cannot run: $home is a JRE"; exit 3; }
      input=$(java_xml "$home" "$major" "$version") \
        || { echo "javac cannot run: no sources of java.xml for JDK $major; scripts/jdks --sources fetches them"; exit 3; }
      ;;
    script) input=$workload_drivers/algorithms.js ;;
    dynamic) input=$workload_drivers/features.groovy ;;
    compiler) input=$workload_sources/commons-math3 ;;
  esac
  scratch=$(mktemp -d "$top/target/workload.XXXXXX") || exit 2
  trap 'rm -rf "$scratch"' EXIT
  code=0
  jdks_clean "$home/bin/java" -Xmx1g -XX:ErrorFile="$logs/hs_err_pid%p.log" "$@" -cp "$(workload_path "$name")" \
    "${name^}" "$seconds" "$scratch" "$input" || code=$?
  ((code != 3)) || code=1 # what -XX:+ExitOnOutOfMemoryError gives
  exit "$code"
)

# report_value REPORT NAME: the first number of this name in a trust report.
report_value() { grep -o "\"$2\": *[0-9]*" "$1" | head -n 1 | grep -o '[0-9]*$'; }
