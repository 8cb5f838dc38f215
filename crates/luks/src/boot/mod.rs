//! A volume that comes back at every boot, and a server that starts with it or not at all.
//!
//! Three places make it so: a line of `crypttab`, a line of `fstab`, and a drop-in of the server's unit. Sources:
//! crypttab(5), systemd.mount(5), systemd.unit(5); the combination was tried through clean reboots, power cuts and a
//! missing key.

mod check;
mod table;

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

pub use check::{Checked, Fault, check};
pub use table::Conflict;

use crate::device::{DeviceError, FileSystem};
use check::escaped;
use table::{line_of, with_line, without_line};

/// Where the key comes from at boot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeySource {
    /// A file.
    File(PathBuf),
    /// What `sealant luks key serve` with these arguments hands out over a socket that systemd listens on.
    Service {
        /// The program.
        program: PathBuf,
        /// Its arguments behind `luks key serve`.
        arguments: Vec<String>,
    },
}

/// What is to happen at boot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Boot {
    /// The volume's name in `/dev/mapper`.
    pub name: String,
    /// The volume's UUID.
    pub uuid: String,
    /// Where it is mounted.
    pub directory: PathBuf,
    /// The file system in it.
    pub file_system: FileSystem,
    /// The key.
    pub key: KeySource,
    /// Units that need it, such as `mariadb.service`.
    pub units: Vec<String>,
    /// Seconds that the device may take to appear.
    pub patience: u32,
    /// Encrypt without work queues.
    pub no_queues: bool,
    /// Let TRIM through.
    pub discards: bool,
}

/// A file and what is to be in it; none if it goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// Which.
    pub path: PathBuf,
    /// Its text.
    pub text: Option<String>,
    /// What is new in it, for people; empty if it stays as it is.
    pub added: Vec<String>,
}

/// Where systemd listens for it.
fn socket_path(name: &str) -> PathBuf {
    Path::new("/run/sealant").join(format!("{name}.sock"))
}

impl Boot {
    /// The line of `crypttab`. Without its key the host boots all the same (`nofail`), and nobody is asked
    /// (`headless`).
    #[must_use]
    pub fn crypttab(&self) -> String {
        let key = match &self.key {
            KeySource::File(path) => path.clone(),
            KeySource::Service { .. } => socket_path(&self.name),
        };
        let mut options = vec!["luks", "nofail", "headless"];
        if self.no_queues {
            options.extend(["no-read-workqueue", "no-write-workqueue"]);
        }
        if self.discards {
            options.push("discard");
        }
        format!("{} UUID={} {} {}", self.name, self.uuid, key.display(), options.join(","))
    }

    /// The line of `fstab`.
    #[must_use]
    pub fn fstab(&self) -> String {
        format!(
            "/dev/mapper/{} {} {} noatime,nofail,x-systemd.device-timeout={} 0 2",
            self.name,
            self.directory.display(),
            self.file_system.as_str(),
            self.patience
        )
    }

    /// The drop-in of each unit: it is started after the mount, and not without it.
    #[must_use]
    pub fn drop_in(&self) -> String {
        format!("# Made by `sealant luks boot install`.\n[Unit]\nRequiresMountsFor={}\n", self.directory.display())
    }

    /// The socket and the service that hand out the key; none if it is a file.
    #[must_use]
    pub fn key_units(&self) -> Option<[(String, String); 2]> {
        let KeySource::Service { program, arguments } = &self.key else { return None };
        let (name, instance) = (&self.name, escaped(&self.name));
        let listener = format!(
            "# Made by `sealant luks boot install`.\n[Unit]\nDescription=Key of the volume {name}\nDefaultDependencies=no\n\
             Before=cryptsetup-pre.target systemd-cryptsetup@{instance}.service\nWants=cryptsetup-pre.target\n\n\
             [Socket]\nListenStream={}\nSocketMode=0600\nAccept=yes\n\n\
             [Install]\nRequiredBy=systemd-cryptsetup@{instance}.service\n",
            socket_path(name).display()
        );
        let words: Vec<String> = arguments.iter().map(|word| quoted(word)).collect();
        let service = format!(
            "# Made by `sealant luks boot install`.\n[Unit]\nDescription=Key of the volume {name}\nDefaultDependencies=no\n\n\
             [Service]\nExecStart={} luks key serve {}\nStandardOutput=socket\nStandardError=journal\n",
            program.display(),
            words.join(" ")
        );
        Some([(format!("sealant-key-{name}.socket"), listener), (format!("sealant-key-{name}@.service"), service)])
    }

