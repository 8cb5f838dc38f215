//! The sample files of testdata/.
#![allow(dead_code, reason = "every test file uses another part")]

use std::{fs, path::PathBuf};

/// Directory of the samples.
pub(crate) fn testdata() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata")
}

/// A sample, unpacked if it is stored packed.
pub(crate) fn sample(name: &str) -> Vec<u8> {
    let path = testdata().join(name);
    match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(_) => {
            let packed = fs::File::open(testdata().join(format!("{name}.zst")))
                .unwrap_or_else(|error| panic!("{name}: {error}"));
            let mut bytes = Vec::new();
            zstd::stream::copy_decode(packed, &mut bytes).expect("samples are whole");
            bytes
        }
    }
}

/// All samples of a directory: name without `.zst`, bytes.
pub(crate) fn samples(directory: &str) -> Vec<(String, Vec<u8>)> {
    let mut names: Vec<String> = fs::read_dir(testdata().join(directory))
        .expect("the samples are there")
        .map(|entry| entry.expect("readable").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
        .into_iter()
        .map(|name| {
            let name = name.trim_end_matches(".zst").to_owned();
            let bytes = sample(&format!("{directory}/{name}"));
            (name, bytes)
        })
        .collect()
}
