//! LUKS headers of open volumes: found through `/sys`, judged from their bytes.

use std::fs::File;
use std::path::Path;

use ::luks::{
    Code, DeviceInfo,
    device::{self, Block},
};

use super::view::Host;
use crate::facts::host::{LuksDisk, LuksFinding};

/// Every open LUKS volume of this host, with the findings about its header. `dev` is `/dev`.
pub(super) fn collect(host: &Host, dev: &Path) -> Vec<LuksDisk> {
    let host = host.devices();
    let mut volumes = Block::all_mapped(&host);
    volumes.retain(Block::is_luks);
    volumes.sort_by(|one, other| one.name.cmp(&other.name));
    volumes.iter().filter_map(|volume| judged_volume(volume, &host, dev)).collect()
}

fn judged_volume(volume: &Block, host: &device::Host, dev: &Path) -> Option<LuksDisk> {
    let disk = volume.disk(host)?;
    let device = dev.join(&disk.name);
    let judged = judge(&device, &disk);
    let unseen = judged.as_ref().err().cloned();
    Some(LuksDisk {
        kernel_name: volume.name.clone(),
        name: volume.mapper_name().unwrap_or_else(|| volume.name.clone()),
        device: device.to_string_lossy().into_owned(),
        findings: judged.unwrap_or_default(),
        unseen,
    })
}

fn judge(device: &Path, disk: &Block) -> Result<Vec<LuksFinding>, String> {
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", device.display());
    let file = File::open(device).map_err(|error| failed(&error))?;
    let info = DeviceInfo {
        device_bytes: Some(disk.bytes()).filter(|bytes| *bytes > 0),
        physical_block_bytes: disk.queue("physical_block_size").and_then(|bytes| u32::try_from(bytes).ok()),
        whole_device: true,
    };
    let report = ::luks::audit(&file, &info, None).map_err(|error| failed(&error))?;
    if report.findings.iter().any(|finding| finding.code == Code::NotLuks) {
        return Err(format!("{}: no header there; it lies on another device", device.display()));
    }
    let kept = report.findings.into_iter().map(|finding| LuksFinding {
        code: finding.code.as_str().to_owned(),
        severity: finding.severity_text().to_owned(),
        detail: finding.detail,
    });
    Ok(kept.collect())
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

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
            fs::write(path.join("dev"), "253:0\n").unwrap();
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
