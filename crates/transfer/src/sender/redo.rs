//! Finds the key of a redo log: only files that held a checkpoint contain it, so all files of the log are read.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use innodb::{
    server_file,
    verify::redo::{KEY_INFO_BYTES, RedoKeyInfo, key_info},
};

use crate::{
    plan::{Plan, PlannedEntry},
    source::SourceFile,
};

/// The newest key information of each directory, collected when the first redo log file is sent.
#[derive(Debug, Default)]
pub(super) struct RedoKeys(OnceLock<BTreeMap<PathBuf, RedoKeyInfo>>);

impl RedoKeys {
    /// Key information of the log that a file belongs to; `None` if no file of the log has any.
    pub(super) fn for_log(&self, plan: &Plan, file: usize) -> Option<RedoKeyInfo> {
        let known = self.0.get_or_init(|| read_keys(plan));
        known.get(directory(plan.entries.get(file)?)?).cloned()
    }
}

fn read_keys(plan: &Plan) -> BTreeMap<PathBuf, RedoKeyInfo> {
    let mut newest: BTreeMap<PathBuf, RedoKeyInfo> = BTreeMap::new();
    for (number, planned) in plan.entries.iter().enumerate().filter(|(_, planned)| is_redo(planned)) {
        // An unreadable file is reported when it is sent.
        let head = SourceFile::open(plan, number).and_then(|file| file.head(KEY_INFO_BYTES));
        let Some((directory, info)) = directory(planned).zip(head.ok().and_then(|head| key_info(&head))) else {
            continue;
        };
        if newest.get(directory).is_none_or(|known| known.checkpoint_lsn < info.checkpoint_lsn) {
            newest.insert(directory.to_path_buf(), info);
        }
    }
    newest
}

fn directory(planned: &PlannedEntry) -> Option<&Path> {
    planned.entry.path.as_path().parent()
}

fn is_redo(planned: &PlannedEntry) -> bool {
    planned.file_bytes().is_some() && planned.entry.path.as_path().file_name().is_some_and(server_file::is_redo)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::plan::Selection;

    fn sample() -> Vec<u8> {
        let packed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/redo/mysql97-mixed.zst");
        let mut bytes = Vec::new();
        zstd::stream::copy_decode(fs::File::open(packed).unwrap(), &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn the_file_with_the_newest_checkpoint_names_the_key() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        let log = sample();
        let info = key_info(&log).unwrap();
        let mut bare = log.clone();
        bare[512..2048].fill(0);
        for (name, bytes) in [
            ("a/#ib_redo1", &bare[..]),
            ("a/#ib_redo2", &log),
            ("a/#ib_redo3", &log[..100]),
            ("b/#ib_redo1", &bare),
            ("b/table.ibd", &log),
            ("ib_logfile0", &log),
            ("ib_logfile1", &bare),
        ] {
            fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            fs::write(root.join(name), bytes).unwrap();
        }
        let plan = Plan::scan(root, &Selection::default()).unwrap();
        let keys = RedoKeys::default();
        let of = |name: &str| {
            let file = plan.entries.iter().position(|planned| planned.entry.path.to_string() == name).unwrap();
            keys.for_log(&plan, file)
        };
        for name in ["a/#ib_redo1", "a/#ib_redo2", "a/#ib_redo3", "ib_logfile1"] {
            assert_eq!(of(name).as_ref(), Some(&info), "{name}");
        }
        assert_eq!(of("b/#ib_redo1"), None);
    }
}
