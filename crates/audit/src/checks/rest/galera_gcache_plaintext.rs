//! `rest-galera-gcache-plaintext`.

use std::path::Path;

use findings::{Remedy, Severity};
use innodb::server_file::GALERA_CACHE;
use process::shell_word;
use server::dialect::variable;
use server::{ProviderOptions, switch::is_on};

use super::{ArtefactPolicy, data_seen, judge_all};
use crate::artefact::{Artefact, Kind};
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::checks::galera::set_provider_options;
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::host::DiskLayer;
use crate::facts::sql::SqlFacts;
use crate::facts::{Facts, Observed};
use crate::finding::EvidenceGrade;

pub(crate) const CHECK: Check = Check {
    id: "rest-galera-gcache-plaintext",
    title: "Galera's write-set cache is in clear",
    severity: Severity::High,
    explanation: "galera.cache and gcache.page.* keep the rows of every change for nodes that rejoin. Community \
        Galera cannot encrypt them, whatever the server's settings; Percona XtraDB Cluster can (gcache.encryption). \
        Judged from the files, then from wsrep_provider_options.",
    applies: "Galera clusters, Percona XtraDB Cluster",
    fix: "Percona XtraDB Cluster: gcache.encryption=yes; else put gcache.dir onto an encrypted disk",
    cost: "a restart of the node, which may then need a full state transfer",
    standards: &["PCI DSS 4.0.1 3.5.1"],
    exposes: Exposes::Data(Attacker::StolenDisk, "The latest changes of the cluster, in the write-set cache"),
    closed_by: ClosedBy::Disk,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let fix = |cache: &Artefact<'_>| match &cx.facts.sql {
        Some(sql) => fix(cx.facts, sql, &cache.file.map_or_else(|| in_datadir(sql), |file| file.path.clone())),
        None => CHECK.fix.into(),
    };
    let terms = ArtefactPolicy { noun: "write-set caches", severity: &|_| None, fix: &fix };
    let (memory, disk): (Vec<_>, Vec<_>) =
        cx.artefacts.with_kind(Kind::GaleraCache).partition(|cache| in_memory(cache));
    let mut results = judge_all(cx, disk.into_iter(), &terms);
    if let Some(cache) = memory.first() {
        let words = format!("{} lies in memory, not on a disk", cache.name);
        results.pass_if_clean(CheckResult::pass(&cache.name, EvidenceGrade::Bytes, words));
    }
    if !results.is_empty() {
        return Ok(results);
    }
    match &cx.facts.sql {
        Some(sql) if has_provider(sql)? => Ok(CheckResults::one(by_options(cx.facts, sql)?)),
        Some(_) => Ok(CheckResults::not_applicable("this server is no node of a Galera cluster")),
        None if data_seen(cx) => {
            Ok(CheckResults::not_applicable("there is no write-set cache: this server was no node of a Galera cluster"))
        }
        None => cx.facts.files().map(|_| CheckResults::new()),
    }
}

fn has_provider(sql: &SqlFacts) -> Observed<bool> {
    sql.rows("variables")?;
    let provider = sql.variable_or_none("wsrep_provider").unwrap_or("none");
    Ok(!provider.is_empty() && !provider.eq_ignore_ascii_case("none"))
}

fn by_options(facts: &Facts, sql: &SqlFacts) -> Observed<CheckResult> {
    let options = sql.variable(variable::WSREP_PROVIDER_OPTIONS)?;
    let options = ProviderOptions::parse(options);
    let value = options.get("gcache.encryption");
    let dir = options.get("gcache.dir").filter(|dir| !dir.is_empty()).unwrap_or(&sql.identity.datadir);
    let quoted = format!("gcache.encryption = {}", value.unwrap_or("(no such option)"));
    let evidence = sql.evidence("variables", format!("wsrep_provider_options: {quoted}"));
    let result = if value.is_some_and(is_on) {
        CheckResult::pass(GALERA_CACHE, EvidenceGrade::Declared, quoted)
    } else {
        let why = if value.is_some() { "is not switched on" } else { "is an option that this provider does not know" };
        CheckResult::fail(
            GALERA_CACHE,
            EvidenceGrade::Declared,
            format!("encryption of the write-set cache in {dir} {why}"),
        )
        .fix(fix(facts, sql, &in_datadir(sql)))
    };
    Ok(result.evidence(evidence))
}

