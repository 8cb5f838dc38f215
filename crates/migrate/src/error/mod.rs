//! Errors of a migration.

mod hint;

pub(crate) use self::hint::ALLOW_LOCAL_INFILE;

use thiserror::Error;

use crate::{
    NotWritable, Side,
    difference::{Difference, Divergence, described},
};

/// Why a migration, or a step of one, could not be done.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// A server refused a statement, or the connection to it failed.
    #[error("{side}: {error}")]
    Server {
        /// `source` or `target`.
        side: Side,
        /// The server's or the connection's error.
        error: server::Error,
    },
    /// The stream of the source's log failed.
    #[error("source: {0}")]
    Stream(#[source] binlog::Error),
    /// No option says how to verify the server, so it was not contacted.
    #[error("{side}: {endpoint} cannot be verified: neither a CA nor a fingerprint is given")]
    Unverified {
        /// `source` or `target`.
        side: Side,
        /// The server's address.
        endpoint: String,
    },
    /// This program cannot read a server's definition of a table.
    #[error("source: {table}: its definition cannot be read")]
    Definition {
        /// `schema.table`.
        table: String,
    },
    /// The target refused to create a schema or a table.
    #[error("target: {object} cannot be created there: {error}")]
    Create {
        /// The schema, or `schema.table`.
        object: String,
        /// The server's error.
        error: server::Error,
    },
    /// The target writes something in clear that a check of the plan requires to be encrypted.
    #[error("target: {evidence} ({check})")]
    LessEncrypted {
        /// Identifier of the check, such as `encryption.binary-log`.
        check: &'static str,
        /// What it writes in clear.
        evidence: String,
        /// What to do.
        remedy: Option<String>,
    },
    /// Tables of the target differ from those of the source.
    #[error("target: {}", described(differences))]
    Structure {
        /// What differs.
        differences: Vec<Difference>,
    },
    /// Tables of the source are selected, but are not those of the migration.
    #[error("source: made after the migration was begun, and not moved: {tables}")]
    NewTables {
        /// `schema.table`, several with commas.
        tables: String,
    },
    /// A setting of the source makes it impossible to follow its log.
    #[error("source: {variable} is {found}, and not {wanted}")]
    SourceSetting {
        /// The server's variable.
        variable: &'static str,
        /// The value of the variable.
        found: String,
        /// The value that a migration needs.
        wanted: &'static str,
    },
    /// The target does not say how a text is ordered.
    #[error("target: no sort key for a text of the collation {collation}")]
    SortKey {
        /// Name of the collation.
        collation: String,
    },
    /// No table is selected.
    #[error("no tables to move")]
    NoTables,
    /// The schema for the state contains tables of something else.
    #[error("target: the schema {schema} exists, but no migration has made it")]
    ForeignState {
        /// Name of the schema.
        schema: &'static str,
    },
    /// The state at the target is one of another version of this program.
    #[error(
        "target: the migration there was begun by another version of this program: its state has the format {found}, and \
         this version has {known}"
    )]
    OtherFormat {
        /// The format of the state.
        found: String,
        /// The format of this version.
        known: u32,
    },
    /// The state at the target belongs to another migration, or lists other tables.
    #[error("target: another migration was begun there: {what}")]
    OtherMigration {
        /// What differs.
        what: String,
    },
    /// There is no migration at the target.
    #[error("target: no migration was begun there")]
    NotBegun,
    /// The state at the target cannot be read.
    #[error("target: the state of the migration is damaged: {what}")]
    State {
        /// What cannot be read.
        what: &'static str,
    },
    /// Another process works on this migration.
    #[error("{side}: another process runs this migration")]
    Locked {
        /// `source` or `target`.
        side: Side,
    },
    /// A transaction of the log did not become visible.
    #[error("source: transactions of its log did not become visible within {seconds} s")]
    NotVisible {
        /// How long the program has waited for it.
        seconds: u64,
    },
    /// Tables could not be locked for the moment in which their snapshot is taken.
    #[error(
        "source: {tables} could not be locked for reading within {seconds} s, because a transaction or a statement uses one of them"
    )]
    TableInUse {
        /// The tables, with commas.
        tables: String,
        /// How long the program has tried.
        seconds: u64,
    },
    /// AUTO_INCREMENT of a table of the target could not be set, because somebody uses the table.
    #[error("target: AUTO_INCREMENT of {table} could not be set, because {by} uses the table")]
    TargetInUse {
        /// `schema.table`.
        table: String,
        /// Sessions, with commas, or that the account may not see them.
        by: String,
    },
    /// A row of a table that was copied whole is not at the target, although the source has changed it.
    #[error("target: {table} lacks a row, with these values, that the source has changed or deleted")]
    RowNotFound {
        /// `schema.table`.
        table: String,
    },
    /// A change lets foreign keys change rows of other tables that the log does not name, although the source logged such
    /// rows when the migration was begun.
    #[error(
        "source: a change of {table} at {position} may have changed other tables through foreign keys, and the log does not \
         have those changes"
    )]
    UnloggedCascade {
        /// `schema.table`.
        table: String,
        /// File and position.
        position: String,
    },
    /// The target has rows in a part of a table that was not copied yet.
    #[error("target: {table} has rows that were not copied by this migration")]
    NotEmpty {
        /// `schema.table`.
        table: String,
    },
    /// The target refused rows of a chunk, or changed their values.
    #[error(
        "{table}: {sent} rows{range} were sent, {stored} stored, with {warnings} warnings{}",
        first_warning(*code, column.as_ref())
    )]
    Load {
        /// `schema.table`.
        table: String,
        /// The range of their keys, as it follows the word; empty for the whole table.
        range: String,
        /// Number of rows that were sent.
        sent: u64,
        /// Number of rows that the target stored.
        stored: u64,
        /// Number of warnings.
        warnings: u16,
        /// The server's error number of the first warning; 0 if there is none, or the server has not kept it.
        code: u16,
        /// The column that this warning names.
        column: Option<String>,
    },
    /// The target returned another row than it was sent.
    #[error("target: {table} did not store the rows that were sent: {what}")]
    ReadBack {
        /// `schema.table`.
        table: String,
        /// The first row that differs.
        what: String,
    },
    /// A row from the source does not have the selected fields.
    #[error("{table}: the source sent a row with other fields than were asked for")]
    Fields {
        /// `schema.table`.
        table: String,
    },
    /// The log contains a transaction without a GTID.
    #[error("source: a transaction without GTID at {position}")]
    Anonymous {
        /// File and position.
        position: String,
    },
    /// A statement changed the definition of a table that is moved.
    #[error("source: the definition of {table} was changed at {position}: {statement}")]
    DefinitionChanged {
        /// `schema.table`.
        table: String,
        /// File and position.
        position: String,
        /// The first characters of the statement.
        statement: String,
    },
    /// The log contains a statement instead of row values, which may have changed a table that is moved.
    #[error("source: {table} was changed by a statement, not by rows, at {position}")]
    StatementFormat {
        /// `schema.table`, or the schema in which the statement was executed.
        table: String,
        /// File and position.
        position: String,
    },
    /// The log may lack changes, or has a kind of change that cannot be followed.
    #[error("source: {what} at {position}")]
    LogGap {
        /// What was found.
        what: &'static str,
        /// File and position.
        position: String,
    },
    /// A table's columns in the log differ from those when the migration began.
    #[error("source: {table} has {found} columns in the log at {position}, not {expected}")]
    Columns {
        /// `schema.table`.
        table: String,
        /// Number of columns in the log.
        found: usize,
        /// Number of columns when the migration began.
        expected: usize,
        /// File and position.
        position: String,
    },
    /// A column has another type in the log than when the migration began.
    #[error("source: {table} has another type of column {column} in the log at {position}")]
    ColumnType {
        /// `schema.table`.
        table: String,
        /// Name of the column.
        column: String,
        /// File and position.
        position: String,
    },
    /// A change of the log cannot be applied.
    #[error("{table}: column {column} of a change at {position}: {why}")]
    Change {
        /// `schema.table`.
        table: String,
        /// Name of the column.
        column: String,
        /// File and position.
        position: String,
        /// Why it cannot be applied.
        why: NotWritable,
    },
    /// Rows of the two servers differ.
    #[error("{} rows differ, the first in {}", .0.len(), .0.first().map_or("", |first| first.table.as_str()))]
    Divergence(Vec<Divergence>),
    /// The target stored a change with warnings.
    #[error("{table}: the target stored changes with {warnings} warnings")]
    ApplyWarnings {
        /// `schema.table`.
        table: String,
        /// Number of warnings.
        warnings: u16,
    },
    /// A condition for a step of the cut-over is not met.
    #[error("cut-over: {what}")]
    NotReady {
        /// What is missing.
        what: String,
    },
    /// A program of the user has failed.
    #[error("{program} {step}: {what}")]
    Program {
        /// Its path.
        program: String,
        /// Its argument.
        step: String,
        /// How it has ended, or why it could not be started.
        what: String,
    },
    /// The account lacks privileges.
    #[error("{side}: the account may not do this: it lacks {privileges}")]
    MissingGrant {
        /// `source` or `target`.
        side: Side,
        /// Names of the privileges.
        privileges: String,
        /// The statement that grants them.
        statement: String,
    },
    /// The target has an account otherwise than it was created, or refuses to create it. Never says a credential.
    #[error("target: the account {account} could not be created as it is at the source: {what}")]
    Account {
        /// The account, in quotes.
        account: String,
        /// What is wrong.
        what: String,
    },
    /// Not every row was copied yet.
    #[error("not every row was copied yet")]
    NotCopied,
    /// The cut-over was not done yet.
    #[error("the cut-over was not done yet")]
    NotSwitched,
    /// The cut-over was done, so the target may have writes of its own.
    #[error("target: the cut-over was done, so it may have newer rows than the source")]
    Switched,
    /// A cut-over was killed while the source was fenced.
    #[error("source: a cut-over was interrupted, and it may still be read-only")]
    CutOverInterrupted,
    /// The source may still be read-only. The cut-over failed, or its result is not known.
    #[error("source: it may still be read-only: {why}")]
    StillFenced {
        /// What failed.
        why: String,
        /// The statements that make the source writable again.
        statements: String,
    },
    /// The cut-over was done without a fallback.
    #[error("the cut-over was done without --fallback, or its time is over: there is no way back")]
    NoFallback,
    /// The fallback was done.
    #[error("the fallback was done: the source is in use again, and the target is read-only")]
    FellBack,
    /// The state of a fallback is at the source, which is not named.
    #[error("the cut-over was done with --fallback, whose state is at the source")]
    FallbackOpen,
    /// A step of the way back from the target to the source failed.
    #[error("on the way back, where source and target are swapped: {0}")]
    WayBack(#[source] Box<Self>),
    /// The target has changes that the source cannot have.
    #[error("the way back is closed: with source and target swapped: {0}")]
    WayBackClosed(#[source] Box<Self>),
    /// Both addresses lead to the same server.
    #[error("source and target are one server")]
    OneServer,
    /// The source applies what this migration writes to the target.
    #[error("source: it applies the changes of the target: its log has the state of this migration at {position}")]
    FollowsTarget {
        /// File and position.
        position: String,
    },
    /// The source applies changes of another server, and does not log them.
    #[error("source: it applies changes of another server, which its log lacks (log_replica_updates is off)")]
    UnloggedReplication,
    /// Sessions at the source's address are not on the same server.
    #[error("source: its address leads to more than one server, or it was restarted meanwhile")]
    SeveralServers,
    /// A different server answers at the source's address.
    #[error("source: another server answers, {found}, not {expected}")]
    OtherServer {
        /// `server_uuid` of the source so far.
        expected: String,
        /// `server_uuid` of the server that answers now.
        found: String,
    },
    /// Somebody else has changed a table of the migration at the target.
    #[error(
        "target: something else than this migration has changed {table}, in the transaction that ends at {position} of its log"
    )]
    TargetWritten {
        /// `schema.table`, several with commas; or that the log does not name it.
        table: String,
        /// File and position.
        position: String,
    },
    /// Somebody has changed a table of the migration at the source after the switch.
    #[error(
        "source: {table} was changed after the switch, in the transaction that ends at {position} of its log; the target \
         does not have that change"
    )]
    LateWrite {
        /// `schema.table`, several with commas; or that the log does not name it.
        table: String,
        /// File and position.
        position: String,
    },
    /// The target's log cannot be read.
    #[error("target: its log: {0}")]
    TargetLog(#[source] binlog::Error),
    /// The target's log was removed and begun anew.
    #[error("target: its binary log was reset: {file} is gone, or is another file now")]
    TargetLogReset {
        /// The newest file that was read before.
        file: String,
    },
    /// A process that should pause has not ended yet.
    #[error("target: the process that runs this migration has not ended yet; the pause stays requested")]
    PauseRequested,
    /// The migration is paused.
    #[error("target: the migration is paused")]
    Paused,
    /// The migration is not paused, so it cannot be resumed.
    #[error("target: the migration is not paused")]
    NotPaused,
    /// The source's log was removed and begun anew.
    #[error(
        "source: its binary log was reset after this migration had read it: {file} is gone, or is another file now"
    )]
    LogReset {
        /// The newest file that was read before.
        file: String,
    },
    /// A thread of the run ended because another one failed, or the caller stopped it.
    #[error("stopped before the end")]
    Stopped,
}

fn first_warning(code: u16, column: Option<&String>) -> String {
    match column {
        _ if code == 0 => String::new(),
        Some(column) => format!(" (first code {code} for column {column})"),
        None => format!(" (first code {code})"),
    }
}

impl Error {
    /// Wraps an error of the server at this end.
    pub(crate) fn at(side: Side) -> impl Fn(server::Error) -> Self {
        move |error| Self::Server { side, error }
    }

    /// Whether repeating the same call may succeed without any other action.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        match self {
            Self::Server { error, .. } | Self::Stream(binlog::Error::Server(error)) => error.is_transient(),
            // After a restart, a new session has the lock.
            Self::SeveralServers => true,
            _ => false,
        }
    }

    /// Whether a collision has rolled back the transaction, or it has waited too long for a lock.
    pub(crate) fn is_collision(&self) -> bool {
        matches!(self, Self::Server { error, .. } if error.is_collision())
    }
}
