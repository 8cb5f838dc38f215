# A disk becomes a volume, is opened, mounted, written to, and closed. Everything that must be refused is.
set -e
modprobe dm-crypt
not() { if "$@"; then echo "unexpected success: $*"; exit 1; fi; }
refuses() { # TEXT COMMAND...
	text=$1
	shift
	if "$@" >/tmp/said 2>&1; then echo "unexpected success: $*"; exit 1; fi
	grep -q -- "$text" /tmp/said || { echo "expected '$text' of $*:"; cat /tmp/said; exit 1; }
}
sum() { sha256sum <"$1"; }
fast="--pbkdf2-iterations 1000"
mkdir /headers
key=/root/data.key

echo "== format"
before=$(sum /dev/disk0)
sealant luks format /dev/disk0 --key-file $key --make-key --backups /headers $fast --dry-run
[ "$(sum /dev/disk0)" = "$before" ]
sealant luks format /dev/disk0 --key-file $key --make-key --backups /headers $fast --yes
refuses "crypto_LUKS signature" sealant luks format /dev/disk0 --key-file $key --no-backup $fast --yes
[ -z "$(ls /dev/mapper | grep -v control)" ]

echo "== open"
head -c 64 /dev/urandom >/root/wrong
refuses "no key slot" sealant luks open /dev/disk0 --name data --key-file /root/wrong
sealant luks open /dev/disk0 --name data --key-file $key --no-queues
sealant luks open /dev/disk0 --name data --key-file $key | grep "is open already"
refuses "is open already, as data" sealant luks open /dev/disk0 --name other --key-file $key
dmsetup table data | grep -q "no_read_workqueue no_write_workqueue"
refuses "is used by dm-0" sealant luks format /dev/disk0 --key-file $key --no-backup $fast --yes

echo "== mount"
mkdir -p /srv/mysql
echo left >/srv/mysql/file
refuses "holds file, which would stay in plaintext" sealant luks mount data /srv/mysql
rm /srv/mysql/file
sealant luks mount data /srv/mysql
sealant luks mount data /srv/mysql | grep "is mounted already"
echo TELLTALE-PLAINTEXT >/srv/mysql/t
[ "$(blkid -o value -s TYPE /dev/mapper/data)" = ext4 ]
refuses "is mounted at /srv/mysql" sealant luks close data
sleep 60 </srv/mysql/t &
refuses "umount" sealant luks close data --unmount
kill $!
wait $! || true
sealant luks close data --unmount
not test -e /dev/mapper/data

echo "== guard"
not sh -c 'echo plain >/srv/mysql/t' 2>/dev/null
not mkdir /srv/mysql/d 2>/dev/null
[ -z "$(ls -A /srv/mysql)" ]

echo "== strict"
sealant luks open /dev/disk0 --name data --key-file $key --strict
[ -z "$(ls /run/sealant)" ]
sealant luks mount data /srv/mysql
grep -q TELLTALE-PLAINTEXT /srv/mysql/t
sealant luks close data --unmount

echo "== xfs"
sealant luks format /dev/disk2 --key-file $key --backups /headers $fast --filesystem xfs --yes
sealant luks open /dev/disk2 --name xfs --key-file $key
sealant luks mount xfs /srv/xfs
grep -q "/srv/xfs xfs " /proc/mounts
echo TELLTALE-PLAINTEXT >/srv/xfs/t
sealant luks close xfs --unmount
not touch /srv/xfs/t 2>/dev/null
sealant luks open /dev/disk2 --name xfs --key-file $key
sealant luks mount xfs /srv/xfs
grep -q TELLTALE-PLAINTEXT /srv/xfs/t
sealant luks close xfs --unmount
not test -e /dev/mapper/xfs

echo "== disks in use"
mke2fs -q /dev/disk1
mount /dev/disk1 /mnt
refuses "is mounted at /mnt" sealant luks format /dev/disk1 --key-file $key --no-backup $fast --yes
umount /mnt
wipefs -qa /dev/disk1
mkswap /dev/disk1 >/dev/null
swapon /dev/disk1
refuses "is used for swap" sealant luks format /dev/disk1 --key-file $key --no-backup $fast --yes
swapoff /dev/disk1
dd if=/dev/zero of=/dev/disk1 bs=1M count=64 conv=fsync status=none
blockdev --setro /dev/disk1
refuses "is read-only" sealant luks format /dev/disk1 --key-file $key --no-backup $fast --yes
blockdev --setrw /dev/disk1
echo "/dev/disk1 /mnt ext4 noauto 0 0" >>/etc/fstab
refuses "is named in /etc/fstab line" sealant luks format /dev/disk1 --key-file $key --no-backup $fast --yes
[ "$(tr -d '\0' </dev/disk1 | wc -c)" = 0 ]
echo finished
