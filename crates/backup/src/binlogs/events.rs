//! Reads the events of an archive in order.

use std::{collections::BTreeSet, ops::ControlFlow};

use agefile::Identity;
use archive::{Error as ArchiveError, binlog::Segment};
use binlog::{EventHeader, EventType};
use innodb::binlog::{FIRST_EVENT, LogPosition};
use jiff::Timestamp;

use super::{chain::Archive, segment};
use crate::{Error, Repository};

/// An event, as its log contains it.
pub(super) struct LogEvent<'e> {
    /// Server that wrote it, as in the name of its archive.
    pub(super) server: &'e str,
    /// Name of the log.
    pub(super) file: &'e str,
    /// Offset of the event in the log.
    pub(super) start: u64,
    pub(super) kind: EventType,
    pub(super) bytes: &'e [u8],
}

/// Events to visit.
#[derive(Clone, Copy)]
pub(super) enum Range<'r> {
    /// Events from the log of this position on, with no gap. The time of the backup, in seconds since 1970, selects the
    /// right log of this name: a server whose logs were reset uses their names again.
    From(&'r LogPosition, i64),
    /// All events, with no gap.
    Whole,
    /// Events of parts that may contain transactions from this time span, in seconds since 1970, and the first event of
    /// each of their logs.
    Between(i64, i64),
}

impl Range<'_> {
    /// Whether all events of a part are visited. Otherwise at most the first event is, if the part begins its log.
    fn has(&self, segment: &Segment) -> bool {
        /// In seconds. Events have the time of their statement; the transaction may be committed later.
        const MARGIN: i64 = 3600;
        match self {
            Self::From(..) | Self::Whole => true,
            Self::Between(first, last) => {
                i64::from(segment.last) >= first.saturating_sub(MARGIN)
                    && i64::from(segment.first) <= last.saturating_add(MARGIN)
            }
        }
    }
}

