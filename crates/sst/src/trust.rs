//! Mutual authentication: with a secret and a fingerprint in the joiner's request, or with
//! certificates of the site in addition to the secret. The third mode of the servers' own methods,
//! `encrypt=3` (a key and a certificate without an authority), would trust any peer and is not
//! supported.

use std::path::Path;

use pki::{Authorities, Identity};

use crate::{error::Error, options::Options, report::Report};

/// Certificates of the site, if the options name any. The option names are those of the servers'
/// own methods; `encrypt`, which turns their encryption off, is ignored.
pub(crate) fn certificates(options: &Options, report: &Report<'_>) -> Result<Option<(Identity, Authorities)>, Error> {
    let named = |names: [&str; 3]| names.map(|name| options.sst(name));
    // As in the servers' own methods, the newer names are ignored if older ones are set.
    let [certificate, key, authorities] = match named(["tcert", "tkey", "tca"]) {
        [None, None, None] => named(["ssl-cert", "ssl-key", "ssl-ca"]),
        older => older,
    };
    if certificate.is_none() && key.is_none() && authorities.is_none() {
        return Ok(None);
    }
    if certificate.is_some() && key.is_some() && authorities.is_none() {
        report.line("tkey and tcert without tca prove nothing of the other side: a one-time key is used");
        return Ok(None);
    }
    let missing =
        |option| Error::Option { option, reason: "is not set; tcert and tca must be set together".to_owned() };
    let certificate = certificate.ok_or_else(|| missing("tcert"))?;
    let authorities = authorities.ok_or_else(|| missing("tca"))?;
    // One file may contain both.
    let key = key.unwrap_or(certificate);
    let identity = Identity::from_files(Path::new(certificate), Path::new(key));
    let identity = identity.map_err(|error| Error::Option { option: "tcert, tkey", reason: error.to_string() })?;
    let authorities = Authorities::from_file(Path::new(authorities));
    let authorities = authorities.map_err(|error| Error::Option { option: "tca", reason: error.to_string() })?;
    Ok(Some((identity, authorities)))
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::arguments::Arguments;

    /// Parses a section; returns the certificates and the messages.
    fn parse_section(section: &str) -> (Result<Option<(Identity, Authorities)>, Error>, String) {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("my.cnf");
        std::fs::write(&file, section).unwrap();
        let message = format!("--role joiner --address h --datadir /d --defaults-file {}", file.display());
        let arguments = Arguments::parse(message.split_whitespace().map(str::to_owned)).unwrap();
        let said = Mutex::new(String::new());
        let note = |line: &str| said.lock().unwrap().push_str(line);
        let found = certificates(&Options::read(&arguments).unwrap(), &Report(&note));
        (found, said.into_inner().unwrap())
    }

    #[test]
    fn a_certificate_without_an_authority_is_ignored_and_logged() {
        for section in ["[SST]\ntkey=/k\ntcert=/c\nencrypt=3\n", "[sst]\nssl-key=/k\nssl-cert=/c\n"] {
            let (found, said) = parse_section(section);
            assert!(matches!(found, Ok(None)), "{section}");
            assert!(said.contains("a one-time key is used"), "{said}");
        }
        let (found, said) = parse_section("[sst]\nencrypt=0\n");
        assert!(matches!(found, Ok(None)) && said.is_empty(), "{said}");
        for section in ["[sst]\ntca=/a\n", "[sst]\ntca=/a\ntkey=/k\n", "[sst]\ntcert=/c\n", "[sst]\ntkey=/k\n"] {
            assert!(matches!(parse_section(section).0, Err(Error::Option { .. })), "{section}");
        }
    }
}
