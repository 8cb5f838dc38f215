#!/usr/bin/env python3
"""Restores a backup of sealant without sealant.

usage: restore-by-hand.py REPOSITORY HOST NUMBER IDENTITY SIGNERS TARGET [KEYS]

Needs Python's standard library and the programs age, zstd, ssh-keygen and sha256sum. The format is in
docs/formats/backup.md. Every file is restored to the byte.

KEYS is needed if the backup has decrypted pages, which are encrypted again with it: the keyring file of MySQL
(component_keyring_file), the key file of MariaDB, in clear (file_key_management), or what age decrypts from
hosts/HOST/keys/NUMBER.age. For that, libcrypto of OpenSSL is needed, too, which Python's own ssl module uses. An encrypted redo
log of MariaDB 10.7 or older is not restored, but named. If b3sum is installed, every file is compared with its hash at the end.
"""
import base64
import ctypes
import ctypes.util
import functools
import hashlib
import hmac
import json
import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

MAGIC = 0x184D2A5E


def program(*arguments, data=None):
    done = subprocess.run(arguments, input=data, stdout=subprocess.PIPE, check=False)
    if done.returncode != 0:
        sys.exit(f"{arguments[0]} ended with {done.returncode}")
    return done.stdout


def check_sum(path, expected):
    found = program("sha256sum", "--", str(path)).split()[0].decode()
    if found != expected["sha256"] or path.stat().st_size != expected["bytes"]:
        sys.exit(f"{path}: it is not what the receipt says")


def read_receipt(hosts, number, host, signers):
    path = hosts / "receipts" / f"{number:06}.json"
    receipt = path.read_bytes()
    program("ssh-keygen", "-Y", "verify", "-f", signers, "-I", host, "-n", "sealant-receipt",
            "-s", f"{path}.sig", data=receipt)
    receipt = json.loads(receipt)
    if (receipt["schema"], receipt["host"], receipt["number"]) != ("sealant.receipt/1", host, number):
        sys.exit(f"{path}: it is the receipt of something else")
    return receipt


def read_manifest(path, receipt, identity):
    check_sum(path, receipt["manifest"])
    lines = program("zstd", "-dcq", data=program("age", "-d", "-i", identity, str(path))).splitlines()
    head = json.loads(lines[0])
    if any(head[field] != receipt[field] for field in ("repo", "host", "number")):
        sys.exit(f"{path}: it is the manifest of something else")
    lists = {"entry": [], "pack": [], "run": [], "head": [], "key": []}
    for line in lines[1:]:
        kind, value = next(iter(json.loads(line).items()))
        lists.setdefault(kind, []).append(value)
    return lists


def path_of(entry, field="path"):
    name = bytes.fromhex(entry[f"{field}_bytes"]) if f"{field}_bytes" in entry else entry[field].encode()
    if name.startswith(b"/") or any(part in (b"", b".", b"..") for part in name.split(b"/")):
        sys.exit(f"{name!r} leads out of the target")
    return name


def make(target, entries):
    for entry in entries:
        path = os.path.join(os.fsencode(target), path_of(entry))
        if entry["kind"] == "directory":
            os.mkdir(path, 0o700)
        elif entry["kind"] == "link":
            os.symlink(bytes.fromhex(entry["target_bytes"]), path)
        else:
            with open(path, "xb") as file:
                file.truncate(entry["bytes"])


# AES, by libcrypto

@functools.cache
def libcrypto():
    for name in filter(None, (ctypes.util.find_library("crypto"), "libcrypto.so.3", "libcrypto.so.1.1")):
        try:
            library = ctypes.CDLL(name)
        except OSError:
            continue
        library.EVP_CIPHER_CTX_new.restype = ctypes.c_void_p
        library.EVP_CIPHER_CTX_free.argtypes = [ctypes.c_void_p]
        return library
    sys.exit("libcrypto of OpenSSL is not installed")


