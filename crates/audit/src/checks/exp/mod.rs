//! Exposure: what else the server gives access to.

checks! {
    CHECKS:
    bind_all,
    local_infile,
    file_priv,
    log_raw,
    eol_or_vulnerable,
}
