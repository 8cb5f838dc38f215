//! Virtual machines for tests: Debian 12 in QEMU, for tests that need device-mapper, a reboot or a power cut.
//!
//! A script runs in the machine as root; its exit status is the result of the test. Status 100 requests a reboot and
//! 101 a power cut, after which the script runs again with `BOOT` incremented. Disks are `/dev/disk0`, `/dev/disk1`, …
//! and remain as files on the host. `bin/install-servers vm` installs QEMU and the machine's root disk. Neither root
//! nor KVM nor a network is needed, so processors are emulated, and times mean nothing.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::process::Daemon;
use crate::{Error, cache, limit, run, within};

/// Exit status of a script that requests a clean reboot.
const REBOOT: &str = "100";
/// Exit status of a script that requests a power cut.
const POWER_CUT: &str = "101";

/// Options of a virtual machine.
#[derive(Debug)]
pub struct Machine {
    dir: TempDir,
    disks: Vec<PathBuf>,
    systemd: bool,
    memory_mib: u32,
    limit: Duration,
}

/// Result of a script.
#[derive(Debug)]
pub struct Ran {
    /// Its exit status.
    pub status: i32,
    /// Output of the script and of the programs it started, from all boots.
    pub log: String,
}

impl Machine {
    /// A machine without disks that runs only the script; `None`, with a message, if QEMU is not installed.
    ///
    /// # Panics
    /// If `CI` is set and QEMU is not installed: a skipped test must not count as passed there.
    #[must_use]
    pub fn new() -> Option<Self> {
        let missing = ["root/usr/bin/qemu-system-x86_64", "disk", "kernel", "initrd", "VERSION"]
            .iter()
            .map(|name| root().join(name))
            .find(|path| !path.exists());
        if let Some(path) = missing {
            let why = format!("no virtual machine ({}); run tests/harness/bin/install-servers vm", path.display());
            crate::skip(&why);
            return None;
        }
        let dir = TempDir::new().ok()?;
        fs::create_dir_all(dir.path().join("job/vm")).ok()?;
        Some(Self { dir, disks: Vec::new(), systemd: false, memory_mib: 768, limit: limit(900) })
    }

    /// Boots systemd and udev, which start the script as a service; by default the script is the only process.
    #[must_use]
    pub fn systemd(mut self) -> Self {
        self.systemd = true;
        self
    }

    /// Memory; the default is 768 MiB.
    #[must_use]
    pub fn memory_mib(mut self, mib: u32) -> Self {
        self.memory_mib = mib;
        self
    }

    /// Time limit of all boots together; the default is 900 s, because emulation is slow.
    #[must_use]
    pub fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Adds a blank disk.
    ///
    /// # Errors
    /// [`Error`] if there is no space for the disk.
    pub fn disk(mut self, mib: u64) -> Result<Self, Error> {
        let path = self.dir.path().join(format!("disk{}", self.disks.len()));
        let made = fs::File::create(&path).and_then(|file| file.set_len(mib << 20));
        made.map_err(Error::file(&path))?;
        self.disks.push(path);
        Ok(self)
    }

    /// Adds this file as a disk. Writes of the machine stay in it.
    #[must_use]
    pub fn disk_of(mut self, path: &Path) -> Self {
        self.disks.push(path.to_owned());
        self
    }

    /// File of a disk.
    #[must_use]
    pub fn image(&self, disk: usize) -> Option<&Path> {
        self.disks.get(disk).map(PathBuf::as_path)
    }

    /// Copies `file` to the absolute path `guest_path` in the machine.
    ///
    /// # Errors
    /// [`Error`] if the file cannot be read, or there is no space.
    pub fn file(self, file: &Path, guest_path: &str) -> Result<Self, Error> {
        let target = self.guest_path(guest_path)?;
        fs::copy(file, &target).map_err(Error::file(file))?;
        Ok(self)
    }

    /// Copies a program without its debug information.
    ///
    /// # Errors
    /// Those of [`Self::file`].
    pub fn program(self, file: &Path, guest_path: &str) -> Result<Self, Error> {
        let target = self.guest_path(guest_path)?;
        let mut strip = Command::new("strip");
        match run(strip.arg("--strip-all").arg("-o").arg(&target).arg(file), b"", limit(60)) {
            Ok(_) => Ok(self),
            Err(_) => self.file(file, guest_path),
        }
    }

