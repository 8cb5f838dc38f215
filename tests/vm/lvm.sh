# Snapshots of logical volumes under a MariaDB that is written to: a thick one with ext4, a thin one with XFS, one that
# becomes full, one whose program is killed, and what is refused.
set -e
for m in dm-mod dm-snapshot dm-thin-pool ext4 xfs; do modprobe $m; done
step() { echo "== $(cut -d' ' -f1 /proc/uptime) s: $*"; }
refuses() { # TEXT COMMAND...
	text=$1
	shift
	if "$@" >/tmp/said 2>&1; then echo "unexpected success: $*"; exit 1; fi
	grep -q -- "$text" /tmp/said || { echo "expected '$text' of $*:"; cat /tmp/said; exit 1; }
}
sock=/tmp/s
sql() { mariadb --no-defaults -S $sock -uroot -N "$@"; }
serve() { # DATADIR SOCKET
	mariadbd --no-defaults --user=root --datadir="$1" --socket="$2" --skip-networking --log-bin=bin --binlog-format=ROW \
		--innodb-log-file-size=8M --innodb-buffer-pool-size=16M --pid-file="$2.pid" >"$2.log" 2>&1 &
	i=0
	until mariadb --no-defaults -S "$2" -uroot -e 'select 1' >/dev/null 2>&1; do
		i=$((i + 1))
		[ $i -lt 600 ] || { cat "$2.log"; exit 1; }
		sleep 0.2
	done
}
ends() { # SOCKET
	mariadb-admin --no-defaults -S "$1" -uroot shutdown
	while [ -e "$1.pid" ]; do sleep 0.2; done
}
# One row in each of two tables by one transaction, again and again; each number is told when it is committed.
writes() {
	n=$(sql -e 'select ifnull(max(n),0) from t.a')
	while [ ! -e /tmp/over ]; do
		n=$((n + 1))
		echo "begin; insert into a values ($n, repeat('x', 300)); insert into b values ($n, repeat('y', 300)); commit; select $n;"
	done | sql --unbuffered t >/tmp/acknowledged
}
whole() { # ROOT ACKNOWLEDGED
	rm -rf /srv/copy
	cp -a "$1" /srv/copy
	rm -f /srv/copy/*.pid
	serve /srv/copy /tmp/c
	found=$(mariadb --no-defaults -S /tmp/c -uroot -N t -e 'select (select count(*) from a) = (select max(n) from a), (select count(*) from b) = (select max(n) from a), (select max(n) from a)' | tr '\t' ' ')
	checked=$(mariadb --no-defaults -S /tmp/c -uroot -N -e 'check table t.a, t.b' | grep -c OK)
	ends /tmp/c
	echo "acknowledged $2, in the copy: $found"
	[ "$checked" = 2 ] && [ "${found% *}" = "1 1" ] && [ "${found##* }" -ge "$2" ]
}
soon() { # COMMAND...
	i=0
	until "$@"; do
		i=$((i + 1))
		[ $i -lt 1200 ] || { echo "never: $*"; cat /tmp/sending /tmp/receiving 2>/dev/null; exit 1; }
		sleep 0.1
	done
}
receives() { # PORT
	rm -rf /tmp/code /tmp/sending /srv/received
	sealant receive --into /srv/received --listen 127.0.0.1:$1 >/tmp/code 2>/tmp/receiving &
	receiver=$!
	soon test -s /tmp/code
}
none_left() { [ -z "$(lvs --noheadings -o lv_name -S 'lv_name=~sealant')" ] && [ -z "$(ls -A /run/sealant/snapshots)" ]; }
# DATADIR: copies under writes hold what was acknowledged.
copies() {
	data=$1
	rm -f /tmp/over
	writes &
	writer=$!
	for round in 1 2; do
		i=$(wc -l </tmp/acknowledged)
		until [ "$(wc -l </tmp/acknowledged)" -gt $((i + 20)) ]; do sleep 0.1; done
		last=$(tail -n 1 /tmp/acknowledged)
		root=$(sealant snapshot create --provider lvm --max-freeze 60s --datadir "$data")
		[ -e "$root/ibdata1" ]
		refuses "Read-only file system" touch "$root/x"
		sealant snapshot list --datadir "$data" | grep "lvm       kept"
		whole "$root" "$last"
		sealant snapshot drop --datadir "$data" "$(sealant snapshot list --datadir "$data" --format json | sed -n 's/.*"name": "\(.*\)".*/\1/p')"
		none_left
	done
	touch /tmp/over
	wait $writer
}

