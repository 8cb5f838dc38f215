//! Exposure: what the server lets in and out besides its tables.

checks! {
    CHECKS:
    bind_all,
    local_infile,
    file_priv,
    log_raw,
    eol_or_vulnerable,
}
