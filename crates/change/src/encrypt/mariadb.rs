//! Steps for MariaDB: background threads encrypt InnoDB's tablespaces; tables of other engines are encrypted when they
//! are rebuilt.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    thread::sleep,
    time::{Duration, Instant},
};

use server::{
    Flavor,
    dialect::{
        encryption::table_option,
        innodb::{MARIADB_PAGES_READ, MARIADB_THREADS, MARIADB_UNFINISHED, MARIADB_WAKE_THREADS, set_mariadb_threads},
        statement::CHECKPOINT,
    },
    option_group, quote, switch,
};

use innodb::file_suffix;
use server::dialect::variable;

use super::{
    EncryptAction, KeyStores, Leftover, Method, Options, Policy, Progress, TableChange, TableMethod, binlogs, clear,
    method, scan::Scan,
};
use crate::{
    ClientImpact, Error, KeyStore, Outcome, Session, Step, Throttle, control::Requests, option_file,
    schema_change_tools::Table, scratch_schema::ScratchSchema,
};

/// Time limit without progress of the threads.
const TIMEOUT: Duration = Duration::from_secs(120);
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// Time without progress after which the threads are woken.
const WAKE_AFTER: Duration = Duration::from_secs(3);

/// A variable: the required value, whether it can be set at run time, and whether it concerns logs.
struct Setting {
    name: &'static str,
    wanted: &'static str,
    dynamic: bool,
    logs: bool,
    what: &'static str,
}

const fn setting(name: &'static str, wanted: &'static str, dynamic: bool, logs: bool, what: &'static str) -> Setting {
    Setting { name, wanted, dynamic, logs, what }
}

/// Source: MariaDB knowledge base, "Encryption System Variables". Which variables can be set at run time was seen on
/// 10.11 and 11.8.
const SETTINGS: [Setting; 9] = [
    setting(
        variable::MARIADB_TABLESPACES,
        "FORCE",
        true,
        false,
        "encrypt InnoDB's tablespaces, including undo and the system tablespace, and let nobody create clear ones",
    ),
    setting("innodb_encryption_rotate_key_age", "1", true, false, "let the threads check all tablespaces"),
    setting("innodb_encryption_threads", "4", true, false, "start the threads that encrypt existing tablespaces"),
    setting(variable::ARIA_TABLES, "ON", true, false, "encrypt new and rebuilt Aria tables"),
    setting(variable::MARIADB_TEMPORARY_TABLES, "ON", true, false, "encrypt temporary tables on disk"),
    setting(variable::MARIADB_TEMPORARY_TABLESPACE, "ON", false, false, "encrypt InnoDB's temporary tablespace"),
    setting(variable::TEMPORARY_FILES, "ON", false, false, "encrypt temporary files"),
    setting(variable::MARIADB_REDO, "ON", false, true, "encrypt the redo log"),
    setting(variable::MARIADB_BINARY_LOGS, "ON", false, true, "encrypt binary and relay logs"),
];

pub(super) fn steps(
    session: &mut Session<'_>,
    options: &Options,
    scan: &Scan,
) -> Result<Vec<Step<EncryptAction>>, Error> {
    if !matches!(options.method, Method::Auto | Method::Native) {
        let reason = "MariaDB's own threads encrypt its tables without blocking clients; omit --method".to_owned();
        return Err(Error::Unsupported { server: session.identity().hostname.clone(), reason });
    }
    let mut steps = vec![Step::quiet(
        "keyring",
        "prove that a key management plug-in is active and that its key file opens what is encrypted",
        EncryptAction::ProveKeyring,
    )];
    for setting in wanted(options).filter(|setting| setting.dynamic) {
        if is_off(session, setting)? {
            let sql = set_global(setting);
            steps.push(Step::quiet(setting.name, setting.what, EncryptAction::Statements(vec![sql])));
        }
    }
    steps.extend(option_file(options, scan));
    if options.policy != Policy::Tables && options.purge_binlogs && encrypts_binary_logs(session)? {
        steps.extend(binlogs::steps(session, false, true)?);
    }
    if options.policy == Policy::Logs {
        return Ok(steps);
    }
    steps.extend(opted_out(session, options)?);
    steps.push(wait_step());
    if scan.failed(audit::checks::ARIA_PLAINTEXT.id) {
        steps.extend(aria(session, options)?);
    }
    Ok(steps)
}

/// Whether new binary logs are encrypted; changing that needs a restart.
pub(super) fn encrypts_binary_logs(session: &mut Session<'_>) -> Result<bool, Error> {
    session.is_on(variable::MARIADB_BINARY_LOGS)
}

