# How a release is built, and what is asked of it. To be sourced.
# It must never depend on where or when it is built: paths, times, users and the order of files are the same each time.
# shellcheck shell=bash disable=SC2154 # `top`, `logs` and `tools` are the sourcing script's

# For each processor an archive; the Maven artifact has both.
RELEASE_TARGETS=(x86_64-unknown-linux-gnu "$AARCH64")
# RHEL 7 and whatever is newer.
RELEASE_GLIBC=2.17
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

# build_release SOURCES FILES TIME: builds what lies in a folder, and puts the files of the release into another.
build_release() {
  local sources=$1 files=$2 time=$3 version target
  version=$(vouch_version "$sources")
  for target in "${RELEASE_TARGETS[@]}"; do
    build_for "$target" "$sources" "$files" "$time" "vouch-$version-${target%%-*}-linux" || return 1
  done
  maven_artifact "$files" "$version" || return 1
  (cd "$files" && find . -type f -printf '%P\n' | LC_ALL=C sort | xargs sha256sum) >"$sources/target/sums"
  mv "$sources/target/sums" "$files/SHA256SUMS"
}

# build_for TARGET SOURCES FILES TIME NAME: one processor's archive, FILES/NAME.tar.gz, and what a Maven artifact has of it.
build_for() {
  local target=$1 sources=$2 files=$3 time=$4 name=$5 host build home root jar
  build=$sources/target/$target/release
  home=${CARGO_HOME:-$HOME/.cargo}
  host=$(rustc --print sysroot)
  (
    cd "$sources"
    export PATH=$tools/bin:$PATH SOURCE_DATE_EPOCH=$time CARGO_TARGET_DIR=$sources/target CARGO_INCREMENTAL=0
    CARGO_ZIGBUILD_ZIG_PATH=$(echo "$tools"/zig/lib/python*/site-packages/ziglang/zig)
    export CARGO_ZIGBUILD_ZIG_PATH CARGO_PROFILE_RELEASE_STRIP=debuginfo
    export RUSTFLAGS="--remap-path-prefix=$sources=/vouch --remap-path-prefix=$home=/cargo --remap-path-prefix=$host=/rust"
    cargo zigbuild --release --locked --quiet --target "$target.$RELEASE_GLIBC" -p vouch -p vouch-cli
  ) >"$logs/build.log" 2>&1 || { tail -n 20 "$logs/build.log"; echo "the release could not be built: see ${logs#"$top"/}/build.log"; return 1; }
  root=$files/$name
  mkdir -p "$root/bin" "$root/lib" "$root/share"
  install -m 755 "$build/vouch" "$root/bin/vouch"
  install -m 755 "$build/libvouch.so" "$root/lib/libvouch.so"
  install -m 644 "$sources/LICENSE-APACHE" "$sources/LICENSE-MIT" "$root/"
  install -m 644 "$sources/docs/release-readme.md" "$root/README.md"
  (
    cd "$sources"
    cargo metadata --format-version 1 --locked --filter-platform "$target" >"$sources/target/metadata.json"
    cargo run --quiet --locked -p xtask -- manual "$root/share"
    cargo run --quiet --locked -p xtask -- sbom "$sources/target/metadata.json" "$root"
  ) >"$logs/beside.log" 2>&1 || { tail -n 20 "$logs/beside.log"; echo "what comes with it could not be made: see ${logs#"$top"/}/beside.log"; return 1; }
  pack "$files" "$name" "$time"
  jar=$files/.jar
  mkdir -p "$jar/native/linux-${target%%-*}" "$jar/META-INF"
  cp "$root/lib/libvouch.so" "$jar/native/linux-${target%%-*}/"
  cp "$root"/LICENSE-* "$jar/META-INF/"
  cp "$root/THIRD-PARTY.txt" "$jar/META-INF/THIRD-PARTY-${target%%-*}.txt"
  rm -rf "$root"
}

