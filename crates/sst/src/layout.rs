//! Where a server keeps its files, which of them go, and where they belong on the other side.
//!
//! They travel as if all of them were in the data directory; each side has its own places for InnoDB's
//! system tablespace, redo log and undo tablespaces and for Aria's log.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fs, io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use glob::Pattern;
use transfer::plan::{Plan, Selection};

use crate::{arguments::Arguments, error::SstError, options::Options};

/// Where a joiner stages what comes, in its data directory.
pub(crate) const STAGING: &str = ".sealant_in";

/// Files of a kind, and the directory they are in.
#[derive(Debug)]
struct Place {
    directory: PathBuf,
    names: Vec<Pattern>,
}

/// The directories of a server.
#[derive(Debug)]
pub struct Layout {
    datadir: PathBuf,
    places: Vec<Place>,
    binlog: Option<PathBuf>,
    binlog_index: Option<PathBuf>,
    /// Directories of the server that may be in the data directory and hold nothing that goes.
    spared: Vec<PathBuf>,
}

/// Files in the data directory itself that belong to the data and not to the node. What else is there
/// stays where it is, on both sides: the cluster's state and cache, logs, certificates, sockets.
const DATA: [&str; 4] = ["*.ibd", "undo_*", "*.ibu", "#ib_*.dblwr"];
/// Files of a joiner's old data that must not meet the new, and are not sent.
const OLD: [&str; 6] =
    ["ib_buffer_pool", "ib_lru_dump", "tc.log", "ddl_recovery.log", "ddl_recovery-backup.log", "ibtmp*"];
/// What a server that was cut off needs besides, to finish or undo a statement that it was in.
const RECOVERY: [&str; 2] = ["ddl_recovery.log", "tc.log"];
/// What is in directories of databases or beside them, and does not go.
const LEFT_OUT: [&str; 11] = [
    ".*",
    "lost+found",
    "#innodb_temp",
    "*/#sql-temptable-*",
    "*/galera.cache",
    "*/gcache.page.*",
    "*/*.err",
    "*/*.pid",
    "*/*.sock",
    "*/sealant-manifest*",
    "*/.sealant-staging",
];

impl Layout {
    /// Of a server that was started so.
    ///
    /// # Errors
    /// [`SstError::Outside`] if the system tablespace has files that cannot be found by their names.
    pub fn of(arguments: &Arguments, options: &Options) -> Result<Self, SstError> {
        let datadir = &arguments.datadir;
        let datadir = fs::canonicalize(datadir).map_err(SstError::file(datadir, "cannot be opened"))?;
        let directory = |name: &str| {
            let path = options.directory(name, &datadir);
            // One that is not there yet is made when something comes to it.
            fs::canonicalize(&path).unwrap_or(path)
        };
        let patterns = |names: &[&str]| names.iter().filter_map(|name| Pattern::new(name).ok()).collect::<Vec<_>>();
        let mut system = patterns(&["ibdata[0-9]*"]);
        for file in options.server("innodb-data-file-path").unwrap_or_default().split(';') {
            let name = file.split(':').next().unwrap_or_default().trim();
            if name.contains('/') {
                let reason =
                    "a file of the system tablespace with a directory in innodb_data_file_path is not supported";
                return Err(SstError::Outside { path: name.into(), reason });
            }
            system.extend((!name.is_empty()).then(|| Pattern::new(&Pattern::escape(name)).ok()).flatten());
        }
        let place = |name: &str, names: Vec<Pattern>| Place { directory: directory(name), names };
        let places = vec![
            place("innodb-data-home-dir", system),
            place("innodb-log-group-home-dir", patterns(&["ib_logfile[0-9]*"])),
            place("innodb-undo-directory", patterns(&["undo[0-9]*"])),
            place("aria-log-dir-path", patterns(&["aria_log_control", "aria_log.[0-9]*"])),
        ];
        let binlog = arguments.binlog.as_ref().map(|binlog| datadir.join(binlog));
        let index = arguments.binlog_index.clone().or_else(|| {
            let mut index = arguments.binlog.clone()?.into_os_string();
            index.push(".index");
            Some(index.into())
        });
        let binlog_index = index.filter(|_| binlog.is_some()).map(|index| datadir.join(index));
        let spared = ["tmpdir", "innodb-tmpdir", "slave-load-tmpdir"].map(directory);
        let spared = spared.into_iter().chain(binlog.iter().filter_map(|path| Some(path.parent()?.to_path_buf())));
        let spared = spared.filter(|path| *path != datadir).collect();
        Ok(Self { datadir, places, binlog, binlog_index, spared })
    }

