//! Certificates: read, judged, issued, and used as this side's identity.
//!
//! - [`Certificate`]: what an X.509 certificate says; [`leads_to`]: whether its chain leads to one that is trusted;
//! - [`Authority`]: a small private authority in a directory, which issues certificates;
//! - [`Credentials`]: a certificate, its key and its authority, read from PEM files;
//! - [`judge()`]: finds what is wrong, or soon will be, with credentials; a pure function;
//! - [`Identity`] and [`Authorities`]: this side's certificate in TLS, and the authorities that it trusts.
//!
//! The directory is the authority's only state: `ca.pem`, `ca.key`, and `NAME.pem`, `NAME.key` for each certificate.
//! Keys are PKCS #8, readable only by their owner, and never replaced unless requested.
#![forbid(unsafe_code)]
#![warn(clippy::indexing_slicing, clippy::cast_possible_truncation)]
#![warn(clippy::arithmetic_side_effects)]

mod authority;
mod certificate;
mod certificate_fault;
mod chain;
pub mod check;
mod credentials;
mod error;
mod files;
mod fingerprint;
mod identity;
mod judge;
mod key;
mod name;
mod peer_name;
mod pem;
mod signature;

pub use crate::{
    authority::{AUTHORITY_DAYS, Authority, IssueRequest, LEAF_DAYS, RenewalSelector, Usage},
    certificate::{Certificate, modulus_bits},
    certificate_fault::CertificateFault,
    chain::{Purpose, Untrusted, check_chain, check_signature, key_is_checked, leads_to, public_key_info},
    credentials::Credentials,
    error::Error,
    files::Files,
    fingerprint::{Fingerprint, NotAFingerprint},
    identity::{Authorities, Identity},
    judge::{Level, Limits, Problem, ProblemKind, judge, worst},
    key::{KeyType, PrivateKey},
    name::{AlternativeName, CA, Name, subject},
    peer_name::check_name,
    pem::{ders_from_pem, private_key, read_secret},
};
