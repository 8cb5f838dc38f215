//! A streamed backup as a source for a sender, and the note that the receiver needs.

use std::os::unix::fs::MetadataExt;
use std::process::ChildStdout;
use std::sync::atomic::Ordering;
use std::time::{SystemTime, UNIX_EPOCH};

use snapshot::DataDir;
use snapshot::backup::{Backup, Program, Settings};
use transfer::Error as TransferError;
use transfer::plan::Selection;
use transfer::progress::Progress;
use transfer::sender::file_stream::xbstream::XbStream;
use transfer::sender::file_stream::{FileAttributes, FileStream, Piece, send_stream_and_commit};
use transfer::sender::{Destination, SendSettings, Session};
use transfer::summary::Summary;

use crate::error::Error;

/// Note from the sender to the receiver, followed by the name of the program.
const UNPREPARED: &str = "unprepared backup by ";

/// A backup to be sent.
#[derive(Debug)]
pub struct Streamed {
    settings: Settings,
    datadir: DataDir,
    /// A stream has no owners and permissions.
    attributes: FileAttributes,
}

impl Streamed {
    /// A backup of the running server of a data directory.
    ///
    /// # Errors
    /// [`Error`], also if no server runs on it.
    pub fn new(datadir: &DataDir, settings: Settings) -> Result<Self, Error> {
        let path = datadir.path();
        let metadata = std::fs::metadata(path);
        let metadata = metadata.map_err(|source| Error::Unreadable { path: path.to_owned(), source })?;
        if datadir.server()?.is_none() {
            return Err(Error::NoServer { path: path.to_owned() });
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let attributes = FileAttributes {
            file_mode: 0o660,
            directory_mode: 0o700,
            uid: metadata.uid(),
            gid: metadata.gid(),
            modified: i64::try_from(now).unwrap_or_default(),
        };
        Ok(Self { settings, datadir: datadir.clone(), attributes })
    }

    /// Sends the backup. The program is started when the receiver has connected; if it fails, nothing is committed.
    ///
    /// # Errors
    /// [`TransferError`]: the first error of any thread, and [`TransferError::SourceInvalid`] if the program fails.
    pub fn send(
        &self,
        destination: &Destination,
        settings: &SendSettings,
        progress: &Progress,
    ) -> Result<Summary, TransferError> {
        let session = Session::open(destination, settings, progress)?;
        let mut flow = match self.begin() {
            Ok(flow) => flow,
            Err(error) => {
                session.abort(&error.to_string());
                return Err(error);
            }
        };
        let sent = send_stream_and_commit(session, &mut flow, self.attributes, &self.note(), progress)?;
        Ok(Summary::from_sent(sent.entries, progress.total_bytes.load(Ordering::Relaxed), &sent, progress))
    }

    fn begin(&self) -> Result<BackupFlow, TransferError> {
        let begun = Backup::begin(self.datadir.path(), &self.settings);
        let (backup, stream) = begun.map_err(|error| TransferError::SourceInvalid { reason: error.to_string() })?;
        Ok(BackupFlow { stream: XbStream::new(stream), backup })
    }

    /// The note for the receiver.
    fn note(&self) -> String {
        format!("{UNPREPARED}{}", self.settings.program)
    }

    /// Refuses options that a stream does not support: it is sent completely, as the program writes it.
    ///
    /// # Errors
    /// [`Error::WholeStream`].
    pub fn check(&self, dry_run: bool, selection: &Selection, has_keys: bool) -> Result<(), Error> {
        let is_whole = selection.include.is_empty() && selection.exclude.is_empty();
        if dry_run || has_keys || !is_whole {
            return Err(Error::WholeStream { program: self.settings.program });
        }
        Ok(())
    }
}

/// The program that must prepare the received backup; `None` if it need not be prepared.
#[must_use]
pub fn unprepared_by(notes: &[String]) -> Option<Program> {
    notes.iter().find_map(|note| note.strip_prefix(UNPREPARED)?.parse().ok())
}

/// The stream, which is complete only if its program reports success.
#[derive(Debug)]
struct BackupFlow {
    stream: XbStream<ChildStdout>,
    backup: Backup,
}

impl FileStream for BackupFlow {
    fn next(&mut self) -> Result<Option<Piece>, TransferError> {
        let finish = |backup: &mut Backup| {
            backup.finish().map_err(|error| TransferError::SourceInvalid { reason: error.to_string() })
        };
        match self.stream.next() {
            Ok(None) => finish(&mut self.backup).map(|()| None),
            // A program that fails may leave an incomplete chunk; its own error says why.
            Err(cut @ TransferError::Stream { ends_early: true, .. }) => finish(&mut self.backup).and(Err(cut)),
            other => other,
        }
    }

    fn stopper(&self) -> Box<dyn Fn() + Send + Sync> {
        let program = self.backup.stopper();
        Box::new(move || program.stop())
    }
}

#[cfg(test)]
mod tests {
    use glob::Pattern;

    use super::*;

    #[test]
    fn the_receiver_learns_which_program_prepares_it() {
        let note = |text: &str| unprepared_by(&["another note".to_owned(), text.to_owned()]);
        assert_eq!(note("unprepared backup by xtrabackup"), Some(Program::XtraBackup));
        assert_eq!((note("unprepared backup by rm"), note("")), (None, None));
    }

    #[test]
    fn a_stream_is_sent_whole() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("ibdata1"), []).unwrap();
        let settings = Settings { program: Program::XtraBackup, path: None, defaults: None, socket: None };
        let attributes = FileAttributes { file_mode: 0o660, directory_mode: 0o700, uid: 0, gid: 0, modified: 0 };
        let datadir = DataDir::at(directory.path()).unwrap();
        let streamed = Streamed { settings, datadir, attributes };
        let (all, only) = (Selection::default(), |pattern: &str| vec![Pattern::new(pattern).unwrap()]);
        let included = Selection { include: only("shop/*"), ..Selection::default() };
        let excluded = Selection { exclude: only("shop/*"), ..Selection::default() };
        assert!(streamed.check(false, &all, false).is_ok());
        for refused in [
            streamed.check(true, &all, false),
            streamed.check(false, &all, true),
            streamed.check(false, &included, false),
            streamed.check(false, &excluded, false),
        ] {
            let error = refused.unwrap_err();
            assert!(error.is_misuse() && error.to_string().starts_with("--provider xtrabackup sends"), "{error}");
        }
    }

    #[test]
    fn only_a_running_server_is_backed_up() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("ibdata1"), []).unwrap();
        let datadir = DataDir::at(directory.path()).unwrap();
        let settings = Settings { program: Program::MariaBackup, path: None, defaults: None, socket: None };
        let error = Streamed::new(&datadir, settings).unwrap_err();
        assert!(error.to_string().ends_with("no server runs on it, so there is nothing to back up"), "{error}");
    }
}
