# Common to the boots of every server. Needs `sql`, a client that runs one statement, and `unit`.
set -e
data=/var/lib/mysql
step() { echo "== boot $BOOT, $(cut -d' ' -f1 /proc/uptime) s: $*"; }
rows() { sql 'select count(*) from t.r'; }
settled() { systemctl is-system-running --wait >/dev/null || true; }
check() { sealant luks boot check --name mysqldata --unit "$unit.service"; }
well() { check >/tmp/said || { cat /tmp/said; systemctl status --no-pager "$unit" 'sealant-key*' 'systemd-cryptsetup@*'; exit 1; }; }
# `boot check` finds a fault, and its output contains all of these texts.
finds() {
	rc=0
	check >/tmp/said || rc=$?
	[ $rc = 3 ] || { cat /tmp/said; exit 1; }
	for words in "$@"; do grep -q -- "$words" /tmp/said || { echo "not said: $words"; cat /tmp/said; exit 1; }; done
}
first_row() { sql 'create database t; create table t.r (id int auto_increment primary key, v varchar(64)); insert into t.r (v) values ("TELLTALE-PLAINTEXT")'; }
# Before the power is cut.
twenty_rows() {
	i=0
	while [ $i -lt 20 ]; do sql 'insert into t.r (v) values (uuid())'; i=$((i + 1)); done
}
