# How a release is built, and what is asked of it. To be sourced.
# It must never depend on where or when it is built: paths, times, users and the order of files are
# the same each time.
# shellcheck shell=bash disable=SC2154 # `top`, `logs` and `tools` are the sourcing script's

# For each processor an archive with the agent for either C library, and a command that needs none;
# the Maven artifact has all.
PROCESSORS=(x86_64 aarch64)
GLIBC=unknown-linux-gnu MUSL=unknown-linux-musl
# RHEL 7 and whatever is newer.
OLDEST_GLIBC=2.17
ZIGBUILD=0.24.1
ZIG=0.17.1

# The linker, and what calls it for cargo.
need_zig() {
  if [[ ! -x $tools/bin/cargo-zigbuild ]]; then
    echo 'building cargo-zigbuild'
    cargo install --quiet --locked --root "$tools" "cargo-zigbuild@$ZIGBUILD" >"$logs/zigbuild.log" 2>&1 \
      || { echo "cargo-zigbuild could not be built: see ${logs#"$top"/}/zigbuild.log"; return 1; }
  fi
  if [[ ! -x $tools/zig/bin/python3 || ! -d $(echo "$tools"/zig/lib/python*/site-packages/ziglang) ]]; then
    echo 'fetching zig'
    { python3 -m venv "$tools/zig" && "$tools/zig/bin/pip" install --quiet "ziglang==$ZIG"; } >"$logs/zig.log" 2>&1 \
      || { echo "zig could not be fetched: see ${logs#"$top"/}/zig.log"; return 1; }
  fi
}

# build_release SOURCES FILES TIME: builds the sources in a folder, and puts the files of the
# release into another.
build_release() {
  local sources=$1 files=$2 time=$3 version processor
  version=$(vouch_version "$sources")
  for processor in "${PROCESSORS[@]}"; do
    archive_for "$processor" "$sources" "$files" "$time" "vouch-$version-$processor-linux" || return 1
  done
  maven_artifact "$files" "$version" || return 1
  (cd "$files" && find . -type f -printf '%P\n' | LC_ALL=C sort | xargs sha256sum) >"$sources/target/sums"
  mv "$sources/target/sums" "$files/SHA256SUMS"
}

# build_for TARGET SOURCES TIME FLAGS OPTION…: builds what is released, with flags of rustc's.
build_for() (
  local target=$1 sources=$2 flags=$4
  cd "$sources" || return 1
  export PATH=$tools/bin:$PATH SOURCE_DATE_EPOCH=$3 CARGO_TARGET_DIR=$sources/target CARGO_INCREMENTAL=0
  CARGO_ZIGBUILD_ZIG_PATH=$(echo "$tools"/zig/lib/python*/site-packages/ziglang/zig)
  export CARGO_ZIGBUILD_ZIG_PATH CARGO_PROFILE_RELEASE_STRIP=debuginfo
  RUSTFLAGS="--remap-path-prefix=$sources=/vouch --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo --remap-path-prefix=$(rustc --print sysroot)=/rust $flags"
  export RUSTFLAGS
  cargo zigbuild --release --locked --quiet --target "$target" "${@:5}" >"$logs/build.log" 2>&1 \
    || { tail -n 20 "$logs/build.log"; echo "the release could not be built: see ${logs#"$top"/}/build.log"; return 1; }
)

