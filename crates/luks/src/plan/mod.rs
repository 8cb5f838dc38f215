//! Plans how to move a server's files to an encrypted disk, with reasons. A plan depends only on [`PlanInput`]: facts
//! about paths, disk, processor and programs.

mod parameters;
mod steps;

use files::proc::{self, Processor};
use files::quantity::sizes;
use serde::Serialize;

use crate::Error;
use crate::cryptsetup::Cryptsetup;
use crate::device::{Block, Host, usage_signs};

pub use parameters::{Parameter, parameters};
pub use steps::{Step, steps};

/// How the disk of a path protects its data today.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protection {
    /// Encrypted by this layer.
    Encrypted(String),
    /// In plaintext: all layers down to the hardware are known.
    Plain,
    /// In memory only.
    Memory,
    /// Cannot be determined here.
    Unknown(String),
}

/// A path of the server, or a swap area.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Path {
    /// Purpose, such as `redo log directory`.
    pub role: String,
    /// The path, with links resolved.
    pub path: String,
    /// The server variable that names it.
    pub via: String,
    /// Mount point of its file system; empty for swap.
    pub mount: String,
    /// Type of the file system; empty for swap.
    pub fs_type: String,
    /// Block devices from the file system down.
    pub chain: Vec<String>,
    /// How they protect the data.
    pub state: Protection,
    /// Size of the server's files there; `None` if not counted.
    pub bytes: Option<u64>,
}

/// The disk to encrypt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Disk {
    /// Device file.
    pub device: String,
    /// Size in bytes.
    pub bytes: u64,
    /// Whether the disk rotates; `None` for a file, of which nothing is known.
    pub rotational: Option<bool>,
    /// Size of a physical block.
    pub physical_block_bytes: Option<u64>,
    /// Whether the disk supports TRIM.
    pub discards: Option<bool>,
    /// Reasons not to create a volume on it, as text.
    pub obstacles: Vec<String>,
}

/// Facts of the host that parameters depend on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Machine {
    /// Whether the processor has AES instructions.
    pub aes_instructions: bool,
    /// Memory in KiB.
    pub memory_kib: u64,
    /// Release of cryptsetup, if installed.
    pub cryptsetup: Option<String>,
}

impl Disk {
    /// Reads the facts about the disk at `device`, as far as they can be determined.
    ///
    /// # Errors
    /// [`Error`] if it cannot be examined.
    pub fn read(host: &Host, device: &std::path::Path) -> Result<Self, Error> {
        let obstacles = usage_signs(host, device, true)?.iter().map(ToString::to_string).collect();
        let block = Block::find(host, device).ok().flatten();
        let queue = |name: &str| block.as_ref().and_then(|block| block.queue(name));
        let file_bytes = || std::fs::metadata(device).map(|metadata| metadata.len()).unwrap_or_default();
        Ok(Self {
            device: device.display().to_string(),
            bytes: block.as_ref().map_or_else(file_bytes, Block::bytes),
            rotational: queue("rotational").map(|number| number != 0),
            physical_block_bytes: queue("physical_block_size"),
            discards: queue("discard_max_bytes").map(|number| number != 0),
            obstacles,
        })
    }
}

impl Machine {
    /// Reads the facts of this host.
    #[must_use]
    pub fn this() -> Self {
        Self {
            aes_instructions: Processor::this().has("aes"),
            memory_kib: proc::total_memory().unwrap_or_default() / 1024,
            cryptsetup: Cryptsetup::find().ok().map(|found| found.version().to_string()),
        }
    }
}

/// All facts that a plan is based on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlanInput {
    /// The data directory.
    pub datadir: String,
    /// Paths of the server.
    pub paths: Vec<Path>,
    /// Swap areas.
    pub swaps: Vec<Path>,
    /// The new disk, if one is named.
    pub disk: Option<Disk>,
    /// The host that the server runs on.
    pub machine: Machine,
    /// Name for the volume.
    pub name: String,
    /// Unit of the server.
    pub unit: String,
}

/// Parameters and steps that move the server's files to an encrypted disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// The facts it is based on.
    #[serde(flatten)]
    pub input: PlanInput,
    /// Parameters, each with its reason.
    pub choices: Vec<Parameter>,
    /// Steps in order; empty if the data directory is already encrypted.
    pub steps: Vec<Step>,
    /// Minimum size of the new disk.
    pub needed_bytes: u64,
    /// Remarks on what the steps do not cover.
    pub remarks: Vec<String>,
}

/// Space for the header, the file system and some growth.
const SPARE_BYTES: u64 = 64 << 20;

impl Plan {
    /// Makes the plan.
    #[must_use]
    pub fn new(input: PlanInput) -> Self {
        let plain: Vec<&Path> = input.plain().collect();
        let bytes = plain.iter().filter_map(|path| path.bytes).fold(0_u64, u64::saturating_add);
        // A tenth for the file system itself, and a quarter for growth.
        let needed_bytes = bytes.saturating_add(bytes / 10).saturating_add(bytes / 4).saturating_add(SPARE_BYTES);
        let (choices, remarks) = (parameters(&input), remarks(&input, needed_bytes));
        let steps = if plain.is_empty() { Vec::new() } else { steps(&input) };
        Self { choices, steps, needed_bytes, remarks, input }
    }

    /// Whether every path whose state is known is encrypted or in memory.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.input.plain().chain(self.input.plain_swaps()).next().is_none()
    }
}

