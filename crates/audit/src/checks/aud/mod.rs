//! Whether an audit log is written.

checks! {
    CHECKS:
    plugin_absent,
}