# archive_for PROCESSOR SOURCES FILES TIME NAME: its archive, FILES/NAME.tar.gz, and what a Maven
# artifact has of it.
archive_for() {
  local processor=$1 sources=$2 files=$3 time=$4 name=$5 build root jar
  build=$sources/target/$processor
  build_for "$processor-$GLIBC.$OLDEST_GLIBC" "$sources" "$time" '' -p vouch || return 1
  # That is for the library: a program for musl zig links statically all the same, so that it needs
  # no C library.
  build_for "$processor-$MUSL" "$sources" "$time" '-C target-feature=-crt-static' -p vouch -p vouch-cli || return 1
  root=$files/$name
  mkdir -p "$root/bin" "$root/lib/musl" "$root/share"
  install -m 755 "$build-$MUSL/release/vouch" "$root/bin/vouch"
  install -m 755 "$build-$GLIBC/release/libvouch.so" "$root/lib/libvouch.so"
  install -m 755 "$build-$MUSL/release/libvouch.so" "$root/lib/musl/libvouch.so"
  install -m 644 "$sources/LICENSE-APACHE" "$sources/LICENSE-MIT" "$root/"
  install -m 644 "$sources/docs/release-readme.md" "$root/README.md"
  (
    cd "$sources"
    cargo metadata --format-version 1 --locked --filter-platform "$processor-$MUSL" >"$sources/target/metadata.json"
    cargo run --quiet --locked -p xtask -- manual "$root/share"
    # What the linker brings: on musl its functions in the command, and on either what unwinds a
    # panic.
    zig=$(echo "$tools"/zig/lib/python*/site-packages/ziglang/lib)
    cargo run --quiet --locked -p xtask -- sbom "$sources/target/metadata.json" "$root" \
      'rust-std' "$(rustc --version | cut -d ' ' -f 2)" 'MIT OR Apache-2.0' '' \
      'musl' "zig-$ZIG" 'MIT' "$zig/libc/musl/COPYRIGHT" \
      'libunwind' "zig-$ZIG" 'Apache-2.0 WITH LLVM-exception' "$zig/libunwind/LICENSE.TXT"
  ) >"$logs/beside.log" 2>&1 || { tail -n 20 "$logs/beside.log"; echo "what comes with it could not be made: see ${logs#"$top"/}/beside.log"; return 1; }
  pack "$files" "$name" "$time"
  jar=$files/.jar
  mkdir -p "$jar/native/linux-$processor" "$jar/native/linux-$processor-musl" "$jar/META-INF"
  cp "$root/lib/libvouch.so" "$jar/native/linux-$processor/"
  cp "$root/lib/musl/libvouch.so" "$jar/native/linux-$processor-musl/"
  cp "$root"/LICENSE-* "$jar/META-INF/"
  cp "$root/THIRD-PARTY.txt" "$jar/META-INF/THIRD-PARTY-$processor.txt"
  rm -rf "$root"
}

# pack FOLDER NAME TIME: FOLDER/NAME.tar.gz of FOLDER/NAME.
pack() {
  tar --create --directory "$1" --sort=name --mtime="@$3" --owner=0 --group=0 --numeric-owner --mode='u+w,go-w,a+rX' \
    --format=gnu "$2" | gzip -9n >"$1/$2.tar.gz"
}

# maven_artifact FILES VERSION: the agent as a jar in a Maven repository below FILES/maven, of
# FILES/.jar: native/linux-x86_64/libvouch.so, the same for musl, and both of other processors.
maven_artifact() {
  local files=$1 version=$2 place work
  place=$files/maven/dev/vouch/vouch-agent/$version
  work=$files/.jar
  mkdir -p "$place"
  python3 - "$work" "$place/vouch-agent-$version.jar" <<'PYTHON' || return 1
import os, sys, zipfile

folder, jar = sys.argv[1:]
files = sorted(os.path.relpath(os.path.join(at, name), folder) for at, _, names in os.walk(folder) for name in names)
with zipfile.ZipFile(jar, 'w', zipfile.ZIP_DEFLATED) as packed:
    for name in files:
        entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 2))
        entry.external_attr, entry.compress_type = 0o644 << 16, zipfile.ZIP_DEFLATED
        packed.writestr(entry, open(os.path.join(folder, name), 'rb').read())
PYTHON
  rm -rf "$work"
  cat >"$place/vouch-agent-$version.pom" <<POM
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>dev.vouch</groupId>
  <artifactId>vouch-agent</artifactId>
  <version>$version</version>
  <name>vouch-agent</name>
  <description>The agent of the profiler Vouch, for Linux on x86-64 and aarch64: native/linux-x86_64/libvouch.so, native/linux-aarch64/libvouch.so, and for musl native/linux-x86_64-musl/libvouch.so, native/linux-aarch64-musl/libvouch.so.</description>
  <licenses>
    <license><name>MIT OR Apache-2.0</name></license>
  </licenses>
</project>
POM
}

