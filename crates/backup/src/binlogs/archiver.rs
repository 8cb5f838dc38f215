//! Follows the binary log of a server and archives its events.

use std::{
    cell::Cell,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use ::binlog::{
    Body, Event, Limits,
    replica::{Replica, Settings, Start},
};
use archive::{
    Digest,
    binlog::{self, BinlogReceipt, Gap, Predecessor, SEGMENT_BYTES, Segment},
    names,
    receipt::{NAMESPACE, fingerprint},
    sshsig::{self, AllowedSigners, SigningKey},
};
use files::Backoff;
use innodb::binlog::{FIRST_EVENT, LogPosition};
use jiff::Timestamp;
use replication::gtid::{mariadb::GtidPosition, mysql::GtidSet};
use server::Connection;
use snapshot::{Provider, ProviderChoice, follow::Account};

use super::{
    chain::{Archive, newest_trusted, pruned},
    failover::{self, Former, Takeover},
    segment::Part,
    source::Source,
    state::{ArchiveState, PendingReceipt, StateFile},
};
use crate::{
    Config, Error, Repository,
    repository::{Attempt, is_denied, put_signed},
};

/// Heartbeat interval that the server is asked for: it sends one when it has sent nothing for this long.
const HEARTBEAT: Duration = Duration::from_secs(2);
/// Maximum time between two receipts while events arrive.
const RECEIPT_EVERY: Duration = Duration::from_secs(60);
/// Pauses between attempts to reach the server or the store.
const PAUSES: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(30));
/// Time between two looks at a server that still applies transactions.
const APPLIER_POLL: Duration = Duration::from_secs(1);
/// How long a server whose applier is not seen to run may have nothing new: a group's applier is not seen.
const APPLIER_STILL: Duration = Duration::from_secs(5);

/// When archiving ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// At the position where the log ended when the run began.
    Once,
    /// On request.
    Follow,
}

