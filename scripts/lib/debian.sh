# Fetches and unpacks Debian's packages by a separate apt. To be sourced by a script that has set
# `major` and `work`.
# It must never touch this machine's own apt: settings, index and cache are private to WORK. A
# failure ends the script: exit code 3 if Debian is out of reach or lacks a package. Its reason is
# left in WORK/why.
# shellcheck shell=bash disable=SC2154

apt=$work/apt
suite=sid # the only one that carries every version from 8 on

say() { printf 'jdks: %s: %s\n' "$major" "$*" >&2; }
stop() {
  printf '%s\n' "$2" >"$work/why"
  exit "$1"
}

# apt names its mirrors itself, so that a machine with its own mirror uses that.
mirror() {
  if [[ -n ${JDKS_MIRROR:-} ]]; then
    printf '%s\n' "$JDKS_MIRROR"
  else
    # shellcheck disable=SC2016 # apt expands it
    apt-get indextargets --no-release-info --format '$(REPO_URI)' 2>/dev/null | grep -E '/debian/?$' | sort -u | sed -n 1p
  fi
}

configure_apt() {
  local uri keyring signed=''
  if ! command -v apt-get || ! command -v dpkg-deb; then stop 3 'this machine has no apt'; fi >/dev/null
  uri=$(mirror) || true
  [[ -n $uri ]] || stop 3 "apt names no Debian mirror here: set JDKS_MIRROR to the address of one, ending in /debian"
  for keyring in /usr/share/keyrings/debian-archive-keyring.{pgp,gpg}; do
    if [[ -r $keyring ]]; then signed="[signed-by=$keyring]"; fi
  done
  mkdir -p "$apt"/lists/partial "$apt"/cache/archives/partial
  : >"$apt/status"
  printf 'deb %s %s %s main\n' "$signed" "$uri" "$suite" >"$apt/sources.list"
  # The machine's proxies stay in force; its hooks do not, for some of them empty the machine's own
  # cache.
  cat >"$apt/apt.conf" <<CONF
Dir::State "$apt";
Dir::State::lists "$apt/lists";
Dir::State::status "$apt/status";
Dir::Cache "$apt/cache";
Dir::Etc::sourcelist "$apt/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Acquire::Languages "none";
Acquire::Retries "3";
Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
APT::Sandbox::User "root";
APT::Update::Error-Mode "any";
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
CONF
  say "reading the index of Debian $suite"
  if apt-get -c "$apt/apt.conf" -qq update >"$apt/log" 2>&1; then
    mv "$apt/apt.conf" "$apt/ready.conf"
  else
    grep -m 1 '^E:' "$apt/log" >"$apt/failed" || echo 'apt-get gave no reason' >"$apt/failed"
  fi
}

# One reading serves every version of a run, and so does one failure: a mirror that does not answer
# takes its time.
provide_apt() {
  if [[ ! -e $apt/ready.conf && ! -e $apt/failed ]]; then configure_apt; fi
  if [[ -e $apt/failed ]]; then stop 1 "Debian's index could not be read ($(<"$apt/failed")): try again"; fi
}

version_of() {
  apt-cache -c "$apt/ready.conf" policy "$1" | sed -n 's/^ *Candidate: //p' | grep -v '(none)'
}

# unpack FOLDER PACKAGE...: the .deb files are removed at once, since a JDK's are as large as the
# JDK.
unpack() {
  local into=$1 deb bytes
  shift
  rm -rf "$work/debs"
  mkdir -p "$work/debs" "$into"
  bytes=$(apt-get -c "$apt/ready.conf" --print-uris download "$@" | awk '{ sum += $3 } END { print sum }')
  say "downloading $* ($((bytes / 1000000 + 1)) MB)"
  if [[ -t 2 ]]; then
    (cd "$work/debs" && apt-get -c "$apt/ready.conf" download "$@") >&2
  else
    (cd "$work/debs" && apt-get -c "$apt/ready.conf" -qq download "$@") >"$apt/log" 2>&1
  fi || stop 1 "the download of $* broke off: try again"
  for deb in "$work"/debs/*.deb; do
    dpkg-deb -x "$deb" "$into" || stop 1 "$(basename "$deb") could not be unpacked into $into: is the disk full?"
  done
  rm -rf "$work/debs"
}