/// Visits events in order until `visit` breaks; returns whether it did.
pub(super) fn each_event(
    repository: &Repository,
    archive: &Archive,
    identities: &[Identity],
    range: Range<'_>,
    visit: &mut dyn FnMut(&LogEvent<'_>) -> Result<ControlFlow<()>, Error>,
) -> Result<ControlFlow<()>, Error> {
    let first = match range {
        Range::From(from, time) => begin_of(archive, from, time)
            .ok_or_else(|| Error::unreachable(format!("the beginning of {} is not archived", from.file)))?,
        Range::Whole | Range::Between(..) => 0,
    };
    let may_skip = matches!(range, Range::Between(..));
    let logs: BTreeSet<&str> = archive
        .segments()
        .filter(|(segment, _)| range.has(segment))
        .map(|(segment, _)| segment.file.as_str())
        .collect();
    for (number, (segment, is_gap)) in archive.segments().enumerate().skip(first) {
        if number > first && is_gap && !may_skip {
            let reason = format!("logs are missing before {}:{}", segment.file, segment.start);
            return Err(Error::unreachable(reason));
        }
        let is_head = !range.has(segment);
        if is_head && (segment.start != FIRST_EVENT || !logs.contains(segment.file.as_str())) {
            continue;
        }
        let mut is_ended = false;
        let part = archive.stored(segment);
        part.each_event(repository, identities, &mut |event| {
            let visited = visit(event)?;
            is_ended = visited.is_break();
            Ok(if is_head { ControlFlow::Break(()) } else { visited })
        })?;
        if is_ended {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}

/// A part of a log in the repository.
pub(crate) struct StoredPart<'p> {
    /// Server that wrote the log.
    pub(crate) server: &'p str,
    /// Name of the object.
    pub(crate) object: String,
    /// The part, as its receipt describes it.
    pub(crate) segment: &'p Segment,
}

impl StoredPart<'_> {
    /// Decrypts the part and checks that its events are whole and fill the range that the receipt names.
    ///
    /// # Errors
    /// [`Error::Object`], [`Error::Store`].
    pub(crate) fn check(&self, repository: &Repository, identities: &[Identity]) -> Result<(), Error> {
        self.each_event(repository, identities, &mut |_| Ok(ControlFlow::Continue(())))
    }

    /// Visits its events in order until `visit` breaks.
    fn each_event(
        &self,
        repository: &Repository,
        identities: &[Identity],
        visit: &mut dyn FnMut(&LogEvent<'_>) -> Result<ControlFlow<()>, Error>,
    ) -> Result<(), Error> {
        let Self { server, ref object, segment } = *self;
        let events = segment::read(repository, object, segment, identities)?;
        let (mut rest, mut start) = (events.as_slice(), segment.start);
        while !rest.is_empty() {
            let cut = || self.damaged("an event in it is incomplete".to_owned());
            let header = EventHeader::parse(rest).map_err(|_| cut())?;
            let bytes = usize::try_from(header.event_bytes).unwrap_or(usize::MAX);
            let (event, behind) = rest.split_at_checked(bytes).ok_or_else(cut)?;
            // Parts of MariaDB's encrypted logs from earlier releases begin with one.
            if header.is_repeated_head() {
                rest = behind;
                continue;
            }
            let position = start_of(&header, start, segment.end);
            let of_log = LogEvent { server, file: &segment.file, start: position, kind: header.kind, bytes: event };
            if visit(&of_log)?.is_break() {
                return Ok(());
            }
            (rest, start) = (behind, position.saturating_add(u64::from(header.event_bytes)));
        }
        if start == segment.end {
            return Ok(());
        }
        Err(self.damaged(format!("its events end at {start} instead of {}", segment.end)))
    }

    fn damaged(&self, what: String) -> Error {
        Error::Object { object: self.object.clone(), source: ArchiveError::Receipt(what) }
    }
}

impl Archive {
    /// Whether it has the log of a position, as it was at a time.
    pub(crate) fn has_log(&self, position: &LogPosition, time: Timestamp) -> bool {
        begin_of(self, position, time.as_second()).is_some()
    }
}

/// Number of the part with which the position's log begins.
///
/// After a gap, the server may have other logs with the same names. Of the logs that began by `time`, in seconds since
/// 1970, the newest whose preceding gap is also from before `time` is chosen, or else the oldest.
fn begin_of(archive: &Archive, from: &LogPosition, time: i64) -> Option<usize> {
    let begins = |segment: &Segment| {
        segment.file == from.file && segment.start == FIRST_EVENT && i64::from(segment.first) <= time
    };
    let parts = archive.segments().zip(archive.epochs()).enumerate();
    let found: Vec<_> = parts.filter(|(_, ((segment, _), _))| begins(segment)).collect();
    let was_there = |epoch: &Option<Timestamp>| epoch.is_none_or(|epoch| epoch.as_second() <= time);
    let live = found.iter().rev().find(|(_, (_, epoch))| was_there(epoch));
    live.or_else(|| found.first()).map(|(number, _)| *number)
}

/// Position at which an event begins. A server does not send some events, such as the one that starts MariaDB's
/// encryption, so an event may begin after `expected`, the end of the event before it. `limit`: the end of the part.
fn start_of(header: &EventHeader, expected: u64, limit: u64) -> u64 {
    let low = |position: u64| u32::try_from(position & 0xffff_ffff).unwrap_or(0);
    let named = header.end_position.wrapping_sub(header.event_bytes);
    let missing = named.wrapping_sub(low(expected));
    let is_named = header.end_position != 0 && header.kind != EventType::ROTATE;
    let start = expected.saturating_add(u64::from(missing));
    let fits = start.saturating_add(u64::from(header.event_bytes)) <= limit;
    if is_named && fits { start } else { expected }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_go_on_after_events_that_were_left_out() {
        let header = |end_position, event_bytes| EventHeader {
            timestamp: 0,
            kind: EventType(2),
            server_id: 1,
            event_bytes,
            end_position,
            flags: 0,
        };
        assert_eq!(start_of(&header(200, 100), 100, 900), 100);
        assert_eq!(start_of(&header(240, 100), 100, 900), 140);
        // The statement of a large INSERT was left out.
        assert_eq!(start_of(&header(50_100, 100), 100, 60_000), 50_000);
        // The end position is not stated, or is outside of this part.
        assert_eq!(start_of(&header(0, 100), 100, 900), 100);
        assert_eq!(start_of(&header(50, 40), 100, 900), 100);
        let beyond = (1_u64 << 32) + 100;
        assert_eq!(start_of(&header(200, 100), beyond, beyond + 900), beyond);
    }
}
