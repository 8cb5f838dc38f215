//! The row of the migration: its phase, and the steps of the cut-over.

use innodb::binlog::LogPosition;
use server::{Connection, error_code, quote};

use super::{
    failed,
    layout::{FORMAT, no_foreign_table},
};
use crate::{Error, STATE_SCHEMA, position::Tracking};

/// How far a migration is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Rows are copied.
    Copy,
    /// Every row was copied, and every change since then was applied once.
    Copied,
    /// The cut-over was begun.
    CutOver,
    /// The source is fenced, and everything was applied and compared.
    Switched,
}

impl Phase {
    pub(super) const fn text(self) -> &'static str {
        match self {
            Self::Copy => "copy",
            Self::Copied => "copied",
            Self::CutOver => "cut-over",
            Self::Switched => "switched",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        [Self::Copy, Self::Copied, Self::CutOver, Self::Switched].into_iter().find(|phase| phase.text() == text)
    }
}

/// The row of the table `run`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// A random text that no other migration has.
    pub(crate) token: String,
    /// The token of its way back.
    pub(crate) back_token: String,
    pub(crate) source_uuid: String,
    pub(crate) tracking: Tracking,
    /// Whether the source logged the rows that foreign keys change when the migration was begun.
    pub(crate) logs_cascades: bool,
    /// The end of the source's log when the migration was begun.
    pub(crate) old_until: LogPosition,
    pub(crate) phase: Phase,
    /// The last step of the cut-over that was done.
    pub(crate) step: String,
    /// The source's settings before it was fenced; empty if it is not fenced.
    pub(crate) fence: String,
    /// The end of the source's log when it was fenced.
    pub(crate) source_end: String,
    /// The end of the target's log when the switch was stored; empty before that, and without a log.
    pub(crate) target_end: String,
    /// The GTIDs that the target had executed then; empty unless a fallback was wanted and the target has GTIDs.
    pub(crate) target_gtids: String,
    /// Until when a fallback is wanted, in seconds since 1970; 0 for no fallback.
    pub(crate) fallback: u64,
    /// Whether no process may work on it.
    pub(crate) paused: bool,
}

/// What is stored with the switch.
#[derive(Debug, Default)]
pub(crate) struct SwitchEnd {
    /// The end of the target's log; empty without a log.
    pub(crate) target_end: String,
    pub(crate) target_gtids: String,
    /// In seconds since 1970; 0 for no fallback.
    pub(crate) fallback: u64,
}

/// Reads the row of the run; `None` if no migration was begun.
///
/// # Errors
/// [`Error::ForeignState`] if the schema contains tables of something else; [`Error::OtherFormat`].
pub(crate) fn run(target: &mut Connection) -> Result<Option<Run>, Error> {
    // Read first and alone: another version has other columns.
    let rows = match target.query("SELECT format FROM `_sealant`.`run` WHERE id = 1") {
        Ok(rows) => rows,
        Err(server::Error::Server { code: error_code::UNKNOWN_DATABASE | error_code::NO_SUCH_TABLE, .. }) => {
            return no_foreign_table(target).map(|()| None);
        }
        Err(server::Error::Server { code: error_code::UNKNOWN_COLUMN, .. }) => {
            return Err(Error::ForeignState { schema: STATE_SCHEMA });
        }
        Err(error) => return Err(failed(error)),
    };
    let Some(format) = rows.scalar() else { return Ok(None) };
    if format != FORMAT.to_string() {
        return Err(Error::OtherFormat { found: format.to_owned(), known: FORMAT });
    }
    let sql = "SELECT token, back_token, source_uuid, tracking, logs_cascades, old_until, phase, step, fence, source_end, target_end, \
               target_gtids, fallback, paused \
               FROM `_sealant`.`run` WHERE id = 1";
    let rows = target.query(sql).map_err(failed)?;
    let text = |name| rows.value(0, name).unwrap_or_default().to_owned();
    let phase = Phase::parse(&text("phase")).ok_or(Error::State { what: "phase" })?;
    let tracking = Tracking::parse(&text("tracking")).ok_or(Error::State { what: "tracking" })?;
    let old_until = text("old_until").parse().map_err(|_| Error::State { what: "old_until" })?;
    let (token, back_token, source_uuid) = (text("token"), text("back_token"), text("source_uuid"));
    let (step, fence, source_end) = (text("step"), text("fence"), text("source_end"));
    let (target_end, target_gtids) = (text("target_end"), text("target_gtids"));
    let fallback = text("fallback").parse().map_err(|_| Error::State { what: "fallback" })?;
    let (paused, logs_cascades) = (text("paused") != "0", text("logs_cascades") != "0");
    Ok(Some(Run {
        token,
        back_token,
        source_uuid,
        tracking,
        logs_cascades,
        old_until,
        phase,
        step,
        fence,
        source_end,
        target_end,
        target_gtids,
        fallback,
        paused,
    }))
}

