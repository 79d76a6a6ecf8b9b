# The hunt for harm: exposes programs to trouble while Vouch profiles them. Each scenario checks
# that its trigger came, that the program ended with its own code and output, and that the profile
# is whole or absent. To be sourced after workloads.sh.
# shellcheck shell=bash disable=SC2154,SC2016,SC2030,SC2031 # `top`, `out` and `logs` are the sourcing script's; words for a page; subshells on purpose

HUNT_SCENARIOS=(storm long collectors children closed full descriptors few address redefined clock libjsig image jshell host stepped
  threads crowd virtual attached reloads killed turns stopped disk periods user beside pprof)
declare -A hunt_words=(
  [long]='34 starts, dumps and stops in one JVM, with each of three collectors' [few]='16 descriptors, with `every=1s`'
  [turns]='killed (SIGKILL) while the files of a period are written' [stopped]='stopped (SIGSTOP) while `vouch dump` waits'
  [periods]='a full disk, with `every=1s`' [user]='`kernel=on` of an ordinary user' [beside]='async-profiler beside, loaded first and last'
  [storm]='5 starts and stops in a second' [collectors]='a start, a dump and a stop with each collector' [children]='100 children'
  [closed]='started without standard streams' [full]='stderr is a full pipe' [descriptors]='32 descriptors (`ulimit -n`)'
  [address]='1.5 to 4 GB of addresses (`ulimit -v`)' [redefined]='classes redefined all the time' [clock]='the clock jumps by an hour (faketime)'
  [libjsig]='libjsig preloaded' [image]='a jlink image' [jshell]='jshell' [host]='a C program makes and destroys the JVM'
  [stepped]='a debugger steps 20 times (jdb)' [threads]='4,000 short threads' [crowd]='5,000 threads at once'
  [virtual]='20,000 virtual threads' [attached]='800 threads of C attach and detach'
  [reloads]='libraries come and go, stripped, damaged, replaced; code in memory at their addresses'
  [killed]='killed (SIGKILL) and recovered' [disk]='a full disk' [pprof]='100 damaged recordings converted to `.pb.gz`'
)

# wrong WHY: prints what a scenario found and fails.
wrong() { echo "$*"; return 1; }

# hunt_java HOME [OPTION…]: a small JVM of this home, with the agent; `work` is where its files go.
hunt_java() { timeout 60 "$1/bin/java" -Xmx64m -XX:ErrorFile="$work/crash" "${agent[@]}" -cp "$workload_classes" "${@:2}"; }

# ends CODE FILE: the program ended as it does without the agent, and the profile is whole or
# absent.
ends() {
  (($1 == 7)) || { wrong "it ended with $1, not 7: $(tail -n 3 "$work/err" 2>/dev/null)"; return; }
  [[ $(grep -c '^result 433085802$' "$2") == 1 ]] || { wrong "its output is wrong: $(head -c 300 "$2")"; return; }
  whole
}

# The profiles are whole or absent, and no recording remains.
whole() {
  local file
  for file in "$work"/*.gz; do
    [[ ! -e $file ]] || gzip -t "$file" || { wrong "${file##*/} is not whole"; return; }
  done
  # Scenarios that keep the recording say so.
  [[ -n ${keeps-} || -z $(find "$work" -name '*.vouch') ]] || wrong "a recording is left: $(ls "$work")"
}

# exists: the profile is there, where nothing hinders it.
exists() { [[ -s $work/p.json.gz ]] || wrong 'there is no profile'; }

# jvm_of PID: the JVM that a hunt_java in the background runs. `timeout` is in front of it.
jvm_of() {
  local tries
  for ((tries = 0; tries < 100; tries++)); do
    pgrep -P "$(pgrep -P "$1" timeout || echo "$1")" java && return
    sleep 0.05
  done
  return 1
}

# waits_for PID: the JVM answers commands.
waits_for() {
  local tries
  for ((tries = 0; tries < 100; tries++)); do
    ! "$top/target/release/vouch" status "$1" >/dev/null 2>&1 || return 0
    sleep 0.1
  done
  wrong 'the JVM does not answer'
}

