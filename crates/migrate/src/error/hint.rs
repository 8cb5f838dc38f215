//! What to do about an error, and what kind of failure it is.

use std::borrow::Cow;

use server::error_code;

use crate::{Error, STATE_SCHEMA, Side, fencing::WITHHELD};

/// Permits `LOAD DATA LOCAL` at the target.
pub(crate) const ALLOW_LOCAL_INFILE: &str = "SET PERSIST local_infile = ON";

/// What is left if something has removed a part of the state.
const STATE_LOST: &str = "something else has changed the migration's state, and it cannot go on; see whether the source is still \
                          read-only; after the cut-over keep the tables, and only DROP DATABASE _sealant at the target; before it, \
                          drop the copies of the tables there, too, and begin again";

/// Prefixes of options that other commands have once. A migration has them for each side, as in `--source-user`.
const OPTIONS: [&str; 4] = ["--tls-", "--password-", "--user", "--socket"];

impl Error {
    /// The next step, if there is one.
    #[must_use]
    pub fn hint(&self) -> Option<Cow<'static, str>> {
        Some(match self {
            Self::Server { side, error } => return server_hint(*side, error),
            Self::Unverified { side, .. } => {
                format!("give --{side}-tls-ca FILE, or --{side}-tls-fingerprint HEX").into()
            }
            Self::Definition { .. } => "leave the table out with --exclude".into(),
            Self::Create { error, .. } => server_hint(Side::Target, error).unwrap_or_else(|| {
                "change it at the source, or leave the table out with --exclude; the same command then goes on".into()
            }),
            Self::LessEncrypted { remedy, .. } => {
                return remedy.as_ref().map(|remedy| format!("{remedy}; then give the same command again").into());
            }
            Self::Structure { .. } => "the target must create tables as the source has them; those that were created before the \
                                       source's were changed go with sealant migrate abort --drop-tables"
                .into(),
            Self::NewTables { .. } => {
                "leave them out with --exclude, or drop them at the source; to move them, begin again after sealant \
                 migrate abort"
                    .into()
            }
            Self::Stream(error) => of_side(Side::Source, &error.hint()?).into(),
            Self::SourceSetting { .. } => "set it on the source, then run again".into(),
            Self::SortKey { .. } => "leave the table out with --exclude".into(),
            Self::TableInUse { .. } => {
                "end the transaction that uses them (SHOW PROCESSLIST), or wait for it; the same command goes on".into()
            }
            Self::TargetInUse { .. } => "end the transaction or statement that uses it (SHOW PROCESSLIST at the target, and \
                                         performance_schema.metadata_locks), then give the same command again"
                .into(),
            Self::RowNotFound { .. } => {
                "begin again after sealant migrate abort --drop-tables, and find out what else has changed the target; if the source \
                 is MySQL 9.6 or newer and the table is changed by foreign keys, let it run with innodb_native_foreign_keys=ON (it takes \
                 a restart): without that, its log can have changes that a deadlock has undone"
                    .into()
            }
            Self::UnloggedCascade { .. } => "let the source run with innodb_native_foreign_keys=ON (it takes a restart), and begin \
                                             again after sealant migrate abort --drop-tables: then connected tables are copied \
                                             together"
                .into(),
            Self::DefinitionChanged { .. } | Self::Columns { .. } | Self::ColumnType { .. } => {
                "abort, make the same change at the target or let it be created again, then restart the migration"
                    .into()
            }
            Self::StatementFormat { .. } => "set binlog_format=ROW for every session of the source, begin a new log file \
                                             there (FLUSH BINARY LOGS), abort, and begin again"
                .into(),
            Self::OneServer => "give the addresses of two servers".into(),
            Self::FollowsTarget { .. } => "stop that replication (STOP REPLICA at the source), see whether it has replaced newer rows of \
                                           the source by older ones, and begin again after sealant migrate abort --drop-tables"
                .into(),
            Self::UnloggedReplication => "stop that replication (STOP REPLICA at the source); the same command then compares every row \
                                           again; copy rows that differ anew, after sealant migrate abort --drop-tables"
                .into(),
            Self::SeveralServers => "give the source's own address, not that of a load balancer or of several servers; after a restart \
                                      of the source, give the same command again"
                .into(),
            Self::OtherServer { .. } => "without GTIDs a migration can resume only with the server that it was begun with: \
                                         bring that one back, or abort and begin again"
                .into(),
            Self::TargetWritten { .. } => "find out what writes there, and stop it; the same command then compares every row \
                                           again"
                .into(),
            Self::LateWrite { .. } => "find out what writes to the source, and lead it to the target; look into the source's \
                                       log (mysqlbinlog --verbose) for what has to be repeated at the target"
                .into(),
            Self::TargetLog(_) | Self::TargetLogReset { .. } => "the same command compares every row again".into(),
            Self::PauseRequested => "it ends after its current step; sealant migrate status shows whether it runs, and \
                                     sealant migrate resume takes the request back"
                .into(),
            Self::Paused => "sealant migrate resume lets it go on".into(),
            Self::NotPaused => "sealant migrate run continues it".into(),
            Self::LogReset { .. } => "changes may be lost with the old log, so the rows have to be copied again: \
                                      sealant migrate abort --drop-tables, then begin again"
                .into(),
            Self::MissingGrant { side: Side::Source, statement, privileges }
                if WITHHELD.into_iter().any(|name| privileges.contains(name)) =>
            {
                format!(
                    "on the source: {statement}; managed services do not give that: take --fence lock-tables, accounts or \
                     external there"
                )
                .into()
            }
            Self::MissingGrant { side, statement, .. } => format!("on the {side}: {statement}").into(),
            Self::NotCopied => "continue with sealant migrate run".into(),
            Self::NotSwitched => {
                "sealant migrate cutover does it; sealant migrate abort gives the migration up".into()
            }
            Self::NoFallback => "end the migration with sealant migrate finish --proof FILE".into(),
            Self::FellBack => "end the migration with sealant migrate finish --proof FILE".into(),
            Self::FallbackOpen => "name the source, too: --source URL".into(),
            Self::WayBack(error) => way_back_hint(error),
            Self::WayBackClosed(_) => {
                "the target stays the server in use, and the source read-only; end the migration with sealant migrate \
                 finish --proof FILE"
                    .into()
            }
            Self::Switched => "end the migration with sealant migrate finish --proof FILE".into(),
            Self::CutOverInterrupted => {
                "sealant migrate cutover resumes it; sealant migrate abort makes the source writable again".into()
            }
            Self::Locked { .. } => {
                "sealant migrate status shows how far it is; end it with SIGINT or SIGTERM, then give this command again"
                    .into()
            }
            Self::Divergence(_) => {
                "find out what else writes to the target; make these rows equal there and give sealant migrate verify, \
                 or begin again after sealant migrate abort --drop-tables"
                    .into()
            }
            Self::ReadBack { .. } => "look for a trigger, a rule or another program at the target that changes rows; the same command \
                                      then copies the range again"
                .into(),
            Self::Stopped => "the same command resumes".into(),
            Self::StillFenced { statements, .. } => format!(
                "see with sealant migrate status whether the cut-over was done; if it was not, run on the source: \
                 {statements}; if that server is gone, DROP DATABASE {STATE_SCHEMA} at the target gives the migration up"
            )
            .into(),
            Self::State { .. } => STATE_LOST.into(),
            Self::NotBegun => "sealant migrate run begins one".into(),
            Self::OtherFormat { .. } => "finish it or abort it with that version".into(),
            Self::ForeignState { .. } => "rename that schema".into(),
            Self::OtherMigration { .. } => {
                "give the same servers, --schema and --exclude as at first; leave new tables out with --exclude, or begin \
                 again after sealant migrate abort"
                    .into()
            }
            Self::NotEmpty { .. } => "the tables must be empty, and nothing else may write to them".into(),
            _ => return None,
        })
    }

    /// Whether the command line is wrong.
    #[must_use]
    pub const fn is_misuse(&self) -> bool {
        matches!(self, Self::Server { error, .. } if error.is_misuse())
    }

    /// Whether an account lacks a privilege.
    #[must_use]
    pub fn is_missing_grant(&self) -> bool {
        match self {
            Self::MissingGrant { .. } => true,
            Self::WayBack(error) => error.is_missing_grant(),
            _ => false,
        }
    }

    /// Whether the program refused to continue for safety.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::WayBackClosed(_) => true,
            Self::WayBack(error) => error.is_refusal(),
            Self::Unverified { .. }
            | Self::LessEncrypted { .. }
            | Self::OneServer
            | Self::FollowsTarget { .. }
            | Self::Structure { .. }
            | Self::NewTables { .. }
            | Self::Divergence(_)
            | Self::TargetWritten { .. }
            | Self::LateWrite { .. }
            | Self::ReadBack { .. } => true,
            Self::Server { error, .. } => matches!(
                error,
                server::Error::TlsNotOffered
                    | server::Error::TlsTooOld { .. }
                    | server::Error::CertificateNotTrusted { .. }
                    | server::Error::NameMismatch { .. }
                    | server::Error::UnverifiedServer { .. }
                    | server::Error::PlaintextRefused { .. }
            ),
            _ => false,
        }
    }
}

