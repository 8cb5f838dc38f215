//! Facts from `/proc`: the processor, the host's memory, and how a process has a file open. Sources: `proc_cpuinfo(5)`,
//! `proc_meminfo(5)`, `proc_pid_fdinfo(5)`.

use std::{ffi::OsStr, fs, io, path::Path};

use rustix::fs::OFlags;

/// The first processor of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Processor {
    /// The vendor's name of the model; ARM has none.
    pub model: Option<String>,
    flags: Vec<String>,
}

impl Processor {
    /// The first processor of this host.
    #[must_use]
    pub fn this() -> Self {
        Self::parse(&fs::read_to_string("/proc/cpuinfo").unwrap_or_default())
    }

    /// Parses a `cpuinfo`; missing fields are empty.
    #[must_use]
    pub fn parse(cpuinfo: &str) -> Self {
        let value = |name: &str| {
            let mut fields = cpuinfo.lines().filter_map(|line| line.split_once(':'));
            fields.find(|(key, _)| key.trim() == name).map(|(_, value)| value.trim())
        };
        // ARM calls its flags `Features`.
        let flags = value("flags").or_else(|| value("Features")).unwrap_or_default();
        Self {
            model: value("model name").map(str::to_owned),
            flags: flags.split_whitespace().map(str::to_owned).collect(),
        }
    }

    /// Whether it has a feature, by the kernel's name, such as `aes`.
    #[must_use]
    pub fn has(&self, flag: &str) -> bool {
        self.flags.iter().any(|has| has == flag)
    }

    /// Whether a hypervisor runs this host, as reported on x86.
    #[must_use]
    pub fn is_virtual(&self) -> bool {
        self.has("hypervisor")
    }

    /// Whether it is emulated: it has QEMU's default processor name without KVM.
    #[must_use]
    pub fn is_emulated(&self) -> bool {
        self.model.as_deref().is_some_and(|model| model.starts_with("QEMU TCG CPU"))
    }
}

/// The flags with which a process opened a descriptor. `process` is its directory in `/proc`.
///
/// # Errors
/// The descriptor is closed, or belongs to another user's process, or the kernel wrote no flags.
pub fn open_flags(process: &Path, descriptor: &OsStr) -> io::Result<OFlags> {
    let info = fs::read_to_string(process.join("fdinfo").join(descriptor))?;
    parse_flags(&info).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "fdinfo has no flags"))
}

fn parse_flags(info: &str) -> Option<OFlags> {
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:"))?;
    Some(OFlags::from_bits_retain(u32::from_str_radix(flags.trim(), 8).ok()?))
}

/// Whether a descriptor with these flags can write.
#[must_use]
pub fn is_for_writing(flags: OFlags) -> bool {
    flags.intersects(OFlags::WRONLY | OFlags::RDWR)
}

/// Memory of this host in bytes; `None` if the kernel does not report it.
#[must_use]
pub fn total_memory() -> Option<u64> {
    memory(&fs::read_to_string("/proc/meminfo").ok()?, "MemTotal")
}

/// Memory that processes and the page cache can use without swapping, in bytes; `None` if the kernel does not report
/// it.
#[must_use]
pub fn available_memory() -> Option<u64> {
    memory(&fs::read_to_string("/proc/meminfo").ok()?, "MemAvailable")
}

/// A figure of `/proc/meminfo`, which counts in KiB.
fn memory(meminfo: &str, name: &str) -> Option<u64> {
    let value = meminfo.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    value.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use std::{fs::File, os::fd::AsRawFd};

    use super::*;

    #[test]
    fn descriptors_for_writing_and_reading_are_distinguished() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let flags =
            |file: &File| open_flags(Path::new("/proc/self"), OsStr::new(&file.as_raw_fd().to_string())).unwrap();
        assert!(is_for_writing(flags(file.as_file())));
        assert!(!is_for_writing(flags(&File::open(file.path()).unwrap())));
        assert!(open_flags(Path::new("/proc/self"), OsStr::new("1000000")).is_err());
    }

    #[test]
    fn processors_of_x86_and_arm_are_parsed() {
        let cpuinfo = "processor\t: 0\nmodel name\t: Example 9000\nflags\t\t: fpu aes hypervisor\n\nprocessor\t: 1\n";
        let x86 = Processor::parse(cpuinfo);
        assert_eq!(x86.model.as_deref(), Some("Example 9000"));
        assert!(x86.has("aes") && x86.is_virtual() && !x86.is_emulated());
        let arm = Processor::parse("Features\t: fp asimd aes\n");
        assert!(arm.has("aes") && arm.model.is_none() && !arm.is_virtual());
        assert!(!Processor::parse("model name\t: aes\nflags\t: fpu\n").has("aes"));
        assert!(Processor::parse("model name\t: QEMU TCG CPU version 2.5+\n").is_emulated());
        assert_eq!(Processor::parse(""), Processor::default());
    }

    #[test]
    fn flags_are_octal() {
        let flags = |text| parse_flags(text).unwrap();
        assert!(is_for_writing(flags("pos:\t0\nflags:\t0100001\nmnt_id:\t9\n")));
        assert!(!is_for_writing(flags("flags:\t0100000\n")));
        assert!(flags("flags:\t02004002\n").contains(OFlags::NONBLOCK));
        assert_eq!(parse_flags("pos:\t0\n"), None);
    }

    #[test]
    fn memory_is_given_in_kib() {
        assert_eq!(memory("MemTotal:       1024 kB\nMemFree: 1 kB\n", "MemTotal"), Some(1 << 20));
        assert_eq!(memory("MemTotalX: 1 kB\n", "MemTotal"), None);
        assert!(total_memory() >= available_memory());
    }
}
