//! The vectors shared by implementations of age (testdata/age): each has at most one fault, and names the expected
//! outcome.

#![allow(clippy::unwrap_used, reason = "in a test a failure is to be seen")]

mod support;

use std::{fs, io::Read, path::Path};

use agefile::{Error, Identity};
use aws_lc_rs::digest::{SHA256, digest};
use support::decrypt;

struct Vector {
    expect: String,
    payload: Option<String>,
    identities: Vec<Identity>,
    file: Vec<u8>,
}

impl Vector {
    fn read(path: &Path) -> Self {
        let bytes = fs::read(path).unwrap();
        let end = bytes.windows(2).position(|two| two == b"\n\n").unwrap();
        let (head, file) = (std::str::from_utf8(&bytes[..end]).unwrap(), &bytes[end + 2..]);
        let all = |key: &str| {
            let prefix = format!("{key}: ");
            head.lines().filter_map(move |line| line.strip_prefix(&prefix).map(str::to_owned)).collect::<Vec<_>>()
        };
        let file = match all("compressed").pop().as_deref() {
            Some("zlib") => {
                let mut unpacked = Vec::new();
                flate2::read::ZlibDecoder::new(file).read_to_end(&mut unpacked).unwrap();
                unpacked
            }
            Some(other) => panic!("{other}"),
            None => file.to_vec(),
        };
        Self {
            expect: all("expect").pop().unwrap(),
            payload: all("payload").pop(),
            identities: all("identity").iter().map(|text| text.parse().unwrap()).collect(),
            file,
        }
    }
}

/// The vectors' name for a result.
fn class(read: &Result<(), Error>, begun: bool) -> &'static str {
    match read {
        Ok(()) => "success",
        Err(Error::NoMatch) => "no match",
        Err(Error::Mac) => "HMAC failure",
        // A file that ends inside its nonce.
        Err(Error::Payload { .. }) if !begun => "header failure",
        Err(Error::Payload { .. }) => "payload failure",
        Err(Error::Header { .. } | Error::NotAge | Error::Version) => "header failure",
        Err(Error::Armored) => "armor",
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn every_vector_has_its_outcome() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/age");
    let mut count = 0;
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let vector = Vector::read(&path);
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let begun = agefile::Decryptor::new(vector.file.as_slice(), &vector.identities).is_ok();
        let (plain, read) = decrypt(&vector.file, &vector.identities);
        let expect = match name.as_str() {
            "armor" => "armor",
            // Its passphrase is not supported here.
            "scrypt" => "no match",
            _ => vector.expect.as_str(),
        };
        assert_eq!(class(&read, begun), expect, "{name}: {read:?}");
        match vector.payload {
            Some(hash) if begun => {
                let found: String = digest(&SHA256, &plain).as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
                assert_eq!(found, hash, "{name}: {} bytes", plain.len());
            }
            _ => assert!(plain.is_empty(), "{name}"),
        }
        count += 1;
    }
    assert_eq!(count, 71);
}
