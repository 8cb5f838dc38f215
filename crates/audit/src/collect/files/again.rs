//! Files that are read again: parts of the system tablespace, and tablespaces that are just being created.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use innodb::server_file;
use innodb::tablespace::{Continuation, Depth, ScanOptions};

use super::super::view::View;
use super::{Found, Walk, named};
use crate::facts::files::{Content, FileFact};

/// `ibdata2` and later files have no page 0: they are read again as parts of the system tablespace, in numeric order.
pub(super) fn continue_system_tablespace(view: &View, files: &mut [FileFact], deep: bool) {
    let mut parts: BTreeMap<(PathBuf, u32), usize> = BTreeMap::new();
    for (index, file) in files.iter().enumerate() {
        let number = server_file::system_number(file.base_name());
        if let (Some(number), Some(dir)) = (number, Path::new(&file.path).parent()) {
            parts.insert((dir.to_owned(), number), index);
        }
    }
    let mut first: Option<(PathBuf, innodb::tablespace::Page0, u64)> = None;
    for ((dir, _), index) in parts {
        let Some(file) = files.get_mut(index) else { continue };
        if let Content::Tablespace { scan } = &file.content {
            first = Some((dir, scan.page0.clone(), scan.counts.total));
            continue;
        }
        let Some((_, page0, pages)) = first.as_mut().filter(|(of, _, _)| *of == dir) else { continue };
        let Ok(first_page) = u32::try_from(*pages) else { continue };
        let continues = Some(Continuation { page0: page0.clone(), first_page: innodb::PageNo(first_page) });
        let depth = if deep { Depth::All } else { Depth::Sample(65_536) };
        let opened = view.open_file(Path::new(&file.path)).map(File::from);
        let options = ScanOptions { continues, ..ScanOptions::default() };
        if let Some(scan) = opened.ok().and_then(|f| innodb::tablespace::scan(&f, depth, &options).ok()) {
            *pages = pages.saturating_add(scan.counts.total);
            file.content = Content::Tablespace { scan: Box::new(scan) };
        }
    }
}

/// Reads unidentified tablespaces again, until `settle_time` is used up: the first page of a new one is written shortly
/// after its file is created.
pub(in crate::collect) fn settle(walk: &Walk<'_>, found: &mut Found, now: i64, settle_time: Duration) {
    const STEP: Duration = Duration::from_millis(250);
    const NEW_SECONDS: i64 = 60;
    let fresh = |file: &FileFact| {
        let unidentified = matches!(file.content, Content::UnidentifiedTablespace { .. });
        unidentified && file.size_bytes > 0 && now.saturating_sub(file.modified) < NEW_SECONDS
    };
    let mut left = settle_time;
    while found.files.iter().any(fresh) && !left.is_zero() {
        std::thread::sleep(STEP);
        left = left.saturating_sub(STEP);
        for file in found.files.iter_mut().filter(|file| fresh(file)) {
            let again = named(walk, &[(PathBuf::from(&file.path), file.name.clone())]);
            let identified = |again: &FileFact| !matches!(again.content, Content::UnidentifiedTablespace { .. });
            if let Some(again) = again.into_iter().find(identified) {
                *file = FileFact { role: file.role, ..again };
            }
        }
    }
    // A table that was dropped in the meantime does not count.
    let gone = |file: &FileFact| {
        let found = walk.view.stat(Path::new(&file.path));
        fresh(file) && found.is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
    };
    found.files.retain(|file| !gone(file));
}
