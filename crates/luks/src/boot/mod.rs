//! Opens and mounts a volume at every boot, and starts the server only with it.
//!
//! Three entries do this: a line in `crypttab`, a line in `fstab`, and a drop-in for the server's unit. Sources:
//! crypttab(5), systemd.mount(5), systemd.unit(5). Tested with clean reboots, power cuts and a missing key.

mod check;
mod names;
pub(crate) mod options;
mod removal;
mod table;
mod write;

use std::fs;
use std::path::{Path, PathBuf};

pub use check::{Checked, FailedCheck, check};
pub use removal::{Removal, removal};
pub use table::Conflict;
pub use write::{Content, Edit, apply};

use crate::Error;
use crate::cryptsetup::device_file;
use crate::device::{Block, FileSystem, Host, MountPointGuard, guard, reload};
use check::escaped;
use names::{
    check_argument, check_directory, check_key_file, check_name, check_name_of_unit, check_path, check_unit, check_uuid,
};
use table::{LineSelector, with_line};

/// Directory of the administrator's units, relative to the root.
const UNITS: &str = "etc/systemd/system";

/// Source of the key at boot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeySource {
    /// A key file.
    File(PathBuf),
    /// `sealant luks key serve` with these arguments, behind a socket of systemd.
    Service {
        /// Path of the program.
        program: PathBuf,
        /// Arguments that follow `luks key serve`.
        arguments: Vec<String>,
    },
}

/// The volume to open and mount at boot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Boot {
    /// Name of the volume in `/dev/mapper`.
    pub name: String,
    /// UUID of the volume.
    pub uuid: String,
    /// Mount point.
    pub directory: PathBuf,
    /// File system of the volume.
    pub file_system: FileSystem,
    /// Source of the key.
    pub key: KeySource,
    /// Units that need the volume, such as `mariadb.service`.
    pub units: Vec<String>,
    /// Seconds to wait for the device.
    pub timeout: u32,
    /// Encrypt without work queues.
    pub no_queues: bool,
    /// Pass TRIM to the disk.
    pub discards: bool,
}

/// Socket on which systemd listens for requests for the key.
fn socket_path(name: &str) -> PathBuf {
    Path::new(files::runtime::DIRECTORY).join(format!("{name}.sock"))
}

/// Names of the units that provide the key: the socket and its service.
fn key_unit_names(name: &str) -> [String; 2] {
    [format!("sealant-key-{name}.socket"), format!("sealant-key-{name}@.service")]
}

/// The link that `systemctl enable` creates for the socket's `RequiredBy=`, and its target as the installed system sees
/// it. systemctl cannot create it in an image.
fn key_link(root: &Path, name: &str) -> (PathBuf, PathBuf) {
    let [socket, _] = key_unit_names(name);
    let required_by = format!("systemd-cryptsetup@{}.service.requires", escaped(name));
    (root.join(UNITS).join(required_by).join(&socket), Path::new("/").join(UNITS).join(socket))
}

impl Boot {
    /// The line for `crypttab`. Without the key the host still boots (`nofail`) and asks nobody for a passphrase
    /// (`headless`).
    #[must_use]
    pub fn crypttab(&self) -> String {
        let key = match &self.key {
            KeySource::File(path) => path.clone(),
            KeySource::Service { .. } => socket_path(&self.name),
        };
        let mut options = vec![options::CRYPTTAB];
        if self.no_queues {
            options.push(options::NO_QUEUES);
        }
        if self.discards {
            options.push(options::DISCARD);
        }
        format!("{} UUID={} {} {}", self.name, self.uuid, key.display(), options.join(","))
    }

    /// The line for `fstab`.
    #[must_use]
    pub fn fstab(&self) -> String {
        format!(
            "{} {} {} {}{} 0 2",
            device_file(&self.name).display(),
            self.mount_point().display(),
            self.file_system.as_str(),
            options::FSTAB,
            self.timeout
        )
    }

    /// The drop-in for each unit: systemd starts it after the mount, and never without it.
    #[must_use]
    pub fn drop_in(&self) -> String {
        let directory = self.mount_point();
        format!("# Made by `sealant luks boot install`.\n[Unit]\nRequiresMountsFor={}\n", directory.display())
    }