/// Stores how far the migration is.
pub(crate) fn set_phase(target: &mut Connection, phase: Phase) -> Result<(), Error> {
    set(target, &format!("phase = '{}'", phase.text()))
}

/// Stores a step of the cut-over, and further columns of `run` with it.
pub(crate) fn set_step(target: &mut Connection, step: &str, more: &[(&str, &str)]) -> Result<(), Error> {
    let more: String = more.iter().map(|(name, value)| format!(", {name} = {}", quote::text(value))).collect();
    set(target, &format!("step = {}{more}", quote::text(step)))
}

/// Stores that the source is about to be fenced, and its settings before that.
pub(crate) fn set_fencing(target: &mut Connection, fence: &str) -> Result<(), Error> {
    set_step(target, "fencing", &[("fence", fence), ("phase", Phase::CutOver.text())])
}

/// Stores that the source is writable again.
pub(crate) fn set_lifted(target: &mut Connection) -> Result<(), Error> {
    set(target, &format!("step = '', fence = '', phase = '{}'", Phase::Copied.text()))
}

/// Stores in one statement that the target is ready for writes.
///
/// # Errors
/// [`Error::State`] if the state was removed. After an error of the server or of the state, nothing is stored.
pub(crate) fn set_switched(target: &mut Connection, end: &SwitchEnd) -> Result<(), Error> {
    let (phase, fallback) = (Phase::Switched.text(), end.fallback);
    let [target_end, gtids] = [&end.target_end, &end.target_gtids].map(|text| quote::text(text));
    let sql = update(&format!(
        "step = 'switched', target_end = {target_end}, target_gtids = {gtids}, fallback = {fallback}, \
         phase = '{phase}'"
    ));
    // One statement: an error of the server after it would not tell that the switch is stored. It changes the row, if
    // there is one, because the step is another.
    let stored = target.execute(sql.as_bytes()).map_err(failed)?;
    if stored.affected_rows == 0 { Err(Error::State { what: "run" }) } else { Ok(()) }
}

/// Stores whether the migration is paused; it never is after the cut-over.
pub(crate) fn set_paused(target: &mut Connection, paused: bool) -> Result<(), Error> {
    let switched = Phase::Switched.text();
    set(target, &format!("paused = {} AND phase <> '{switched}'", u8::from(paused)))
}

/// Stores the time, to show that the run is alive.
///
/// # Errors
/// [`Error::Paused`] if another process has asked this one to end; [`Error::State`] if the state was removed.
pub(crate) fn heartbeat(target: &mut Connection) -> Result<(), Error> {
    set(target, "heartbeat = NOW()")?;
    let rows = target.query("SELECT paused FROM `_sealant`.`run` WHERE id = 1").map_err(failed)?;
    match rows.scalar() {
        Some("0") => Ok(()),
        Some(_) => Err(Error::Paused),
        None => Err(Error::State { what: "run" }),
    }
}

fn set(target: &mut Connection, assignments: &str) -> Result<(), Error> {
    target.query(&update(assignments)).map(drop).map_err(failed)
}

fn update(assignments: &str) -> String {
    format!("UPDATE `_sealant`.`run` SET {assignments} WHERE id = 1")
}

/// Stores that there is no fallback any more.
pub(crate) fn end_fallback(target: &mut Connection) -> Result<(), Error> {
    set(target, "fallback = 0")
}
