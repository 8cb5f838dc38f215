//! Credentials and signatures of requests to AWS, and to services that accept the same.
//!
//! [`Source`] finds [`Credentials`]: in a file in the format of AWS's tools, in the environment, from a program, or from
//! the metadata service of a container or an instance. [`sign()`] signs a request with them (Signature Version 4).
#![forbid(unsafe_code)]

mod credentials;
mod error;
mod sign;

pub use crate::credentials::{Credentials, Source, read_secret};
pub use crate::error::Error;
pub use crate::sign::{EMPTY_BODY, Scope, Signed, query_text, sign};