    /// The mount point, written as systemd and the mount table write it.
    #[must_use]
    pub fn mount_point(&self) -> PathBuf {
        self.directory.components().collect()
    }

    /// Name and text of the socket and service units that provide the key; `None` if the key is in a file.
    #[must_use]
    pub(crate) fn key_units(&self) -> Option<[(String, String); 2]> {
        let KeySource::Service { program, arguments } = &self.key else { return None };
        let (name, instance) = (&self.name, escaped(&self.name));
        let listener = format!(
            "# Made by `sealant luks boot install`.\n\
             [Unit]\nDescription=Key of the volume {name}\nDefaultDependencies=no\n\
             Before=cryptsetup-pre.target systemd-cryptsetup@{instance}.service\nWants=cryptsetup-pre.target\n\n\
             [Socket]\nListenStream={}\nSocketMode=0600\nAccept=yes\n\n\
             [Install]\nRequiredBy=systemd-cryptsetup@{instance}.service\n",
            socket_path(name).display()
        );
        let message: Vec<String> = arguments.iter().map(|word| quoted(word)).collect();
        let service = format!(
            "# Made by `sealant luks boot install`.\n\
             [Unit]\nDescription=Key of the volume {name}\nDefaultDependencies=no\n\n\
             [Service]\nExecStart={} luks key serve {}\nStandardOutput=socket\nStandardError=journal\n",
            program.display(),
            message.join(" ")
        );
        let [socket, instances] = key_unit_names(name);
        Some([(socket, listener), (instances, service)])
    }

    /// Checks that all values can be written to tables and units unescaped.
    fn check(&self) -> Result<(), Error> {
        check_name(&self.name)?;
        check_uuid(&self.uuid)?;
        check_directory(&self.directory)?;
        match &self.key {
            KeySource::File(path) => check_key_file(path)?,
            KeySource::Service { program, arguments } => {
                check_name_of_unit(&self.name)?;
                check_path(program)?;
                arguments.iter().try_for_each(|word| check_argument(word))?;
            }
        }
        self.units.iter().try_for_each(|unit| check_unit(unit))
    }

    /// Changes needed below `root`. Changes nothing itself.
    ///
    /// # Errors
    /// [`Error::Refused`] if a table already has a different line for this name or directory, or if a value has a
    /// character that tables and units do not allow.
    pub fn edits(&self, root: &Path) -> Result<Vec<Edit>, Error> {
        self.check()?;
        let directory = self.mount_point();
        let mut edits = vec![
            edit_table(root, "etc/crypttab", LineSelector::Crypttab(&self.name), &self.crypttab())?,
            edit_table(root, "etc/fstab", LineSelector::FstabAt(&self.name, &directory), &self.fstab())?,
        ];
        for unit in &self.units {
            edits.push(edit_file(root, &drop_in_path(root, unit, &self.name), &self.drop_in())?);
        }
        if let Some(units) = self.key_units() {
            for (file, text) in units {
                edits.push(edit_file(root, &root.join(UNITS).join(file), &text)?);
            }
            let (link, to) = key_link(root, &self.name);
            edits.push(Edit::link(root, &link, &to)?);
        }
        Ok(edits)
    }

    /// Whether the volume is mounted at its mount point now.
    ///
    /// # Errors
    /// [`Error::Refused`] if something else is mounted there: one mount would hide the other.
    pub fn mounted(&self, host: &Host) -> Result<bool, Error> {
        let directory = self.mount_point();
        let Some(mount) = host.mounted_at(&directory) else { return Ok(false) };
        let uuid = format!("-{}-", self.uuid.replace('-', ""));
        let ours = Block::mapped(host, &self.name).is_some_and(|block| {
            block.number == mount.device && block.mapper_uuid().is_some_and(|current| current.contains(&uuid))
        });
        if ours {
            return Ok(true);
        }
        Err(Error::refused(&directory, "has something other than this volume mounted on it"))
    }

