//! Steps on MySQL 8.0 and later, and Percona Server.

use server::Rows;

use super::{
    Action, How, KeyStores, Leftover, Method, Options, Place, Policy, Scan, TableChange,
    clear::Clear,
    in_place,
    method::{Chooser, is_rebuildable},
    read_only, redo, scratch, undo, wanted,
};
use crate::{Blocks, Error, KeyStore, KeyringStatus, Outcome, Session, Step, online::Table, quote};

/// The first release with all that is asked for here: `binlog_encryption` is the youngest.
const OLDEST: (u16, u16, u16) = (8, 0, 16);

pub(super) fn steps(
    session: &mut Session<'_>,
    place: &Place,
    options: &Options,
    scan: &Scan,
) -> Result<Vec<Step<Action>>, Error> {
    let (major, minor, patch) = OLDEST;
    let version = &session.identity().version;
    if !version.at_least(major, minor, patch) {
        let reason = format!("{version} cannot encrypt its logs and defaults; {major}.{minor}.{patch} and later can");
        return Err(Error::Unsupported { server: session.identity().hostname.clone(), reason });
    }
    if options.method == Method::RebuildReplica {
        is_rebuildable(session)?;
    }
    let settings = Settings::of(session)?;
    let clear = Clear::of(session)?;
    let mut steps = vec![Step::quiet(
        "keyring",
        "prove that the keyring is active, takes new keys, and opens what is encrypted",
        Action::ProveKeyring,
    )];
    if read_only::is_super(session)? {
        steps.push(read_only::step());
    }
    if scratch::is_left(session)? || undo::is_left(session)? {
        steps.push(Step::quiet("tidy up", "put right what an interrupted run has left", Action::TidyUp));
    }
    let (tables, logs) = (options.policy != Policy::Logs, options.policy != Policy::Tables);
    if tables {
        steps.extend(default_steps(session, options, &settings)?);
    }
    if logs {
        steps.extend(log_steps(&settings));
    }
    if tables {
        steps.extend(tablespace_steps(session, options, &clear)?);
        steps.extend(table_steps(session, place, options, &clear)?);
    }
    if logs {
        let resizes = redo::capacity(session)?.is_some();
        let renewals = scan.renewals().into_iter().filter(|step| step.action != Action::RenewDoublewrite);
        steps.extend(renewals.filter(|step| resizes || redo::needs_no_resize(step)));
        if options.purge_binlogs && clear_binary_logs(session)?.is_some() {
            let what = "remove the binary logs that were written in clear text";
            steps.push(Step::quiet("purge binary logs", what, Action::PurgeBinaryLogs));
        }
    }
    // What only looks needs no leave to write.
    let idle = steps.iter().all(|step| matches!(step.action, Action::ProveKeyring | Action::LiftSuperReadOnly));
    steps.retain(|step| !idle || step.action != Action::LiftSuperReadOnly);
    Ok(steps)
}

fn statement(id: &str, what: &str, sql: &str) -> Step<Action> {
    Step::quiet(id, what, Action::Statements(vec![sql.to_owned()]))
}

/// Variables that matter here.
struct Settings(Rows);

impl Settings {
    fn of(session: &mut Session<'_>) -> Result<Self, Error> {
        Ok(Self(session.ask(
            "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('default_table_encryption', 'innodb_undo_log_encrypt', \
             'innodb_redo_log_encrypt', 'binlog_encryption', 'innodb_change_buffering')",
        )?))
    }

    fn is_off(&self, name: &str) -> bool {
        self.value(name).is_some_and(|value| value.eq_ignore_ascii_case("off"))
    }

    fn value(&self, name: &str) -> Option<&str> {
        let row = self.0.rows.iter().find(|row| row.first().is_some_and(|known| known.as_deref() == Some(name)));
        row?.get(1)?.as_deref()
    }
}

fn default_steps(
    session: &mut Session<'_>,
    options: &Options,
    settings: &Settings,
) -> Result<Vec<Step<Action>>, Error> {
    let mut steps = Vec::new();
    if settings.value("innodb_change_buffering").is_some_and(|value| !value.eq_ignore_ascii_case("none")) {
        let what = "stop buffering changes of indexes, which are kept in ibdata1 in clear text";
        steps.push(statement("change buffer", what, "SET PERSIST innodb_change_buffering = 'none'"));
    }
    if settings.is_off("default_table_encryption") {
        let sql = "SET PERSIST default_table_encryption = ON";
        steps.push(statement("default", "encrypt the tables of new schemas", sql));
    }
    let schemas = session.ask(
        "SELECT SCHEMA_NAME FROM information_schema.SCHEMATA WHERE DEFAULT_ENCRYPTION = 'NO' \
         AND SCHEMA_NAME NOT IN ('mysql', 'information_schema', 'performance_schema', 'sys')",
    )?;
    for schema in schemas.rows.iter().filter_map(|row| row.first()?.as_deref()) {
        // That of an interrupted run is gone by then.
        if wanted(options, schema) && schema != scratch::SCHEMA {
            let sql = format!("ALTER SCHEMA {} DEFAULT ENCRYPTION = 'Y'", quote::name(schema));
            let step = statement(&format!("schema {schema}"), &format!("encrypt new tables of {schema}"), &sql);
            steps.push(Step { blocks: Blocks::Moment, ..step });
        }
    }
    Ok(steps)
}

