//! Follows the binary log of a server and archives its events.

mod begin;
mod receipts;
mod stream;
mod uploads;

use std::{
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use ::binlog::{Limits, replica::Settings};
use archive::{
    Digest,
    binlog::{Gap, Predecessor, Segment},
    sshsig::SigningKey,
};
use files::Backoff;
use innodb::binlog::LogPosition;
use snapshot::{Provider, ProviderChoice, follow::Account};

use self::stream::StreamEnd;
use super::{
    source::Source,
    spool::{Spool, SpoolStatus},
    state::{ArchiveState, StateFile},
};
use crate::{Config, Error, Repository, state::make_directory};

/// Heartbeat interval that the server is asked for: it sends one when it has sent nothing for this long.
const HEARTBEAT: Duration = Duration::from_secs(2);
/// Maximum time between two receipts while events arrive.
const RECEIPT_EVERY: Duration = Duration::from_secs(60);
/// Pauses between attempts to reach the server or the store.
const PAUSES: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(30));
/// Interval at which a server that still applies transactions is polled.
const APPLIER_POLL: Duration = Duration::from_secs(1);
/// How long to wait for a server whose applier does not appear to run and whose GTIDs do not change. The applier of
/// group replication is never visible.
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
    /// The server does not have these transactions of the former one yet. The run waits for them, at most this long.
    Waiting(&'n str, Duration),
    /// What waits on this host now, because the store has failed, and when logs were last lost.
    Spooled(&'n SpoolStatus),
    /// The store still fails, and this much waits.
    Outage(&'n SpoolStatus),
    /// The spool is full: the file system has no space, or the limit in bytes is reached. The server is not read
    /// meanwhile.
    SpoolFull(&'n SpoolStatus, u64),
    /// The file system has no space for the state, without which nothing is archived. It is written as soon as there is
    /// space.
    StateFull(&'n Error),
    /// Bytes of logs that are not archived because the store fails, and the oldest log of the server, if it is among
    /// them.
    Behind(u64, Option<&'n str>),
    /// Logs were lost.
    Lost(&'n Gap),
    /// So many parts that waited on this host are kept in this directory: the state does not know them, and the server
    /// may have lost their events.
    SetAside(u64, &'n Path),
    /// What waits on this host of a replaced server cannot be found. The current server is archived all the same; the run
    /// ends with this error.
    FormerMissing(&'n Error),
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

/// Archives the binary logs of the configuration's server. What waits on this host is stored even if the server is gone:
/// it may be all that is left of its newest transactions.
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
    let spools = config.spools(&repository.id);
    let source = Source::connect(&account).map(|(_, source)| source);
    let lock = StateFile::lock(&directory)?;
    // Not only when the store cannot be reached: then nobody looks.
    make_directory(&spools)?;
    let open = |server: &str| -> Result<_, Error> {
        Ok(Archiver {
            config,
            repository,
            account: &account,
            key: &key,
            mode,
            stop,
            note,
            state: StateFile::open(&directory, &spools, server, &lock)?,
            spool: Spool::new(&spools, server),
            is_verified: false,
            pauses: PAUSES,
            next_attempt: Instant::now(),
            has_failed: false,
            former: Former::default(),
            archived: Archived { server: server.to_owned(), ..Archived::default() },
            written: Instant::now(),
        })
    };
    // A server that was archived before may not come back.
    let id = source.as_ref().map_or("", |source| source.id.as_str());
    let mut former = Former::default();
    for other in StateFile::servers(&directory)?.iter().filter(|other| *other != id) {
        let mut other = open(other)?;
        let stored = other.finish_earlier(source.is_ok());
        former.add(other, stored)?;
    }
    let source = source?;
    let mut archiver = Archiver { former, ..open(&source.id)? };
    archiver.recover()?;
    let verified = archiver.verify_state();
    archiver.tried(verified)?;
    archiver.drain()?;
    archiver.begin(&source, &directory)?;
    archiver.run(&source)?;
    let former = archiver.finish_former();
    archiver.finish()?;
    former?;
    let ArchiveState { end, gtid, previous, .. } = archiver.state.archive.clone();
    Ok(Archived { end, gtid, receipt: previous, ..archiver.archived })
}

fn account(config: &Config) -> Result<Account, Error> {
    if let Some(source) = &config.binlog_source {
        return Ok(Account::at_url(&source.url, config.server.password_file.as_deref(), &source.ca)?);
    }
    config.server.account(ProviderChoice::Only(Provider::Follow))?.ok_or_else(|| Error::NoSocket)
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
    spool: Spool,
    archived: Archived,
    /// Time of the newest receipt.
    written: Instant,
    /// Whether repository and state are known to belong together.
    is_verified: bool,
    /// Pauses between attempts to reach the store.
    pauses: Backoff,
    /// Time of the next attempt.
    next_attempt: Instant,
    /// Whether the last attempt has failed.
    has_failed: bool,
    former: Former<'a>,
}

/// Archives of replaced servers.
#[derive(Default)]
struct Former<'a> {
    /// Those of which something still waits for the store.
    waiting: Vec<Archiver<'a>>,
    /// The first fault of those whose spool is missing.
    missing: Option<Error>,
}

impl<'a> Former<'a> {
    /// Adds an archive after an attempt to store what is left of it, which says whether nothing is.
    fn add(&mut self, archiver: Archiver<'a>, stored: Result<bool, Error>) -> Result<(), Error> {
        match stored {
            // Another host may have continued it.
            Ok(true) | Err(Error::OtherArchiver { .. } | Error::OldState { .. }) => {}
            Ok(false) => self.waiting.push(archiver),
            // What waits there is safe until it is mounted again, but the server may remove its logs.
            Err(error @ Error::SpoolMissing { .. }) => {
                (archiver.note)(&Note::FormerMissing(&error));
                self.missing.get_or_insert(error);
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

impl Archiver<'_> {
    /// Stores what an earlier run left in the archive of this server. Returns whether everything is stored; the store may
    /// fail. If another server has replaced it, it is not expected to send the events of other parts again.
    fn finish_earlier(&mut self, is_replaced: bool) -> Result<bool, Error> {
        let is_stored = !self.is_backlogged() && self.state.archive.pending.is_empty();
        if !is_stored {
            self.recover()?;
        }
        if is_replaced {
            self.set_aside()?;
        }
        if is_stored { Ok(true) } else { self.store_all() }
    }

    /// Stores more of what replaced servers have left, once everything of the current server is stored.
    fn go_on_with_former(&mut self) -> Result<(), Error> {
        if self.is_backlogged() {
            return Ok(());
        }
        for mut former in std::mem::take(&mut self.former.waiting) {
            let stored = if Instant::now() < former.next_attempt { Ok(false) } else { former.store_some() };
            self.former.add(former, stored)?;
        }
        Ok(())
    }

    /// Stores everything that replaced servers have left.
    ///
    /// # Errors
    /// [`Error::SpoolMissing`] if something of it is missing; everything else is stored.
    fn finish_former(&mut self) -> Result<(), Error> {
        for mut former in std::mem::take(&mut self.former.waiting) {
            let stored = former.finish().map(|()| true);
            self.former.add(former, stored)?;
        }
        self.former.missing.take().map_or(Ok(()), Err)
    }

    /// Archives until the end is reached or a stop is requested.
    fn run(&mut self, source: &Source) -> Result<(), Error> {
        let until = (self.mode == Mode::Once).then(|| source.end.clone());
        let mut pauses = PAUSES;
        while !self.is_stopped() {
            let before = self.archived.segments;
            self.drop_partial_transactions()?;
            self.drain()?;
            let failed = match self.follow(source, until.as_ref()) {
                Ok(StreamEnd::Reached) => break,
                Ok(StreamEnd::Lost) => continue,
                Ok(StreamEnd::Closed) => Error::ServerClosed,
                Err(error) => error,
            };
            if self.mode == Mode::Once || !is_transient(&failed) {
                // The next run may find another server, or none.
                if !matches!(failed, Error::Store(_) | Error::Waiting { .. }) {
                    self.store_all()?;
                }
                return Err(failed);
            }
            // The server may not come back.
            if self.written.elapsed() >= RECEIPT_EVERY {
                self.store_some()?;
            }
            pauses = if self.archived.segments > before { PAUSES } else { pauses };
            self.pause(&mut pauses, &failed);
        }
        Ok(())
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
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

/// Whether a retry may succeed.
const fn is_transient(error: &Error) -> bool {
    match error {
        Error::Store(_) => true,
        Error::Binlog(error) => matches!(error, ::binlog::Error::Server(_)),
        Error::ServerClosed => true,
        _ => false,
    }
}