    /// The data directory.
    #[must_use]
    pub fn datadir(&self) -> &Path {
        &self.datadir
    }

    /// Looks at everything that goes from the server's own files.
    ///
    /// # Errors
    /// [`SstError::Transfer`] names what cannot be read, [`SstError::Outside`] data that lies elsewhere.
    pub fn plan(&self) -> Result<Plan, SstError> {
        self.plan_at(&self.datadir, &[])
    }

    /// Looks at everything that goes from a copy of the data directory, of one instant; with the name of its
    /// newest binary log, if there is one.
    ///
    /// # Errors
    /// As [`plan`](Self::plan).
    pub fn plan_of_copy(&self, copy: &Path) -> Result<(Plan, Option<String>), SstError> {
        let mut plan = self.plan_at(copy, &RECOVERY)?;
        let Some(log) = self.last_binlog(copy)? else { return Ok((plan, None)) };
        let name = log.file_name().and_then(OsStr::to_str).unwrap_or_default().to_owned();
        let names = Pattern::new(&Pattern::escape(&name)).map(|name| vec![name]).unwrap_or_default();
        plan.add(log.parent().unwrap_or(copy), &names)?;
        Ok((plan, Some(name)))
    }

    /// The log that decides whether transactions that were prepared were committed: the last binary log,
    /// or that of the transaction coordinator.
    #[must_use]
    pub const fn has_binlog(&self) -> bool {
        self.binlog.is_some()
    }

    /// The newest binary log in a copy of the data directory.
    fn last_binlog(&self, copy: &Path) -> Result<Option<PathBuf>, SstError> {
        let Some(index) = &self.binlog_index else { return Ok(None) };
        let in_copy = |path: &Path| path.strip_prefix(&self.datadir).map(|below| copy.join(below)).ok();
        let index = in_copy(index).unwrap_or_else(|| index.clone());
        let text = fs::read_to_string(&index).map_err(SstError::file(&index, "cannot be read"))?;
        let last = text.lines().rfind(|line| !line.is_empty());
        Ok(last.and_then(|line| in_copy(&self.datadir.join(line.trim_start_matches("./")))))
    }

    /// Whether all of it is in the data directory, so that a copy of that is a copy of all.
    #[must_use]
    pub fn is_in_one_place(&self) -> bool {
        let binlog = self.binlog.as_ref().is_none_or(|binlog| binlog.starts_with(&self.datadir));
        binlog && self.places.iter().all(|place| place.directory.starts_with(&self.datadir))
    }

    fn plan_at(&self, root: &Path, more: &[&str]) -> Result<Plan, SstError> {
        let pattern = |text: &str| Pattern::new(text).ok();
        let mut include: Vec<Pattern> = DATA.iter().chain(more).copied().chain(["*/*"]).filter_map(pattern).collect();
        let mut exclude: Vec<Pattern> = LEFT_OUT.iter().copied().filter_map(pattern).collect();
        let mut others = Vec::new();
        for place in &self.places {
            match place.directory.strip_prefix(&self.datadir) {
                Ok(below) if below.as_os_str().is_empty() => include.extend(place.names.iter().cloned()),
                Ok(below) => {
                    exclude.extend(place.names.iter().filter_map(|name| below_of(below, name.as_str())));
                    others.push((root.join(below), &place.names));
                }
                Err(_) => others.push((place.directory.clone(), &place.names)),
            }
        }
        // The temporary tablespace is with the system tablespace; a table of such a name is in a directory of its own.
        let home = self.places.first().and_then(|home| home.directory.strip_prefix(&self.datadir).ok());
        exclude.extend(home.filter(|home| !home.as_os_str().is_empty()).and_then(|home| below_of(home, "ibtmp[0-9]*")));
        for spared in self.spared.iter().filter_map(|path| path.strip_prefix(&self.datadir).ok()) {
            exclude.extend(below_of(spared, "*"));
            // Statements that only read change it, too.
            exclude.extend(spared.to_str().and_then(|spared| Pattern::new(&Pattern::escape(spared)).ok()));
        }
        let mut plan = Plan::of(root, &Selection { include, exclude })?;
        for (directory, names) in others {
            plan.add(&directory, names)?;
        }
        check(root, &plan)?;
        Ok(plan)
    }

    /// Places that are not the data directory itself.
    fn elsewhere(&self) -> impl Iterator<Item = &Place> {
        self.places.iter().filter(|place| place.directory != self.datadir)
    }

