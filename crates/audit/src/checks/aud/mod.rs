//! Whether anybody writes down who did what.

checks! {
    CHECKS:
    plugin_absent,
}