def aes(mode, key, vector, data, encrypt=True):
    library, written = libcrypto(), ctypes.c_int()
    cipher = getattr(library, f"EVP_aes_{len(key) * 8}_{mode}")
    cipher.restype = ctypes.c_void_p
    context = ctypes.c_void_p(library.EVP_CIPHER_CTX_new())
    out = ctypes.create_string_buffer(len(data) + 32)
    done = library.EVP_CipherInit_ex(context, ctypes.c_void_p(cipher()), None, key, vector, int(encrypt))
    library.EVP_CIPHER_CTX_set_padding(context, 0)
    done &= library.EVP_CipherUpdate(context, out, ctypes.byref(written), bytes(data), len(data))
    library.EVP_CIPHER_CTX_free(context)
    if done != 1 or written.value != len(data):
        sys.exit("libcrypto failed")
    return out.raw[:len(data)]


def crc32c(data):
    value = 0xFFFFFFFF
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ 0x82F63B78 * (value & 1)
    return value ^ 0xFFFFFFFF


# Keys: docs/formats/keyring.md, and "Keys" in docs/formats/backup.md

class Keys:
    def __init__(self, path):
        self.named, self.numbered, self.unwrapped = {}, {}, {}
        text = Path(path).read_text() if path else ""
        if not text.startswith("{"):
            for line in text.splitlines():
                number, _, digits = line.strip().partition(";")
                if number.isdecimal():
                    self.numbered[int(number)] = bytes.fromhex(digits.split()[0])
        elif "elements" in (first := json.loads(text.splitlines()[0] if "\n{" in text else text)):
            self.named = {key["data_id"]: bytes.fromhex(key["data"]) for key in first["elements"]}
        else:
            lines = [json.loads(line) for line in text.splitlines()[1:]]
            self.unwrapped = {base64.b64decode(line["wrapped"]): base64.b64decode(line["key"]) for line in lines}

    def unwrap(self, info):
        """Key and vector of a tablespace or a redo log of MySQL, 64 bytes; None if no key fits."""
        number, = struct.unpack_from(">I", info, 3)
        uuid = 11 if info[:3] == b"lCB" and info[7:11] == bytes(4) else 7
        wrapped, check = info[uuid + 36:uuid + 100], info[uuid + 100:uuid + 104]
        if wrapped in self.unwrapped:
            return self.unwrapped[wrapped]
        name = f"INNODBKey-{info[uuid:uuid + 36].decode('latin-1')}-{number}"
        master = self.named.get(name) if number else b"DefaultMasterKey".ljust(32, b"\0")
        key = master and aes("ecb", master, None, wrapped, encrypt=False)
        return key if key and crc32c(key).to_bytes(4, "big") == check else None

    def password(self, head):
        """Password of a binary log of MySQL, 32 bytes."""
        fields, at = {}, 5
        while head[at]:
            begin, length = (at + 2, head[at + 1]) if head[at] == 1 else (at + 1, {2: 32, 3: 16}[head[at]])
            fields[head[at]] = head[begin:begin + length]
            at = begin + length
        if fields[2] in self.unwrapped:
            return self.unwrapped[fields[2]]
        master = self.named.get(fields[1].decode())
        return master and aes("cbc", master, fields[3], fields[2], encrypt=False)

    def mariadb(self, number):
        return self.numbered.get(number)

    def check(self, needed):
        """Compares the keys of MariaDB with the check values of the manifest."""
        for key in needed:
            number, version = key["id"], key["version"]
            message = b"sealant key check 1" + struct.pack(">II", number, version)
            found = self.numbered.get(number)
            if found is None or hmac.digest(found, message, "sha256")[:8].hex() != key["check"]:
                sys.exit(f"version {version} of key {number} is not in the key file")


# Sealing: what was decrypted is encrypted again, to the same bytes. "Decrypted pages and logs" in docs/wire-protocol.md has
# the marks, docs/formats the ciphers.