step volumes
pvcreate -q /dev/disk0
vgcreate -q vg0 /dev/disk0
lvcreate -q -y -L 160M -n thick vg0
mke2fs -q -t ext4 /dev/vg0/thick
mkdir -p /srv/db
mount /dev/vg0/thick /srv/db
mkdir /srv/db/mysql
step data directory
LC_ALL=C mariadb-install-db --no-defaults --user=root --datadir=/srv/db/mysql --skip-test-db --innodb-log-file-size=8M --auth-root-authentication-method=normal >/dev/null
serve /srv/db/mysql $sock
sql -e 'create database t; create table t.a (n int primary key, v varchar(400)); create table t.b like t.a'
step a thick snapshot, ext4
sealant snapshot estimate --datadir /srv/db/mysql --max-freeze 60s | grep "provider     lvm"
: >/tmp/acknowledged
copies /srv/db/mysql

step what is refused
lvcreate -q -y -L 16M -n small vg0
mke2fs -q -t ext4 /dev/vg0/small
sql -e 'create database other'
mount /dev/vg0/small /srv/db/mysql/other
refuses "/srv/db/mysql/other: is on another file system than the rest" sealant snapshot create --provider lvm --datadir /srv/db/mysql
umount /srv/db/mysql/other
sql -e 'drop database other'
refuses "not on btrfs" sealant snapshot create --provider btrfs --datadir /srv/db/mysql
none_left

busybox ip link set lo up
step a snapshot that becomes full
free=$(vgs --noheadings --units m --nosuffix -o vg_free vg0 | sed 's/ *//; s/[.].*//')
lvcreate -q -y -L $((free - 40))M -n filler vg0
receives 4444
sealant send --live --provider lvm --max-freeze 60s --bwlimit 512KiB --compress none --datadir /srv/db/mysql "$(cat /tmp/code)" >/tmp/sending 2>&1 &
sender=$!
soon grep -q "copy taken by lvm" /tmp/sending
# Blocks that were in use when the snapshot was made.
dd if=/dev/urandom of=/srv/db/mysql/ibdata1.fill bs=1M count=60 conv=fsync status=none
rc=0
wait $sender || rc=$?
cat /tmp/sending
[ $rc = 1 ] && grep -q "became full or failed before its use was over" /tmp/sending
rc=0
wait $receiver || rc=$?
[ $rc = 1 ] && [ ! -e /srv/received/ibdata1 ]
none_left
rm -r /srv/received
rm /srv/db/mysql/ibdata1.fill
root=$(sealant snapshot create --provider lvm --max-freeze 60s --datadir /srv/db/mysql)
dd if=/dev/urandom of=/srv/db/mysql/ibdata1.fill bs=1M count=60 conv=fsync status=none
sealant snapshot list --datadir /srv/db/mysql | grep "lvm       void"
rm /srv/db/mysql/ibdata1.fill
sealant snapshot drop --datadir /srv/db/mysql "$(sealant snapshot list --datadir /srv/db/mysql --format json | sed -n 's/.*"name": "\(.*\)".*/\1/p')"
none_left
lvremove -q -y vg0/filler

step a program that is killed
receives 4445
sealant send --live --provider lvm --max-freeze 60s --bwlimit 1MiB --compress none --datadir /srv/db/mysql "$(cat /tmp/code)" >/tmp/sending 2>&1 &
sender=$!
soon grep -q "copy taken by lvm" /tmp/sending
kill -9 $sender
wait $sender || true
# Perhaps it was killed before it had come.
kill $receiver || true
wait $receiver || true
sealant snapshot list --datadir /srv/db/mysql | grep "lvm       stale"
# A record that was tampered with removes no volume that is not a snapshot of ours.
record=$(ls -d /srv/db/.sealant-snapshots/*)/snapshot.json
cp "$record" /tmp/record
sed -i 's,vg0/sealant[^"]*,vg0/small,' "$record"
refuses "none of the snapshots that sealant makes" sealant snapshot drop --stale --datadir /srv/db/mysql
cp /tmp/record "$record"
sealant snapshot drop --stale --datadir /srv/db/mysql
none_left
lvs vg0/small >/dev/null

step a thin snapshot, XFS
ends $sock
lvcreate -q -y -L 400M -T vg0/pool
lvcreate -q -y -V 320M -T vg0/pool -n thin
mkfs.xfs -q -m reflink=0 /dev/vg0/thin
mkdir /srv/thin
mount /dev/vg0/thin /srv/thin
cp -a /srv/db/mysql /srv/thin/
serve /srv/thin/mysql $sock
copies /srv/thin/mysql
ends $sock
step finished
echo finished
