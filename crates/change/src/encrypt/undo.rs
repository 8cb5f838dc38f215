//! Undo tablespaces keep the clear pages of before until they are made anew. A tablespace that is set
//! inactive is emptied by the purge threads and truncated; two others have to be active meanwhile.
//! Source: MySQL manual, "Undo Tablespaces".

use std::{
    fs, io,
    path::Path,
    thread::sleep,
    time::{Duration, Instant},
};

use super::Progress;
use crate::{Error, Outcome, Session, quote};

/// Stands in for the others, one after another.
const STAND_IN: &str = "sealant_undo_stand_in";
/// How long the purge threads get for one tablespace. A transaction that stays open keeps them
/// from it for as long.
const PATIENCE: Duration = Duration::from_secs(300);
const LOOK_EVERY: Duration = Duration::from_millis(200);

pub(crate) fn renew(
    session: &mut Session<'_>,
    datadir: &Path,
    progress: &Progress<'_>,
    ran: &mut Vec<String>,
) -> Result<Outcome, Error> {
    let names = tablespaces(session)?;
    if names.is_empty() {
        let reason = "this server keeps its undo logs where they are: they cannot be encrypted".to_owned();
        return Ok(Outcome::Skipped { reason });
    }
    if !names.iter().any(|(name, _)| name == STAND_IN) {
        make_stand_in(session, datadir, ran)?;
    } else {
        // A run before this one was interrupted.
        set(session, ran, STAND_IN, "ACTIVE")?;
    }
    let mut stuck = Vec::new();
    for (name, state) in names.iter().filter(|(name, _)| name != STAND_IN) {
        progress(&format!("emptying the undo tablespace {name}"));
        if state == "active" {
            set(session, ran, name, "INACTIVE")?;
        }
        if !wait_until_empty(session, name)? {
            stuck.push(name.clone());
        }
        set(session, ran, name, "ACTIVE")?;
    }
    if !drop_stand_in(session, ran)? {
        stuck.push(STAND_IN.to_owned());
    }
    Ok(outcome(&stuck))
}

/// MySQL 9.7.4 that is killed while it makes or drops an undo tablespace can forget the tablespace and keep its file, which is then
/// in the way and nobody's.
fn make_stand_in(session: &mut Session<'_>, datadir: &Path, ran: &mut Vec<String>) -> Result<(), Error> {
    let sql = format!("CREATE UNDO TABLESPACE {STAND_IN} ADD DATAFILE '{STAND_IN}.ibu'");
    match change(session, ran, &sql) {
        Err(error) if error.is_wrong_file_name() => {
            let used = format!("SELECT COUNT(*) FROM information_schema.FILES WHERE FILE_NAME LIKE '%{STAND_IN}.ibu'");
            if session.value(&used)?.as_deref() != Some("0") {
                return Err(error);
            }
            let directory = session.value("SELECT @@GLOBAL.innodb_undo_directory")?.unwrap_or_default();
            let file = datadir.join(directory).join(format!("{STAND_IN}.ibu"));
            session.note(&format!("remove {}, which no tablespace has", file.display()))?;
            fs::remove_file(&file).map_err(|_: io::Error| error)?;
            change(session, ran, &sql)
        }
        other => other,
    }
}

/// Whether an interrupted run has left something.
pub(crate) fn is_left(session: &mut Session<'_>) -> Result<bool, Error> {
    Ok(tablespaces(session)?.iter().any(|(name, state)| name == STAND_IN || state != "active"))
}

/// All but the stand-in take part again, and that goes.
pub(crate) fn tidy_up(
    session: &mut Session<'_>,
    progress: &Progress<'_>,
    ran: &mut Vec<String>,
) -> Result<Outcome, Error> {
    let names = tablespaces(session)?;
    for (name, _) in names.iter().filter(|(name, state)| name != STAND_IN && state != "active") {
        set(session, ran, name, "ACTIVE")?;
    }
    progress("emptying the undo tablespace that stood in for others");
    let is_there = names.iter().any(|(name, _)| name == STAND_IN);
    let stuck = if is_there && !drop_stand_in(session, ran)? { vec![STAND_IN.to_owned()] } else { Vec::new() };
    Ok(outcome(&stuck))
}

fn drop_stand_in(session: &mut Session<'_>, ran: &mut Vec<String>) -> Result<bool, Error> {
    set(session, ran, STAND_IN, "INACTIVE")?;
    let empty = wait_until_empty(session, STAND_IN)?;
    if empty {
        change(session, ran, &format!("DROP UNDO TABLESPACE {STAND_IN}"))?;
    }
    Ok(empty)
}

fn outcome(stuck: &[String]) -> Outcome {
    if stuck.is_empty() {
        return Outcome::Done;
    }
    let seconds = PATIENCE.as_secs();
    let names = stuck.join(", ");
    let reason =
        format!("{names}: not empty after {seconds} s: an old transaction keeps row versions; run it again later");
    Outcome::Failed { reason }
}

/// Names and states; none where undo tablespaces cannot be made anew.
fn tablespaces(session: &mut Session<'_>) -> Result<Vec<(String, String)>, Error> {
    let Some(query) = session.dictionary().undo else { return Ok(Vec::new()) };
    let rows = session.ask(query)?;
    let row = |row| Some((rows.value(row, "name")?.to_owned(), rows.value(row, "state")?.to_owned()));
    Ok((0..rows.rows.len()).filter_map(row).collect())
}

fn wait_until_empty(session: &mut Session<'_>, name: &str) -> Result<bool, Error> {
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        if tablespaces(session)?.iter().any(|(known, state)| known == name && state == "empty") {
            return Ok(true);
        }
        sleep(LOOK_EVERY);
    }
    Ok(false)
}

fn set(session: &mut Session<'_>, ran: &mut Vec<String>, name: &str, state: &str) -> Result<(), Error> {
    change(session, ran, &format!("ALTER UNDO TABLESPACE {} SET {state}", quote::name(name)))
}

fn change(session: &mut Session<'_>, ran: &mut Vec<String>, sql: &str) -> Result<(), Error> {
    ran.push(sql.to_owned());
    session.change(sql)
}