    /// Where a joiner stages what comes.
    pub(crate) fn staging(&self) -> PathBuf {
        self.datadir.join(STAGING)
    }

    /// Puts what was staged in the place of what was there. `binlog` is the name of the donor's newest binary
    /// log, if that came along.
    pub(crate) fn replace(&self, binlog: Option<&str>) -> Result<(), SstError> {
        for place in &self.places {
            fs::create_dir_all(&place.directory).map_err(SstError::file(&place.directory, "cannot be made"))?;
        }
        self.remove_old()?;
        let staging = self.staging();
        let failed = |source| SstError::File { path: staging.clone(), doing: "cannot be listed", source };
        let mut touched = BTreeSet::from([self.datadir.as_path()]);
        for item in fs::read_dir(&staging).map_err(failed)? {
            let name = item.map_err(failed)?.file_name();
            if name == transfer::plan::MANIFEST {
                continue;
            }
            let from = staging.join(&name);
            let to = match (binlog, &self.binlog) {
                // A database may have any name.
                _ if is_directory(&from) => &self.datadir,
                (Some(log), Some(own)) if name == log => own.parent().unwrap_or(&self.datadir),
                _ => self.home_of(&name),
            };
            touched.insert(to);
            put(&from, &to.join(&name)).map_err(SstError::file(&from, "cannot be moved into place"))?;
        }
        if let Some(name) = binlog {
            self.write_index(name)?;
        }
        remove_tree(&staging)?;
        for directory in touched {
            let synced = fs::File::open(directory).and_then(|directory| directory.sync_all());
            synced.map_err(SstError::file(directory, "cannot be written to disk"))?;
        }
        Ok(())
    }

    /// The joiner's list of binary logs is the one that came.
    fn write_index(&self, name: &str) -> Result<(), SstError> {
        let (Some(own), Some(index)) = (&self.binlog, &self.binlog_index) else { return Ok(()) };
        let log = own.with_file_name(name);
        // As servers write it: below the data directory relative to that.
        let line = match log.strip_prefix(&self.datadir) {
            Ok(below) => format!("./{}\n", below.display()),
            Err(_) => format!("{}\n", log.display()),
        };
        let written = fs::write(index, line).and_then(|()| {
            fs::set_permissions(index, PermissionsExt::from_mode(0o660))?;
            fs::File::open(index)?.sync_all()
        });
        written.map_err(SstError::file(index, "cannot be written"))
    }

    /// The directory that a file belongs to.
    fn home_of(&self, name: &OsStr) -> &Path {
        let place = self.places.iter().find(|place| matches(&place.names, name));
        place.map_or(&self.datadir, |place| &place.directory)
    }

    /// Removes the data that was there, and nothing of the node itself.
    fn remove_old(&self) -> Result<(), SstError> {
        let data = DATA.iter().chain(&OLD).filter_map(|name| Pattern::new(name).ok());
        let data: Vec<Pattern> = data.chain(self.places.iter().flat_map(|place| place.names.clone())).collect();
        for path in list(&self.datadir)? {
            let name = path.file_name().unwrap_or_default();
            let kind = fs::symlink_metadata(&path).map_err(SstError::file(&path, "cannot be looked at"))?;
            let hidden = name.as_encoded_bytes().starts_with(b".") || name == "lost+found";
            let directory = kind.is_dir() && !hidden && !self.is_spared(&path);
            if directory || kind.is_symlink() && !hidden && path.is_dir() || !kind.is_dir() && matches(&data, name) {
                remove_tree(&path)?;
            }
        }
        for place in self.elsewhere() {
            remove_matching(&place.directory, &place.names)?;
        }
        self.remove_binlogs()
    }

    fn is_spared(&self, path: &Path) -> bool {
        let places = self.places.iter().map(|place| &place.directory);
        places.chain(&self.spared).any(|spared| spared.starts_with(path))
    }

    /// What the joiner logged belongs to the data that it had.
    fn remove_binlogs(&self) -> Result<(), SstError> {
        let Some(binlog) = &self.binlog else { return Ok(()) };
        let (Some(directory), Some(base)) = (binlog.parent(), binlog.file_name().and_then(OsStr::to_str)) else {
            return Ok(());
        };
        let base = Pattern::escape(base);
        let names = ["[0-9]*", "state", "index"].map(|ending| Pattern::new(&format!("{base}.{ending}")).ok());
        remove_matching(directory, &names.into_iter().flatten().collect::<Vec<_>>())?;
        match &self.binlog_index {
            Some(index) => remove_tree(index),
            None => Ok(()),
        }
    }
}

