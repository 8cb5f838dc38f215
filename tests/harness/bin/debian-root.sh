# shellcheck shell=bash
# Unpacks Debian packages with their dependencies into a private directory, so
# that a server of another Debian release runs beside the machine's own.
#
# Executables get the private loader and library path written into them. Then
# /proc/PID/exe and /proc/PID/cmdline look as they do on a normal machine, and
# scripts that a server starts do not inherit foreign libraries.

fail() {
    echo "install-servers: $*" >&2
    exit 1
}

retry() {
    local attempt
    for attempt in 1 2 3; do
        "$@" && return
        sleep $((attempt * 2))
    done
    return 1
}

# apt_install PACKAGE...: the ordinary way, for tools the machine lacks.
apt_install() {
    [ "$(id -u)" -eq 0 ] || fail "needs root to install: $*"
    retry apt-get -q update || fail 'apt-get update failed'
    DEBIAN_FRONTEND=noninteractive retry apt-get -qy \
        --no-install-recommends install "$@" || fail "apt-get install $* failed"
}

# Prints "URI SUITE" for every enabled `deb` source of this machine that has
# the component main, from both notations that apt reads.
apt_sources() {
    local file
    for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
        [ -e "$file" ] && sed -n 's/^deb[[:space:]]\+\(\[[^]]*\][[:space:]]*\)\?//p' "$file" |
            awk '/ main/ { print $1, $2 }'
    done
    for file in /etc/apt/sources.list.d/*.sources; do
        [ -e "$file" ] && sed '/^#/d' "$file" | deb822_sources
    done
    return 0
}

deb822_sources() {
    awk -v RS= '
        function field(name) {
            if (!match("\n" $0, "\n" name ":[^\n]*")) return ""
            return substr("\n" $0, RSTART + length(name) + 2, RLENGTH - length(name) - 2)
        }
        field("Enabled") !~ /no/ && field("Types") ~ /deb( |$)/ && field("Components") ~ /main/ {
            n = split(field("URIs"), uris, " "); m = split(field("Suites"), suites, " ")
            for (i = 1; i <= n; i++) for (j = 1; j <= m; j++) print uris[i], suites[j]
        }'
}

# mirror main|security: where this machine gets that part of Debian from.
mirror() {
    local codename suite found
    codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
    suite=$codename
    [ "$1" = main ] || suite=$codename-security
    found=$(apt_sources | awk -v s="$suite" '$2 == s { print $1 }')
    # Other projects use Debian's suite names too; Debian's path says debian.
    { grep -m1 -E '/debian(-security)?/?$' || true; } <<<"$found" | grep . ||
        head -n 1 <<<"$found"
}

keyring=/usr/share/keyrings/debian-archive-keyring.gpg

# private_apt DIR COMMAND...: apt-get with sources, lists and cache of its own in DIR.
# The empty status file makes apt plan as for a machine with nothing installed.
private_apt() {
    local dir=$1
    shift
    apt-get -q -o "Dir::State=$dir" -o "Dir::State::status=$dir/status" \
        -o "Dir::Cache=$dir" -o "Dir::Etc::sourcelist=$dir/sources.list" \
        -o Dir::Etc::sourceparts=/dev/null -o Dir::Etc::preferences=/dev/null \
        -o Dir::Etc::preferencesparts=/dev/null -o APT::Sandbox::User= \
        -o Acquire::Languages=none -o Acquire::Retries=3 \
        -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false "$@"
}

# make_apt DIR SUITE SECURITY_SUITE: prepares DIR and reads the package lists.
make_apt() {
    local dir=$1 suite=$2 security=$3 main
    main=$(mirror main)
    [ -n "$main" ] || fail "no Debian mirror in this machine's apt sources"
    mkdir -p "$dir/lists/partial" "$dir/archives/partial"
    : >"$dir/status"
    write_sources "$dir" "$main" "$suite" "$security"
    retry private_apt "$dir" update && [ -n "$(find "$dir/lists" -name '*_Packages*')" ] && return
    newer_keyring "$dir" "$main"
    write_sources "$dir" "$main" "$suite" "$security"
    retry private_apt "$dir" update || fail "cannot read the package lists of $suite"
}

write_sources() {
    local dir=$1 main=$2 suite=$3 security=$4 uri
    echo "deb [signed-by=$keyring] $main $suite main" >"$dir/sources.list"
    uri=$(mirror security)
    [ "$security" = - ] || [ -z "$uri" ] ||
        echo "deb [signed-by=$keyring] $uri $security main" >>"$dir/sources.list"
}

# A machine that was not updated for long may not know the key of a newer
# suite; its own release carries the new keys as an update.
newer_keyring() {
    local dir=$1 main=$2 codename
    codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
    printf 'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s %s main\n' \
        "$main" "$codename" "$main" "$codename-updates" >"$dir/sources.list"
    retry private_apt "$dir" update || return 0
    (cd "$dir" && retry private_apt "$dir" download debian-archive-keyring &&
        dpkg -x debian-archive-keyring_*.deb "$dir/keyring") || return 0
    keyring=$dir/keyring/usr/share/keyrings/debian-archive-keyring.gpg
}

# What a server never runs from its own root.
not_wanted='^(perl|perl-.*|libperl.*|lib.*-perl|systemd|debconf|debianutils|dpkg|tar|usrmerge|init-system-helpers|adduser|passwd|base-passwd|login.*|iproute2|lsof|gawk|libpam-.*|.*-doc)$'

# Prints the packages that the given ones need, themselves included.
closure() {
    private_apt "$@" | awk '$1 == "Inst" { print $2 }' | grep -Ev "$not_wanted" | sort -u
}

# unpack_root DIR SUITE SECURITY_SUITE PACKAGE...
# Leaves DIR/root (usable in place, not movable) and DIR/PACKAGES with lines
# "name version".
unpack_root() {
    local dir=$1 suite=$2 security=$3 list
    shift 3
    rm -rf "$dir"
    mkdir -p "$dir/debs" "$dir/root/usr/"{bin,sbin,lib,lib64}
    make_apt "$dir/apt" "$suite" "$security"
    list=$(closure "$dir/apt" -s -y --no-install-recommends install patchelf "$@")
    [ -n "$list" ] || fail "no installable set of: $*"
    # shellcheck disable=SC2086 # a list of names
    (cd "$dir/debs" && retry private_apt "$dir/apt" download $list) || fail 'download failed'
    unpack_all "$dir"
    write_loader_paths "$dir/root"
    rm -rf "$dir/debs" "$dir/apt"
}

unpack_all() {
    local dir=$1 deb part
    for part in bin sbin lib lib64; do ln -s "usr/$part" "$dir/root/$part"; done
    for deb in "$dir"/debs/*.deb; do
        # Packages from before the merge of /usr own a real /lib; it stays a link.
        dpkg-deb --fsys-tarfile "$deb" |
            tar -x --keep-directory-symlink --no-same-owner -C "$dir/root"
        # shellcheck disable=SC2016 # dpkg's own variables
        dpkg-deb --show --showformat '${Package} ${Version}\n' "$deb" >>"$dir/PACKAGES"
    done
}

library_path() {
    local dir
    for dir in "$1"/usr/lib/*-linux-gnu; do printf '%s:%s/usr/lib' "$dir" "$1"; done
}

loader() {
    find "$1"/usr/lib/*-linux-gnu -maxdepth 1 -name 'ld-linux*.so.*' | head -n 1
}

# patchelf_of ROOT ARG...: the patchelf of that root, with its own libraries.
patchelf_of() {
    local root=$1
    shift
    "$(loader "$root")" --library-path "$(library_path "$root")" "$root/usr/bin/patchelf" "$@"
}

is_elf() { [ "$(head -c 4 "$1" | tail -c 3)" = ELF ]; }

write_loader_paths() {
    local root=$1 file
    for file in "$root"/usr/{bin,sbin}/*; do
        [ -f "$file" ] && [ ! -L "$file" ] && is_elf "$file" || continue
        [ "$file" != "$root/usr/bin/patchelf" ] || continue
        # Written to a copy: a hard link or a running file stays as it is.
        patchelf_of "$root" --set-interpreter "$(loader "$root")" --force-rpath \
            --set-rpath "$(library_path "$root")" --output "$file.new" "$file" || continue
        chmod --reference="$file" "$file.new"
        mv "$file.new" "$file"
    done
}
