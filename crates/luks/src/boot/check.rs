//! Checks whether the server comes back after a reboot. Runs systemd's own generators on the current tables, with a
//! temporary output directory, and asks for the state of the server's unit: systemd may report "running" without it.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{IFlags, ioctl_getflags};
use tempfile::TempDir;

use super::names::{check_name, check_unit};
use super::options as table_options;
use super::table::{LineSelector, line_of};
use super::write::read;
use super::{UNITS, drop_in_path, key_link, key_unit_names, socket_path};
use crate::Error;
use crate::cryptsetup::{Cryptsetup, device_file};
use crate::device::{Block, Host, hidden_below};
use crate::secret::Secret;
use process::{Output, Program};

/// Where systemd's generators are installed; the first that exists is used.
const GENERATORS: [&str; 2] = ["/usr/lib/systemd/system-generators", "/lib/systemd/system-generators"];
/// Time limit of one systemctl call.
const LIMIT: std::time::Duration = std::time::Duration::from_secs(60);

/// A failed check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedCheck {
    /// Code for scripts.
    pub code: &'static str,
    /// What is wrong, and how to fix it.
    pub what: String,
}

/// Results of the checks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checked {
    /// Passed checks.
    pub good: Vec<String>,
    /// Failed checks.
    pub faults: Vec<FailedCheck>,
}

impl Checked {
    fn note(&mut self, code: &'static str, good: bool, well: impl Into<String>, wrong: impl Into<String>) -> bool {
        if good {
            self.good.push(well.into());
        } else {
            self.faults.push(FailedCheck { code, what: wrong.into() });
        }
        good
    }
}

/// Checks everything that `units` need to start with the volume `name`. Changes nothing.
///
/// # Errors
/// [`Error::Refused`] if nothing was installed for this name, or if it is not a valid name.
pub fn check(
    cryptsetup: &Cryptsetup,
    host: &Host,
    root: &Path,
    name: &str,
    units: &[String],
) -> Result<Checked, Error> {
    check_name(name)?;
    units.iter().try_for_each(|unit| check_unit(unit))?;
    let (crypttab, fstab) = (root.join("etc/crypttab"), root.join("etc/fstab"));
    let text = read(&crypttab)?;
    let Some(volume) = line_of(&text, LineSelector::Crypttab(name)) else {
        return Err(Error::refused(
            &crypttab,
            format!("has no line for {name}; `sealant luks boot install` writes it"),
        ));
    };
    let fields: Vec<&str> = volume.split_whitespace().collect();
    let field = |at: usize| fields.get(at).copied().unwrap_or_default();
    let mut found = Checked::default();
    options(&mut found, "crypttab", field(3), &table_options::CRYPTTAB_NEEDED);
    let text = read(&fstab)?;
    let mount = line_of(&text, LineSelector::Fstab(name));
    found.note("boot-fstab", mount.is_some(), "fstab mounts it", format!("{}: no line for {name}", fstab.display()));
    let directory = mount.and_then(|line| line.split_whitespace().nth(1));
    let directory: Option<PathBuf> = directory.map(|current| Path::new(current).components().collect());
    if let Some(options_of_mount) = mount.and_then(|line| line.split_whitespace().nth(3)) {
        options(&mut found, "fstab", options_of_mount, &table_options::FSTAB_NEEDED);
    }
    if Path::new(field(2)) == socket_path(name) {
        served(&mut found, root, name)?;
    } else {
        let path = below(root, Path::new(field(2)));
        // Links below /dev belong to the running system, which may have another volume of the same name.
        let device = (root == Path::new("/")).then(|| field(1));
        key(&mut found, cryptsetup, device, &path);
    }
    if let Some(directory) = &directory {
        generated(&mut found, (&crypttab, &fstab), name, directory)?;
        guarded(&mut found, host, &below(root, directory), name);
        for unit in units {
            let drop_in = read(&drop_in_path(root, unit, name))?;
            let wanted = format!("RequiresMountsFor={}", directory.display());
            let there = drop_in.lines().any(|line| line.trim() == wanted);
            let wrong = format!("{unit}: no drop-in with {wanted}; `sealant luks boot install` writes it");
            found.note("boot-drop-in", there, format!("{unit} requires the mount"), wrong);
            if root == Path::new("/") {
                state(&mut found, unit, name, directory);
            }
        }
    }
    Ok(found)
}

