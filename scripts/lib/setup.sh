# Sets up what the tests need beyond the repository: tools of the system, JDKs, a JSON library, the
# front-end's client.
# To be sourced. It installs what it can (as root, from Debian's packages), and says what to install
# where it cannot. It must never alter anything outside of the repository but by installing a
# package.
# shellcheck shell=bash disable=SC2154,SC2034 # `top` and `logs` are the sourcing script's; what is set here it uses

tools=$top/target/tools
GSON=$tools/gson.jar
GSON_PACKAGE=com.google.code.gson:gson:2.11.0
PROFILER_CLI=$tools/node_modules/.bin/profiler-cli
PROFILER_CLI_PACKAGE=@firefox-devtools/profiler-cli@0.10.0
PLAYWRIGHT=$tools/node_modules/playwright-core
PLAYWRIGHT_PACKAGE=playwright-core@1.65.1
JTREG=$(command -v jtreg || true)
OTLP_SUMS=$tools/otlp-sums
TYPOS_VERSION=1.52.0
TYPOS=$tools/typos-$TYPOS_VERSION/bin/typos
# What is good for jtreg and its JVMs, which compile a test and read what the JVMs under test wrote.
# (These have none of it: Vm.plain.)
JTREG_LIGHT=(-J-XX:TieredStopAtLevel=1 '-e:JDK_JAVA_OPTIONS=-XX:TieredStopAtLevel=1 -XX:+UseSerialGC')

# need COMMAND PACKAGE: makes sure that a command is there.
need() {
  command -v "$1" >/dev/null && return
  if [[ $(id -u) -eq 0 ]] && command -v apt-get >/dev/null; then
    echo "installing $2"
    DEBIAN_FRONTEND=noninteractive apt-get install -y -q "$2" >"$logs/apt.log" 2>&1 \
      || { apt-get update -q >>"$logs/apt.log" 2>&1 \
           && DEBIAN_FRONTEND=noninteractive apt-get install -y -q "$2" >>"$logs/apt.log" 2>&1; }
  fi
  command -v "$1" >/dev/null || { echo "$1 is needed: install Debian's package $2"; return 1; }
}

# A library that shows programs another time of day.
need_faketime() {
  [[ -z $(find /usr/lib -name libfaketime.so.1 2>/dev/null) ]] || return 0
  if [[ $(id -u) -eq 0 ]] && command -v apt-get >/dev/null && apt-get install -y -q libfaketime >>"$logs/apt.log" 2>&1; then
    return
  fi
  echo "the scenario 'clock' needs Debian's package libfaketime"
  return 1
}

# The home of the newest full JDK that jtreg itself can run on.
newest_jdk() {
  jdks_list | awk -F '\t' '$4 == "jdk" && $1 >= 11 && $1 <= 25 { home = $2 } END { print home }'
}

# compiler_for HOME MAJOR: the JDK with the javac that compiles tests for this one: itself, or the
# newest that is not newer. A newer one would make newer classes.
compiler_for() {
  if [[ -x $1/bin/javac ]]; then
    printf '%s\n' "$1"
    return
  fi
  jdks_list | awk -F '\t' -v major="$2" '$4 == "jdk" && $1 <= major { home = $2 } END { if (home) print home; else exit 1 }'
}

# Rust, and in `newest` the JDK that the tests' own tools run on.
need_toolchains() {
  command -v cargo >/dev/null || { echo 'Rust is needed: install it from https://rustup.rs'; return 1; }
  newest=$(newest_jdk)
  [[ -n $newest ]] || { echo 'no JDK between 11 and 25 is there: install one'; return 1; }
}

# need_std TARGET: Rust's own library for another processor or C library.
need_std() {
  [[ ! -d $(rustc --print sysroot)/lib/rustlib/$1/lib ]] || return 0
  echo "fetching Rust's library for $1"
  rustup target add "$1" >"$logs/rustup.log" 2>&1 \
    || { echo "it could not be had (rustup target add $1): see ${logs#"$top"/}/rustup.log"; return 1; }
}

need_jtreg() {
  need jtreg jtreg7 && fetch_gson || return 1
  # Two tests count what the kernel does by it; they are skipped without.
  need perf linux-perf || true
  JTREG=$(command -v jtreg)
}

