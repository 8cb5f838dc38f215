//! What to do so that a server's files lie on an encrypted disk, and why so: pure, from what was seen of the paths, the
//! disk, the processor and the programs.

mod choices;
mod steps;

use serde::Serialize;

pub use choices::{Choice, choices};
pub use steps::{Step, steps};

/// What a path's disk does for secrecy today.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Encrypted by this layer.
    Encrypted(String),
    /// In clear: every layer down to hardware was seen.
    Plain,
    /// In memory only.
    Memory,
    /// Cannot be told from here.
    Unknown(String),
}

/// A path of the server, or a swap area.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Path {
    /// What it is for, such as `redo log directory`.
    pub role: String,
    /// Where, links resolved.
    pub path: String,
    /// The variable that leads there.
    pub via: String,
    /// The mount that holds it; empty for swap.
    pub mount: String,
    /// The file system; empty for swap.
    pub fs_type: String,
    /// Block devices from the file system down.
    pub chain: Vec<String>,
    /// What they do for secrecy.
    pub state: State,
    /// Bytes of the server's files there; none if not counted.
    pub bytes: Option<u64>,
}

/// The disk that is to be encrypted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Disk {
    /// Its device file.
    pub device: String,
    /// Bytes.
    pub bytes: u64,
    /// Whether it rotates; none for a file, of which nothing is known.
    pub rotational: Option<bool>,
    /// Bytes of its physical blocks.
    pub physical_block_bytes: Option<u64>,
    /// Whether it takes TRIM.
    pub discards: Option<bool>,
    /// What speaks against making a volume of it, in words.
    pub obstacles: Vec<String>,
}

/// The host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Machine {
    /// Whether the processor has AES instructions.
    pub aes_instructions: bool,
    /// KiB of memory.
    pub memory_kib: u64,
    /// The release of cryptsetup, if it is there.
    pub cryptsetup: Option<String>,
}

/// All that a plan rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Scene {
    /// The data directory.
    pub datadir: String,
    /// Paths of the server.
    pub paths: Vec<Path>,
    /// Swap areas.
    pub swaps: Vec<Path>,
    /// The new disk, if one is named.
    pub disk: Option<Disk>,
    /// The host.
    pub machine: Machine,
    /// The volume's name to be.
    pub name: String,
    /// The server's unit.
    pub unit: String,
}

/// A plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// What was seen.
    #[serde(flatten)]
    pub scene: Scene,
    /// Parameters, each with its reason.
    pub choices: Vec<Choice>,
    /// What to do, in this order; empty if the data directory is encrypted.
    pub steps: Vec<Step>,
    /// Bytes that the new disk has to have.
    pub needed_bytes: u64,
    /// What the steps do not cover.
    pub remarks: Vec<String>,
}

/// Header, file system, and room to grow.
const ROOM: u64 = 64 << 20;

impl Plan {
    /// Decides.
    #[must_use]
    pub fn new(scene: Scene) -> Self {
        let plain: Vec<&Path> = scene.plain().collect();
        let bytes = plain.iter().filter_map(|path| path.bytes).fold(0_u64, u64::saturating_add);
        // A tenth for the file system's own, and a quarter to grow.
        let needed_bytes = bytes.saturating_add(bytes / 10).saturating_add(bytes / 4).saturating_add(ROOM);
        let (choices, remarks) = (choices(&scene), remarks(&scene, needed_bytes));
        let steps = if plain.is_empty() { Vec::new() } else { steps(&scene) };
        Self { choices, steps, needed_bytes, remarks, scene }
    }

    /// Whether every path that can be told is encrypted or in memory.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.scene.plain().chain(self.scene.plain_swaps()).next().is_none()
    }
}

impl Scene {
    /// Paths in clear, and those of which it cannot be told.
    pub fn plain(&self) -> impl Iterator<Item = &Path> {
        self.paths.iter().filter(|path| is_open(&path.state))
    }

    /// Whether the data directory is a mount point: it cannot be moved then.
    #[must_use]
    pub fn has_own_mount(&self) -> bool {
        self.paths.iter().any(|path| path.path == self.datadir && path.mount == self.datadir)
    }

    /// Swap areas likewise.
    pub fn plain_swaps(&self) -> impl Iterator<Item = &Path> {
        self.swaps.iter().filter(|path| is_open(&path.state))
    }
}

fn is_open(state: &State) -> bool {
    matches!(state, State::Plain | State::Unknown(_))
}

