//! Reads the events that the server sends, and stores them in parts.

use std::time::{Duration, Instant};

use ::binlog::{
    Body, Event, EventHeader,
    replica::{Replica, Start},
};
use archive::binlog::{Gap, SEGMENT_BYTES};
use innodb::binlog::{FIRST_EVENT, LogPosition};
use jiff::Timestamp;
use server::Connection;

use super::{Archiver, Mode, Note, RECEIPT_EVERY};
use crate::{
    Error,
    binlogs::{segment::PendingSegment, source::Source, spool::Checkpoint},
    gtids,
};

/// Interval at which the server is asked whether it still has the log that it sends.
const LOOK_EVERY: Duration = Duration::from_secs(30);

/// Why a stream of events ended.
pub(super) enum StreamEnd {
    /// All wanted events arrived, or a stop was requested.
    Reached,
    /// The server closed it.
    Closed,
    /// Logs were lost, so the archive continues at another position.
    Lost,
}

impl Archiver<'_> {
    /// Reads the stream from the end of the archive on.
    pub(super) fn follow(&mut self, source: &Source, until: Option<&LogPosition>) -> Result<StreamEnd, Error> {
        let (connection, now) = source.connect_again(self.account)?;
        if !now.has(&self.state.archive.end) {
            self.lose(&now, "the server no longer has this position in its logs")?;
        }
        if until.is_some_and(|until| *until == self.state.archive.end) {
            return Ok(StreamEnd::Reached);
        }
        match self.stream(connection, &now, until) {
            // If the logs were removed meanwhile, the new list shows it.
            Err(refused) if is_unavailable(&refused) => {
                let (_, now) = source.connect_again(self.account)?;
                if now.has(&self.state.archive.end) { Err(refused) } else { Ok(StreamEnd::Lost) }
            }
            ended => ended,
        }
    }

    /// Reads the stream of a server that has answered on this connection.
    fn stream(
        &mut self,
        connection: Connection,
        source: &Source,
        until: Option<&LogPosition>,
    ) -> Result<StreamEnd, Error> {
        let from = self.state.archive.end.clone();
        let start = Start::Position(from.clone());
        let settings = self.settings();
        let mut replica = Replica::start(connection, &start, &settings)?;
        (self.note)(&Note::Connected(&from));
        let mut open = OpenPart::at(&from.file, from.offset);
        let (mut is_first, mut goes_on, mut looked) = (true, false, Instant::now());
        let ended = loop {
            let event = match replica.next_event() {
                Ok(Some(event)) => event,
                Ok(None) => break Ok(StreamEnd::Closed),
                Err(error) => break Err(error.into()),
            };
            let (header, kind, gtids) = (event.header, Kind::classify(&event), gtids::before_log(&event.body));
            // A proxy may send queries and the request for the log to different servers.
            if std::mem::take(&mut is_first) && header.server_id != source.server_id {
                return Err(source.is_other(format!("the one with server_id {}", header.server_id)));
            }
            let is_repeated = header.is_repeated_head();
            let is_other_log =
                is_repeated && kind == Kind::Description && self.is_other_log(&open.part, header.timestamp)
                    || gtids.is_some_and(|gtids| !self.accept_gtids(gtids, kind, &open.part));
            if is_other_log {
                self.lose(source, "the server has begun its logs again")?;
                return Ok(StreamEnd::Lost);
            }
            if is_repeated {
                continue;
            }
            if !goes_on && matches!(kind, Kind::Event | Kind::Rotate) {
                // The log continues the archive, so the server sends what else is in the spool again.
                self.spool.keep_only(&self.state.archive.spool)?;
                goes_on = true;
            }
            if kind == Kind::Description {
                self.state.archive.log_began = header.timestamp;
            }
            open.add(kind, &header, &replica);
            let file = &replica.progress().position.file;
            if *file != open.part.file {
                self.flush(&mut open.part, true, &replica, source)?;
                self.begin_log(file)?;
                open.part = PendingSegment::at(file, FIRST_EVENT);
            }
            self.drain()?;
            if self.flush_due(&mut open, &replica, source, until)? {
                return Ok(StreamEnd::Reached);
            }
            if looked.elapsed() >= LOOK_EVERY {
                looked = Instant::now();
                match self.is_still_there(source, &replica.progress().position) {
                    Ok(true) => {}
                    Ok(false) => break Ok(StreamEnd::Lost),
                    Err(error) => break Err(error),
                }
            }
        };
        // What has arrived may be lost on the server.
        open.part.cut_to_whole();
        self.flush(&mut open.part, true, &replica, source)?;
        ended
    }

    /// Whether the server still has this position, as far as is known. One that has begun its logs again does not always
    /// end the stream of the former ones, and sends nothing more. One that was replaced may still answer on its
    /// connection, while its address leads to the new one.
    fn is_still_there(&self, source: &Source, position: &LogPosition) -> Result<bool, Error> {
        match source.connect_again(self.account) {
            Ok((_, now)) => Ok(now.has(position)),
            Err(error @ Error::OtherServer { .. }) => Err(error),
            // If it cannot be asked, the stream shows why.
            Err(_) => Ok(true),
        }
    }

    /// Whether this is not the log that the part continues; the time of a format description shows it.
    fn is_other_log(&self, part: &PendingSegment, log_began: u32) -> bool {
        let known = self.state.archive.log_began;
        part.start > FIRST_EVENT && known != 0 && known != log_began
    }

    /// Records the GTIDs before the log of the part. Returns whether the log continues the archive.
    fn accept_gtids(&mut self, gtids: String, kind: Kind, part: &PendingSegment) -> bool {
        let is_head = kind == Kind::Event && part.start == FIRST_EVENT;
        if is_head && !gtids::continues(&self.state.archive.gtid, &gtids) {
            return false;
        }
        self.state.archive.gtid = gtids;
        true
    }

    /// Continues with the beginning of the next log.
    fn begin_log(&mut self, file: &str) -> Result<(), Error> {
        let archive = &mut self.state.archive;
        archive.end = LogPosition { file: file.to_owned(), offset: FIRST_EVENT };
        archive.log_began = 0;
        // Where the last part of the spool ends, the next log begins.
        if let Some(after) = archive.spool.last_mut().and_then(|part| part.after.as_mut()) {
            after.end = archive.end.clone();
        }
        self.save()
    }

    /// Stores the part if it is large or old enough, or if the archive is to end here. Returns whether it ends.
    fn flush_due(
        &mut self,
        open: &mut OpenPart,
        replica: &Replica,
        source: &Source,
        until: Option<&LogPosition>,
    ) -> Result<bool, Error> {
        let progress = replica.progress();
        let is_whole = open.is_whole(replica);
        let is_old = open.began.elapsed() >= self.config.segment_every;
        let is_due = open.part.bytes.len() >= SEGMENT_BYTES || is_whole && is_old;
        let is_reached = until.is_some_and(|until| progress.position >= *until);
        let is_over = progress.is_between_transactions() && (self.is_stopped() || is_reached);
        if is_due || is_over && is_whole {
            self.flush(&mut open.part, is_whole, replica, source)?;
        }
        Ok(is_over)
    }

    /// Stores or spools a part, leaving it empty, and stores a receipt if the last one is old. A part that ends inside
    /// a transaction is read again after an interruption, and no receipt ends with it.
    fn flush(
        &mut self,
        part: &mut PendingSegment,
        is_whole: bool,
        replica: &Replica,
        source: &Source,
    ) -> Result<(), Error> {
        if part.is_empty() {
            return Ok(());
        }
        let (segment, encrypted) = part.encrypt(&self.config.recipients)?;
        let after = is_whole.then(|| Checkpoint {
            end: segment.end(),
            gtid: gtids::after(&self.state.archive.gtid, replica, source.is_mariadb),
        });
        self.keep(&segment, &encrypted, after.clone(), source)?;
        self.archived.segments = self.archived.segments.saturating_add(1);
        self.archived.event_bytes = self.archived.event_bytes.saturating_add(segment.event_bytes);
        self.archived.stored_bytes = self.archived.stored_bytes.saturating_add(segment.object.bytes);
        if let Some(Checkpoint { end, gtid }) = after {
            (self.state.archive.end, self.state.archive.gtid) = (end, gtid);
        }
        self.save()?;
        if self.state.archive.spool.is_empty() {
            (self.note)(&Note::Stored(&segment));
        }
        *part = PendingSegment::at(&part.file, part.end());
        if is_whole && self.mode == Mode::Follow && self.written.elapsed() >= RECEIPT_EVERY {
            self.write_receipt()
        } else {
            Ok(())
        }
    }

    /// Reports how far the archive is behind the server, which keeps unarchived events only as long as it keeps its
    /// logs.
    pub(super) fn note_lag(&self, source: &Source) {
        // If the server cannot be asked, the next attempt reports why.
        if let Ok((_, now)) = source.connect_again(self.account) {
            let end = &self.state.archive.end;
            (self.note)(&Note::Behind(now.bytes_after(end), now.oldest_closed().filter(|oldest| *oldest == end.file)));
        }
    }

    /// Records that logs are missing. Events that were read before them get their own receipt first.
    fn lose(&mut self, source: &Source, reason: &str) -> Result<(), Error> {
        self.drop_partial_transactions()?;
        self.finish()?;
        self.set_aside()?;
        let noticed = Some(Timestamp::now());
        let gap = Gap { from: self.state.archive.end.clone(), reason: reason.to_owned(), noticed };
        self.begin_after(gap, source);
        self.save()
    }
}