    /// Copies a program and its libraries to the same paths in the machine. Files in the system's directories are taken
    /// from the machine instead.
    ///
    /// # Errors
    /// As [`Self::file`]; [`Error`] if its libraries cannot be determined.
    pub fn installed(self, program: &Path) -> Result<Self, Error> {
        let listed = run(Command::new("ldd").arg(program), b"", limit(60))?;
        let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
        // Lines are `NAME => PATH (ADDRESS)`. For an interpreter other than the system's, NAME is the path.
        let named = listed.lines().filter_map(|line| line.split_whitespace().find(|word| word.starts_with('/')));
        let current = |path: &&str| !["/lib", "/usr/"].iter().any(|system| path.starts_with(system));
        named.filter(current).map(Path::new).chain([program]).try_fold(self, |machine, file| {
            let guest_path = file.display().to_string();
            machine.file(file, &guest_path)
        })
    }

    /// Copies a directory with its content.
    ///
    /// # Errors
    /// Those of [`Self::file`].
    pub fn directory(self, from: &Path, guest_path: &Path) -> Result<Self, Error> {
        let target = self.guest_path(&guest_path.display().to_string())?;
        let mut copy = Command::new("cp");
        run(copy.args(["-rL", "--preserve=mode", "--"]).arg(from).arg(target), b"", limit(120))?;
        Ok(self)
    }

    fn guest_path(&self, guest_path: &str) -> Result<PathBuf, Error> {
        let target = self.dir.path().join("job").join(guest_path.trim_start_matches('/'));
        let parent = target.parent().unwrap_or(&target);
        fs::create_dir_all(parent).map_err(Error::file(parent))?;
        Ok(target)
    }

    /// Runs `script` to its end, with as many boots as it requests.
    ///
    /// # Errors
    /// [`Error::TimedOut`]; [`Error::NotStarted`] with the console's output if the machine ended without a result.
    pub fn run(&self, script: &str) -> Result<Ran, Error> {
        let _turn = turn()?;
        let begin = Instant::now();
        self.pack(script)?;
        for boot in 1.. {
            let status = self.boot(boot, self.limit.saturating_sub(begin.elapsed()))?;
            if status != REBOOT && status != POWER_CUT {
                let status = status.parse().map_err(|_| self.no_result())?;
                return Ok(Ran { status, log: self.read("log") });
            }
        }
        Err(self.no_result())
    }

    /// Packs the script and the files into an archive that serves as a disk, and creates a root disk overlay that
    /// discards changes.
    fn pack(&self, script: &str) -> Result<(), Error> {
        let (job, dir) = (self.dir.path().join("job"), self.dir.path());
        let path = job.join("vm/script");
        fs::write(&path, script).map_err(Error::file(&path))?;
        // The archive's top directory determines the mode of the root directory.
        fs::set_permissions(&job, fs::Permissions::from_mode(0o755)).map_err(Error::file(&job))?;
        let minute = limit(60);
        let mut tar = Command::new("tar");
        tar.args(["--owner=0", "--group=0", "-cf"]).arg(dir.join("job.tar")).arg("-C").arg(&job).arg(".");
        run(&mut tar, b"", minute)?;
        let mut overlay = Command::new(root().join("root/usr/bin/qemu-img"));
        overlay.args(["create", "-q", "-f", "qcow2", "-F", "raw", "-b"]).arg(root().join("disk")).arg(dir.join("root"));
        run(&mut overlay, b"", minute)?;
        Ok(())
    }

    /// Boots once; returns the status of the script.
    fn boot(&self, boot: u32, limit: Duration) -> Result<String, Error> {
        let status = self.dir.path().join("status");
        fs::write(&status, "").map_err(Error::file(&status))?;
        let spawn = |source| Error::Spawn { program: "qemu-system-x86_64".to_owned(), source };
        let mut machine = Daemon::spawn(self.command(boot)).map_err(spawn)?;
        let late = |_| Error::TimedOut { what: format!("boot {boot}; {}", self.tail()), limit: self.limit };
        within(limit, || machine.ended()).map_err(late)?;
        Ok(self.read("status").trim().to_owned())
    }