/// FORCE is a keyword, and a number must not be quoted.
fn set_global(setting: &Setting) -> String {
    let quote = if setting.wanted == "FORCE" { "'" } else { "" };
    format!("SET GLOBAL {} = {quote}{}{quote}", setting.name, setting.wanted)
}

fn wanted(options: &Options) -> impl Iterator<Item = &'static Setting> {
    let policy = options.policy;
    SETTINGS.iter().filter(move |setting| match policy {
        Policy::All => true,
        Policy::Tables => !setting.logs,
        Policy::Logs => setting.logs,
    })
}

/// Whether a variable is off; a variable that this server does not have counts as on.
fn is_off(session: &mut Session<'_>, setting: &Setting) -> Result<bool, Error> {
    let is_off = |value: &str| {
        // ON still permits clear-text tables with ENCRYPTED=NO.
        let lax = setting.wanted == "FORCE" && !value.eq_ignore_ascii_case("FORCE");
        lax || switch::is_off(value)
    };
    Ok(session.variable(setting.name)?.as_deref().is_some_and(is_off))
}

/// A step that adds the settings which are missing in the given option file.
fn option_file(options: &Options, scan: &Scan) -> Option<Step<EncryptAction>> {
    let path = options.option_file.clone()?;
    let missing: Vec<String> = wanted(options)
        .filter(|setting| scan.option_is_on(setting.name) != Some(true))
        .map(|setting| format!("{} = {}", setting.name, setting.wanted))
        .collect();
    let what = format!("write into {} for the next start: {}", path.display(), missing.join(", "));
    let lines = option_file::server_lines(Flavor::MariaDb, &missing);
    (!missing.is_empty()).then(|| Step::quiet("option file", &what, EncryptAction::OptionFile { path, lines }))
}

fn write_setting(setting: &Setting) -> String {
    format!("write {} = {} under [{}] (--option-file)", setting.name, setting.wanted, option_group::MARIADB)
}

/// Settings that need a restart, or that the next restart would undo.
pub(super) fn pending_settings(
    session: &mut Session<'_>,
    options: &Options,
    scan: &Scan,
) -> Result<Vec<Leftover>, Error> {
    let mut leftovers = Vec::new();
    for setting in wanted(options) {
        let off = is_off(session, setting)?;
        let written = scan.option_is_on(setting.name);
        let reason = match (off, written) {
            (true, _) if setting.dynamic => format!("{} is off", setting.name),
            (true, _) => format!("{} is off, and takes effect at a restart only", setting.name),
            (false, Some(false)) => format!("{} is on, and no option file says so for the next start", setting.name),
            (false, _) => continue,
        };
        let remedy = match (off, written) {
            (true, Some(true)) => "restart the server".to_owned(),
            (true, _) => format!("{} and restart the server", write_setting(setting)),
            (false, _) => write_setting(setting),
        };
        let check = audit::checks::DEFAULT_OFF.id.to_owned();
        leftovers.push(Leftover { artefact: setting.name.to_owned(), check, reason, remedy, closable: true });
    }
    Ok(leftovers)
}

/// Tables created with `ENCRYPTED=NO`, which the threads skip.
fn opted_out(session: &mut Session<'_>, options: &Options) -> Result<Vec<Step<EncryptAction>>, Error> {
    let tables = session.query(
        "SELECT TABLE_SCHEMA AS s, TABLE_NAME AS t, DATA_LENGTH + INDEX_LENGTH AS bytes, CREATE_OPTIONS AS o \
         FROM information_schema.TABLES WHERE ENGINE = 'InnoDB' AND CREATE_OPTIONS LIKE '%encrypted%'",
    )?;
    let limit = options.largest_table_bytes.unwrap_or(u64::MAX);
    let mut steps = Vec::new();
    for row in 0..tables.rows.len() {
        let value = |column| tables.value(row, column).unwrap_or_default();
        let bytes = value("bytes").parse().unwrap_or(0);
        if says_no(value("o")) && options.include_schema(value("s")) && bytes <= limit {
            steps.push(copy(value("s"), value("t"), bytes, table_option(Flavor::MariaDb, true)));
        }
    }
    Ok(steps)
}

/// Whether a table's CREATE options, as the server lists them, contain `encrypted=NO`, quoted or not.
fn says_no(options: &str) -> bool {
    let bare: String = options.chars().filter(|c| !matches!(c, '`' | '\'' | '"')).collect();
    bare.to_ascii_lowercase().split_whitespace().any(|option| option == "encrypted=no")
}