    /// What would have to be written below `root`. Nothing is changed.
    ///
    /// # Errors
    /// [`DeviceError::Refused`] if a table says otherwise of this name or directory already.
    pub fn edits(&self, root: &Path) -> Result<Vec<Edit>, DeviceError> {
        let directory = self.directory.to_string_lossy();
        if !self.directory.is_absolute() || directory.contains(|c: char| c.is_whitespace() || c == '\\' || c == '%') {
            return Err(DeviceError::refused(&self.directory, "has to be an absolute path without blanks, \\ and %"));
        }
        let mut edits = vec![
            edit_table(&root.join("etc/crypttab"), 0, &self.name, &self.crypttab())?,
            edit_table(&root.join("etc/fstab"), 1, &self.directory.to_string_lossy(), &self.fstab())?,
        ];
        for unit in &self.units {
            edits.push(edit_file(&drop_in_path(root, unit, &self.name), &self.drop_in())?);
        }
        for (file, text) in self.key_units().into_iter().flatten() {
            edits.push(edit_file(&root.join("etc/systemd/system").join(file), &text)?);
        }
        Ok(edits)
    }
}

/// What has to go so that nothing of `name` happens at boot any more.
///
/// # Errors
/// [`DeviceError::Io`].
pub fn removal(root: &Path, name: &str) -> Result<Vec<Edit>, DeviceError> {
    let mut edits = Vec::new();
    let device = format!("/dev/mapper/{name}");
    for (file, field, key) in [("etc/crypttab", 0, name), ("etc/fstab", 0, device.as_str())] {
        let path = root.join(file);
        let text = read(&path)?;
        let added = line_of(&text, field, key).map(|line| format!("- {line}")).into_iter().collect();
        edits.push(Edit { text: Some(without_line(&text, field, key)), path, added });
    }
    let units = root.join("etc/systemd/system");
    let own = format!("sealant-luks-{name}.conf");
    for entry in fs::read_dir(&units).into_iter().flatten().flatten() {
        let path = entry.path();
        let file = entry.file_name().to_string_lossy().into_owned();
        let key_unit = file == format!("sealant-key-{name}.socket") || file == format!("sealant-key-{name}@.service");
        for path in [path.join(&own), path].into_iter().filter(|p| p.is_file()) {
            if key_unit || path.ends_with(&own) {
                edits.push(Edit { added: vec!["- the file".to_owned()], path, text: None });
            }
        }
    }
    edits.retain(|edit| !edit.added.is_empty());
    Ok(edits)
}

/// Writes edits; each file is whole, as before or as after, also if the power fails.
///
/// # Errors
/// [`DeviceError::Io`].
pub fn apply(edits: &[Edit]) -> Result<(), DeviceError> {
    for edit in edits.iter().filter(|edit| !edit.added.is_empty()) {
        let io = || DeviceError::io(&edit.path);
        let Some(text) = &edit.text else {
            fs::remove_file(&edit.path).map_err(io())?;
            // The drop-in directory goes with its last file.
            if let Some(parent) = edit.path.parent().filter(|parent| parent.extension().is_some_and(|end| end == "d")) {
                let _ = fs::remove_dir(parent);
            }
            continue;
        };
        if let Some(parent) = edit.path.parent() {
            fs::create_dir_all(parent).map_err(io())?;
        }
        let mode = fs::metadata(&edit.path).map_or(0o644, |metadata| metadata.permissions().mode() & 0o7777);
        let placing = place::Placing { mode, ..place::Placing::PUBLIC }.replacing(true);
        place::place(&edit.path, text.as_bytes(), placing).map_err(io())?;
    }
    Ok(())
}

/// The drop-in of a unit that is ours.
fn drop_in_path(root: &Path, unit: &str, name: &str) -> PathBuf {
    root.join("etc/systemd/system").join(format!("{unit}.d")).join(format!("sealant-luks-{name}.conf"))
}