fn log_steps(settings: &Settings) -> Vec<Step<Action>> {
    let logs = [
        ("undo", "innodb_undo_log_encrypt", "encrypt what is written to undo tablespaces from now on"),
        ("redo", "innodb_redo_log_encrypt", "encrypt what is written to the redo log from now on"),
        ("binary log", "binlog_encryption", "encrypt binary and relay logs, beginning with new ones"),
    ];
    let off = logs.into_iter().filter(|(_, variable, _)| settings.is_off(variable));
    off.map(|(id, variable, what)| statement(id, what, &format!("SET PERSIST {variable} = ON"))).collect()
}

fn tablespace_steps(session: &mut Session<'_>, options: &Options, clear: &Clear) -> Result<Vec<Step<Action>>, Error> {
    let mut steps = Vec::new();
    if !options.schemas.is_empty() {
        return Ok(steps);
    }
    let datadir = options.datadir_of(session);
    for (name, bytes) in &clear.general {
        if !in_place::is_encrypted(session, &datadir, name)? {
            let what = format!("encrypt the tablespace {name} in place");
            let step = Step::quiet(&format!("tablespace {name}"), &what, Action::Tablespace(name.clone()));
            steps.push(Step { blocks: Blocks::Moment, bytes: *bytes, ..step });
        }
    }
    Ok(steps)
}

/// Tablespaces that are encrypted and that the server calls clear.
pub(super) fn miscalled(session: &mut Session<'_>, options: &Options) -> Result<Vec<Leftover>, Error> {
    let datadir = options.datadir_of(session);
    let mut leftovers = Vec::new();
    for (name, _) in Clear::of(session)?.general {
        if in_place::is_encrypted(session, &datadir, &name)? {
            leftovers.push(in_place::miscalled(&name));
        }
    }
    Ok(leftovers)
}

fn table_steps(
    session: &mut Session<'_>,
    place: &Place,
    options: &Options,
    clear: &Clear,
) -> Result<Vec<Step<Action>>, Error> {
    let chooser = Chooser::of(session, options, &place.connect)?;
    let mut steps = Vec::new();
    for table in clear.tables.iter().filter(|table| wanted(options, &table.schema)) {
        let moved = if table.in_system { "TABLESPACE = innodb_file_per_table, " } else { "" };
        // No release takes ALGORITHM=INPLACE or LOCK=NONE for it.
        let sql = format!("ALTER TABLE {} {moved}ENCRYPTION = 'Y', LOCK = SHARED", table.quoted());
        let how = chooser.choose(session, table)?;
        let (way, blocks) = match &how {
            How::Copy => ("by a copy".to_owned(), Blocks::Writes),
            How::Online(tool) => (format!("by {}", tool.tool.program()), Blocks::Moment),
            How::Leave(_) => ("later".to_owned(), Blocks::Nothing),
        };
        let name = Table { schema: table.schema.clone(), name: table.table.clone() };
        steps.push(Step {
            id: format!("table {}.{}", table.schema, table.table),
            what: format!("encrypt the table {}.{} {way}", table.schema, table.table),
            blocks,
            bytes: table.bytes,
            action: Action::Table(TableChange { table: name, sql, bytes: table.bytes, how }),
        });
    }
    Ok(steps)
}

/// The keyring, which has to be active and to take new keys, and its copies.
pub(super) fn key_stores(session: &mut Session<'_>, server: &str, options: &Options) -> Result<KeyStores, Error> {
    let status = KeyringStatus::of(session)?.ok_or_else(|| Error::NoKeyring { server: server.to_owned() })?;
    if status.read_only {
        return Err(Error::ReadOnlyKeyring { server: server.to_owned(), keyring: status.name });
    }
    let datadir = options.datadir_of(session);
    let own = status.file.into_iter().map(|path| (KeyStore::MySql(path), false));
    let copies = options.keyring_copies.iter().map(|path| (KeyStore::MySql(path.clone()), true));
    Ok((own.chain(copies).collect(), datadir))
}

/// The oldest binary log that is encrypted, if older ones are not; with the server's spelling.
fn clear_binary_logs(session: &mut Session<'_>) -> Result<Option<String>, Error> {
    let logs = match session.ask("SHOW BINARY LOGS") {
        Ok(logs) => logs,
        // ER_NO_BINARY_LOGGING
        Err(Error::Server(server::Error::Server { code: 1381, .. })) => return Ok(None),
        Err(error) => return Err(error),
    };
    let encrypted = |row: usize| logs.value(row, "Encrypted").is_some_and(|value| value == "Yes");
    if logs.rows.is_empty() || encrypted(0) {
        return Ok(None);
    }
    let first = (0..logs.rows.len()).find(|row| encrypted(*row));
    Ok(Some(first.and_then(|row| logs.value(row, "Log_name")).unwrap_or_default().to_owned()))
}

/// Removes binary logs up to the first that is encrypted. The server keeps those that a connected
/// replica still reads; of replicas that are not connected it knows nothing.
pub(super) fn purge_binary_logs(session: &mut Session<'_>, ran: &mut Vec<String>) -> Result<Outcome, Error> {
    let Some(first) = clear_binary_logs(session)? else {
        return Ok(Outcome::Skipped { reason: "no binary log is in clear text".to_owned() });
    };
    if first.is_empty() {
        return Ok(Outcome::Failed { reason: "no binary log is encrypted yet".to_owned() });
    }
    let sql = format!("PURGE BINARY LOGS TO {}", quote::text(&first));
    ran.push(sql.clone());
    session.change(&sql)?;
    Ok(match clear_binary_logs(session)? {
        None => Outcome::Done,
        Some(_) => Outcome::Failed { reason: "a replica still reads binary logs in clear text".to_owned() },
    })
}
