//! Writes results to stdout, or atomically to a file: to a temporary file beside it, which is then renamed.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use files::{PendingFile, WriteOptions};

use crate::output::message::Failure;
use crate::output::terminal::Terminal;

/// Writes a result. An error that it returns came from its writer.
type Writer<'a> = dyn Fn(&mut dyn Write) -> io::Result<()> + 'a;

/// Writes to stdout. If the reader has closed the pipe, the run ends silently.
pub(crate) fn to_stdout(write: &Writer<'_>) -> Result<(), Failure> {
    let mut out = BufWriter::new(io::stdout().lock());
    match write(&mut out).and_then(|()| out.flush()) {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => Err(Failure::new(format!("standard output: {e}"))),
        _ => Ok(()),
    }
}

/// Writes a report that contains nothing to paste to stdout. On a terminal, lines that are too wide are wrapped.
pub(crate) fn to_screen(write: &Writer<'_>) -> Result<(), Failure> {
    let text = rendered(write).map_err(|e| Failure::new(format!("standard output: {e}")))?;
    to_stdout(&|out| out.write_all(Terminal::stdout().fit_lines(&text).as_bytes()))
}

/// Like [`to_screen`], for a report in which only statements are to paste; they stay whole.
pub(crate) fn to_screen_with_statements(write: &Writer<'_>) -> Result<(), Failure> {
    let text = rendered(write).map_err(|e| Failure::new(format!("standard output: {e}")))?;
    to_stdout(&|out| out.write_all(Terminal::stdout().fit_all_but_statements(&text).as_bytes()))
}

/// The text that is written.
pub(crate) fn rendered(write: &Writer<'_>) -> io::Result<String> {
    let mut text = Vec::new();
    write(&mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Checks before a long run that a file can be written, by creating and removing a file beside it.
pub(crate) fn check_writable(path: &Path) -> Result<(), Failure> {
    if path.as_os_str() == "-" {
        return Err(Failure::usage("-: not the name of a file").hint("standard output is /dev/stdout"));
    }
    if path.is_dir() || !files::parent(path).is_dir() {
        return Err(Failure::usage(format!("{}: not a file in a directory that exists", path.display())));
    }
    if is_special(path) || is_stdout(path) {
        return Ok(());
    }
    files::check_writable(path, WriteOptions::SECRET).map_err(|e| Failure::new(format!("{}: {e}", path.display())))
}

/// Checks before a long run that a directory exists in which files will be written.
pub(crate) fn check_target_directory(path: &Path) -> Result<(), Failure> {
    if path.is_dir() { Ok(()) } else { Err(Failure::usage(format!("{}: not a directory", path.display()))) }
}

/// Checks before a long run that a directory exists and can be read.
pub(crate) fn check_directory(path: &Path) -> Result<(), Failure> {
    match File::open(path).and_then(|file| file.metadata()) {
        Ok(metadata) if metadata.is_dir() => Ok(()),
        Ok(_) => Err(Failure::new(format!("{}: not a directory", path.display()))),
        Err(error) => Err(Failure::new(format!("{}: {error}", path.display()))),
    }
}

/// Replaces `path` atomically. Only the owner can read the file, because results name weaknesses. Standard output,
/// devices and pipes are not replaced but written to.
pub(crate) fn replace(path: &Path, write: &Writer<'_>) -> Result<(), Failure> {
    replace_with(path, WriteOptions::SECRET, write)
}

/// Like [`replace`], for metrics that name no weakness: another user's program collects them, so everyone can read the
/// file.
pub(crate) fn replace_metrics(path: &Path, write: &Writer<'_>) -> Result<(), Failure> {
    replace_with(path, WriteOptions::PUBLIC, write)
}

fn replace_with(path: &Path, options: WriteOptions, write: &Writer<'_>) -> Result<(), Failure> {
    // A newly opened descriptor would start at the beginning of the file and overwrite earlier output.
    if is_stdout(path) {
        return to_stdout(write);
    }
    let written = if is_special(path) { write_into(path, write) } else { write_beside(path, options, write) };
    written.map_err(|e| Failure::new(format!("{}: {e}", path.display())))
}

/// Whether `path` must not be replaced by a rename: a device, a pipe, or a name of an open file below `/dev` or
/// `/proc`. Such a name may lead to a regular file.
fn is_special(path: &Path) -> bool {
    const NAMES: [&str; 4] = ["/dev/stdout", "/dev/stderr", "/dev/fd", "/proc"];
    NAMES.iter().any(|name| path.starts_with(name)) || path.exists() && !path.is_file()
}

/// Whether `path`, under any name, leads to the file that is standard output.
fn is_stdout(path: &Path) -> bool {
    let stdout = io::stdout().as_fd().try_clone_to_owned().and_then(|stdout| File::from(stdout).metadata());
    let (Ok(stdout), Ok(found)) = (stdout, path.metadata()) else { return false };
    (stdout.dev(), stdout.ino()) == (found.dev(), found.ino())
}

fn write_into(path: &Path, write: &Writer<'_>) -> io::Result<()> {
    // Appends, so that a regular file behind /dev/stderr keeps its content.
    let mut out = BufWriter::new(OpenOptions::new().append(true).open(path)?);
    write(&mut out)?;
    out.flush()
}

fn write_beside(path: &Path, options: WriteOptions, write: &Writer<'_>) -> io::Result<()> {
    let (pending, ()) = PendingFile::write_with(path, options.replacing(true), |file| {
        let mut out = BufWriter::new(file);
        write(&mut out)?;
        out.flush()
    })?;
    pending.commit()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_leaves_the_old_file_and_no_other() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("report.html");
        std::fs::write(&path, "old").unwrap();
        let failed = replace(&path, &|out| {
            out.write_all(b"half")?;
            Err(io::Error::other("no space left"))
        });
        assert!(failed.unwrap_err().error.contains("no space left"));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_hyphen_is_no_file_to_write() {
        let refused = check_writable("-".as_ref()).unwrap_err();
        assert!(refused.hint.is_some_and(|hint| hint.contains("/dev/stdout")), "{}", refused.error);
    }

    #[test]
    fn names_of_open_files_are_never_renamed_over() {
        for name in ["/dev/stdout", "/dev/stderr", "/dev/fd/1", "/proc/self/fd/1", "/dev/null"] {
            assert!(is_special(name.as_ref()), "{name}");
        }
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("report.html");
        assert!(!is_special(&path) && !is_stdout(&path), "a new file");
        std::fs::write(&path, "old").unwrap();
        assert!(!is_special(&path) && !is_stdout(&path), "an old file");
    }

    #[test]
    fn a_check_leaves_no_file() {
        let dir = tempfile::tempdir().unwrap();
        check_writable(&dir.path().join("report.html")).unwrap();
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        assert!(check_writable(&dir.path().join("none/report.html")).is_err());
    }

    #[test]
    fn only_the_owner_reads_a_result() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("facts.json");
        replace(&path, &|out| out.write_all(b"{}")).unwrap();
        let mode = |path: &Path| path.metadata().unwrap().mode() & 0o777;
        assert_eq!(mode(&path), 0o600);
        let metrics = path.with_extension("prom");
        replace_metrics(&metrics, &|out| out.write_all(b"")).unwrap();
        assert_eq!(mode(&metrics) & 0o044, 0o044);
        std::fs::remove_file(metrics).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
