//! Determines the origin of file names. Root must not write to a path that an account can set at run time, so only
//! names from the server's start count.

use std::{
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use server::dialect::query;

use super::Error;
use crate::Session;

/// Origins of values from the server's start: built in, an option file, the command line. `DYNAMIC` and `PERSISTED` of
/// MySQL and `SQL` of MariaDB are not among them, since an account's `SET` causes them. Sources: MySQL manual, "The
/// `variables_info` Table"; MariaDB, "Information Schema SYSTEM_VARIABLES Table".
const START_UP: [&str; 12] = [
    "COMPILED",
    "GLOBAL",
    "SERVER",
    "EXPLICIT",
    "EXTRA",
    "USER",
    "COMMAND_LINE",
    "COMPILE-TIME",
    "CONFIG",
    "COMMAND-LINE",
    "ENV",
    "AUTO",
];
/// Maximum number of links on a path, as in the kernel. Source: path_resolution(7).
const MAX_LINKS: usize = 40;

/// The file that a variable has named since the server's start; `None` if it names none.
pub(super) fn file(session: &mut Session<'_>, server: &str, variable: &'static str) -> Result<Option<PathBuf>, Error> {
    let Some(value) = session.variable(variable)? else { return Ok(None) };
    // Relative names are relative to the data directory.
    let path = session.identity().datadir.join(value);
    let origin = origin(session, server, variable)?;
    if !START_UP.contains(&origin.as_str()) {
        return Err(Error::SetByAccount { server: server.to_owned(), variable, path, origin });
    }
    resolve(&path).map(Some)
}

/// Origin of a variable's value. Without a row, the value is the built-in one.
fn origin(session: &mut Session<'_>, server: &str, variable: &str) -> Result<String, Error> {
    let version = session.identity().version.clone();
    let query = query(&version, "variable_sources").ok_or_else(|| Error::Unsupported {
        server: server.to_owned(),
        reason: "does not say who set the names of its files".to_owned(),
    })?;
    let rows = match session.query(&query.sql) {
        Err(Error::Server(error)) if error.is_privilege() => {
            let account = crate::grants::account(session)?;
            return Err(Error::Privileges { account, missing: vec![query.needs.to_owned()] });
        }
        rows => rows?,
    };
    let is_it = |row: &usize| rows.value(*row, "name").is_some_and(|name| name.eq_ignore_ascii_case(variable));
    let row = (0..rows.rows.len()).find(is_it);
    Ok(row.and_then(|row| rows.value(row, "source")).unwrap_or("COMPILED").to_owned())
}

/// Resolves links, so that the target is replaced. A link that does not belong to root may only lead to a file of the
/// same owner: otherwise the server's user could choose which file root replaces.
fn resolve(path: &Path) -> Result<PathBuf, Error> {
    let failed = |source| Error::File { path: path.to_owned(), source };
    let Ok(real) = fs::canonicalize(path) else {
        // The file does not exist yet.
        let directory = fs::canonicalize(files::parent(path)).map_err(failed)?;
        return Ok(directory.join(path.file_name().unwrap_or_default()));
    };
    let owner = fs::metadata(&real).map_err(failed)?.uid();
    match links(path).map_err(failed)?.into_iter().find(|(_, user)| ![0, owner].contains(user)) {
        None => Ok(real),
        Some((link, user)) => {
            let why = format!("is a link of user {user} to {}, which is another user's", real.display());
            Err(Error::NotReplaced { path: link, why })
        }
    }
}

/// Every link on the path to a file, with its owner.
fn links(path: &Path) -> io::Result<Vec<(PathBuf, u32)>> {
    let (mut links, mut rest) = (Vec::new(), path.to_owned());
    while links.len() <= MAX_LINKS {
        let mut above: Vec<&Path> = rest.ancestors().collect();
        above.reverse();
        let Some(link) = above.into_iter().find(|path| path.is_symlink()).map(Path::to_owned) else { break };
        links.push((link.clone(), link.symlink_metadata()?.uid()));
        let below = rest.strip_prefix(&link).unwrap_or_else(|_| Path::new("")).to_owned();
        rest = files::parent(&link).join(fs::read_link(&link)?);
        // Joining an empty path would add a slash.
        rest.extend(below.components());
    }
    Ok(links)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{lchown, symlink};

    use super::*;

    #[test]
    fn links_are_found_in_all_parts_of_a_path() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().canonicalize().unwrap().join(name);
        fs::create_dir(at("real")).unwrap();
        fs::write(at("real/file"), "x").unwrap();
        symlink("real", at("way")).unwrap();
        symlink("../way/file", at("real/end")).unwrap();
        let found: Vec<_> = links(&at("way/end")).unwrap().into_iter().map(|(path, _)| path).collect();
        assert_eq!(found, [at("way"), at("real/end"), at("real/../way")]);
        assert_eq!(resolve(&at("way/end")).unwrap(), at("real/file"));
        assert_eq!(resolve(&at("way/none")).unwrap(), at("real/none"));
        assert!(resolve(&at("nowhere/none")).is_err());
    }

    #[test]
    fn a_link_of_another_user_is_not_followed_to_roots_file() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::write(at("file"), "x").unwrap();
        symlink(at("file"), at("link")).unwrap();
        resolve(&at("link")).unwrap();
        lchown(at("link"), Some(65534), None).unwrap();
        let error = resolve(&at("link")).unwrap_err();
        assert!(error.to_string().contains("is a link of user 65534"), "{error}");
        lchown(at("file"), Some(65534), None).unwrap();
        resolve(&at("link")).unwrap();
    }
}