# commands HOME CYCLES [OPTION…]: starts and stops recordings in a JVM that runs.
commands() {
  local home=$1 cycles=$2 cycle pid jvm code=0 agent=() done=0
  shift 2
  hunt_java "$home" "$@" Hunted "${lasts:-8000}" - >"$work/out" 2>"$work/err" &
  pid=$!
  jvm=$(jvm_of "$pid")
  waits_for "$jvm" || return
  for ((cycle = 0; cycle < cycles; cycle++)); do
    "$top/target/release/vouch" start "$jvm" --interval 1ms --wall on --native on --out "$work/$cycle.json.gz" --out "$work/$cycle.pb.gz" >>"$work/said" 2>&1 \
      && "$top/target/release/vouch" dump "$jvm" >>"$work/said" 2>&1 \
      && "$top/target/release/vouch" stop "$jvm" >>"$work/said" 2>&1 && [[ -s $work/$cycle.json.gz && -s $work/$cycle.pb.gz ]] && done=$((done + 1))
  done
  wait "$pid" || code=$?
  ((done == cycles)) || { wrong "$done of $cycles recordings were written: $(tail -n 3 "$work/said")"; return; }
  ends "$code" "$work/out"
}

# Some 20 s for each collector.
hunt_long() {
  local collector lasts=20000
  for collector in serial g1 z; do
    # shellcheck disable=SC2086 # no flag, or some
    "$1/bin/java" -XX:+UnlockExperimentalVMOptions ${collector_flags[$collector]} -version >/dev/null 2>&1 || continue
    # shellcheck disable=SC2086 # as above
    commands "$1" 34 -XX:+UnlockExperimentalVMOptions ${collector_flags[$collector]} || { echo "collector $collector"; return 1; }
    rm -f "$work"/*
  done
}

hunt_storm() { commands "$1" 5 -XX:+UseSerialGC; }

hunt_collectors() {
  local collector
  for collector in serial parallel g1 $( (($2 < 11)) || echo z shenandoah); do
    # shellcheck disable=SC2086 # no flag, or some
    "$1/bin/java" -XX:+UnlockExperimentalVMOptions ${collector_flags[$collector]} -version >/dev/null 2>&1 || continue
    # shellcheck disable=SC2086 # as above
    commands "$1" 1 -XX:+UnlockExperimentalVMOptions ${collector_flags[$collector]} || { echo "collector $collector"; return 1; }
    rm -f "$work"/*
  done
}

# plain HOME FACT PATTERN: the program alone; its output must have the pattern, by which the trigger
# came.
plain() {
  local code=0
  hunt_java "$1" "${java_options[@]}" Hunted "${lasts:-300}" - "${@:4}" >"$work/out" 2>"$work/err" </dev/null || code=$?
  grep -qE -- "$3" "$work/out" || { wrong "the trigger of $2 did not come (code $code): $(tail -n 2 "$work/out" "$work/err")"; return; }
  ends "$code" "$work/out"
}

hunt_children() { plain "$1" children '^children 100$' children 100 && exists; }

hunt_closed() {
  local code=0 before
  before=$(readlink /proc/self/fd/2)
  hunt_java "$1" Hunted 300 "$work/result" descriptor 0 0<&- 1>&- 2>&- || code=$?
  grep '^descriptor ' "$work/result" | grep -qvF -- "$before" || { wrong 'the streams were open'; return; }
  [[ $(wc -l <"$work/result") == 2 ]] || { wrong "foreign lines are in the program's data: $(head -c 300 "$work/result")"; return; }
  ends "$code" "$work/result" && exists
}

hunt_full() {
  local code=0 pipe
  mkfifo "$work/pipe"
  exec {pipe}<>"$work/pipe"
  dd if=/dev/zero of="$work/pipe" bs=4096 count=100 oflag=nonblock status=none 2>"$work/filled" || true
  grep -q 'temporarily unavailable' "$work/filled" || { exec {pipe}>&-; wrong 'the pipe was not full'; return; }
  hunt_java "$1" Hunted 300 - >"$work/out" 2>&"$pipe" || code=$?
  exec {pipe}>&-
  ends "$code" "$work/out" && exists
}

# JDK 8 itself needs some 20.
hunt_descriptors() { (ulimit -n 32 && plain "$1" 'the limit' '^Max open files +32 +32 ' limits); }

hunt_few() {
  (($2 >= 11)) || return 3
  local lasts=1500 file agent=("${agent[0]%%=*}=engine=perf,interval=1ms,events=all,wall=10ms,native=on,every=1s,out=$work/p-%t.json.gz,out=$work/p-%t.pb.gz")
  (ulimit -n 16 && plain "$1" 'the limit' '^Max open files +16 +16 ' limits) || return
  for file in "$work"/p-*.pb.gz; do [[ -s $file ]] || wrong 'no period was written'; done
}

# The program is run without the agent first: where that fails, the limit is too low for the JVM
# itself.
hunt_address() {
  local kib own='' bare
  for kib in 1500000 2000000 2500000 3000000 4000000; do
    bare=$( (ulimit -v "$kib" && agent=() && plain "$1" 'the limit' "^Max address space +$((kib * 1024)) " limits) 2>&1) || continue
    own=$(ulimit -v "$kib" && plain "$1" 'the limit' "^Max address space +$((kib * 1024)) " limits) || { echo "$kib KiB: $own"; return 1; }
    bare=yes
  done
  [[ $bare == yes ]] || wrong 'the JVM itself runs at none of these limits'
}

hunt_redefined() {
  local java_options=(-javaagent:"$workload_storm") lasts=1000
  plain "$1" redefinition '^result' && { grep -hq '^storm: [1-9]' "$work/out" "$work/err" || wrong 'no class was redefined'; } && exists
}

hunt_clock() {
  local code=0 library pid hours
  library=$(find /usr/lib -name libfaketime.so.1 | head -n 1)
  [[ -n $library ]] || return 3
  echo '+0' >"$work/offset"
  LD_PRELOAD=$library FAKETIME_TIMESTAMP_FILE=$work/offset FAKETIME_NO_CACHE=1 DONT_FAKE_MONOTONIC=1 \
    hunt_java "$1" Hunted 3000 - jumps >"$work/out" 2>"$work/err" &
  pid=$!
  for hours in +1h -1h +2h +0 -3h +0; do sleep 0.5; echo "$hours" >"$work/offset"; done
  wait "$pid" || code=$?
  grep -q '^jumps [1-9]' "$work/out" || { wrong "the clock never jumped: $(tail -n 3 "$work/err")"; return; }
  ends "$code" "$work/out" && exists
}

hunt_libjsig() {
  local library
  library=$(find "$1/" -name libjsig.so | head -n 1)
  [[ -n $library ]] || return 3
  LD_PRELOAD=$library plain "$1" libjsig libjsig maps libjsig && exists
}

hunt_image() {
  [[ -x $1/bin/jlink ]] || return 3
  local image=$work/image
  "$1/bin/jlink" --add-modules java.base --strip-debug --output "$image" >"$work/jlink" 2>&1 || { wrong "$(tail -n 2 "$work/jlink")"; return; }
  plain "$image" 'the image' "^home $image\$" home && exists
}

hunt_jshell() {
  [[ -x $1/bin/jshell ]] || return 3
  local code=0
  printf 'int sum = 0; for (int at = 0; at < 100_000_000; at++) sum ^= at * at;\nSystem.out.println("product " + 6 * 7)\n/exit\n' \
    | timeout 60 "$1/bin/jshell" -s -J-Djava.util.prefs.userRoot="$work" -R-Xmx64m "${agent[@]/#/-R}" >"$work/out" 2>"$work/err" || code=$?
  grep -q 'product 42$' "$work/out" || { wrong "jshell printed $(head -c 300 "$work/out" "$work/err")"; return; }
  ((code == 0)) || { wrong "jshell ended with $code"; return; }
  whole
}

hunt_host() {
  local code=0
  cc -I"$1/include" -I"$1/include/linux" -o "$work/host" java-tests/loading/host.c -ldl >"$work/cc" 2>&1 || return 3
  HOST_SHOWS_REMAINS=yes timeout 60 "$work/host" "$1/bin/java" -Xmx64m "${agent[@]}" -cp "$workload_classes" Hunted 1 300 \
    >"$work/out" 2>"$work/err" || code=$?
  # A JVM for another C library, as the wheels' are.
  ! grep -q 'cannot be loaded' "$work/err" || return 3
  ((code == 0)) || { wrong "the program ended with $code: $(tail -n 3 "$work/err")"; return; }
  grep -q '^handler ' "$work/out" || { wrong 'the JVM was not destroyed'; return; }
  ! grep -E '^(descriptor|handler) .*(perf_event|libvouch)|^thread Vouch' "$work/out" || { wrong 'that is left'; return; }
  whole && exists
}

hunt_stepped() {
  [[ -x $1/bin/jdb ]] || return 3
  local code=0 pid port='' tries
  hunt_java "$1" -agentlib:jdwp=transport=dt_socket,server=y,suspend=y,address=0 Hunted 300 - >"$work/out" 2>"$work/err" &
  pid=$!
  for ((tries = 0; tries < 200; tries++)); do
    port=$(sed -n 's/^Listening for transport.*address: //p' "$work/out") && [[ -n $port ]] && break
    sleep 0.05
  done
  {
    sleep 1; echo 'stop in Hunted.step'; sleep 0.3; echo run; sleep 0.5
    for ((tries = 0; tries < 20; tries++)); do echo step; sleep 0.1; done
    echo 'clear Hunted.step'; sleep 0.3; echo cont; sleep 1
  } | timeout 60 "$1/bin/jdb" -attach "$port" >"$work/jdb" 2>&1 || true
  wait "$pid" || code=$?
  (($(grep -c 'Step completed' "$work/jdb") >= 10)) || { wrong "the debugger did not step: $(tail -n 3 "$work/jdb")"; return; }
  ends "$code" "$work/out" && exists
}

hunt_threads() { plain "$1" threads '^threads 4000$' threads 4000 40 && exists; }

hunt_crowd() {
  local java_options=(-Xss256k)
  plain "$1" threads '^threads 5000$' threads 5000 5000 && exists
}

hunt_virtual() {
  (($2 >= 21)) || return 3
  plain "$1" 'virtual threads' '^virtual 20000$' virtual 20000 && exists
}

# natives HOME: compiles Hunted's native part, or returns 3.
natives() {
  [[ -f $1/include/jni.h ]] && cc -O1 -shared -fPIC -pthread -I"$1/include" -I"$1/include/linux" -o "$work/hunted.so" \
    java-tests/workloads/hunted.c >"$work/cc" 2>&1 || return 3
  java_options=(-Dhunted.library="$work/hunted.so")
}

hunt_attached() { natives "$1" || return 3; plain "$1" 'threads of C' '^attached 800$' attached 800 && exists; }

hunt_reloads() {
  local library name sections replacer code
  natives "$1" || return 3
  for name in whole stripped damaged cut; do
    library=$work/$name.so
    cc -O1 -shared -fPIC -o "$library" java-tests/profile/alpha.c >"$work/cc" 2>&1 || return 3
    # The linker reads nothing from here on: tables of symbols and of sections.
    sections=$((16#$(readelf -SW "$library" | sed -n 's/.* \.comment *PROGBITS *[0-9a-f]* *\([0-9a-f]*\) .*/\1/p')))
    ((sections > 0)) || { wrong 'the library has no section to damage'; return; }
    case $name in
      stripped) strip -s "$library" ;;
      damaged) head -c $(($(stat -c %s "$library") - sections)) /dev/urandom | dd of="$library" bs=1 seek="$sections" conv=notrunc status=none ;;
      cut) truncate -s "$sections" "$library" ;;
    esac
  done
  (
    while sleep 0.05; do
      cc -O1 -shared -fPIC -o "$work/next.so" java-tests/profile/gamma.c >"$work/cc" 2>&1 && mv "$work/next.so" "$work/whole.so"
    done
  ) &
  replacer=$!
  plain "$1" reloads '^reloads [1-9][0-9]' reloads "$work/whole.so:$work/stripped.so:$work/damaged.so:$work/cut.so" && exists
  code=$?
  kill "$replacer"
  wait "$replacer"
  return "$code"
}

