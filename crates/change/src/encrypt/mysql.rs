//! Steps for MySQL 5.7 and later, and Percona Server.

use server::{
    Capability, Flavor, Rows,
    dialect::{setting::setting, statement::show_variables},
    option_group, quote, switch,
};

use server::dialect::{encryption::MYSQL_ENCRYPTED, variable};

use super::{
    EncryptAction, KeyStores, Leftover, Method, Options, Policy, ServerAccess, TableChange, TableMethod, binlogs,
    clear::PlaintextTables,
    in_place,
    method::{MethodPlanner, is_rebuildable},
    read_only, redo,
    scan::Scan,
    undo,
};
use crate::{ClientImpact, Error, KeyStore, Session, Step, option_file, schema_change_tools::Table, scratch_schema};

pub(super) fn steps(
    session: &mut Session<'_>,
    access: &ServerAccess,
    options: &Options,
    scan: &Scan,
) -> Result<Vec<Step<EncryptAction>>, Error> {
    if !session.can(Capability::EncryptTables) {
        let reason = format!("{} cannot encrypt; 5.7.11 and later can", session.identity().version);
        return Err(Error::Unsupported { server: session.identity().hostname.clone(), reason });
    }
    if options.method == Method::RebuildReplica {
        is_rebuildable(session)?;
    }
    let settings = Settings::query(session)?;
    let clear = PlaintextTables::query(session)?;
    let mut steps = vec![Step::quiet(
        "keyring",
        "prove that the keyring is active, takes new keys, and opens what is encrypted",
        EncryptAction::ProveKeyring,
    )];
    if read_only::is_super(session)? {
        steps.push(read_only::step());
    }
    if scratch_schema::exists(session)? || undo::exists(session)? {
        steps.push(Step::quiet("tidy up", "repair what an interrupted run has left", EncryptAction::CleanUp));
    }
    let (tables, logs) = (options.policy != Policy::Logs, options.policy != Policy::Tables);
    if tables {
        steps.extend(default_steps(session, options, &settings)?);
    }
    if logs {
        steps.extend(log_steps(session, &settings));
    }
    if tables {
        steps.extend(tablespace_steps(session, options, &clear)?);
        steps.extend(table_steps(session, access, options, &clear)?);
    }
    if logs {
        let renewals = renewals(session, scan)?;
        steps.extend(renewals.into_iter().filter(|step| step.action != EncryptAction::RenewDoublewrite));
    }
    let binary_logs = logs && session.can(Capability::EncryptBinaryLogs);
    // Switching encryption on starts a new log. If it is already on, a step starts one.
    let is_on = settings.value(variable::MYSQL_BINARY_LOGS).is_some_and(switch::is_on);
    steps.extend(binlogs::steps(session, binary_logs && is_on, binary_logs && options.purge_binlogs)?);
    if tables {
        steps.extend(option_file(session, options, scan));
    }
    // Steps that only read do not need `super_read_only` lifted.
    let idle =
        steps.iter().all(|step| matches!(step.action, EncryptAction::ProveKeyring | EncryptAction::LiftSuperReadOnly));
    steps.retain(|step| !idle || step.action != EncryptAction::LiftSuperReadOnly);
    Ok(steps)
}

fn statement(id: &str, what: &str, sql: &str) -> Step<EncryptAction> {
    Step::quiet(id, what, EncryptAction::Statements(vec![sql.to_owned()]))
}

/// Values of the variables that decide the plan.
struct Settings(Rows);

impl Settings {
    fn query(session: &mut Session<'_>) -> Result<Self, Error> {
        let names = [
            variable::MYSQL_NEW_TABLES,
            variable::MYSQL_UNDO,
            variable::MYSQL_REDO,
            variable::MYSQL_BINARY_LOGS,
            "innodb_change_buffering",
        ];
        Ok(Self(session.query(&show_variables(&names))?))
    }

