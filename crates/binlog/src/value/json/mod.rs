//! MySQL's JSON in its binary form, and changes relative to an older value.
//!
//! Source: `json_binary.h` and `json_diff.h` of MySQL.

mod changes;
mod document;
mod number;
mod text;

pub use self::{
    changes::{JsonChange, JsonChanges, JsonOperation},
    document::{Json, WholeDoubles},
};
