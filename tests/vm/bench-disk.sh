# Cipher sets on a disk, by fio through device-mapper. The document goes to the log between two marks.
set -e
refuses() { # TEXT COMMAND...
	text=$1
	shift
	if "$@" >/tmp/said 2>&1; then echo "unexpected success: $*"; exit 1; fi
	grep -q -- "$text" /tmp/said || { echo "expected '$text' of $*:"; cat /tmp/said; exit 1; }
}
few="--span 1 --disk-span 1s --sector-bytes 4096 --quiet"
sets="aes-ecb-plain:128;default:128;aes-cbc-plain:128;aes-xts-plain64:512"
mke2fs -q /dev/disk1
refuses "ext2 signature" sealant bench disk --on /dev/disk1 --yes
refuses "standard input is not a terminal" sealant bench disk --on /dev/disk0
[ "$(tr -d '\0' </dev/disk0 | wc -c)" = 0 ]
echo "== document"
sealant bench disk --on /dev/disk0 --sets "$sets" $few --rounds 2 --patterns random-write,fsync --yes --format json --html /root/page.html
echo "== end"
grep -c "<svg" /root/page.html
[ -z "$(ls /dev/mapper | grep -v control)" ]
refuses "no signature explains" sealant bench disk --on /dev/disk0 --yes
truncate -s 40M /root/image
sealant bench disk --on /root/image --sets aes-xts-plain64:512 $few --rounds 1 --patterns random-read --yes >/tmp/said
grep "a file behind a loop device" /tmp/said
[ -z "$(losetup --all)" ]
echo finished
