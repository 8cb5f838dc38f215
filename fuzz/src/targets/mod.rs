//! The targets: each takes any bytes, and panics if what it tests does not hold.

mod agefile;
mod archive;
mod binlog;
mod innodb;
mod keyservice;
mod luks;
mod replication;
mod server;
mod sniff;
mod store;
mod transfer;
mod tunnel;

use crate::Target;

/// Targets by the crate and the file in which they are here; both are the target's name.
macro_rules! targets {
    ($($tested:ident::$file:ident),* $(,)?) => {
        &[$(Target { name: concat!(stringify!($tested), "_", stringify!($file)), run: $tested::$file::run }),*]
    };
}

pub(crate) const ALL: &[Target] = targets![
    agefile::file,
    agefile::keys,
    agefile::payload,
    archive::binlog_receipt,
    archive::manifest,
    archive::pack,
    archive::receipt,
    archive::sshsig,
    binlog::events,
    innodb::aria,
    innodb::aria_verify,
    innodb::binlog,
    innodb::binlog_verify,
    innodb::decompress,
    innodb::doublewrite,
    innodb::key_file,
    innodb::keyring,
    innodb::log_copy,
    innodb::page,
    innodb::page0,
    innodb::redo,
    innodb::redo_verify,
    innodb::tablespace,
    innodb::tablespace_scan,
    innodb::unreadable_page0,
    keyservice::answer,
    keyservice::kmip,
    keyservice::kms,
    luks::compare,
    luks::header,
    luks::metadata,
    replication::gtid,
    server::certificate,
    server::greeting,
    server::handshake,
    server::x_message,
    sniff::connection,
    sniff::packet,
    store::answer,
    transfer::code,
    transfer::control,
    transfer::data,
    transfer::manifest,
    transfer::pages,
    transfer::xbstream,
    tunnel::greeting,
    tunnel::login,
    tunnel::password,
    tunnel::server,
    tunnel::session,
];
