# Transactions on a server in an image, with and without dm-crypt. The document goes to the log between two marks.
set -e
mke2fs -q -t ext4 /dev/disk0
mount /dev/disk0 /mnt
few="--tables 1 --rows 100 --buffer-pool 16MiB --threads 1 --span 500ms --rounds 1 --driver own"
echo "== document"
sealant bench oltp --dir /mnt --mysqld /usr/sbin/mariadbd --arms luks $few --quiet --format json
echo "== end"
[ -z "$(ls /dev/mapper | grep -v control)" ]
[ -z "$(losetup --all)" ]
if grep /mnt/ /proc/mounts; then exit 1; fi
rmdir /mnt/lost+found
[ -z "$(ls /mnt)" ]
echo finished
