//! Every header in testdata/luks has exactly the findings that headers.json lists, whether the file ends after the
//! header or is padded with zeros to the size of the image.

mod common;

use common::{Sample, padded, samples};
use luks::{DeviceInfo, Report, audit};
use serde_json::Value;

fn judged(sample: &Sample, bytes: &[u8], backup_of: Option<&[u8]>) -> Report {
    let device = DeviceInfo {
        device_bytes: sample.device_bytes,
        physical_block_bytes: sample.physical_block_bytes,
        whole_device: false,
    };
    audit(&bytes, &device, backup_of.as_ref().map(|bytes| bytes as &dyn files::ReadAt)).expect(&sample.name)
}

#[track_caller]
fn check(sample: &Sample, report: &Report) {
    let mut codes: Vec<&str> = report.findings.iter().map(|finding| finding.code.as_str()).collect();
    codes.sort_unstable();
    assert_eq!(codes, sample.findings, "{}: {:#?}", sample.name, report.findings);
    assert_eq!(report.readable.as_str(), sample.readable, "{}", sample.name);
    let header = serde_json::to_value(&report.header).expect("JSON");
    // cryptsetup reads nothing from a truncated file; we do.
    if report.readable.as_str() != "no" && !sample.header.is_null() {
        holds(&header, &sample.header, &sample.name);
    }
}

/// Checks that everything in `wanted` is also in `found`.
#[track_caller]
fn holds(found: &Value, wanted: &Value, location: &str) {
    match wanted {
        Value::Object(fields) => {
            fields.iter().for_each(|(name, field)| holds(&found[name], field, &format!("{location}.{name}")))
        }
        Value::Array(items) => {
            assert_eq!(found.as_array().map(Vec::len), Some(items.len()), "{location}: {found}");
            items.iter().enumerate().for_each(|(at, item)| holds(&found[at], item, &format!("{location}[{at}]")));
        }
        other => assert_eq!(found, other, "{location}"),
    }
}

#[test]
fn findings_and_fields_are_those_listed() {
    let all = samples();
    assert_eq!(all.len(), 60);
    for sample in &all {
        let current = sample.backup_of.as_ref().map(|name| {
            all.iter().find(|other| other.name == *name).unwrap_or_else(|| panic!("no sample {name}")).bytes.as_slice()
        });
        check(sample, &judged(sample, &sample.bytes, current));
        check(sample, &judged(sample, &padded(sample), current));
    }
}

#[test]
fn a_disk_whose_key_slots_are_zero_is_damaged_though_a_bare_header_is_not() {
    let all = samples();
    let sample = all.iter().find(|sample| sample.name == "luks2-good").expect("the sample");
    let disk = DeviceInfo { whole_device: true, ..DeviceInfo::default() };
    let report = audit(&padded(sample), &disk, None).expect("readable");
    assert!(report.findings.iter().any(|finding| finding.code == luks::Code::KeyslotAreaDamaged), "{report:?}");
}

#[test]
fn a_backup_of_another_volume_and_a_current_one_are_distinguished() {
    let all = samples();
    let named = |name: &str| all.iter().find(|sample| sample.name == name).expect("the sample");
    let codes = |backup: &str, of: &str| -> Vec<String> {
        let report = judged(named(backup), &named(backup).bytes, Some(&named(of).bytes));
        report.findings.iter().map(|f| f.code.to_string()).filter(|code| code.starts_with("backup-")).collect()
    };
    assert_eq!(codes("luks2-good", "luks1-2017"), ["backup-other-volume"]);
    assert_eq!(codes("luks2-good", "luks2-good"), Vec::<String>::new());
    assert_eq!(codes("luks1-slots-full", "luks1-slots-full"), Vec::<String>::new());
    let nothing: Vec<u8> = vec![0; 4096];
    assert!(audit(&named("luks2-good").bytes, &DeviceInfo::default(), Some(&nothing)).is_err());
}