# check_release FILES: what a release has to be.
check_release() {
  local files=$1 unpacked archive processor root
  unpacked=$files.unpacked
  rm -rf "$unpacked"
  mkdir "$unpacked"
  (cd "$files" && sha256sum --quiet --check SHA256SUMS) || { echo 'a checksum is wrong'; return 1; }
  for processor in "${PROCESSORS[@]}"; do
    archive=$(echo "$files"/vouch-*-"$processor"-linux.tar.gz)
    tar -xzf "$archive" -C "$unpacked"
    root=$unpacked/$(basename "$archive" .tar.gz)
    check_files "$root" "$files" || return 1
  done
  root=$(echo "$unpacked"/vouch-*-"$(uname -m)"-linux)
  loads_on_musl "$root/lib/musl/libvouch.so" || { cat "$logs/musl.log"; echo 'the agent for musl cannot be loaded there'; return 1; }
  ! loads_on_musl "$root/lib/libvouch.so" || { echo 'the agent for glibc is loaded on musl, as it cannot be: nothing is known of the other'; return 1; }
  # As one unpacks it, in a folder of any name, with nothing else there.
  (cd "$unpacked" && env -i PATH="$root/bin:/usr/bin:/bin" HOME="$unpacked" "$root/bin/vouch" run --out run.json -- \
    "$newest/bin/java" -Xmx128m -version) >"$logs/run.log" 2>&1 || { cat "$logs/run.log"; echo 'the command does not run a program'; return 1; }
  [[ -s $unpacked/run.json ]] || { cat "$logs/run.log"; echo 'the command has written no profile'; return 1; }
  rm -rf "$unpacked"
}

# loads_on_musl LIBRARY: musl's own loader finds all that a library wants.
loads_on_musl() { "/lib/ld-musl-$(uname -m).so.1" --list "$1" >"$logs/musl.log" 2>&1; }

# check_files ROOT FILES: checks an archive that is unpacked in ROOT.
check_files() {
  local root=$1 files=$2 file needed exported
  needed=$(symbols "$root/lib/libvouch.so" | grep -o 'GLIBC_[0-9.]*' | sort -Vu | tail -n 1)
  [[ -n $needed ]] || { echo 'nothing tells which glibc the agent needs'; return 1; }
  [[ $(printf 'GLIBC_%s\n%s\n' "$OLDEST_GLIBC" "$needed" | sort -V | tail -n 1) == "GLIBC_$OLDEST_GLIBC" ]] \
    || { echo "the agent needs $needed, which is newer than $OLDEST_GLIBC"; return 1; }
  # A symbol without a version is not in that glibc, and perhaps in no glibc.
  needed=$(symbols "$root/lib/libvouch.so" | awk '$5 == "GLOBAL" && $7 == "UND" && $8 !~ /@/ { print $8 }')
  [[ -z $needed ]] || { echo "the agent needs what glibc $OLDEST_GLIBC has not: $needed"; return 1; }
  needed=$(needs "$root/lib/musl/libvouch.so")
  [[ $needed == 'libc.so' ]] || { echo "the agent for musl needs $needed"; return 1; }
  readelf --segments --wide "$root/bin/vouch" | grep -q '^  DYNAMIC ' || { echo 'nothing tells what the command needs'; return 1; }
  needed=$(needs "$root/bin/vouch")
  [[ -z $needed ]] || { echo "the command needs $needed"; return 1; }
  for file in bin/vouch lib/libvouch.so lib/musl/libvouch.so; do
    if grep -qaF -e "$top" -e "${files%/files}" -e "$(rustc --print sysroot)" -e "${CARGO_HOME:-$HOME/.cargo}" "$root/$file"; then echo "$file names a folder of this machine"; return 1; fi
    [[ $file == *.so ]] || continue
    exported=$(symbols "$root/$file" | awk '$4 == "FUNC" && $5 == "GLOBAL" && $7 != "UND" { print $8 }')
    [[ $exported == *Agent_OnLoad* ]] || { echo "$file does not export what a JVM looks for"; return 1; }
    exported=$(grep -vE '^(Agent_|Java_)' <<<"$exported" || true)
    [[ -z $exported ]] || { echo "$file exports what is none of an agent's: $exported"; return 1; }
  done
  [[ -s $root/share/man/man1/vouch-attach.1 && -s $root/share/bash-completion/completions/vouch && -s $root/THIRD-PARTY.txt ]] \
    || { echo 'manual, completions or licences are missing'; return 1; }
}

# The dynamic symbols of a file for any processor.
symbols() { readelf --dyn-syms --wide "$1"; }

# The libraries that a file wants, and who loads it.
needs() { readelf --dynamic --program-headers --wide "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p; s/.*program interpreter: \(.*\)\]/\1/p'; }