/// Data behind links and in directories of tables' own would be missing on the other side.
fn check(root: &Path, plan: &Plan) -> Result<(), SstError> {
    if let Some(path) = plan.outward.first() {
        let reason = "a link that leads out of the data directory; what it points at would not be sent";
        return Err(SstError::Outside { path: path.clone(), reason });
    }
    // A link in the data directory itself is none of the files that go.
    if let Some(path) = list(root)?.into_iter().find(|path| path.is_symlink() && path.is_dir()) {
        let reason = "a database behind a link, which would not be sent";
        return Err(SstError::Outside { path, reason });
    }
    let elsewhere =
        plan.entries.iter().find(|planned| planned.entry.path.as_path().extension() == Some(OsStr::new("isl")));
    match elsewhere {
        Some(planned) => {
            let reason = "a table with a DATA DIRECTORY of its own, which would not be sent";
            Err(SstError::Outside { path: plan.absolute(planned), reason })
        }
        None => Ok(()),
    }
}

/// A pattern for what is below a directory.
fn below_of(directory: &Path, name: &str) -> Option<Pattern> {
    Pattern::new(&format!("{}/{name}", Pattern::escape(directory.to_str()?))).ok()
}

fn matches(names: &[Pattern], name: &OsStr) -> bool {
    names.iter().any(|pattern| pattern.matches_path(Path::new(name)))
}

fn list(directory: &Path) -> Result<Vec<PathBuf>, SstError> {
    let items = fs::read_dir(directory).and_then(|items| items.map(|item| Ok(item?.path())).collect());
    items.map_err(SstError::file(directory, "cannot be listed"))
}

fn remove_matching(directory: &Path, names: &[Pattern]) -> Result<(), SstError> {
    if !directory.is_dir() {
        return Ok(());
    }
    let matches = |path: &PathBuf| !is_directory(path) && matches(names, path.file_name().unwrap_or_default());
    let old = list(directory)?.into_iter().filter(matches);
    old.into_iter().try_for_each(|path| remove_tree(&path))
}

/// Removes a file, a link or a directory with all that is in it; one that is not there is as good.
pub(crate) fn remove_tree(path: &Path) -> Result<(), SstError> {
    let removed = match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed.map_err(SstError::file(path, "cannot be removed")),
    }
}

fn is_directory(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir())
}