def page0(head):
    """Length of a page, and offset of the encryption information."""
    flags, = struct.unpack_from(">I", head, 54)
    if flags & 0x10:
        logical = physical = 512 << (flags & 0xF)
    else:
        logical = 512 << (flags >> 6 & 0xF) if flags >> 6 & 0xF else 16384
        physical = 512 << (flags >> 1 & 0xF) if flags >> 1 & 0xF else logical
    extent = {4096: 256, 8192: 128}.get(logical, 64)
    return physical, 150 + (24 + extent // 4) * (physical // extent), bool(flags & 0x10)


def mysql_body(key, body):
    whole = len(body) // 16 * 16
    body[:whole] = aes("cbc", key[:32], key[32:48], body[:whole])
    if whole != len(body):
        body[-32:] = aes("cbc", key[:32], key[32:48], body[-32:])
    return body


def mysql_page(key, page, mark, end):
    page[38:end] = mysql_body(key, page[38:end])
    if mark == 1:
        page[28:30] = page[24:26]
    page[24:26] = (14 + mark).to_bytes(2, "big")


def mariadb_part(key, counter_mode, vector, part):
    """The rest rule: whole blocks are chained, the bytes after them are XORed with the encrypted vector."""
    if counter_mode:
        return aes("ctr", key, vector, part)
    whole = len(part) // 16 * 16
    rest = bytes(a ^ b for a, b in zip(part[whole:], aes("ecb", key, None, vector)))
    return (aes("cbc", key, vector, part[:whole]) if whole else b"") + rest


def mariadb_page(key, counter_mode, head, page):
    kind, = struct.unpack_from(">H", page, 24)
    if page0(head)[2]:
        begin, end = 26, 256 * (kind & 0x7FFF) - 4 if kind & 0x8000 else len(page) - 4
    elif kind == 37401:
        begin, end = 42, 42 + int.from_bytes(page[38:40], "big")
    else:
        begin, end = 38, len(page) - 8
    space, number, lsn = head[34:38], page[4:8], page[16:24]
    vector = space[::-1] + bytes(number[::-1]) + bytes(lsn[::-1])
    page[begin:end] = mariadb_part(key, counter_mode, vector, page[begin:end])


def mysql_log(password, at, data):
    digest = hashlib.sha512(password).digest()
    begin = max(512 - at, 0)
    counter = digest[32:40] + ((at + begin - 512) // 16).to_bytes(8, "big")
    data[begin:] = aes("ctr", digest[:32], counter, data[begin:])


def mariadb_events(key, counter_mode, nonce, at, data):
    begin = 0
    while begin + 19 <= len(data):
        length = data[begin + 9:begin + 13]
        end = begin + int.from_bytes(length, "little")
        if end > len(data) or end < begin + 19:
            break
        event = data[begin:end]
        event[9:13] = event[:4]
        event[4:] = mariadb_part(key, counter_mode, nonce + (at + begin).to_bytes(4, "little"), event[4:])
        event[:4], event[9:13] = event[9:13], length
        data[begin:end] = event
        begin = end


def number_at(data, at):
    """A number of one to five bytes, and where it ends."""
    more = next(more for more in range(5) if more == 4 or data[at] >> 7 - more & 1 == 0)
    least = sum(1 << 7 * each for each in range(1, more + 1))
    return (int.from_bytes(data[at:at + more + 1], "big") & (1 << 7 * (more + 1)) - 1) + least, at + more + 1


def records(data, at):
    """Begin, begin of the payload, and end of each record of a mini-transaction of MariaDB."""
    while data[at] > 1:
        payload, length = at + 1, data[at] & 0xF
        if length == 0:
            more, payload = number_at(data, payload)
            length = more + 15
        yield at, payload, at + 1 + length
        at += 1 + length


def one_stream(key, counter_mode, nonce, data, parts):
    vector = (nonce + bytes(data[parts[0][0]:parts[0][1]])).ljust(16, b"\0")
    stream = mariadb_part(key, counter_mode, vector, b"".join(data[payload:end] for _, payload, end in parts))
    for _, payload, end in parts:
        data[payload:end], stream = stream[:end - payload], stream[end - payload:]


def page_records(key, counter_mode, nonce, data, parts):
    page = None
    for begin, body, end in parts:
        if not data[begin] & 0x80:
            space, body = number_at(data, body)
            number, body = number_at(data, body)
            page = struct.pack(">II", space, number)
        elif page is None:
            continue
        data[body:end] = mariadb_part(key, counter_mode, nonce + page, data[body:end])


def mini_transactions(key, counter_mode, head, data):
    at, seal = 0, page_records if head[:4] == b"Phys" else one_stream
    while at < len(data):
        parts = list(records(data, at))
        end = parts[-1][2]
        seal(key, counter_mode, bytes(data[end + 1:end + 9]), data, parts)
        at = end + 13


def kind_of(path, head):
    """Kind of the cipher of a file, by its beginning: "Key material" in docs/wire-protocol.md."""
    begin = bytes(head[:4])
    if begin in (b"\xfdbin", b"\xfebin"):
        return 3 if begin == b"\xfdbin" else 5
    if os.path.basename(path).startswith(("#ib_redo", "ib_logfile")):
        older = begin == b"\xd0HYS" or begin[0] == 0x80
        return 6 if begin in (b"Phys", b"\xf0\x9f\x97\x9d") else 7 if older else 4
    return 1 if head[page0(head)[1]:][:2] == b"lC" else 2


class Sealer:
    """Encrypts the frames of all files again."""

    def __init__(self, lists, keys):
        self.keys, self.paths = keys, [entry["path"] for entry in lists["entry"]]
        padded = lambda line: base64.b64decode(line["b"]).ljust(line["n"], b"\0")
        self.heads = {line["f"]: padded(line) for line in lists["head"]}

    def check(self):
        """Ends the program before anything is written if a key is missing."""
        for number, head in self.heads.items():
            kind = kind_of(self.paths[number], head)
            # The manifest says which keys of MariaDB the pages of its tablespaces need.
            if kind != 2 and not self.key(kind, number):
                self.refuse(number)

    def refuse(self, number):
        sys.exit(f"{self.paths[number]}: the key with which its pages are to be encrypted is not among KEYS")

    def redo_key(self, number):
        """The key of a redo log of MySQL: that of the file with the newest checkpoint which names one."""
        directory = os.path.dirname(self.paths[number])
        same = [head for other, head in self.heads.items() if os.path.dirname(self.paths[other]) == directory]
        named = [head for head in same if head[1072:1074] == b"lC" and int.from_bytes(head[:4], "big") < 16]
        checkpoint = lambda head: max(int.from_bytes(head[at + 8:at + 16], "big") for at in (512, 1536))
        return self.keys.unwrap(max(named, key=checkpoint)[1072:]) if named else None

    def derived(self, number, message):
        key = self.keys.mariadb(number)
        return key and aes("ecb", key, None, message)

    def key(self, kind, number):
        head = self.heads[number]
        if kind == 1:
            return self.keys.unwrap(head[page0(head)[1]:])
        if kind == 2:
            data = head[page0(head)[1] + 38:]
            return self.derived(int.from_bytes(data[28:32], "big"), data[8:24])
        if kind == 3:
            return self.keys.password(head)
        if kind == 4:
            return self.redo_key(number)
        if kind == 5:
            return self.keys.mariadb(1)
        if kind == 6:
            return self.derived(int.from_bytes(head[48:52], "big"), head[56:72])
        sys.exit(f"{self.paths[number]}: this program cannot encrypt a redo log of this MariaDB")

    def seal(self, number, description, data):
        if "form" not in description:
            return data
        kind, marks, at = description["cipher"], base64.b64decode(description["marks"]), description["runs"][0][0]
        key, head = self.key(kind, number), self.heads[number]
        if not key:
            self.refuse(number)
        data, unit, counter_mode = bytearray(data), description["page"], description["ctr"]
        if description["form"] == "parts":
            begin, end = struct.unpack(">II", marks)
            part = data[begin:end]
            if kind == 5:
                nonce_at = 4 + int.from_bytes(head[13:17], "little") + 24
                mariadb_events(key, counter_mode, head[nonce_at:nonce_at + 12], at + begin, part)
            else:
                mini_transactions(key, counter_mode, head, part)
            data[begin:end] = part
        elif kind == 3:
            if marks[0] & 0x80:
                mysql_log(key, at, data)
        else:
            for index in range(len(data) // unit):
                page = data[index * unit:(index + 1) * unit]
                if kind == 4:
                    if marks[index // 8] & 0x80 >> index % 8:
                        page[12:] = mysql_body(key, page[12:])
                        page[4] |= 0x80
                elif kind == 1 and marks[5 * index]:
                    mysql_page(key, page, marks[5 * index], int.from_bytes(marks[5 * index + 1:5 * index + 5], "big"))
                elif kind == 2 and marks[5 * index]:
                    mariadb_page(key, counter_mode, head, page)
                data[index * unit:(index + 1) * unit] = page
        return bytes(data)


def frame(plain, run, sealer):
    magic, length = struct.unpack_from("<II", plain, run["z"])
    begin = run["z"] + 8 + length
    description = json.loads(plain[run["z"] + 8:begin])
    if magic != MAGIC:
        sys.exit("a frame does not begin where the manifest says")
    data = program("zstd", "-dcq", data=plain[begin:run["z"] + run["zn"]])
    return sealer.seal(run["f"], description, data)


def write(target, lists, hosts, identity, sealer):
    by_pack = {}
    for run in lists["run"]:
        by_pack.setdefault(run["p"], []).append(run)
    for number, runs in sorted(by_pack.items()):
        pack = lists["pack"][number]
        path = hosts / "packs" / pack["sha256"][:2] / f"{pack['sha256']}.age"
        check_sum(path, pack)
        plain = program("age", "-d", "-i", identity, str(path))
        unpacked = (None, b"")
        for run in sorted(runs, key=lambda run: run["z"]):
            entry = lists["entry"][run["f"]]
            if unpacked[0] != run["z"]:
                unpacked = (run["z"], frame(plain, run, sealer))
            with open(os.path.join(os.fsencode(target), path_of(entry)), "r+b") as file:
                file.seek(run["at"])
                file.write(unpacked[1][run["o"]:run["o"] + run["n"]])


def compare(target, entries):
    """Compares all files with their hashes, if the program for that is installed."""
    if shutil.which("b3sum") is None:
        print("b3sum is not installed: the files were not compared with their hashes")
        return
    for entry in entries:
        if entry["kind"] == "file":
            path = os.path.join(os.fsencode(target), path_of(entry))
            with open(path, "rb") as file:
                found = subprocess.run(["b3sum", "--no-names"], stdin=file, stdout=subprocess.PIPE, check=True).stdout
            if found.decode().strip() != entry["blake3"]:
                sys.exit(f"{entry['path']}: it differs from what was backed up")


def dress(target, entries):
    for entry in reversed(entries):
        path = os.path.join(os.fsencode(target), path_of(entry))
        if os.geteuid() == 0:
            os.chown(path, entry["uid"], entry["gid"], follow_symlinks=False)
        if entry["kind"] != "link":
            os.chmod(path, int(entry["mode"], 8))
        seconds, nanoseconds = entry["modified"]
        time = seconds * 10**9 + nanoseconds
        os.utime(path, ns=(time, time), follow_symlinks=False)


def main():
    if len(sys.argv) not in (7, 8):
        sys.exit(__doc__)
    repository, host, number, identity, signers, target = sys.argv[1:7]
    keys = Keys(sys.argv[7] if len(sys.argv) == 8 else None)
    hosts, number = Path(repository) / "hosts" / host, int(number)
    receipt = read_receipt(hosts, number, host, signers)
    lists = read_manifest(hosts / "manifests" / f"{number:06}.age", receipt, identity)
    if [pack["sha256"] for pack in lists["pack"]] != [pack["sha256"] for pack in receipt["packs"]]:
        sys.exit("the manifest names other packs than the receipt")
    sealer = Sealer(lists, keys)
    if lists["head"]:
        keys.check(lists["key"])
    sealer.check()
    os.mkdir(target, 0o700)
    make(target, lists["entry"])
    write(target, lists, hosts, identity, sealer)
    compare(target, lists["entry"])
    dress(target, lists["entry"])
    print(f"restored backup {number} of {host}: {len(lists['entry'])} files, directories and links")


if __name__ == "__main__":
    main()