/// Whether the server answers that it does not have the requested logs.
const fn is_unavailable(error: &Error) -> bool {
    matches!(error, Error::Binlog(::binlog::Error::Unavailable { .. }))
}

/// Events that are not stored yet.
struct OpenPart {
    part: PendingSegment,
    /// When its first event arrived.
    began: Instant,
    /// Kind of its last event.
    last: Kind,
}

impl OpenPart {
    fn at(file: &str, offset: u64) -> Self {
        Self { part: PendingSegment::at(file, offset), began: Instant::now(), last: Kind::Artificial }
    }

    fn add(&mut self, kind: Kind, header: &EventHeader, replica: &Replica) {
        if kind == Kind::Artificial {
            return;
        }
        if self.part.is_empty() {
            self.began = Instant::now();
        }
        // A rotate event names a position in the next log.
        let end = if header.end_position == 0 || kind == Kind::Rotate {
            self.part.end().saturating_add(u64::from(header.event_bytes))
        } else {
            replica.progress().position.offset
        };
        self.part.add(replica.event_bytes(), header.timestamp, end);
        self.last = kind;
        if self.is_whole(replica) {
            self.part.mark_whole();
        }
    }

    /// Whether a part may end here.
    fn is_whole(&self, replica: &Replica) -> bool {
        // MariaDB leaves out the event after the format description of an encrypted log.
        replica.progress().is_between_transactions() && self.last != Kind::Description
    }
}

/// Kinds of events that the archiver treats differently.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Not in the log: the server made it for this replica. It is dropped.
    Artificial,
    /// The format description of the log.
    Description,
    /// The event that ends the log.
    Rotate,
    /// Another event of the log.
    Event,
}

impl Kind {
    fn classify(event: &Event<'_>) -> Self {
        match event.body {
            Body::FormatDescription(_) => Self::Description,
            _ if event.header.is_artificial() => Self::Artificial,
            Body::Heartbeat(_) => Self::Artificial,
            Body::Rotate(_) => Self::Rotate,
            _ => Self::Event,
        }
    }
}
