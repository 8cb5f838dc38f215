//! Signatures of requests: AWS Signature Version 4, with the signature in the header `Authorization`.
//!
//! Source: "Signature Version 4 signing process" and, for the tests, "Signature Calculations for the Authorization
//! Header" in the Amazon S3 API reference.

use std::fmt::Write;

use aws_lc_rs::hmac;
use data_encoding::HEXLOWER;
use files::sha256_hex;
use jiff::{Timestamp, tz::TimeZone};

use crate::Credentials;

/// SHA-256 of an empty body.
pub const EMPTY_BODY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

const ALGORITHM: &str = "AWS4-HMAC-SHA256";

/// Where and for whom a signature is valid.
#[derive(Clone, Copy, Debug)]
pub struct Scope<'r> {
    /// Region of the service.
    pub region: &'r str,
    /// Name of the service, such as `s3`.
    pub service: &'r str,
}

/// The signed parts of a request. Names of headers are lower case.
#[derive(Clone, Debug)]
pub struct Signed<'r> {
    /// Method of the request.
    pub method: &'r str,
    /// The path as it is sent, already escaped if necessary.
    pub path: &'r str,
    /// Names and values of the query, not escaped.
    pub query: &'r [(&'r str, &'r str)],
    /// All headers to sign, except those that the signature adds.
    pub headers: Vec<(&'r str, String)>,
    /// SHA-256 of the body, in hexadecimal.
    pub body: &'r str,
}

/// Adds date, hash of the body, token and signature to the headers.
#[must_use]
pub fn sign(
    signed: Signed<'_>,
    Scope { region, service }: Scope<'_>,
    credentials: &Credentials,
    now: Timestamp,
) -> Vec<(String, String)> {
    let time = now.to_zoned(TimeZone::UTC).strftime("%Y%m%dT%H%M%SZ").to_string();
    let day = time.get(..8).unwrap_or_default();
    let scope = format!("{day}/{region}/{service}/aws4_request");
    let mut headers: Vec<(String, String)> =
        signed.headers.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    headers.push(("x-amz-content-sha256".to_owned(), signed.body.to_owned()));
    headers.push(("x-amz-date".to_owned(), time.clone()));
    headers.extend(credentials.token.as_ref().map(|token| ("x-amz-security-token".to_owned(), token.to_string())));
    headers.sort();
    let names: Vec<&str> = headers.iter().map(|(name, _)| name.as_str()).collect();
    let names = names.join(";");

    let mut canonical = format!("{}\n{}\n{}\n", signed.method, signed.path, query_text(signed.query));
    for (name, value) in &headers {
        let _ = writeln!(canonical, "{name}:{}", value.trim());
    }
    let _ = write!(canonical, "\n{names}\n{}", signed.body);
    let to_sign = format!("{ALGORITHM}\n{time}\n{scope}\n{}", sha256_hex(canonical.as_bytes()));

    let secret = zeroize::Zeroizing::new(format!("AWS4{}", *credentials.secret));
    let steps = [day, region, service, "aws4_request", &to_sign];
    let signature = steps.iter().fold(secret.as_bytes().to_vec(), |key, step| tag(&key, step.as_bytes()));
    let value = format!(
        "{ALGORITHM} Credential={}/{scope}, SignedHeaders={names}, Signature={}",
        credentials.access_key,
        HEXLOWER.encode(&signature)
    );
    headers.push(("authorization".to_owned(), value));
    headers
}

/// The query as it is signed and sent: escaped, sorted by name.
#[must_use]
pub fn query_text(query: &[(&str, &str)]) -> String {
    let mut parts: Vec<String> =
        query.iter().map(|(name, value)| format!("{}={}", escape(name), escape(value))).collect();
    parts.sort();
    parts.join("&")
}

/// Escapes everything but unreserved characters (RFC 3986).
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            let _ = write!(escaped, "%{byte:02X}");
        }
    }
    escaped
}

fn tag(key: &[u8], message: &[u8]) -> Vec<u8> {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), message).as_ref().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example credentials of AWS's documentation.
    fn example() -> Credentials {
        Credentials::new("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "an example").unwrap()
    }

    fn signature(
        method: &str,
        path: &str,
        query: &[(&str, &str)],
        more: &[(&'static str, &str)],
        body: &[u8],
    ) -> String {
        let now: Timestamp = "2013-05-24T00:00:00Z".parse().unwrap();
        let mut headers = vec![("host", "examplebucket.s3.amazonaws.com".to_owned())];
        headers.extend(more.iter().map(|(name, value)| (*name, (*value).to_owned())));
        let signed = Signed { method, path, query, headers, body: &sha256_hex(body) };
        let headers = sign(signed, Scope { region: "us-east-1", service: "s3" }, &example(), now);
        let (_, value) = headers.iter().find(|(name, _)| name == "authorization").unwrap();
        assert!(value.contains("Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request"), "{value}");
        value.rsplit_once("Signature=").unwrap().1.to_owned()
    }

    /// The four examples of "Signature Calculations for the Authorization Header: Transferring Payload in a Single
    /// Chunk".
    #[test]
    fn signatures_are_those_of_the_published_examples() {
        assert_eq!(
            signature("GET", "/test.txt", &[], &[("range", "bytes=0-9")], b""),
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"
        );
        let more = [("date", "Fri, 24 May 2013 00:00:00 GMT"), ("x-amz-storage-class", "REDUCED_REDUNDANCY")];
        assert_eq!(
            signature("PUT", "/test%24file.text", &[], &more, b"Welcome to Amazon S3."),
            "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"
        );
        assert_eq!(
            signature("GET", "/", &[("lifecycle", "")], &[], b""),
            "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"
        );
        assert_eq!(
            signature("GET", "/", &[("prefix", "J"), ("max-keys", "2")], &[], b""),
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"
        );
        assert_eq!(sha256_hex(b""), EMPTY_BODY);
    }

    #[test]
    fn queries_are_escaped_and_in_order() {
        assert_eq!(query_text(&[("prefix", "a b/ü"), ("list-type", "2")]), "list-type=2&prefix=a%20b%2F%C3%BC");
    }
}
