# shellcheck shell=bash
# What compiles static programs for another C library or processor: Debian's rustc with the source of its standard library,
# which Cargo compiles for the target, and Zig, which is C compiler, linker and musl for every target in one.
# The machine's own Rust is not touched; its Cargo is used.

zig_version=0.17.0
zig_sha256=97079827064a7492cce5541ceb438ae8003ce1e54e399676da2d62fb7a5dc08b
zigbuild_version=0.24.0
zigbuild_sha256=484412e39e4c6039474535ce97ee75a22bab22d58233056f8ec8a8f9034bb957

# The machine links what rustc loads (procedural macros), so its C libraries have to be the machine's, not Debian 12's.
not_from_debian='^(libc6.*|libc-dev.*|libc-bin|libgprofng.*|libjansson.*|libssl.*|libgssapi.*|libk.*krb.*|libk5.*|libkeyutils.*|libcom-err.*|linux-libc-dev|libgcc-.*|libstdc\+\+.*|gcc.*|cpp.*|binutils.*|lib.*san[0-9]+|lib(gomp|itm|atomic|quadmath|cc1|isl|mpc|mpfr|gmp|crypt|nsl|tirpc|bfd|binutils|ctf).*|rpcsvc-proto|.*-base)$'

install_cross() {
    local dir=$servers/cross list
    [ "$(uname -sm)" = 'Linux x86_64' ] || fail 'only for Linux on x86_64'
    rm -rf "$dir"
    mkdir -p "$dir/debs" "$dir/root/usr/"{bin,sbin,lib,lib64}
    make_apt "$dir/apt" bookworm bookworm-security
    list=$(closure "$dir/apt" -s -y --no-install-recommends install patchelf rustc-web rust-web-src |
        grep -Ev "$not_from_debian")
    # shellcheck disable=SC2086 # a list of names
    (cd "$dir/debs" && retry private_apt "$dir/apt" download $list) || fail 'download failed'
    unpack_all "$dir"
    rm -rf "$dir/debs" "$dir/apt"
    local root=$dir/root program
    for program in rustc rustdoc; do
        "$root/usr/bin/patchelf" --force-rpath --set-rpath "$root/usr/lib/x86_64-linux-gnu:$root/usr/lib" \
            "$root/usr/bin/$program"
    done
    install_zig "$dir"
    [ "$("$root/usr/bin/rustc" --print sysroot)" = "$root/usr" ] || fail 'rustc does not run'
    [ "$("$dir/bin/zig" version)" = "$zig_version" ] || fail 'zig does not run'
    "$dir/bin/cargo-zigbuild" --version >/dev/null || fail 'cargo-zigbuild does not run'
    awk -v zig="$zig_version" '$1 == "rustc-web" { print "rustc " $2 ", zig " zig }' "$dir/PACKAGES" >"$dir/VERSION"
}

# install_zig DIR: both come ready-made in Python packages, which are zip archives.
install_zig() {
    local dir=$1
    mkdir -p "$dir/wheels" "$dir/bin"
    printf '%s\n' "ziglang==$zig_version --hash=sha256:$zig_sha256" \
        "cargo-zigbuild==$zigbuild_version --hash=sha256:$zigbuild_sha256" >"$dir/wheels/requirements.txt"
    retry python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: --require-hashes \
        --dest "$dir/wheels" --requirement "$dir/wheels/requirements.txt"
    python3 -m zipfile --extract "$dir"/wheels/ziglang-*.whl "$dir/zig"
    python3 -m zipfile --extract "$dir"/wheels/cargo_zigbuild-*.whl "$dir/zigbuild"
    command install --mode 755 "$dir"/zigbuild/*.data/scripts/cargo-zigbuild "$dir/bin/cargo-zigbuild"
    chmod 755 "$dir/zig/ziglang/zig"
    ln -s ../zig/ziglang/zig "$dir/bin/zig"
    rm -rf "$dir/wheels" "$dir/zigbuild"
}