    fn is_off(&self, name: &str) -> bool {
        self.value(name).is_some_and(switch::is_off)
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
) -> Result<Vec<Step<EncryptAction>>, Error> {
    let mut steps = Vec::new();
    if settings.value("innodb_change_buffering").is_some_and(|value| !value.eq_ignore_ascii_case("none")) {
        let what = "stop buffering changes of indexes, which are kept in ibdata1 in clear text";
        steps.push(set(session, "change buffer", what, "innodb_change_buffering", "'none'"));
    }
    if !session.can(Capability::EncryptByDefault) {
        return Ok(steps);
    }
    if settings.is_off(variable::MYSQL_NEW_TABLES) {
        steps.push(set(session, "default", "encrypt the tables of new schemas", variable::MYSQL_NEW_TABLES, "ON"));
    }
    let schemas = session.query(concat!(
        "SELECT SCHEMA_NAME FROM information_schema.SCHEMATA WHERE DEFAULT_ENCRYPTION = 'NO' AND SCHEMA_NAME NOT IN ",
        server::system_schemas!()
    ))?;
    for schema in schemas.rows.iter().filter_map(|row| row.first()?.as_deref()) {
        // The schema of an interrupted run is gone by then.
        if options.include_schema(schema) && schema != scratch_schema::SCHEMA {
            let sql = format!("ALTER SCHEMA {} DEFAULT {MYSQL_ENCRYPTED}", quote::identifier(schema));
            let step = statement(&format!("schema {schema}"), &format!("encrypt new tables of {schema}"), &sql);
            steps.push(Step { blocks: ClientImpact::Moment, ..step });
        }
    }
    Ok(steps)
}

fn log_steps(session: &Session<'_>, settings: &Settings) -> Vec<Step<EncryptAction>> {
    let logs = [
        ("undo", variable::MYSQL_UNDO, "encrypt new pages of undo tablespaces"),
        ("redo", variable::MYSQL_REDO, "encrypt new blocks of the redo log"),
        ("binary log", variable::MYSQL_BINARY_LOGS, "encrypt new binary and relay logs"),
    ];
    let off = logs.into_iter().filter(|(_, variable, _)| settings.is_off(variable));
    off.map(|(id, variable, what)| set(session, id, what, variable, "ON")).collect()
}

/// Sets a variable, persistently if the server can.
fn set(session: &Session<'_>, id: &str, what: &str, variable: &str, value: &str) -> Step<EncryptAction> {
    statement(id, what, &setting(&session.identity().version, variable, value).statement)
}

/// Variables that a step may set, with their values.
const SET: [(&str, &str); 2] = [("innodb_change_buffering", "'none'"), (variable::MYSQL_REDO, "ON")];

/// Whether this server can persist all settings of a run.
pub(super) fn keeps_all(session: &Session<'_>) -> bool {
    SET.iter().all(|(variable, value)| setting(&session.identity().version, variable, value).line.is_none())
}

/// Settings for the next start that the server cannot persist and no option file has.
fn lines(session: &Session<'_>, options: &Options, scan: &Scan) -> Vec<(&'static str, String)> {
    let asked = |variable: &str| match variable {
        variable::MYSQL_REDO => options.policy != Policy::Tables && session.can(Capability::EncryptRedo),
        _ => options.policy != Policy::Logs,
    };
    let missing = SET.iter().filter(|(variable, _)| asked(variable) && scan.option_is_on(variable) != Some(true));
    let line = |(variable, value): &(&'static str, &str)| {
        Some((*variable, setting(&session.identity().version, variable, value).line?))
    };
    missing.filter_map(line).collect()
}

fn option_file(session: &Session<'_>, options: &Options, scan: &Scan) -> Option<Step<EncryptAction>> {
    let path = options.option_file.clone()?;
    let missing: Vec<String> = lines(session, options, scan).into_iter().map(|(_, line)| line).collect();
    let what = format!("write into {} for the next start: {}", path.display(), missing.join(", "));
    let lines = option_file::server_lines(Flavor::MySql, &missing);
    (!missing.is_empty()).then(|| Step::quiet("option file", &what, EncryptAction::OptionFile { path, lines }))
}

/// Settings that the next restart would undo.
pub(super) fn not_kept(session: &Session<'_>, options: &Options, scan: &Scan) -> Vec<Leftover> {
    let leftover = |(variable, line): (&str, String)| Leftover {
        artefact: variable.to_owned(),
        check: audit::checks::NOT_PERSISTENT.id.to_owned(),
        reason: format!("this server does not persist {variable}, and no option file sets it for the next start"),
        remedy: format!(
            "put `{line}` below [{}] in its option file, or run it again with --option-file",
            option_group::MYSQLD
        ),
        closable: true,
    };
    lines(session, options, scan).into_iter().map(leftover).collect()
}

/// Steps that rewrite the remaining clear-text data.
pub(super) fn renewals(session: &mut Session<'_>, scan: &Scan) -> Result<Vec<Step<EncryptAction>>, Error> {
    let resizes = redo::capacity(session)?.is_some();
    let can = |action: &EncryptAction| match action {
        EncryptAction::RenewUndo => session.can(Capability::EncryptUndo) && session.dictionary().undo.is_some(),
        EncryptAction::RenewRedo => resizes && session.can(Capability::EncryptRedo),
        EncryptAction::RenewDoublewrite => resizes && session.can(Capability::EncryptDoublewrite),
        _ => true,
    };
    let mut steps: Vec<_> = scan.renewals().into_iter().filter(|step| can(&step.action)).collect();
    if !resizes && scan.has_unwritten_pages() {
        let what = "make the server write the new copies from memory to disk";
        steps.insert(0, Step::quiet("write pages", what, EncryptAction::WritePages));
    }
    Ok(steps)
}

fn tablespace_steps(
    session: &mut Session<'_>,
    options: &Options,
    clear: &PlaintextTables,
) -> Result<Vec<Step<EncryptAction>>, Error> {
    let mut steps = Vec::new();
    if !options.schemas.is_empty() {
        return Ok(steps);
    }
    let datadir = options.datadir_of(session);
    for (name, bytes) in &clear.general {
        let kind = if name == "mysql" { Capability::EncryptDictionary } else { Capability::EncryptGeneral };
        if session.can(kind) && !in_place::is_encrypted(session, &datadir, name)? {
            let what = format!("encrypt the tablespace {name} in place");
            let step = Step::quiet(&format!("tablespace {name}"), &what, EncryptAction::Tablespace(name.clone()));
            steps.push(Step { blocks: ClientImpact::Moment, bytes: *bytes, ..step });
        }
    }
    Ok(steps)
}

/// Encrypted tablespaces that the server lists as unencrypted.
pub(super) fn misreported(session: &mut Session<'_>, options: &Options) -> Result<Vec<Leftover>, Error> {
    let datadir = options.datadir_of(session);
    let mut leftovers = Vec::new();
    for (name, _) in PlaintextTables::query(session)?.general {
        if in_place::is_encrypted(session, &datadir, &name)? {
            leftovers.push(in_place::misreported(&name));
        }
    }
    Ok(leftovers)
}

fn table_steps(
    session: &mut Session<'_>,
    access: &ServerAccess,
    options: &Options,
    clear: &PlaintextTables,
) -> Result<Vec<Step<EncryptAction>>, Error> {
    let chooser = MethodPlanner::new(session, options, &access.connect)?;
    let mut steps = Vec::new();
    for table in clear.tables.iter().filter(|table| options.include_schema(&table.schema)) {
        let moved = if table.in_system { "TABLESPACE = innodb_file_per_table, " } else { "" };
        // No release supports ALGORITHM=INPLACE or LOCK=NONE for this statement.
        let sql = format!("ALTER TABLE {} {moved}{MYSQL_ENCRYPTED}, LOCK = SHARED", table.quoted());
        let method = chooser.choose(session, table)?;
        let (variant, blocks) = match &method {
            TableMethod::Copy => ("by a copy".to_owned(), ClientImpact::Writes),
            TableMethod::Online(tool) => (format!("by {}", tool.tool.program()), ClientImpact::Moment),
            TableMethod::Leave(_) => ("later".to_owned(), ClientImpact::Nothing),
        };
        let name = Table { schema: table.schema.clone(), name: table.table.clone() };
        steps.push(Step {
            id: format!("table {}.{}", table.schema, table.table),
            what: format!("encrypt the table {}.{} {variant}", table.schema, table.table),
            blocks,
            bytes: table.bytes,
            action: EncryptAction::Table(TableChange { table: name, sql, bytes: table.bytes, method }),
        });
    }
    Ok(steps)
}

/// The keyring, which must be active and accept new keys, and its copies.
pub(super) fn key_stores(session: &mut Session<'_>, server: &str, options: &Options) -> Result<KeyStores, Error> {
    let datadir = options.datadir_of(session);
    let status = session.active_key_store(&datadir)?;
    let status = status.ok_or_else(|| Error::NoKeyring { server: server.to_owned() })?;
    if status.read_only {
        return Err(Error::ReadOnlyKeyring { server: server.to_owned(), keyring: status.name });
    }
    let current = status.file.into_iter().map(|path| (KeyStore::MySql(path), false));
    let copies = options.keyring_copies.iter().map(|path| (KeyStore::MySql(path.clone()), true));
    Ok((current.chain(copies).collect(), datadir))
}