    /// Writes the changes. On the running system it also guards an unmounted mount point first, and makes systemd
    /// reload its units. Returns how the mount point is guarded, if that was done now.
    ///
    /// # Errors
    /// [`Error`].
    pub fn install(&self, root: &Path, host: &Host, edits: &[Edit]) -> Result<Option<MountPointGuard>, Error> {
        if !is_this_system(root) {
            return apply(edits).map(|()| None);
        }
        // A mounted volume's mount point was guarded before the mount.
        let guard = if self.mounted(host)? { None } else { Some(self.guard(host)?) };
        apply(edits)?;
        // The link that enables the socket of the key is among the edits.
        reload()?;
        Ok(guard)
    }

    /// Checks, if `root` is the running system, that nothing else is mounted at the mount point.
    ///
    /// # Errors
    /// As [`Boot::mounted`].
    pub fn check_mount(&self, root: &Path, host: &Host) -> Result<(), Error> {
        if is_this_system(root) { self.mounted(host).map(drop) } else { Ok(()) }
    }

    /// Guards the mount point.
    ///
    /// # Errors
    /// As [`guard`]; [`Error::NotProven`] if a file was created between the check and the flag.
    pub fn guard(&self, host: &Host) -> Result<MountPointGuard, Error> {
        let directory = self.mount_point();
        let guarded = guard(host, &directory)?;
        check_empty(&directory)?;
        Ok(guarded)
    }
}

fn is_this_system(root: &Path) -> bool {
    root == Path::new("/")
}

/// Checks that the mount point is empty: a file that was created before the immutable flag was set stays there.
fn check_empty(directory: &Path) -> Result<(), Error> {
    let io = || Error::io(directory);
    let Some(entry) = fs::read_dir(directory).map_err(io())?.next() else { return Ok(()) };
    let name = entry.map_err(io())?.file_name();
    let why = format!(
        "{} was created while it was guarded, and would stay in plaintext below the volume; `chattr -i`, and move it",
        name.to_string_lossy()
    );
    Err(Error::not_proven(directory, why))
}

fn drop_in_name(name: &str) -> String {
    format!("sealant-luks-{name}.conf")
}

/// Path of our drop-in for a unit.
fn drop_in_path(root: &Path, unit: &str, name: &str) -> PathBuf {
    root.join(UNITS).join(format!("{unit}.d")).join(drop_in_name(name))
}

fn edit_table(root: &Path, file: &str, lines: LineSelector<'_>, line: &str) -> Result<Edit, Error> {
    let path = root.join(file);
    Edit::text(root, &path, |text| match with_line(text, lines, line) {
        Ok(None) => Ok((text.to_owned(), Vec::new())),
        Ok(Some(changed)) => Ok((changed, vec![format!("+ {line}")])),
        Err(Conflict { line, ours }) => {
            let what = if ours {
                "`sealant luks boot remove` takes it away"
            } else {
                "sealant did not write that line: edit it by hand"
            };
            Err(Error::refused(&path, format!("already has another line: `{line}`; {what}")))
        }
    })
}

fn edit_file(root: &Path, path: &Path, text: &str) -> Result<Edit, Error> {
    Edit::text(root, path, |there| {
        let same = there == text;
        let added = text.lines().filter(|_| !same).map(|line| format!("+ {line}")).collect();
        Ok((text.to_owned(), added))
    })
}

