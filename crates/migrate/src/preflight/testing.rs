//! Facts of two servers on which every check passes, for the tests of checks.

use std::{collections::BTreeMap, path::PathBuf};

use server::{Grants, Identity, ServerVersion, VersionHints, tls::TlsVersion};

use super::{Effect, Facts, Finding, Link, Request, ServerFacts, Tables, Transport, Verification};
use crate::{
    Accept, NotProven, Side,
    accounts::{AccountFacts, Accounts},
    catalog::{Catalog, Column, Encrypt, Filter, ForeignKey, Identity as Key, Schema, Table},
};

const VARIABLES: &[(&str, &str)] = &[
    ("binlog_encryption", "ON"),
    ("binlog_expire_logs_seconds", "2592000"),
    ("binlog_format", "ROW"),
    ("binlog_order_commits", "ON"),
    ("binlog_row_image", "FULL"),
    ("binlog_row_value_options", ""),
    ("default_collation_for_utf8mb4", "utf8mb4_0900_ai_ci"),
    ("gtid_mode", "ON"),
    ("innodb_page_size", "16384"),
    ("innodb_redo_log_encrypt", "ON"),
    ("innodb_undo_log_encrypt", "ON"),
    ("innodb_read_only", "OFF"),
    ("innodb_strict_mode", "ON"),
    ("local_infile", "ON"),
    ("log_bin", "ON"),
    ("log_replica_updates", "ON"),
    ("lower_case_table_names", "0"),
    ("max_allowed_packet", "67108864"),
    ("read_only", "OFF"),
    ("server_id", "7"),
    ("sql_generate_invisible_primary_key", "OFF"),
    ("sql_require_primary_key", "OFF"),
    ("super_read_only", "OFF"),
];

pub(crate) fn server(side: Side) -> ServerFacts {
    ServerFacts {
        side,
        endpoint: format!("{side}.example:3306"),
        account: "mig@%".to_owned(),
        identity: Identity {
            version: ServerVersion::parse("9.7.4", VersionHints::default()).unwrap(),
            version_comment: String::new(),
            hostname: side.to_string(),
            server_uuid: Some(format!("uuid-{side}")),
            server_id: 7,
            datadir: PathBuf::from("/var/lib/mysql"),
            port: 3306,
            socket: None,
            pid_file: None,
            uptime_seconds: 1,
        },
        link: Link {
            side,
            transport: Transport::Tls {
                version: TlsVersion::Tls13,
                suite: "TLS_AES_256_GCM_SHA384".to_owned(),
                verified: Verification::Identity,
            },
        },
        accept: Accept { any_name: false, unverified: false, min_tls: TlsVersion::Tls13 },
        variables: VARIABLES.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        grants: Grants::parse(["GRANT ALL PRIVILEGES ON *.* TO `mig`@`%`"]),
        service: None,
    }
}

pub(crate) fn table(name: &str) -> Table {
    Table {
        schema: "shop".to_owned(),
        name: name.to_owned(),
        engine: "InnoDB".to_owned(),
        columns: vec![column("id")],
        identity: Some(Key { index: "PRIMARY".to_owned(), columns: vec![0], comparable: true }),
        encrypted: true,
        rows: 10,
        bytes: 16384,
        create: format!("CREATE TABLE `{name}` (`id` int) ENGINE=InnoDB /*!80016 ENCRYPTION='Y' */"),
    }
}

pub(crate) fn column(name: &str) -> Column {
    Column {
        name: name.to_owned(),
        column_type: "int".to_owned(),
        data_type: "int".to_owned(),
        charset: None,
        collation: None,
        nullable: false,
        generated: false,
        persistent: true,
        invisible: false,
    }
}

pub(crate) fn cascade(from: &str, to: &str) -> ForeignKey {
    ForeignKey {
        name: "fk".to_owned(),
        table: ("shop".to_owned(), from.to_owned()),
        columns: vec!["id".to_owned()],
        parent: ("shop".to_owned(), to.to_owned()),
        parent_columns: vec!["id".to_owned()],
        on_update: "NO ACTION".to_owned(),
        on_delete: "CASCADE".to_owned(),
    }
}

pub(crate) fn facts() -> Facts {
    let schema = Schema {
        name: "shop".to_owned(),
        charset: "utf8mb4".to_owned(),
        collation: "utf8mb4_0900_ai_ci".to_owned(),
        encrypted: Some(true),
    };
    let source = Catalog { schemas: vec![schema], tables: vec![table("orders")], ..Catalog::default() };
    Facts {
        source: server(Side::Source),
        target: server(Side::Target),
        one_server: false,
        request: Request {
            filter: Filter::default(),
            encrypt: Encrypt::All,
            accounts: Accounts::Report,
            attestation: None,
        },
        storage: Err(NotProven { why: "nothing attests that its storage is encrypted".to_owned(), is_clear: false }),
        tables: Some(Tables {
            source,
            target_keyring: Some(true),
            accounts: Some(AccountFacts::none()),
            ..Tables::default()
        }),
    }
}

/// Facts in which one variable has another value.
pub(crate) fn with(side: Side, name: &str, value: &str) -> Facts {
    let mut facts = facts();
    let server = if side == Side::Source { &mut facts.source } else { &mut facts.target };
    server.variables.extend(BTreeMap::from([(name.to_owned(), value.to_owned())]));
    facts
}

/// Facts after `change` has changed their tables.
pub(crate) fn with_tables(change: impl FnOnce(&mut Tables)) -> Facts {
    let mut facts = facts();
    change(facts.tables.as_mut().unwrap());
    facts
}

/// The findings of a check: the effect, and object and evidence in one text.
pub(crate) fn found(check: &super::Check, facts: &Facts) -> Vec<(Effect, String)> {
    let findings = match check.judge {
        super::Judge::Servers(judge) => judge(facts),
        super::Judge::Tables(judge) => judge(facts, facts.tables.as_ref().unwrap()),
    };
    findings.iter().map(|Finding { effect, object, evidence, .. }| (*effect, format!("{object}: {evidence}"))).collect()
}

/// Asserts that a check has one finding, with this effect and a text that contains `part`.
#[track_caller]
pub(crate) fn finds(check: &super::Check, facts: &Facts, effect: Effect, part: &str) {
    let found = found(check, facts);
    let [(seen, text)] = found.as_slice() else { panic!("{}: {found:?}", check.id) };
    assert_eq!(*seen, effect, "{text}");
    assert!(text.contains(part), "{text}");
}
