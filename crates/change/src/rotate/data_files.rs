//! Locates the files of a server.

use std::{
    collections::BTreeSet,
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use files::Reader;
use files::regular::{self, Links};
use innodb::{page::layout::MAX_PAGE_BYTES, tablespace::Page0};
use server::{
    Flavor, Rows,
    dialect::{directory, innodb::TEMPORARY_SPACE, statement},
};

use super::Error;
use crate::Session;

/// The data directory first, then the directories and files outside it.
///
/// # Errors
/// [`Error::OtherDatadir`] if the directory belongs to another server: proving its files would be useless.
pub(crate) fn directories(session: &mut Session<'_>, given: Option<&Path>) -> Result<Vec<PathBuf>, Error> {
    let home = session.identity().datadir.clone();
    let datadir = given.unwrap_or(&home).to_owned();
    let mariadb = session.identity().flavor() == Flavor::MariaDb;
    if !mariadb {
        is_of_mysql(&datadir, session.identity().server_uuid.as_deref().unwrap_or_default())?;
    }
    let files = session.query(session.dictionary().files)?;
    if mariadb {
        is_of_mariadb(&datadir, &home, &files)?;
    }
    let directories = session.query(&statement::show_variables(&directory::WITH_DATA))?;
    let logs = session.query(&statement::show_variables(&[directory::BINARY_LOGS, directory::RELAY_LOGS]))?;
    let mut found: BTreeSet<PathBuf> = BTreeSet::new();
    found.extend(paths(&directories, "Value"));
    found.extend(paths(&logs, "Value").iter().filter_map(|base| Some(base.parent()?.to_owned())));
    found.extend(paths(&files, "path"));
    let outside = found.into_iter().filter(|path| !path.starts_with(&home) && !path.starts_with(&datadir));
    Ok([datadir.clone()].into_iter().chain(outside).collect())
}

fn paths(rows: &Rows, column: &str) -> Vec<PathBuf> {
    let values = (0..rows.rows.len()).filter_map(|row| rows.value(row, column));
    values.filter(|value| value.starts_with('/')).map(PathBuf::from).collect()
}

fn is_of_mysql(datadir: &Path, server_uuid: &str) -> Result<(), Error> {
    const MAX_BYTES: u64 = 64 << 10;
    let refuse = |reason: String| Error::OtherDatadir { datadir: datadir.to_owned(), reason };
    let path = datadir.join(server::auto_cnf::NAME);
    let text = regular::read(&path, Links::Refused, MAX_BYTES).map_err(|error| match error.kind() {
        ErrorKind::PermissionDenied => Error::Unread { path, reason: error.to_string() },
        _ => refuse(format!("auto.cnf, which says whose data directory it is, cannot be read: {error}")),
    })?;
    match server::auto_cnf::server_uuid(&String::from_utf8_lossy(&text)) {
        Some(uuid) if uuid.eq_ignore_ascii_case(server_uuid) => Ok(()),
        Some(uuid) => Err(refuse(format!("is of the server {uuid}, not of {server_uuid}"))),
        None => Err(refuse("auto.cnf does not say whose data directory it is".to_owned())),
    }
}

/// Checks that a data directory belongs to this MariaDB server. The directory does not name its server, so each
/// tablespace must have the space id that the server reports. Files that are created or dropped meanwhile may be
/// missing.
fn is_of_mariadb(datadir: &Path, home: &Path, files: &Rows) -> Result<(), Error> {
    let refuse = |reason: String| Error::OtherDatadir { datadir: datadir.to_owned(), reason };
    fs::read_dir(datadir).map_err(|error| refuse(error.to_string()))?;
    let (mut same, mut missing) = (0_u64, None);
    for row in 0..files.rows.len() {
        let (Some(path), Some(space)) = (files.value(row, "path"), files.value(row, "space")) else { continue };
        let temporary = files.value(row, "name") == Some(TEMPORARY_SPACE);
        let path = Path::new(path);
        let inside = path.strip_prefix(home).unwrap_or(path);
        if temporary || inside.is_absolute() {
            continue;
        }
        match space_of(&datadir.join(inside)) {
            Some(found) if found == space => same = same.saturating_add(1),
            Some(found) => {
                return Err(refuse(format!("{} has the number {found} there, not {space}", inside.display())));
            }
            None => {
                may_read(&datadir.join(inside))?;
                missing = missing.or_else(|| Some(inside.display().to_string()));
            }
        }
    }
    match missing {
        Some(missing) if same == 0 => Err(refuse(format!("{missing}, which this server has, is missing"))),
        _ => Ok(()),
    }
}

fn may_read(path: &Path) -> Result<(), Error> {
    match regular::open(path, Links::Followed) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            Err(Error::Unread { path: path.to_owned(), reason: error.to_string() })
        }
        _ => Ok(()),
    }
}

/// Space id of a tablespace; `None` if the file does not exist, or its page 0 is not on disk.
fn space_of(path: &Path) -> Option<String> {
    page0(path).map(|page0| page0.space_id.0.to_string())
}

/// Page 0 of a tablespace; `None` if it does not exist yet.
pub(crate) fn page0(path: &Path) -> Option<Page0> {
    head(path).and_then(|head| Page0::parse(&head).ok())
}

/// The first bytes of a file, which contain page 0 of any size.
pub(crate) fn head(path: &Path) -> Option<Vec<u8>> {
    use files::ReadAt;
    // The server named this file, so links are followed.
    let reader = Reader::new(regular::open(path, Links::Followed).ok()?);
    let mut head = vec![0; MAX_PAGE_BYTES];
    let read = reader.read_at(0, &mut head).ok()?;
    head.truncate(read);
    Some(head)
}