/// An argument, quoted for systemd. Source: systemd.service(5), "Command lines".
fn quoted(word: &str) -> String {
    let escaped = word.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%").replace('$', "$$");
    format!("\"{escaped}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    const UUID: &str = "540885c1-0c32-47ff-b98d-ef96ed4a6747";

    fn boot() -> Boot {
        Boot {
            name: "mysqldata".to_owned(),
            uuid: UUID.to_owned(),
            directory: PathBuf::from("/var/lib/mysql"),
            file_system: FileSystem::Ext4,
            key: KeySource::File(PathBuf::from("/etc/sealant/mysqldata.key")),
            units: vec!["mariadb.service".to_owned()],
            timeout: 60,
            no_queues: true,
            discards: false,
        }
    }

    fn text(root: &Path, file: &str) -> String {
        fs::read_to_string(root.join(file)).unwrap()
    }

    #[test]
    fn a_second_install_changes_nothing_and_a_removal_restores_the_files() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        fs::create_dir_all(root.join("etc/systemd/system")).unwrap();
        fs::write(root.join("etc/fstab"), "# the root\nUUID=x / ext4 defaults 0 1").unwrap();
        apply(&boot().edits(root).unwrap()).unwrap();
        let (crypttab, fstab) = (text(root, "etc/crypttab"), text(root, "etc/fstab"));
        assert_eq!(
            crypttab,
            "mysqldata UUID=540885c1-0c32-47ff-b98d-ef96ed4a6747 /etc/sealant/mysqldata.key luks,nofail,headless,no-read-workqueue,no-write-workqueue\n"
        );
        assert!(
            fstab.starts_with("# the root\nUUID=x / ext4 defaults 0 1\n/dev/mapper/mysqldata /var/lib/mysql ext4 ")
        );
        assert!(
            text(root, "etc/systemd/system/mariadb.service.d/sealant-luks-mysqldata.conf")
                .ends_with("[Unit]\nRequiresMountsFor=/var/lib/mysql\n")
        );
        assert!(boot().edits(root).unwrap().iter().all(|edit| edit.added.is_empty()));
        apply(&removal(root, "mysqldata").unwrap().edits).unwrap();
        assert_eq!(text(root, "etc/crypttab"), "");
        assert_eq!(text(root, "etc/fstab"), "# the root\nUUID=x / ext4 defaults 0 1\n");
        assert_eq!(fs::read_dir(root.join("etc/systemd/system")).unwrap().count(), 0);
        assert_eq!(removal(root, "mysqldata").unwrap(), Removal::default());
    }

    #[test]
    fn a_table_with_another_line_for_the_volume_is_refused() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("etc")).unwrap();
        fs::write(root.path().join("etc/crypttab"), "mysqldata /dev/sdb none\n").unwrap();
        assert!(refused(&boot(), root.path()).contains("already has another line"));
        fs::write(root.path().join("etc/crypttab"), "").unwrap();
        for directory in ["/var/lib/mysql", "/var/lib/mysql/"] {
            fs::write(root.path().join("etc/fstab"), format!("/dev/sdc {directory} xfs defaults 0 0\n")).unwrap();
            let said = refused(&Boot { directory: PathBuf::from("/var/lib//mysql/"), ..boot() }, root.path());
            assert!(said.contains("already has another line") && said.contains("by hand"), "{said}");
        }
        fs::write(root.path().join("etc/fstab"), "").unwrap();
        apply(&boot().edits(root.path()).unwrap()).unwrap();
        let said = refused(&Boot { directory: PathBuf::from("/srv/mysql"), ..boot() }, root.path());
        assert!(said.contains("boot remove"), "{said}");
        assert!(boot().edits(root.path()).unwrap().iter().all(|edit| edit.added.is_empty()));
        let slash = Boot { directory: PathBuf::from("/var/lib/mysql/"), ..boot() };
        assert!(slash.edits(root.path()).unwrap().iter().all(|edit| edit.added.is_empty()));
    }

    fn refused(boot: &Boot, root: &Path) -> String {
        boot.edits(root).unwrap_err().to_string()
    }

    #[test]
    fn values_that_would_need_escaping_are_refused() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        let served = |program: &str, word: &str| KeySource::Service {
            program: PathBuf::from(program),
            arguments: vec![word.to_owned()],
        };
        let wrong = [
            Boot { name: "a b".to_owned(), ..boot() },
            Boot { uuid: "1-2\nroot".to_owned(), ..boot() },
            Boot { directory: PathBuf::from("/srv/a b"), ..boot() },
            Boot { key: KeySource::File(PathBuf::from("/a key")), ..boot() },
            Boot { key: KeySource::File(PathBuf::from("/key:/dev/sdb")), ..boot() },
            Boot { key: served("/opt/a b/sealant", "x"), ..boot() },
            Boot { key: served("/sealant", "x\nExecStartPre=/x"), ..boot() },
            Boot { name: "a+b".to_owned(), key: served("/sealant", "x"), ..boot() },
            Boot { units: vec!["mariadb".to_owned()], ..boot() },
            Boot { units: vec!["../mariadb.service".to_owned()], ..boot() },
        ];
        for boot in wrong {
            assert!(matches!(boot.edits(root), Err(Error::Refused { .. })), "{boot:?}");
        }
        assert!(removal(root, "../x").is_err());
    }

    #[test]
    fn only_our_lines_are_removed() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        apply(&boot().edits(root).unwrap()).unwrap();
        let theirs = "/dev/mapper/mysqldata /mnt ext4 ro,noauto 0 0";
        fs::write(root.join("etc/fstab"), format!("{}{theirs}\n", text(root, "etc/fstab"))).unwrap();
        let found = removal(root, "mysqldata").unwrap();
        assert_eq!(found.foreign, [(root.join("etc/fstab"), theirs.to_owned())]);
        apply(&found.edits).unwrap();
        assert_eq!(text(root, "etc/fstab"), format!("{theirs}\n"));
        assert_eq!(removal(root, "mysqldata").unwrap().edits, []);
    }

    #[test]
    fn the_key_socket_is_enabled_and_disabled_with_the_rest() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        let key = KeySource::Service { program: PathBuf::from("/usr/bin/sealant"), arguments: vec!["x".to_owned()] };
        let boot = Boot { name: "my-data".to_owned(), key, ..boot() };
        apply(&boot.edits(root).unwrap()).unwrap();
        let units = root.join("etc/systemd/system");
        let link = units.join("systemd-cryptsetup@my\\x2ddata.service.requires/sealant-key-my-data.socket");
        assert_eq!(fs::read_link(&link).unwrap(), Path::new("/etc/systemd/system/sealant-key-my-data.socket"));
        assert!(boot.edits(root).unwrap().iter().all(|edit| edit.added.is_empty()));
        apply(&removal(root, "my-data").unwrap().edits).unwrap();
        assert_eq!(fs::read_dir(&units).unwrap().count(), 0);
    }

    #[test]
    fn another_mount_at_the_mount_point_is_refused() {
        let tree = tempfile::tempdir().unwrap();
        let tree = tree.path();
        let host = Host { proc: tree.join("proc"), sys: tree.join("sys"), etc: tree.join("etc") };
        let dm = host.sys.join("class/block/dm-0");
        fs::create_dir_all(dm.join("dm")).unwrap();
        fs::create_dir_all(host.proc.join("self")).unwrap();
        fs::write(dm.join("dev"), "253:0\n").unwrap();
        fs::write(dm.join("dm/name"), "mysqldata\n").unwrap();
        let mounted = |number: &str, uuid: &str| {
            fs::write(dm.join("dm/uuid"), format!("CRYPT-LUKS2-{uuid}-mysqldata\n")).unwrap();
            let table = format!("36 35 {number} / /var/lib/mysql rw - ext4 /dev/x rw\n");
            fs::write(host.proc.join("self/mountinfo"), table).unwrap();
            Boot { directory: PathBuf::from("/var/lib/mysql/"), ..boot() }.mounted(&host)
        };
        assert!(mounted("253:0", &UUID.replace('-', "")).unwrap());
        assert!(mounted("8:1", &UUID.replace('-', "")).is_err());
        assert!(mounted("253:0", "13").is_err(), "another volume of the same name");
        fs::write(host.proc.join("self/mountinfo"), "").unwrap();
        assert!(!boot().mounted(&host).unwrap());
    }

    #[test]
    fn a_file_created_before_the_immutable_flag_is_reported() {
        let directory = tempfile::tempdir().unwrap();
        check_empty(directory.path()).unwrap();
        fs::write(directory.path().join("ibdata1"), "").unwrap();
        assert!(check_empty(directory.path()).unwrap_err().to_string().contains("ibdata1 was created while"));
    }

    #[test]
    fn arguments_of_the_key_service_are_quoted() {
        let key = KeySource::Service {
            program: PathBuf::from("/usr/bin/sealant"),
            arguments: vec!["--command".to_owned(), "a \"b\" $c 100%".to_owned()],
        };
        let boot = Boot { key, ..boot() };
        let [_, (file, service)] = boot.key_units().unwrap();
        assert_eq!(file, "sealant-key-mysqldata@.service");
        assert!(service.contains("luks key serve \"--command\" \"a \\\"b\\\" $$c 100%%\"\n"), "{service}");
        assert!(boot.crypttab().contains(" /run/sealant/mysqldata.sock "));
    }
}