impl PlanInput {
    /// Paths in plaintext, and those whose state is unknown.
    pub fn plain(&self) -> impl Iterator<Item = &Path> {
        self.paths.iter().filter(|path| is_open(&path.state))
    }

    /// Whether the data directory is a mount point, which cannot be moved.
    #[must_use]
    pub(crate) fn is_mount_point(&self) -> bool {
        self.paths.iter().any(|path| path.path == self.datadir && path.mount == self.datadir)
    }

    /// Swap areas in plaintext, and those whose state is unknown.
    pub(crate) fn plain_swaps(&self) -> impl Iterator<Item = &Path> {
        self.swaps.iter().filter(|path| is_open(&path.state))
    }
}

fn is_open(state: &Protection) -> bool {
    matches!(state, Protection::Plain | Protection::Unknown(_))
}

fn remarks(input: &PlanInput, needed_bytes: u64) -> Vec<String> {
    let mut remarks = Vec::new();
    let inside = |path: &&Path| std::path::Path::new(&path.path).starts_with(&input.datadir);
    for path in input.plain().filter(|path| !inside(path)) {
        remarks.push(format!(
            "{} {} ({}) lies outside the data directory: move it into the volume and set {}, or encrypt its disk too",
            path.role, path.path, path.via, path.via
        ));
    }
    for swap in input.plain_swaps() {
        remarks.push(format!(
            "swap {} is not known to be encrypted: pages of the server and its keys reach it; `swapoff` it, or give it \
             a crypttab line with `/dev/urandom` as the key and the option `swap`",
            swap.path
        ));
    }
    for path in input.paths.iter().chain(&input.swaps) {
        if let Protection::Unknown(why) = &path.state {
            remarks.push(format!("{} {}: {why}", path.role, path.path));
        }
    }
    if let Some(disk) = &input.disk {
        remarks.extend(
            disk.obstacles.iter().map(|why| format!("{} {why}: `sealant luks format` refuses it", disk.device)),
        );
        if disk.bytes < needed_bytes {
            let [has, needs] = sizes(disk.bytes, needed_bytes);
            remarks.push(format!("{} has only {has}, and {needs} are needed", disk.device));
        }
    }
    if input.machine.cryptsetup.is_none() {
        remarks.push("cryptsetup is not installed: package cryptsetup-bin (Debian, Ubuntu) or cryptsetup".to_owned());
    }
    remarks.push(
        "the old disk keeps what was on it in clear text: when the new one is proven, overwrite or destroy it"
            .to_owned(),
    );
    remarks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(state: Protection) -> PlanInput {
        let path = |role: &str, path: &str, state: &Protection| Path {
            role: role.to_owned(),
            path: path.to_owned(),
            via: "datadir".to_owned(),
            mount: "/".to_owned(),
            fs_type: "ext4".to_owned(),
            chain: vec!["sda1".to_owned()],
            state: state.clone(),
            bytes: Some(1 << 30),
        };
        PlanInput {
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
    fn a_server_in_plaintext_gets_steps_a_minimum_size_and_remarks() {
        let plan = Plan::new(input(Protection::Plain));
        assert!(!plan.is_done() && !plan.steps.is_empty());
        assert!(plan.needed_bytes > 2 << 30 && plan.needed_bytes < 4 << 30);
        assert!(plan.remarks[0].contains("/logs") && plan.remarks[0].contains("outside"), "{:?}", plan.remarks);
    }

    #[test]
    fn a_data_directory_that_is_a_mount_point_is_not_moved() {
        let commands = |input| {
            let steps = Plan::new(input).steps;
            steps.into_iter().filter_map(|step| step.command).collect::<Vec<_>>().join("\n")
        };
        let mut input = input(Protection::Plain);
        assert!(commands(input.clone()).contains("mv /var/lib/mysql"));
        input.paths[0].mount = input.datadir.clone();
        let commands_of_mount = commands(input);
        assert!(
            !commands_of_mount.contains("mv /")
                && commands_of_mount.contains("umount /var/lib/mysql && sealant luks mount"),
            "{commands_of_mount}"
        );
    }

    #[test]
    fn an_encrypted_server_needs_nothing() {
        let plan = Plan::new(input(Protection::Encrypted("dm-crypt LUKS2 data".to_owned())));
        assert!(plan.is_done() && plan.steps.is_empty());
    }

    #[test]
    fn queues_depend_on_the_disk_and_the_cipher_on_the_processor() {
        let mut input = input(Protection::Plain);
        assert_eq!(choice(&Plan::new(input.clone()), "work queues"), "off");
        input.disk.as_mut().unwrap().rotational = Some(true);
        input.machine.aes_instructions = false;
        let plan = Plan::new(input);
        assert_eq!(choice(&plan, "work queues"), "on");
        assert_eq!(choice(&plan, "cipher"), "aes-xts-plain64", "Adiantum is wide-block: a torn sector is all noise");
    }

    #[test]
    fn obstacles_of_a_disk_are_reported() {
        let mut input = input(Protection::Plain);
        let disk = input.disk.as_mut().unwrap();
        disk.obstacles.push("is mounted at /mnt".to_owned());
        disk.bytes = 1 << 30;
        let plan = Plan::new(input);
        assert!(plan.remarks.iter().any(|remark| remark.contains("is mounted at /mnt")));
        assert!(plan.remarks.iter().any(|remark| remark.contains("are needed")));
    }
}
