//! Derives the options that a server needs from the files of a data directory.
//!
//! Encryption is the most important: data that is encrypted in the directory must stay encrypted after recovery, and a
//! server with default options would write clear logs.

use std::{
    fs,
    path::{Path, PathBuf},
};

use files::regular::{self, Links};
use innodb::file_suffix;
use innodb::{
    Page0Fault,
    file_kind::FileKind,
    server_file,
    tablespace::{Encryption, MariaDbMode, Page0},
};
use server::{Flavor, program::option};
use verify::{FileResult, Report};

use super::binary_log;
use crate::Error;

/// Bytes that hold page 0 of any tablespace.
const HEAD_BYTES: u64 = 64 << 10;
/// Default page size of the server, in bytes.
const PAGE_BYTES: u32 = 16 << 10;
/// MariaDB: encrypts tables that do not say whether they are encrypted.
pub(crate) const ENCRYPT_TABLES: &str = "--innodb-encrypt-tables=ON";

/// Derives the options. `has_key_file`: whether MariaDB gets keys; without keys it refuses to encrypt.
pub(crate) fn for_directory(
    datadir: &Path,
    report: &Report,
    flavor: Flavor,
    has_key_file: bool,
) -> Result<Vec<String>, Error> {
    let mut options = system_tablespace(datadir)?;
    let encrypted = |is_wanted: &dyn Fn(&str) -> bool| {
        report.files.iter().any(|file| file.units.encrypted > 0 && name(file).is_some_and(is_wanted))
    };
    let (redo, undo, binary_logs) = if flavor.is_mysql_like() {
        ("--loose-innodb-redo-log-encrypt=ON", "--loose-innodb-undo-log-encrypt=ON", "--loose-binlog-encryption=ON")
    } else {
        // MySQL encrypts undo logs as their tablespaces are.
        let of_tables = if has_key_file { of_mariadb_tables(report) } else { Vec::new() };
        options.extend(of_tables.into_iter().map(str::to_owned));
        ("--innodb-encrypt-log=ON", "", "--encrypt-binlog=ON")
    };
    options.extend(encrypted(&|name| server_file::is_redo(name)).then(|| redo.to_owned()));
    options.extend((!undo.is_empty() && encrypted(&|name| server_file::is_undo(name))).then(|| undo.to_owned()));
    options.extend(encrypted(&|name| server_file::log_base(name).is_some()).then(|| binary_logs.to_owned()));
    options.push(match binary_log::find(datadir)? {
        // The newest binary log decides whether prepared transactions are committed or rolled back.
        Some(log) => option("log-bin", &log.base),
        None => "--skip-log-bin".to_owned(),
    });
    Ok(options)
}

/// Options for data that MariaDB encrypts by settings alone: tables without an option of their own, Aria's tables, and
/// copies of rows in temporary files and tables.
fn of_mariadb_tables(report: &Report) -> Vec<&'static str> {
    let is_aria = |file: &&FileResult| matches!(file.kind, Some(FileKind::AriaIndex | FileKind::AriaData));
    let is_encrypted = |file: &&FileResult| file.units.encrypted > 0;
    let mut options = Vec::new();
    if report.files.iter().any(|file| follows_default(&file.path)) {
        options.push(ENCRYPT_TABLES);
    }
    if report.files.iter().filter(is_aria).any(|file| is_encrypted(&file)) {
        options.push("--aria-encrypt-tables=ON");
    }
    if !options.is_empty() || report.files.iter().any(|file| file.is_tablespace() && is_encrypted(&file)) {
        options.extend(["--encrypt-tmp-files=ON", "--encrypt-tmp-disk-tables=ON"]);
    }
    options
}

/// Whether the pages of a table are encrypted only because of the server's default. Page 0 states this before any page
/// is encrypted. If page 0 is not written yet, only the redo log could tell, so the answer is `true`.
fn follows_default(path: &Path) -> bool {
    if !file_suffix::has(path, file_suffix::TABLESPACE) {
        return false;
    }
    match head(path).map(|head| Page0::parse(&head)) {
        Some(Ok(page)) => {
            matches!(page.encryption, Encryption::MariaDb { mode: MariaDbMode::Default, scheme: 1, .. })
        }
        Some(Err(Page0Fault::Empty | Page0Fault::Short { .. })) => true,
        Some(Err(_)) | None => false,
    }
}

fn name(file: &FileResult) -> Option<&str> {
    file.path.file_name()?.to_str()
}

/// Options for the page size, and for the files if there are several.
fn system_tablespace(datadir: &Path) -> Result<Vec<String>, Error> {
    let mut files: Vec<(u32, PathBuf)> = names(datadir)?
        .into_iter()
        .filter_map(|name| Some((server_file::system_number(&name)?, datadir.join(&name))))
        .collect();
    files.sort();
    let mut options = Vec::new();
    if let Some((_, first)) = files.first()
        && let Some(bytes) = page0(first).map(|page| page.physical_page_bytes).filter(|bytes| *bytes != PAGE_BYTES)
    {
        options.push(format!("--innodb-page-size={bytes}"));
    }
    if files.len() > 1 {
        let mib = |path: &Path| fs::metadata(path).map_or(0, |file| file.len() >> 20);
        let named = files.iter().map(|(number, path)| format!("{}{number}:{}M", server_file::SYSTEM, mib(path)));
        let named: Vec<String> = named.collect();
        options.push(format!("--innodb-data-file-path={}:autoextend", named.join(";")));
    }
    Ok(options)
}

/// The first page of a tablespace.
pub(crate) fn page0(path: &Path) -> Option<Page0> {
    Page0::parse(&head(path)?).ok()
}

fn head(path: &Path) -> Option<Vec<u8>> {
    use std::io::Read;
    let mut head = Vec::new();
    regular::open(path, Links::Refused).ok()?.take(HEAD_BYTES).read_to_end(&mut head).ok()?;
    Some(head)
}

/// Names of the files in a directory.
pub(crate) fn names(datadir: &Path) -> Result<Vec<String>, Error> {
    let listed = fs::read_dir(datadir).map_err(Error::io(datadir, "cannot be listed"))?;
    Ok(listed.flatten().filter_map(|item| item.file_name().into_string().ok()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_the_system_tablespace_are_found() {
        let directory = tempfile::tempdir().unwrap();
        for (name, mib) in [("ibdata1", 12), ("ibdata2", 20), ("ibdata1.bak", 1)] {
            fs::File::create(directory.path().join(name)).unwrap().set_len(mib << 20).unwrap();
        }
        let options = system_tablespace(directory.path()).unwrap();
        assert_eq!(options, ["--innodb-data-file-path=ibdata1:12M;ibdata2:20M:autoextend"]);
    }
}