# pack FOLDER NAME TIME: FOLDER/NAME.tar.gz of FOLDER/NAME.
pack() {
  tar --create --directory "$1" --sort=name --mtime="@$3" --owner=0 --group=0 --numeric-owner --mode='u+w,go-w,a+rX' \
    --format=gnu "$2" | gzip -9n >"$1/$2.tar.gz"
}

# maven_artifact FILES VERSION: the agent as a jar in a Maven repository below FILES/maven, of FILES/.jar: native/linux-x86_64/libvouch.so and
# the same of other processors.
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
  <description>The agent of the profiler Vouch, for Linux on x86-64 and aarch64: native/linux-x86_64/libvouch.so, native/linux-aarch64/libvouch.so.</description>
  <licenses>
    <license><name>MIT OR Apache-2.0</name></license>
  </licenses>
</project>
POM
}

# check_release FILES: what a release has to be.
check_release() {
  local files=$1 unpacked archive target root
  unpacked=$files.unpacked
  rm -rf "$unpacked"
  mkdir "$unpacked"
  (cd "$files" && sha256sum --quiet --check SHA256SUMS) || { echo 'a checksum is wrong'; return 1; }
  for target in "${RELEASE_TARGETS[@]}"; do
    archive=$(echo "$files"/vouch-*-"${target%%-*}"-linux.tar.gz)
    tar -xzf "$archive" -C "$unpacked"
    root=$unpacked/$(basename "$archive" .tar.gz)
    check_files "$root" "$files" || return 1
  done
  root=$(echo "$unpacked"/vouch-*-"$(uname -m)"-linux)
  # As one unpacks it, in a folder of any name, with nothing else there.
  (cd "$unpacked" && env -i PATH="$root/bin:/usr/bin:/bin" HOME="$unpacked" "$root/bin/vouch" run --out run.json -- \
    "$newest/bin/java" -Xmx128m -version) >"$logs/run.log" 2>&1 || { cat "$logs/run.log"; echo 'the command does not run a program'; return 1; }
  [[ -s $unpacked/run.json ]] || { cat "$logs/run.log"; echo 'the command has written no profile'; return 1; }
  rm -rf "$unpacked"
}

# check_files ROOT FILES: what one archive has to be, that lies unpacked in ROOT.
check_files() {
  local root=$1 files=$2 file needed exported
  for file in "$root/bin/vouch" "$root/lib/libvouch.so"; do
    needed=$(symbols "$file" | grep -o 'GLIBC_[0-9.]*' | sort -Vu | tail -n 1)
    [[ -n $needed ]] || { echo "nothing tells which glibc ${file##*/} needs"; return 1; }
    [[ $(printf 'GLIBC_%s\n%s\n' "$RELEASE_GLIBC" "$needed" | sort -V | tail -n 1) == "GLIBC_$RELEASE_GLIBC" ]] \
      || { echo "${file##*/} needs $needed, which is newer than $RELEASE_GLIBC"; return 1; }
    if grep -qaF -e "$top" -e "${files%/files}" -e "$(rustc --print sysroot)" -e "${CARGO_HOME:-$HOME/.cargo}" "$file"; then echo "${file##*/} names a folder of this machine"; return 1; fi
  done
  exported=$(symbols "$root/lib/libvouch.so" | awk '$4 == "FUNC" && $5 == "GLOBAL" && $7 != "UND" { print $8 }')
  [[ $exported == *Agent_OnLoad* ]] || { echo 'the agent does not export what a JVM looks for'; return 1; }
  exported=$(grep -vE '^(Agent_|Java_)' <<<"$exported" || true)
  [[ -z $exported ]] || { echo "the agent exports what is none of an agent's: $exported"; return 1; }
  [[ -s $root/share/man/man1/vouch-attach.1 && -s $root/share/bash-completion/completions/vouch && -s $root/THIRD-PARTY.txt ]] \
    || { echo 'manual, completions or licences are missing'; return 1; }
}

# The dynamic symbols of a file for any processor.
symbols() { readelf --dyn-syms --wide "$1"; }
