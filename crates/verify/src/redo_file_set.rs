//! Redo logs of several files that are written in turn: `ib_logfile0`, `ib_logfile1` and so on, of MySQL before 8.0.30
//! and MariaDB before 10.5.
//!
//! All files have the same length, and the checkpoint is in the header of the first. A server starts with no other set.
//! Source: `srv0start.cc` and `log0log.cc` of MySQL 5.7; seen on 5.7.22 and Percona Server 8.0.27.

use innodb::verify::FileReport;

/// The files of one log.
#[derive(Debug, Default)]
pub(crate) struct RedoFileSet {
    files: Vec<RingFile>,
}

#[derive(Debug)]
struct RingFile {
    number: u32,
    bytes: u64,
    checkpoint: bool,
}

impl RedoFileSet {
    pub(crate) fn add(&mut self, number: u32, bytes: u64, checkpoint: bool) {
        self.files.push(RingFile { number, bytes, checkpoint });
    }

    pub(crate) fn is_one_file(&self) -> bool {
        self.files.len() == 1
    }

    /// Required length of every file of the log: the largest length that is valid for a log, or the largest of all.
    ///
    /// Source: `innodb_log_file_size` is rounded down to whole MiB when it is set; seen on 5.7.22 and 8.0.27.
    fn length(&self) -> u64 {
        const UNIT_BYTES: u64 = 1 << 20;
        let longest = |whole: bool| {
            let lengths = self.files.iter().map(|file| file.bytes);
            lengths.filter(|bytes| *bytes > 0 && (!whole || bytes.is_multiple_of(UNIT_BYTES))).max()
        };
        longest(true).or_else(|| longest(false)).unwrap_or(0)
    }

    /// Adds the findings about a file that only a comparison with the other files of the log shows.
    pub(crate) fn check(&self, number: u32, bytes: u64, report: &mut FileReport) {
        let length = self.length();
        if bytes < length {
            let detail = format!("{bytes} bytes, another file of the log has {length}, and all are equally long");
            report.shorten(bytes, detail);
        }
        if bytes > length {
            report
                .misplace(format!("{bytes} bytes, the other files of the log have {length}, and all are equally long"));
        }
        let first_has_none = self.files.iter().any(|file| file.number == 0 && !file.checkpoint);
        let another = self.files.iter().find(|file| file.number != 0 && file.checkpoint).filter(|_| first_has_none);
        match another {
            Some(another) if number == 0 => {
                report
                    .misplace(format!("holds no checkpoint, and ib_logfile{} does: they were swapped", another.number));
            }
            Some(another) if number == another.number => {
                report.misplace("holds the checkpoint, which is in ib_logfile0 alone: they were swapped");
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use innodb::verify::Verdict;

    use super::*;

    fn verdict(files: &[(u32, u64, bool)], number: u32, bytes: u64) -> Verdict {
        let mut redo_file_set = RedoFileSet::default();
        for (number, bytes, checkpoint) in files {
            redo_file_set.add(*number, *bytes, *checkpoint);
        }
        let mut report = FileReport::without_units();
        redo_file_set.check(number, bytes, &mut report);
        report.verdict
    }

    #[test]
    fn the_shorter_file_is_truncated() {
        let files = [(0, 4096, true), (1, 8192, false)];
        assert_eq!((verdict(&files, 0, 4096), verdict(&files, 1, 8192)), (Verdict::Truncated, Verdict::Clear));
    }

    #[test]
    fn extra_bytes_in_one_file_do_not_make_the_other_truncated() {
        const MIB: u64 = 1 << 20;
        let files = [(0, 4 * MIB + 16384, true), (1, 4 * MIB, false)];
        assert_eq!(verdict(&files, 0, 4 * MIB + 16384), Verdict::Damaged);
        assert_eq!(verdict(&files, 1, 4 * MIB), Verdict::Clear);
    }

    #[test]
    fn the_checkpoint_must_be_in_the_first_file() {
        let sound = [(0, 8192, true), (1, 8192, false)];
        assert_eq!((verdict(&sound, 0, 8192), verdict(&sound, 1, 8192)), (Verdict::Clear, Verdict::Clear));
        let exchanged = [(0, 8192, false), (1, 8192, true), (2, 8192, false)];
        let verdicts = [0, 1, 2].map(|number| verdict(&exchanged, number, 8192));
        assert_eq!(verdicts, [Verdict::Damaged, Verdict::Damaged, Verdict::Clear]);
        // The first file has lost both checkpoints, but no other file has one: nothing was exchanged.
        let lost = [(0, 8192, false), (1, 8192, false)];
        assert_eq!(verdict(&lost, 0, 8192), Verdict::Clear);
    }
}