hunt_killed() {
  local pid jvm
  hunt_java "$1" Hunted 20000 - >"$work/out" 2>"$work/err" &
  pid=$!
  jvm=$(jvm_of "$pid")
  sleep 2
  kill -KILL "$jvm" || { wrong 'it had ended before'; return; }
  wait "$pid"
  "$top/target/release/vouch" recover "$work/p.vouch" >"$work/said" 2>&1 || { wrong "it cannot be recovered: $(tail -n 3 "$work/said")"; return; }
  gzip -t "$work/p.recovered.json.gz" || { wrong 'the profile is not whole'; return; }
  "$top/target/release/vouch" top --measure wall "$work/p.recovered.json.gz" >"$work/top" 2>&1 || wrong "it has no wall-clock time: $(tail -n 3 "$work/top")"
}

# Kills the JVM as soon as a file of a period is there, or part of one.
hunt_turns() {
  local pid jvm file tries keeps=1 agent=("${agent[0]%%=*}=interval=1ms,events=all,wall=1ms,every=1s,out=$work/p-%t.json.gz,out=$work/p-%t.pb.gz,out=$work/p-%t.html")
  hunt_java "$1" Hunted 20000 - >"$work/out" 2>"$work/err" &
  pid=$!
  jvm=$(jvm_of "$pid")
  for ((tries = 0; tries < 2000; tries++)); do
    [[ -z $(find "$work" -name '*p-*.gz*') ]] || break
    sleep 0.002
  done
  kill -KILL "$jvm" || { wrong 'it had ended before'; return; }
  wait "$pid"
  ((tries < 2000)) || { wrong 'no period ended'; return; }
  whole || return
  for file in "$work"/*.vouch; do
    # The JVM may have been killed before it wrote the first bytes of the next period.
    [[ -s $file ]] || continue
    "$top/target/release/vouch" recover "$file" >"$work/said" 2>&1 || { wrong "it cannot be recovered: $(tail -n 3 "$work/said")"; return; }
  done
  whole
}

hunt_stopped() {
  local pid jvm stop tries code=0 waited=0
  hunt_java "$1" Hunted 15000 - >"$work/out" 2>"$work/err" &
  pid=$!
  jvm=$(jvm_of "$pid")
  waits_for "$jvm" || return
  for ((tries = 1; tries <= 8; tries++)); do
    "$top/target/release/vouch" dump "$jvm" --out "$work/$tries.json.gz" --out "$work/$tries.pb.gz" >"$work/said" 2>&1 &
    stop=$!
    sleep "0.00$tries"
    kill -STOP "$jvm"
    sleep 0.3
    ! kill -0 "$stop" 2>/dev/null || waited=$((waited + 1))
    kill -CONT "$jvm"
    # A JVM that was stopped before is reported, with the remedy.
    wait "$stop" || grep -q 'is stopped: continue it first' "$work/said" || { wrong "dump failed: $(tail -n 3 "$work/said")"; return; }
  done
  "$top/target/release/vouch" stop "$jvm" >"$work/said" 2>&1 || { wrong "stop failed: $(tail -n 3 "$work/said")"; return; }
  wait "$pid" || code=$?
  ((waited)) || { wrong 'no command waited while the JVM was stopped'; return; }
  ends "$code" "$work/out" && exists
}

hunt_user() {
  local nobody code=0
  ((EUID == 0)) && nobody=$(id -u nobody) && setpriv --reuid "$nobody" --clear-groups test -r "$top/target/release/libvouch.so" || return 3
  chmod 777 "$work"
  agent=("${agent[0]},kernel=on")
  setpriv --reuid "$nobody" --clear-groups timeout 60 "$1/bin/java" -Xmx64m "${agent[@]}" -cp "$workload_classes" Hunted 500 - maps libvouch >"$work/out" 2>"$work/err" || code=$?
  grep -q libvouch "$work/out" || { wrong "the agent was not loaded: $(tail -n 3 "$work/err")"; return; }
  (($(cat /proc/sys/kernel/perf_event_paranoid) < 2)) || grep -q 'kernel=on showed no frames' "$work/err" || { wrong 'missing frames of the kernel are not reported'; return; }
  ends "$code" "$work/out" && exists
}

# ASYNC_PROFILER is the path of its library.
hunt_beside() {
  [[ -r ${ASYNC_PROFILER-} ]] || return 3
  local own=${agent[0]} other=-agentpath:$ASYNC_PROFILER=start,event=wall,file=$work/other.txt options
  for options in "$own $other" "$other $own"; do
    rm -f "$work"/*
    read -ra agent <<<"$options"
    plain "$1" async-profiler libasyncProfiler maps libasyncProfiler && exists || return
    [[ -s $work/other.txt ]] || { wrong 'the other profiler wrote nothing'; return; }
  done
}

hunt_disk() { full_disk "$1" 'out=DISK/p.json.gz,out=DISK/p.pb.gz' 1000; }

hunt_periods() { full_disk "$1" 'every=1s,out=DISK/p-%t.json.gz,out=DISK/p-%t.pb.gz' 2500; }

# full_disk HOME OUTPUTS MILLIS: the disk of the outputs has 4 KiB left.
full_disk() {
  local code=0 disk=$work/disk
  mkdir "$disk"
  unshare -m true 2>/dev/null || return 3
  agent=("-agentpath:$top/target/release/libvouch.so=interval=1ms,events=all,wall=on,native=on,${2//DISK/$disk}")
  export -f hunt_java
  export work disk workload_classes java=$1 millis=$3
  # The agent's option is passed by a variable, since functions export no arrays.
  TMPDIR=$work JAVA_TOOL_OPTIONS=${agent[0]} unshare -m bash -c 'mount -t tmpfs -o size=64k none "$disk" && head -c 60k /dev/zero >"$disk/filler"
    cd "$work"; agent=(); hunt_java "$java" Hunted "$millis" -; code=$?
    # The disk is gone with this shell.
    for file in "$disk"/*.gz; do [[ ! -e $file ]] || gzip -t "$file" || echo "${file##*/} is not whole" >>"$work/broken"; done
    exit "$code"' >"$work/out" 2>"$work/err" || code=$?
  [[ ! -e $work/broken ]] || { wrong "$(cat "$work/broken")"; return; }
  grep -q 'could not be written\|cannot be written' "$work/err" || { wrong "the disk was not full: $(tail -n 3 "$work/err")"; return; }
  ends "$code" "$work/out"
}

