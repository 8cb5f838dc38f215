//! Collects the facts about a running server.

use std::path::PathBuf;

use jiff::Timestamp;

use super::file_facts::{gaps, keys_held, read_files};
use super::files::Found;
use super::location::{ServerLocation, ca_file, locate, scan_roots};
use super::request::LiveOptions;
use super::roots::ScanRoot;
use super::view::Host;
use super::{host, register, sql, traffic, wire};
use crate::Error;
use crate::facts::files::FileFacts;
use crate::facts::register::RegisterFacts;
use crate::facts::{Facts, Observed, Scope, Unavailable};

/// Collects the facts about a running server.
///
/// # Errors
/// [`Error::Server`] if it cannot be connected to; [`Error::KeyStore`] if a given copy is not a key store. Other errors
/// become gaps in the facts.
pub fn live(options: &LiveOptions<'_>) -> Result<Facts, Error> {
    let copies = options.key_copies.load()?;
    let mut facts = Facts::empty(&options.target.to_string(), Timestamp::now());
    facts.client_names.clone_from(&options.client_names);
    let answers = sql::query_server(options)?;
    facts.scope = Scope { sql: true, deep: options.deep, ..Scope::default() };
    // Before the probes, whose login in clear would be seen.
    facts.traffic = match &options.packets {
        Some(packets) => Some(traffic::collect(packets, options, &answers.sql)?),
        None => None,
    };
    let host = Host::this();
    let location = locate(&host, options, &answers);
    let roots = location.as_ref().map(|at| scan_roots(&host, options, &answers.sql, at)).unwrap_or_default();
    let found = match &location {
        Ok(at) if options.files => Some(read_files(&host, options, &answers.sql, at, &roots, copies)),
        _ => None,
    };
    let server = LiveServer { options, host: &host, answers: &answers, location: location.as_ref(), roots: &roots };
    facts.register = server.register(found.as_ref().map(|(read, _)| read));
    if options.host {
        server.add_host(&mut facts, found.as_ref());
    }
    if options.files {
        server.add_files(&mut facts, found);
    }
    if options.wire {
        server.add_wire(&mut facts);
    }
    facts.sql = Some(answers.sql);
    Ok(facts)
}

/// A server that was queried: its answers, and the location of its files.
struct LiveServer<'a> {
    options: &'a LiveOptions<'a>,
    host: &'a Host,
    answers: &'a sql::ServerAnswers,
    location: Result<&'a ServerLocation, &'a Unavailable>,
    roots: &'a [ScanRoot],
}

impl LiveServer<'_> {
    /// The register of keys on this host; `None` if it was not asked for.
    fn register(&self, read: Option<&FileFacts>) -> Option<Observed<RegisterFacts>> {
        let state_dir = self.options.state_dir.as_deref()?;
        let location = self.location.ok();
        Some(register::read(register::Query {
            state_dir,
            server_name: ::register::server_name(&self.answers.identity),
            datadir: location.map(|at| at.view.reach(&at.datadir)),
            held: keys_held(&self.answers.sql, location.zip(read)),
        }))
    }

    fn add_host(&self, facts: &mut Facts, found: Option<&(FileFacts, Found)>) {
        let location = match self.location {
            Ok(location) => location,
            Err(gap) => return facts.gaps.push(Unavailable { what: "host".to_owned(), ..gap.clone() }),
        };
        let no_mounts: &[(PathBuf, _)] = &[];
        facts.host = Some(host::collect(host::HostSources {
            host: self.host,
            view: &location.view,
            process: location.process.clone(),
            sql: Some(&self.answers.sql),
            datadir: &location.datadir,
            scan_roots: self.roots,
            files: found.map_or(&[], |(read, _)| &read.files),
            mounts: found.map_or(no_mounts, |(_, found)| &found.mounts),
            option_files: &self.options.option_files,
        }));
        facts.scope.host = true;
    }

    fn add_files(&self, facts: &mut Facts, found: Option<(FileFacts, Found)>) {
        if let Some((read, found)) = found {
            facts.gaps.extend(gaps(&read, &found));
            facts.files = Some(read);
            facts.scope.files = true;
        } else if let Err(gap) = self.location {
            facts.gaps.push(Unavailable { what: "files".to_owned(), ..gap.clone() });
            if !self.options.key_copies.is_empty() {
                let what = "whether the copy of the keys suffices".to_owned();
                facts.gaps.push(Unavailable { what, ..gap.clone() });
            }
        }
    }

    fn add_wire(&self, facts: &mut Facts) {
        let ca_file = ca_file(&self.answers.sql, self.location.ok().filter(|_| self.options.files));
        match wire::probe(self.options, &self.answers.sql, ca_file) {
            Ok(wire) => {
                facts.wire = Some(wire);
                facts.scope.wire = true;
            }
            Err(gap) => facts.gaps.push(gap),
        }
    }
}
