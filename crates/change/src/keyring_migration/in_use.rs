//! Servers of this host that use a keyring.
//!
//! A server keeps its keys in memory and does not hold the keyring open, so its process is asked for its data directory,
//! its working directory, and for the configurations that it reads there and beside its components. Only processes that
//! this user may examine are seen.

use std::{
    fs,
    path::{Path, PathBuf},
};

use keyring::{COMPONENT_MANIFEST, CONFIGURED_COMPONENTS, KeyLocation};
use server::{
    dialect::key_store::{KEYRING_PLUGIN_FILE, VAULT_CONFIGURATION},
    option_file::{Entries, OptionFileArguments, usual_files},
    option_group,
    option_name::{with_underscores, without_loose},
    program::Installation,
};
use zeroize::Zeroizing;

/// Process id of a running server that uses this keyring.
pub(super) fn server_with(keyring: &KeyLocation) -> Option<u32> {
    let items = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = items.filter_map(|item| item.file_name().to_str()?.parse().ok());
    pids.filter_map(|pid| Server::of_process(pid).map(|server| (pid, server)))
        .find(|(_, server)| server.keyrings().iter().any(|used| used.is_same(keyring)))
        .map(|(pid, _)| pid)
}

struct Server {
    program: PathBuf,
    datadir: PathBuf,
    arguments: Vec<String>,
}

impl Server {
    fn of_process(pid: u32) -> Option<Self> {
        let process = PathBuf::from(format!("/proc/{pid}"));
        let program = fs::read_link(process.join("exe")).ok()?;
        let name = program.file_name()?.to_string_lossy().into_owned();
        if !server::PROGRAMS.iter().any(|server| name.starts_with(server)) {
            return None;
        }
        let bytes = Zeroizing::new(fs::read(process.join("cmdline")).ok()?);
        let arguments = bytes.split(|byte| *byte == 0).map(|part| String::from_utf8_lossy(part).into_owned()).collect();
        Some(Self { program, datadir: fs::read_link(process.join("cwd")).ok()?, arguments })
    }

    fn keyrings(&self) -> Vec<KeyLocation> {
        let components = self.components().into_iter().flat_map(|name| {
            let name = format!("{name}.cnf");
            let installed = self.option("plugin_dir").map(PathBuf::from);
            let installed = installed.or_else(|| Installation::around(&self.program).plugins);
            [Some(self.datadir.join(&name)), installed.map(|directory| directory.join(&name))]
        });
        let plugins = [KEYRING_PLUGIN_FILE, VAULT_CONFIGURATION];
        let named = plugins.iter().map(|variable| self.option(variable).map(|path| self.datadir.join(path)));
        let paths = components.chain(named).flatten();
        paths.filter_map(|path| KeyLocation::open(&path, Some(&self.datadir)).ok()).collect()
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
        let given = self.arguments.iter().rev().find_map(|argument| {
            let (name, value) = argument.strip_prefix("--")?.split_once('=')?;
            (without_loose(&with_underscores(name)) == variable).then(|| value.to_owned())
        });
        given.or_else(|| {
            let read = OptionFileArguments::parse(&self.arguments);
            let files = match (read.none, read.only) {
                (true, _) => Vec::new(),
                (false, Some(only)) => vec![only],
                (false, None) => usual_files().into_iter().chain(read.extra).collect(),
            };
            let entries = files.iter().rev().filter_map(|file| Entries::read(file).ok());
            entries.into_iter().find_map(|entries| {
                entries.last(option_group::SERVER, variable).and_then(|entry| entry.value.text()).map(str::to_owned)
            })
        })
    }
}

/// The components that a directory's manifest names, and whether it refers to that of the data directory.
fn manifest(directory: &Path) -> Option<(Option<String>, bool)> {
    let bytes = keyring::read_file(&directory.join(COMPONENT_MANIFEST)).ok()?;
    let manifest = keyring::inspect(&bytes).ok()?.manifest?;
    Some((manifest.components, manifest.read_local_manifest))
}
