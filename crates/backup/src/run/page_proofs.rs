//! Verdicts of a run on the files. Each page is judged from the bytes that are stored.

use std::{
    collections::{BTreeMap, HashMap},
    path::{Display, Path, PathBuf},
    sync::OnceLock,
};

use archive::receipt::{Finding, Pages};
use innodb::Lsn;
use transfer::plan::Plan;
use verify::{FileResult, PageVerifier, Report, Tablespace};

use super::files::Files;
use crate::judge::{self, FileVerdict};

/// Number of damaged pages of a file that a finding names.
const MOST_NAMED: usize = 8;

/// Tablespaces whose pages are being judged, by number of the file.
pub(super) struct Tablespaces<'j> {
    judge: &'j PageVerifier<'j>,
    plan: &'j Plan,
    files: &'j Files,
    spaces: Vec<OnceLock<Option<Tablespace<'j>>>>,
}

/// Verdicts on all files.
pub(super) struct PageProofs {
    pub(super) pages: Pages,
    pub(super) findings: Vec<Finding>,
    /// Files whose pages are all sound, and the lowest LSN among the pages that each one's key decrypted.
    pub(super) sound: BTreeMap<usize, u64>,
}

impl<'j> Tablespaces<'j> {
    pub(super) fn new(judge: &'j PageVerifier<'j>, plan: &'j Plan, files: &'j Files) -> Self {
        Self { judge, plan, files, spaces: plan.entries.iter().map(|_| OnceLock::new()).collect() }
    }

    /// Whether a file belongs to a system tablespace.
    pub(super) fn is_system(&self, number: usize) -> bool {
        self.plan.entries.get(number).is_some_and(|planned| self.judge.is_system(&self.plan.absolute(planned)))
    }

    /// The tablespace of a file, if it is one.
    pub(super) fn space(&self, number: usize) -> Option<&Tablespace<'j>> {
        let (planned, file) = (self.plan.entries.get(number)?, self.files.get(number)?);
        let begin = || {
            let space = self.judge.tablespace(&self.plan.absolute(planned))?;
            // Earlier results count only if the same key decrypted the same pages.
            let before = file.before.filter(|before| before.state.sound && before.state.context != 0);
            if let Some(before) = before {
                space.decrypted_from(Lsn(before.state.decrypted_from));
            }
            Some(space)
        };
        self.spaces.get(number)?.get_or_init(begin).as_ref()
    }

    /// Judges system tablespaces, or all others, as a whole. All of their pages have been judged before.
    pub(super) fn conclude(&self, system: bool) {
        for (number, space) in self.spaces.iter().enumerate() {
            if let Some(Some(space)) = space.get().filter(|_| self.is_system(number) == system) {
                self.judge.conclude(space);
            }
        }
    }

    /// The lowest LSN that each tablespace's key decrypted.
    pub(super) fn lowest_decrypted(&self) -> BTreeMap<usize, u64> {
        let lowest = |(number, space): (usize, &OnceLock<Option<Tablespace<'_>>>)| {
            Some((number, space.get()?.as_ref()?.lowest_decrypted().0))
        };
        self.spaces.iter().enumerate().filter_map(lowest).collect()
    }
}

impl PageProofs {
    /// Counts pages and lists files that are not sound.
    pub(super) fn conclude(report: &Report, plan: &Plan, decrypted_from: &BTreeMap<usize, u64>) -> Self {
        let (mut pages, mut findings, mut sound) = (Pages::default(), Vec::new(), BTreeMap::new());
        let numbers: HashMap<PathBuf, usize> =
            plan.entries.iter().enumerate().map(|(number, planned)| (plan.absolute(planned), number)).collect();
        for file in &report.files {
            pages.seen = pages.seen.saturating_add(file.units.total);
            let id = match judge::classify(file) {
                FileVerdict::Sound => {
                    let number = numbers.get(&file.path);
                    sound.extend(number.map(|number| (*number, decrypted_from.get(number).copied().unwrap_or(0))));
                    continue;
                }
                FileVerdict::OutOfOrder => {
                    findings.push(out_of_order(file, plan));
                    continue;
                }
                FileVerdict::Damaged(bad) => {
                    pages.damaged = pages.damaged.saturating_add(bad);
                    "damaged"
                }
                FileVerdict::Unproven(unproven) => {
                    pages.unproven = pages.unproven.saturating_add(unproven);
                    "unproven"
                }
            };
            let path = shown(&file.path, plan);
            let named = if id == "damaged" && file.is_tablespace() { named_pages(file) } else { String::new() };
            findings.push(Finding { id: id.to_owned(), text: format!("{path}: {}{named}", file.verdict.name()) });
        }
        for unread in &report.errors {
            let path = shown(&unread.path, plan);
            pages.unproven = pages.unproven.saturating_add(1);
            findings.push(Finding { id: "unproven".to_owned(), text: format!("{path}: {}", unread.reason) });
        }
        Self { pages, findings, sound }
    }
}

/// The numbers of the damaged pages of a tablespace, the first ones if there are many: ` (page 5)`.
fn named_pages(file: &FileResult) -> String {
    let mut numbers: Vec<u64> = file.findings.iter().filter_map(|finding| finding.unit).collect();
    numbers.dedup();
    let is_all = numbers.len() <= MOST_NAMED && file.findings_left_out == 0;
    numbers.truncate(MOST_NAMED);
    let text = numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    match (numbers.as_slice(), is_all) {
        ([], _) => String::new(),
        ([_], true) => format!(" (page {text})"),
        (_, true) => format!(" (pages {text})"),
        (_, false) => format!(" (pages {text}, and more: see `sealant verify`)"),
    }
}

/// The finding on a binary log whose order of events may keep a server from starting. The backup has every byte of the
/// server's log.
fn out_of_order(file: &FileResult, plan: &Plan) -> Finding {
    let text = format!(
        "{}: the server wrote a GTID before Previous_gtids, and may not start with this log once it is stopped: FLUSH \
         BINARY LOGS, and make another backup",
        shown(&file.path, plan)
    );
    Finding { id: "event-order".to_owned(), text }
}

/// A path below the backup's directory.
fn shown<'p>(path: &'p Path, plan: &Plan) -> Display<'p> {
    path.strip_prefix(&plan.root).unwrap_or(path).display()
}
