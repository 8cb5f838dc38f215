//! The steps of a plan, as commands.

use process::shell_word;
use serde::Serialize;

use super::PlanInput;
use crate::RANDOM_KEY_ITERATIONS;

/// One step of a plan, in the order of execution.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Step {
    /// Purpose of the step.
    pub what: String,
    /// The command; `None` for work that only people can do.
    pub command: Option<String>,
}

/// Speed of a copy between disks; a careful estimate, which faster disks exceed.
const BYTES_PER_SECOND: u64 = 100 << 20;

/// The steps to a new volume with a verified copy of the data. The old disk stays unchanged until the end.
#[must_use]
pub fn steps(input: &PlanInput) -> Vec<Step> {
    let mut steps = new_volume(input);
    steps.extend(moved_data(input));
    steps.extend(start_at_boot(input));
    steps
}

fn step(what: &str, command: String) -> Step {
    Step { what: what.to_owned(), command: Some(command) }
}

/// Creates the volume on the new disk, with a key and a recovery passphrase.
fn new_volume(input: &PlanInput) -> Vec<Step> {
    let (device, name, key) = (device(input), &input.name, key_file(input));
    vec![
        step(
            "create a directory for the key that only root can enter",
            "install -d -m 700 /etc/sealant /root/luks-headers".to_owned(),
        ),
        step(
            "make the volume, prove it, save its header",
            format!(
                "sealant luks format {device} --key-file {key} --make-key --pbkdf2-iterations {RANDOM_KEY_ITERATIONS} \
                 --label {name} --backups /root/luks-headers"
            ),
        ),
        step(
            "add a recovery passphrase, kept elsewhere, in case the key is lost; then save the header again",
            format!(
                "sealant luks key add {device} --key-file {key} --new-key-file RECOVERY && sealant luks header backup \
                 {device} /root/luks-headers/{name}"
            ),
        ),
        Step {
            what: "take /root/luks-headers and RECOVERY off this machine: without header or key the data is gone"
                .to_owned(),
            command: None,
        },
    ]
}

/// Copies the data of the stopped server, and mounts the volume in its place.
fn moved_data(input: &PlanInput) -> Vec<Step> {
    let (device, key) = (device(input), key_file(input));
    let (name, unit, datadir) = (&input.name, &input.unit, shell_word(&input.datadir));
    let queues = if rotates(input) { "" } else { " --no-queues --persistent" };
    let bytes: u64 = input.plain().filter_map(|path| path.bytes).fold(0, u64::saturating_add);
    let minutes = bytes.div_ceil(BYTES_PER_SECOND).div_ceil(60);
    vec![
        step("open it", format!("sealant luks open {device} --name {name} --key-file {key}{queues}")),
        step("mount it beside the old data", format!("sealant luks mount {name} /mnt/{name}")),
        step(
            &format!("stop the server: about {minutes} min without it, at 100 MiB/s, until it starts again"),
            format!("systemctl stop {unit}"),
        ),
        step(
            "copy, and compare every byte",
            format!(
                "rmdir /mnt/{name}/lost+found; cp -a {datadir}/. /mnt/{name}/ && diff -r --no-dereference {datadir} \
                 /mnt/{name}"
            ),
        ),
        in_place(input),
    ]
}

/// Starts the server from the volume, now and at every boot, and disposes of the old data.
fn start_at_boot(input: &PlanInput) -> Vec<Step> {
    let (device, key) = (device(input), key_file(input));
    let (name, unit, datadir) = (&input.name, &input.unit, shell_word(&input.datadir));
    let rotational = if rotates(input) { " --rotational" } else { "" };
    vec![
        step(
            "open it at every boot, and start the server only with it",
            format!(
                "sealant luks boot install {device} --name {name} --directory {datadir} --key-file {key} --unit \
                 {unit}{rotational}"
            ),
        ),
        step("start the server", format!("systemctl start {unit}")),
        step("prove it from the bytes", "sealant audit".to_owned()),
        step("prove the start at boot, then reboot", format!("sealant luks boot check --name {name} --unit {unit}")),
        Step {
            what: if input.is_mount_point() {
                "when all of that is proven: overwrite the disk that the old data is on".to_owned()
            } else {
                format!("when all of that is proven: destroy {datadir}.plain, and overwrite the disk it was on")
            },
            command: None,
        },
    ]
}

/// The new disk, or a placeholder as long as none is named.
fn device(input: &PlanInput) -> &str {
    input.disk.as_ref().map_or("DISK", |disk| disk.device.as_str())
}

fn rotates(input: &PlanInput) -> bool {
    input.disk.as_ref().and_then(|disk| disk.rotational) == Some(true)
}

fn key_file(input: &PlanInput) -> String {
    format!("/etc/sealant/{}.key", input.name)
}

/// Mounts the volume where the data was. A directory that is a mount point cannot be renamed (EBUSY), and its line in
/// fstab would mount the old data again at the next boot.
fn in_place(input: &PlanInput) -> Step {
    let (name, datadir) = (&input.name, shell_word(&input.datadir));
    let aside = shell_word(&format!("{}.plain", input.datadir));
    let off = format!("umount /mnt/{name} && chattr -i /mnt/{name}");
    let on = format!("sealant luks mount {name} {datadir}");
    if input.is_mount_point() {
        return Step {
            what: format!(
                "mount the volume in place of the old data, which has a mount of its own: take its line out of \
                 /etc/fstab, or its .mount unit away; the disk keeps the data. If `mount` then finds files in \
                 {datadir}, they were hidden below it: move them"
            ),
            command: Some(format!("{off} && umount {datadir} && {on}")),
        };
    }
    Step {
        what: "mount the volume in place of the old data".to_owned(),
        command: Some(format!("{off} && mv {datadir} {aside} && {on}")),
    }
}
