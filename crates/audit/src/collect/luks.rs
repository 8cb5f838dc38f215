//! LUKS headers of open volumes: found through `/sys`, judged from their bytes.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use ::luks::{Code, DeviceInfo};

use super::view::Host;
use crate::facts::host::{LuksDisk, LuksFinding};

/// Maximum number of layers between a volume and its disk; dm-integrity is one.
const MAX_DEPTH: usize = 8;

/// Every open LUKS volume of this host, with the findings about its header. `dev` is `/dev`.
pub(super) fn collect(host: &Host, dev: &Path) -> Vec<LuksDisk> {
    let blocks = fs::read_dir(host.sys.join("class/block")).into_iter().flatten().flatten();
    let mut volumes: Vec<PathBuf> = blocks.map(|entry| entry.path()).filter(|block| is_luks(block)).collect();
    volumes.sort();
    volumes.iter().filter_map(|block| volume(block, dev)).collect()
}

/// cryptsetup gives every volume that it opens a UUID such as `CRYPT-LUKS2-0123…-name`.
fn is_luks(block: &Path) -> bool {
    line(&block.join("dm/uuid")).is_some_and(|uuid| uuid.starts_with("CRYPT-LUKS"))
}

fn volume(block: &Path, dev: &Path) -> Option<LuksDisk> {
    let disk = lowest(block)?;
    let kernel_name = block.file_name()?.to_string_lossy().into_owned();
    let name = line(&block.join("dm/name")).unwrap_or_else(|| kernel_name.clone());
    let device = dev.join(disk.file_name()?);
    let judged = judge(&device, &disk);
    let unseen = judged.as_ref().err().cloned();
    Some(LuksDisk {
        kernel_name,
        name,
        device: device.to_string_lossy().into_owned(),
        findings: judged.unwrap_or_default(),
        unseen,
    })
}

/// The disk below a volume: its only slave, or that one's slave if it is a part of the volume.
fn lowest(block: &Path) -> Option<PathBuf> {
    let mut at = fs::canonicalize(block).ok()?;
    for _ in 0..MAX_DEPTH {
        let mut slaves = fs::read_dir(at.join("slaves")).ok()?.flatten().map(|entry| entry.path());
        at = fs::canonicalize(slaves.next()?).ok()?;
        if !line(&at.join("dm/uuid")).is_some_and(|uuid| uuid.starts_with("CRYPT-SUBDEV")) {
            return Some(at);
        }
    }
    None
}

fn judge(device: &Path, disk: &Path) -> Result<Vec<LuksFinding>, String> {
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", device.display());
    let file = File::open(device).map_err(|error| failed(&error))?;
    let number = |name: &str| line(&disk.join(name))?.parse().ok();
    let info = DeviceInfo {
        // The kernel counts in units of 512 bytes.
        device_bytes: number("size").map(|sectors: u64| sectors.saturating_mul(512)),
        physical_block_bytes: number("queue/physical_block_size")
            .or_else(|| number("../queue/physical_block_size"))
            .and_then(|bytes| u32::try_from(bytes).ok()),
        whole_device: true,
    };
    let report = ::luks::audit(&file, &info, None).map_err(|error| failed(&error))?;
    if report.findings.iter().any(|finding| finding.code == Code::NotLuks) {
        return Err(format!("{}: no header there; it lies on another device", device.display()));
    }
    let kept = report.findings.into_iter().map(|finding| LuksFinding {
        code: finding.code.as_str().to_owned(),
        severity: finding.severity.as_str().to_owned(),
        detail: finding.detail,
    });
    Ok(kept.collect())
}

fn line(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim_end().to_owned()).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A `/sys` with one open volume on `sda`, or on dm-integrity on it, and a `/dev` with that disk.
    fn machine(integrity: bool, header: Option<&[u8]>) -> Vec<LuksDisk> {
        let dir = tempfile::tempdir().unwrap();
        let sys = dir.path().join("sys");
        let device = |name: &str, uuid: &str, below: Option<&str>| {
            let path = sys.join("devices").join(name);
            fs::create_dir_all(path.join("slaves")).unwrap();
            fs::create_dir_all(path.join("dm")).unwrap();
            fs::write(path.join("dm/uuid"), uuid).unwrap();
            fs::write(path.join("dm/name"), "data\n").unwrap();
            if let Some(below) = below {
                symlink(sys.join("devices").join(below), path.join("slaves").join(below)).unwrap();
            }
            fs::create_dir_all(sys.join("class/block")).unwrap();
            symlink(&path, sys.join("class/block").join(name)).unwrap();
        };
        device("sda", "", None);
        if integrity {
            device("dm-1", "CRYPT-SUBDEV-0123-data_dif\n", Some("sda"));
        }
        device("dm-0", "CRYPT-LUKS2-0123-data\n", Some(if integrity { "dm-1" } else { "sda" }));
        fs::create_dir(dir.path().join("dev")).unwrap();
        if let Some(header) = header {
            fs::write(dir.path().join("dev/sda"), header).unwrap();
        }
        collect(&Host { proc: dir.path().to_owned(), sys }, &dir.path().join("dev"))
    }

    fn sample(name: &str) -> Vec<u8> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../testdata/luks/{name}.zst"));
        zstd::decode_all(File::open(path).unwrap()).unwrap()
    }

    #[test]
    fn the_header_below_an_open_volume_is_judged() {
        for integrity in [false, true] {
            let found = machine(integrity, Some(&sample("luks2-cbc-plain")));
            let [disk] = found.as_slice() else { panic!("{found:?}") };
            assert_eq!((disk.kernel_name.as_str(), disk.name.as_str(), &disk.unseen), ("dm-0", "data", &None));
            assert!(disk.device.ends_with("/dev/sda"), "{}", disk.device);
            let has =
                |code: &str| disk.findings.iter().any(|finding| finding.code == code && finding.severity == "high");
            assert!(has("cipher-cbc-predictable-iv") && has("kdf-weak"), "{disk:?}");
        }
    }

    #[test]
    fn an_unreadable_disk_and_a_detached_header_are_unseen() {
        assert!(machine(false, None)[0].unseen.as_ref().unwrap().contains("No such file"));
        assert!(machine(false, Some(&[0; 4096]))[0].unseen.as_ref().unwrap().contains("another device"));
    }
}
