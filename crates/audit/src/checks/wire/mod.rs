//! What was seen on the network.

checks! {
    CHECKS:
    plaintext,
}