fn remarks(scene: &Scene, needed_bytes: u64) -> Vec<String> {
    let mut remarks = Vec::new();
    let inside = |path: &&Path| std::path::Path::new(&path.path).starts_with(&scene.datadir);
    for path in scene.plain().filter(|path| !inside(path)) {
        remarks.push(format!(
            "{} {} ({}) lies outside the data directory: move it into the volume and set {}, or encrypt its disk too",
            path.role, path.path, path.via, path.via
        ));
    }
    for swap in scene.plain_swaps() {
        remarks.push(format!(
            "swap {} is not known to be encrypted: pages of the server and its keys reach it; `swapoff` it, or give it a \
             crypttab line with `/dev/urandom` as the key and the option `swap`",
            swap.path
        ));
    }
    for path in scene.paths.iter().chain(&scene.swaps) {
        if let State::Unknown(why) = &path.state {
            remarks.push(format!("{} {}: {why}", path.role, path.path));
        }
    }
    if let Some(disk) = &scene.disk {
        remarks.extend(
            disk.obstacles.iter().map(|why| format!("{} {why}: `sealant luks format` refuses it", disk.device)),
        );
        if disk.bytes < needed_bytes {
            remarks.push(format!("{} has {} bytes, too few", disk.device, disk.bytes));
        }
    }
    if scene.machine.cryptsetup.is_none() {
        remarks.push("cryptsetup is not installed: package cryptsetup-bin (Debian, Ubuntu) or cryptsetup".to_owned());
    }
    remarks.push(
        "the old disk keeps what was on it in clear: when the new one is proven, overwrite or destroy it".to_owned(),
    );
    remarks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scene(state: State) -> Scene {
        let path = |role: &str, path: &str, state: &State| Path {
            role: role.to_owned(),
            path: path.to_owned(),
            via: "datadir".to_owned(),
            mount: "/".to_owned(),
            fs_type: "ext4".to_owned(),
            chain: vec!["sda1".to_owned()],
            state: state.clone(),
            bytes: Some(1 << 30),
        };
        Scene {
            datadir: "/var/lib/mysql".to_owned(),
            paths: vec![
                path("data directory", "/var/lib/mysql", &state),
                path("binary log directory", "/logs", &state),
            ],
            swaps: Vec::new(),
            disk: Some(Disk {
                device: "/dev/sdb".to_owned(),
                bytes: 4 << 30,
                rotational: Some(false),
                physical_block_bytes: Some(4096),
                discards: Some(true),
                obstacles: Vec::new(),
            }),
            machine: Machine { aes_instructions: true, memory_kib: 1 << 20, cryptsetup: Some("2.6.1".to_owned()) },
            name: "mysqldata".to_owned(),
            unit: "mariadb.service".to_owned(),
        }
    }

    fn choice<'p>(plan: &'p Plan, what: &str) -> &'p str {
        &plan.choices.iter().find(|choice| choice.what == what).unwrap().value
    }

    #[test]
    fn a_plain_server_gets_steps_room_and_remarks() {
        let plan = Plan::new(scene(State::Plain));
        assert!(!plan.is_done() && !plan.steps.is_empty());
        assert!(plan.needed_bytes > 2 << 30 && plan.needed_bytes < 4 << 30);
        assert!(plan.remarks[0].contains("/logs") && plan.remarks[0].contains("outside"), "{:?}", plan.remarks);
    }

    #[test]
    fn a_data_directory_with_a_mount_of_its_own_is_not_moved() {
        let commands = |scene| {
            let steps = Plan::new(scene).steps;
            steps.into_iter().filter_map(|step| step.command).collect::<Vec<_>>().join("\n")
        };
        let mut scene = scene(State::Plain);
        assert!(commands(scene.clone()).contains("mv /var/lib/mysql"));
        scene.paths[0].mount = scene.datadir.clone();
        let own = commands(scene);
        assert!(!own.contains("mv /") && own.contains("umount /var/lib/mysql && sealant luks mount"), "{own}");
    }

    #[test]
    fn an_encrypted_server_needs_nothing() {
        let plan = Plan::new(scene(State::Encrypted("dm-crypt LUKS2 data".to_owned())));
        assert!(plan.is_done() && plan.steps.is_empty());
    }

    #[test]
    fn queues_depend_on_the_disk_and_the_cipher_on_the_processor() {
        let mut scene = scene(State::Plain);
        assert_eq!(choice(&Plan::new(scene.clone()), "work queues"), "off");
        scene.disk.as_mut().unwrap().rotational = Some(true);
        scene.machine.aes_instructions = false;
        let plan = Plan::new(scene);
        assert_eq!(choice(&plan, "work queues"), "on");
        assert_eq!(choice(&plan, "cipher"), "aes-xts-plain64", "Adiantum is wide-block: a torn sector is all noise");
    }

    #[test]
    fn a_disk_that_is_in_use_or_too_small_is_said_so() {
        let mut scene = scene(State::Plain);
        let disk = scene.disk.as_mut().unwrap();
        disk.obstacles.push("is mounted at /mnt".to_owned());
        disk.bytes = 1 << 30;
        let plan = Plan::new(scene);
        assert!(plan.remarks.iter().any(|remark| remark.contains("is mounted at /mnt")));
        assert!(plan.remarks.iter().any(|remark| remark.contains("too few")));
    }
}
