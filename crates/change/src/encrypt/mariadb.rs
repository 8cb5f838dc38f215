//! Steps on MariaDB, where background threads encrypt InnoDB's tablespaces, and other engines' tables
//! are encrypted when they are written anew.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    thread::sleep,
    time::{Duration, Instant},
};

use super::{
    Action, How, KeyStores, Leftover, Method, Options, Policy, Progress, Scan, TableChange, binlogs, clear, method,
    scratch::Scratch,
};
use crate::{Blocks, Error, KeyStore, Outcome, Session, Step, Throttle, control::Requests, online::Table, quote};

/// How long the threads may make no progress before they are given up.
const PATIENCE: Duration = Duration::from_secs(120);
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// After how long without progress they are woken.
const WAKE_AFTER: Duration = Duration::from_secs(3);
/// Setting it to what it is makes the threads look at all tablespaces again. Seen once on 10.11: one
/// tablespace stayed open for two minutes while they slept.
const WAKE: &str = "SET GLOBAL innodb_encryption_rotate_key_age = @@GLOBAL.innodb_encryption_rotate_key_age";

/// A variable, what it has to be, whether it takes that at run time, and whether it is about logs.
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

/// Source: MariaDB knowledge base, "Encryption System Variables"; what is dynamic, seen on 10.11 and 11.8.
const SETTINGS: [Setting; 9] = [
    setting(
        "innodb_encrypt_tables",
        "FORCE",
        true,
        false,
        "encrypt InnoDB's tablespaces, undo and the system tablespace too, and let nobody make clear ones",
    ),
    setting("innodb_encryption_rotate_key_age", "1", true, false, "let the threads look at all tablespaces"),
    setting("innodb_encryption_threads", "4", true, false, "start the threads that encrypt existing tablespaces"),
    setting("aria_encrypt_tables", "ON", true, false, "encrypt Aria tables that are written anew"),
    setting("encrypt_tmp_disk_tables", "ON", true, false, "encrypt temporary tables on disk"),
    setting("innodb_encrypt_temporary_tables", "ON", false, false, "encrypt InnoDB's temporary tablespace"),
    setting("encrypt_tmp_files", "ON", false, false, "encrypt temporary files"),
    setting("innodb_encrypt_log", "ON", false, true, "encrypt the redo log"),
    setting("encrypt_binlog", "ON", false, true, "encrypt binary and relay logs"),
];

pub(super) fn steps(session: &mut Session<'_>, options: &Options, scan: &Scan) -> Result<Vec<Step<Action>>, Error> {
    if !matches!(options.method, Method::Auto | Method::Native) {
        let reason = "MariaDB's own threads encrypt its tables without blocking anybody; leave --method out".to_owned();
        return Err(Error::Unsupported { server: session.identity().hostname.clone(), reason });
    }
    let mut steps = vec![Step::quiet(
        "keyring",
        "prove that a key management plug-in is active and that its key file opens what is encrypted",
        Action::ProveKeyring,
    )];
    for setting in wanted(options).filter(|setting| setting.dynamic) {
        if is_off(session, setting)? {
            let sql = set_global(setting);
            steps.push(Step::quiet(setting.name, setting.what, Action::Statements(vec![sql])));
        }
    }
    steps.extend(option_file(options, scan));
    if options.policy != Policy::Tables && options.purge_binlogs && encrypts_binary_logs(session)? {
        steps.extend(binlogs::purge_step(session)?);
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

/// Whether logs that are begun are encrypted, which takes a restart.
pub(super) fn encrypts_binary_logs(session: &mut Session<'_>) -> Result<bool, Error> {
    Ok(variable(session, "encrypt_binlog")?.is_some_and(|value| value.eq_ignore_ascii_case("on")))
}

/// FORCE is a word of SQL, and a quoted number is none.
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

/// A variable that this server does not have is none of ours.
fn is_off(session: &mut Session<'_>, setting: &Setting) -> Result<bool, Error> {
    let rows = session.ask(&format!("SHOW GLOBAL VARIABLES LIKE '{}'", setting.name))?;
    let is_off = |value: &str| {
        // ON lets whoever writes ENCRYPTED=NO have a clear table.
        let lax = setting.wanted == "FORCE" && !value.eq_ignore_ascii_case("FORCE");
        lax || value.eq_ignore_ascii_case("OFF") || value == "0"
    };
    Ok(rows.value(0, "Value").is_some_and(is_off))
}

/// What the server's option files do not say yet, for the one that was named.
fn option_file(options: &Options, scan: &Scan) -> Option<Step<Action>> {
    let path = options.option_file.clone()?;
    let missing: Vec<String> = wanted(options)
        .filter(|setting| scan.option_is_on(setting.name) != Some(true))
        .map(|setting| format!("{} = {}", setting.name, setting.wanted))
        .collect();
    let what = format!("write into {} for the next start: {}", path.display(), missing.join(", "));
    let lines = format!("# By `sealant encrypt`.\n[mariadb]\n{}\n", missing.join("\n"));
    (!missing.is_empty()).then(|| Step::quiet("option file", &what, Action::OptionFile { path, lines }))
}

/// Settings that wait for a restart, or that the next restart would undo.
pub(super) fn unsettled(session: &mut Session<'_>, options: &Options, scan: &Scan) -> Result<Vec<Leftover>, Error> {
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
            (true, _) => format!(
                "write {} = {} under [mariadb] (--option-file) and restart the server",
                setting.name, setting.wanted
            ),
            (false, _) => format!("write {} = {} under [mariadb] (--option-file)", setting.name, setting.wanted),
        };
        let check = audit::checks::DEFAULT_OFF.id.to_owned();
        leftovers.push(Leftover { artefact: setting.name.to_owned(), check, reason, remedy, closable: true });
    }
    Ok(leftovers)
}