/// The hint for an error of the way back, where source and target are swapped.
fn way_back_hint(error: &Error) -> Cow<'static, str> {
    match error {
        Error::Divergence(_) => {
            "find out what else writes to the source, and make these rows there equal to those of the \
                                 target; the same command compares them again"
                .into()
        }
        Error::TargetWritten { .. } => {
            "find out what writes to the fenced source, and stop it; the same command compares every row again".into()
        }
        Error::MissingGrant { side, statement, .. } => {
            let side = if *side == Side::Source { Side::Target } else { Side::Source };
            format!("on the {side}: {statement}").into()
        }
        Error::StillFenced { statements, .. } => format!("make the target writable with {statements}").into(),
        _ => "the same command goes on".into(),
    }
}

/// What to do about an error of the server at this end.
fn server_hint(side: Side, error: &server::Error) -> Option<Cow<'static, str>> {
    Some(match error {
        server::Error::AccessDenied { .. } => format!(
            "check user, password (--{side}-password-file, or the group sealant-{side} of --defaults-file) and the host the \
             account is for"
        )
        .into(),
        server::Error::TlsTooOld { .. } => format!(
            "if the server has TLS 1.2, permit it with --min-tls 1.2; else connect through its socket (--{side}-socket), \
             or upgrade it"
        )
        .into(),
        server::Error::NameMismatch { .. } => {
            "connect by a name in the certificate, or check the chain only (--tls-any-name)".into()
        }
        server::Error::Server { code, .. } if side == Side::Target && *code == error_code::LOCAL_INFILE_DISABLED => {
            format!("on the target: {ALLOW_LOCAL_INFILE}; then give the same command again").into()
        }
        server::Error::Server { code: error_code::NO_SUCH_TABLE | error_code::UNKNOWN_DATABASE, message, .. }
            if side == Side::Target && message.contains(STATE_SCHEMA) =>
        {
            STATE_LOST.into()
        }
        error => match error.hint() {
            Some(hint) => of_side(side, &hint).into(),
            None if matches!(error, server::Error::CertificateNotTrusted { .. }) => {
                format!("give the CA that has issued the server's certificate with --{side}-tls-ca").into()
            }
            None => return None,
        },
    })
}