    fn command(&self, boot: u32) -> Command {
        let (root, dir) = (root(), self.dir.path());
        let mut command = Daemon::command(&root.join("root/usr/bin/qemu-system-x86_64"));
        for modules in fs::read_dir(root.join("root/usr/lib")).into_iter().flatten().flatten() {
            if modules.path().join("qemu").is_dir() {
                command.env("QEMU_MODULE_DIR", modules.path().join("qemu"));
            }
        }
        for firmware in ["qemu", "seabios"] {
            command.arg("-L").arg(root.join("root/usr/share").join(firmware));
        }
        let mode = if self.systemd { "systemd" } else { "plain" };
        // no_timer_check: on a busy host the emulated timer can fail the kernel's check of timers, and the kernel
        // panics.
        let line = format!(
            "console=ttyS0 quiet panic=-1 no_timer_check random.trust_cpu=on mitigations=off vm.boot={boot} \
             vm.mode={mode} systemd.show_status=0 systemd.unit=multi-user.target"
        );
        // Emulating vector instructions beyond SSE4, or a second processor, costs more than it saves: without them, the
        // same tests take half the time.
        let cpu = "Nehalem,+aes,+pclmulqdq,+rdrand,+rdseed,model-id=QEMU TCG CPU";
        command.args(["-accel", "tcg", "-M", "q35", "-cpu", cpu, "-smp", "1", "-nodefaults"]);
        // While it works, the machine's clock counts instructions (2 ns each) instead of real time. On a slow, busy
        // host, the time limits of the machine's own services therefore do not expire too early.
        command.args(["-icount", "shift=1"]);
        // Wired interrupts instead of MSI-X: QEMU 10 was seen to abort in its MSI-X table while a guest booted.
        for device in ["virtio-blk-pci", "virtio-serial-pci", "virtio-rng-pci"] {
            command.args(["-global", &format!("{device}.vectors=0")]);
        }
        command.args(["-no-user-config", "-display", "none", "-no-reboot", "-monitor", "none", "-net", "none"]);
        command.args(["-m", &self.memory_mib.to_string(), "-append", &line]);
        command.arg("-kernel").arg(root.join("kernel")).arg("-initrd").arg(root.join("initrd"));
        command.args(["-device", "virtio-serial-pci", "-device", "virtio-rng-pci"]);
        for (name, device) in [("console", None), ("log", Some("virtserialport")), ("status", Some("virtserialport"))] {
            let append = if name == "status" { "off" } else { "on" };
            let path = dir.join(name);
            command.args(["-chardev", &format!("file,id={name},path={},append={append}", path.display())]);
            match device {
                None => command.args(["-serial", &format!("chardev:{name}")]),
                Some(device) => command.args(["-device", &format!("{device},chardev={name},name={name}")]),
            };
        }
        let mut drive = |name: &str, format: &str, cache: &str, path: &Path| {
            let path = path.display();
            command.args([
                "-drive",
                &format!("if=none,id={name},format={format},cache={cache},discard=unmap,file={path}"),
            ]);
            command.args(["-device", &format!("virtio-blk-pci,drive={name},serial={name}")]);
        };
        drive("root", "qcow2", "unsafe", &dir.join("root"));
        drive("job", "raw", "unsafe", &dir.join("job.tar"));
        for (number, path) in self.disks.iter().enumerate() {
            drive(&format!("disk{number}"), "raw", "writeback", path);
        }
        command.stdin(std::process::Stdio::null()).stdout(std::process::Stdio::null());
        command
    }

    fn no_result(&self) -> Error {
        Error::NotStarted { why: "the machine ended without a result".to_owned(), log_tail: self.tail() }
    }

    fn tail(&self) -> String {
        let text = format!("{}\n{}", self.read("log"), self.read("console"));
        let lines: Vec<&str> = text.lines().collect();
        lines.get(lines.len().saturating_sub(60)..).unwrap_or_default().join("\n")
    }

    fn read(&self, name: &str) -> String {
        let bytes = fs::read(self.dir.path().join(name)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// Machines run one at a time, across all test processes, because a machine can keep a small host busy. The lock is on
/// a file of the installation, needs no write permission, and is released when the process ends.
fn turn() -> Result<fs::File, Error> {
    let path = root().join("VERSION");
    let file = fs::File::open(&path).map_err(Error::file(&path))?;
    file.lock().map_err(Error::file(&path))?;
    Ok(file)
}

fn root() -> PathBuf {
    cache().join("servers/vm")
}
