//! MySQL's clone plug-in.

checks! {
    CHECKS:
    unverified,
}
