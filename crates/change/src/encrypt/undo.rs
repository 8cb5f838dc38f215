//! Undo tablespaces keep old clear-text pages until they are recreated. The purge threads empty and truncate a
//! tablespace that is set inactive; two others must be active meanwhile. Source: MySQL manual, "Undo Tablespaces".

use std::{
    fs, io,
    path::Path,
    thread::sleep,
    time::{Duration, Instant},
};

use server::dialect::directory;
use server::quote;

use super::Progress;
use crate::{Error, Outcome, Session};

/// Name of a temporary undo tablespace that replaces each of the others in turn.
const TEMPORARY_UNDO: &str = "sealant_undo_stand_in";
/// Time limit of the purge threads for one tablespace. An open transaction can block them indefinitely.
const TIMEOUT: Duration = Duration::from_secs(300);
const POLL_INTERVAL: Duration = Duration::from_millis(200);

pub(crate) fn renew(
    session: &mut Session<'_>,
    datadir: &Path,
    progress: &Progress<'_>,
    executed: &mut Vec<String>,
) -> Result<Outcome, Error> {
    let names = tablespaces(session)?;
    if names.is_empty() {
        let reason = "this server cannot move its undo logs, so they cannot be encrypted".to_owned();
        return Ok(Outcome::Skipped { reason });
    }
    if !names.iter().any(|(name, _)| name == TEMPORARY_UNDO) {
        create_temporary_undo(session, datadir, executed)?;
    } else {
        // An earlier run was interrupted.
        set(session, executed, TEMPORARY_UNDO, "ACTIVE")?;
    }
    let mut stuck = Vec::new();
    for (name, state) in names.iter().filter(|(name, _)| name != TEMPORARY_UNDO) {
        progress(&format!("emptying the undo tablespace {name}"));
        if state == "active" {
            set(session, executed, name, "INACTIVE")?;
        }
        if !wait_until_empty(session, name)? {
            stuck.push(name.clone());
        }
        set(session, executed, name, "ACTIVE")?;
    }
    if !drop_temporary_undo(session, executed)? {
        stuck.push(TEMPORARY_UNDO.to_owned());
    }
    Ok(outcome(&stuck))
}

/// Creates the temporary undo tablespace. If MySQL 9.7.4 is killed while it creates or drops one, it may forget the
/// tablespace but keep the file, which then blocks the name.
fn create_temporary_undo(session: &mut Session<'_>, datadir: &Path, executed: &mut Vec<String>) -> Result<(), Error> {
    let sql = format!("CREATE UNDO TABLESPACE {TEMPORARY_UNDO} ADD DATAFILE '{TEMPORARY_UNDO}.ibu'");
    match change(session, executed, &sql) {
        Err(error) if error.is_wrong_file_name() => {
            let used =
                format!("SELECT COUNT(*) FROM information_schema.FILES WHERE FILE_NAME LIKE '%{TEMPORARY_UNDO}.ibu'");
            if session.value(&used)?.as_deref() != Some("0") {
                return Err(error);
            }
            let undo = session.variable(directory::UNDO)?.unwrap_or_default();
            let file = datadir.join(undo).join(format!("{TEMPORARY_UNDO}.ibu"));
            session.note(&format!("remove {}, which belongs to no tablespace", file.display()))?;
            fs::remove_file(&file).map_err(|_: io::Error| error)?;
            change(session, executed, &sql)
        }
        other => other,
    }
}

/// Whether an interrupted run has left an undo tablespace inactive, or the temporary one.
pub(crate) fn exists(session: &mut Session<'_>) -> Result<bool, Error> {
    Ok(tablespaces(session)?.iter().any(|(name, state)| name == TEMPORARY_UNDO || state != "active"))
}

/// Activates all undo tablespaces and drops the temporary one.
pub(crate) fn clean_up(
    session: &mut Session<'_>,
    progress: &Progress<'_>,
    executed: &mut Vec<String>,
) -> Result<Outcome, Error> {
    let names = tablespaces(session)?;
    for (name, _) in names.iter().filter(|(name, state)| name != TEMPORARY_UNDO && state != "active") {
        set(session, executed, name, "ACTIVE")?;
    }
    progress("emptying the temporary undo tablespace");
    let is_there = names.iter().any(|(name, _)| name == TEMPORARY_UNDO);
    let stuck =
        if is_there && !drop_temporary_undo(session, executed)? { vec![TEMPORARY_UNDO.to_owned()] } else { Vec::new() };
    Ok(outcome(&stuck))
}

fn drop_temporary_undo(session: &mut Session<'_>, executed: &mut Vec<String>) -> Result<bool, Error> {
    set(session, executed, TEMPORARY_UNDO, "INACTIVE")?;
    let empty = wait_until_empty(session, TEMPORARY_UNDO)?;
    if empty {
        change(session, executed, &format!("DROP UNDO TABLESPACE {TEMPORARY_UNDO}"))?;
    }
    Ok(empty)
}

fn outcome(stuck: &[String]) -> Outcome {
    if stuck.is_empty() {
        return Outcome::Done;
    }
    let seconds = TIMEOUT.as_secs();
    let names = stuck.join(", ");
    let reason =
        format!("{names}: not empty after {seconds} s: an old transaction keeps row versions; run it again later");
    Outcome::Failed { reason }
}

/// Names and states; empty where undo tablespaces cannot be recreated.
fn tablespaces(session: &mut Session<'_>) -> Result<Vec<(String, String)>, Error> {
    let Some(query) = session.dictionary().undo else { return Ok(Vec::new()) };
    let rows = session.query(query)?;
    let row = |row| Some((rows.value(row, "name")?.to_owned(), rows.value(row, "state")?.to_owned()));
    Ok((0..rows.rows.len()).filter_map(row).collect())
}

fn wait_until_empty(session: &mut Session<'_>, name: &str) -> Result<bool, Error> {
    let began = Instant::now();
    while began.elapsed() < TIMEOUT {
        if tablespaces(session)?.iter().any(|(known, state)| known == name && state == "empty") {
            return Ok(true);
        }
        sleep(POLL_INTERVAL);
    }
    Ok(false)
}

fn set(session: &mut Session<'_>, executed: &mut Vec<String>, name: &str, state: &str) -> Result<(), Error> {
    change(session, executed, &format!("ALTER UNDO TABLESPACE {} SET {state}", quote::identifier(name)))
}

fn change(session: &mut Session<'_>, executed: &mut Vec<String>, sql: &str) -> Result<(), Error> {
    executed.push(sql.to_owned());
    session.change(sql)
}
