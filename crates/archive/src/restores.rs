//! Records of restores: `sealant restore --record` appends a line of JSON for each restore.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{Digest, Error};

/// Schema of a record: that of the report of a restore in `docs/schema`.
pub const SCHEMA: &str = "sealant.restore/1";

/// A restore, as recorded by `sealant restore --record`.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct RestoreRecord {
    #[serde(skip_serializing)]
    schema: String,
    /// SHA-256 of the receipt of the backup that was restored.
    #[serde(skip_serializing)]
    pub receipt: Digest,
    /// When the restore ended.
    pub ended: Timestamp,
    /// Duration of the restore without the proof by a server, in seconds.
    pub seconds: f64,
    /// Seconds until a server had recovered the restored files, if one was started.
    #[serde(default)]
    pub rto_s: Option<f64>,
    #[serde(skip_serializing)]
    pages: RestoredPages,
    #[serde(skip_serializing, default)]
    proof: Option<ServerFindings>,
    /// Whether every page was proven and a server found nothing wrong.
    #[serde(skip_deserializing)]
    pub proven: bool,
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct RestoredPages {
    bad: u64,
    unproven: u64,
}

#[derive(Clone, Debug, Deserialize)]
struct ServerFindings {
    bad: Vec<String>,
    bad_pages: u64,
    /// Comparison with the GTIDs of the backup.
    #[serde(default)]
    reached: Option<ReachedPosition>,
    /// Comparison with the end of its binary log, if it has no GTIDs.
    #[serde(default)]
    log: Option<ReachedPosition>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct ReachedPosition {
    is_whole: bool,
}

impl RestoreRecord {
    /// Parses a file of records, one line for each restore. Ignores a last line without a newline.
    ///
    /// # Errors
    /// [`Error::RestoreRecord`] if a line is not a record.
    pub fn parse_all(text: &str) -> Result<Vec<Self>, Error> {
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        whole.lines().filter(|line| !line.trim().is_empty()).map(Self::parse).collect()
    }

    fn parse(line: &str) -> Result<Self, Error> {
        let mut record: Self = serde_json::from_str(line).map_err(|error| Error::RestoreRecord(error.to_string()))?;
        if record.schema != SCHEMA {
            return Err(Error::RestoreRecord(format!("a line is not of schema {SCHEMA}")));
        }
        let is_sound = |found: &ServerFindings| {
            let mut compared = found.reached.into_iter().chain(found.log);
            found.bad.is_empty() && found.bad_pages == 0 && compared.all(|position| position.is_whole)
        };
        let all_pages = record.pages.bad == 0 && record.pages.unproven == 0;
        record.proven = all_pages && record.proof.as_ref().is_some_and(is_sound);
        Ok(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORD: &str = concat!(
        r#"{"schema":"sealant.restore/1","receipt":"0000000000000000000000000000000000000000000000000000000000000000","#,
        r#""ended":"2026-11-24T10:00:00Z","seconds":2.5,"rto_s":4.0,"pages":{"proven":7,"bad":0,"unproven":0},"#,
        r#""proof":{"bad":[],"bad_pages":0,"reached":{"is_whole":true}}}"#
    );

    #[test]
    fn a_restore_is_proven_by_its_pages_and_by_a_server() {
        assert!(RestoreRecord::parse(RECORD).unwrap().proven);
        for (from, to) in [
            (r#""bad":0"#, r#""bad":1"#),
            (r#""unproven":0"#, r#""unproven":1"#),
            (r#""bad":[]"#, r#""bad":["shop.t"]"#),
            (r#""bad_pages":0"#, r#""bad_pages":1"#),
            ("true", "false"),
            (r#""proof""#, r#""other""#),
        ] {
            let changed = RECORD.replacen(from, to, 1);
            assert_ne!(changed, RECORD);
            assert!(!RestoreRecord::parse(&changed).unwrap().proven, "{changed}");
        }
        let by_log = |is_whole: bool| RECORD.replace("reached", "log").replace("true", &is_whole.to_string());
        assert!(RestoreRecord::parse(&by_log(true)).unwrap().proven);
        assert!(!RestoreRecord::parse(&by_log(false)).unwrap().proven);
        assert!(RestoreRecord::parse(&RECORD.replace("restore/1", "restore/2")).is_err());
    }

    #[test]
    fn a_line_that_was_cut_off_is_left_out_and_a_wrong_one_is_an_error() {
        assert_eq!(RestoreRecord::parse_all("").unwrap().len(), 0);
        assert_eq!(RestoreRecord::parse_all(&format!("{RECORD}\n{}", &RECORD[..40])).unwrap().len(), 1);
        let error = RestoreRecord::parse_all("{}\n").unwrap_err().to_string();
        assert!(error.contains("not a record of restores"), "{error}");
    }
}
