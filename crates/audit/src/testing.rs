//! Hand-made facts for the tests of checks.

use innodb::binlog::{BinlogEncryption, BinlogHead};
use innodb::page::checksum::Checksum;
use innodb::page::flags::SpaceFlags;
use innodb::page::types::ClearClass;
use innodb::redo::{BlockCounts, RedoFormat, RedoScan};
use innodb::tablespace::{
    ClearPage, DoublewriteCopies, Encryption, Family, MariaDbMode, MySqlMagic, Page0, PageCounts, TablespaceKind,
    TablespaceScan,
};
use innodb::{KeyVersion, MasterKeyId, PageNo, SpaceId};
use jiff::Timestamp;
use server::{ServerVersion, VersionHints};

use crate::artefact::Artefacts;
use crate::check::{Check, Context};
use crate::checks::order::in_order;
use crate::facts::Facts;
use crate::facts::files::{Content, FileFact, FileFacts, Root};
use crate::facts::host::{DiskLayer, HostFacts, PathOnDisk, Role};
use crate::facts::sql::{Answer, Identity, QueryOutcome, Session, SqlFacts};
use crate::finding::{Finding, Status};
use crate::rules::Rules;
use crate::run::judge_baseline;

/// Time of judgement in tests.
pub(crate) const NOW: &str = "2026-11-20T12:00:00Z";

/// Facts about a MySQL 9.7.4 without results.
pub(crate) fn mysql() -> FactsBuilder {
    FactsBuilder::server("9.7.4", "MySQL Community Server - GPL")
}

/// Facts about a MariaDB 10.11 without results.
pub(crate) fn mariadb() -> FactsBuilder {
    FactsBuilder::server("10.11.19-MariaDB-log", "Debian 12")
}

/// A builder of facts.
pub(crate) struct FactsBuilder(pub(crate) Facts);

impl FactsBuilder {
    /// Facts without a server.
    pub(crate) fn nothing() -> Self {
        Self(Facts::empty("test", NOW.parse().unwrap()))
    }

    /// Facts about a server of this version and comment.
    pub(crate) fn server(version: &str, comment: &str) -> Self {
        let mut made = Self::nothing();
        made.0.scope.sql = true;
        made.0.sql = Some(SqlFacts {
            identity: Identity {
                version: ServerVersion::parse(version, VersionHints { comment, ..VersionHints::default() }).unwrap(),
                version_comment: comment.to_owned(),
                hostname: "db1".to_owned(),
                server_uuid: None,
                datadir: "/var/lib/mysql/".to_owned(),
                port: 3306,
            },
            session: Session {
                account: "audit@localhost".to_owned(),
                endpoint: "127.0.0.1:3306".to_owned(),
                tls: None,
            },
            answers: std::collections::BTreeMap::new(),
        });
        made.answer("variables", &["name", "value"], &[]).answer("status", &["name", "value"], &[])
    }

    /// Adds a global variable.
    pub(crate) fn variable(self, name: &str, value: &str) -> Self {
        self.row("variables", &[name, value])
    }

    /// Sets the result of a query.
    pub(crate) fn answer(mut self, name: &str, columns: &[&str], rows: &[&[&str]]) -> Self {
        let owned = |row: &&[&str]| row.iter().map(|v| Some((*v).to_owned())).collect();
        let columns = columns.iter().map(|c| (*c).to_owned()).collect();
        self.set(name, QueryOutcome::Rows { columns, rows: rows.iter().map(owned).collect() });
        self
    }

    /// Makes the server refuse a query.
    pub(crate) fn refused(mut self, name: &str, code: u16) -> Self {
        self.set(name, QueryOutcome::Failed { code, message: "command denied".to_owned() });
        self
    }

    fn set(&mut self, name: &str, outcome: QueryOutcome) {
        let answer = Answer { sql: format!("-- {name}"), needs: "GRANT SELECT ON *.*".to_owned(), outcome };
        self.0.sql.as_mut().unwrap().answers.insert(name.to_owned(), answer);
    }

