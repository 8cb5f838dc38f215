//! The headers in testdata/luks.

#![allow(dead_code, reason = "each test file uses its own part of this")]

use std::path::{Path, PathBuf};

use serde_json::Value;

/// A header and its expected findings.
pub(crate) struct Sample {
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
    pub(crate) readable: String,
    pub(crate) findings: Vec<String>,
    pub(crate) header: Value,
    pub(crate) device_bytes: Option<u64>,
    pub(crate) physical_block_bytes: Option<u32>,
    pub(crate) backup_of: Option<String>,
    pub(crate) image_bytes: usize,
    /// Whether key slots are stored.
    pub(crate) opens: bool,
}

/// All samples.
pub(crate) fn samples() -> Vec<Sample> {
    let index: Value =
        serde_json::from_slice(&std::fs::read(directory().join("headers.json")).expect("the index")).expect("JSON");
    index["headers"].as_array().expect("a list").iter().map(sample).collect()
}

fn sample(entry: &Value) -> Sample {
    let text = |name: &str| entry[name].as_str().map(str::to_owned);
    let name = text("name").expect("a name");
    let packed = std::fs::read(directory().join(format!("{name}.zst"))).expect(&name);
    Sample {
        bytes: zstd::decode_all(packed.as_slice()).expect(&name),
        readable: text("readable").expect("readable"),
        findings: entry["findings"]
            .as_array()
            .expect("findings")
            .iter()
            .filter_map(|code| code.as_str().map(str::to_owned))
            .collect(),
        header: entry["header"].clone(),
        device_bytes: entry["device_bytes"].as_u64(),
        physical_block_bytes: entry["physical_block_bytes"].as_u64().and_then(|bytes| u32::try_from(bytes).ok()),
        backup_of: text("backup_of"),
        image_bytes: entry["image_bytes"].as_u64().and_then(|bytes| usize::try_from(bytes).ok()).expect("a size"),
        opens: entry.get("opens_with").is_some(),
        name,
    }
}

/// The image, with zeros where nothing was stored.
pub(crate) fn padded(sample: &Sample) -> Vec<u8> {
    let mut bytes = sample.bytes.clone();
    bytes.resize(sample.image_bytes.max(bytes.len()), 0);
    bytes
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/luks")
}