/// Tables that were made with `ENCRYPTED=NO`, which the threads pass over.
fn opted_out(session: &mut Session<'_>, options: &Options) -> Result<Vec<Step<Action>>, Error> {
    let tables = session.ask(
        "SELECT TABLE_SCHEMA AS s, TABLE_NAME AS t, DATA_LENGTH + INDEX_LENGTH AS bytes, CREATE_OPTIONS AS o \
         FROM information_schema.TABLES WHERE ENGINE = 'InnoDB' AND CREATE_OPTIONS LIKE '%encrypted%'",
    )?;
    let limit = options.largest_table_bytes.unwrap_or(u64::MAX);
    let mut steps = Vec::new();
    for row in 0..tables.rows.len() {
        let value = |column| tables.value(row, column).unwrap_or_default();
        let bytes = value("bytes").parse().unwrap_or(0);
        if says_no(value("o")) && super::wanted(options, value("s")) && bytes <= limit {
            steps.push(copy(value("s"), value("t"), bytes, "ENCRYPTED = YES"));
        }
    }
    Ok(steps)
}

/// Whether the options of a table, as the server lists them, hold `encrypted=NO`, quoted or not.
fn says_no(options: &str) -> bool {
    let bare: String = options.chars().filter(|c| !matches!(c, '`' | '\'' | '"')).collect();
    bare.to_ascii_lowercase().split_whitespace().any(|option| option == "encrypted=no")
}

/// Aria tables are encrypted, or not, as a whole when they are made.
fn aria(session: &mut Session<'_>, options: &Options) -> Result<Vec<Step<Action>>, Error> {
    let tables = session.ask(
        "SELECT TABLE_SCHEMA AS s, TABLE_NAME AS t, DATA_LENGTH + INDEX_LENGTH AS bytes \
         FROM information_schema.TABLES WHERE ENGINE = 'Aria' AND TABLE_TYPE = 'BASE TABLE'",
    )?;
    let mut steps = Vec::new();
    for row in 0..tables.rows.len() {
        let value = |column| tables.value(row, column).unwrap_or_default();
        if super::wanted(options, value("s")) {
            steps.push(copy(value("s"), value("t"), value("bytes").parse().unwrap_or(0), "FORCE"));
        }
    }
    Ok(steps)
}

