//! The keys with which the donor decrypts what it sends, so that it compresses. The joiner encrypts it again to the
//! identical bytes.

use std::path::Path;

use verify::{KeyStores, Keys};

use crate::{options::Options, report::Report};

/// Reads the keys in the stores that the options name. Without keys the data is sent as it is on disk, encrypted: a node
/// must not stay outside its cluster because of a service that only makes the transfer smaller. The log has the reason.
pub(crate) fn read(options: &Options, datadir: &Path, report: &Report<'_>) -> Option<Keys> {
    let stores = stores(options);
    if !stores.any() {
        return None;
    }
    match stores.read(Some(datadir)) {
        Ok((keys, warnings)) => {
            warnings.iter().for_each(|problem| report.line(problem.to_string()));
            Some(keys)
        }
        Err(error) => {
            report.line(format!("no keys, so encrypted pages are sent as they are and hardly compress: {error}"));
            None
        }
    }
}

/// The key stores that the options name, like the options of `sealant send`.
fn stores(options: &Options) -> KeyStores {
    let paths = |option| options.sst(option).map(Into::into);
    KeyStores {
        keyrings: paths("sealant-keyring").into_iter().collect(),
        keyring_config: paths("sealant-keyring-config"),
        key_files: paths("sealant-mariadb-key-file").into_iter().collect(),
        password_file: paths("sealant-mariadb-key-file-password-file"),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use innodb::{KeyVersion, keys::KeySource};

    use super::*;
    use crate::arguments::Arguments;

    /// Reads the keys that a section names; returns them and the messages.
    fn read_section(section: &str) -> (Option<Keys>, String) {
        let directory = tempfile::tempdir().unwrap();
        let (option_file, key_file) = (directory.path().join("my.cnf"), directory.path().join("keys.txt"));
        std::fs::write(&key_file, "1;770a8a65da156d24ee2a093277530142\n").unwrap();
        let at = |text: &str| text.replace("{dir}", &directory.path().display().to_string());
        std::fs::write(&option_file, at(&format!("[mysqld]\n[sst]\n{section}\n"))).unwrap();
        let words = ["--role=donor", "--address=127.0.0.1:4444", "--datadir=/data"];
        let words = words.into_iter().map(str::to_owned);
        let words = words.chain([format!("--defaults-file={}", option_file.display())]);
        let arguments = Arguments::parse(words).unwrap();
        let options = Options::read(&arguments).unwrap();
        let said = Mutex::new(String::new());
        let say = |line: &str| said.lock().unwrap().push_str(line);
        let keys = read(&options, &arguments.datadir, &Report(&say));
        let said = said.lock().unwrap().replace(&directory.path().display().to_string(), "{dir}");
        (keys, said)
    }

    #[test]
    fn keys_are_read_from_the_named_stores() {
        let (keys, _) = read_section("sealant-mariadb-key-file={dir}/keys.txt");
        assert!(keys.unwrap().mariadb(1, KeyVersion(1)).is_some());
        let (keys, said) = read_section("sealant_mariadb_key_file={dir}/keys.txt");
        assert!(keys.is_some(), "{said}");
        let (keys, said) = read_section("sealant-keyring-config={dir}/none.cnf");
        assert!(keys.is_none() && said.contains("sent as they are") && said.contains("{dir}/none.cnf"), "{said}");
    }

    #[test]
    fn nothing_is_read_or_said_without_options() {
        let (keys, said) = read_section("rlimit=1m");
        assert!(keys.is_none() && said.is_empty(), "{said}");
    }
}
