//! Signed documents: a line of JSON with a schema, as it is stored.

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::Error;

/// The bytes to sign and store; `wrong` creates the error.
pub(crate) fn encode(document: &impl Serialize, wrong: impl FnOnce(String) -> Error) -> Result<Vec<u8>, Error> {
    let mut bytes = serde_json::to_vec(document).map_err(|error| wrong(error.to_string()))?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// Parses a document. Its schema must be `known`, since fields of a later one may have another meaning. `wrong` creates
/// the error.
pub(crate) fn parse<T: DeserializeOwned>(
    bytes: &[u8],
    known: &'static str,
    wrong: impl Fn(String) -> Error,
) -> Result<T, Error> {
    #[derive(Deserialize)]
    struct Schema {
        schema: String,
    }
    // A receipt can have a hundred megabytes, and is parsed once if it begins as it was written. A second field of that name
    // would be an error.
    if !bytes.starts_with(format!("{{\"schema\":\"{known}\",").as_bytes()) {
        let Schema { schema } = serde_json::from_slice(bytes).map_err(|error| wrong(error.to_string()))?;
        if schema != known {
            return Err(Error::Version { found: schema, known });
        }
    }
    serde_json::from_slice(bytes).map_err(|error| wrong(error.to_string()))
}