/// Tables in which the threads have left single pages in clear text, as they do under load (seen on 10.11 and 11.8):
/// no wait and no further run of the threads comes back to these, a new copy has none. One that takes longer than
/// the budget is left to whoever reads the remedy.
pub(super) fn clear_pages(
    session: &mut Session<'_>,
    options: &Options,
    scan: &Scan,
) -> Result<Vec<Step<Action>>, Error> {
    let known = clear::tables(session)?;
    let failing: Vec<_> = scan.failures(audit::checks::PAGE_PLAINTEXT.id).collect();
    if options.policy == Policy::Logs || failing.is_empty() {
        return Ok(Vec::new());
    }
    let mut tables: BTreeMap<&(String, String), u64> = BTreeMap::new();
    for finding in failing {
        let space = finding.artefact.strip_suffix(".ibd").unwrap_or(&finding.artefact);
        if let Some(table) = clear::table_of(&innodb::file_name::decoded(space), &known) {
            tables.insert(table, bytes_of(session, table)?);
        }
    }
    let most = options.largest_table_bytes.unwrap_or(u64::MAX);
    let fits = |bytes: u64| bytes <= most && method::estimate(bytes) <= options.lock_budget;
    let wanted = tables.into_iter().filter(|((schema, _), bytes)| super::wanted(options, schema) && fits(*bytes));
    let mut steps: Vec<_> = wanted.map(|((schema, table), bytes)| copy(schema, table, bytes, "FORCE")).collect();
    if !steps.is_empty() {
        // Else the new files would be on disk by and by.
        steps.push(wait_step());
    }
    Ok(steps)
}

fn wait_step() -> Step<Action> {
    Step::quiet("threads", "wait until the threads have encrypted every tablespace", Action::WaitForThreads)
}

fn bytes_of(session: &mut Session<'_>, (schema, table): &(String, String)) -> Result<u64, Error> {
    let sql = format!(
        "SELECT DATA_LENGTH + INDEX_LENGTH FROM information_schema.TABLES WHERE TABLE_SCHEMA = {} AND TABLE_NAME = {}",
        quote::text(schema),
        quote::text(table)
    );
    Ok(session.value(&sql)?.and_then(|bytes| bytes.parse().ok()).unwrap_or(0))
}

fn copy(schema: &str, table: &str, bytes: u64, how: &str) -> Step<Action> {
    let sql = format!("ALTER TABLE {}.{} {how}", quote::name(schema), quote::name(table));
    Step {
        id: format!("table {schema}.{table}"),
        what: format!("encrypt the table {schema}.{table} by a copy"),
        blocks: Blocks::Writes,
        bytes,
        action: Action::Table(TableChange {
            table: Table { schema: schema.to_owned(), name: table.to_owned() },
            sql,
            bytes,
            how: How::Copy,
        }),
    }
}

/// The key file and its copies, if the plug-in that is active has one.
pub(super) fn key_stores(session: &mut Session<'_>, server: &str, options: &Options) -> Result<KeyStores, Error> {
    let plugin = session.value(
        "SELECT PLUGIN_NAME FROM information_schema.PLUGINS \
         WHERE PLUGIN_TYPE = 'ENCRYPTION' AND PLUGIN_STATUS = 'ACTIVE'",
    )?;
    if plugin.is_none() {
        return Err(Error::NoKeyManagement { server: server.to_owned() });
    }
    let datadir = options.datadir_of(session);
    let file = variable(session, "file_key_management_filename")?.map(PathBuf::from);
    // Any other secret is in the server alone.
    let password = variable(session, "file_key_management_filekey")?;
    let password = password.as_deref().and_then(|key| key.strip_prefix("FILE:")).map(PathBuf::from);
    let store = |file: PathBuf| KeyStore::MariaDb { file, password: password.clone() };
    let own = file.into_iter().map(|file| (store(file), false));
    let copies = options.keyring_copies.iter().map(|file| (store(file.clone()), true));
    Ok((own.chain(copies).collect(), datadir))
}

fn variable(session: &mut Session<'_>, name: &str) -> Result<Option<String>, Error> {
    let rows = session.ask(&format!("SHOW GLOBAL VARIABLES LIKE '{name}'"))?;
    Ok(rows.value(0, "Value").filter(|value| !value.is_empty()).map(str::to_owned))
}

/// Tablespaces that the threads have still to do. Those they have not begun with are in no row.
const OPEN: &str = "SELECT COUNT(*) AS count, MIN(s.NAME) AS first FROM information_schema.INNODB_SYS_TABLESPACES s \
     LEFT JOIN information_schema.INNODB_TABLESPACES_ENCRYPTION e ON e.SPACE = s.SPACE \
     WHERE s.NAME <> 'innodb_temporary' AND (e.SPACE IS NULL OR e.MIN_KEY_VERSION = 0 \
     OR e.ROTATING_OR_FLUSHING = 1)";
/// How far they are with the one that they are at.
const PAGES: &str = "SELECT SUM(KEY_ROTATION_PAGE_NUMBER) FROM information_schema.INNODB_TABLESPACES_ENCRYPTION";