    fn row(mut self, name: &str, values: &[&str]) -> Self {
        if let QueryOutcome::Rows { rows, .. } =
            &mut self.0.sql.as_mut().unwrap().answers.get_mut(name).unwrap().outcome
        {
            rows.push(values.iter().map(|v| Some((*v).to_owned())).collect());
        }
        self
    }

    /// Adds a file below the data directory.
    pub(crate) fn file(mut self, name: &str, content: Content) -> Self {
        let files = self.0.files.get_or_insert_with(|| FileFacts {
            roots: vec![Root {
                path: "/var/lib/mysql".to_owned(),
                role: Role::Data,
                via: "datadir".to_owned(),
                error: None,
                missing: false,
            }],
            ..FileFacts::default()
        });
        files.files.push(FileFact {
            path: format!("/var/lib/mysql/{name}"),
            name: name.to_owned(),
            role: Role::Data,
            size_bytes: 1 << 20,
            mode: 0o640,
            uid: 999,
            gid: 999,
            modified: 0,
            content,
        });
        self
    }

    /// Changes the host's facts.
    pub(crate) fn host(mut self, change: impl FnOnce(&mut HostFacts)) -> Self {
        change(self.0.host.get_or_insert_with(HostFacts::default));
        self
    }

    /// Findings of `check`.
    pub(crate) fn judge(&self, check: &Check) -> Vec<Finding> {
        self.judge_with(check, &Rules::default(), &[])
    }

    /// Findings of `check` under `rules`, given the other checks' `findings`.
    pub(crate) fn judge_with(&self, check: &Check, rules: &Rules, findings: &[Finding]) -> Vec<Finding> {
        let artefacts = Artefacts::join(&self.0);
        let now: Timestamp = NOW.parse().unwrap();
        let baseline = judge_baseline(rules);
        check.findings(&Context {
            facts: &self.0,
            artefacts: &artefacts,
            policy: &rules.policy,
            now,
            rules,
            in_order,
            findings,
            baseline: baseline.as_ref().map(|(baseline, findings)| (*baseline, findings.as_slice())),
        })
    }

    /// Statuses that `check` returns, in order.
    pub(crate) fn statuses(&self, check: &Check) -> Vec<Status> {
        self.judge(check).iter().map(|finding| finding.status).collect()
    }
}

/// Columns of the result `tablespaces` that checks at rest use.
pub(crate) const TABLESPACE_COLUMNS: &[&str] = &["space_id", "name", "type", "encrypted"];

impl FactsBuilder {
    /// Puts the data directory on an encrypted disk.
    pub(crate) fn encrypted_disk(self) -> Self {
        self.disk(DiskLayer::Encrypted { by: "dm-crypt CRYPT-LUKS2".to_owned() })
    }

    /// Puts the data directory on a disk with this layer.
    pub(crate) fn disk(self, layer: DiskLayer) -> Self {
        self.path("/var/lib/mysql", Role::Data, layer)
    }

    /// Adds a path of the host.
    pub(crate) fn path(self, path: &str, role: Role, layer: DiskLayer) -> Self {
        self.host(|host| {
            host.paths.push(PathOnDisk { via: "datadir".to_owned(), layer, ..on_disk(path, role, "8:1", &["sda1"]) });
        })
    }

    /// Changes the last added file.
    pub(crate) fn last_file(mut self, change: impl FnOnce(&mut FileFact)) -> Self {
        change(self.0.files.as_mut().unwrap().files.last_mut().unwrap());
        self
    }
}

/// A plain path on a device `MAJOR:MINOR`, and the devices below its file system, the disk last.
pub(crate) fn on_disk(path: &str, role: Role, device: &str, chain: &[&str]) -> PathOnDisk {
    PathOnDisk {
        path: path.to_owned(),
        resolved: path.to_owned(),
        role,
        via: String::new(),
        mount_point: "/".to_owned(),
        fs_type: "ext4".to_owned(),
        device: device.to_owned(),
        chain: chain.iter().map(|device| (*device).to_owned()).collect(),
        layer: DiskLayer::Plain,
    }
}

