//! How the two sides know each other: by a secret and a fingerprint that travel in the joiner's request,
//! or by certificates of the site besides the secret. There is no third way.

use std::path::Path;

use transfer::tls::identity::{Authorities, Identity};

use crate::{error::SstError, options::Options};

/// Certificates of the site, if the options name any. Names as the servers' own methods have them;
/// `encrypt`, which would switch encryption off for those, is not looked at.
pub(crate) fn certificates(options: &Options) -> Result<Option<(Identity, Authorities)>, SstError> {
    let named = |names: [&str; 3]| names.map(|name| options.sst(name));
    // As in the servers' own methods, the newer names are not looked at if there are older ones.
    let [certificate, key, authorities] = match named(["tcert", "tkey", "tca"]) {
        [None, None, None] => named(["ssl-cert", "ssl-key", "ssl-ca"]),
        older => older,
    };
    if certificate.is_none() && key.is_none() && authorities.is_none() {
        return Ok(None);
    }
    let missing = |option| SstError::Option {
        option,
        reason: "is not set, and the other two of tcert, tkey and tca need it".to_owned(),
    };
    let certificate = certificate.ok_or_else(|| missing("tcert"))?;
    let authorities = authorities.ok_or_else(|| missing("tca"))?;
    // One file may hold both.
    let key = key.unwrap_or(certificate);
    let identity = Identity::from_files(Path::new(certificate), Path::new(key));
    let identity = identity.map_err(|error| SstError::Option { option: "tcert, tkey", reason: error.to_string() })?;
    let authorities = Authorities::from_file(Path::new(authorities));
    let authorities = authorities.map_err(|error| SstError::Option { option: "tca", reason: error.to_string() })?;
    Ok(Some((identity, authorities)))
}