# A damaged recording is refused with a message, or converted. No crash, no partial file.
hunt_pprof() {
  local at code size keeps=1 agent=("${agent[0]},recording=keep")
  plain "$1" work '^result' threads 40 40 || return
  [[ -s $work/p.vouch ]] || { wrong 'there is no recording'; return; }
  size=$(stat -c %s "$work/p.vouch")
  for ((at = 0; at < 100; at++)); do
    cp "$work/p.vouch" "$work/damaged"
    case $((at % 3)) in
      0) truncate -s $((SRANDOM % size)) "$work/damaged" ;;
      1) head -c 3 /dev/urandom | dd of="$work/damaged" bs=1 seek=$((SRANDOM % size)) conv=notrunc status=none ;;
      2) printf '\377\377\377\377' | dd of="$work/damaged" bs=1 seek=$((SRANDOM % size)) conv=notrunc status=none ;;
    esac
    rm -f "$work/converted.pb.gz"
    code=0
    timeout 20 "$top/target/release/vouch" convert "$work/damaged" --out "$work/converted.pb.gz" >"$work/said" 2>&1 || code=$?
    if ((code > 2)) || grep -q panicked "$work/said"; then
      wrong "convert ended with $code: $(tail -n 3 "$work/said")"
      return
    fi
    [[ ! -e $work/converted.pb.gz ]] || gzip -t "$work/converted.pb.gz" || { wrong 'the converted file is not whole'; return; }
    ((code == 0)) || [[ ! -e $work/converted.pb.gz ]] || { wrong 'a refused recording left a file'; return; }
  done
}