# vouch_version SOURCES: the version that is built of them.
vouch_version() { sed -n 's/^version = "\(.*\)"$/\1/p' "$1/Cargo.toml" | head -n 1; }

# build_agent [OPTION…]: all that is released of it.
build_agent() {
  echo 'building the agent'
  cargo build --release --locked --quiet "$@"
}

# fetch_jars [PACKAGE FILE]…: those of them that are not there, from Maven Central, all at once: to
# start it takes longest.
fetch_jars() {
  local project items='' names='' group artifact version type classifier code=0
  while (($#)); do
    if [[ ! -f $2 ]]; then
      IFS=: read -r group artifact version type classifier <<<"$1"
      items+="<artifactItem><groupId>$group</groupId><artifactId>$artifact</artifactId><version>$version</version><type>${type:-jar}</type>"
      items+="<classifier>$classifier</classifier><outputDirectory>${2%/*}</outputDirectory><destFileName>${2##*/}</destFileName></artifactItem>"
      names+=" ${2##*/}"
    fi
    shift 2
  done
  [[ -n $items ]] || return 0
  need mvn maven || return 1
  echo "fetching$names"
  mkdir -p "$tools"
  project=$(mktemp "$tools/fetching.XXXXXX.xml") || return 1
  cat >"$project" <<XML
<project>
  <modelVersion>4.0.0</modelVersion><groupId>dev.vouch</groupId><artifactId>fetched</artifactId><version>1</version><packaging>pom</packaging>
  <build><plugins><plugin>
    <artifactId>maven-dependency-plugin</artifactId>
    <configuration><artifactItems>$items</artifactItems></configuration>
  </plugin></plugins></build>
</project>
XML
  mvn -q -B -f "$project" dependency:copy >"$logs/maven.log" 2>&1 || code=1
  rm -f "$project"
  ((code == 0)) || echo "they could not be fetched: see ${logs#"$top"/}/maven.log"
  return "$code"
}

# The JSON library of the Java tests.
fetch_gson() { fetch_jars "$GSON_PACKAGE" "$GSON"; }

# The command-line client of the Firefox Profiler, and what drives a browser, from npm. Without npm
# their part is skipped.
fetch_profiler_cli() {
  need chromium chromium || true
  if [[ -x $PROFILER_CLI && -d $PLAYWRIGHT ]] || ! command -v npm >/dev/null; then return 0; fi
  echo 'fetching the client of the Firefox Profiler'
  npm install --silent --no-fund --no-audit --prefix "$tools" "$PROFILER_CLI_PACKAGE" "$PLAYWRIGHT_PACKAGE" >"$logs/npm.log" 2>&1 \
    || { echo "the client could not be fetched: see ${logs#"$top"/}/npm.log"; return 1; }
}

# The spelling checker `typos`. PyPI has the program of crates.io compiled, which takes seconds.
# Without pip, cargo compiles it, which takes minutes.
fetch_typos() {
  [[ ! -x $TYPOS ]] || return 0
  echo "fetching typos $TYPOS_VERSION"
  python3 -m pip install -q --disable-pip-version-check --no-cache-dir --no-deps --only-binary=:all: \
    --target "${TYPOS%/bin/typos}" "typos==$TYPOS_VERSION" >"$logs/typos.log" 2>&1 \
    || cargo install --quiet --locked --version "$TYPOS_VERSION" --root "${TYPOS%/bin/typos}" typos-cli >>"$logs/typos.log" 2>&1 \
    || { echo "typos could not be fetched: see ${logs#"$top"/}/typos.log"; return 1; }
}

# What adds up OpenTelemetry's profiles by the Collector's own decoder. Go fetches its modules. The
# tests that use it are skipped where it cannot be built.
build_otlp_sums() {
  local sources=$top/scripts/lib/otlp-sums
  if [[ $OTLP_SUMS -nt $sources/main.go && $OTLP_SUMS -nt $sources/go.mod && $OTLP_SUMS -nt $sources/go.sum ]] || ! command -v go >/dev/null; then return 0; fi
  echo "building otlp-sums"
  rm -f "$OTLP_SUMS"
  go build -C "$sources" -trimpath -o "$OTLP_SUMS" . >"$logs/go.log" 2>&1 || { echo "it could not be built: see ${logs#"$top"/}/go.log"; return 1; }
}

# The demonstration program, for every JDK.
build_demo() {
  mkdir -p "$top/target/demo"
  "$newest/bin/javac" -nowarn -g --release 8 -Xlint:-options -d "$top/target/demo" java-tests/demo/Demo.java
}

# setup PART…: everything that these parts need; for `truth` by what workloads.sh has.
setup() {
  local wanted=" $* " building=''
  command -v cargo >/dev/null || { echo 'Rust is needed: install it from https://rustup.rs'; return 1; }
  mkdir -p "$tools"
  need cc gcc && need bc bc && need nm binutils || return 1
  [[ $wanted == *' lint '* ]] && { need shellcheck shellcheck; fetch_typos || true; }
  if [[ $wanted =~ ' '(abi|engines|trap|jtreg|named|lab|truth|frontend|clone)' ' ]]; then
    # The compiler and the network need not wait for each other.
    build_agent --workspace &
    building=$!
    scripts/jdks --sources >"$logs/jdks.log" 2>&1 \
      || echo "some JDKs could not be had: see ${logs#"$top"/}/jdks.log; the tests run on those that are there"
    need_toolchains || return 1
    [[ -n $(jdk_homes) ]] || { echo "none of the JDKs ${JDKS:-} is there: scripts/jdks fetches them"; return 1; }
    build_demo || return 1
  fi
  [[ $wanted =~ ' '(jtreg|named)' ' ]] && { need_jtreg || return 1; build_otlp_sums || true; }
  [[ $wanted == *' frontend '* ]] && { fetch_profiler_cli || return 1; }
  # Those of its scripts that run beside one another find them made.
  [[ $wanted != *' truth '* ]] || fetch_workloads || echo 'what is tried on real programs will fail'
  [[ -z $building ]] || wait "$building"
}

# What the truth lab needs: the agent, jtreg, gson, and the report's maker in `lab_classes`.
setup_lab() {
  lab_classes=$top/target/lab-classes
  need_toolchains || return 1
  mkdir -p "$tools" "$lab_classes"
  need cc gcc && need_jtreg || return 1
  build_agent --workspace || return 1
  "$newest/bin/javac" -J-XX:TieredStopAtLevel=1 -nowarn -Xlint:-options --release 8 -cp "$GSON" -sourcepath java-tests/lib -d "$lab_classes" \
    java-tests/lib/dev/vouch/lab/Matrix.java
}

# outcomes_of FILE: of each test of a jtreg run "ok", "FAILED" or "skipped", a tab, and its name.
outcomes_of() {
  awk '/Passed\. (Skipped|skipped)/ || /SkippedException/ { print "skipped\t" $1; next } /Passed\./ { print "ok\t" $1; next }
       /Failed\.|Error\./ { print "FAILED\t" $1 }' "$1"
}

# summary_of FILE: "passed failed skipped" of a jtreg run.
summary_of() {
  [[ -f $1 ]] || { echo '0 1 0'; return; }
  outcomes_of "$1" | awk '{ of[$1]++ } END { print of["ok"] + 0, of["FAILED"] + 0, of["skipped"] + 0 }'
}

# red_tests FOLDER: the tests that failed in a jtreg run, each with the end of what it printed: the
# machine that it failed on may be gone when somebody asks why.
red_tests() {
  local test rest
  grep -E '(Failed|Error)\.' "$1/report/text/summary.txt" | head -n 8 | while read -r test rest; do
    printf '%s %s\n' "$test" "$rest"
    test=${test/.java/}
    awk '/^-+[A-Za-z.]+:\(/ { printing = /^-+System\.(out|err):/ } printing' "$1/work/${test/\#/_}.jtr" | grep -v '^ *$' \
      | tail -n 24 | cut -c 1-400 | sed 's/^/    /'
  done
}

# Why tests were skipped, a line each.
skip_reasons() {
  grep -rhoE --include='*.jtr' 'SkippedException: .*' "$1" 2>/dev/null | sed 's/^SkippedException: //' | sort | uniq -c
}
