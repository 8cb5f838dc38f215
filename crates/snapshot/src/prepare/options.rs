//! Rewrites the option file of a backup.
//!
//! The option file of a backup comes from the sender, and the program that prepares the backup obeys all of it: it
//! includes other files and loads libraries. It reads the file twice, once in lines of at most 511 bytes, even if it is
//! told to use another file (seen with mariadb-backup 10.11 and 11.8). So none of the sender's text is kept: a new file
//! gets the known options whose values have the usual form.

use std::fmt::Write;
use std::path::Path;

use files::WriteOptions;
use files::regular::{self, Links};
use innodb::server_file::BACKUP_OPTIONS;
use server::dialect::variable;
use server::option_group::{MYSQLD, section};

use super::PrepareFault;

/// Size limit. No program writes more, and nobody needs more to specify keys.
const MAX_BYTES: u64 = 64 << 10;

/// The form that the value of an option must have.
#[derive(Clone, Copy)]
enum ValueType {
    Number,
    Word,
    /// Files of the system tablespace, inside the backup.
    DataFiles,
}

/// Server options that mariadb-backup and xtrabackup write and need again, except those that name a library, a key or a
/// path.
const KNOWN: [(&str, ValueType); 19] = [
    ("innodb_checksum_algorithm", ValueType::Word),
    ("innodb_compression_level", ValueType::Number),
    ("innodb_data_file_path", ValueType::DataFiles),
    (variable::MARIADB_REDO, ValueType::Word),
    (variable::MARIADB_TABLESPACES, ValueType::Word),
    ("innodb_fast_checksum", ValueType::Word),
    ("innodb_log_block_size", ValueType::Number),
    ("innodb_log_checksum_algorithm", ValueType::Word),
    ("innodb_log_checksums", ValueType::Word),
    ("innodb_log_file_size", ValueType::Number),
    ("innodb_log_files_in_group", ValueType::Number),
    ("innodb_page_size", ValueType::Number),
    (variable::MYSQL_REDO, ValueType::Word),
    (variable::MYSQL_UNDO, ValueType::Word),
    ("innodb_undo_tablespaces", ValueType::Number),
    ("master_key_id", ValueType::Number),
    ("redo_log_version", ValueType::Number),
    ("server_id", ValueType::Number),
    ("server_uuid", ValueType::Word),
];

/// Rewrites the option file of a backup; appends the options of `current`, a file of this host.
pub(super) fn replace(backup: &Path, current: Option<&Path>, owner: Option<(u32, u32)>) -> Result<(), PrepareFault> {
    let path = backup.join(BACKUP_OPTIONS);
    let text = regular::read(&path, Links::Refused, MAX_BYTES).map_err(PrepareFault::io(&path))?;
    let mut rewritten = rewritten(&text).map_err(|option| PrepareFault::Option { path: path.clone(), option })?;
    if let Some(current) = current {
        let current = regular::read(current, Links::Followed, MAX_BYTES).map_err(PrepareFault::io(current))?;
        rewritten.extend(current);
    }
    let options = WriteOptions { mode: 0o600, owner, replace: true };
    files::write_atomic(&path, &rewritten, options).map_err(PrepareFault::io(&path))
}

/// The known options in a text. The error is the name of an option whose value does not have the required form.
fn rewritten(text: &[u8]) -> Result<Vec<u8>, &'static str> {
    let text = String::from_utf8_lossy(text);
    let mut rewritten = section(MYSQLD, &[""; 0]);
    for (name, value) in text.lines().filter_map(|line| line.split_once('=')) {
        let (name, value) = (name.trim().replace('-', "_"), value.trim());
        let known = KNOWN.into_iter().find(|(known, _)| *known == name);
        // The programs write an option without a value if the server does not set it.
        let Some((name, form)) = known.filter(|_| !value.is_empty()) else { continue };
        if !form.fits(value) {
            return Err(name);
        }
        // Writing to a string does not fail.
        let _ = writeln!(rewritten, "{name}={value}");
    }
    Ok(rewritten.into_bytes())
}

