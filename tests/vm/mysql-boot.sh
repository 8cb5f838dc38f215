# A MySQL on a volume whose key is on a stick: the same four boots as MariaDB's. The key comes over a socket that systemd
# listens on, from `sealant luks key serve --on`. Before this come mysqld=, mysql= and messages=, paths in this machine,
# and server-boot.sh.
sql() { "$mysql" --no-defaults --user=root --socket=/run/mysqld/mysqld.sock --skip-column-names --execute="$1"; }
unit=mysql dev=/dev/disk0 stick=/dev/disk1 label=/dev/disk/by-label/KEYS
case $BOOT in
1)
	install -d -m 700 /root/headers
	mke2fs -q -L KEYS $stick
	mount $stick /mnt
	sealant luks format $dev --key-file /mnt/mysqldata.key --make-key --pbkdf2-iterations 1000 --backups /root/headers --yes
	sealant luks open $dev --name mysqldata --key-file /mnt/mysqldata.key --no-queues
	umount /mnt
	udevadm trigger --settle $stick
	sealant luks boot install $dev --name mysqldata --directory $data --unit mysql.service --key-from=--file \
		--key-from=mysqldata.key --key-from=--device --key-from=$label --key-from=--wait --key-from=60 --timeout 600 --yes
	sealant luks mount mysqldata $data
	rmdir $data/lost+found
	step data directory
	cp -a /vm/datadir/. $data/
	rm -rf /vm/datadir
	chown -R mysql: $data
	sync
	# The server's files are where they are on the host, below somebody's home.
	at=$mysqld
	while [ "$at" != / ]; do chmod a+rx "$at"; at=$(dirname "$at"); done
	cat >/etc/systemd/system/mysql.service <<-UNIT
		[Service]
		Type=notify
		User=mysql
		RuntimeDirectory=mysqld
		TimeoutStartSec=900
		ExecStart=$mysqld --no-defaults --datadir=$data --lc-messages-dir=$messages --mysqlx=OFF --skip-networking --skip-log-bin --innodb-buffer-pool-size=32M --innodb-redo-log-capacity=8M --performance-schema=OFF --socket=/run/mysqld/mysqld.sock --secure-file-priv=
		[Install]
		WantedBy=multi-user.target
	UNIT
	systemctl daemon-reload
	systemctl enable -q mysql
	step start
	systemctl start mysql
	first_row
	well
	exit 100
	;;
2)
	settled
	step up again
	well
	[ "$(rows)" = 1 ]
	systemctl is-active sealant-key-mysqldata.socket
	twenty_rows
	exit 101
	;;
3)
	settled
	step up after the power cut
	well
	[ "$(rows)" = 21 ]
	step a file below the mount
	mkdir /root/below
	mount --bind / /root/below
	chattr -i /root/below$data
	echo plain >/root/below$data/left
	umount /root/below
	finds "left lies in plaintext below the volume"
	rc=0
	sealant luks mount mysqldata $data >/tmp/said 2>&1 || rc=$?
	[ $rc = 3 ] && grep -q "left lies in plain" /tmp/said
	mount --bind / /root/below
	rm /root/below$data/left
	chattr +i /root/below$data
	umount /root/below
	well
	step the stick is pulled out
	e2label $stick ''
	exit 100
	;;
4)
	settled
	step up without the stick
	[ "$(systemctl is-active mysql)" != active ]
	finds "mysql.service is inactive now; var-lib-mysql.mount is inactive"
	journalctl --boot --no-pager | grep -o "$label: did not appear in time"
	[ ! -e /dev/mapper/mysqldata ] && [ -z "$(ls -A $data)" ]
	step the stick is back
	e2label $stick KEYS
	udevadm trigger --settle $stick
	systemctl start mysql
	[ "$(rows)" = 21 ]
	well
	step remove
	sealant luks boot remove --name mysqldata --yes
	systemctl is-active sealant-key-mysqldata.socket && exit 1
	ls /run/sealant
	[ ! -e /run/sealant/mysqldata.sock ]
	step the server is still there
	[ "$(rows)" = 21 ]
	echo finished
	;;
esac