/// A tablespace with space id 7, all pages read, with these numbers of encrypted pages and of clear pages with rows.
///
/// `what`: `plain` or `encrypted` (MySQL, by page 0); `mariadb`, `mariadb-plain` or `begun` (MariaDB).
pub(crate) fn tablespace(what: &str, encrypted: u64, clear: u64) -> Content {
    tablespace_with(what, encrypted, clear, |_| ())
}

/// As above, modified by a closure.
pub(crate) fn tablespace_with(
    what: &str,
    encrypted: u64,
    clear: u64,
    change: impl FnOnce(&mut TablespaceScan),
) -> Content {
    let mariadb = |version| Encryption::MariaDb {
        scheme: 1,
        key_id: 1,
        min_key_version: KeyVersion(version),
        mode: MariaDbMode::Default,
    };
    let (family, encryption) = match what {
        "encrypted" => (
            Family::MySql,
            Encryption::MySql {
                magic: MySqlMagic::V3,
                master_key_id: MasterKeyId(1),
                server_uuid: None,
                flag_set: true,
            },
        ),
        "mariadb" => (Family::MariaDbFullCrc32, mariadb(1)),
        "begun" => (Family::MariaDbFullCrc32, mariadb(0)),
        "mariadb-plain" => (Family::MariaDbFullCrc32, Encryption::None),
        _ => (Family::MySql, Encryption::None),
    };
    let clear_page = ClearPage {
        offset: 65536,
        page_no: PageNo(4),
        page_type: 17855,
        type_name: "index".to_owned(),
        class: ClearClass::Data,
    };
    let mut scan = TablespaceScan {
        page0: page0(family, encryption),
        kind: TablespaceKind::FilePerTable,
        file_bytes: 1 << 20,
        truncated: None,
        complete: true,
        counts: PageCounts {
            total: 1 + encrypted + clear,
            scanned: 1 + encrypted + clear,
            encrypted,
            clear_data: clear,
            exempt: 1,
            ..PageCounts::default()
        },
        clear_types: std::collections::BTreeMap::new(),
        clear_pages: if clear > 0 { vec![clear_page] } else { Vec::new() },
        mislabelled_pages: Vec::new(),
        key_versions: Vec::new(),
        compressed_pages: 0,
        clear_index_pages: 0,
        clear_undo_pages: 0,
        change_buffer_pages: 0,
        foreign: 0,
        foreign_pages: Vec::new(),
        doublewrite: DoublewriteCopies::default(),
    };
    change(&mut scan);
    Content::Tablespace { scan: Box::new(scan) }
}

fn page0(family: Family, encryption: Encryption) -> Page0 {
    Page0 {
        family,
        kind: TablespaceKind::FilePerTable,
        space_id: SpaceId(7),
        flags: SpaceFlags(0x4021),
        logical_page_bytes: 16384,
        physical_page_bytes: 16384,
        size_in_pages: 64,
        free_limit: 64,
        server_version: None,
        encryption,
        disagreement: None,
        page_compressed: false,
        checksum: Checksum::Crc32,
    }
}

/// A redo log of MySQL with these numbers of encrypted and clear blocks.
pub(crate) fn redo(encrypted: u64, clear: u64) -> Content {
    Content::Redo {
        scan: Box::new(RedoScan {
            format: RedoFormat::MySql,
            format_id: 6,
            creator: None,
            start_lsn: None,
            checkpoint_lsn: None,
            declared_encrypted: None,
            key: None,
            names_clear: false,
            file_bytes: 1 << 20,
            complete: true,
            blocks: BlockCounts {
                total: encrypted + clear,
                scanned: encrypted + clear,
                encrypted,
                clear,
                ..BlockCounts::default()
            },
            clear_offsets: if clear > 0 { vec![2048] } else { Vec::new() },
        }),
    }
}

/// A binary log, clear or encrypted by MySQL.
pub(crate) fn binary_log(clear: bool) -> Content {
    let encryption = if clear { BinlogEncryption::Clear } else { BinlogEncryption::MySql { version: 1, key_id: None } };
    Content::BinaryLog {
        log: BinlogHead { encryption, server_version: None, created: None, file_bytes: 1 << 20 },
        events: None,
    }
}