fn in_memory(cache: &Artefact<'_>) -> bool {
    cache.disk == Some(&DiskLayer::Memory)
}

/// Default path of the cache, without `gcache.dir`.
fn in_datadir(sql: &SqlFacts) -> String {
    Path::new(&sql.identity.datadir).join(GALERA_CACHE).to_string_lossy().into_owned()
}

/// A node whose cache moves leaves the old cache in its previous directory.
fn fix(facts: &Facts, sql: &SqlFacts, cache: &str) -> Remedy {
    let knows = sql
        .variable_or_none(variable::WSREP_PROVIDER_OPTIONS)
        .is_some_and(|options| ProviderOptions::parse(options).get("gcache.encryption").is_some());
    if knows {
        return set_provider_options(facts, sql, &[("gcache.encryption", Some("yes"))]);
    }
    let datadir = shell_word(&sql.identity.datadir);
    Remedy::command(format!("install -d -m 700 GCACHE_DIRECTORY && chown --reference={datadir} GCACHE_DIRECTORY"))
        .and(set_provider_options(facts, sql, &[("gcache.dir", Some("GCACHE_DIRECTORY"))]))
        .and(Remedy::command(format!("shred -u {}", shell_word(cache))))
        .note("GCACHE_DIRECTORY: a path on an encrypted disk; community Galera has no option that encrypts the cache")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::files::Content;
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{FactsBuilder, mariadb, mysql, tablespace};
    use innodb::galera::{CacheScan, Preamble};
    use innodb::randomness::StreamSample;

    fn node(options: &str) -> FactsBuilder {
        mariadb()
            .variable("wsrep_provider", "/usr/lib/galera/libgalera_smm.so")
            .variable("wsrep_provider_options", options)
    }

    fn cache(encrypted: Option<bool>, random: u64, clear: u64) -> Content {
        let content = StreamSample {
            file_bytes: 1 << 20,
            scanned_bytes: 1 << 20,
            empty: 0,
            random,
            clear,
            first_clear_offset: Some(1024),
        };
        Content::GaleraCache {
            cache: CacheScan { preamble: Some(Preamble { encrypted, ..Preamble::default() }), content },
        }
    }

    #[test]
    fn the_file_decides() {
        assert_eq!(node("").file("galera.cache", cache(None, 3, 9)).statuses(&CHECK), [Fail]);
        assert_eq!(node("").file("galera.cache", cache(None, 3, 0)).statuses(&CHECK), [Fail]);
        assert_eq!(node("").file("galera.cache", cache(Some(true), 3, 0)).statuses(&CHECK), [Pass]);
        assert_eq!(
            FactsBuilder::nothing().file("galera.cache", cache(None, 0, 1)).encrypted_disk().statuses(&CHECK),
            [Pass]
        );
        assert_eq!(node("").file("galera.cache", cache(None, 3, 9)).disk(DiskLayer::Memory).statuses(&CHECK), [Pass]);
    }

    #[test]
    fn the_old_cache_goes_when_another_disk_has_the_new_one() {
        let fix = |made: FactsBuilder| made.judge(&CHECK)[0].remediation.clone().unwrap();
        let text = fix(node("gcache.size = 1G").file("galera.cache", cache(None, 3, 9)));
        assert!(text.contains("gcache.dir=GCACHE_DIRECTORY") && text.contains("shred -u /"), "{text}");
        assert!(text.contains("no option that encrypts"), "{text}");
        assert!(fix(node("gcache.encryption = no")).contains("gcache.encryption=yes"));
    }

    #[test]
    fn options_are_read_as_pairs() {
        assert_eq!(node("gcache.dir = /x; gcache.encryption = no").statuses(&CHECK), [Fail]);
        assert_eq!(node("gcache.encryption = yes; gcache.size = 1G").statuses(&CHECK), [Pass]);
        assert_eq!(node("gcache.size = 1G").statuses(&CHECK), [Fail]);
    }

    #[test]
    fn no_node_is_not_applicable() {
        assert_eq!(mariadb().variable("wsrep_provider", "none").statuses(&CHECK), [NotApplicable]);
        assert_eq!(mysql().statuses(&CHECK), [NotApplicable]);
        assert_eq!(
            FactsBuilder::nothing().file("demo/t.ibd", tablespace("plain", 0, 1)).statuses(&CHECK),
            [NotApplicable]
        );
        assert_eq!(FactsBuilder::nothing().statuses(&CHECK), [Unknown]);
    }
}