# hunt NAME MAJOR HOME: one scenario in a fresh folder. 0: no harm; 3: this JDK or machine cannot;
# else it prints what is wrong.
hunt() (
  set +e
  work=$out/hunt-$1
  rm -rf "$work"
  mkdir -p "$work"
  agent=("-agentpath:$top/target/release/libvouch.so=interval=1ms,events=all,wall=on,native=on,out=$work/p.json.gz,out=$work/p.pb.gz,out=$work/p.otlp.gz")
  java_options=()
  "hunt_$1" "$3" "$2"
)

# hunt_page STATE: the table of all runs so far.
hunt_page() {
  local name
  printf '| scenario | JDKs | times | failures |\n|---|---|---|---|\n'
  for name in "${HUNT_SCENARIOS[@]}"; do
    awk -F '\t' -v name="$name" -v words="${hunt_words[$name]}" '$1 == name && $3 != "cannot" { times++; failed += $3 != "ok"
        if (!($2 in seen)) { seen[$2] = 1; list[++jdks] = $2 } }
      END { for (i = 1; i <= jdks; i++) for (j = i + 1; j <= jdks; j++) if (list[j] + 0 < list[i] + 0) { t = list[i]; list[i] = list[j]; list[j] = t }
        for (i = 1; i <= jdks; i++) all = all (i > 1 ? ", " : "") list[i]
        if (times) printf "| %s | %s | %d | %d |\n", words, all, times, failed }' "$1"
  done
}
