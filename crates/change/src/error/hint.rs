//! The next step after an error.

use std::{borrow::Cow, io};

use super::Error;

/// Remedy if the keyring on disk differs from the running server's.
pub(crate) const KEYRING_LOST: &str = "do not stop the server: it still has its keys in memory; put a good copy of the keyring \
                               back first (docs/rotate.md, \"When a keyring is lost\")";
/// Remedy if a service no longer has a key that the running server uses.
pub(crate) const LOST_IN_SERVICE: &str = "do not stop the server: it still has its keys in memory; bring the key back in the \
                                          service (in a Vault, a deleted version with `vault kv undelete`), or re-encrypt its \
                                          files with another key first";
/// Hint for a statement whose error has no hint.
const SEE_LOG: &str = "look at the server's error log, then run the same command again";
/// Hint for a server that reads certificates only at startup.
const AT_START: &str = "put the files where ssl_cert, ssl_key and ssl_ca of its option file say, and restart it";

impl Error {
    /// The next step, if there is one.
    #[must_use]
    pub fn hint(&self) -> Option<Cow<'static, str>> {
        Some(match self {
            Self::Server(error) => return error.hint(),
            Self::Statement { source, .. } => return source.hint().or_else(|| Some(SEE_LOG.into())),
            Self::Audit(error) => return error.hint(),
            Self::Register(error) => return error.hint().map(Cow::Borrowed),
            Self::Keyring(error) => return error.hint().map(Cow::Borrowed),
            Self::Certificate(error) => return error.hint().map(Cow::Borrowed),
            Self::RolledBack { cause } => return cause.hint(),
            Self::SeveralRuns { servers } => format!("name one of {}", servers.join(", ")).into(),
            Self::NoRun { last: Some((server, activity)) } => {
                let last = format!("the last on {server} {activity}");
                format!("{last}; `sealant encrypt run` continues where it stopped").into()
            }
            Self::Privileges { account, missing } | Self::Denied { account, missing, .. } => {
                let grants = missing.iter().map(|need| format!("GRANT {need} TO {account}"));
                grants.collect::<Vec<_>>().join("; ").into()
            }
            Self::ReadsAtStart { tls_version: Some(_), .. } => format!(
                "upgrade it: all builds of MySQL from 5.7.28 on have TLS 1.2; until then, {AT_START}, with an RSA key \
                 that `openssl rsa -traditional` has converted if the build is one with yaSSL"
            )
            .into(),
            Self::SetByAccount { variable, .. } => {
                let step = "name the file in the server's option file";
                format!("{step}, RESET PERSIST {variable} (MySQL), and restart it once").into()
            }
            _ => return self.fixed_hint().map(Cow::Borrowed),
        })
    }

    fn fixed_hint(&self) -> Option<&'static str> {
        if let Self::KeyService { source, .. } = self {
            return source.hint();
        }
        if let Self::KeyLocation { source, .. } | Self::SeveralKeys { source, .. } = self {
            return source.hint();
        }
        self.hint_of_keys().or_else(|| self.hint_of_set_up()).or_else(|| self.hint_of_certificates())
    }

    /// Hints for encryption and rotation.
    const fn hint_of_keys(&self) -> Option<&'static str> {
        Some(match self {
            Self::NoKeyring { .. } => {
                "make one with `sealant keyring init` (component_keyring_file), or configure a key service, and \
                 restart the server"
            }
            Self::NoKeyManagement { .. } => {
                "make one with `sealant keyring init` (file_key_management), or load another key management plug-in, \
                 and restart the server"
            }
            Self::State { .. } => "name another directory with --state-dir",
            Self::AnotherRun { .. } => "see its state with `sealant encrypt status`",
            Self::Tool { .. } => "install it, or choose another --method",
            Self::NoRoomForKeyring { .. } => "nothing was changed; make room and run it again",
            Self::ReadOnlyKeyring { .. } => {
                "set \"read_only\": false in the keyring component's configuration and restart the server"
            }
            Self::KeyringOpensNotAll { lost, .. } if !lost.withdrawn.is_empty() => LOST_IN_SERVICE,
            Self::KeyringBehind { is_in_service: true, .. } => LOST_IN_SERVICE,
            Self::Keyring(_)
            | Self::KeyringOpensNotAll { .. }
            | Self::KeyringLost { .. }
            | Self::KeyringFile { .. }
            | Self::KeyringBehind { .. } => KEYRING_LOST,
            Self::NoServiceFile(_) => "give the configuration of the Vault, the KMIP service or AWS KMS with --keyring",
            Self::OtherDatadir { .. } => "give this server's own data directory with --datadir",
            Self::KeyringNotAFile { .. } => {
                "give the file, or the configuration of the Vault, the KMIP service or AWS KMS, with --keyring; keys of \
                 other services and in encrypted files cannot be read: rotate and back up those with their own tools"
            }
            Self::OtherKeyring { .. } => "leave --keyring out",
            Self::NoSuchKey { .. } => "add a line for it, and restart the server, which reads the file only at startup",
            Self::KeyringChanges { .. } => "another program is creating keys; run it again when that has ended",
            Self::NoNewKey { is_in_service: true, .. } => {
                "the server calls it done, but the service did not get a key: do not stop the server, see in its error log \
                 whether it may write to the service, and run the same command again"
            }
            Self::NoNewKey { .. } => "check that the server writes this file, and look at its error log",
            Self::Unread { .. } => "run as the server's user or as root",
            Self::BinaryLogsInClear { .. } => "leave --binlog-key out, or SET PERSIST binlog_encryption = ON first",
            Self::RedoInClear { .. } => "leave --redo out, or encrypt it first: sealant encrypt run --policy logs",
            Self::RedoUnproven { .. } => "run the same command again",
            Self::BackupExists { .. } => "name a new file, for example with the date in it",
            Self::Backup { .. } => "name a file in a directory that this user may write",
            Self::Recipient { .. } => {
                "a recipient is what `age-keygen` prints as the public key: age1 and 58 letters and digits"
            }
            Self::Identity { .. } => return agefile::Error::NoIdentity.hint(),
            Self::NoMasterKey { .. } => {
                "MariaDB's file_key_management has no versions of keys: move tables to another key, which has to be in \
                 its file, with --mariadb-key-id N (ENCRYPTION_KEY_ID=N for each table); keys in a Vault get a version with \
                 --mariadb-new-version N"
            }
            Self::NoBackup => "give --keyring-backup FILE and --recipient age1…, or ask for a plan",
            Self::NoRecipient => "give --recipient age1…",
            Self::NoBackupFile => "give --keyring-backup FILE",
            _ => return None,
        })
    }

    /// Hints for setting up and checking a keyring.
    const fn hint_of_set_up(&self) -> Option<&'static str> {
        Some(match self {
            Self::NoServer => {
                "give mysql://USER@HOST:PORT or --socket PATH, or --config FILE for a server that does not run"
            }
            Self::Active { .. } => "prove it with `sealant keyring check`",
            Self::Configured { .. } => "complete or remove the existing configuration by hand; nothing was written",
            Self::KeysExist { .. } => {
                "name another file with --keyring-file; if these keys are this server's, configure it by hand"
            }
            Self::InsideDatadir { .. } => {
                "leave --keyring-file out, or add --inside-datadir if a copy of the data may hold its keys"
            }
            Self::NoDatadir { .. } => "give the server's own data directory with --datadir",
            Self::NotFound { .. } => {
                "run it on the server's host, as root; name what it cannot find with --plugin-dir and --daemon-dir"
            }
            Self::Unsafe { .. } => "name another directory, or give it to the server's user alone: mode 0700 or 0750",
            Self::NoNewVersion { .. } => "another Vault or a cache answers; see the Vault's audit log",
            Self::VersionsRemoved { .. } => {
                "do not stop the server; raise max_versions, and restore the versions from the backup FILE.before"
            }
            Self::OldVersionInUse { .. } => {
                "lower hashicorp_key_management_cache_version_timeout, or wait longer with --settle; see the server's \
                 error log if its token may not read the new version; then run the same command again"
            }
            Self::SameKeyring { .. } => "name another target",
            Self::NoKeysToMigrate { .. } => "name the keyring that the server uses",
            Self::KeyringInUse { .. } => "stop that server and run the same command again, or name another target",
            Self::OtherKeys { .. } => {
                "the target belongs to another server or is of another time: name a new file, or an empty directory of \
                 the Vault"
            }
            Self::SourceKeysWithdrawn { .. } => {
                "restore them with `vault kv undelete`, or remove them for good with `vault kv metadata delete`"
            }
            Self::TargetIsNewer { .. } => {
                "the source may be an old copy: give the newest keyring of that server as the source, or name a new target"
            }
            Self::ServerUnseen { .. } => "run it as root",
            Self::KeyWithdrawn { .. } => "restore it there, or remove it with `vault kv metadata delete`",
            Self::KeyNotStored { .. } => "the source is unchanged: leave the server on it, and see the service's log",
            Self::KeyMadeMeanwhile { .. } => "rotate no key during the migration; run the same command again",
            Self::Look { .. } | Self::Write { .. } => "run it as root",
            _ => return None,
        })
    }

    /// Hints for certificates.
    fn hint_of_certificates(&self) -> Option<&'static str> {
        Some(match self {
            Self::CertificateRefused { .. } => "issue another with `sealant cert issue` or `sealant cert renew`",
            Self::ReadsAtStart { tls_version: None, .. } => AT_START,
            Self::MissingVariable { .. } => {
                "name the files in the server's option file (ssl_cert, ssl_key, ssl_ca), put the certificate there and \
                 restart the server once; later certificates need no restart"
            }
            Self::NotReplaced { .. } => {
                "look at the file: only a missing file is replaced, or one that is PEM of the same kind and belongs to \
                 the server's user or to root"
            }
            Self::SameFile { .. } => "give each a file of its own in the server's option file, and restart it",
            Self::File { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                "run as root, or as the server's user"
            }
            Self::File { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                "run it on the server's own host: the files are replaced there"
            }
            Self::Unseen { source: server::Error::CertificateNotTrusted { .. }, .. } => {
                "issue another with `sealant cert issue`, and give its own authority with --ca"
            }
            Self::Unseen { .. } => "say where the server can be reached with --outside HOST:PORT",
            Self::NotServed { .. } => "check that the files belong to this server, and run it on the server's own host",
            Self::NotRolledBack { .. } => concat!(
                "the old files are beside the new ones, as FILE.sealant-before: put them back, then ",
                server::mysql_reload_tls!(),
                " (MySQL) or ",
                server::mariadb_reload_tls!(),
                " (MariaDB)"
            ),
            _ => return None,
        })
    }
}
