# A MariaDB on a volume that `sealant luks boot install` opens at boot, also after a power cut;
# with the key gone the host boots, the server stays down, says why, and writes nothing in plain. After server-boot.sh.
sql() { mariadb -N -e "$1"; }
unit=mariadb dev=/dev/disk0 key=/etc/sealant/mysqldata.key
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
	step data directory
	cp -r /vm/datadir/. $data/
	chown -R mysql: $data
	sync
	systemctl enable -q mariadb
	step before the server runs, only that is wrong
	finds boot-server
	[ "$(grep -c WRONG /tmp/said)" = 1 ] || { cat /tmp/said; exit 1; }
	systemctl start mariadb
	first_row
	well
	step plan of a server that is encrypted
	sealant luks plan --socket /run/mysqld/mysqld.sock --user root >/tmp/plan || true
	grep -E "^encrypted +data directory .* dm-0" /tmp/plan || { cat /tmp/plan; exit 1; }
	twenty_rows
	exit 101
	;;
2)
	settled
	step up after the power cut
	well
	[ "$(rows)" = 21 ]
	mv $key /root/away
	finds "the key file does not exist"
	exit 100
	;;
3)
	settled
	step up without the key
	[ "$(systemctl is-active mariadb)" != active ]
	finds "mariadb.service is inactive now; var-lib-mysql.mount is inactive" "ok .* is immutable while unmounted"
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
