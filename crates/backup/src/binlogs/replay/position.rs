//! The position of a restored directory whose backup has none.

use std::path::Path;

use binlog::{Body, EventHeader, Fault, HEADER_BYTES, Limits, LogFile, replica};
use files::ReadAt;
use innodb::binlog::{FIRST_EVENT, LogPosition};
use verify::Keys;

use crate::{Error, binlogs::transaction::is_of_log, prove::binary_log};

/// The position of a restored directory whose backup has none: the end of its newest binary log.
///
/// # Errors
/// [`Error::Unreachable`] if it has no binary log, or if that is damaged.
pub(crate) fn position_of(datadir: &Path, keys: &Keys) -> Result<LogPosition, Error> {
    let found = binary_log::find(datadir)?
        .ok_or_else(|| Error::unreachable("the backup knows no position, and has no binary log in its directory"))?;
    let path = datadir.join(&found.newest);
    let reader = files::Reader::open(&path).map_err(Error::io(&path, "cannot be read"))?;
    let end = end_of(&found.newest, &reader, keys)?;
    Ok(LogPosition { file: found.newest, offset: end })
}

/// Position after the last complete transaction of a log. The server's recovery removes a transaction that is cut off.
fn end_of(name: &str, reader: &impl ReadAt, keys: &Keys) -> Result<u64, Error> {
    let mut log = LogFile::open(reader, keys, Limits::default())?;
    let start = replica::Start::Position(LogPosition { file: name.to_owned(), offset: FIRST_EVENT });
    let mut progress = replica::Progress::new(&start);
    let mut end = FIRST_EVENT;
    loop {
        let noted = match log.next_event() {
            Ok(Some((_, event))) => {
                progress.note(&event);
                Ok(is_of_log(&event.body) && !matches!(event.body, Body::Rotate(_)))
            }
            Ok(None) => return Ok(end),
            Err(error) => Err(error),
        };
        match noted {
            Ok(is_log_event) if is_log_event || progress.boundary == progress.position => end = log.position(),
            Ok(_) => {}
            Err(binlog::Error::Event { position, fault: Fault::Short { .. } })
                if position == log.position() && is_cut(reader, position) =>
            {
                return Ok(end);
            }
            Err(error) => {
                let reason = format!("the backup knows no position, and {name} in its directory is damaged: {error}");
                return Err(Error::unreachable(reason));
            }
        }
    }
}

/// Whether the event at a position was cut off by the end of the log or never written; `false` if its header gives a
/// length shorter than a header. Headers of encrypted logs are not examined.
fn is_cut(reader: &impl ReadAt, position: u64) -> bool {
    let (mut magic, mut header) = ([0; 4], [0; HEADER_BYTES]);
    let read = |offset, room: &mut [u8]| files::read_up_to(reader, offset, room).unwrap_or(0);
    if read(0, &mut magic) < magic.len() || magic != *innodb::binlog::MAGIC_CLEAR {
        return true;
    }
    if read(position, &mut header) < HEADER_BYTES || files::all_zero(&header) {
        return true;
    }
    EventHeader::parse(&header).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &[u8] = include_bytes!("../../../../../testdata/binlog/mysql97-clear");

    fn end(bytes: &[u8]) -> Result<u64, Error> {
        end_of("binlog.000001", &bytes, &Keys::default())
    }

    #[test]
    fn only_a_cut_log_ends_before_its_end() {
        let whole = end(LOG).unwrap();
        assert!(whole > FIRST_EVENT && whole <= LOG.len() as u64, "{whole}");
        assert!(end(&LOG[..LOG.len() - 3]).unwrap() < LOG.len() as u64);
        assert_eq!(end(&[LOG, &[0; 40]].concat()).unwrap(), whole);
        let mut damaged = LOG.to_vec();
        damaged[LOG.len() / 2] ^= 1;
        let error = end(&damaged).unwrap_err();
        assert!(error.to_string().contains("binlog.000001 in its directory is damaged"), "{error}");
        let mut wrong = [LOG, &[0; 40]].concat();
        wrong[LOG.len() + 9] = 5;
        assert!(end(&wrong).is_err());
    }
}