fn options(found: &mut Checked, table: &str, options: &str, wanted: &[&str]) {
    for option in wanted {
        let there = options.split(',').any(|current| current == *option);
        let wrong = format!("{table}: {option} is missing: without the key the host may not boot");
        found.note("boot-options", there, format!("{table} has {option}"), wrong);
    }
}

/// Path of `path` inside the system at `root`.
fn below(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

/// Checks that the units which provide the key exist and that opening the volume starts them. Does not ask for the key
/// itself: only systemd may.
fn served(found: &mut Checked, root: &Path, name: &str) -> Result<(), Error> {
    for file in key_unit_names(name) {
        let there = !read(&root.join(UNITS).join(&file))?.is_empty();
        let wrong =
            format!("{file} does not exist, so nothing provides the key; `sealant luks boot install` writes it");
        found.note("boot-key-unit", there, format!("{file} is there"), wrong);
    }
    let (link, to) = key_link(root, name);
    let enabled = fs::read_link(&link).is_ok_and(|there| there.file_name() == to.file_name());
    let wrong = format!(
        "{}: no link to the socket, so nothing listens for requests of the key; `sealant luks boot install` creates it",
        link.display()
    );
    found.note("boot-key-enabled", enabled, format!("the key comes over {}", socket_path(name).display()), wrong);
    if root == Path::new("/") {
        let roots = files::runtime::check();
        let wrong = roots.as_ref().err().map(ToString::to_string).unwrap_or_default();
        found.note("boot-key-directory", roots.is_ok(), "only root decides what listens there".to_owned(), wrong);
    }
    Ok(())
}

/// Checks that the key opens the volume, if the device is present, and that only root may read the key file.
fn key(found: &mut Checked, cryptsetup: &Cryptsetup, device: Option<&str>, path: &Path) {
    let key = path.display();
    let metadata = fs::metadata(path);
    let wrong = format!("{key}: the key file does not exist: the server will stay down");
    if !found.note("boot-key", metadata.is_ok(), format!("{key} is there"), wrong) {
        return;
    }
    if let Ok(metadata) = metadata {
        let private = metadata.permissions().mode() & 0o077 == 0 && metadata.uid() == 0;
        let wrong = format!("{key}: users other than root may read it; `chown root {key}; chmod 400 {key}`");
        found.note("boot-key-mode", private, format!("only root may read {key}"), wrong);
    }
    let Some(device) = device else { return };
    let device = match device.strip_prefix("UUID=") {
        Some(uuid) => Path::new("/dev/disk/by-uuid").join(uuid),
        None => PathBuf::from(device),
    };
    let opens = fs::File::open(path).and_then(|mut file| Secret::read(&mut file)).map_err(|error| error.to_string());
    let opens = opens.and_then(|key| cryptsetup.opens(&device, &key, None).map_err(|error| error.to_string()));
    let wrong = match &opens {
        Err(error) => error.clone(),
        _ => format!("{key}: opens nothing on {}", device.display()),
    };
    found.note("boot-key", matches!(opens, Ok(Some(_))), format!("{key} opens {}", device.display()), wrong);
}

/// Checks the units that systemd's generators create from the tables.
fn generated(
    found: &mut Checked,
    (crypttab, fstab): (&Path, &Path),
    name: &str,
    directory: &Path,
) -> Result<(), Error> {
    let scratch = scratch().map_err(Error::io(&std::env::temp_dir()))?;
    let into = |file: &str| scratch.path().join(file);
    for generator in ["systemd-cryptsetup-generator", "systemd-fstab-generator"] {
        let program = GENERATORS.iter().map(|location| Path::new(location).join(generator)).find(|path| path.exists());
        let ran = program.is_some_and(|program| generate(&program, crypttab, fstab, scratch.path(), LIMIT));
        let wrong = format!("{generator} does not exist, or fails on these tables, or takes too long");
        found.note("boot-generator", ran, format!("{generator} accepts the tables"), wrong);
    }
    let unit = |file: &str| fs::read_to_string(into(file)).unwrap_or_default();
    let cryptsetup = format!("systemd-cryptsetup@{}.service", escaped(name));
    let opens = unit(&cryptsetup).contains("headless");
    let wrong = format!("the generator creates no {cryptsetup} that opens it without asking");
    found.note("boot-generated", opens, format!("{cryptsetup} opens it without asking"), wrong);
    let inner = device_file(name).display().to_string();
    let mount = format!("{}.mount", escaped(&directory.to_string_lossy()));
    let mounts = unit(&mount).lines().any(|line| line.trim() == format!("What={inner}"));
    let wrong = format!("the generator creates no {mount} of {inner}");
    found.note("boot-generated", mounts, format!("{mount} mounts it"), wrong);
    let required = into("local-fs.target.requires").join(&mount).exists();
    let wrong = format!("{mount} is required by local-fs.target: without the key the host ends in its emergency shell");
    found.note("boot-generated", !required, format!("the boot continues without {mount}"), wrong);
    Ok(())
}

/// Runs one generator on these tables; returns whether it succeeded.
fn generate(program: &Path, crypttab: &Path, fstab: &Path, into: &Path, limit: std::time::Duration) -> bool {
    let generator = Program::at(program).env("SYSTEMD_CRYPTTAB", crypttab).env("SYSTEMD_FSTAB", fstab);
    let output = generator.args([into, into, into]).limit(limit).output();
    output.is_ok_and(|output| output.as_ref().is_some_and(Output::is_success))
}

/// A temporary directory that other users can neither create in advance nor write to.
fn scratch() -> io::Result<TempDir> {
    tempfile::Builder::new().prefix("sealant-generators-").permissions(fs::Permissions::from_mode(0o700)).tempdir()
}

/// Checks that the volume is mounted at its mount point or, if it is not, that nothing can be written there.
fn guarded(found: &mut Checked, host: &Host, directory: &Path, name: &str) {
    if let Some(mount) = host.mounted_at(directory) {
        let ours = Block::mapped(host, name).is_some_and(|block| block.number == mount.device);
        let wrong = format!("{}: something else is mounted there", directory.display());
        found.note("boot-mounted", ours, format!("the volume is mounted at {}", directory.display()), wrong);
        hidden(found, directory);
        return;
    }
    let immutable = fs::File::open(directory)
        .is_ok_and(|handle| ioctl_getflags(&handle).is_ok_and(|flags| flags.contains(IFlags::IMMUTABLE)));
    let wrong = format!(
        "{}: not mounted, and not immutable: a server could write there in plain; `sealant luks mount` guards it",
        directory.display()
    );
    found.note("boot-guard", immutable, format!("{} is immutable while unmounted", directory.display()), wrong);
}

/// Checks that no files lie below the volume: files written before it was mounted stay there in plaintext, invisible.
fn hidden(found: &mut Checked, directory: &Path) {
    let shown = directory.display();
    let wrong = match hidden_below(directory) {
        Ok(None) => return found.good.push(format!("nothing is hidden below {shown}")),
        Ok(Some(name)) => format!(
            "{shown}: {} lies in plaintext below the volume; stop the server, unmount, `chattr -i`, and move it",
            name.to_string_lossy()
        ),
        // Fails on older kernels, and for users other than root.
        Err(_) => return,
    };
    found.faults.push(FailedCheck { code: "boot-hidden", what: wrong });
}

/// Reports the unit's state, and the dependency that keeps it from starting.
fn state(found: &mut Checked, unit: &str, name: &str, directory: &Path) {
    let property = |unit: &str, name: &str| show(unit, name).unwrap_or_default();
    let mount = format!("{}.mount", escaped(&directory.to_string_lossy()));
    let requires = property(unit, "Requires").split_whitespace().any(|current| current == mount);
    let wrong = format!("{unit}: systemd does not know that it requires {mount}; `systemctl daemon-reload`");
    found.note("boot-unit", requires, format!("systemd knows that {unit} requires {mount}"), wrong);
    let enabled = property(unit, "UnitFileState");
    let wrong = format!("{unit} is {enabled}, so it does not start at boot; `systemctl enable {unit}`");
    found.note("boot-enabled", enabled == "enabled", format!("{unit} starts at boot"), wrong);
    let active = property(unit, "ActiveState");
    let mut wrong = format!("{unit} is {active} now");
    for below in [mount, format!("systemd-cryptsetup@{}.service", escaped(name))] {
        let (state, result) = (property(&below, "ActiveState"), property(&below, "Result"));
        if state != "active" {
            wrong.push_str(&format!("; {below} is {state} ({result})"));
        }
    }
    found.note("boot-server", active == "active", format!("{unit} is active now"), wrong);
}

fn show(unit: &str, property: &str) -> Option<String> {
    let show = Program::find_admin("systemctl")?.args(["show", "--value", "--property", property, "--", unit]);
    Some(show.limit(LIMIT).output().ok()??.stdout.trim().to_owned())
}

/// A path or name, escaped as systemd does in unit names. Source: systemd.unit(5), "String escaping".
pub(super) fn escaped(text: &str) -> String {
    let text = text.trim_matches('/');
    let mut name = String::new();
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'/' => name.push('-'),
            b'.' if at == 0 => name.push_str("\\x2e"),
            _ if byte.is_ascii_alphanumeric() || b":_.".contains(&byte) => name.push(char::from(byte)),
            _ => name.push_str(&format!("\\x{byte:02x}")),
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unit_names_are_escaped() {
        assert_eq!(escaped("/var/lib/mysql"), "var-lib-mysql");
        assert_eq!(escaped("/srv/my-sql/.x y"), "srv-my\\x2dsql-.x\\x20y");
        assert_eq!(escaped("mysql-data"), "mysql\\x2ddata");
    }

    #[test]
    fn a_generator_gets_the_tables_a_private_directory_and_a_time_limit() {
        let programs = tempfile::tempdir().unwrap();
        let (written, program) = (programs.path().join("written"), programs.path().join("generator"));
        let (crypttab, fstab) = (Path::new("/root of/crypttab"), Path::new("/root of/fstab"));
        let ran = |script: &str, into: &Path, limit: std::time::Duration| {
            fs::write(&written, format!("#!/bin/sh\n{script}\n")).unwrap();
            // `install` writes it in a process of its own: the kernel does not execute a file that a forked child of
            // ours still holds open for writing.
            let install = Program::find_admin("install").unwrap().args(["-m", "755", "--"]).args([&written, &program]);
            assert!(install.limit(LIMIT).output().unwrap().unwrap().is_success());
            generate(&program, crypttab, fstab, into, limit)
        };
        let scratch = scratch().unwrap();
        let into = scratch.path().to_owned();
        assert_eq!(fs::metadata(&into).unwrap().permissions().mode() & 0o7777, 0o700);
        assert!(ran("echo \"$SYSTEMD_CRYPTTAB $SYSTEMD_FSTAB\" > \"$1/said\"", &into, LIMIT));
        assert_eq!(fs::read_to_string(into.join("said")).unwrap(), "/root of/crypttab /root of/fstab\n");
        assert!(!ran("exit 1", &into, LIMIT));
        assert!(!ran("exec sleep 60", &into, std::time::Duration::from_millis(50)));
        drop(scratch);
        assert!(!into.exists());
    }

    #[test]
    fn the_units_and_link_of_a_key_socket_are_checked() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        let codes = || {
            let mut found = Checked::default();
            served(&mut found, root, "data").unwrap();
            found.faults.iter().map(|fault| fault.code).collect::<Vec<_>>()
        };
        assert_eq!(codes(), ["boot-key-unit", "boot-key-unit", "boot-key-enabled"]);
        let (link, to) = key_link(root, "data");
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        for file in key_unit_names("data") {
            fs::write(root.join(UNITS).join(file), "[Unit]\n").unwrap();
        }
        assert_eq!(codes(), ["boot-key-enabled"]);
        std::os::unix::fs::symlink(to, link).unwrap();
        assert_eq!(codes(), [""; 0]);
    }

    #[test]
    fn paths_are_below_the_root() {
        assert_eq!(below(Path::new("/img"), Path::new("/etc/key")), Path::new("/img/etc/key"));
        assert_eq!(below(Path::new("/"), Path::new("/etc/key")), Path::new("/etc/key"));
    }
}