/// Moves a file, on another file system by a copy that takes its place when it is whole. What is in a directory goes into
/// the one that was spared.
fn put(from: &Path, to: &Path) -> io::Result<()> {
    if is_directory(from) && is_directory(to) {
        for item in fs::read_dir(from)? {
            let name = item?.file_name();
            put(&from.join(&name), &to.join(&name))?;
        }
        fs::File::open(to)?.sync_all()?;
        return fs::remove_dir(from);
    }
    match fs::rename(from, to) {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
            let mut beside = to.as_os_str().to_owned();
            beside.push(".sealant_in");
            fs::copy(from, &beside)?;
            fs::File::open(&beside)?.sync_all()?;
            fs::rename(&beside, to)?;
            fs::remove_file(from)
        }
        moved => moved,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(datadir: &Path, more: &str) -> Layout {
        let file = datadir.with_extension("cnf");
        fs::write(&file, "").unwrap();
        let (datadir, file) = (datadir.display(), file.display());
        let words = format!(
            "--role joiner --address h --datadir {datadir}/ --defaults-file {file} --binlog bin --binlog-index \
             bin.index --mysqld-args {more}"
        );
        let arguments = Arguments::parse(words.split_whitespace().map(str::to_owned)).unwrap();
        Layout::of(&arguments, &Options::read(&arguments).unwrap()).unwrap()
    }

    fn fill(root: &Path, names: &[&str]) {
        for name in names {
            fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            fs::write(root.join(name), name).unwrap();
        }
    }

    fn names(plan: &Plan) -> String {
        let files = plan.entries.iter().filter(|planned| planned.file_bytes().is_some());
        files.map(|planned| planned.entry.path.to_string()).collect::<Vec<_>>().join(" ")
    }

    fn files(root: &Path) -> Vec<String> {
        let plan = Plan::of(root, &Selection::default()).unwrap();
        names(&plan).split(' ').map(str::to_owned).collect()
    }

    const NODE: [&str; 9] = [
        "cert.pem",
        "galera.cache",
        "grastate.dat",
        "gvwstate.dat",
        "node.err",
        "node.pid",
        "relay-log.info",
        "sst_in_progress",
        "tmp/x",
    ];
    const DATA: [&str; 8] = [
        "aria_log.00000001",
        "aria_log_control",
        "db/t.frm",
        "db/t.ibd",
        "ib_logfile0",
        "ibdata1",
        "mysql/user.MAD",
        "undo001",
    ];

    #[test]
    fn the_data_goes_and_the_node_stays() {
        let directory = tempfile::tempdir().unwrap();
        let datadir = directory.path().join("data");
        fill(&datadir, &NODE);
        fill(&datadir, &DATA);
        fill(&datadir, &["bin.000001", "bin.index", "tc.log", "ibtmp1", ".sst/x", "db/node.err", "ib_buffer_pool"]);
        let layout = layout(&datadir, "--tmpdir=tmp");
        assert_eq!(names(&layout.plan().unwrap()), DATA.join(" "));
    }

    #[test]
    fn places_of_their_own_are_found_and_filled() {
        let directory = tempfile::tempdir().unwrap();
        let [donor, joiner, redo] = ["donor", "joiner", "redo"].map(|name| directory.path().join(name));
        fill(&redo, &["ib_logfile0", "something"]);
        fill(&donor, &["ibdata1", "undo/undo001", "undo/note", "db/t.ibd"]);
        let plan =
            layout(&donor, &format!("--innodb-log-group-home-dir={} --innodb_undo_directory=undo", redo.display()))
                .plan()
                .unwrap();
        assert_eq!(names(&plan), "db/t.ibd ib_logfile0 ibdata1 undo/note undo001");
        assert_eq!(plan.bytes, "db/t.ibdib_logfile0ibdata1undo/noteundo/undo001".len() as u64);
        plan.check_unchanged().unwrap();
        fill(&joiner, &["aria/aria_log.00000001", "aria/other", ".sealant_in/aria_log.00000002"]);
        layout(&joiner, "--aria-log-dir-path=aria").replace(None).unwrap();
        assert_eq!(files(&joiner), ["aria/aria_log.00000002", "aria/other"]);
    }

    #[test]
    fn old_data_makes_room_for_new() {
        let directory = tempfile::tempdir().unwrap();
        let datadir = directory.path().join("data");
        fill(&datadir, &NODE);
        fill(
            &datadir,
            &["old/t.ibd", "ib_logfile1", "undo002", "bin.000001", "bin.index", "tc.log", "ddl_recovery.log"],
        );
        for name in DATA.iter().chain(&["sealant-manifest"]) {
            fill(&datadir, &[&format!(".sealant_in/{name}")]);
        }
        layout(&datadir, "--tmpdir=tmp").replace(None).unwrap();
        let mut expected = [&NODE[..], &DATA].concat();
        expected.sort_by_key(|name| Path::new(name).to_path_buf());
        assert_eq!(files(&datadir), expected);
    }

    #[test]
    fn a_copy_of_one_instant_has_the_log_that_decides() {
        let directory = tempfile::tempdir().unwrap();
        let [datadir, copy, joiner] = ["data", "copy", "joiner"].map(|name| directory.path().join(name));
        fill(&datadir, &["ibdata1"]);
        fill(&copy, &["ibdata1", "bin.000007", "bin.000008", "bin.index", "ddl_recovery.log", "node.err"]);
        fs::write(copy.join("bin.index"), "./bin.000007\n./bin.000008\n").unwrap();
        let (plan, log) = layout(&datadir, "").plan_of_copy(&copy).unwrap();
        assert_eq!(names(&plan), "bin.000008 ddl_recovery.log ibdata1");
        assert_eq!(log.as_deref(), Some("bin.000008"));
        fill(&joiner, &["bin.000001", "bin.index", ".sealant_in/bin.000008", ".sealant_in/ibdata1"]);
        layout(&joiner, "").replace(log.as_deref()).unwrap();
        assert_eq!(files(&joiner), ["bin.000008", "bin.index", "ibdata1"]);
        assert_eq!(fs::read_to_string(joiner.join("bin.index")).unwrap(), "./bin.000008\n");
    }

    #[test]
    fn data_that_lies_elsewhere_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let datadir = directory.path().join("data");
        fill(&datadir, &["db/t.isl"]);
        let layout = layout(&datadir, "");
        assert!(matches!(layout.plan(), Err(SstError::Outside { .. })));
        fs::remove_file(datadir.join("db/t.isl")).unwrap();
        layout.plan().unwrap();
        std::os::unix::fs::symlink(directory.path(), datadir.join("db2")).unwrap();
        // A link to a directory is none of the files that go, so it has to be looked for.
        assert!(matches!(layout.plan(), Err(SstError::Outside { .. })));
    }
}