fn edit_table(path: &Path, field: usize, key: &str, line: &str) -> Result<Edit, DeviceError> {
    let text = read(path)?;
    match with_line(&text, field, key, line) {
        Ok(None) => Ok(Edit { path: path.to_owned(), text: Some(text), added: Vec::new() }),
        Ok(Some(changed)) => Ok(Edit { path: path.to_owned(), text: Some(changed), added: vec![format!("+ {line}")] }),
        Err(Conflict { line }) => {
            let why = format!("says otherwise already: `{line}`; `sealant luks boot remove` takes our own lines away");
            Err(DeviceError::refused(path, why))
        }
    }
}

fn edit_file(path: &Path, text: &str) -> Result<Edit, DeviceError> {
    let there = read(path)?;
    if there == text {
        return Ok(Edit { path: path.to_owned(), text: Some(there), added: Vec::new() });
    }
    let added = text.lines().map(|line| format!("+ {line}")).collect();
    Ok(Edit { path: path.to_owned(), text: Some(text.to_owned()), added })
}

/// A file that is not there is an empty one.
fn read(path: &Path) -> Result<String, DeviceError> {
    match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        other => other.map_err(DeviceError::io(path)),
    }
}

/// An argument as systemd reads it. Source: systemd.service(5), "Command lines".
fn quoted(word: &str) -> String {
    let escaped = word.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%").replace('$', "$$");
    format!("\"{escaped}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boot() -> Boot {
        Boot {
            name: "mysqldata".to_owned(),
            uuid: "1-2".to_owned(),
            directory: PathBuf::from("/var/lib/mysql"),
            file_system: FileSystem::Ext4,
            key: KeySource::File(PathBuf::from("/etc/sealant/mysqldata.key")),
            units: vec!["mariadb.service".to_owned()],
            patience: 60,
            no_queues: true,
            discards: false,
        }
    }

    fn text(root: &Path, file: &str) -> String {
        fs::read_to_string(root.join(file)).unwrap()
    }

    #[test]
    fn installed_twice_is_installed_once_and_removed_is_as_before() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        fs::create_dir_all(root.join("etc/systemd/system")).unwrap();
        fs::write(root.join("etc/fstab"), "# the root\nUUID=x / ext4 defaults 0 1").unwrap();
        apply(&boot().edits(root).unwrap()).unwrap();
        let (crypttab, fstab) = (text(root, "etc/crypttab"), text(root, "etc/fstab"));
        assert_eq!(
            crypttab,
            "mysqldata UUID=1-2 /etc/sealant/mysqldata.key luks,nofail,headless,no-read-workqueue,no-write-workqueue\n"
        );
        assert!(
            fstab.starts_with("# the root\nUUID=x / ext4 defaults 0 1\n/dev/mapper/mysqldata /var/lib/mysql ext4 ")
        );
        assert!(
            text(root, "etc/systemd/system/mariadb.service.d/sealant-luks-mysqldata.conf")
                .ends_with("[Unit]\nRequiresMountsFor=/var/lib/mysql\n")
        );
        assert!(boot().edits(root).unwrap().iter().all(|edit| edit.added.is_empty()));
        apply(&removal(root, "mysqldata").unwrap()).unwrap();
        assert_eq!(text(root, "etc/crypttab"), "");
        assert_eq!(text(root, "etc/fstab"), "# the root\nUUID=x / ext4 defaults 0 1\n");
        assert_eq!(fs::read_dir(root.join("etc/systemd/system")).unwrap().count(), 0);
        assert_eq!(removal(root, "mysqldata").unwrap(), []);
    }

    #[test]
    fn a_table_that_says_otherwise_is_refused() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("etc")).unwrap();
        fs::write(root.path().join("etc/crypttab"), "mysqldata /dev/sdb none\n").unwrap();
        assert!(boot().edits(root.path()).unwrap_err().to_string().contains("says otherwise"));
        fs::write(root.path().join("etc/crypttab"), "").unwrap();
        fs::write(root.path().join("etc/fstab"), "/dev/sdc /var/lib/mysql xfs defaults 0 0\n").unwrap();
        assert!(boot().edits(root.path()).unwrap_err().to_string().contains("says otherwise"));
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