impl ValueType {
    fn fits(self, value: &str) -> bool {
        const MAX_CHARS: usize = 64;
        let word = |text: &str| {
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
            (1..=MAX_CHARS).contains(&text.len()) && text.bytes().all(plain)
        };
        match self {
            Self::Number => word(value) && value.bytes().all(|byte| byte.is_ascii_digit()),
            Self::Word => word(value),
            // The program reads the rest of a line after 511 bytes as another line.
            Self::DataFiles if value.len() > 4 * MAX_CHARS => false,
            Self::DataFiles => value.split(';').all(|file| match file.split_once(':') {
                // Names may contain dots.
                Some((name, rest)) => {
                    name.strip_prefix("./").unwrap_or(name).split('.').all(word) && rest.split(':').all(word)
                }
                None => false,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How the program parses a line that is longer than it reads at once.
    const READ_AT_ONCE: usize = 511;

    fn text(of: &str) -> String {
        String::from_utf8(rewritten(of.as_bytes()).unwrap()).unwrap()
    }

    #[test]
    fn options_that_the_programs_write_are_kept() {
        let mariadb = "[mysqld]\ninnodb_checksum_algorithm=crc32\ninnodb_data_file_path=./ibdata1:12M:autoextend\n\
                       innodb_log_file_size=100663296\ninnodb_page_size=16384\ninnodb_undo_tablespaces=3\n";
        assert_eq!(text(mariadb), mariadb);
        let percona = "[mysqld]\ninnodb_data_file_path=ibdata1:12M;ibdata2:10M:autoextend:max:500M\ninnodb_log_checksums=ON\n\
                       server_uuid=6b5c1b0a-0001-11f0-9c1d-0242ac110002\nmaster_key_id=0\n";
        assert_eq!(text(&format!("# made by\n{percona}innodb_undo_directory=./\nplugin_load=\n")), percona);
    }

    #[test]
    fn options_that_refer_outside_the_backup_are_dropped() {
        let hidden = format!("#{}plugin_load=/tmp/x.so", "x".repeat(READ_AT_ONCE - 1));
        for line in [
            "plugin_load=file_key_management.so",
            "plugin-dir = /tmp",
            "loose-plugin-load=x",
            "!include x=",
            "!include /tmp/innodb_page_size=1",
            "!includedir /tmp",
            "innodb_undo_directory=/etc",
            "innodb_data_home_dir='/etc'",
            "aria_log_dir_path=../../etc",
            "tmpdir=/etc",
            "INNODB_PAGE_SIZE=1",
            "[mariadb-backup]",
            hidden.as_str(),
        ] {
            assert_eq!(
                text(&format!("{line}\ninnodb_page_size=4096\n")),
                "[mysqld]\ninnodb_page_size=4096\n",
                "{line}"
            );
        }
        for (name, value) in [
            ("innodb_data_file_path", "ibdata1:12M;/etc/x:12M"),
            ("innodb_data_file_path", "../x:12M"),
            ("innodb_data_file_path", "..:12M"),
            ("innodb_data_file_path", "ibdata1"),
            ("innodb_page_size", "4096 # \u{0}"),
            ("innodb_encrypt_log", "ON\rplugin_load=x"),
            ("server_uuid", "/etc/x"),
        ] {
            assert_eq!(rewritten(format!("{name}={value}\n").as_bytes()), Err(name), "{value}");
        }
        let long = format!("innodb_checksum_algorithm={}plugin_load=x", "x".repeat(READ_AT_ONCE));
        assert_eq!(rewritten(long.as_bytes()), Err("innodb_checksum_algorithm"));
        // The whole line looks harmless, but the program reads its end as a separate option.
        let many = format!("innodb_data_file_path={}", "ibdata1:12M;".repeat(50));
        let long = format!("{}a:{}:move-back", &many[..READ_AT_ONCE - 11], "1".repeat(8));
        assert!(long.is_char_boundary(READ_AT_ONCE) && long.len() > READ_AT_ONCE);
        assert_eq!(rewritten(long.as_bytes()), Err("innodb_data_file_path"));
    }

    #[test]
    fn the_file_is_replaced_and_a_link_is_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(BACKUP_OPTIONS);
        let current = directory.path().join("own.cnf");
        std::fs::write(&current, "plugin_load=file_key_management\n").unwrap();
        std::fs::write(&path, "plugin_load=x\ninnodb_page_size=4096\n").unwrap();
        replace(directory.path(), Some(&current), None).unwrap();
        let rewritten = "[mysqld]\ninnodb_page_size=4096\nplugin_load=file_key_management\n";
        assert_eq!(std::fs::read_to_string(&path).unwrap(), rewritten);
        std::fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink(&current, &path).unwrap();
        assert!(replace(directory.path(), None, None).unwrap_err().to_string().contains("a symbolic link"));
        assert_eq!(std::fs::read_to_string(&current).unwrap(), "plugin_load=file_key_management\n");
    }
}
