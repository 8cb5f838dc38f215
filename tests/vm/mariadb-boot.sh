# A MariaDB on a volume that `sealant luks boot install` lets come back: after a clean reboot and after a power cut; and
# with the key gone the host boots, the server stays down, says why, and writes nothing in plain.
set -e
step() { echo "== boot $BOOT, $(cut -d' ' -f1 /proc/uptime) s: $*"; }
rows() { mariadb -N -e 'select count(*) from t.r'; }
settled() { systemctl is-system-running --wait >/dev/null || true; }
check() { sealant luks boot check --name mysqldata --unit mariadb.service; }
dev=/dev/disk0 key=/etc/sealant/mysqldata.key data=/var/lib/mysql
case $BOOT in
1)
	install -d -m 700 /etc/sealant /root/headers
	sealant luks format $dev --key-file $key --make-key --pbkdf2-iterations 1000 --backups /root/headers --yes
	sealant luks open $dev --name mysqldata --key-file $key --no-queues
	sealant luks boot install $dev --name mysqldata --directory $data --key-file $key --unit mariadb.service --dry-run
	[ ! -e /etc/systemd/system/mariadb.service.d ] && [ ! -s /etc/fstab ]
	sealant luks boot install $dev --name mysqldata --directory $data --key-file $key --unit mariadb.service --yes
	sealant luks boot install $dev --name mysqldata --directory $data --key-file $key --unit mariadb.service --dry-run |
		grep -c "stays as it is"
	sealant luks mount mysqldata $data
	rmdir $data/lost+found
	chown mysql: $data
	step data directory
	LC_ALL=C mariadb-install-db --user=mysql --skip-test-db --innodb-log-file-size=8M >/dev/null
	systemctl enable -q mariadb
	step before the server runs, only that is wrong
	rc=0
	check >/tmp/said || rc=$?
	[ $rc = 3 ] && [ "$(grep -c WRONG /tmp/said)" = 1 ] && grep -q boot-server /tmp/said || { cat /tmp/said; exit 1; }
	systemctl start mariadb
	mariadb -e 'create database t; create table t.r (id int auto_increment primary key, v varchar(64)); insert into t.r (v) values ("TELLTALE-PLAINTEXT")'
	check
	step plan of a server that is encrypted
	sealant luks plan --socket /run/mysqld/mysqld.sock --user root >/tmp/plan || true
	grep -E "^encrypted +data directory .* dm-0" /tmp/plan || { cat /tmp/plan; exit 1; }
	exit 100
	;;
2)
	settled
	step up again
	check
	[ "$(rows)" = 1 ]
	i=0
	while [ $i -lt 20 ]; do mariadb -e 'insert into t.r (v) values (uuid())'; i=$((i + 1)); done
	exit 101
	;;
3)
	settled
	step up after the power cut
	check >/dev/null
	[ "$(rows)" = 21 ]
	mv $key /root/away
	rc=0
	check >/tmp/said || rc=$?
	[ $rc = 3 ] && grep "the key file is not there" /tmp/said
	exit 100
	;;
4)
	settled
	step up without the key
	[ "$(systemctl is-active mariadb)" != active ]
	rc=0
	check >/tmp/said || rc=$?
	grep WRONG /tmp/said
	[ $rc = 3 ] && grep -q "mariadb.service is inactive now; var-lib-mysql.mount is inactive" /tmp/said
	grep -q "ok .* is immutable while unmounted" /tmp/said
	systemctl start mariadb && exit 1
	[ -z "$(ls -A $data)" ]
	step the key is back
	mv /root/away $key
	systemctl start mariadb
	[ "$(rows)" = 21 ]
	sealant luks boot remove --name mysqldata --yes
	[ ! -s /etc/fstab ] && [ ! -s /etc/crypttab ] && [ ! -e /etc/systemd/system/mariadb.service.d ]
	echo finished
	;;
esac