/// Events of the run, for the user.
#[derive(Debug)]
pub enum Note<'n> {
    /// The server sends its log from here on.
    Connected(&'n LogPosition),
    /// A part was stored.
    Stored(&'n Segment),
    /// The server took over from another one, whose archive this one continues.
    TookOver(&'n Predecessor),
    /// The server does not have these transactions of the former one yet; they are waited for, at most so long.
    Waiting(&'n str, Duration),
    /// Bytes of logs that are not archived because the store fails, and the oldest log of the server, if it is among them.
    Behind(u64, Option<&'n str>),
    /// Logs were lost.
    Lost(&'n Gap),
    /// Server or store failed; the next attempt follows after this pause.
    Retry(&'n Error, Duration),
}

/// Result of archiving.
#[derive(Debug, Default)]
pub struct Archived {
    /// Name of the server in object names.
    pub server: String,
    /// Number of parts stored.
    pub segments: u64,
    /// Bytes of events.
    pub event_bytes: u64,
    /// Bytes of the stored objects.
    pub stored_bytes: u64,
    /// Position at which the next part begins.
    pub end: LogPosition,
    /// GTIDs of the transactions up to `end`.
    pub gtid: String,
    /// Logs that were lost.
    pub gaps: Vec<Gap>,
    /// SHA-256 of the newest receipt.
    pub receipt: Option<Digest>,
}

/// Archives the binary logs of the configuration's server.
///
/// # Errors
/// [`Error`]. Stored parts stay, and the next call continues after them.
pub fn archive(
    config: &Config,
    repository: &Repository,
    mode: Mode,
    stop: &AtomicBool,
    note: &dyn Fn(&Note<'_>),
) -> Result<Archived, Error> {
    let account = account(config)?;
    let key = config.signing_key()?;
    let directory = config.state.join(&repository.id).join(&config.host);
    let (_, source) = Source::connect(&account)?;
    let open = |server: &str| -> Result<_, Error> {
        Ok(Archiver {
            config,
            repository,
            account: &account,
            key: &key,
            mode,
            stop,
            note,
            state: StateFile::open(&directory, server)?,
            archived: Archived { server: server.to_owned(), ..Archived::default() },
            written: Instant::now(),
        })
    };
    // A server that was archived before may not come back.
    for other in StateFile::servers(&directory)?.iter().filter(|other| **other != source.id) {
        match open(other)?.write_receipt() {
            // Its archive went on elsewhere.
            Ok(()) | Err(Error::OtherArchiver { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    let mut archiver = open(&source.id)?;
    archiver.check_state(&source)?;
    archiver.put_pending_receipt(Attempt::Again)?;
    archiver.begin(&source, &directory)?;
    let until = (mode == Mode::Once).then(|| source.end.clone());
    let mut pauses = PAUSES;
    while !archiver.is_stopped() {
        let before = archiver.archived.segments;
        archiver.state.archive.drop_partial_transactions();
        let failed = match archiver.follow(&source, until.as_ref()) {
            Ok(Ended::Reached) => break,
            Ok(Ended::Lost) => continue,
            Ok(Ended::Closed) => Error::ServerClosed,
            Err(error) => error,
        };
        if mode == Mode::Once || !is_passing(&failed) {
            return Err(failed);
        }
        pauses = if archiver.archived.segments > before { PAUSES } else { pauses };
        archiver.pause(&mut pauses, &failed);
    }
    archiver.write_receipt()?;
    let ArchiveState { end, gtid, previous, .. } = archiver.state.archive.clone();
    Ok(Archived { end, gtid, receipt: previous, ..archiver.archived })
}

/// Whether a retry may succeed.
const fn is_passing(error: &Error) -> bool {
    match error {
        Error::Store(_) => true,
        Error::Binlog(error) => matches!(error, ::binlog::Error::Server(_)),
        Error::ServerClosed => true,
        _ => false,
    }
}

/// Whether the server says that it does not have what was asked for.
const fn is_unavailable(error: &Error) -> bool {
    matches!(error, Error::Binlog(::binlog::Error::Unavailable { .. }))
}

fn account(config: &Config) -> Result<Account, Error> {
    if let Some(source) = &config.binlog_source {
        return Ok(Account::at_url(&source.url, config.server.password_file.as_deref(), &source.ca)?);
    }
    config.server.account(ProviderChoice::Only(Provider::Follow))?.ok_or_else(|| Error::NoSocket)
}

/// Why a stream of events ended.
enum Ended {
    /// All wanted events arrived, or a stop was requested.
    Reached,
    /// The server closed it.
    Closed,
    /// Logs were lost, so the archive continues at another position.
    Lost,
}

struct Archiver<'a> {
    config: &'a Config,
    repository: &'a Repository,
    account: &'a Account,
    key: &'a SigningKey,
    mode: Mode,
    stop: &'a AtomicBool,
    note: &'a dyn Fn(&Note<'_>),
    state: StateFile,
    archived: Archived,
    /// Time of the newest receipt.
    written: Instant,
}

impl Archiver<'_> {
    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Chooses the beginning of a new archive: the log that the newest backup ends in, so that all later changes are
    /// included.
    fn begin(&mut self, source: &Source, directory: &Path) -> Result<(), Error> {
        self.state.archive.version = source.version.to_string();
        if !self.state.archive.end.file.is_empty() {
            return Ok(());
        }
        if self.adopt(source)? || self.take_over(source, directory)? {
            return self.state.save();
        }
        let of_backup = crate::state::newest_position(directory)?;
        let of_backup = of_backup.map(|position| LogPosition { offset: FIRST_EVENT, ..position.log });
        self.state.archive.end = of_backup.filter(|at| source.has(at)).unwrap_or_else(|| source.oldest());
        self.state.save()
    }

    /// Refuses to continue with a state from before newer receipts of this host: an older copy of it, or that of a machine
    /// that goes on as this host.
    fn check_state(&self, source: &Source) -> Result<(), Error> {
        let ArchiveState { number, draft, end, .. } = &self.state.archive;
        if !self.repository.may_read() || end.file.is_empty() {
            return Ok(());
        }
        // A draft may be stored already.
        let own = draft.as_ref().map_or(*number, |draft| draft.number);
        let signers = AllowedSigners::only(self.key.public(), &self.config.host);
        match newest_trusted(self.repository, (&self.config.host, &source.id), own, &signers) {
            Ok(None) => Ok(()),
            Ok(Some(newest)) => {
                let (host, server) = (self.config.host.clone(), source.id.clone());
                Err(Error::OldState { host, server, number: *number, newest })
            }
            // It may read the repository, but not list it.
            Err(error) if is_denied(&error) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Continues the archive in the repository, for a host that has lost its state. Returns whether there is one.
    fn adopt(&mut self, source: &Source) -> Result<bool, Error> {
        if !self.repository.may_read() {
            return Ok(false);
        }
        // Only receipts that this host has signed.
        let signers = AllowedSigners::only(self.key.public(), &self.config.host);
        let archive = Archive::read_one(self.repository, &self.config.host, &source.id, Some(&signers))?;
        let Some((newest, digest)) = archive.as_ref().and_then(|archive| archive.receipts.last().zip(archive.newest))
        else {
            return self.number_after_prune(source).map(|()| false);
        };
        let segments = archive.iter().flat_map(Archive::segments).map(|(segment, _)| segment);
        let begin = segments.filter(|segment| segment.file == newest.end.file && segment.start == FIRST_EVENT).last();
        self.state.archive = ArchiveState {
            number: newest.number,
            previous: Some(digest),
            end: newest.end.clone(),
            gtid: newest.gtid.clone(),
            log_began: begin.map_or(0, |segment| segment.first),
            ..ArchiveState::default()
        };
        Ok(true)
    }

    /// Takes the number and hash of the newest receipt from a prune that has removed all of them.
    fn number_after_prune(&mut self, source: &Source) -> Result<(), Error> {
        let mut pruned = match pruned(self.repository, &self.config.host, None) {
            Err(error) if is_denied(&error) => return Ok(()),
            pruned => pruned?,
        };
        if let Some(newest) = pruned.remove(&source.id) {
            let (number, previous) = (newest.removed.number, Some(newest.removed.sha256));
            self.state.archive = ArchiveState { number, previous, ..self.state.archive.clone() };
        }
        Ok(())
    }

    /// Continues the archive of the server that this one has replaced. Returns whether there is one.
    fn take_over(&mut self, source: &Source, directory: &Path) -> Result<bool, Error> {
        let Some(former) = failover::newest(directory, &source.id)?.filter(|_| !source.is_mariadb) else {
            return Ok(false);
        };
        let now = self.wait_for_applier(&former, source)?;
        let source = now.as_ref().unwrap_or(source);
        if self.is_stopped() {
            return Ok(true);
        }
        let settings = self.settings();
        let mut before = |log: &str| failover::gtids_before(source, self.account, &settings, log);
        match failover::take_over(&former, &source.gtids, &source.logs, &mut before)? {
            Takeover::Continues(predecessor, begin) => {
                (self.note)(&Note::TookOver(&predecessor));
                self.state.archive.predecessor = Some(predecessor);
                self.state.archive.end = begin;
            }
            Takeover::Lost(gap) => self.begin_after(gap, source),
        }
        Ok(true)
    }

    /// Waits while a promoted server still applies what it has received from the former one. Returns what it said last,
    /// if it had to be asked again.
    fn wait_for_applier(&self, former: &Former, source: &Source) -> Result<Option<Source>, Error> {
        let (began, mut changed) = (Instant::now(), Instant::now());
        let mut missing = former.missing_in(&source.gtids);
        let mut newest = None;
        if !missing.is_empty() && source.gtids.is_on {
            (self.note)(&Note::Waiting(&missing.to_string(), self.config.takeover_wait));
        }
        while !missing.is_empty() && source.gtids.is_on && began.elapsed() < self.config.takeover_wait {
            self.sleep(APPLIER_POLL);
            let (mut connection, now) = source.connect_again(self.account)?;
            let left = former.missing_in(&now.gtids);
            if left != missing || now.applies(&mut connection)? {
                changed = Instant::now();
            }
            (missing, newest) = (left, Some(now));
            if self.is_stopped() || changed.elapsed() > APPLIER_STILL {
                break;
            }
        }
        Ok(newest)
    }

    /// Reads the stream from the end of the archive on.
    fn follow(&mut self, source: &Source, until: Option<&LogPosition>) -> Result<Ended, Error> {
        let (connection, now) = source.connect_again(self.account)?;
        if !now.has(&self.state.archive.end) {
            self.lose(&now, "the server has no such position in its logs any more")?;
        }
        if until.is_some_and(|until| *until == self.state.archive.end) {
            return Ok(Ended::Reached);
        }
        match self.stream(connection, &now, until) {
            // If the logs were removed meanwhile, the new list shows it.
            Err(refused) if is_unavailable(&refused) => {
                let (_, now) = source.connect_again(self.account)?;
                if now.has(&self.state.archive.end) { Err(refused) } else { Ok(Ended::Lost) }
            }
            ended => ended,
        }
    }

    /// Reads the stream of a server that has answered on this connection.
    fn stream(&mut self, connection: Connection, source: &Source, until: Option<&LogPosition>) -> Result<Ended, Error> {
        let from = self.state.archive.end.clone();
        let start = Start::Position(from.clone());
        let settings = self.settings();
        let mut replica = Replica::start(connection, &start, &settings)?;
        (self.note)(&Note::Connected(&from));
        let mut part = Part::at(&from.file, from.offset);
        let (mut began, mut last, mut is_first) = (Instant::now(), Kept::Nothing, true);
        let ended = loop {
            let Some(event) = replica.next_event()? else { break Ended::Closed };
            let header = event.header;
            // A proxy may send queries and the request for the log to different servers.
            if std::mem::take(&mut is_first) && header.server_id != source.server_id {
                return Err(source.is_other(format!("the one with server_id {}", header.server_id)));
            }
            let kept = Kept::judge(&event);
            let gtids = gtids_before(&event.body);
            if kept == Kept::Description && header.end_position == 0 {
                // The server sends the format description again when the stream begins inside a log. Its time shows
                // whether this is the log that was read before.
                let log_began = self.state.archive.log_began;
                if part.start > FIRST_EVENT && log_began != 0 && log_began != header.timestamp {
                    self.lose(source, "the server has begun its logs again")?;
                    break Ended::Lost;
                }
                continue;
            }
            let at = &replica.progress().position;
            if kept != Kept::Nothing {
                if part.is_empty() {
                    began = Instant::now();
                }
                // A rotate event names a position in the next log.
                let end = if header.end_position == 0 || kept == Kept::Rotate {
                    part.end.saturating_add(u64::from(header.event_bytes))
                } else {
                    at.offset
                };
                part.add(replica.event_bytes(), header.timestamp, end);
                last = kept;
            }
            if kept == Kept::Description {
                self.state.archive.log_began = header.timestamp;
            }
            if let Some(gtids) = gtids {
                let is_head = kept == Kept::Event && part.start == FIRST_EVENT;
                if is_head && !goes_on(&self.state.archive.gtid, &gtids) {
                    self.lose(source, "the server has begun its logs again")?;
                    break Ended::Lost;
                }
                self.state.archive.gtid = gtids;
            }
            if at.file != part.file {
                self.flush(&mut part, true, &replica, source)?;
                self.state.archive.end = LogPosition { file: at.file.clone(), offset: FIRST_EVENT };
                self.state.archive.log_began = 0;
                self.state.save()?;
                part = Part::at(&at.file, FIRST_EVENT);
            }
            let is_between = replica.progress().is_between_transactions();
            // MariaDB leaves out the event after the format description of an encrypted log.
            let is_whole = is_between && last != Kept::Description;
            let is_due = part.bytes.len() >= SEGMENT_BYTES || is_whole && began.elapsed() >= self.config.segment_every;
            let is_over = is_between && (self.is_stopped() || until.is_some_and(|until| at >= until));
            if is_due || is_over && is_whole {
                self.flush(&mut part, is_whole, &replica, source)?;
            }
            if is_over {
                break Ended::Reached;
            }
        };
        Ok(ended)
    }

    fn settings(&self) -> Settings {
        Settings { server_id: self.replica_id(), heartbeat: HEARTBEAT, limits: Limits::default() }
    }

    /// `server_id` of this replica: configured, or a high number from a hash of repository and host, which no server
    /// has by chance.
    fn replica_id(&self) -> u32 {
        const HIGH: u32 = 0xee00_0000;
        let digest = Digest::compute(format!("{} {}", self.repository.id, self.config.host).as_bytes()).to_string();
        let number = digest.get(..6).and_then(|digits| u32::from_str_radix(digits, 16).ok()).unwrap_or(1);
        self.config.replica_id.unwrap_or(HIGH | number)
    }

    /// Stores a part, leaving it empty, and a receipt if the last one is old. A part that ends inside a transaction is
    /// read again after an interruption, and no receipt ends with it.
    fn flush(&mut self, part: &mut Part, is_whole: bool, replica: &Replica, source: &Source) -> Result<(), Error> {
        if part.is_empty() {
            return Ok(());
        }
        let store = || part.store(self.repository, &self.config.host, &source.id, &self.config.recipients);
        let segment = self.patiently(store, || self.note_lag(source))?;
        self.archived.segments = self.archived.segments.saturating_add(1);
        self.archived.event_bytes = self.archived.event_bytes.saturating_add(segment.event_bytes);
        self.archived.stored_bytes = self.archived.stored_bytes.saturating_add(segment.object.bytes);
        let archive = &mut self.state.archive;
        if is_whole {
            archive.end = LogPosition { file: segment.file.clone(), offset: segment.end };
            archive.gtid = gtid(&archive.gtid, replica, source.is_mariadb);
        }
        archive.pending.push(segment.clone());
        self.state.save()?;
        (self.note)(&Note::Stored(&segment));
        *part = Part::at(&part.file, part.end);
        if is_whole && self.mode == Mode::Follow && self.written.elapsed() >= RECEIPT_EVERY {
            self.write_receipt()
        } else {
            Ok(())
        }
    }

    /// Repeats work while the store fails, if this run follows the server; calls `meanwhile` after each failure.
    fn patiently<T>(&self, work: impl Fn() -> Result<T, Error>, meanwhile: impl Fn()) -> Result<T, Error> {
        let mut pauses = PAUSES;
        loop {
            match work() {
                Err(error) if self.mode == Mode::Follow && is_passing(&error) && !self.is_stopped() => {
                    meanwhile();
                    self.pause(&mut pauses, &error);
                }
                done => return done,
            }
        }
    }

    /// Says how far the archive is behind the server, which keeps what is not archived only as long as it keeps its logs.
    fn note_lag(&self, source: &Source) {
        // The next attempt says why a server cannot be asked.
        if let Ok((_, now)) = source.connect_again(self.account) {
            let end = &self.state.archive.end;
            (self.note)(&Note::Behind(now.bytes_after(end), now.oldest_closed().filter(|oldest| *oldest == end.file)));
        }
    }

    /// Records that logs are missing. What was read before them gets its own receipt.
    fn lose(&mut self, source: &Source, reason: &str) -> Result<(), Error> {
        self.write_receipt()?;
        let noticed = Some(Timestamp::now());
        let gap = Gap { from: self.state.archive.end.clone(), reason: reason.to_owned(), noticed };
        self.begin_after(gap, source);
        self.state.save()
    }

    /// Begins with the oldest log of the server, after a gap.
    fn begin_after(&mut self, gap: Gap, source: &Source) {
        (self.note)(&Note::Lost(&gap));
        self.archived.gaps.push(gap.clone());
        self.state.archive.gap = Some(gap);
        self.state.archive.predecessor = None;
        self.state.archive.end = source.oldest();
        self.state.archive.gtid = String::new();
        self.state.archive.log_began = 0;
    }

    /// Stores a receipt of all parts that have none yet.
    fn write_receipt(&mut self) -> Result<(), Error> {
        self.written = Instant::now();
        let archive = &mut self.state.archive;
        archive.drop_partial_transactions();
        if archive.pending.is_empty() {
            return self.put_pending_receipt(Attempt::Again);
        }
        let receipt = BinlogReceipt {
            schema: binlog::SCHEMA.to_owned(),
            repo: self.repository.id.clone(),
            host: self.config.host.clone(),
            server: self.archived.server.clone(),
            version: archive.version.clone(),
            number: archive.number.saturating_add(1),
            previous: archive.previous,
            written: Timestamp::now(),
            predecessor: archive.predecessor.take(),
            gap: archive.gap.take(),
            segments: std::mem::take(&mut archive.pending),
            end: archive.end.clone(),
            gtid: archive.gtid.clone(),
            recipients: self.config.recipients.iter().map(fingerprint).collect(),
            tool: concat!("sealant ", env!("CARGO_PKG_VERSION")).to_owned(),
        };
        let bytes = receipt.encode()?;
        let signature = sshsig::sign(self.key, NAMESPACE, &bytes);
        let receipt = String::from_utf8_lossy(&bytes).into_owned();
        archive.draft = Some(PendingReceipt { number: archive.number.saturating_add(1), receipt, signature });
        self.state.save()?;
        self.put_pending_receipt(Attempt::First)
    }

    /// Stores the draft, which may already be stored.
    fn put_pending_receipt(&mut self, attempt: Attempt) -> Result<(), Error> {
        let Some(pending) = self.state.archive.draft.clone() else { return Ok(()) };
        let (host, server, number) = (&self.config.host, &self.archived.server, pending.number);
        let names = [names::binlog_signature(host, server, number), names::binlog_receipt(host, server, number)];
        let (signature, receipt) = (pending.signature.as_bytes(), pending.receipt.as_bytes());
        let attempt = Cell::new(attempt);
        let put = || put_signed(self.repository, &names, signature, receipt, attempt.replace(Attempt::Again));
        if !self.patiently(put, || ())? {
            return Err(Error::OtherArchiver { host: host.clone(), number });
        }
        let previous = Some(Digest::compute(receipt));
        let archive = &mut self.state.archive;
        (archive.number, archive.previous, archive.draft) = (number, previous, None);
        self.state.save()
    }

    /// Waits before another attempt.
    fn pause(&self, pauses: &mut Backoff, error: &Error) {
        let pause = pauses.next().unwrap_or_default();
        (self.note)(&Note::Retry(error, pause));
        self.sleep(pause);
    }

    /// Waits, unless a stop is requested.
    fn sleep(&self, pause: Duration) {
        let until = Instant::now() + pause;
        while Instant::now() < until && !self.is_stopped() {
            thread::sleep(Duration::from_millis(100));
        }
    }
}

/// What to do with an event.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kept {
    /// Drop it: it is not in the log, the server made it for this replica.
    Nothing,
    /// The format description of the log.
    Description,
    /// The event that ends the log.
    Rotate,
    /// Another event of the log.
    Event,
}

impl Kept {
    fn judge(event: &Event<'_>) -> Self {
        match event.body {
            Body::FormatDescription(_) => Self::Description,
            _ if event.header.is_artificial() => Self::Nothing,
            Body::Heartbeat(_) => Self::Nothing,
            Body::Rotate(_) => Self::Rotate,
            _ => Self::Event,
        }
    }
}

/// The GTIDs before a log, if this event contains them.
fn gtids_before(body: &Body<'_>) -> Option<String> {
    match body {
        Body::PreviousGtids(previous) => Some(previous.set.to_string()),
        Body::GtidList(list) => {
            let mut position = GtidPosition::default();
            list.gtids.iter().for_each(|gtid| position.advance(*gtid));
            Some(position.to_string())
        }
        _ => None,
    }
}

/// Whether the GTIDs before a log include those of the archive up to there. If one of both is not known, nothing is
/// known.
fn goes_on(archived: &str, before: &str) -> bool {
    if archived.is_empty() {
        return true;
    }
    if let (Ok(archived), Ok(before)) = (archived.parse::<GtidSet>(), before.parse::<GtidSet>()) {
        return archived.is_subset_of(&before);
    }
    let (Ok(archived), Ok(before)) = (archived.parse::<GtidPosition>(), before.parse::<GtidPosition>()) else {
        return true;
    };
    // FLUSH BINARY LOGS DELETE_DOMAIN_ID removes domains.
    let mut common = before.iter().filter(|gtid| archived.iter().any(|of| of.domain == gtid.domain)).peekable();
    common.peek().is_some()
        && common.all(|gtid| archived.iter().all(|of| of.domain != gtid.domain || of.sequence <= gtid.sequence))
}

/// The GTIDs up to the current position: those before the stream, and those that it delivered.
fn gtid(before: &str, replica: &Replica, is_mariadb: bool) -> String {
    if is_mariadb {
        let mut position: GtidPosition = before.parse().unwrap_or_default();
        replica.progress().mariadb.iter().for_each(|gtid| position.advance(gtid));
        return position.to_string();
    }
    let mut set: GtidSet = before.parse().unwrap_or_default();
    set.add(&replica.progress().mysql);
    set.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_goes_on_if_it_has_the_gtids_of_those_before() {
        const UUID: &str = "3e11fa47-71ca-11e1-9e33-c80aa9429562";
        let mysql = |archived: &str, before: &str| goes_on(&format!("{UUID}:{archived}"), &format!("{UUID}:{before}"));
        assert!(mysql("1-9", "1-9") && mysql("1-9", "1-12") && goes_on("", &format!("{UUID}:1-3")));
        assert!(!mysql("1-9", "1-3") && !goes_on(&format!("{UUID}:1-9"), ""));
        assert!(goes_on("0-1-9,2-1-4", "0-1-9,2-1-4") && goes_on("0-1-9,2-1-4", "0-7-10"), "a domain may be removed");
        assert!(!goes_on("0-1-9", "0-1-3") && !goes_on("0-1-9", "") && !goes_on("0-1-9", "5-1-1"));
    }
}
