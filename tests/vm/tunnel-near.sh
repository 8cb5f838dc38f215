# The near end by its units, as the package has them, beside what root keeps in /run/sealant.
set -e
step() { echo "== $(cut -d' ' -f1 /proc/uptime) s: $*"; }
is() { [ "$1" = "$2" ] || { echo "$1, not $2"; exit 1; }; }
as_nobody() { setpriv --reuid=nobody --regid=nogroup "$@"; }
says() { # WORDS COMMAND...
	words=$1
	shift
	said=$("$@" 2>&1) && { echo "unexpected success: $*"; exit 1; }
	case $said in *"$words"*) ;; *) echo "$said, not $words"; exit 1 ;; esac
}
connect="mariadb --no-defaults --user=root --execute=do+0 --socket"

step users and certificates
systemd-sysusers sealant.conf
sealant cert init --dir /root/ca
sealant cert issue --dir /root/ca --name app1
install -d -o sealant -m 700 /etc/sealant/tunnel
install -o sealant -m 600 /root/ca/app1.pem /etc/sealant/tunnel/cert.pem
install -o sealant -m 600 /root/ca/app1.key /etc/sealant/tunnel/key.pem
install -o sealant -m 600 /root/ca/ca.pem /etc/sealant/tunnel/ca.pem
install -d -m 755 /run/sealant
echo copy >/run/sealant/data.header
well() {
	is "$(stat -c '%U:%G %a' /run/sealant /run/sealant/data.header | tr '\n' ' ')" "root:root 755 root:root 644 "
}

step the service alone
systemctl daemon-reload
systemctl start sealant-tunnel-near.service || { journalctl --no-pager -u sealant-tunnel-near.service; exit 1; }
well
socket=/run/sealant-tunnel-near/db.sock
is "$(stat -c '%U:%G %a' $socket)" "sealant:sealant-clients 660"
is "$(stat -c '%U:%G %a' ${socket%/*})" "sealant:sealant-clients 750"
says "(13)" as_nobody --clear-groups $connect $socket
says "sealant tunnel: " as_nobody --groups=sealant-clients $connect $socket
systemctl stop sealant-tunnel-near.service
well
[ ! -e /run/sealant-tunnel-near ]

step the service behind its sockets
socket=/run/sealant-db.sock
systemctl start sealant-tunnel-near.socket
is "$(stat -c '%U:%G %a' $socket)" "root:sealant-clients 660"
says "(13)" as_nobody --clear-groups $connect $socket
says "sealant tunnel: " as_nobody --groups=sealant-clients $connect $socket
systemctl is-active -q sealant-tunnel-near.service
systemctl stop sealant-tunnel-near.socket sealant-tunnel-near.service
well

step a directory that is not roots alone
mke2fs -q /dev/disk0
mount /dev/disk0 /mnt
echo key >/mnt/key
umount /mnt
serve() { sealant luks key serve --on /dev/disk0 --file key; }
chown sealant /run/sealant
says "/run/sealant belongs to user $(id -u sealant), and has to be root's alone" serve
chown root /run/sealant
chmod 777 /run/sealant
says "/run/sealant may be written to by others (mode 0777)" serve
chmod 755 /run/sealant
is "$(serve | cat)" key
is "$(ls /run/sealant)" data.header
echo finished
