//! A connection to a server's socket whose logins are searched for passwords that the client encrypts: parts of client
//! and server data as the input interleaves them, each after a byte with its sender and length.

pub(crate) fn run(input: &[u8]) {
    tunnel::fuzzing::password(input);
}