pub(super) fn wait_for_threads(
    session: &mut Session<'_>,
    throttle: &Throttle,
    requests: &Requests,
    progress: &Progress<'_>,
    ran: &mut Vec<String>,
) -> Result<Outcome, Error> {
    let mut threads = Threads::of(session)?;
    let waited = wait_with(session, &mut threads, throttle, requests, progress, ran);
    // However it ended: threads that rest for ever would leave everything new in clear text.
    let woken = threads.rest(session, false, ran);
    waited.and_then(|outcome| woken.map(|()| outcome))
}

fn wait_with(
    session: &mut Session<'_>,
    threads: &mut Threads,
    throttle: &Throttle,
    requests: &Requests,
    progress: &Progress<'_>,
    ran: &mut Vec<String>,
) -> Result<Outcome, Error> {
    let (mut last, mut since, mut woken) = (String::new(), Instant::now(), Instant::now());
    loop {
        if requests.cancel() {
            return Err(Error::Canceled);
        }
        let rest = requests.pause() || throttle.reason(session, Duration::ZERO)?.is_some();
        threads.rest(session, rest, ran)?;
        if rest {
            progress("the threads rest");
            (since, woken) = (Instant::now(), Instant::now());
            sleep(LOOK_EVERY);
            continue;
        }
        let rows = session.ask(OPEN)?;
        let open = rows.value(0, "count").unwrap_or_default();
        if open == "0" {
            return write_pages(session, progress, ran);
        }
        progress(&format!("the threads have {open} tablespaces to encrypt"));
        let seen = format!("{open} {}", session.value(PAGES)?.unwrap_or_default());
        if seen != last {
            (last, since) = (seen, Instant::now());
        }
        if since.elapsed() > PATIENCE {
            let (seconds, first) = (PATIENCE.as_secs(), rows.value(0, "first").unwrap_or_default());
            let reason =
                format!("the threads made no progress for {seconds} s; {open} tablespaces are open, {first} is one");
            return Ok(Outcome::Failed { reason });
        }
        if since.elapsed() > WAKE_AFTER && woken.elapsed() > WAKE_AFTER {
            woken = Instant::now();
            // Once is enough in the report; the log has them all.
            if ran.last().is_none_or(|last| last != WAKE) {
                ran.push(WAKE.to_owned());
            }
            session.change(WAKE)?;
        }
        sleep(LOOK_EVERY);
    }
}

/// How many threads there are when they do not rest. A run that is killed while they do is put right by
/// the next, which starts them.
struct Threads {
    number: String,
    resting: bool,
}

impl Threads {
    fn of(session: &mut Session<'_>) -> Result<Self, Error> {
        let number = session.value("SELECT @@GLOBAL.innodb_encryption_threads")?.unwrap_or_default();
        Ok(Self { number, resting: false })
    }

    fn rest(&mut self, session: &mut Session<'_>, wanted: bool, ran: &mut Vec<String>) -> Result<(), Error> {
        if self.resting == wanted {
            return Ok(());
        }
        self.resting = wanted;
        let number = if wanted { "0" } else { self.number.as_str() };
        let sql = format!("SET GLOBAL innodb_encryption_threads = {number}");
        ran.push(sql.clone());
        session.change(&sql)
    }
}

/// Rollback segments that transactions take in turn.
const ROLLBACK_SEGMENTS: u32 = 128;

/// The threads pass over pages that are free, such as those of undo logs that were purged; these keep
/// their clear text until they are used again.
pub(super) fn use_free_pages(
    session: &mut Session<'_>,
    progress: &Progress<'_>,
    ran: &mut Vec<String>,
) -> Result<Outcome, Error> {
    let mut scratch = Scratch::make(session, ran)?;
    scratch.fill()?;
    scratch.change_in(ROLLBACK_SEGMENTS)?;
    scratch.remove()?;
    write_pages(session, progress, ran)
}

/// What the threads have encrypted in memory is clear on disk until it is written.
fn write_pages(session: &mut Session<'_>, progress: &Progress<'_>, ran: &mut Vec<String>) -> Result<Outcome, Error> {
    progress("writing what was encrypted");
    let sql = "SET GLOBAL innodb_log_checkpoint_now = ON";
    ran.push(sql.to_owned());
    match session.change(sql) {
        Err(error) if error.is_unknown_variable() => {
            let reason = "the rest is written by and by: run it again later".to_owned();
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
