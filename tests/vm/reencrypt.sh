# The power fails while the volume under a mounted file system is re-encrypted: half way ($what = part) or after the old
# key slot is gone and before the last commit ($what = stuck), which cryptsetup neither opens, resumes nor repairs.
set -e
dev=/dev/disk0 key=/root/key
step() { echo "== boot $BOOT, $(cut -d' ' -f1 /proc/uptime) s: $*"; }
json() { dd if=$dev bs=4096 skip=1 count=2 iflag=direct status=none | tr -d '\0'; }
epoch() { dd if=$dev bs=4096 count=1 iflag=direct status=none | od -An -tu1 -j16 -N8 | awk '{print $7 * 256 + $8}'; }
reached() {
	case $what in
	part) [ "$(epoch)" -ge 9 ] ;;
	stuck) json | grep -q '^{"keyslots":{"1".*online-reencrypt' ;;
	esac
}
refuses() { # TEXT COMMAND...
	text=$1
	shift
	if "$@" >/tmp/said 2>&1; then echo "unexpected success: $*"; exit 1; fi
	[ -z "$text" ] || grep -q -- "$text" /tmp/said || { echo "expected '$text' of $*:"; cat /tmp/said; exit 1; }
}
modprobe dm-crypt
case $BOOT in
1)
	mkdir /root/headers
	sealant luks format $dev --key-file $key --make-key --pbkdf2-iterations 1000 --backups /root/headers --yes >/dev/null
	sealant luks open $dev --name data --key-file $key
	mount /dev/mapper/data /mnt
	dd if=/dev/urandom of=/mnt/blob bs=1M count=8 status=none
	sha256sum /mnt/blob >/mnt/sum
	sync
	fast="--pbkdf pbkdf2 --pbkdf-force-iterations 1000"
	# Small steps, so that there is time to hit one.
	cryptsetup reencrypt -q --key-file $key $fast --resilience checksum --hotzone-size 2M $dev >/root/log 2>&1 &
	n=0
	while ! reached; do
		kill -0 $! || { echo "finished too early"; exit 1; }
		n=$((n + 1))
		echo $n >/mnt/live
		sync
	done
	echo $n >/mnt/last
	sync
	step "power cut at epoch $(epoch), after row $n"
	exit 101
	;;
2)
	step "epoch $(epoch)"
	mkdir -p /root/headers
	if [ "$what" = stuck ]; then
		json | grep -q '^{"keyslots":{"1".*online-reencrypt' || { echo "the window was missed"; exit 1; }
		# Some of these say nothing.
		refuses "" cryptsetup open --key-file $key $dev data
		refuses "" cryptsetup -q repair --key-file $key $dev
		refuses "" cryptsetup -q reencrypt --resume-only --key-file $key $dev
		refuses "header repair" sealant luks open $dev --name data --key-file $key
		refuses "header repair" sealant luks reencrypt $dev --key-file $key --backups /root/headers --resume --yes
		sealant luks header repair $dev --key-file $key --save /root/before --yes
	else
		refuses "reencrypt --resume" sealant luks header repair $dev --key-file $key --save /root/before --yes
		refuses "resume" sealant luks reencrypt $dev --key-file $key --backups /root/headers --yes
		sealant luks open $dev --name data --key-file $key
		mount /dev/mapper/data /mnt
		step resume
		sealant luks reencrypt $dev --key-file $key --backups /root/headers --resume --yes
		umount /mnt
		sealant luks close data
	fi
	sealant luks audit $dev --fail-on critical
	sealant luks open $dev --name data --key-file $key
	e2fsck -fp /dev/mapper/data >/dev/null || [ $? -le 1 ]
	mount /dev/mapper/data /mnt
	sha256sum -c /mnt/sum
	[ "$(cat /mnt/live)" = "$(cat /mnt/last)" ]
	if [ "$what" = part ]; then
		step once more, in use, from the first to the last byte
		sealant luks reencrypt $dev --key-file $key --backups /root/headers --pbkdf2-iterations 1000 --yes
		sha256sum -c /mnt/sum
	fi
	echo finished
	;;
esac
