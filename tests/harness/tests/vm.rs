//! Tests of the virtual machine: it boots, reboots, loses power, and keeps its disks.
#![allow(clippy::unwrap_used, reason = "what fails in a helper is a failed test as well")]

use harness::vm::Machine;

#[test]
#[ignore = "three emulated boots; `make soak` runs it, and the tests of luks boot more often"]
fn a_virtual_machine_maps_a_disk_reboots_and_loses_power() {
    let Some(machine) = Machine::new() else { return };
    let machine = machine.disk(32).unwrap();
    let script = "set -e
        echo boot $BOOT
        case $BOOT in
        1) modprobe dm-crypt
           echo 0 8 linear /dev/disk0 0 | dmsetup create part
           echo kept | dd of=/dev/mapper/part conv=fsync status=none
           echo kept >/root/file; sync
           exit 100 ;;
        2) [ \"$(cat /root/file)\" = kept ]
           echo lost >/root/lost
           exit 101 ;;
        3) [ ! -s /root/lost ]
           head -c 4 /dev/disk0
           exit 7 ;;
        esac";
    let ran = machine.run(script).unwrap();
    assert_eq!((ran.status, ran.log.as_str()), (7, "boot 1\nboot 2\nboot 3\nkept"));
    assert!(std::fs::read(machine.image(0).unwrap()).unwrap().starts_with(b"kept\n"));
}

#[test]
#[ignore = "an emulated boot; `make soak` runs it, and the tests of luks boot more often"]
fn systemd_starts_the_script() {
    let Some(machine) = Machine::new() else { return };
    let ran = machine.systemd().run("systemctl is-system-running --wait; systemctl --failed --no-legend").unwrap();
    assert_eq!((ran.status, ran.log.as_str()), (0, "running\n"));
}
