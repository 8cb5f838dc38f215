# shellcheck shell=bash
# Makes the disk, the kernel and the first file system of the machine that tests
# boot in QEMU; needs no root. Sourced by install-servers.

# guest_packages: what lies on the disk. Services are masked that no test needs and
# that an emulated processor would spend seconds on.
guest_packages=(linux-image-cloud-amd64 busybox-static systemd systemd-sysv udev kmod
    util-linux mount cryptsetup-bin dmsetup lvm2 thin-provisioning-tools e2fsprogs xfsprogs dash bash coreutils grep sed findutils
    procps gawk tar login passwd base-passwd hostname libc-bin libgcc-s1 fio mariadb-server)
guest_masked=(getty.target systemd-logind.service systemd-user-sessions.service
    systemd-timesyncd.service systemd-networkd.service systemd-sysusers.service
    systemd-hwdb-update.service systemd-journal-catalog-update.service ldconfig.service
    systemd-update-done.service systemd-machine-id-commit.service systemd-firstboot.service
    e2scrub_reap.service e2scrub_all.timer fstrim.timer dpkg-db-backup.timer apt-daily.timer
    apt-daily-upgrade.timer)

# make_guest DIR SUITE SECURITY_SUITE PACKAGE...
# Leaves DIR/disk, DIR/kernel and DIR/initrd, and the packages' versions in DIR/PACKAGES.
make_guest() {
    local dir=$1 suite=$2 security=$3 tree=$1/guest list
    shift 3
    mkdir -p "$dir/debs" "$tree/usr/"{bin,sbin,lib,lib64}
    make_apt "$dir/apt" "$suite" "$security"
    list=$(private_apt "$dir/apt" -s -y --no-install-recommends install "$@" |
        awk '$1 == "Inst" { print $2 }' | sort -u)
    [ -n "$list" ] || fail "no installable set of: $*"
    # shellcheck disable=SC2086 # a list of names
    (cd "$dir/debs" && retry private_apt "$dir/apt" download $list) || fail 'download failed'
    unpack_guest "$dir"
    configure_guest "$tree"
    make_boot "$dir"
    make_disk "$dir"
    rm -rf "$dir/debs" "$dir/apt" "$tree"
}

unpack_guest() {
    local dir=$1 part deb
    for part in bin sbin lib lib64; do ln -s "usr/$part" "$dir/guest/$part"; done
    for deb in "$dir"/debs/*.deb; do
        dpkg-deb --fsys-tarfile "$deb" | tar -x --keep-directory-symlink --no-same-owner -C "$dir/guest" \
            --exclude='./usr/share/doc/*' --exclude='./usr/share/man/*' --exclude='./usr/share/locale/*'
        # shellcheck disable=SC2016 # dpkg's own variables
        dpkg-deb --show --showformat '${Package} ${Version}\n' "$deb" >>"$dir/PACKAGES"
    done
}

# What the packages' own scripts would have done.
configure_guest() {
    local tree=$1 unit
    cp "$tree/usr/share/base-passwd/passwd.master" "$tree/etc/passwd"
    cp "$tree/usr/share/base-passwd/group.master" "$tree/etc/group"
    echo 'mysql:x:110:110::/nonexistent:/bin/false' >>"$tree/etc/passwd"
    echo 'mysql:x:110:' >>"$tree/etc/group"
    : >"$tree/etc/fstab"
    echo vm >"$tree/etc/hostname"
    echo '127.0.0.1 localhost vm' >"$tree/etc/hosts"
    echo 0123456789abcdef0123456789abcdef >"$tree/etc/machine-id"
    # Debian chooses these by alternatives.
    [ -e "$tree/usr/bin/awk" ] || ln -s gawk "$tree/usr/bin/awk"
    [ -e "$tree/etc/mysql/my.cnf" ] || ln -s mariadb.cnf "$tree/etc/mysql/my.cnf"
    mkdir -p "$tree/etc/systemd/system/multi-user.target.wants" "$tree/vm" "$tree/mnt" "$tree/var/lib/mysql"
    for unit in "${guest_masked[@]}"; do ln -s /dev/null "$tree/etc/systemd/system/$unit"; done
    cp "$here/../vm/plain" "$here/../vm/stage" "$tree/vm/"
    cp "$here/../vm/job.service" "$tree/etc/systemd/system/"
    ln -s ../job.service "$tree/etc/systemd/system/multi-user.target.wants/job.service"
    # The same short names of disks as without systemd.
    echo 'KERNEL=="vd*", ENV{DEVTYPE}=="disk", ATTR{serial}=="?*", SYMLINK+="$attr{serial}"' \
        >"$tree/etc/udev/rules.d/99-vm.rules"
    private_run "$tree" "$tree/usr/sbin/ldconfig" -r "$tree"
    chmod 755 "$tree/vm/plain" "$tree/vm/stage"
}

# private_run TREE PROGRAM ARG...: a program of an unpacked tree, with its own libraries.
private_run() {
    local tree=$1
    shift
    "$(loader "$tree")" --library-path "$(library_path "$tree")" "$@"
}

# The kernel, and a first file system with the drivers of the disk.
make_boot() {
    local dir=$1 tree=$1/guest first=$1/first release modules path
    release=$(basename "$tree"/usr/lib/modules/*)
    private_run "$tree" --argv0 depmod "$tree/usr/bin/kmod" -b "$tree" "$release"
    mv "$tree/boot/vmlinuz-$release" "$dir/kernel"
    rm -rf "$tree/boot"
    modules=usr/lib/modules/$release
    mkdir -p "$first/"{bin,dev,proc,sys,run,sysroot} "$first/usr/lib"
    ln -s usr/lib "$first/lib"
    for path in crypto arch/x86/crypto lib drivers/virtio drivers/block/virtio_blk.ko drivers/char; do
        mkdir -p "$first/$modules/kernel/$(dirname "$path")"
        cp -r "$tree/$modules/kernel/$path" "$first/$modules/kernel/$(dirname "$path")/"
    done
    cp "$tree/$modules/"modules.* "$first/$modules/"
    cp "$tree/usr/bin/busybox" "$first/bin/"
    cp "$here/../vm/init" "$first/init"
    chmod 755 "$first/init"
    (cd "$first" && find . | "$tree/usr/bin/busybox" cpio -o -H newc -R 0:0) >"$dir/initrd"
    rm -rf "$first"
}

make_disk() {
    local dir=$1 mib
    mib=$(($(du -sm "$dir/guest" | cut -f1) * 5 / 4 + 768))
    rm -f "$dir/disk"
    PATH=$PATH:/usr/sbin:/sbin mke2fs -q -t ext4 -m 0 -E root_owner=0:0,lazy_itable_init=1 \
        -d "$dir/guest" "$dir/disk" "${mib}M"
}