/// The hint, with the names that its options have for this side.
fn of_side(side: Side, hint: &str) -> String {
    OPTIONS.iter().fold(hint.to_owned(), |hint, option| {
        hint.replace(option, &format!("--{side}-{}", option.trim_start_matches('-')))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_that_no_managed_service_permits_has_others() {
        let missing = |privileges: &str| {
            let error = Error::MissingGrant {
                side: Side::Source,
                privileges: privileges.to_owned(),
                statement: format!("GRANT {privileges}"),
            };
            error.hint().unwrap().into_owned()
        };
        assert!(
            missing("SYSTEM_VARIABLES_ADMIN, XA_RECOVER_ADMIN").contains("--fence lock-tables, accounts or external")
        );
        assert_eq!(missing("EVENT"), "on the source: GRANT EVENT");
    }

    #[test]
    fn hints_name_the_options_of_the_side() {
        let error = Error::Server { side: Side::Target, error: server::Error::CaMissing };
        let hint = error.hint().unwrap();
        assert!(hint.contains("--target-tls-ca"), "{hint}");
        let error = server::Error::TlsTooOld { reason: String::new() };
        let hint = Error::Server { side: Side::Source, error }.hint().unwrap();
        assert!(["--min-tls 1.2", "(--source-socket)", "upgrade"].iter().all(|part| hint.contains(part)), "{hint}");
    }
}
