//! Servers of this host that use a keyring.
//!
//! A server keeps its keys in memory and does not hold the keyring open. So the keyring is found through the server's
//! process: its command line and working directory, which is the data directory, lead to the configurations that the
//! server reads there and beside its components. All paths are resolved below the root directory of the process, which
//! differs from ours if the server runs in a container.

use std::{
    fs,
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};

use keyring::{COMPONENT_MANIFEST, CONFIGURED_COMPONENTS, KeyLocation};
use server::{
    dialect::key_store::{KEYRING_PLUGIN_FILE, VAULT_CONFIGURATION},
    option_file::{Entries, OptionFileArguments, usual_files},
    option_group,
    option_name::{with_underscores, without_loose},
    program::{Installation, is_named_like_server},
};

use crate::{Error, running_server::RunningServer};

/// Process id of a running server that uses this keyring.
///
/// # Errors
/// [`Error::ServerUnseen`] if a server runs that this user may not examine.
pub(super) fn server_with(keyring: &KeyLocation) -> Result<Option<u32>, Error> {
    let items = fs::read_dir("/proc").into_iter().flatten().flatten();
    for pid in items.filter_map(|item| item.file_name().to_str()?.parse().ok()) {
        let Some(server) = Server::of_process(pid)? else { continue };
        if server.keyrings().iter().any(|used| used.is_same(keyring)) {
            return Ok(Some(pid));
        }
    }
    Ok(None)
}

/// A running server. All paths are valid for our process, even if the server runs in a container.
struct Server {
    process: RunningServer,
    program: PathBuf,
    datadir: PathBuf,
    arguments: Vec<String>,
}

impl Server {
    /// The server with this process id; `None` if the process is another program, or has ended.
    fn of_process(pid: u32) -> Result<Option<Self>, Error> {
        match Self::examine(pid) {
            Err(error) if error.kind() == ErrorKind::PermissionDenied && is_named_like_server(pid) => {
                Err(Error::ServerUnseen { pid })
            }
            examined => Ok(examined.ok().flatten()),
        }
    }

    fn examine(pid: u32) -> io::Result<Option<Self>> {
        let Some(process) = RunningServer::examine(pid)? else { return Ok(None) };
        let arguments = process.arguments()?;
        let datadir = process.below_root(&process.working_directory()?);
        Ok(Some(Self { program: process.below_root(&process.program), datadir, arguments, process }))
    }

    fn keyrings(&self) -> Vec<KeyLocation> {
        let components = self.components().into_iter().flat_map(|name| {
            let name = format!("{name}.cnf");
            let installed = self.option("plugin_dir").map(|path| self.process.below_root(Path::new(&path)));
            let installed = installed.or_else(|| Installation::around(&self.program).plugins);
            [Some(self.datadir.join(&name)), installed.map(|directory| directory.join(&name))]
        });
        let plugins = [KEYRING_PLUGIN_FILE, VAULT_CONFIGURATION];
        let named = plugins.iter().map(|variable| self.option(variable).map(|path| self.in_datadir(&path)));
        let paths = components.chain(named).flatten();
        let open = |path: PathBuf| KeyLocation::open(&path, Some(&self.datadir)).ok();
        paths.filter_map(open).map(|location| location.below(&self.process.root())).collect()
    }

    /// A path in the data directory, unless it is absolute.
    fn in_datadir(&self, path: &str) -> PathBuf {
        let path = Path::new(path);
        if path.is_absolute() { self.process.below_root(path) } else { self.datadir.join(path) }
    }

    /// The components that the manifest loads.
    fn components(&self) -> Vec<&'static str> {
        let installed = self.program.parent().and_then(manifest);
        let manifest = match installed {
            Some((_, true)) => manifest(&self.datadir),
            installed => installed,
        };
        let loaded = manifest.and_then(|(components, _)| components).unwrap_or_default();
        CONFIGURED_COMPONENTS.into_iter().filter(|name| loaded.contains(name)).collect()
    }

    /// The value of an option, on the command line or in the option files that the server reads.
    fn option(&self, variable: &str) -> Option<String> {
        given(&self.arguments, variable).or_else(|| {
            let read = OptionFileArguments::parse(&self.arguments);
            let files = match (read.none, read.only) {
                (true, _) => Vec::new(),
                (false, Some(only)) => vec![only],
                (false, None) => usual_files().into_iter().chain(read.extra).collect(),
            };
            let files = files.iter().rev().map(|file| self.process.below_root(file));
            let entries = files.filter_map(|file| Entries::read(&file).ok());
            entries.into_iter().find_map(|entries| {
                entries.last(option_group::SERVER, variable).and_then(|entry| entry.value.text()).map(str::to_owned)
            })
        })
    }
}

/// The value of an option on a command line: the last `--name=value`, or `--name` with the value in the next argument.
fn given(arguments: &[String], variable: &str) -> Option<String> {
    (1..=arguments.len()).rev().find_map(|next| {
        let argument = arguments.get(next - 1)?.strip_prefix("--")?;
        let (name, value) = argument.split_once('=').map_or((argument, None), |(name, value)| (name, Some(value)));
        if without_loose(&with_underscores(name)) != variable {
            return None;
        }
        value.map(str::to_owned).or_else(|| arguments.get(next).cloned())
    })
}

/// The components that a directory's manifest names, and whether it refers to that of the data directory.
fn manifest(directory: &Path) -> Option<(Option<String>, bool)> {
    let bytes = keyring::read_file(&directory.join(COMPONENT_MANIFEST)).ok()?;
    let manifest = keyring::inspect(&bytes).ok()?.manifest?;
    Some((manifest.components, manifest.read_local_manifest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_is_read_in_both_forms() {
        let value = |line: &str| {
            let arguments: Vec<String> = line.split(' ').map(str::to_owned).collect();
            given(&arguments, "keyring_file_data")
        };
        assert_eq!(value("mysqld --keyring-file-data=/a --x=1").as_deref(), Some("/a"));
        assert_eq!(value("mysqld --keyring_file_data /a --x=1").as_deref(), Some("/a"));
        assert_eq!(value("mysqld --keyring_file_data=/a --loose-keyring-file-data /b").as_deref(), Some("/b"));
        assert_eq!(value("mysqld --keyring_file_data"), None);
        assert_eq!(value("mysqld keyring_file_data=/a"), None);
    }
}
