//! Which logs of a directory are the binary logs that its server wrote last.
//!
//! There may be others: relay logs have the same content, and a server whose base name has changed, as from 5.7's
//! `mysql-bin` to 8.0's `binlog`, leaves those of the old name.

use std::{
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
};

use binlog::{EventHeader, HEADER_BYTES};
use innodb::{binlog::MAGIC_CLEAR, server_file};

use super::options::names;
use crate::Error;

/// Bytes at the start of a log, with the header of its first event.
const HEAD_BYTES: usize = MAGIC_CLEAR.len() + HEADER_BYTES;

/// The newest log of an index.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BinaryLog {
    /// Path of the index, without its suffix.
    pub(crate) base: PathBuf,
    /// Name of the log.
    pub(crate) newest: String,
}

/// Finds the index that was written last, and the newest log in it.
///
/// # Errors
/// [`Error::Io`].
pub(crate) fn find(datadir: &Path) -> Result<Option<BinaryLog>, Error> {
    let names = names(datadir)?;
    let mut found = Vec::new();
    for base in names.iter().filter_map(|name| name.strip_suffix(".index")) {
        let index = datadir.join(format!("{base}.index"));
        let listed = fs::read(&index).map_err(Error::io(&index, "cannot be read"))?;
        let Some(newest) = newest_of(base, &String::from_utf8_lossy(&listed), &names) else { continue };
        let path = datadir.join(&newest);
        let head = head(&path).map_err(Error::io(&path, "cannot be read"))?;
        if let Some(time) = written(&head, base) {
            found.push((time, BinaryLog { base: datadir.join(base), newest }));
        }
    }
    found.sort_by(|(one, log), (other, second)| one.cmp(other).then_with(|| log.newest.cmp(&second.newest)));
    Ok(found.pop().map(|(_, log)| log))
}

/// The last log that an index lists; the last one in the directory if it lists none.
fn newest_of(base: &str, index: &str, names: &[String]) -> Option<String> {
    let mut of_base: Vec<&String> = names.iter().filter(|name| server_file::log_base(name) == Some(base)).collect();
    of_base.sort_by_key(|name| server_file::log_order(name));
    let newest = of_base.last()?;
    let listed = index.lines().map(str::trim).rfind(|line| !line.is_empty());
    let listed = listed.and_then(|path| Path::new(path).file_name()?.to_str());
    Some(listed.unwrap_or(newest).to_owned())
}

/// Time at which a binary log was begun: 0 if its first event is damaged, the maximum if it is encrypted; `None` for a
/// relay log.
fn written(head: &[u8], base: &str) -> Option<u32> {
    match head.strip_prefix(MAGIC_CLEAR).map(EventHeader::parse) {
        Some(Ok(first)) => (!first.is_of_relay_log()).then_some(first.timestamp),
        // A damaged log counts only if there is no other.
        Some(Err(_)) => Some(0),
        // Only newer servers encrypt their logs from the start.
        None => (!server_file::is_named_as_relay_log(base)).then_some(u32::MAX),
    }
}

fn head(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut head = Vec::new();
    File::open(path)?.take(HEAD_BYTES as u64).read_to_end(&mut head)?;
    head.resize(if head.len() < HEAD_BYTES { 0 } else { HEAD_BYTES }, 0);
    Ok(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(directory: &Path, name: &str, time: u32, flags: u16) {
        let mut bytes = MAGIC_CLEAR.to_vec();
        bytes.extend(time.to_le_bytes());
        bytes.extend([0; 5]);
        bytes.extend(120_u32.to_le_bytes());
        bytes.resize(HEAD_BYTES - 2, 0);
        bytes.extend(flags.to_le_bytes());
        fs::write(directory.join(name), bytes).unwrap();
    }

    #[test]
    fn the_log_that_was_begun_last_counts_and_no_relay_log() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        assert_eq!(find(path).unwrap(), None);
        let index = |name: &str, text: &str| fs::write(path.join(name), text).unwrap();
        log(path, "host-relay-bin.000009", 900, EventHeader::RELAY_LOG);
        index("host-relay-bin.index", "./host-relay-bin.000009\n");
        log(path, "copied.000001", 901, EventHeader::RELAY_LOG);
        index("copied.index", "./copied.000001\n");
        assert_eq!(find(path).unwrap(), None);
        log(path, "mysql-bin.000123", 100, 0);
        index("mysql-bin.index", "./mysql-bin.000123\n");
        log(path, "binlog.000003", 200, 0);
        log(path, "binlog.000002", 190, 0);
        index("binlog.index", "/var/lib/mysql/binlog.000002\n/var/lib/mysql/binlog.000003\n");
        let found = |base: &str, newest: &str| Some(BinaryLog { base: path.join(base), newest: newest.to_owned() });
        assert_eq!(find(path).unwrap(), found("binlog", "binlog.000003"));
        log(path, "mailrelay1-bin.000001", 300, 1);
        index("mailrelay1-bin.index", "");
        assert_eq!(find(path).unwrap(), found("mailrelay1-bin", "mailrelay1-bin.000001"));
    }
}
