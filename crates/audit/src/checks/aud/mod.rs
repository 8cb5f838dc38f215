//! Whether anybody writes down who did what.

pub(super) mod plugin_absent;