/// Steps for Aria tables. An Aria table is created either encrypted or in clear text, and stays so until it is rebuilt.
fn aria(session: &mut Session<'_>, options: &Options) -> Result<Vec<Step<EncryptAction>>, Error> {
    let tables = session.query(
        "SELECT TABLE_SCHEMA AS s, TABLE_NAME AS t, DATA_LENGTH + INDEX_LENGTH AS bytes \
         FROM information_schema.TABLES WHERE ENGINE = 'Aria' AND TABLE_TYPE = 'BASE TABLE'",
    )?;
    let mut steps = Vec::new();
    for row in 0..tables.rows.len() {
        let value = |column| tables.value(row, column).unwrap_or_default();
        if options.include_schema(value("s")) {
            steps.push(copy(value("s"), value("t"), value("bytes").parse().unwrap_or(0), "FORCE"));
        }
    }
    Ok(steps)
}

/// Tables in which the threads have left single clear-text pages, as happens under load (seen on 10.11 and 11.8).
/// Waiting and restarting the threads do not help; a copy does. A table whose copy exceeds the budget is left to the
/// user.
pub(super) fn clear_pages(
    session: &mut Session<'_>,
    options: &Options,
    scan: &Scan,
) -> Result<Vec<Step<EncryptAction>>, Error> {
    let known = clear::tables(session)?;
    let failing: Vec<_> = scan.failures(audit::checks::PAGE_PLAINTEXT.id).collect();
    if options.policy == Policy::Logs || failing.is_empty() {
        return Ok(Vec::new());
    }
    let mut tables: BTreeMap<&(String, String), u64> = BTreeMap::new();
    for finding in failing {
        let space = file_suffix::strip(&finding.artefact, file_suffix::TABLESPACE).unwrap_or(&finding.artefact);
        if let Some(table) = clear::table_of(&innodb::file_name::decoded(space), &known) {
            tables.insert(table, bytes_of(session, table)?);
        }
    }
    let most = options.largest_table_bytes.unwrap_or(u64::MAX);
    let fits = |bytes: u64| bytes <= most && method::estimate(bytes) <= options.lock_budget;
    let wanted = tables.into_iter().filter(|((schema, _), bytes)| options.include_schema(schema) && fits(*bytes));
    let mut steps: Vec<_> = wanted.map(|((schema, table), bytes)| copy(schema, table, bytes, "FORCE")).collect();
    if !steps.is_empty() {
        // Without this step, the new files would reach the disk only over time.
        steps.push(wait_step());
    }
    Ok(steps)
}

fn wait_step() -> Step<EncryptAction> {
    Step::quiet("threads", "wait until the threads have encrypted every tablespace", EncryptAction::WaitForThreads)
}

fn bytes_of(session: &mut Session<'_>, (schema, table): &(String, String)) -> Result<u64, Error> {
    let sql = format!(
        "SELECT DATA_LENGTH + INDEX_LENGTH FROM information_schema.TABLES WHERE TABLE_SCHEMA = {} AND TABLE_NAME = {}",
        quote::text_in_any_mode(schema),
        quote::text_in_any_mode(table)
    );
    Ok(session.value(&sql)?.and_then(|bytes| bytes.parse().ok()).unwrap_or(0))
}

fn copy(schema: &str, table: &str, bytes: u64, clause: &str) -> Step<EncryptAction> {
    let sql = format!("ALTER TABLE {} {clause}", quote::table(schema, table));
    Step {
        id: format!("table {schema}.{table}"),
        what: format!("encrypt the table {schema}.{table} by a copy"),
        blocks: ClientImpact::Writes,
        bytes,
        action: EncryptAction::Table(TableChange {
            table: Table { schema: schema.to_owned(), name: table.to_owned() },
            sql,
            bytes,
            method: TableMethod::Copy,
        }),
    }
}

/// The key file and its copies, if the active plug-in has one.
pub(super) fn key_stores(session: &mut Session<'_>, server: &str, options: &Options) -> Result<KeyStores, Error> {
    let datadir = options.datadir_of(session);
    let plugin = session.active_key_store(&datadir)?;
    let plugin = plugin.ok_or_else(|| Error::NoKeyManagement { server: server.to_owned() })?;
    let store = |file: PathBuf| KeyStore::MariaDb { file, password: plugin.password.clone() };
    let current = plugin.file.clone().into_iter().map(|file| (store(file), false));
    let copies = options.keyring_copies.iter().map(|file| (store(file.clone()), true));
    Ok((current.chain(copies).collect(), datadir))
}

pub(super) fn wait_for_threads(
    session: &mut Session<'_>,
    throttle: &Throttle,
    requests: &Requests,
    progress: &Progress<'_>,
    executed: &mut Vec<String>,
) -> Result<Outcome, Error> {
    let mut threads = Threads::query(session)?;
    let waited = wait_with(session, &mut threads, throttle, requests, progress, executed);
    // Restart them in any case: stopped threads would leave new tables in clear text.
    let woken = threads.stop(session, false, executed);
    waited.and_then(|outcome| woken.map(|()| outcome))
}

