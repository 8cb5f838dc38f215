//! The steps that make a server use another keyring: lines of its configuration and a restart.
//!
//! Source: MySQL manual, "Keyring Component Installation", "Migrating Keys Between Keyring Keystores"; Percona Server's
//! documentation, "Use the keyring vault component" and "… plug-in".

use std::path::Path;

use findings::{Remedy, Step};
use keyring::{
    COMPONENT_MANIFEST, KMIP_COMPONENT, KMS_COMPONENT, KeyLocation, LoadedBy, StoreKind, VAULT_COMPONENT, component,
};
use server::{
    dialect::key_store::{KEYRING_PLUGIN_FILE, KEYRING_PLUGIN_LIBRARY, VAULT_CONFIGURATION},
    option_group,
};

/// The component or plug-in that loads a keyring.
#[derive(Clone, Copy)]
struct Loader {
    /// Component, or library of a plug-in.
    name: &'static str,
    is_component: bool,
}

const VAULT_PLUGIN_LIBRARY: &str = "keyring_vault.so";

/// The steps after a migration.
pub(super) fn steps(from: &KeyLocation, to: &KeyLocation, new_file: LoadedBy, datadir: &Path) -> Vec<Step> {
    let (old, new) = (Loader::of(from, new_file), Loader::of(to, new_file));
    let remedy = if new.is_component { component_lines(to, new, datadir) } else { plugin_lines(to, new) };
    let proof = format!("sealant keyring check --socket … --user root --keyring {}", to.path().display());
    let kept = format!("keep {from} until the server has been started with {to} and backups of its keys exist");
    remedy.then_restart().then(Remedy::command(proof)).and(kept).note(own_program(old, new)).into_steps(None, None)
}

impl Loader {
    fn of(location: &KeyLocation, new_file: LoadedBy) -> Self {
        let bytes = keyring::read_file(location.path()).unwrap_or_default();
        let is_json = bytes.trim_ascii_start().starts_with(b"{");
        let kind = keyring::inspect(&bytes).ok().map(|summary| summary.kind);
        if location.is_service() {
            let name = match kind {
                Some(StoreKind::KmipConfig) => KMIP_COMPONENT,
                Some(StoreKind::KmsConfig) => KMS_COMPONENT,
                _ if is_json => VAULT_COMPONENT,
                _ => VAULT_PLUGIN_LIBRARY,
            };
            return Self { name, is_component: is_json };
        }
        let is_component = match kind {
            Some(StoreKind::PluginFileV1 | StoreKind::PluginFileV2) => false,
            Some(_) => true,
            None => new_file == LoadedBy::Component,
        };
        Self { name: if is_component { component::NAME } else { KEYRING_PLUGIN_LIBRARY }, is_component }
    }
}

fn component_lines(to: &KeyLocation, loader: Loader, datadir: &Path) -> Remedy {
    let path = to.path().display();
    let local = datadir.join(format!("{}.cnf", loader.name));
    let configured = if !to.is_service() {
        let text = component::configuration(to.path(), component::Access::ReadWrite).unwrap_or_default();
        Remedy::advice(format!("let {} contain {}", local.display(), text.trim_end()))
    } else if to.path() == local {
        Remedy::advice(format!("leave {path} where it is"))
    } else {
        Remedy::command(format!("install -m 0600 --owner=SERVER_USER {path} {}", local.display()))
    };
    let global = format!(
        "let {}.cnf in the plug-in directory contain {}",
        loader.name,
        component::LOCAL_CONFIGURATION.trim_end()
    );
    let manifest = format!(
        "let the {COMPONENT_MANIFEST} that the server reads, beside mysqld or in {}, name \"file://{}\" as its only \
         keyring component",
        datadir.display(),
        loader.name
    );
    configured.and(global).and(manifest).and("remove early-plugin-load of a keyring plug-in from the option file")
}

fn plugin_lines(to: &KeyLocation, loader: Loader) -> Remedy {
    let variable = if to.is_service() { VAULT_CONFIGURATION } else { KEYRING_PLUGIN_FILE };
    let lines = [format!("early-plugin-load = {}", loader.name), format!("{variable} = {}", to.path().display())];
    let manifest = format!("let no {COMPONENT_MANIFEST} name a keyring component");
    Remedy::option_file(option_group::MYSQLD, lines).and(manifest)
}

/// The server's own program for the same migration, and why it was not used.
fn own_program(old: Loader, new: Loader) -> String {
    let (from, to) = (old.name, new.name);
    let migration =
        |mode: &str| format!("mysqld {mode}--keyring-migration-source={from} --keyring-migration-destination={to}");
    let command = match (old.is_component, new.is_component) {
        (true, true) => {
            format!("mysql_migrate_keyring --component-dir=… --source-keyring={from} --destination-keyring={to}")
        }
        (false, true) => migration("--keyring-migration-to-component "),
        (true, false) => migration("--keyring-migration-from-component "),
        (false, false) => migration(""),
    };
    format!(
        "the server's own `{command}` copies the same keys, but compares none and opens no file, so it was not used"
    )
}
