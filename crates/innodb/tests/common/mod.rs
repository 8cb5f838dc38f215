//! The sample files of testdata/.
#![allow(dead_code, reason = "every test file uses another part")]

use std::{collections::BTreeMap, fs, path::PathBuf};

use innodb::{KeyVersion, MasterKeyId, keys::KeySource};
use zeroize::Zeroizing;

/// Directory of the samples.
pub(crate) fn testdata() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata")
}

/// A sample, decompressed if it is stored compressed.
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

/// Keys of a sample store, parsed as simply as possible: the tests of `keyring` cover the real parser.
pub(crate) struct SampleKeys {
    mysql: Option<BTreeMap<String, Zeroizing<Vec<u8>>>>,
    mariadb: Option<BTreeMap<u32, Zeroizing<Vec<u8>>>>,
}

impl SampleKeys {
    /// MySQL's component file.
    pub(crate) fn component(name: &str) -> Self {
        let text = sample(&format!("keyring/{name}"));
        let file: serde_json::Value = serde_json::from_slice(&text).expect("the sample is JSON");
        let elements = file["elements"].as_array().expect("it has elements");
        let keys = elements.iter().filter_map(|element| {
            let key = unhex(element["data"].as_str()?);
            Some((element["data_id"].as_str()?.to_owned(), Zeroizing::new(key)))
        });
        Self { mysql: Some(keys.collect()), mariadb: None }
    }

    /// The file of MySQL's plug-in: five lengths of 8 bytes, then name, type, user and masked key.
    pub(crate) fn plugin(name: &str) -> Self {
        const MASK: &[u8] = b"*305=Ljt0*!@$Hnm(*-9-w;:";
        let file = sample(&format!("keyring/{name}"));
        let mut keys = BTreeMap::new();
        let mut rest = &file[24..];
        while !rest.starts_with(b"EOF") {
            let length = |n: usize| u64::from_le_bytes(rest[8 * n..8 * n + 8].try_into().expect("eight")) as usize;
            let (id, key_at) = (length(1), 40 + length(1) + length(2) + length(3));
            let key = rest[key_at..key_at + length(4)].iter().zip(MASK.iter().cycle()).map(|(byte, mask)| byte ^ mask);
            keys.insert(String::from_utf8_lossy(&rest[40..40 + id]).into_owned(), Zeroizing::new(key.collect()));
            rest = &rest[length(0)..];
        }
        Self { mysql: Some(keys), mariadb: None }
    }

    /// MariaDB's plain key file.
    pub(crate) fn key_file(name: &str) -> Self {
        let text = String::from_utf8(sample(&format!("keyring/{name}"))).expect("the sample is text");
        let keys = text.lines().filter_map(|line| {
            let (id, key) = line.split_once(';')?;
            Some((id.trim().parse().ok()?, Zeroizing::new(unhex(key.trim()))))
        });
        Self { mysql: None, mariadb: Some(keys.collect()) }
    }

    /// The same store with other keys under the same names.
    pub(crate) fn all_wrong(mut self) -> Self {
        self.mysql.iter_mut().flat_map(|keys| keys.values_mut()).for_each(|key| key[0] ^= 1);
        self.mariadb.iter_mut().flat_map(|keys| keys.values_mut()).for_each(|key| key[0] ^= 1);
        self
    }

    /// The same store without its keys.
    pub(crate) fn emptied(mut self) -> Self {
        self.mysql.iter_mut().for_each(BTreeMap::clear);
        self.mariadb.iter_mut().for_each(BTreeMap::clear);
        self
    }

    /// The same store without one key.
    pub(crate) fn without(mut self, name: &str) -> Self {
        self.mysql.iter_mut().for_each(|keys| _ = keys.remove(name));
        self
    }

    /// The same store with a key under one more name.
    pub(crate) fn renamed(mut self, from: &str, to: &str) -> Self {
        if let Some(keys) = &mut self.mysql {
            let key = keys[from].clone();
            keys.insert(to.to_owned(), key);
        }
        self
    }
}

impl KeySource for SampleKeys {
    fn mysql(&self, name: &str) -> Option<Zeroizing<[u8; 32]>> {
        self.mysql_of_any_length(name).and_then(|key| fixed(&key))
    }

    fn mysql_of_any_length(&self, name: &str) -> Option<Zeroizing<Vec<u8>>> {
        self.mysql.as_ref()?.get(name).cloned()
    }

    fn mysql_numbered(&self, number: MasterKeyId) -> Vec<Zeroizing<[u8; 32]>> {
        let ending = format!("-{number}");
        let keys = self.mysql.iter().flatten();
        keys.filter(|(name, _)| name.ends_with(&ending)).filter_map(|(_, key)| fixed(key)).collect()
    }

    fn mariadb(&self, id: u32, version: KeyVersion) -> Option<Zeroizing<Vec<u8>>> {
        self.mariadb.as_ref()?.get(&id).filter(|_| version == KeyVersion(1)).cloned()
    }

    fn has_mysql(&self) -> bool {
        self.mysql.is_some()
    }

    fn has_mariadb(&self) -> bool {
        self.mariadb.is_some()
    }
}

fn fixed(key: &[u8]) -> Option<Zeroizing<[u8; 32]>> {
    key.try_into().ok().map(Zeroizing::new)
}

fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.chars().map(|c| c.to_digit(16).expect("hexadecimal") as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// The keys that decrypt a sample, by its name.
pub(crate) fn keys_of(name: &str) -> SampleKeys {
    let file = name.rsplit('/').next().expect("a name");
    match file {
        _ if file.starts_with("mysql97-") => {
            let size =
                ["4k", "8k", "32k", "64k"].into_iter().find(|size| file.starts_with(&format!("mysql97-{size}-")));
            match size {
                Some(size) => SampleKeys::component(&format!("mysql97-{size}-component-file.json")),
                None => SampleKeys::component("mysql97-component-file.json"),
            }
        }
        _ if file.starts_with("synthetic-") => {
            let key = "INNODBKey-95b2f013-e4cd-11f1-8c02-02fc00000001-2";
            SampleKeys::component("mysql97-component-file.json").renamed(key, "INNODBKey-951-2")
        }
        _ if file.starts_with("percona57-") => SampleKeys::plugin("percona57-plugin-file"),
        _ if file.starts_with("percona80-") => SampleKeys::plugin("percona80-plugin-file"),
        _ if file.starts_with("mariadb1011-ctr-") => SampleKeys::key_file("mariadb1011-ctr-keyfile"),
        _ if file.starts_with("mariadb") => SampleKeys::key_file("mariadb1011-keyfile"),
        _ => panic!("no keys are known for {name}"),
    }
}
