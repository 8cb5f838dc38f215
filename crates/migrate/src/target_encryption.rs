//! What the target encrypts beside the tables. A statement can change that at any time, so it is judged not only by the
//! plan, but also when a migration is opened, while it works, and before the switch.

use std::time::{Duration, Instant};

use server::{
    Connection,
    dialect::{
        encryption::{Encrypts, switches},
        variable::LOG_BIN,
    },
};

use crate::{
    Error, Side,
    catalog::Encrypt,
    journal,
    preflight::{ENCRYPTION_STORAGE, ServerFacts, written_in_clear},
    settings::Settings,
    state, storage,
};

/// Time between judgements while a migration works.
const INTERVAL: Duration = Duration::from_secs(10);

/// What the proof names, and what encrypts it.
const DESCRIBED: [(&str, &[Encrypts]); 5] = [
    ("binary log", &[Encrypts::BinaryLogs]),
    ("redo log", &[Encrypts::Redo]),
    ("undo log", &[Encrypts::Undo, Encrypts::Tablespaces]),
    ("temporary tables", &[Encrypts::TemporaryTablespaces]),
    ("temporary files", &[Encrypts::TemporaryFiles]),
];

/// The settings of both servers that decide it.
#[derive(Debug)]
pub(crate) struct TargetEncryption {
    source: ServerFacts,
    target: ServerFacts,
    /// Whether a table is encrypted, so that the binary log, which repeats its rows, has to be.
    secret: bool,
    /// The evidence about the storage on which the tables rest, if they rest on it.
    storage: Option<String>,
    read: Instant,
}

impl TargetEncryption {
    /// Reads and judges the settings; `None` on the way back.
    ///
    /// # Errors
    /// [`Error::LessEncrypted`].
    pub(crate) fn open(
        settings: &Settings,
        is_begun: bool,
        source: &mut Connection,
        target: &mut Connection,
    ) -> Result<Option<Self>, Error> {
        if settings.way_back {
            return Ok(None);
        }
        let storage = match settings.encrypt {
            Encrypt::Storage => Some(of_storage(settings)?),
            Encrypt::All | Encrypt::AsSource => None,
        };
        // A verb may be given another `--encrypt` than the one that has begun the migration.
        let secret =
            settings.encrypt.requires_any(&settings.catalog.tables) && (!is_begun || state::is_encrypted(target)?);
        let found = Self {
            source: ServerFacts::read(Side::Source, source, &settings.source)?,
            target: ServerFacts::read(Side::Target, target, &settings.target)?,
            secret,
            storage,
            read: Instant::now(),
        };
        found.require(is_begun.then_some(target))?;
        Ok(Some(found))
    }

    /// Whether it is time to read the settings again.
    pub(crate) fn is_due(&self) -> bool {
        self.read.elapsed() >= INTERVAL
    }

    /// Reads the settings that both servers have now.
    pub(crate) fn read_again(&mut self, source: &mut Connection, target: &mut Connection) -> Result<(), Error> {
        self.source.read_variables(source)?;
        self.target.read_variables(target)?;
        self.read = Instant::now();
        Ok(())
    }

    /// Checks that the target encrypts what the plan requires. What it writes in clear is recorded in the journal, if
    /// the migration has one: rows may have been written since the last check.
    ///
    /// # Errors
    /// [`Error::LessEncrypted`].
    pub(crate) fn require(&self, journal: Option<&mut Connection>) -> Result<(), Error> {
        if self.storage.is_some() {
            return Ok(());
        }
        let found = written_in_clear(&self.source, &self.target, self.secret);
        let Some((check, finding)) = found.into_iter().next() else { return Ok(()) };
        if let Some(target) = journal {
            journal::note(target, "less-encrypted", &format!("{check}: {}", finding.evidence))?;
        }
        let remedy = finding.remedy.map(|remedy| match remedy.side {
            Some(side) => format!("on the {side}: {}", remedy.action),
            None => remedy.action.to_string(),
        });
        Err(Error::LessEncrypted { check, evidence: finding.evidence, remedy })
    }

    /// The evidence about the storage on which the tables rest; `None` if they are encrypted by themselves.
    pub(crate) fn storage(&self) -> Option<&str> {
        self.storage.as_deref()
    }

    /// What the target encrypts and what it does not, for the proof.
    pub(crate) fn described(&self) -> String {
        if let Some(storage) = &self.storage {
            return format!("at the target, tables rest on storage: {storage}");
        }
        let described = DESCRIBED.iter().map(|(name, encrypts)| {
            let mut names = encrypts.iter().flat_map(|what| switches(*what));
            let on = names.find(|switch| self.target.is_on(switch));
            match on {
                Some(switch) => format!("{name} encrypted ({switch})"),
                None if encrypts.contains(&Encrypts::BinaryLogs) && !self.target.is_on(LOG_BIN) => format!("no {name}"),
                None => format!("{name} in clear"),
            }
        });
        format!("at the target: {}", described.collect::<Vec<_>>().join(", "))
    }
}

/// The evidence that the target's storage is encrypted.
fn of_storage(settings: &Settings) -> Result<String, Error> {
    storage::evidence(settings.attestation.as_ref(), &settings.target).map_err(|not_proven| Error::LessEncrypted {
        check: ENCRYPTION_STORAGE,
        evidence: not_proven.why,
        remedy: Some(storage::OPTION.to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preflight::testing::server;

    fn with(side: Side, name: &str, value: &str, secret: bool) -> TargetEncryption {
        let (source, target) = (server(Side::Source), server(Side::Target));
        let mut found = TargetEncryption { source, target, secret, storage: None, read: Instant::now() };
        let changed = if side == Side::Source { &mut found.source } else { &mut found.target };
        changed.variables.insert(name.to_owned(), value.to_owned());
        found
    }

    #[test]
    fn a_setting_that_was_turned_off_is_the_finding_of_its_check() {
        assert!(with(Side::Target, "binlog_encryption", "ON", true).require(None).is_ok());
        for (name, id) in
            [("binlog_encryption", "encryption.binary-log"), ("innodb_redo_log_encrypt", "encryption.logs")]
        {
            let error = with(Side::Target, name, "OFF", true).require(None).unwrap_err();
            assert!(matches!(&error, Error::LessEncrypted { check, .. } if *check == id), "{error}");
            assert!(error.is_refusal() && !error.is_transient());
            let hint = error.hint().unwrap();
            assert!(hint.starts_with(&format!("on the target: SET PERSIST {name} = ON; then")), "{hint}");
        }
        // Without encrypted tables the log has nothing to hide, and the source may encrypt less.
        assert!(with(Side::Target, "binlog_encryption", "OFF", false).require(None).is_ok());
        assert!(with(Side::Source, "innodb_redo_log_encrypt", "OFF", true).require(None).is_ok());
    }

    #[test]
    fn the_proof_names_what_is_encrypted() {
        assert_eq!(
            with(Side::Target, "innodb_undo_log_encrypt", "OFF", true).described(),
            "at the target: binary log encrypted (binlog_encryption), redo log encrypted (innodb_redo_log_encrypt), \
             undo log in clear, temporary tables in clear, temporary files in clear"
        );
    }
}