fn wait_with(
    session: &mut Session<'_>,
    threads: &mut Threads,
    throttle: &Throttle,
    requests: &Requests,
    progress: &Progress<'_>,
    executed: &mut Vec<String>,
) -> Result<Outcome, Error> {
    let (mut last, mut since, mut woken) = (String::new(), Instant::now(), Instant::now());
    loop {
        if requests.cancel() {
            return Err(Error::Canceled);
        }
        let stop = requests.pause() || throttle.reason(session, Duration::ZERO)?.is_some();
        threads.stop(session, stop, executed)?;
        if stop {
            progress("the threads are stopped");
            (since, woken) = (Instant::now(), Instant::now());
            sleep(POLL_INTERVAL);
            continue;
        }
        let rows = session.query(MARIADB_UNFINISHED)?;
        let open = rows.value(0, "count").unwrap_or_default();
        if open == "0" {
            return write_pages(session, progress, executed);
        }
        progress(&format!("the threads have {open} tablespaces to encrypt"));
        let seen = format!("{open} {}", session.value(MARIADB_PAGES_READ)?.unwrap_or_default());
        if seen != last {
            (last, since) = (seen, Instant::now());
        }
        if since.elapsed() > TIMEOUT {
            let (seconds, first) = (TIMEOUT.as_secs(), rows.value(0, "first").unwrap_or_default());
            let reason =
                format!("the threads made no progress for {seconds} s; {open} tablespaces are open, {first} is one");
            return Ok(Outcome::Failed { reason });
        }
        if since.elapsed() > WAKE_AFTER && woken.elapsed() > WAKE_AFTER {
            woken = Instant::now();
            // The report lists repeated statements once; the log has every one.
            if executed.last().is_none_or(|last| last != MARIADB_WAKE_THREADS) {
                executed.push(MARIADB_WAKE_THREADS.to_owned());
            }
            session.change(MARIADB_WAKE_THREADS)?;
        }
        sleep(POLL_INTERVAL);
    }
}

/// The number of threads to restore after they are stopped. If a run is killed meanwhile, the next run starts them
/// again.
struct Threads {
    number: String,
    stopped: bool,
}

impl Threads {
    fn query(session: &mut Session<'_>) -> Result<Self, Error> {
        let number = session.value(MARIADB_THREADS)?.unwrap_or_default();
        Ok(Self { number, stopped: false })
    }

    fn stop(&mut self, session: &mut Session<'_>, wanted: bool, executed: &mut Vec<String>) -> Result<(), Error> {
        if self.stopped == wanted {
            return Ok(());
        }
        self.stopped = wanted;
        let number = if wanted { "0" } else { self.number.as_str() };
        let sql = set_mariadb_threads(number);
        executed.push(sql.clone());
        session.change(&sql)
    }
}

/// Number of rollback segments that transactions use in turn.
const ROLLBACK_SEGMENTS: u32 = 128;

/// Overwrites free pages, such as those of purged undo logs: the threads skip them, so they keep clear text until they
/// are reused.
pub(super) fn use_free_pages(
    session: &mut Session<'_>,
    progress: &Progress<'_>,
    executed: &mut Vec<String>,
) -> Result<Outcome, Error> {
    let mut schema = ScratchSchema::make(session, executed)?;
    schema.fill()?;
    schema.change_in(ROLLBACK_SEGMENTS)?;
    schema.remove()?;
    write_pages(session, progress, executed)
}

/// Pages that were encrypted in memory are still in clear text on disk until they are written.
fn write_pages(
    session: &mut Session<'_>,
    progress: &Progress<'_>,
    executed: &mut Vec<String>,
) -> Result<Outcome, Error> {
    progress("writing what was encrypted");
    executed.push(CHECKPOINT.to_owned());
    match session.change(CHECKPOINT) {
        Err(error) if error.is_unknown_variable() => {
            let reason = "the rest is written over time: run it again later".to_owned();
            Ok(Outcome::Skipped { reason })
        }
        other => other.map(|()| Outcome::Done),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_tables_are_told_apart() {
        assert!(says_no("`encrypted`=NO"));
        assert!(says_no("row_format=DYNAMIC `ENCRYPTED`='no' `encryption_key_id`=2"));
        assert!(!says_no("`encrypted`=YES"));
        assert!(!says_no("`encryption_key_id`=2 comment=notencrypted=noo"));
    }
}
